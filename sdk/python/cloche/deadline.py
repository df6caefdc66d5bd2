"""A time by which something must be done."""
from __future__ import annotations

import time
from typing import Optional

from .errors import SandboxTimeoutError


class Deadline:
    """`Deadline(None)` never passes."""

    def __init__(self, seconds: Optional[float]) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> Optional[float]:
        """Return the remaining seconds, more than 0, or None if there is no end. Raises if no time is left."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.error()
        return left

    def error(self) -> SandboxTimeoutError:
        span = "in time" if self.seconds is None else f"within {self.seconds:g} s"
        return SandboxTimeoutError(f"the service did not respond {span}", code="timeout")
