"""One sandbox with a shell."""
from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import Iterator, Mapping, Optional

from cloche.errors import SandboxError

from .exceptions import SandboxTimeoutError
from .files import SandboxFiles, resolve_path
from .session import Session
from .settings import SandboxSettings
from .terminal import AsyncDockerizedTerminal


class DockerSandbox:
    """A sandbox with a shell. `volume_bindings` maps paths of the host to paths in the sandbox; `:ro` makes them
    read-only.
    """

    def __init__(self, config: Optional[SandboxSettings] = None,
                 volume_bindings: Optional[Mapping[str, str]] = None) -> None:
        self.config = config or SandboxSettings()
        self.volume_bindings = dict(volume_bindings or {})
        self.container: Optional[Session] = None
        self.terminal: Optional[AsyncDockerizedTerminal] = None
        self.last_used = time.monotonic()
        self.operations = 0

    async def create(self) -> "DockerSandbox":
        """Create the sandbox. Raises RuntimeError if that fails; then nothing is left of it."""
        try:
            self.container = await Session.create(self.config, self.volume_bindings)
            self.terminal = AsyncDockerizedTerminal(self.container, self.config.work_dir,
                                                    default_timeout=self.config.timeout)
            await self.terminal.init()
        except BaseException as error:
            await asyncio.shield(self.cleanup())
            if isinstance(error, Exception):
                raise RuntimeError(f"Failed to create sandbox: {error}") from error
            raise
        return self

    async def run_command(self, cmd: str, timeout: Optional[int] = None) -> str:
        """Run a command and return its output, including stderr. Raises SandboxTimeoutError after `timeout` seconds
        (default: `config.timeout`).
        """
        if self.terminal is None:
            raise RuntimeError("Sandbox not initialized")
        with self._operation():
            try:
                return await self.terminal.run_command(cmd, timeout=timeout or self.config.timeout)
            except SandboxTimeoutError:
                raise
            except SandboxError as error:
                raise RuntimeError(f"Failed to run command: {error}") from error

    async def read_file(self, path: str) -> str:
        """Read a file. Raises FileNotFoundError, PermissionError, ValueError for a path with `..`, and RuntimeError for
        any other failure.
        """
        files = self._files()
        place = self._safe_resolve_path(path)
        with self._operation():
            try:
                return (await files.read(place)).decode("utf-8")
            except FileNotFoundError:
                raise FileNotFoundError(f"File not found: {path}") from None
            except PermissionError:
                raise PermissionError(f"Permission denied: {path}") from None
            except (SandboxError, UnicodeDecodeError) as error:
                raise RuntimeError(f"Failed to read file: {error}") from error

    async def write_file(self, path: str, content: str) -> None:
        """Write a file; missing directories are created."""
        files = self._files()
        place = self._safe_resolve_path(path)
        with self._operation():
            try:
                await files.write(place, content.encode("utf-8"))
            except (SandboxError, UnicodeEncodeError) as error:
                raise RuntimeError(f"Failed to write file: {error}") from error

    async def copy_from(self, src_path: str, dst_path: str) -> None:
        """Copy a file or directory of the sandbox to `dst_path`, or into it if it is a directory."""
        files = self._files()
        place = self._safe_resolve_path(src_path)
        with self._operation():
            try:
                await files.copy_from(place, dst_path)
            except FileNotFoundError:
                raise FileNotFoundError(f"Source file not found: {src_path}") from None
            except PermissionError:
                raise PermissionError(f"Permission denied: {src_path}") from None
            except (SandboxError, OSError) as error:
                raise RuntimeError(f"Failed to copy file: {error}") from error

    async def copy_to(self, src_path: str, dst_path: str) -> None:
        """Copy a file or directory of the host to `dst_path`."""
        files = self._files()
        place = self._safe_resolve_path(dst_path)
        with self._operation():
            try:
                with open(src_path, "rb"):
                    pass
            except IsADirectoryError:
                pass
            except FileNotFoundError:
                raise FileNotFoundError(f"Source file not found: {src_path}") from None
            except OSError as error:
                raise RuntimeError(f"Failed to copy file: {error}") from error
            try:
                await files.copy_to(src_path, place)
            except (SandboxError, OSError) as error:
                raise RuntimeError(f"Failed to copy file: {error}") from error

    async def cleanup(self) -> None:
        """End the sandbox at once, even if commands are running. Further calls have no effect."""
        session, self.container, self.terminal = self.container, None, None
        if session is not None:
            await session.end()

    async def __aenter__(self) -> "DockerSandbox":
        return await self.create()

    async def __aexit__(self, *_: object) -> None:
        await self.cleanup()

    def _safe_resolve_path(self, path: str) -> str:
        return resolve_path(self.config.work_dir, path)

    def _files(self) -> SandboxFiles:
        if self.container is None:
            raise RuntimeError("Sandbox not initialized")
        return SandboxFiles(self.container)

    @contextmanager
    def _operation(self) -> Iterator[None]:
        self.operations += 1
        self.last_used = time.monotonic()
        try:
            yield
        finally:
            self.operations -= 1
            self.last_used = time.monotonic()
