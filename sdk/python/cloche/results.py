"""Results of calls: how a program ended, its artifacts, and the content of a session."""
from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Optional, Sequence

from .errors import SandboxError

Json = Mapping[str, Any]
#: Makes an artifact that can fetch its content out of the JSON of one.
ArtifactMaker = Callable[[Json], Any]


def bytes_in(told: Json, name: str) -> bytes:
    """Return the original bytes of a text, even if they are not UTF-8."""
    encoded = told.get(name + "_base64")
    return base64.b64decode(encoded) if encoded is not None else str(told.get(name, "")).encode("utf-8")


@dataclass(frozen=True)
class ArtifactInfo:
    """A file that a run created or changed. `path` is relative to the workspace."""

    path: str
    name: str
    content_type: str
    size: int
    sha256: str

    @classmethod
    def fields_of(cls, told: Json) -> dict[str, Any]:
        return {name: told[name] for name in ("path", "name", "content_type", "size", "sha256")}


@dataclass(frozen=True)
class CompileResult:
    """The output of the compiler."""

    stdout: str
    stderr: str
    exit_code: int
    execution_time: float


@dataclass(frozen=True)
class ContextError:
    """An exception in a Python context."""

    name: str
    message: str
    traceback: str


class ProgramError(SandboxError):
    """The program did not succeed; `result` says how it ended. Only `Result.check()` raises this error."""

    def __init__(self, result: "Result") -> None:
        words = [result.reason, result.stderr.strip()[-500:]]
        super().__init__(": ".join([f"{result.category} ({result.cause})"] + [each for each in words if each]),
                         code=result.category)
        self.result = result


@dataclass(frozen=True)
class Result:
    """How a run ended. `category` is success, runtime_error, timeout, compilation_error or system_error. `cause` gives
    details: exit_code, signal, memory, output, wall, cpu, not_started, lost.

    >>> result = client.execute("print(6 * 7)", session_id="s1")    # doctest: +SKIP
    >>> result.ok, result.stdout                                    # doctest: +SKIP
    (True, '42\\n')
    """

    stdout: str
    stderr: str
    exit_code: int
    category: str
    cause: str
    reason: str
    execution_time: float
    cpu_time: float
    memory_peak: int
    truncated: bool
    artifacts: Sequence[Any] = ()
    artifacts_truncated: bool = False
    artifacts_left_out: int = 0
    artifacts_ignored: int = 0
    compile: Optional[CompileResult] = None
    #: Of a call in a context: the last expression's repr, what was raised, and what the next call will find.
    value: Optional[str] = None
    error: Optional[ContextError] = None
    state: Optional[str] = None
    fresh: Optional[bool] = None
    run_id: str = ""
    tenant_id: str = ""
    session_id: str = ""
    #: The output as it was; `stdout` has U+FFFD where it is not UTF-8.
    stdout_bytes: bytes = field(default=b"", repr=False)
    stderr_bytes: bytes = field(default=b"", repr=False)

    @property
    def ok(self) -> bool:
        return self.category == "success" and self.cause == "none"

    def check(self) -> "Result":
        """Return the result itself if the program succeeded; otherwise raise `ProgramError`."""
        if not self.ok:
            raise ProgramError(self)
        return self

    @classmethod
    def from_json(cls, told: Json, make_artifact: ArtifactMaker, stdout: Optional[bytes] = None,
                  stderr: Optional[bytes] = None) -> "Result":
        """Create a result from JSON. `stdout` and `stderr` are used if the JSON has none, as at the end of a stream."""
        out = bytes_in(told, "stdout") if stdout is None else stdout
        err = bytes_in(told, "stderr") if stderr is None else stderr
        compiled, error = told.get("compile"), told.get("error")
        return cls(
            stdout=out.decode("utf-8", "replace"), stderr=err.decode("utf-8", "replace"), stdout_bytes=out,
            stderr_bytes=err, exit_code=told["exit_code"], category=told["category"], cause=told["cause"],
            reason=told["reason"], execution_time=told["execution_time"], cpu_time=told["cpu_time"],
            memory_peak=told["memory_peak"], truncated=told["truncated"],
            artifacts=[make_artifact(each) for each in told["artifacts"]],
            artifacts_truncated=told["artifacts_truncated"],
            artifacts_left_out=told.get("artifacts_left_out", 0), artifacts_ignored=told.get("artifacts_ignored", 0),
            compile=CompileResult(compiled["stdout"], compiled["stderr"], compiled["exit_code"],
                                  compiled["execution_time"]) if compiled else None,
            value=told.get("value"),
            error=ContextError(error["name"], error["message"], error["traceback"]) if error else None,
            state=told.get("state"), fresh=told.get("fresh"), run_id=told.get("run_id", ""),
            tenant_id=told.get("tenant_id", ""), session_id=told.get("session_id", ""))


@dataclass(frozen=True)
class Event:
    """An event of a run. `kind` is `run` (the first), `stdout`, `stderr`, `artifact` or `result` (the last)."""

    kind: str
    id: str
    data: bytes = b""
    artifact: Optional[Any] = None
    result: Optional[Result] = None
    run_id: str = ""

    @property
    def text(self) -> str:
        """The output as text. A character is never split, unless the program did so."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class RunInfo:
    """A run as the service lists it. `language` is None if it is no longer known."""

    run_id: str
    state: str
    background: bool
    language: Optional[str]
    text: str
    started: str
    ended: Optional[str]
    stdout_size: int
    stderr_size: int
    context: Optional[str] = None

    @property
    def running(self) -> bool:
        return self.state == "running"

    @classmethod
    def from_json(cls, told: Json) -> "RunInfo":
        return cls(told["run_id"], told["state"], told["background"], told["language"], told["text"], told["started"],
                   told["ended"], told["stdout_size"], told["stderr_size"], told.get("context"))


@dataclass(frozen=True)
class Output:
    """A piece of the output of a run. The next piece starts at `next_offset`."""

    data: bytes
    next_offset: int
    running: bool

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class SessionInfo:
    """A session. `state` is `live`, `paused`, `lost` or another state of the service; times are UTC, as text. At the
    time `expires` it is ended or paused, as `on_timeout` says.
    """

    tenant_id: str
    session_id: str
    profile: str
    state: str
    created: str
    last_used: str
    idle_timeout: float
    calls: int
    lost_because: Optional[str] = None
    network: Mapping[str, Any] = field(default_factory=dict)
    volumes: Sequence[Mapping[str, Any]] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    expires: Optional[str] = None
    on_timeout: str = "end"

    @classmethod
    def from_json(cls, told: Json) -> "SessionInfo":
        return cls(told["tenant_id"], told["session_id"], told["profile"], told["state"], told["created"],
                   told["last_used"], told["idle_timeout"], told["calls"], told.get("lost_because"),
                   told.get("network", {}), tuple(told.get("volumes", ())), told.get("metadata", {}),
                   told.get("expires"), told.get("on_timeout", "end"))


@dataclass(frozen=True)
class ResourceUse:
    """What the sandbox of a session uses. `cpu_time` is in seconds since the sandbox was created; `memory` (without the
    page cache) and `cache` (the page cache) are in bytes. `limits` has `memory`, `cpus` and `pids`.
    """

    cpu_time: float
    memory: int
    cache: int
    limits: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, told: Json) -> "ResourceUse":
        return cls(told["cpu_time"], told["memory"], told["cache"], told.get("limits", {}))


@dataclass(frozen=True)
class VolumeInfo:
    """A volume. Sizes are bytes; `allocated` is what it takes on the server's disk. `readers` and `writers` are the
    sandboxes that have it.
    """

    tenant_id: str
    name: str
    size: int
    allocated: int
    created: str
    readers: int
    writers: int

    @classmethod
    def from_json(cls, told: Json) -> "VolumeInfo":
        return cls(told["tenant_id"], told["name"], told["size"], told["allocated"], told["created"], told["readers"],
                   told["writers"])


@dataclass(frozen=True)
class SnapshotInfo:
    """A snapshot: the files of a session's work directory and home directory at a moment. `size` is the size of the
    files, in bytes. `kept` says what it contains: `files`, and so neither programs nor memory.
    """

    id: str
    tenant_id: str
    name: Optional[str]
    session_id: str
    profile: str
    created: str
    files: int
    size: int
    kept: str

    @classmethod
    def from_json(cls, told: Json) -> "SnapshotInfo":
        return cls(told["id"], told["tenant_id"], told.get("name"), told["session_id"], told["profile"],
                   told["created"], told["files"], told["size"], told["kept"])


@dataclass(frozen=True)
class Fork:
    """One session of a fork: `session`, or the `code` and the `message` of the error that it was not made for."""

    session: Optional[SessionInfo]
    code: Optional[str] = None
    message: Optional[str] = None

    @classmethod
    def from_json(cls, told: Json) -> "Fork":
        if "session" in told:
            return cls(SessionInfo.from_json(told["session"]))
        return cls(None, told["error"]["code"], told["error"]["message"])


@dataclass(frozen=True)
class EgressEvent:
    """A connection or request of a program to the outside. `outcome` is `allowed`, then `closed`, `failed`,
    `over_quota` or `ended`; or `denied`, `failed` or `over_quota` alone. `told` is the event as the service describes
    it.
    """

    number: int
    outcome: str
    host: str
    port: int
    told: Mapping[str, Any]

    @classmethod
    def from_json(cls, told: Json) -> "EgressEvent":
        return cls(told["number"], told["outcome"], told.get("host", ""), told.get("port", 0), told)


@dataclass(frozen=True)
class ContextInfo:
    """An interpreter of a session."""

    name: str
    language: str
    alive: bool
    calls: int
    created: str
    last_used: str

    @classmethod
    def from_json(cls, told: Json) -> "ContextInfo":
        return cls(told["name"], told["language"], told["alive"], told["calls"], told["created"], told["last_used"])


@dataclass(frozen=True)
class Readiness:
    """Whether the service is ready. `lacks` maps pools that are not warm to the reason."""

    ready: bool
    lacks: dict[str, str]

    def __bool__(self) -> bool:
        return self.ready
