"""A background run, on asyncio."""
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
    """A background run. It keeps running when this process ends; see `cloche.Run`."""

    def __init__(self, client: "Client", session_id: str, run_id: str,
                 ended: Optional[Mapping[str, Any]] = None) -> None:
        self._client, self.session_id, self.run_id = client, session_id, run_id
        self._result = None if ended is None else client._result_of(session_id, ended)

    def __repr__(self) -> str:
        return f"Run(session_id={self.session_id!r}, run_id={self.run_id!r})"

    async def poll(self) -> Optional[Result]:
        """Return how the run ended, or None while it is running."""
        if self._result is None:
            self._take(await self._client._send(self._client._calls.run_state(self.session_id, self.run_id)))
        return self._result

    async def info(self) -> RunInfo:
        return RunInfo.from_json(await self._client._send(self._client._calls.run_state(self.session_id, self.run_id)))

    async def read(self, offset: int = 0, *, stream: str = "stdout", limit: int = 65536) -> Output:
        """Read the output from a byte offset on, without waiting for more."""
        call = self._client._calls.run_output(self.session_id, self.run_id, stream, offset, limit)
        return await self._client._send(call)

    async def signal(self, signal: Union[int, str] = "TERM") -> RunInfo:
        """Send a signal, by name or number, to the process group of the program."""
        return await self._client._send(self._client._calls.run_signal(self.session_id, self.run_id, signal))

    async def wait(self, timeout: Optional[float] = None) -> Result:
        """Wait until the run has ended, and return how. Raises `SandboxTimeoutError` after `timeout` seconds; the run
        continues.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self._result is None:
            left = LONGEST_POLL if end is None else min(LONGEST_POLL, max(0.001, end - time.monotonic()))
            self._take(await self._client._send(self._client._calls.run_wait(self.session_id, self.run_id, left)))
            if self._result is None and end is not None and time.monotonic() >= end:
                raise SandboxTimeoutError(f"the run {self.run_id} is still running after {timeout:g} s", code="timeout")
        return self._result

    def events(self) -> Stream:
        """Yield all events of the run, from the beginning. Leaving early does not stop the run."""
        follower = RunFollower(self._client._artifact_maker(self.session_id))
        follower.run_id = self.run_id
        return Stream(self._client._transport, self._client._calls, self.session_id, None, follower)

    async def stop(self) -> None:
        """Kill the run if it is still running, and delete its record. A run that no longer exists is no error."""
        try:
            await self._client._send(self._client._calls.run_remove(self.session_id, self.run_id))
        except SandboxNotFoundError:
            pass

    def _take(self, told: Mapping[str, Any]) -> None:
        if "result" in told:
            self._result = self._client._result_of(self.session_id, told["result"])
        elif "error" in told:
            raise error_for(told["error"]["message"], code=told["error"]["code"])
