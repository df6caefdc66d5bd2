"""A leased sandbox of a language's pool."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Union

from . import service_calls as calls
from .errors import SandboxNotFoundError
from .runner_results import AppResponse, CommandResult, LeaseFile
from .session_calls import Content

if TYPE_CHECKING:
    from .client import Client


class Lease:
    """A leased sandbox. The end of `with` releases it. The service resets a released sandbox to its initial state.

    >>> with client.lease("python") as lease:                   # doctest: +SKIP
    ...     lease.prepare({"main.py": "print(input())"})
    ...     print(lease.run_batch(["hello"], "python3 main.py").stdout)
    """

    def __init__(self, client: "Client", language: str, sandbox_id: str, name: str = "") -> None:
        self._client, self.language, self.sandbox_id = client, language, sandbox_id
        self.name = name or sandbox_id
        self._held = True

    def __repr__(self) -> str:
        return f"Lease(language={self.language!r}, sandbox_id={self.sandbox_id!r})"

    def prepare(self, files: Mapping[str, str]) -> None:
        """Write the files of a submission into the work directory."""
        self._client._send(calls.prepare(self.sandbox_id, files))

    def inject(self, assets: Union[Mapping[str, Content], Iterable[Mapping[str, Any]]]) -> None:
        """Write files into `/tmp`, in addition to the submission: a map of targets to contents, or a list of {"target",
        "content", "read_only"}.
        """
        self._client._send(calls.inject(self.sandbox_id, assets))

    def run(self, command: str, *, timeout: float = 30, workdir: Optional[str] = None) -> CommandResult:
        """Run a command. It is split into words as a shell would, and runs without a shell. A command that ends with `
        &` keeps running in the background until the lease ends.
        """
        return self._client._send(calls.lease_run(self.sandbox_id, command, timeout, workdir))

    def run_batch(self, commands: Iterable[str], program_command: Optional[str] = None, *, timeout: float = 30,
                  workdir: Optional[str] = None) -> CommandResult:
        """Run the commands one after the other; with a program, they are the lines of its input."""
        return self._client._send(calls.lease_run_batch(self.sandbox_id, commands, program_command, timeout, workdir))

    def request(self, method: str, endpoint: str, *, json: Any = None, data: Any = None,
                headers: Optional[Mapping[str, str]] = None, params: Optional[Mapping[str, Any]] = None,
                timeout: Optional[float] = None) -> AppResponse:
        """Send an HTTP request to the server that listens on port 8000 in the sandbox."""
        options = {"json": json, "data": data, "headers": headers, "params": params, "timeout": timeout}
        return self._client._send(calls.lease_request(self.sandbox_id, method, endpoint, options))

    def read_file(self, path: str, max_bytes: int = 1048576) -> LeaseFile:
        return self._client._send(calls.lease_file(self.sandbox_id, path, max_bytes))

    def give_back(self) -> None:
        self._held = False
        self._client._send(calls.give_back(self.sandbox_id))

    def destroy(self) -> None:
        """Destroy the sandbox instead of releasing it."""
        self._held = False
        self._client._send(calls.destroy(self.sandbox_id))

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, *_: Any) -> None:
        if not self._held:
            return
        try:
            self.give_back()
        except SandboxNotFoundError:
            pass  # its time was up
