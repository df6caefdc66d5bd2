"""The exceptions: Cloche's own errors, so that one handler catches both."""
from __future__ import annotations

from cloche.errors import SandboxError, SandboxResourceError, SandboxTimeoutError

__all__ = ["CommandTimeoutError", "SandboxError", "SandboxLimitError", "SandboxResourceError", "SandboxTimeoutError"]


class CommandTimeoutError(SandboxTimeoutError, TimeoutError):
    """A command exceeded its time limit. `output` is its output so far."""

    def __init__(self, seconds: float, output: str) -> None:
        super().__init__(f"Command execution timed out after {seconds:g} seconds")
        self.output = output


class SandboxLimitError(SandboxResourceError, RuntimeError):
    """The maximum number of sandboxes is reached."""
