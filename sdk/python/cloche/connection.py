"""One connection to the service: http.client over TCP, TLS or a unix socket; a deadline bounds every wait."""
from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import time
from typing import Any, Mapping, Optional

from .address import Address
from .call import Call
from .deadline import Deadline


class _DeadlineReader(io.RawIOBase):
    """Reads a socket. Every read ends at the connection's deadline, and so do all of them together."""

    def __init__(self, raw: Any, sock: socket.socket, connection: "Connection") -> None:
        self._raw, self._sock, self._connection = raw, sock, connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        self._sock.settimeout(self._connection.deadline.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _DeadlineSocket:
    """The part of a socket that http.client uses."""

    def __init__(self, sock: socket.socket, connection: "Connection") -> None:
        self.sock, self._connection = sock, connection

    def sendall(self, data: Any) -> None:
        self.sock.settimeout(self._connection.deadline.left())
        self.sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        raw = self.sock.makefile("rb", buffering=0)
        return io.BufferedReader(_DeadlineReader(raw, self.sock, self._connection))

    def close(self) -> None:
        self.sock.close()


class Connection(http.client.HTTPConnection):
    """A connection for one thread at a time. Failures are an OSError or an http.client.HTTPException."""

    def __init__(self, address: Address, tls: Optional[ssl.SSLContext]) -> None:
        super().__init__(address.host or "localhost", address.port or 80)
        self._address, self._tls = address, tls
        self.deadline = Deadline(None)
        self.idle_since = 0.0

    def connect(self) -> None:
        left = self.deadline.left()
        if self._address.unix_path:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        else:
            sock = socket.create_connection((self._address.host, self._address.port), left)
        try:
            if self._address.unix_path:
                sock.settimeout(left)
                sock.connect(self._address.unix_path)
            else:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                sock.settimeout(self.deadline.left())
                sock = self._tls.wrap_socket(sock, server_hostname=self._address.host)
        except BaseException:
            sock.close()
            raise
        self.sock = _DeadlineSocket(sock, self)  # type: ignore[assignment]

    @property
    def plain_socket(self) -> socket.socket:
        return self.sock.sock  # type: ignore[union-attr]

    def is_stale(self, longest_idle: float) -> bool:
        """Return whether the server has closed the connection, or may be about to."""
        if time.monotonic() - self.idle_since > longest_idle:
            return True
        try:
            poller = select.poll()
            poller.register(self.plain_socket, select.POLLIN)
            return bool(poller.poll(0))
        except (OSError, ValueError, AttributeError):
            return True

    def write_request(self, call: Call[Any], headers: Mapping[str, str]) -> None:
        """Send a request. A server that rejects it closes the connection, but its response may be available."""
        self.putrequest(call.method, self._address.prefix + call.target, skip_host=True, skip_accept_encoding=True)
        self.putheader("Host", self._address.host_header)
        for name, value in {**headers, **call.headers}.items():
            self.putheader(name, value)
        body = call.encoded_body()
        try:
            if call.body is not None:
                self.putheader("Transfer-Encoding", "chunked")
                self.endheaders(call.body, encode_chunked=True)  # type: ignore[arg-type]
            else:
                if body is not None or call.method not in ("GET", "HEAD"):
                    self.putheader("Content-Length", str(len(body or b"")))
                self.endheaders(body)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def cut(self) -> None:
        """Close at once, so that the server notices that the client has left."""
        wrapped = self.sock
        if wrapped is not None:
            try:
                wrapped.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
            except OSError:
                pass
        self.close()
