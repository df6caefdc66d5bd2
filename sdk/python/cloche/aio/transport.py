"""Send calls to the service and receive responses, on asyncio; see `cloche.transport`."""
from __future__ import annotations

import asyncio
import ssl
import time
from typing import Any, AsyncIterator, Mapping, Optional, TypeVar

from ..address import Address
from ..call import Answer, Call, may_retry, pause_before
from ..deadline import Deadline
from ..errors import SandboxError, SandboxUnavailableError, error_from_answer
from ..transport import LONGEST_IDLE, MOST_IDLE, MOST_OF_AN_ERROR, RETRIES, LineLost, user_agent_headers
from .connection import Broken, Connection, head_of
from .within import within

T = TypeVar("T")


class StreamedAnswer:
    """A response whose body is read piece by piece. Closing it before its end closes the connection."""

    def __init__(self, transport: "Transport", connection: Connection) -> None:
        self.headers = connection.headers
        self._transport, self._connection = transport, connection
        self._open = True

    async def read(self, deadline: Deadline) -> bytes:
        """Read the next piece; empty at the end. Raises `LineLost` if the connection breaks."""
        if not self._open:
            return b""
        try:
            piece = await within(deadline, self._connection.read_some())
        except (OSError, EOFError, Broken) as error:
            self.close()
            raise LineLost(f"the service closed the connection during its response: {error!r}", sent=True) from error
        except BaseException:
            self.close()
            raise
        if not piece:
            self._open = False
            self._transport.give_back(self._connection)
        return piece

    async def pieces(self, deadline: Deadline) -> AsyncIterator[bytes]:
        while True:
            piece = await self.read(deadline)
            if not piece:
                return
            yield piece

    def close(self) -> None:
        if self._open:
            self._open = False
            self._connection.cut()

    def __enter__(self) -> "StreamedAnswer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Transport:
    """The transport for the tasks of one event loop. Each call has its own connection while it lasts."""

    def __init__(self, address: Address, token: Optional[str] = None, timeout: Optional[float] = 60.0,
                 tls: Optional[ssl.SSLContext] = None) -> None:
        self.address, self.timeout = address, timeout
        self._headers = user_agent_headers(token)
        self._tls = address.tls(tls)
        self._idle: list[Connection] = []
        self._closed = False

    async def send(self, call: Call[T]) -> T:
        """Send the call and return its result. Cancelling this closes the connection, which stops the work of the
        service for it.
        """
        deadline = Deadline(call.time_allowed(self.timeout))
        attempt = 0
        while True:
            try:
                answer = await self._exchange(call, deadline)
            except LineLost as lost:
                safe = not lost.sent or (call.idempotent and call.body is None)
                if attempt >= RETRIES or not safe:
                    raise
                error: Optional[SandboxError] = None
            else:
                error = may_retry(call, answer)
                if error is None or attempt >= RETRIES:
                    if attempt > 0 and call.method == "DELETE" and answer.status == 404:
                        answer = Answer(200, answer.headers, b"{}")  # the first attempt did it
                    return call.finish(answer)
            pause = pause_before(attempt, error)
            left = deadline.left()
            await asyncio.sleep(pause if left is None else min(pause, left))
            attempt += 1

    async def open(self, call: Call[Any], headers: Optional[Mapping[str, str]] = None,
                   deadline: Optional[Deadline] = None) -> StreamedAnswer:
        """Send the call, once, and return a response that is read in pieces. Raises an error for an unsuccessful
        response.
        """
        deadline = deadline or Deadline(call.time_allowed(self.timeout))
        connection = await self._take(deadline)
        try:
            await within(deadline, self._ask(connection, call, headers or {}))
            if connection.status not in call.good:
                body = await within(deadline, connection.read_all(MOST_OF_AN_ERROR))
                raise error_from_answer(connection.status, connection.headers, body)
            return StreamedAnswer(self, connection)
        except (OSError, EOFError, Broken) as error:
            connection.cut()
            raise self._lost(error) from error
        except BaseException:
            connection.cut()
            raise

    async def upgrade(self, target: str, headers: Mapping[str, str], deadline: Deadline) -> Connection:
        """Open a separate connection that has responded with 101."""
        connection = await self._connect(deadline)
        try:
            fields = {"Host": self.address.host_header, **self._headers, **headers}
            connection.writer.write(head_of(f"GET {self.address.prefix}{target} HTTP/1.1", fields))
            await within(deadline, connection.read_head())
            if connection.status != 101:
                body = await within(deadline, connection.read_all(MOST_OF_AN_ERROR))
                raise error_from_answer(connection.status, connection.headers, body)
            return connection
        except (OSError, EOFError, Broken) as error:
            connection.cut()
            raise self._lost(error) from error
        except BaseException:
            connection.cut()
            raise

    async def close(self) -> None:
        """Close idle connections, and keep none from now on."""
        self._closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.cut()
        await asyncio.sleep(0)

    def give_back(self, connection: Connection) -> None:
        """Return a connection whose response has been read completely."""
        if connection.will_close or self._closed or len(self._idle) >= MOST_IDLE:
            connection.cut()
            return
        connection.idle_since = time.monotonic()
        self._idle.append(connection)

    def _lost(self, error: BaseException) -> LineLost:
        return LineLost(f"the connection to {self.address.url} broke: {error!r}", sent=True)

    async def _exchange(self, call: Call[Any], deadline: Deadline) -> Answer:
        connection = await self._take(deadline)
        try:
            body = await within(deadline, self._ask_all(connection, call))
        except (OSError, EOFError, Broken) as error:
            connection.cut()
            raise self._lost(error) from error
        except BaseException:
            connection.cut()
            raise
        answer = Answer(connection.status, connection.headers, body)
        self.give_back(connection)
        return answer

    async def _ask(self, connection: Connection, call: Call[Any], headers: Mapping[str, str]) -> None:
        await connection.write_request(call, {**self._headers, **headers})
        await connection.read_head()

    async def _ask_all(self, connection: Connection, call: Call[Any]) -> bytes:
        await self._ask(connection, call, {})
        return await connection.read_all()

    async def _take(self, deadline: Deadline) -> Connection:
        deadline.left()
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_stale(LONGEST_IDLE):
                return connection
            connection.cut()
        return await self._connect(deadline)

    async def _connect(self, deadline: Deadline) -> Connection:
        try:
            return await within(deadline, Connection.open(self.address, self._tls))
        except ssl.SSLCertVerificationError as error:
            raise SandboxUnavailableError(f"{self.address.url}: {error.verify_message}", code="unavailable") from error
        except OSError as error:
            raise LineLost(f"no service responds at {self.address.url} ({error.strerror or error}); "
                           "start one with `cloche serve` or cloche.start()", sent=False) from error
