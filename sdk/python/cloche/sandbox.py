"""A session as an object, created on first use and ended by `close`."""
from __future__ import annotations

import pathlib
import secrets as random
import threading
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Union

from .archive import AnyPath, Unpacked
from .client import Client
from .errors import SandboxError, SandboxNotFoundError
from .file_results import Binary, Copied, Edited, FileChange, FileStat, Matches, Paths, Text
from .results import EgressEvent, ResourceUse, Result, SessionInfo
from .run import Run
from .session_calls import Content, Network, Volume
from .stream import Stream
from .terminal import Terminal


class Sandbox:
    """A sandbox with its own workspace. The first call creates it with the given options. It ends with the `with`
    block, unless `keep` is set. Without `session_id` it has a unique name. With a `session_id` and no options it is the
    existing session of that name, if there is one. Without `client` it uses `Client()`.

    >>> from cloche import Sandbox
    >>> with Sandbox() as sandbox:                                       # doctest: +SKIP
    ...     sandbox.write("data.txt", "6 7")
    ...     print(sandbox.run("a, b = open('data.txt').read().split(); print(int(a) * int(b))").stdout)
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
        self._making = threading.Lock()
        self._artifacts: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Sandbox(session_id={self.session_id!r})"

    # Runs

    def run(self, code: str, language: str = "python", **options: Any) -> Result:
        """Run code, or with language `bash` a shell command line. The options are those of `Client.execute`."""
        if language in ("bash", "sh", "shell"):
            return self.bash(code, **options)
        return self.execute(code, language, **options)

    def execute(self, code: str, language: str = "python", **options: Any) -> Result:
        return self._remember(self._ready().execute(code, language, session_id=self.session_id, **options))

    def bash(self, command: str, **options: Any) -> Result:
        return self._remember(self._ready().bash(command, session_id=self.session_id, **options))

    def stream(self, code: str, language: str = "python", **options: Any) -> Stream:
        return self._ready().stream(code, language, session_id=self.session_id, **options)

    def background(self, code: str, language: str = "python", **options: Any) -> Run:
        return self._ready().background(code, language, session_id=self.session_id, **options)

    def terminal(self, command: Optional[str] = None, rows: int = 24, cols: int = 80) -> Terminal:
        return self._ready().terminal(self.session_id, command, rows, cols)

    def artifacts(self, save_to: Optional[AnyPath] = None) -> list[Any]:
        """Return the files that `run`, `execute` and `bash` created or changed so far, each in its latest state. With
        `save_to`, also save them below that directory.
        """
        found = list(self._artifacts.values())
        if save_to is not None:
            for each in found:
                each.save(save_to)
        return found

    # Files

    def read(self, path: str, **options: Any) -> Text:
        return self._ready().read(path, session_id=self.session_id, **options)

    def read_binary(self, path: str, **options: Any) -> Binary:
        return self._ready().read_binary(path, session_id=self.session_id, **options)

    def write(self, path: str, content: Content, **options: Any) -> int:
        return self._ready().write(path, content, session_id=self.session_id, **options)

    def grep(self, pattern: str, **options: Any) -> Matches:
        return self._ready().grep(pattern, session_id=self.session_id, **options)

    def glob(self, pattern: str, **options: Any) -> Paths:
        return self._ready().glob(pattern, session_id=self.session_id, **options)

    def stat(self, path: str, **options: Any) -> FileStat:
        return self._ready().stat(path, session_id=self.session_id, **options)

    def delete(self, path: str, **options: Any) -> int:
        return self._ready().delete(path, session_id=self.session_id, **options)

    def move(self, path: str, to: str, **options: Any) -> None:
        self._ready().move(path, to, session_id=self.session_id, **options)

    def mkdir(self, path: str, **options: Any) -> bool:
        return self._ready().mkdir(path, session_id=self.session_id, **options)

    def edit(self, path: str, old: Content, new: Content, **options: Any) -> Edited:
        return self._ready().edit(path, old, new, session_id=self.session_id, **options)

    def watch(self, path: str = ".", recursive: bool = False) -> Iterator[FileChange]:
        """Watch a directory; see `Client.watch`."""
        return self._ready().watch(path, session_id=self.session_id, recursive=recursive)

    def copy_in(self, files: Union[Mapping[str, Content], AnyPath], to: str = ".") -> Copied:
        return self._ready().copy_in(files, to, session_id=self.session_id)

    def copy_out(self, path: str = ".", to: AnyPath = ".") -> Unpacked:
        return self._ready().copy_out(path, to, session_id=self.session_id)

    def upload(self, source: AnyPath, to: str = ".") -> Copied:
        """Upload a file or a directory of this machine; see `Client.copy_in`."""
        return self.copy_in(pathlib.Path(source), to)

    def download(self, path: str, to: AnyPath = ".") -> pathlib.Path:
        """Download one file; see `Client.download`. For directories use `copy_out`."""
        return self._ready().download(path, to, session_id=self.session_id)

    # The session itself

    def info(self) -> SessionInfo:
        return self._ready().session(self.session_id)

    def set_network(self, network: Optional[Network]) -> SessionInfo:
        """Change what programs can reach; see `Client.set_network`."""
        return self._ready().set_network(self.session_id, network)

    def pause(self) -> SessionInfo:
        """Stop all programs until `resume()`; see `Client.pause`."""
        return self._ready().pause(self.session_id)

    def resume(self, timeout: Optional[float] = None) -> SessionInfo:
        """Continue after `pause()`; see `Client.resume`."""
        return self._ready().resume(self.session_id, timeout)

    def set_timeout(self, timeout: Optional[float]) -> SessionInfo:
        """Change when the session expires; see `Client.set_timeout`."""
        return self._ready().set_timeout(self.session_id, timeout)

    def resource_use(self) -> ResourceUse:
        """Measure what the sandbox uses."""
        return self._ready().resource_use(self.session_id)

    def egress_events(self, after: int = 0) -> list[EgressEvent]:
        """List the connections of programs to the outside; see `Client.egress_events`."""
        return self._ready().egress_events(self.session_id, after)

    def start(self) -> "Sandbox":
        """Create the session now, not at the first call."""
        self._ready()
        return self

    def close(self) -> None:
        """End the session, unless `keep` is set or it was never created."""
        try:
            if self._used and not self.keep:
                self._used = False
                self.client.end_session(self.session_id)
        except SandboxNotFoundError:
            pass  # it was idle for too long
        finally:
            if self._owns_client:
                self.client.close()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            self.close()
        except SandboxError:
            if kind is None:  # else what led here says more
                raise

    def _ready(self) -> Client:
        # Before the call: one whose answer is lost may have made it.
        with self._making:
            self._used = True
            if self._must_create:
                self._create()
                self._must_create = False
        return self.client

    def _create(self) -> None:
        try:
            self.client.create_session(self.session_id, **self._options)
        except SandboxError as error:
            # Refused: it was not made, and one of that name that is there is another's.
            self._used = error.status is None
            raise

    def _remember(self, result: Result) -> Result:
        self._artifacts.update({each.path: each for each in result.artifacts})
        return result
