"""One sandbox at a time, behind an interface."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Mapping, Optional

from .sandbox import DockerSandbox
from .settings import SandboxSettings


class BaseSandboxClient(ABC):
    @abstractmethod
    async def create(self, config: Optional[SandboxSettings] = None,
                     volume_bindings: Optional[Mapping[str, str]] = None) -> None:
        """Create the sandbox."""

    @abstractmethod
    async def run_command(self, command: str, timeout: Optional[int] = None) -> str:
        """Run a command and return its output."""

    @abstractmethod
    async def copy_from(self, container_path: str, local_path: str) -> None:
        """Copy a file or directory out of the sandbox."""

    @abstractmethod
    async def copy_to(self, local_path: str, container_path: str) -> None:
        """Copy a file or directory into the sandbox."""

    @abstractmethod
    async def read_file(self, path: str) -> str:
        """Return the text of a file."""

    @abstractmethod
    async def write_file(self, path: str, content: str) -> None:
        """Create or replace a file."""

    @abstractmethod
    async def cleanup(self) -> None:
        """End the sandbox."""


class LocalSandboxClient(BaseSandboxClient):
    """A client of one sandbox. All methods except `create` and `cleanup` raise RuntimeError while there is no sandbox.
    """

    def __init__(self) -> None:
        self.sandbox: Optional[DockerSandbox] = None

    async def create(self, config: Optional[SandboxSettings] = None,
                     volume_bindings: Optional[Mapping[str, str]] = None) -> None:
        """Create the sandbox; it replaces the previous one, if any."""
        await self.cleanup()
        sandbox = DockerSandbox(config, volume_bindings)
        await sandbox.create()
        self.sandbox = sandbox

    async def run_command(self, command: str, timeout: Optional[int] = None) -> str:
        return await self._created().run_command(command, timeout)

    async def copy_from(self, container_path: str, local_path: str) -> None:
        await self._created().copy_from(container_path, local_path)

    async def copy_to(self, local_path: str, container_path: str) -> None:
        await self._created().copy_to(local_path, container_path)

    async def read_file(self, path: str) -> str:
        return await self._created().read_file(path)

    async def write_file(self, path: str, content: str) -> None:
        await self._created().write_file(path, content)

    async def cleanup(self) -> None:
        sandbox, self.sandbox = self.sandbox, None
        if sandbox is not None:
            await sandbox.cleanup()

    def _created(self) -> DockerSandbox:
        if self.sandbox is None:
            raise RuntimeError("Sandbox not initialized")
        return self.sandbox


def create_sandbox_client() -> LocalSandboxClient:
    return LocalSandboxClient()


SANDBOX_CLIENT = create_sandbox_client()
