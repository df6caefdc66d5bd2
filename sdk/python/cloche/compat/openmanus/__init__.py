"""OpenManus' sandboxes on Cloche."""
from .client import SANDBOX_CLIENT, BaseSandboxClient, LocalSandboxClient, create_sandbox_client
from .exceptions import (CommandTimeoutError, SandboxError, SandboxLimitError, SandboxResourceError,
                         SandboxTimeoutError)
from .manager import SandboxManager
from .sandbox import DockerSandbox
from .session import Session
from .settings import SandboxSettings
from .terminal import AsyncDockerizedTerminal, DockerSession

__all__ = [
    "SANDBOX_CLIENT", "AsyncDockerizedTerminal", "BaseSandboxClient", "CommandTimeoutError", "DockerSandbox",
    "DockerSession", "LocalSandboxClient", "SandboxError", "SandboxLimitError", "SandboxManager", "SandboxResourceError",
    "SandboxSettings", "SandboxTimeoutError", "Session", "create_sandbox_client",
]
