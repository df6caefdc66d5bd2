"""A run in the background, on asyncio."""
from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from ..errors import SandboxNotFoundError, SandboxTimeoutError, error_for
from ..events import RunFollower
from ..results import Output, Result, RunInfo
from ..session_calls import LONGEST_POLL
from .stream import Stream

if TYPE_CHECKING:
    from .client import Client


class Run:
    """Goes on by itself, also when this process ends; see `cloche.Run`."""

    def __init__(self, client: "Client", session_id: str, run_id: str,
                 ended: Optional[Mapping[str, Any]] = None) -> None:
        self._client, self.session_id, self.run_id = client, session_id, run_id
        self._result = None if ended is None else client._result_of(session_id, ended)

    def __repr__(self) -> str:
        return f"Run(session_id={self.session_id!r}, run_id={self.run_id!r})"

    async def poll(self) -> Optional[Result]:
        """How it ended; None while it runs."""
        if self._result is None:
            self._take(await self._client._send(self._client._calls.run_state(self.session_id, self.run_id)))
        return self._result

    async def info(self) -> RunInfo:
        return RunInfo.from_json(await self._client._send(self._client._calls.run_state(self.session_id, self.run_id)))

    async def read(self, offset: int = 0, *, stream: str = "stdout", limit: int = 65536) -> Output:
        """What it printed, from a byte on; does not wait for more."""
        call = self._client._calls.run_output(self.session_id, self.run_id, stream, offset, limit)
        return await self._client._send(call)

    async def signal(self, signal: Union[int, str] = "TERM") -> RunInfo:
        """To the program's process group, by name or number."""
        return await self._client._send(self._client._calls.run_signal(self.session_id, self.run_id, signal))

    async def wait(self, timeout: Optional[float] = None) -> Result:
        """How it ended, when it has. After `timeout` seconds raises `SandboxTimeoutError`; the run goes on."""
        end = None if timeout is None else time.monotonic() + timeout
        while self._result is None:
            left = LONGEST_POLL if end is None else min(LONGEST_POLL, max(0.001, end - time.monotonic()))
            self._take(await self._client._send(self._client._calls.run_wait(self.session_id, self.run_id, left)))
            if self._result is None and end is not None and time.monotonic() >= end:
                raise SandboxTimeoutError(f"the run {self.run_id} goes on after {timeout:g} s", code="timeout")
        return self._result

    def events(self) -> Stream:
        """All of its events, from the beginning. Leaving them early does not stop it."""
        follower = RunFollower(self._client._artifact_maker(self.session_id))
        follower.run_id = self.run_id
        return Stream(self._client._transport, self._client._calls, self.session_id, None, follower)

    async def stop(self) -> None:
        """Kills it if it runs, and forgets it. One that is not there any more is no error."""
        try:
            await self._client._send(self._client._calls.run_remove(self.session_id, self.run_id))
        except SandboxNotFoundError:
            pass

    def _take(self, told: Mapping[str, Any]) -> None:
        if "result" in told:
            self._result = self._client._result_of(self.session_id, told["result"])
        elif "error" in told:
            raise error_for(told["error"]["message"], code=told["error"]["code"])
