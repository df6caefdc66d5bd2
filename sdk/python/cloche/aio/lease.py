"""A leased sandbox of a language's pool, on asyncio."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Union

from .. import service_calls as calls
from ..errors import SandboxNotFoundError
from ..runner_results import AppResponse, CommandResult, LeaseFile
from ..session_calls import Content, Network

if TYPE_CHECKING:
    from .client import Client


class Lease:
    """A leased sandbox. The end of `async with` releases it; see `cloche.Lease`."""

    def __init__(self, client: "Client", language: str, sandbox_id: str, name: str = "") -> None:
        self._client, self.language, self.sandbox_id = client, language, sandbox_id
        self.name = name or sandbox_id
        self._held = True

    def __repr__(self) -> str:
        return f"Lease(language={self.language!r}, sandbox_id={self.sandbox_id!r})"

    async def prepare(self, files: Mapping[str, str]) -> None:
        """Write the files of a submission into the work directory."""
        await self._client._send(calls.prepare(self.sandbox_id, files))

    async def inject(self, assets: Union[Mapping[str, Content], Iterable[Mapping[str, Any]]]) -> None:
        """Write files into `/tmp`, in addition to the submission: a map of targets to contents, or a list of {"target",
        "content", "read_only"}.
        """
        await self._client._send(calls.inject(self.sandbox_id, assets))

    async def run(self, command: str, *, timeout: float = 30, workdir: Optional[str] = None) -> CommandResult:
        """Run a command. It is split into words as a shell would, and runs without a shell. A command that ends with `
        &` keeps running in the background until the lease ends.
        """
        return await self._client._send(calls.lease_run(self.sandbox_id, command, timeout, workdir))

    async def run_batch(self, commands: Iterable[str], program_command: Optional[str] = None, *, timeout: float = 30,
                        workdir: Optional[str] = None) -> CommandResult:
        """Run the commands one after the other; with a program, they are the lines of its input."""
        call = calls.lease_run_batch(self.sandbox_id, commands, program_command, timeout, workdir)
        return await self._client._send(call)

    async def request(self, method: str, endpoint: str, *, json: Any = None, data: Any = None,
                      headers: Optional[Mapping[str, str]] = None, params: Optional[Mapping[str, Any]] = None,
                      timeout: Optional[float] = None) -> AppResponse:
        """Send an HTTP request to the server that listens on port 8000 in the sandbox."""
        options = {"json": json, "data": data, "headers": headers, "params": params, "timeout": timeout}
        return await self._client._send(calls.lease_request(self.sandbox_id, method, endpoint, options))

    async def read_file(self, path: str, max_bytes: int = 1048576) -> LeaseFile:
        return await self._client._send(calls.lease_file(self.sandbox_id, path, max_bytes))

    async def give_back(self) -> None:
        self._held = False
        await self._client._send(calls.give_back(self.sandbox_id))

    async def destroy(self) -> None:
        """Destroy the sandbox instead of releasing it."""
        self._held = False
        await self._client._send(calls.destroy(self.sandbox_id))

    async def __aenter__(self) -> "Lease":
        return self

    async def __aexit__(self, *_: Any) -> None:
        if not self._held:
            return
        try:
            await self.give_back()
        except SandboxNotFoundError:
            pass  # its time was up


class LeaseRequest:
    """`await client.lease("python")`, or `async with client.lease("python") as lease`."""

    def __init__(self, client: "Client", language: str, network: Optional[Network] = None) -> None:
        self._client, self._language, self._network = client, language, network
        self._lease: Optional[Lease] = None

    async def _lend(self) -> Lease:
        lent = await self._client._send(calls.lend(self._language, self._network))
        return Lease(self._client, self._language, *lent)

    def __await__(self) -> Any:
        return self._lend().__await__()

    async def __aenter__(self) -> Lease:
        self._lease = await self._lend()
        return self._lease

    async def __aexit__(self, *how: Any) -> None:
        assert self._lease is not None
        await self._lease.__aexit__(*how)
