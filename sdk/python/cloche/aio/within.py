"""Waiting until a deadline, without losing a cancellation.

`asyncio.wait_for` is not used: before Python 3.12 a cancellation that comes together with the result is swallowed by it,
and a task that was told to end goes on.
"""
from __future__ import annotations

import asyncio
from typing import Any, Coroutine, Optional, TypeVar

from ..deadline import Deadline

T = TypeVar("T")


class _Alarm:
    """Cancels the task that it was set in, when its time has come."""

    def __init__(self, seconds: Optional[float]) -> None:
        self._task = asyncio.current_task()
        self._cancels_before = self._count_cancels()
        self.rang = False
        self._timer = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _ring(self) -> None:
        self.rang = True
        assert self._task is not None
        self._task.cancel()

    def _count_cancels(self) -> int:
        task: Any = self._task
        return task.cancelling() if hasattr(task, "cancelling") else 0

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def was_only_me(self) -> bool:
        """Of a cancellation that has arrived. Takes it back where tasks count them (Python 3.11)."""
        task: Any = self._task
        if not self.rang:
            return False
        return not hasattr(task, "uncancel") or task.uncancel() <= self._cancels_before


async def within(deadline: Deadline, work: Coroutine[Any, Any, T]) -> T:
    """What is awaited, if it is there in time."""
    try:
        alarm = _Alarm(deadline.left())
    except BaseException:
        work.close()
        raise
    try:
        return await work
    except asyncio.CancelledError:
        if alarm.was_only_me():
            raise deadline.error() from None
        raise
    finally:
        alarm.stop()
