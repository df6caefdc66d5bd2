"""A sandbox that runs scripts, and the bridge between its two pipes and the service."""
from __future__ import annotations

import asyncio
import json
import os
import socket
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence

from cloche import aio
from cloche.errors import SandboxError
from cloche.results import Result

from .config import SandboxConfig
from .line_reader import STDOUT, DockerLineReader, frame

_LONGEST_REQUEST = 32 * 1024 * 1024
# Beyond the script's own time, which the harness holds it to: then the service ends both.
_HARNESS_SECONDS = 10

with open(os.path.join(os.path.dirname(__file__), "harness.py"), encoding="utf-8") as _file:
    HARNESS = _file.read()


@dataclass(eq=False)
class ManagedContainer:
    """Write requests to `stdin_pipe`, one JSON object per line: `script`, and optionally `mode` (`plan` or
    `interactive`), `inputs`, and `timeout` in seconds. Read events from `stdout_pipe`; the events of one script follow
    those of another.
    """

    container_id: str
    sandbox_name: str
    stdin_pipe: asyncio.StreamWriter
    stdout_pipe: DockerLineReader
    use_count: int = 0
    healthy: bool = True
    bridge: "Bridge" = field(repr=False, default=None)  # type: ignore[assignment]

    async def close(self) -> None:
        """End the running script and the session."""
        self.healthy = False
        self.stdin_pipe.close()
        await self.bridge.close()


class Bridge:
    """Replaces Docker's attached socket: it accepts requests, runs each as a separate process in the session, and sends
    the events of its harness. When the sandbox is lost, it closes the connection, so that `stdout_pipe` ends.
    """

    def __init__(self, client: "aio.Client", session_id: str, config: SandboxConfig, tools: Mapping[str, str],
                 secrets: Mapping[str, str], requirements: Sequence[str]) -> None:
        self._client = client
        self._session_id = session_id
        self._config = config
        self._tools = dict(tools)
        self._secrets = dict(secrets)
        self._requirements = list(requirements)
        self._task: Optional["asyncio.Task[None]"] = None
        self.failure: Optional[str] = None

    async def open(self, sandbox_name: str) -> ManagedContainer:
        """Open the container; its session must exist. The first event is the harness's `ready`, or an `error` if some
        requirements are missing in the sandbox.
        """
        near, far = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=near)
        far_reader, far_writer = await asyncio.open_connection(sock=far, limit=_LONGEST_REQUEST)
        self._task = asyncio.create_task(self._serve(far_reader, far_writer))
        return ManagedContainer(self._session_id, sandbox_name, writer, DockerLineReader(reader), bridge=self)

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            check = {"check": self._requirements, "max_output_bytes": 65536}
            await self._run(check, float(self._config.limits.execution_timeout_sec), {}, writer)
            while True:
                line = await reader.readline()
                if not line:
                    return
                request, limit = self._read_request(line)
                if request is None:
                    await self._send(writer, _error("protocol", limit))
                else:
                    await self._run(request, limit, self._secrets, writer)
        except (SandboxError, ConnectionError, ValueError) as error:
            self.failure = str(error)  # and hanging up tells that there is one
        finally:
            writer.close()

    def _read_request(self, line: bytes) -> tuple[Optional[dict[str, Any]], Any]:
        """Return the request and its timeout, or None and the error."""
        limits = self._config.limits
        try:
            given = json.loads(line)
            script = given["script"]
            mode = given.get("mode", self._config.mode.value)
            seconds = given.get("timeout") or limits.execution_timeout_sec
            if not isinstance(script, str) or mode not in ("plan", "interactive") or not 0 < seconds <= 3600:
                raise ValueError("script must be text, mode must be plan or interactive, timeout at most 3600")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return None, f"invalid request: {error!r}"
        return {"script": script, "seconds": seconds, "mode": mode, "inputs": given.get("inputs"), "tools": self._tools,
                "max_output_bytes": limits.max_output_bytes}, float(seconds)

    async def _run(self, request: dict[str, Any], seconds: float, env: Mapping[str, str],
                   writer: asyncio.StreamWriter) -> None:
        last, held, rest = "", b"", b""
        async for event in self._client.stream(HARNESS, language="python", session_id=self._session_id,
                                               timeout=seconds + _HARNESS_SECONDS, stdin=json.dumps(request),
                                               env=dict(env)):
            if event.kind == "stdout":
                *lines, rest = (rest + event.data).split(b"\n")
                for line in lines:
                    last, is_crash = _kind_of(line)
                    if is_crash:
                        held = line
                    else:
                        await self._send(writer, line)
            elif event.result is not None:
                if held and event.result.cause != "memory":
                    await self._send(writer, held)
                elif held or not _is_end(last, request):
                    await self._send(writer, _ending(event.result, seconds))

    @staticmethod
    async def _send(writer: asyncio.StreamWriter, line: bytes) -> None:
        writer.write(frame(STDOUT, line + b"\n"))
        await writer.drain()


def _kind_of(line: bytes) -> tuple[str, bool]:
    """Return the type of an event, and whether it reports a crash whose reason the service may know."""
    try:
        event = json.loads(line)
        return str(event["type"]), event.get("kind") == "crashed"
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", False


def _is_end(kind: str, request: Mapping[str, Any]) -> bool:
    if "check" in request:
        return kind in ("ready", "error")
    return kind in ("error", "script_done") or kind == "final_result" and request["mode"] == "plan"


def _ending(result: Result, seconds: float) -> bytes:
    """Return the event for an end that the harness could not report."""
    if result.category == "timeout":
        return _error("timeout", f"Execution timed out after {seconds:g} seconds")
    if result.cause == "memory":
        return _error("memory", result.reason or "the memory limit was exceeded")
    if result.cause == "output":
        return _error("output_limit", result.reason or "the output limit was exceeded")
    return _error("crashed", result.reason or result.stderr.strip()[-2000:] or f"exit code {result.exit_code}")


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"type": "error", "kind": kind, "message": message, "traceback": ""}).encode("utf-8")
