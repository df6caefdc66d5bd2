"""Wait until a deadline, without losing a cancellation.

`asyncio.wait_for` is not used: before Python 3.12 it swallows a cancellation that arrives together with the result, and
the cancelled task continues.
"""
from __future__ import annotations

import asyncio
from typing import Any, Coroutine, Optional, TypeVar

from ..deadline import Deadline

T = TypeVar("T")


class _Alarm:
    """Cancels the task that created it when the time has passed."""

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
        """Return whether this alarm caused a cancellation that has arrived. Removes it if tasks count cancellations
        (Python 3.11).
        """
        task: Any = self._task
        if not self.rang:
            return False
        return not hasattr(task, "uncancel") or task.uncancel() <= self._cancels_before


async def within(deadline: Deadline, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the awaitable if it is available in time."""
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
