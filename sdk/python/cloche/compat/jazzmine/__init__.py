"""Jazzmine's sandbox pool and script executor over Cloche.

    from cloche.compat.jazzmine import SandboxBuilder, SandboxPool, ScriptExecutor, registry

    pool = SandboxPool(registry=registry, builder=SandboxBuilder(registry))
    await pool.startup()
    async with pool.checkout("default") as container:
        result = await ScriptExecutor().execute(container, "final_result(6 * 7)")
    await pool.shutdown()
"""
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
