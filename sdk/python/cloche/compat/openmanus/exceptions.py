"""What is raised: Cloche's own errors, so that code catches both alike."""
from __future__ import annotations

from cloche.errors import SandboxError, SandboxResourceError, SandboxTimeoutError

__all__ = ["CommandTimeoutError", "SandboxError", "SandboxLimitError", "SandboxResourceError", "SandboxTimeoutError"]


class CommandTimeoutError(SandboxTimeoutError, TimeoutError):
    """`output` is what the command had printed."""

    def __init__(self, seconds: float, output: str) -> None:
        super().__init__(f"Command execution timed out after {seconds:g} seconds")
        self.output = output


class SandboxLimitError(SandboxResourceError, RuntimeError):
    """There are as many sandboxes as there may be."""
