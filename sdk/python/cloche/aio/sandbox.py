"""A session as an object, on asyncio."""
from __future__ import annotations

import asyncio
import pathlib
import secrets as random
from typing import Any, AsyncIterator, Dict, Mapping, Optional, Sequence, Union

from ..archive import AnyPath, Unpacked
from ..errors import SandboxError, SandboxNotFoundError
from ..file_results import Binary, Copied, Edited, FileChange, FileStat, Matches, Paths, Text
from ..results import EgressEvent, ResourceUse, Result, SessionInfo
from ..session_calls import Content, Network, Volume
from .client import Client
from .run import Run
from .stream import Stream
from .terminal import TerminalRequest


class Sandbox:
    """The same as `cloche.Sandbox`.

    >>> async with cloche.aio.Sandbox() as sandbox:                       # doctest: +SKIP
    ...     print((await sandbox.run("print(6 * 7)")).stdout)
    42
    """

    def __init__(self, client: Optional[Client] = None, session_id: Optional[str] = None, *,
                 profile: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
                 secrets: Optional[Sequence[str]] = None, limits: Optional[Mapping[str, Any]] = None,
                 idle_timeout: Optional[float] = None, network: Optional[Network] = None,
                 volumes: Optional[Sequence[Volume]] = None, snapshot: Optional[str] = None,
                 metadata: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None,
                 on_timeout: Optional[str] = None, keep: bool = False) -> None:
        self._owns_client = client is None
        self.client = client or Client()
        self.session_id = session_id or "py-" + random.token_hex(12)
        self.keep = keep
        self._options: Dict[str, Any] = {"profile": profile, "env": env, "secrets": secrets, "limits": limits,
                                         "idle_timeout": idle_timeout, "network": network,
                                         "volumes": volumes, "snapshot": snapshot, "metadata": metadata,
                                         "timeout": timeout, "on_timeout": on_timeout}
        self._must_create = session_id is None or any(value is not None for value in self._options.values())
        self._used = False
        self._making: Optional[asyncio.Lock] = None
        self._artifacts: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Sandbox(session_id={self.session_id!r})"

    # Runs

    async def run(self, code: str, language: str = "python", **options: Any) -> Result:
        """Run code, or with language `bash` a shell command line. The options are those of `Client.execute`."""
        if language in ("bash", "sh", "shell"):
            return await self.bash(code, **options)
        return await self.execute(code, language, **options)

    async def execute(self, code: str, language: str = "python", **options: Any) -> Result:
        client = await self._ready()
        return self._remember(await client.execute(code, language, session_id=self.session_id, **options))

    async def bash(self, command: str, **options: Any) -> Result:
        client = await self._ready()
        return self._remember(await client.bash(command, session_id=self.session_id, **options))

    def stream(self, code: str, language: str = "python", **options: Any) -> Stream:
        stream = self.client.stream(code, language, session_id=self.session_id, **options)
        stream._before = self._ready
        return stream

    async def background(self, code: str, language: str = "python", **options: Any) -> Run:
        return await (await self._ready()).background(code, language, session_id=self.session_id, **options)

    def terminal(self, command: Optional[str] = None, rows: int = 24, cols: int = 80) -> TerminalRequest:
        request = self.client.terminal(self.session_id, command, rows, cols)
        request._before = self._ready
        return request

    async def artifacts(self, save_to: Optional[AnyPath] = None) -> list[Any]:
        """Return the files that `run`, `execute` and `bash` created or changed so far, each in its latest state. With
        `save_to`, also save them below that directory.
        """
        found = list(self._artifacts.values())
        if save_to is not None:
            for each in found:
                await each.save(save_to)
        return found

    # Files

    async def read(self, path: str, **options: Any) -> Text:
        return await (await self._ready()).read(path, session_id=self.session_id, **options)

    async def read_binary(self, path: str, **options: Any) -> Binary:
        return await (await self._ready()).read_binary(path, session_id=self.session_id, **options)

    async def write(self, path: str, content: Content, **options: Any) -> int:
        return await (await self._ready()).write(path, content, session_id=self.session_id, **options)

    async def grep(self, pattern: str, **options: Any) -> Matches:
        return await (await self._ready()).grep(pattern, session_id=self.session_id, **options)

    async def glob(self, pattern: str, **options: Any) -> Paths:
        return await (await self._ready()).glob(pattern, session_id=self.session_id, **options)

    async def stat(self, path: str, **options: Any) -> FileStat:
        return await (await self._ready()).stat(path, session_id=self.session_id, **options)

    async def delete(self, path: str, **options: Any) -> int:
        return await (await self._ready()).delete(path, session_id=self.session_id, **options)

    async def move(self, path: str, to: str, **options: Any) -> None:
        await (await self._ready()).move(path, to, session_id=self.session_id, **options)

    async def mkdir(self, path: str, **options: Any) -> bool:
        return await (await self._ready()).mkdir(path, session_id=self.session_id, **options)

    async def edit(self, path: str, old: Content, new: Content, **options: Any) -> Edited:
        return await (await self._ready()).edit(path, old, new, session_id=self.session_id, **options)

    async def watch(self, path: str = ".", recursive: bool = False) -> AsyncIterator[FileChange]:
        """Watch a directory; see `Client.watch`."""
        client = await self._ready()
        return await client.watch(path, session_id=self.session_id, recursive=recursive)

    async def copy_in(self, files: Union[Mapping[str, Content], AnyPath], to: str = ".") -> Copied:
        return await (await self._ready()).copy_in(files, to, session_id=self.session_id)

    async def copy_out(self, path: str = ".", to: AnyPath = ".") -> Unpacked:
        return await (await self._ready()).copy_out(path, to, session_id=self.session_id)

    async def upload(self, source: AnyPath, to: str = ".") -> Copied:
        """Upload a file or a directory of this machine; see `Client.copy_in`."""
        return await self.copy_in(pathlib.Path(source), to)

    async def download(self, path: str, to: AnyPath = ".") -> pathlib.Path:
        """Download one file; see `Client.download`. For directories use `copy_out`."""
        return await (await self._ready()).download(path, to, session_id=self.session_id)

    # The session itself

    async def info(self) -> SessionInfo:
        return await (await self._ready()).session(self.session_id)

    async def set_network(self, network: Optional[Network]) -> SessionInfo:
        """Change what programs can reach; see `Client.set_network`."""
        client = await self._ready()
        return await client.set_network(self.session_id, network)

    async def pause(self) -> SessionInfo:
        """Stop all programs until `resume()`; see `Client.pause`."""
        client = await self._ready()
        return await client.pause(self.session_id)

    async def resume(self, timeout: Optional[float] = None) -> SessionInfo:
        """Continue after `pause()`; see `Client.resume`."""
        client = await self._ready()
        return await client.resume(self.session_id, timeout)

    async def set_timeout(self, timeout: Optional[float]) -> SessionInfo:
        """Change when the session expires; see `Client.set_timeout`."""
        client = await self._ready()
        return await client.set_timeout(self.session_id, timeout)

    async def resource_use(self) -> ResourceUse:
        """Measure what the sandbox uses."""
        client = await self._ready()
        return await client.resource_use(self.session_id)

    async def egress_events(self, after: int = 0) -> list[EgressEvent]:
        """List the connections of programs to the outside; see `Client.egress_events`."""
        client = await self._ready()
        return await client.egress_events(self.session_id, after)

    async def start(self) -> "Sandbox":
        """Create the session now, not at the first call."""
        await self._ready()
        return self

    async def close(self) -> None:
        """End the session, unless `keep` is set or it was never created."""
        try:
            if self._used and not self.keep:
                self._used = False
                await self.client.end_session(self.session_id)
        except SandboxNotFoundError:
            pass  # it was idle for too long
        finally:
            if self._owns_client:
                await self.client.close()

    async def __aenter__(self) -> "Sandbox":
        return self

    async def __aexit__(self, kind: Any, *_: Any) -> None:
        try:
            await self.close()
        except SandboxError:
            if kind is None:  # else what led here says more
                raise

    async def _ready(self) -> Client:
        # Before the call: one whose answer is lost may have made it.
        self._making = self._making or asyncio.Lock()  # made in the loop that uses it
        async with self._making:
            self._used = True
            if self._must_create:
                await self._create()
                self._must_create = False
        return self.client

    async def _create(self) -> None:
        try:
            await self.client.create_session(self.session_id, **self._options)
        except SandboxError as error:
            # Refused: it was not made, and one of that name that is there is another's.
            self._used = error.status is None
            raise

    def _remember(self, result: Result) -> Result:
        self._artifacts.update({each.path: each for each in result.artifacts})
        return result
