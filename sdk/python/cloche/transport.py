"""Send calls to the service and receive responses, with persistent connections, deadlines, and retries where they are
safe.
"""
from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from typing import Any, Iterator, Mapping, Optional, TypeVar

from .address import Address
from .call import Answer, Call, may_retry, pause_before
from .connection import Connection
from .deadline import Deadline
from .errors import SandboxArgumentError, SandboxError, SandboxUnavailableError, error_from_answer

T = TypeVar("T")

# The service closes connections that are idle for 75 s.
LONGEST_IDLE = 45.0
MOST_IDLE = 8
RETRIES = 2
PIECE = 65536
MOST_OF_AN_ERROR = 1 << 20


class LineLost(SandboxUnavailableError):
    """The connection broke. `sent` is False if no byte of the call was sent."""

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__(message, code="unavailable")
        self.sent = sent


def user_agent_headers(token: Optional[str]) -> dict[str, str]:
    headers = {"User-Agent": "cloche-python", "Accept": "application/json"}
    if token:
        if any(ord(letter) <= 32 or ord(letter) >= 127 for letter in token):
            raise SandboxArgumentError("the token contains invalid characters", code="invalid_argument")
        headers["Authorization"] = "Bearer " + token
    return headers


class StreamedAnswer:
    """A response whose body is read piece by piece. Closing it before its end closes the connection."""

    def __init__(self, transport: "Transport", connection: Connection, response: http.client.HTTPResponse) -> None:
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self._transport, self._connection, self._response = transport, connection, response
        self._open = True

    def read(self, deadline: Deadline) -> bytes:
        """Read the next piece; empty at the end. Raises `LineLost` if the connection breaks."""
        if not self._open:
            return b""
        self._connection.deadline = deadline
        try:
            piece = self._response.read1(PIECE)
            if not piece and self._response.length:
                raise http.client.IncompleteRead(b"", self._response.length)
        except socket.timeout:
            self.close()
            raise deadline.error() from None
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise LineLost(f"the service closed the connection during its response: {error!r}", sent=True) from error
        except BaseException:
            self.close()
            raise
        if not piece:
            self._open = False
            self._transport.give_back(self._connection, self._response)
        return piece

    def pieces(self, deadline: Deadline) -> Iterator[bytes]:
        while True:
            piece = self.read(deadline)
            if not piece:
                return
            yield piece

    def close(self) -> None:
        if self._open:
            self._open = False
            self._response.close()
            self._connection.cut()

    def __enter__(self) -> "StreamedAnswer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Transport:
    """The transport for several threads. Each call has its own connection while it lasts."""

    def __init__(self, address: Address, token: Optional[str] = None, timeout: Optional[float] = 60.0,
                 tls: Optional[ssl.SSLContext] = None) -> None:
        self.address, self.timeout = address, timeout
        self._headers = user_agent_headers(token)
        self._tls = address.tls(tls)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    def send(self, call: Call[T]) -> T:
        """Send the call and return its result. If this ends early, even by a KeyboardInterrupt, it closes the
        connection, which stops the work of the service for it.
        """
        deadline = Deadline(call.time_allowed(self.timeout))
        attempt = 0
        while True:
            try:
                answer = self._exchange(call, deadline)
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
            time.sleep(pause if left is None else min(pause, left))
            attempt += 1

    def open(self, call: Call[Any], headers: Optional[Mapping[str, str]] = None,
             deadline: Optional[Deadline] = None) -> StreamedAnswer:
        """Send the call, once, and return a response that is read in pieces. Raises an error for an unsuccessful
        response.
        """
        deadline = deadline or Deadline(call.time_allowed(self.timeout))
        connection = self._take(deadline)
        try:
            response = self._ask(connection, call, headers or {})
            if response.status not in call.good:
                body = response.read(MOST_OF_AN_ERROR)
                told = {name.lower(): value for name, value in response.getheaders()}
                raise error_from_answer(response.status, told, body)
            return StreamedAnswer(self, connection, response)
        except socket.timeout:
            connection.cut()
            raise deadline.error() from None
        except (OSError, http.client.HTTPException) as error:
            connection.cut()
            raise LineLost(f"the connection to {self.address.url} broke: {error!r}", sent=True) from error
        except BaseException:
            connection.cut()
            raise

    def dial(self, deadline: Deadline) -> socket.socket:
        """Open a separate socket, for a protocol other than HTTP after the handshake."""
        connection = self._connect(deadline)
        return connection.plain_socket

    def upgrade_head(self, target: str, headers: Mapping[str, str]) -> bytes:
        """Return the head of a request that upgrades a connection."""
        lines = [f"GET {self.address.prefix}{target} HTTP/1.1", f"Host: {self.address.host_header}"]
        lines += [f"{name}: {value}" for name, value in {**self._headers, **headers}.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")

    def close(self) -> None:
        """Close idle connections, and keep none from now on."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def give_back(self, connection: Connection, response: http.client.HTTPResponse) -> None:
        """Return a connection whose response has been read completely."""
        reusable = not response.will_close and connection.sock is not None
        response.close()
        with self._lock:
            if reusable and not self._closed and len(self._idle) < MOST_IDLE:
                connection.idle_since = time.monotonic()
                self._idle.append(connection)
                return
        connection.close()

    def _exchange(self, call: Call[Any], deadline: Deadline) -> Answer:
        connection = self._take(deadline)
        try:
            response = self._ask(connection, call, {})
            body = response.read()
            answer = Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)
        except socket.timeout:
            connection.cut()
            raise deadline.error() from None
        except (OSError, http.client.HTTPException) as error:
            connection.cut()
            raise LineLost(f"the connection to {self.address.url} broke: {error!r}", sent=True) from error
        except BaseException:
            connection.cut()
            raise
        self.give_back(connection, response)
        return answer

    def _ask(self, connection: Connection, call: Call[Any], headers: Mapping[str, str]) -> http.client.HTTPResponse:
        try:
            connection.write_request(call, {**self._headers, **headers})
            return connection.getresponse()
        except socket.timeout:
            raise
        except (OSError, http.client.HTTPException) as error:
            raise LineLost(f"the connection to {self.address.url} broke: {error!r}", sent=True) from error

    def _take(self, deadline: Deadline) -> Connection:
        deadline.left()
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect(deadline)
            if not connection.is_stale(LONGEST_IDLE):
                connection.deadline = deadline
                return connection
            connection.close()

    def _connect(self, deadline: Deadline) -> Connection:
        connection = Connection(self.address, self._tls)
        connection.deadline = deadline
        try:
            connection.connect()
        except socket.timeout:
            raise deadline.error() from None
        except ssl.SSLCertVerificationError as error:
            raise SandboxUnavailableError(f"{self.address.url}: {error.verify_message}", code="unavailable") from error
        except OSError as error:
            raise LineLost(f"no service responds at {self.address.url} ({error.strerror or error}); "
                           "start one with `cloche serve` or cloche.start()", sent=False) from error
        return connection
