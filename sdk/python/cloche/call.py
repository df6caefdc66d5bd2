"""A call of the service as a value: what is sent, and how the response is read. It does no I/O, so that the sync and
the async client share it.
"""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Callable, Generic, Iterable, Mapping, Optional, TypeVar

from .errors import SandboxError, SandboxUnavailableError, error_from_answer

T = TypeVar("T")

# Besides these, a call may say that it is safe to send again.
IDEMPOTENT_METHODS = ("GET", "HEAD", "DELETE")

# What the service says before it has looked at a request.
_NOT_LOOKED_AT = "the service is starting"


@dataclass
class Answer:
    """A response. Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes = b""

    def json(self) -> Any:
        try:
            return json.loads(self.body.decode("utf-8"))
        except ValueError:
            raise SandboxUnavailableError("the response is not JSON; check the address", status=self.status,
                                          request_id=self.headers.get("x-request-id")) from None


@dataclass
class Call(Generic[T]):
    """A call. `read` turns a response with one of the statuses in `good` into a result. `timeout` is for the whole
    call. None means the timeout of the client plus `work_time`, the seconds that a program may take.
    """

    method: str
    target: str
    read: Callable[[Answer], T]
    json: Optional[Mapping[str, Any]] = None
    body: Optional[Iterable[bytes]] = None
    headers: dict[str, str] = field(default_factory=dict)
    good: tuple[int, ...] = (200, 201, 202)
    idempotent: bool = False
    timeout: Optional[float] = None
    work_time: float = 0.0

    def __post_init__(self) -> None:
        self.idempotent = self.idempotent or self.method in IDEMPOTENT_METHODS
        if self.json is not None:
            self.headers.setdefault("Content-Type", "application/json")

    def encoded_body(self) -> Optional[bytes]:
        if self.json is None:
            return None
        try:
            return json.dumps(self.json, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            # Lone surrogates: JSON can say them, and the service refuses what is no text.
            return json.dumps(self.json).encode("ascii")

    def time_allowed(self, usual: Optional[float]) -> Optional[float]:
        if self.timeout is not None:
            return self.timeout
        return None if usual is None else usual + self.work_time

    def finish(self, answer: Answer) -> T:
        if answer.status not in self.good:
            raise error_from_answer(answer.status, answer.headers, answer.body)
        return self.read(answer)


def may_retry(call: Call[Any], answer: Answer) -> Optional[SandboxError]:
    """Return whether the same call may be sent again after a while: the service has not started it, or repeating it is
    harmless.
    """
    if answer.status != 503 or "retry-after" not in answer.headers or call.body is not None:
        return None
    error = error_from_answer(answer.status, answer.headers, answer.body)
    return error if call.idempotent or error.message == _NOT_LOOKED_AT else None


def pause_before(attempt: int, error: Optional[SandboxError] = None) -> float:
    """Return the seconds to wait after the given attempt (counted from 0)."""
    if error is not None and error.retry_after is not None:
        return min(error.retry_after, 5.0)
    return min(0.05 * 4 ** attempt, 1.0)
