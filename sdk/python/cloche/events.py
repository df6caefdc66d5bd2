"""Decode server-sent events while they arrive, and interpret them as events of a run."""
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterator, Optional

from .errors import SandboxUnavailableError, error_for
from .file_results import FileChange
from .results import ArtifactMaker, EgressEvent, Event, Result, bytes_in

LONGEST_LINE = 64 << 20
# As much as the service itself keeps of each stream.
KEPT_OUTPUT = 1 << 20


@dataclass
class RawEvent:
    name: str
    id: str
    data: str


class EventDecoder:
    """Accepts bytes in any pieces and yields complete events."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []
        self.last_id = ""

    def feed(self, piece: bytes) -> Iterator[RawEvent]:
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST_LINE:
            raise SandboxUnavailableError("an event of the service is too long")
        for line in lines:
            event = self._take(line.rstrip(b"\r").decode("utf-8", "replace"))
            if event is not None:
                yield event

    def _take(self, line: str) -> Optional[RawEvent]:
        if not line:
            data, name = self._data, self._name
            self._data, self._name = [], ""
            return RawEvent(name or "message", self.last_id, "\n".join(data)) if data else None
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field == "id":
            self.last_id = value
        return None


def egress_event_of(raw: RawEvent) -> EgressEvent:
    """Interpret an event of a session's connections. Raises the error that the service reports."""
    told = json.loads(raw.data)
    if raw.name == "error":
        raise error_for(told.get("message", ""), code=told.get("code"))
    return EgressEvent.from_json(told)


def file_changes_of(raw: RawEvent) -> list[FileChange]:
    """Interpret an event of a watched directory. Raises the error that the service reports."""
    told = json.loads(raw.data)
    if raw.name == "error":
        raise error_for(told.get("message", ""), code=told.get("code"))
    return [FileChange(each["type"], each["path"]) for each in told.get("changes", [])]


class RunFollower:
    """The state of a run that is followed by its events, over any number of connections."""

    def __init__(self, make_artifact: ArtifactMaker) -> None:
        self._make_artifact = make_artifact
        self._printed = {"stdout": bytearray(), "stderr": bytearray()}
        self.run_id = ""
        self.last_id = ""
        self.ended = False
        self._has_begun = False
        self.told: dict[str, Any] = {}

    def take(self, raw: RawEvent) -> Optional[Event]:
        """Return the event, or None if it has nothing new. Raises the error of an `error` event."""
        told = json.loads(raw.data)
        self.last_id = raw.id or self.last_id
        if raw.name == "run":
            is_first, self._has_begun = not self._has_begun, True
            self.run_id, self.told = told["run_id"], told
            return Event("run", raw.id, run_id=self.run_id) if is_first else None  # else the line was lost between
        if raw.name in self._printed:
            data = bytes_in(told, "text")
            kept = self._printed[raw.name]
            kept += data[:KEPT_OUTPUT - len(kept)]
            return Event(raw.name, raw.id, data=data, run_id=self.run_id)
        if raw.name == "artifact":
            return Event("artifact", raw.id, artifact=self._make_artifact(told), run_id=self.run_id)
        if raw.name == "result":
            self.ended = True
            result = Result.from_json(told, self._make_artifact, bytes(self._printed["stdout"]),
                                      bytes(self._printed["stderr"]))
            return Event("result", raw.id, result=result, run_id=self.run_id)
        if raw.name == "error":
            self.ended = True
            raise error_for(told["message"], code=told["code"])
        return None  # of a newer service
