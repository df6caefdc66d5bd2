"""A persistent shell. The service reports when a command has ended; the output is not searched for markers."""
from __future__ import annotations

import asyncio
import shlex
import uuid
from typing import Any, Mapping, Optional, Union

from cloche.errors import SandboxError
from cloche.results import Result

from .exceptions import CommandTimeoutError
from .session import Session

# Errors go where the output goes, in the order in which both were printed.
_JOIN_ERRORS = "exec 2>&1"
_SET_UP_SECONDS = 30
# How a command ends by itself, which the original says nothing of either.
_OWN_ENDS = ("none", "exit_code", "signal")


class DockerSession:
    """The shell of an initialized terminal. `container_id` is the id of the session, `exec_id` the name of the shell.
    """

    def __init__(self, terminal: "AsyncDockerizedTerminal", exec_id: str) -> None:
        self.container_id = terminal.container.id
        self.exec_id: Optional[str] = exec_id
        self._terminal = terminal

    async def execute(self, command: str, timeout: Optional[int] = None) -> str:
        """The same as the terminal's `run_command`."""
        if self.exec_id is None:
            raise RuntimeError("Session not initialized")
        return await self._terminal.run_command(command, timeout)

    async def close(self) -> None:
        """End the shell; the terminal then has none."""
        if self.exec_id is not None:
            await self._terminal.close()


class AsyncDockerizedTerminal:
    """A terminal with a persistent shell. `container` is that of a sandbox, or the sandbox itself. Directory,
    variables, functions and background jobs persist. Commands wait for each other.
    """

    def __init__(self, container: Union[Session, Any], working_dir: str = "/workspace",
                 env_vars: Optional[Mapping[str, str]] = None, default_timeout: int = 60) -> None:
        found = container if isinstance(container, Session) else getattr(container, "container", None)
        if not isinstance(found, Session):
            raise TypeError("container: must be the container of a created DockerSandbox")
        self.container: Session = found
        self.working_dir = working_dir
        self.env_vars = dict(env_vars or {})
        self.default_timeout = default_timeout
        self.session: Optional[DockerSession] = None  # until `init`, and from `close` on
        self._name: Optional[str] = None
        self._is_set_up = False
        self._turn: Optional[asyncio.Lock] = None

    async def init(self) -> None:
        """Start the shell. Raises RuntimeError if the directory cannot be used."""
        self._name, self._turn = f"terminal-{uuid.uuid4().hex[:12]}", asyncio.Lock()
        place = shlex.quote(self.working_dir)
        started = await self._send(f"mkdir -p -- {place} && cd -- {place} && {self._set_up_line()}", _SET_UP_SECONDS)
        if not started.ok:
            await self.close()
            raise RuntimeError(f"Failed to initialize terminal: {_printed(started) or started.reason}")
        self._is_set_up = True
        self.session = DockerSession(self, self._name)

    async def run_command(self, cmd: str, timeout: Optional[int] = None) -> str:
        """Run a command and return its output on stdout and stderr, without trailing line ends.

        Raises CommandTimeoutError, which is a SandboxTimeoutError and a TimeoutError, after `timeout` seconds: the
        command is ended, and the next one starts clean. If Cloche ended a command for another reason, the last line of
        the output is that reason.
        """
        if self._name is None or self._turn is None:
            raise RuntimeError("Terminal not initialized")
        seconds = self.default_timeout if timeout is None else timeout
        async with self._turn:
            if not self._is_set_up:
                await self._send(self._set_up_line(), _SET_UP_SECONDS)
                self._is_set_up = True
            result = await self._send(cmd, seconds)
            if result.state == "lost" or result.fresh:
                self._is_set_up = False  # the next command gets a new shell
        printed = _printed(result)
        if result.category == "timeout":
            raise CommandTimeoutError(seconds, printed)
        if result.reason and result.cause not in _OWN_ENDS:
            printed = f"{printed}\n{result.reason}" if printed else result.reason
        return printed

    async def close(self) -> None:
        """End the shell and everything that it started."""
        name, self._name = self._name, None
        session, self.session = self.session, None
        if session is not None:
            session.exec_id = None
        if name is not None:
            try:
                await self.container.client.close_context(self.container.id, name)
            except SandboxError:
                pass  # went with its session

    async def __aenter__(self) -> "AsyncDockerizedTerminal":
        await self.init()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _set_up_line(self) -> str:
        exports = [f"export {name}={shlex.quote(value)}" for name, value in self.env_vars.items()]
        return " && ".join([_JOIN_ERRORS, *exports])

    async def _send(self, line: str, seconds: float) -> Result:
        return await self.container.client.bash(line, session_id=self.container.id, context=self._name, timeout=seconds)


def _printed(result: Result) -> str:
    return (result.stdout + result.stderr).rstrip("\n")
