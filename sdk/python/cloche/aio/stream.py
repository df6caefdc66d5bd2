"""Follow a run while it is running, on asyncio; see `cloche.stream`."""
from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Iterator, Optional

from ..call import Call, pause_before
from ..deadline import Deadline
from ..errors import SandboxError, SandboxTimeoutError
from ..events import EventDecoder, RawEvent, RunFollower
from ..results import Event, Result
from ..session_calls import EVENTS, SessionCalls
from ..stream import LONGEST_SILENCE, MOST_ATTEMPTS
from ..transport import LineLost
from .transport import StreamedAnswer, Transport


class Stream:
    """An async iterator of `Event`, until the run ends. Leaving it early (`close()`, the end of `async with`,
    cancellation) stops the run.

    >>> async with client.stream("print(42)", session_id="s1") as events:      # doctest: +SKIP
    ...     async for event in events:
    ...         if event.kind == "stdout":
    ...             print(event.text, end="")
    """

    def __init__(self, transport: Transport, calls: SessionCalls, session_id: str, call: Optional[Call[Any]],
                 follower: RunFollower, on_early_end: Optional[Callable[[str], Awaitable[None]]] = None) -> None:
        self._transport, self._calls, self._session_id, self._call = transport, calls, session_id, call
        self._follower, self._on_early_end = follower, on_early_end
        self._answer: Optional[StreamedAnswer] = None
        self._raw: Iterator[RawEvent] = iter(())
        self._deadline = Deadline(None if call is None else call.time_allowed(transport.timeout))
        self._attempts = 0
        self._closed = False
        self.result: Optional[Result] = None
        self._decoder = EventDecoder()
        self._before: Optional[Callable[[], Awaitable[Any]]] = None  # what must be there before the run

    @property
    def run_id(self) -> str:
        """The id of the run; known after the first event."""
        return self._follower.run_id

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> Event:
        if self._closed:
            raise StopAsyncIteration
        try:
            event = await self._next()
        except BaseException:
            await self.close()
            raise
        if event is None:
            await self.close()
            raise StopAsyncIteration
        if event.result is not None:
            self.result = event.result
        return event

    async def until_end(self) -> Result:
        """Follow the run until it ends, and return how it ended."""
        async for _ in self:
            pass
        if self.result is None:
            raise SandboxError("the run was not followed to its end")
        return self.result

    async def close(self) -> None:
        """Stop the run if it has not ended. Further calls have no effect."""
        if self._closed:
            return
        self._closed = True
        if self._answer is not None:
            self._answer.close()
        if not self._follower.ended and self.run_id and self._on_early_end is not None:
            await self._on_early_end(self.run_id)

    async def __aenter__(self) -> "Stream":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def _next(self) -> Optional[Event]:
        while True:
            for raw in self._raw:
                event = self._take(raw)
                if event is not None:
                    return event
            if self._follower.ended:
                return None
            try:
                await self._read()
            except LineLost:
                # Without its id nobody knows whether there is a run.
                if not self.run_id or self._attempts >= MOST_ATTEMPTS:
                    raise
                self._answer = None

    async def _read(self) -> None:
        """Read one piece of the response; send the request first if necessary."""
        self._deadline.left()
        if self._call is not None:
            call, self._call = self._call, None
            if self._before is not None:
                await self._before()
            self._answer = await self._transport.open(call, {"Accept": EVENTS}, self._deadline)
        elif self._answer is None:
            await self._come_back()
        assert self._answer is not None
        try:
            piece = await self._answer.read(Deadline(LONGEST_SILENCE))
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

    async def _come_back(self) -> None:
        if self._attempts > 0:
            await asyncio.sleep(pause_before(self._attempts - 1))
        self._attempts += 1
        self._decoder = EventDecoder()
        headers = {"Accept": EVENTS}
        if self._follower.last_id:
            headers["Last-Event-ID"] = self._follower.last_id
        target = self._calls.run_path(self._session_id, self.run_id, "/events")
        self._answer = await self._transport.open(Call("GET", target, lambda _: None), headers)
