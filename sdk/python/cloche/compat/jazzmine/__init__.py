"""Jazzmine's sandbox pool and script executor on Cloche."""
from .builder import SandboxBuilder
from .config import ExecutionMode, FileResource, NetworkPolicy, ResourceLimits, SandboxConfig
from .container import ManagedContainer
from .executor import ExecutionResult, ScriptExecutor
from .line_reader import DockerLineReader
from .pool import MAX_CONTAINER_USES, SandboxPool
from .registry import RegisteredTool, ToolRegistry, registry, tool

__all__ = [
    "MAX_CONTAINER_USES", "DockerLineReader", "ExecutionMode", "ExecutionResult", "FileResource", "ManagedContainer",
    "NetworkPolicy", "RegisteredTool", "ResourceLimits", "SandboxBuilder", "SandboxConfig", "SandboxPool",
    "ScriptExecutor", "ToolRegistry", "registry", "tool",
]
