"""One connection to the service: http.client over TCP, TLS or a unix socket, each wait of it bounded by a deadline."""
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
    """Reads a socket; each read ends by the connection's deadline, so that all of them together do."""

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
    """What http.client uses of a socket."""

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
    """Used by one thread at a time. What goes wrong is an OSError or an http.client.HTTPException."""

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
        """The server has hung up, or may be about to."""
        if time.monotonic() - self.idle_since > longest_idle:
            return True
        try:
            poller = select.poll()
            poller.register(self.plain_socket, select.POLLIN)
            return bool(poller.poll(0))
        except (OSError, ValueError, AttributeError):
            return True

    def write_request(self, call: Call[Any], headers: Mapping[str, str]) -> None:
        """A server that refuses what is being sent hangs up: its answer may be there all the same."""
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
        """Closes at once: the server sees that nobody waits any more."""
        wrapped = self.sock
        if wrapped is not None:
            try:
                wrapped.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
            except OSError:
                pass
        self.close()
