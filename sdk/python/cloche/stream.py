"""Follow a run while it is running."""
from __future__ import annotations

import time
from typing import Any, Callable, Iterator, Optional

from .call import Call, pause_before
from .deadline import Deadline
from .errors import SandboxError, SandboxTimeoutError
from .events import EventDecoder, RawEvent, RunFollower
from .results import Event, Result
from .session_calls import EVENTS, SessionCalls
from .transport import LineLost, StreamedAnswer, Transport

# The service's heart beats every 15 s; a line on which nothing comes for so long is dead.
LONGEST_SILENCE = 45.0
# Attempts to come back that bring nothing new.
MOST_ATTEMPTS = 5
STOP_SECONDS = 10.0


class Stream:
    """An iterator of `Event`, until the run ends. After a lost connection it continues where it stopped: every event
    arrives exactly once. Leaving it early (`close()`, the end of `with`, an exception) stops the run.

    >>> with client.stream("for i in range(3): print(i)", session_id="s1") as events:    # doctest: +SKIP
    ...     for event in events:
    ...         if event.kind == "stdout":
    ...             print(event.text, end="")
    """

    def __init__(self, transport: Transport, calls: SessionCalls, session_id: str, call: Optional[Call[Any]],
                 follower: RunFollower, on_early_end: Optional[Callable[[str], None]] = None) -> None:
        """`call` starts the run; without it, the follower knows the run. `on_early_end` receives a run that is left
        before its end; None: the run continues.
        """
        self._transport, self._calls, self._session_id = transport, calls, session_id
        self._follower, self._on_early_end = follower, on_early_end
        self._answer: Optional[StreamedAnswer] = None
        self._raw: Iterator[RawEvent] = iter(())
        self._deadline = Deadline(None if call is None else call.time_allowed(transport.timeout))
        self._attempts = 0
        self._closed = False
        self.result: Optional[Result] = None
        self._decoder = EventDecoder()
        if call is not None:
            self._answer = transport.open(call, {"Accept": EVENTS}, self._deadline)

    @property
    def run_id(self) -> str:
        """The id of the run; known after the first event."""
        return self._follower.run_id

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Event:
        if self._closed:
            raise StopIteration
        try:
            event = self._next()
        except BaseException:
            self.close()
            raise
        if event is None:
            self.close()
            raise StopIteration
        if event.result is not None:
            self.result = event.result
        return event

    def until_end(self) -> Result:
        """Follow the run until it ends, and return how it ended."""
        for _ in self:
            pass
        if self.result is None:
            raise SandboxError("the run was not followed to its end")
        return self.result

    def close(self) -> None:
        """Stop the run if it has not ended. Further calls have no effect."""
        if self._closed:
            return
        self._closed = True
        if self._answer is not None:
            self._answer.close()
        if not self._follower.ended and self.run_id and self._on_early_end is not None:
            self._on_early_end(self.run_id)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # nobody could be told
            pass

    def _next(self) -> Optional[Event]:
        while True:
            for raw in self._raw:
                event = self._take(raw)
                if event is not None:
                    return event
            if self._follower.ended:
                return None
            try:
                self._read()
            except LineLost:
                # Without its id nobody knows whether there is a run.
                if not self.run_id or self._attempts >= MOST_ATTEMPTS:
                    raise
                self._answer = None

    def _read(self) -> None:
        """Read one piece of the response; send the request first if necessary."""
        self._deadline.left()
        if self._answer is None:
            self._come_back()
        assert self._answer is not None
        try:
            piece = self._answer.read(Deadline(LONGEST_SILENCE))
        except SandboxTimeoutError:
            raise LineLost("no event of the run arrived in time", sent=True) from None
        if not piece:
            raise LineLost("the events ended before the run did", sent=True)
        self._raw = self._decoder.feed(piece)

    def _take(self, raw: RawEvent) -> Optional[Event]:
        event = self._follower.take(raw)
        self._calls.learn(self._follower.told)
        if event is not None:
            self._attempts = 0
        return event

    def _come_back(self) -> None:
        if self._attempts > 0:
            time.sleep(pause_before(self._attempts - 1))
        self._attempts += 1
        self._decoder = EventDecoder()
        headers = {"Accept": EVENTS}
        if self._follower.last_id:
            headers["Last-Event-ID"] = self._follower.last_id
        target = self._calls.run_path(self._session_id, self.run_id, "/events")
        self._answer = self._transport.open(Call("GET", target, lambda _: None), headers)
