"""Calls about sessions, runs, contexts and files, as values."""
from __future__ import annotations

import base64
import urllib.parse
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from .call import Answer, Call
from .errors import SandboxArgumentError
from .file_results import Binary, Copied, Edited, FileStat, Matches, Paths, Text
from .results import (ArtifactMaker, ContextInfo, EgressEvent, Fork, Output, ResourceUse, Result, RunInfo, SessionInfo,
                      SnapshotInfo, VolumeInfo)

#: What a file is given as: its text, or its bytes.
Content = Union[str, bytes, bytearray, memoryview]

#: What programs can reach: `none`, `allow-list`, `internet`, or {"mode", "rules", "allow", "deny"}.
Network = Union[str, Mapping[str, Any]]

#: A volume of a session: its name, or {"name", "target", "access"}.
Volume = Union[str, Mapping[str, Any]]

# What a run may take when nobody says anything.
USUAL_RUN_SECONDS = 120.0
# Of one call that waits for a run; the next one follows.
LONGEST_POLL = 60.0
BYTES = "application/octet-stream"
EVENTS = "text/event-stream"


def quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def content_fields(content: Content) -> dict[str, str]:
    if isinstance(content, str):
        return {"content": content}
    return {"content_base64": base64.b64encode(bytes(content)).decode("ascii")}


def file_map(files: Optional[Mapping[str, Content]]) -> Optional[dict[str, Any]]:
    if files is None:
        return None
    return {path: content if isinstance(content, str) else content_fields(content) for path, content in files.items()}


def input_fields(stdin: Optional[Content]) -> dict[str, str]:
    if stdin is None:
        return {}
    if isinstance(stdin, str):
        return {"stdin": stdin}
    return {"stdin_base64": base64.b64encode(bytes(stdin)).decode("ascii")}


def check_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise SandboxArgumentError(f"{what} must be text, not {type(value).__name__}", code="invalid_argument")
    return value


class SessionCalls:
    """Calls for a tenant. Without a name, the service uses the caller's own tenant. Paths need its name, which is
    learned from responses that contain it, and is `default` until then.
    """

    def __init__(self, tenant: Optional[str]) -> None:
        self.tenant = tenant
        self._learned: Optional[str] = None

    def learn(self, told: Mapping[str, Any]) -> None:
        if self.tenant is None and told.get("tenant_id"):
            self._learned = told["tenant_id"]

    def path(self, session_id: str, below: str = "") -> str:
        tenant = self.tenant or self._learned or "default"
        return f"/sessions/{quoted(tenant)}/{quoted(check_text(session_id, 'session_id'))}{below}"

    def _body(self, session_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        check_text(session_id, "session_id")
        return without_none({"session_id": session_id, "tenant_id": self.tenant, **fields})

    # Sessions

    def _info(self, answer: Answer) -> SessionInfo:
        return SessionInfo.from_json(answer.json())

    def sessions(self, tenant: Optional[str], state: Optional[str] = None,
                 metadata: Optional[Mapping[str, str]] = None) -> Call[list[SessionInfo]]:
        asked = without_none({"tenant_id": tenant or self.tenant, "state": state})
        asked.update({"metadata." + key: value for key, value in (metadata or {}).items()})
        query = "?" + urllib.parse.urlencode(asked) if asked else ""
        return Call("GET", "/sessions" + query,
                    lambda answer: [SessionInfo.from_json(each) for each in answer.json()["sessions"]])

    def session(self, session_id: str) -> Call[SessionInfo]:
        return Call("GET", self.path(session_id), self._info)

    def create_session(self, session_id: str, **options: Any) -> Call[SessionInfo]:
        def read(answer: Answer) -> SessionInfo:
            self.learn(answer.json())
            return self._info(answer)
        if options.get("volumes") is not None:
            options["volumes"] = [{"name": each} if isinstance(each, str) else each for each in options["volumes"]]
        work_time = 600 if options.get("snapshot") else 60
        return Call("POST", "/sessions", read, json=self._body(session_id, options), work_time=work_time)

    def end_session(self, session_id: str, mode: str) -> Call[None]:
        return Call("DELETE", self.path(session_id, "?" + urllib.parse.urlencode({"mode": mode})), lambda _: None,
                    work_time=60)

    def set_network(self, session_id: str, network: Optional[Network]) -> Call[SessionInfo]:
        return Call("PUT", self.path(session_id, "/network"), self._info, json={"network": network}, work_time=60)

    def pause(self, session_id: str) -> Call[SessionInfo]:
        return Call("POST", self.path(session_id, "/pause"), self._info, work_time=60)

    def resume(self, session_id: str, timeout: Optional[float]) -> Call[SessionInfo]:
        return Call("POST", self.path(session_id, "/resume"), self._info, json=without_none({"timeout": timeout}),
                    work_time=60)

    def set_timeout(self, session_id: str, timeout: Optional[float]) -> Call[SessionInfo]:
        return Call("PUT", self.path(session_id, "/timeout"), self._info, json={"timeout": timeout}, work_time=60)

    def resource_use(self, session_id: str) -> Call[ResourceUse]:
        return Call("GET", self.path(session_id, "/metrics"), lambda answer: ResourceUse.from_json(answer.json()))

    def egress_events(self, session_id: str, after: int) -> Call[list[EgressEvent]]:
        query = urllib.parse.urlencode({"after": after})
        return Call("GET", self.path(session_id, "/egress?" + query),
                    lambda answer: [EgressEvent.from_json(each) for each in answer.json()["events"]])

    def follow_egress(self, session_id: str, after: int) -> Call[None]:
        query = urllib.parse.urlencode({"after": after, "follow": 1})
        return Call("GET", self.path(session_id, "/egress?" + query), lambda _: None)

    # Volumes

    def _volume_path(self, name: str) -> str:
        tenant = self.tenant or self._learned or "default"
        return f"/volumes/{quoted(tenant)}/{quoted(check_text(name, 'name'))}"

    def volumes(self, tenant: Optional[str]) -> Call[list[VolumeInfo]]:
        tenant = tenant or self.tenant
        query = "?" + urllib.parse.urlencode({"tenant_id": tenant}) if tenant else ""
        return Call("GET", "/volumes" + query,
                    lambda answer: [VolumeInfo.from_json(each) for each in answer.json()["volumes"]])

    def volume(self, name: str) -> Call[VolumeInfo]:
        return Call("GET", self._volume_path(name), lambda answer: VolumeInfo.from_json(answer.json()))

    def create_volume(self, name: str, size: Union[int, str]) -> Call[VolumeInfo]:
        def read(answer: Answer) -> VolumeInfo:
            self.learn(answer.json())
            return VolumeInfo.from_json(answer.json())
        body = without_none({"tenant_id": self.tenant, "name": check_text(name, "name"), "size": size})
        return Call("POST", "/volumes", read, json=body, work_time=60)

    def delete_volume(self, name: str) -> Call[None]:
        return Call("DELETE", self._volume_path(name), lambda _: None, work_time=60)

    # Snapshots

    def _snapshot_query(self, tenant: Optional[str], **filters: Optional[str]) -> str:
        fields = without_none({"tenant_id": tenant or self.tenant, **filters})
        return "?" + urllib.parse.urlencode(fields) if fields else ""

    def take_snapshot(self, session_id: str, name: Optional[str]) -> Call[SnapshotInfo]:
        return Call("POST", self.path(session_id, "/snapshots"),
                    lambda answer: SnapshotInfo.from_json(answer.json()), json=without_none({"name": name}),
                    work_time=600)

    def snapshots(self, tenant: Optional[str], session_id: Optional[str]) -> Call[list[SnapshotInfo]]:
        return Call("GET", "/snapshots" + self._snapshot_query(tenant, session_id=session_id),
                    lambda answer: [SnapshotInfo.from_json(each) for each in answer.json()["snapshots"]])

    def snapshot(self, snapshot: str) -> Call[SnapshotInfo]:
        path = f"/snapshots/{quoted(check_text(snapshot, 'snapshot'))}{self._snapshot_query(None)}"
        return Call("GET", path, lambda answer: SnapshotInfo.from_json(answer.json()))

    def delete_snapshot(self, snapshot: str) -> Call[None]:
        path = f"/snapshots/{quoted(check_text(snapshot, 'snapshot'))}{self._snapshot_query(None)}"
        return Call("DELETE", path, lambda _: None, work_time=60)

    def fork(self, session_id: str, count: Optional[int], ids: Optional[Sequence[str]]) -> Call[list[Fork]]:
        body = without_none({"count": count, "ids": None if ids is None else list(ids)})
        return Call("POST", self.path(session_id, "/fork"),
                    lambda answer: [Fork.from_json(each) for each in answer.json()["forks"]], json=body,
                    work_time=1200)

    # Runs

    def run(self, kind: str, text: str, session_id: str, make_artifact: ArtifactMaker, *,
            fields: Mapping[str, Any], deadline: Optional[float]) -> Call[Result]:
        """Create a run. `kind` is `execute` or `bash`; the text is code or a command."""
        check_text(text, "code" if kind == "execute" else "command")
        fields = {**fields, "files": file_map(fields.get("files"))}
        given = input_fields(fields.pop("stdin", None))
        body = self._body(session_id, {"code" if kind == "execute" else "command": text, **fields, **given})

        def read(answer: Answer) -> Result:
            told = answer.json()
            self.learn(told)
            return Result.from_json(told, make_artifact)
        limit = fields.get("timeout")
        return Call("POST", "/" + kind, read, json=body, timeout=deadline,
                    work_time=USUAL_RUN_SECONDS if limit is None else float(limit))

    def background(self, call: Call[Result], make_run: Callable[[str, Optional[Mapping[str, Any]]], Any]) -> Call[Any]:
        """Return the run; if it could not be started, also the response with its result."""
        def read(answer: Answer) -> Any:
            told = answer.json()
            self.learn(told)
            return make_run(told["run_id"], None if answer.status == 202 else told)
        # Compiling is all that is waited for.
        return Call("POST", call.target, read, json={**(call.json or {}), "background": True}, timeout=call.timeout,
                    work_time=USUAL_RUN_SECONDS)

    def run_path(self, session_id: str, run_id: str, below: str = "") -> str:
        return self.path(session_id, f"/runs/{quoted(run_id)}{below}")

    def runs(self, session_id: str) -> Call[list[RunInfo]]:
        return Call("GET", self.path(session_id, "/runs"),
                    lambda answer: [RunInfo.from_json(each) for each in answer.json()["runs"]])

    def run_state(self, session_id: str, run_id: str) -> Call[Mapping[str, Any]]:
        return Call("GET", self.run_path(session_id, run_id), Answer.json)

    def run_wait(self, session_id: str, run_id: str, timeout: float) -> Call[Mapping[str, Any]]:
        # Waiting twice is as good as once.
        return Call("POST", self.run_path(session_id, run_id, "/wait"), Answer.json, json={"timeout": timeout},
                    idempotent=True, work_time=timeout)

    def run_output(self, session_id: str, run_id: str, stream: str, offset: int, limit: int) -> Call[Output]:
        query = urllib.parse.urlencode({"stream": stream, "offset": offset, "limit": limit})

        def read(answer: Answer) -> Output:
            return Output(answer.body, int(answer.headers["cloche-next-offset"]),
                          answer.headers["cloche-run-state"] == "running")
        return Call("GET", self.run_path(session_id, run_id, "/output?" + query), read, headers={"Accept": BYTES})

    def run_signal(self, session_id: str, run_id: str, signal: Union[int, str]) -> Call[RunInfo]:
        return Call("POST", self.run_path(session_id, run_id, "/signal"),
                    lambda answer: RunInfo.from_json(answer.json()), json={"signal": signal})

    def run_remove(self, session_id: str, run_id: str) -> Call[None]:
        return Call("DELETE", self.run_path(session_id, run_id), lambda _: None, work_time=30)

    # Contexts

    def contexts(self, session_id: str) -> Call[list[ContextInfo]]:
        return Call("GET", self.path(session_id, "/contexts"),
                    lambda answer: [ContextInfo.from_json(each) for each in answer.json()["contexts"]])

    def create_context(self, session_id: str, name: str, language: str) -> Call[ContextInfo]:
        return Call("POST", self.path(session_id, "/contexts"), lambda answer: ContextInfo.from_json(answer.json()),
                    json={"name": name, "language": language}, work_time=90)

    def restart_context(self, session_id: str, name: str) -> Call[ContextInfo]:
        return Call("POST", self.path(session_id, f"/contexts/{quoted(name)}/restart"),
                    lambda answer: ContextInfo.from_json(answer.json()), work_time=90)

    def close_context(self, session_id: str, name: str) -> Call[None]:
        return Call("DELETE", self.path(session_id, f"/contexts/{quoted(name)}"), lambda _: None)

    # Files

    def read(self, session_id: str, path: str, **options: Any) -> Call[Text]:
        return Call("POST", "/read", lambda answer: Text.from_json(answer.json()),
                    json=self._body(session_id, {"path": path, **options}), idempotent=True)

    def read_binary(self, session_id: str, path: str, **options: Any) -> Call[Binary]:
        return Call("POST", "/read_binary", lambda answer: Binary.from_json(answer.json()),
                    json=self._body(session_id, {"path": path, **options}), idempotent=True)

    def write(self, session_id: str, path: str, content: Content, mode: Union[int, str, None],
              append: bool) -> Call[int]:
        """Returns the size of the file."""
        body = self._body(session_id, {"path": path, **content_fields(content), "mode": mode,
                                       "append": True if append else None})
        return Call("POST", "/write", lambda answer: int(answer.json()["size"]), json=body, idempotent=not append)

    def grep(self, session_id: str, pattern: str, **options: Any) -> Call[Matches]:
        return Call("POST", "/grep", lambda answer: Matches.from_json(answer.json()),
                    json=self._body(session_id, {"pattern": pattern, **options}), idempotent=True)

    def glob(self, session_id: str, pattern: str, **options: Any) -> Call[Paths]:
        return Call("POST", "/glob", lambda answer: Paths.from_json(answer.json()),
                    json=self._body(session_id, {"pattern": pattern, **options}), idempotent=True)

    def stat(self, session_id: str, path: str, follow: Optional[bool]) -> Call[FileStat]:
        return Call("POST", "/stat", lambda answer: FileStat.from_json(answer.json()),
                    json=self._body(session_id, {"path": path, "follow": follow}), idempotent=True)

    def delete(self, session_id: str, path: str, **options: Any) -> Call[int]:
        """Returns the number of deleted names."""
        return Call("POST", "/delete", lambda answer: int(answer.json()["removed"]),
                    json=self._body(session_id, {"path": path, **options}))

    def move(self, session_id: str, path: str, to: str, **options: Any) -> Call[None]:
        return Call("POST", "/move", lambda _: None, json=self._body(session_id, {"path": path, "to": to, **options}))

    def mkdir(self, session_id: str, path: str, **options: Any) -> Call[bool]:
        """Returns whether a directory was created."""
        return Call("POST", "/mkdir", lambda answer: bool(answer.json()["created"]),
                    json=self._body(session_id, {"path": path, **options}))

    def edit(self, session_id: str, path: str, old: Content, new: Content, **options: Any) -> Call[Edited]:
        def text(name: str, value: Content) -> dict[str, str]:
            return {name: value} if isinstance(value, str) else {
                name + "_base64": base64.b64encode(bytes(value)).decode("ascii")}
        body = self._body(session_id, {"path": path, **text("old", old), **text("new", new), **options})
        return Call("POST", "/edit", lambda answer: Edited(answer.json()["replaced"], answer.json()["size"]), json=body)

    def copy_in(self, session_id: str, files: Mapping[str, Content]) -> Call[Copied]:
        return Call("POST", self.path(session_id, "/copy"), self._copied, json={"files": file_map(files)},
                    idempotent=True)

    def copy_in_tar(self, session_id: str, archive: Iterable[bytes]) -> Call[Copied]:
        return Call("POST", self.path(session_id, "/copy"), self._copied, body=archive,
                    headers={"Content-Type": "application/x-tar"}, work_time=240)

    @staticmethod
    def _copied(answer: Answer) -> Copied:
        return Copied(answer.json()["files"], answer.json()["bytes"])

    def copy_out(self, session_id: str, path: str) -> Call[Any]:
        """The response is streamed."""
        return Call("GET", self.path(session_id, "/copy?" + urllib.parse.urlencode({"path": path})), lambda _: None,
                    headers={"Accept": "application/x-tar"}, work_time=240)

    def watch(self, session_id: str, path: str, recursive: bool) -> Call[None]:
        query = urllib.parse.urlencode({"path": path, "recursive": "true" if recursive else "false"})
        return Call("GET", self.path(session_id, "/watch?" + query), lambda _: None)

    def file(self, session_id: str, path: str) -> Call[bytes]:
        """The bytes of a file, in one piece or streamed."""
        if path.startswith("/"):
            return Call("POST", "/read_binary", lambda answer: answer.body, headers={"Accept": BYTES},
                        json=self._body(session_id, {"path": path}), work_time=240)
        below = "/files/" + urllib.parse.quote(path)
        return Call("GET", self.path(session_id, below), lambda answer: answer.body, headers={"Accept": BYTES},
                    work_time=240)
