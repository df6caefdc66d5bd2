"""A client of the service."""
from __future__ import annotations

import os
import pathlib
import ssl
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, TypeVar, Union

from . import service_calls
from .address import parse_address
from .archive import AnyPath, Unpacked, unpack, write_whole
from .artifact import Artifact
from .call import Call
from .client_base import ClientBase, place_of_download
from .deadline import Deadline
from .errors import SandboxError
from .events import EventDecoder, RunFollower, egress_event_of, file_changes_of
from .file_results import Binary, Copied, Edited, FileChange, FileStat, Matches, Paths, Text
from .lease import Lease
from .results import (ContextInfo, EgressEvent, Fork, Readiness, ResourceUse, Result, RunInfo, SessionInfo,
                      SnapshotInfo, VolumeInfo)
from .run import Run
from .runner_results import CaseResult
from .service_calls import AnyCase
from .session_calls import EVENTS, Content, Network, Volume
from .stream import LONGEST_SILENCE, STOP_SECONDS, Stream
from .terminal import Terminal
from .transport import Transport

T = TypeVar("T")


class Client(ClientBase):
    """A client of the service at `url`: `http://host:port`, `https://host:port` or `unix:/path`. The default is
    `$CLOCHE_URL`, otherwise http://127.0.0.1:8080. The default for `token` is `$CLOCHE_TOKEN`. `tenant` is for admins
    who act for another tenant; the default is the caller's own. `timeout` is for each call; the time limit of a program
    is added to it.

    Several threads may use one client. If you leave a call early, for example by Ctrl-C, the service stops its work for
    it.

    >>> import cloche
    >>> with cloche.Client() as client:                                 # doctest: +SKIP
    ...     print(client.execute("print(6 * 7)", session_id="s1").stdout)
    42
    """

    _artifact_class = Artifact

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, tenant: Optional[str] = None,
                 timeout: Optional[float] = 60, *, tls: Optional[ssl.SSLContext] = None) -> None:
        super().__init__(tenant)
        token = token if token is not None else os.environ.get("CLOCHE_TOKEN")
        self._transport = Transport(parse_address(url), token or None, timeout, tls)

    @property
    def url(self) -> str:
        return self._transport.address.url

    def close(self) -> None:
        """Close idle connections. Sessions, runs and leases of the service are not affected."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # Runs

    def execute(self, code: str, language: str = "python", *, session_id: str, timeout: Optional[float] = None,
                stdin: Optional[Content] = None, env: Optional[Mapping[str, str]] = None,
                files: Optional[Mapping[str, Content]] = None, context: Optional[str] = None,
                work_dir: Optional[str] = None, artifacts: Optional[Mapping[str, Any]] = None,
                network: Optional[Network] = None,
                deadline: Optional[float] = None) -> Result:
        """Run code in a session. The first call creates the session. `timeout` is the time limit of the program (120
        s), `deadline` that of the whole call. With `context` the code runs in an interpreter that keeps its variables.
        `network` is that of a session which this call creates; see `create_session`. A session that exists must have
        it already.

        >>> client.execute("x = 20", session_id="s1", context="a")                  # doctest: +SKIP
        >>> client.execute("x + 1", session_id="s1", context="a").value             # doctest: +SKIP
        '21'
        """
        return self._send(self._execute_call(code, language, session_id, deadline, timeout=timeout, stdin=stdin,
                                             env=env, files=files, context=context, work_dir=work_dir,
                                             artifacts=artifacts, network=network))

    def bash(self, command: str, *, session_id: str, timeout: Optional[float] = None, stdin: Optional[Content] = None,
             env: Optional[Mapping[str, str]] = None, files: Optional[Mapping[str, Content]] = None,
             context: Optional[str] = None, work_dir: Optional[str] = None,
             artifacts: Optional[Mapping[str, Any]] = None, network: Optional[Network] = None,
             pipefail: Optional[bool] = None,
             deadline: Optional[float] = None) -> Result:
        """Run a shell command line in a session.

        >>> client.bash("ls | wc -l", session_id="s1").stdout            # doctest: +SKIP
        '0\\n'
        """
        return self._send(self._bash_call(command, session_id, deadline, timeout=timeout, stdin=stdin, env=env,
                                          files=files, context=context, work_dir=work_dir,
                                          artifacts=artifacts, pipefail=pipefail, network=network))

    def stream(self, code: str, language: str = "python", *, session_id: str, timeout: Optional[float] = None,
               stdin: Optional[Content] = None, env: Optional[Mapping[str, str]] = None,
               files: Optional[Mapping[str, Content]] = None, context: Optional[str] = None,
               work_dir: Optional[str] = None, artifacts: Optional[Mapping[str, Any]] = None,
               network: Optional[Network] = None,
               deadline: Optional[float] = None) -> Stream:
        """The same as `execute`, but yields events while the program runs. With language `bash` the code is a shell
        command line.
        """
        call = self._any_call(code, language, session_id, deadline, timeout=timeout, stdin=stdin, env=env, files=files,
                              context=context, work_dir=work_dir, artifacts=artifacts, network=network)
        follower = RunFollower(self._artifact_maker(session_id))
        return Stream(self._transport, self._calls, session_id, call, follower,
                      lambda run_id: self._stop_run(session_id, run_id))

    def background(self, code: str, language: str = "python", *, session_id: str, timeout: Optional[float] = None,
                   env: Optional[Mapping[str, str]] = None, files: Optional[Mapping[str, Content]] = None,
                   work_dir: Optional[str] = None, artifacts: Optional[Mapping[str, Any]] = None,
                   network: Optional[Network] = None,
                   deadline: Optional[float] = None) -> Run:
        """Start a program in the background. With language `bash` the code is a shell command line. `timeout` is the
        time limit of the program (1 h). The program has no stdin.
        """
        call = self._any_call(code, language, session_id, deadline, timeout=timeout, env=env, files=files,
                              work_dir=work_dir, artifacts=artifacts, network=network)
        return self._send(self._calls.background(call, lambda run_id, ended: Run(self, session_id, run_id, ended)))

    def runs(self, session_id: str) -> list[RunInfo]:
        """List the runs of a session that are running or ended recently, oldest first."""
        return self._send(self._calls.runs(session_id))

    def run(self, session_id: str, run_id: str) -> Run:
        """Find a run that was started before, also by another process."""
        return Run(self, session_id, run_id)

    def run_code(self, language: str, code: Optional[str] = None, *, files: Optional[Mapping[str, str]] = None,
                 cases: Optional[Iterable[AnyCase]] = None, command: Optional[str] = None,
                 assets: Union[None, Mapping[str, Content], Sequence[Mapping[str, Any]]] = None,
                 network: Optional[Network] = None,
                 deadline: Optional[float] = None) -> list[CaseResult]:
        """Compile a program if its language needs that, and run it on each case; without cases, run it once without
        input. If the program cannot be compiled, each case is a `compilation_error`. If `command` is given, only that
        command runs, and nothing is compiled. `network` is what the program can reach, as for `create_session`.

        >>> [each.passed for each in client.run_code("python", "print(int(input()) ** 2)",     # doctest: +SKIP
        ...                                          cases=[cloche.Case("3", "9"), cloche.Case("4", "16")])]
        [True, True]
        """
        return self._send(service_calls.run_code(language, code, files, cases, command, assets, network, deadline))

    # Sessions

    def sessions(self, tenant: Optional[str] = None, *, state: Optional[str] = None,
                 metadata: Optional[Mapping[str, str]] = None) -> list[SessionInfo]:
        """List the sessions of the caller; for an admin who names no tenant, those of all tenants. Only those in this
        state and with all of this metadata, if it is given.
        """
        return self._send(self._calls.sessions(tenant, state, metadata))

    def session(self, session_id: str) -> SessionInfo:
        return self._send(self._calls.session(session_id))

    def create_session(self, session_id: str, *, profile: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
                       secrets: Optional[Sequence[str]] = None, limits: Optional[Mapping[str, Any]] = None,
                       idle_timeout: Optional[float] = None, network: Optional[Network] = None,
                       volumes: Optional[Sequence[Volume]] = None,
                       snapshot: Optional[str] = None, metadata: Optional[Mapping[str, str]] = None,
                       timeout: Optional[float] = None, on_timeout: Optional[str] = None) -> SessionInfo:
        """Create a session. `limits` are `memory`, `cpus`, `pids`, `file_size`, `open_files`. `secrets` are names in
        the server's configuration that list the tenant, and `profile` is one that the tenant may use; otherwise raises
        `SandboxNotFoundError`. `network` is what programs can reach, in place of the profile's: `none`, `allow-list`,
        `internet` or {"mode", "rules", "allow", "deny"}. `volumes` are names of the tenant's volumes, or {"name",
        "target", "access"}; see `create_volume`. `snapshot` is the id or the name of one whose files it starts with;
        see `take_snapshot`. `metadata` are notes, at most 64 pairs of text. After `timeout` seconds the session is
        ended or, with `on_timeout="pause"`, paused.
        """
        return self._send(self._calls.create_session(session_id, profile=profile, env=env, secrets=secrets,
                                                     limits=limits, idle_timeout=idle_timeout, network=network,
                                                     volumes=volumes, snapshot=snapshot, metadata=metadata,
                                                     timeout=timeout, on_timeout=on_timeout))

    def volumes(self, tenant: Optional[str] = None) -> list[VolumeInfo]:
        """List the volumes of the caller; for an admin who names no tenant, those of all tenants."""
        return self._send(self._calls.volumes(tenant))

    def volume(self, name: str) -> VolumeInfo:
        return self._send(self._calls.volume(name))

    def create_volume(self, name: str, size: Union[int, str]) -> VolumeInfo:
        """Create an empty volume. The size is fixed: bytes, or text such as `512m`. Raises `SandboxResourceError` over
        the tenant's quota.
        """
        return self._send(self._calls.create_volume(name, size))

    def delete_volume(self, name: str) -> None:
        """Delete a volume and everything in it. Raises `SandboxResourceError` while a sandbox uses it."""
        self._send(self._calls.delete_volume(name))

    def take_snapshot(self, session_id: str, name: Optional[str] = None) -> SnapshotInfo:
        """Keep the files of a session's work directory and home directory. Programs, memory and other files are not
        kept. Raises `SandboxResourceError` over the tenant's quota.
        """
        return self._send(self._calls.take_snapshot(session_id, name))

    def snapshots(self, tenant: Optional[str] = None, session_id: Optional[str] = None) -> list[SnapshotInfo]:
        """List the snapshots of the caller; for an admin who names no tenant, those of all tenants."""
        return self._send(self._calls.snapshots(tenant, session_id))

    def snapshot(self, snapshot: str) -> SnapshotInfo:
        """A snapshot by its id or its name."""
        return self._send(self._calls.snapshot(snapshot))

    def delete_snapshot(self, snapshot: str) -> None:
        self._send(self._calls.delete_snapshot(snapshot))

    def fork(self, session_id: str, count: Optional[int] = None, ids: Optional[Sequence[str]] = None) -> list[Fork]:
        """Create sessions with the options and the files of this one, 1 to 100. Each has a result of its own."""
        return self._send(self._calls.fork(session_id, count, ids))

    def set_network(self, session_id: str, network: Optional[Network]) -> SessionInfo:
        """Change what the programs of a session can reach; None: to the network of its profile. Connections that the
        new network refuses are closed.
        """
        return self._send(self._calls.set_network(session_id, network))

    def pause(self, session_id: str) -> SessionInfo:
        """Stop all programs of a session until it is resumed. Calls in progress raise `SandboxUnavailableError`; runs
        and contexts continue afterwards. Removes the timeout.
        """
        return self._send(self._calls.pause(session_id))

    def resume(self, session_id: str, timeout: Optional[float] = None) -> SessionInfo:
        """Let a paused session continue. `timeout`: it expires after this number of seconds."""
        return self._send(self._calls.resume(session_id, timeout))

    def set_timeout(self, session_id: str, timeout: Optional[float]) -> SessionInfo:
        """Let a session expire after this number of seconds, sooner or later than before; None: never."""
        return self._send(self._calls.set_timeout(session_id, timeout))

    def resource_use(self, session_id: str) -> ResourceUse:
        """Measure what the sandbox of a session uses."""
        return self._send(self._calls.resource_use(session_id))

    def egress_events(self, session_id: str, after: int = 0) -> list[EgressEvent]:
        """List the connections of the session's programs to the outside, from the event with the number `after` on."""
        return self._send(self._calls.egress_events(session_id, after))

    def follow_egress(self, session_id: str, after: int = 0) -> Iterator[EgressEvent]:
        """The same, but yields events as they happen, until the session has no network any more."""
        answer = self._transport.open(self._calls.follow_egress(session_id, after), {"Accept": EVENTS})
        decoder = EventDecoder()
        try:
            while True:
                piece = answer.read(Deadline(LONGEST_SILENCE))
                if not piece:
                    return
                for raw in decoder.feed(piece):
                    yield egress_event_of(raw)
        finally:
            answer.close()

    def end_session(self, session_id: str, mode: str = "cut") -> None:
        """End a session. With `cut`, calls in progress fail; with `wait`, they finish first."""
        self._send(self._calls.end_session(session_id, mode))

    def contexts(self, session_id: str) -> list[ContextInfo]:
        return self._send(self._calls.contexts(session_id))

    def create_context(self, session_id: str, name: str, language: str = "python") -> ContextInfo:
        """Create a context. You rarely need this: the first call that names a context creates it."""
        return self._send(self._calls.create_context(session_id, name, language))

    def restart_context(self, session_id: str, name: str) -> ContextInfo:
        return self._send(self._calls.restart_context(session_id, name))

    def close_context(self, session_id: str, name: str) -> None:
        self._send(self._calls.close_context(session_id, name))

    # Files

    def read(self, path: str, *, session_id: str, offset: Optional[int] = None, limit: Optional[int] = None,
             encoding: Optional[str] = None) -> Text:
        """Read lines of a text file: `limit` (2000) lines from line `offset` (0) on. Returns a `str` that knows its
        position in the file.
        """
        return self._send(self._calls.read(session_id, path, offset=offset, limit=limit, encoding=encoding))

    def read_binary(self, path: str, *, session_id: str, offset: Optional[int] = None,
                    length: Optional[int] = None) -> Binary:
        """Read bytes of a file, at most 16 MiB; `download` has no limit."""
        return self._send(self._calls.read_binary(session_id, path, offset=offset, length=length))

    def write(self, path: str, content: Content, *, session_id: str, mode: Union[int, str, None] = None,
              append: bool = False) -> int:
        """Write text or bytes; missing directories are created. Returns the size of the file."""
        return self._send(self._calls.write(session_id, path, content, mode, append))

    def grep(self, pattern: str, *, session_id: str, path: Optional[str] = None, glob: Optional[str] = None,
             ignore_case: Optional[bool] = None, context: Optional[int] = None, exclude: Optional[Sequence[str]] = None,
             hidden: Optional[bool] = None, limit: Optional[int] = None) -> Matches:
        return self._send(self._calls.grep(session_id, pattern, path=path, glob=glob, ignore_case=ignore_case,
                                           context=context, exclude=exclude, hidden=hidden, limit=limit))

    def glob(self, pattern: str, *, session_id: str, path: Optional[str] = None, limit: Optional[int] = None,
             hidden: Optional[bool] = None, exclude: Optional[Sequence[str]] = None) -> Paths:
        return self._send(self._calls.glob(session_id, pattern, path=path, limit=limit, hidden=hidden,
                                           exclude=exclude))

    def stat(self, path: str, *, session_id: str, follow: Optional[bool] = None) -> FileStat:
        """Describe a path; with `follow=False`, describe a link itself."""
        return self._send(self._calls.stat(session_id, path, follow))

    def delete(self, path: str, *, session_id: str, recursive: Optional[bool] = None,
               missing_ok: Optional[bool] = None) -> int:
        """Delete a file, an empty directory, or with `recursive` a tree. Returns the number of deleted names."""
        return self._send(self._calls.delete(session_id, path, recursive=recursive, missing_ok=missing_ok))

    def move(self, path: str, to: str, *, session_id: str, overwrite: Optional[bool] = None,
             parents: Optional[bool] = None) -> None:
        """Rename or move a file or directory. Raises an error if the new name is taken, unless `overwrite`."""
        self._send(self._calls.move(session_id, path, to, overwrite=overwrite, parents=parents))

    def mkdir(self, path: str, *, session_id: str, parents: Optional[bool] = None,
              mode: Union[int, str, None] = None) -> bool:
        """Create a directory; with `parents` also its parents, and an existing directory is no error. Returns whether a
        directory was created.
        """
        return self._send(self._calls.mkdir(session_id, path, parents=parents, mode=mode))

    def edit(self, path: str, old: Content, new: Content, *, session_id: str, replace_all: Optional[bool] = None,
             expected: Optional[int] = None) -> Edited:
        """Replace an exact text, which must occur once, `expected` times, or with `replace_all` at least once."""
        return self._send(self._calls.edit(session_id, path, old, new, replace_all=replace_all, expected=expected))

    def watch(self, path: str = ".", *, session_id: str, recursive: bool = False) -> Iterator[FileChange]:
        """Watch a directory. When this returns, the watch is armed; the iterator yields what happens from then on, until
        it is closed. It raises `SandboxNotFoundError` when the directory is removed or moved.
        """
        answer = self._transport.open(self._calls.watch(session_id, path, recursive), {"Accept": EVENTS})
        decoder = EventDecoder()
        try:
            first = list(decoder.feed(answer.read(Deadline(LONGEST_SILENCE))))
        except BaseException:
            answer.close()
            raise

        def changes() -> Iterator[FileChange]:
            raws = first
            try:
                while True:
                    for raw in raws:
                        yield from file_changes_of(raw)
                    piece = answer.read(Deadline(LONGEST_SILENCE))
                    if not piece:
                        return
                    raws = list(decoder.feed(piece))
            finally:
                answer.close()

        return changes()

    def copy_in(self, files: Union[Mapping[str, Content], AnyPath], to: str = ".", *, session_id: str) -> Copied:
        """Copy files into the workspace, all of them or none. The source is a map of paths to contents, or a file or
        directory of this machine with the name `to` in the workspace. The default for `to` is `.`, the workspace
        itself, for a directory, and its own name for a file.
        """
        return self._send(self._copy_in_call(session_id, files, to))

    def copy_out(self, path: str = ".", to: AnyPath = ".", *, session_id: str) -> Unpacked:
        """Copy files and directories of the workspace into a directory of this machine. Links are left out and listed.
        """
        call = self._calls.copy_out(session_id, path)
        deadline = Deadline(call.time_allowed(self._transport.timeout))
        with self._transport.open(call, deadline=deadline) as answer:
            return unpack(answer.pieces(deadline), to)

    def download(self, path: str, to: AnyPath, *, session_id: str) -> pathlib.Path:
        """Download one file of any size to `to`, or into it if it is a directory."""
        place = place_of_download(path, to)
        self._download(session_id, path, place)
        return place

    # Terminal and leases

    def terminal(self, session_id: str, command: Optional[str] = None, rows: int = 24, cols: int = 80) -> Terminal:
        """Start a shell, or a command, on a terminal."""
        return Terminal(self._transport, self._terminal_target(session_id, command, rows, cols))

    def lease(self, language: str, *, network: Optional[Network] = None) -> Lease:
        """Lease a sandbox from the pool of the language. Raises `SandboxResourceError` at the limit of the pool.
        `network` is what its programs can reach, as for `create_session`.
        """
        return Lease(self, language, *self._send(service_calls.lend(language, network)))

    # The service

    def stats(self) -> dict[str, Any]:
        """Return the figures of each pool."""
        return self._send(service_calls.stats())

    def health(self) -> bool:
        return self._send(service_calls.health())

    def ready(self) -> Readiness:
        """Return whether every pool is warm; if not, the result says which pools are not, and why."""
        return self._send(service_calls.ready())

    def access(self) -> dict[str, Any]:
        """Return which tenants may use which profile, secret, rule set and language; for admins. The result has names, never
        values.
        """
        return self._send(service_calls.access())

    def metrics(self) -> str:
        """Return the metrics in the text format of Prometheus."""
        return self._send(service_calls.metrics())

    # For the other classes of this package

    def _send(self, call: Call[T]) -> T:
        return self._transport.send(call)

    def _stop_run(self, session_id: str, run_id: str) -> None:
        call = self._calls.run_remove(session_id, run_id)
        call.timeout = STOP_SECONDS
        try:
            self._send(call)
        except SandboxError:
            pass  # a run that nobody follows is stopped by the service

    def _download(self, session_id: str, path: str, place: pathlib.Path) -> None:
        call = self._calls.file(session_id, path)
        deadline = Deadline(call.time_allowed(self._transport.timeout))
        with self._transport.open(call, deadline=deadline) as answer:
            write_whole(place, answer.pieces(deadline))
