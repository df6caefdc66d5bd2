"""Send a script to a container and turn its events into a result."""
from __future__ import annotations

import asyncio
import inspect
import json
import time
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Mapping, Optional, Union

from .config import ExecutionMode, ResourceLimits
from .container import ManagedContainer

Event = dict[str, Any]
Callback = Callable[[Event], Union[None, Awaitable[None]]]

# The service ends a script that is too long; this is for a service that does not answer any more.
_BEYOND_LIMIT = 15


@dataclass
class ExecutionResult:
    """The result of a script. `success`: a PLAN reported its result, or an INTERACTIVE script exited with code 0.
    `error_kind` is `exception`, `timeout`, `memory`, `output_limit`, `crashed`, `protocol` or `lost`.
    """

    success: bool = False
    final_result: Any = None
    intermediates: list[Event] = field(default_factory=list)
    logs: list[Event] = field(default_factory=list)
    error: Optional[str] = None
    error_kind: Optional[str] = None
    traceback: Optional[str] = None
    exit_code: Optional[int] = None
    duration_sec: float = 0.0

    @property
    def timed_out(self) -> bool:
        return self.error_kind == "timeout"


class ScriptExecutor:
    """Runs scripts. `on_intermediate` and `on_log` are called with each such event when it arrives; they may be
    coroutines.
    """

    def __init__(self, limits: Optional[ResourceLimits] = None, on_intermediate: Optional[Callback] = None,
                 on_log: Optional[Callback] = None) -> None:
        self.limits = limits or ResourceLimits()
        self._told = {"intermediate": on_intermediate, "log": on_log}

    async def execute(self, container: ManagedContainer, script: str, mode: ExecutionMode = ExecutionMode.PLAN,
                      inputs: Optional[Mapping[str, Any]] = None) -> ExecutionResult:
        """Run a script. How it ended is in the result. A container that was lost is not healthy afterwards."""
        started = time.monotonic()
        result = ExecutionResult()
        seconds = self.limits.execution_timeout_sec
        request = {"script": script, "mode": mode.value, "inputs": inputs, "timeout": seconds}
        try:
            container.stdin_pipe.write(json.dumps(request).encode("utf-8") + b"\n")
            await asyncio.wait_for(self._follow(container, mode, result), seconds + _BEYOND_LIMIT)
        except (asyncio.IncompleteReadError, ConnectionError):
            container.healthy = False
            result.error_kind, result.error = "lost", "the container was lost while the script ran"
        except asyncio.TimeoutError:
            container.healthy = False
            result.error_kind, result.error = "timeout", f"Execution timed out after {seconds:g} seconds"
        except BaseException:
            container.healthy = False  # the script may go on
            raise
        result.duration_sec = time.monotonic() - started
        return result

    async def _follow(self, container: ManagedContainer, mode: ExecutionMode, result: ExecutionResult) -> None:
        await container.stdin_pipe.drain()
        while True:
            event: Event = json.loads(await container.stdout_pipe.readline())
            kind = event["type"]
            if kind == "intermediate":
                result.intermediates.append(event)
            elif kind == "log":
                result.logs.append(event)
            elif kind == "final_result":
                result.final_result = event["data"]
                if mode is ExecutionMode.PLAN:
                    result.success = True
                    return
            elif kind == "error":
                result.error, result.error_kind = event["message"], event["kind"]
                result.traceback = event.get("traceback") or None
                return
            elif kind == "script_done":
                result.exit_code = event["exit_code"]
                result.success = mode is ExecutionMode.INTERACTIVE and result.exit_code == 0
                if mode is ExecutionMode.PLAN:
                    result.error_kind, result.error = "no_result", "the script ended without a final result"
                return
            callback = self._told.get(kind)
            if callback is not None:
                waiting = callback(event)
                if inspect.isawaitable(waiting):
                    await waiting
