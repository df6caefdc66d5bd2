"""OpenManus' sandboxes over Cloche.

    from cloche.compat.openmanus import SandboxManager, SandboxSettings

    async with SandboxManager() as manager:
        sandbox = await manager.get_sandbox(await manager.create_sandbox(SandboxSettings(memory_limit="256m")))
        await sandbox.run_command("x=42; cd /tmp")
        await sandbox.run_command("echo $x in $PWD")     # '42 in /tmp'
"""
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
