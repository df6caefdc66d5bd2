"""One connection to the service on asyncio's streams, with HTTP/1.1."""
from __future__ import annotations

import asyncio
import ssl
import time
from typing import Any, Iterable, Mapping, Optional

from ..address import Address
from ..call import Call
from ..errors import SandboxUnavailableError
from ..websocket import LARGEST_HEAD, parse_head

PIECE = 65536


class Broken(Exception):
    """The connection ended unexpectedly."""


class Connection:
    """A connection for one task at a time. Failures are an OSError, an EOFError or `Broken`."""

    def __init__(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._address, self.reader, self.writer = address, reader, writer
        self.loop = asyncio.get_running_loop()
        self.idle_since = 0.0
        self.status = 0
        self.headers: dict[str, str] = {}
        self.will_close = False
        self._left: Optional[int] = 0  # of the body, or of its chunk; None: to the connection's end
        self._chunked = False

    @classmethod
    async def open(cls, address: Address, tls: Optional[ssl.SSLContext]) -> "Connection":
        if address.unix_path:
            reader, writer = await asyncio.open_unix_connection(address.unix_path, limit=LARGEST_HEAD)
        else:
            reader, writer = await asyncio.open_connection(address.host, address.port, ssl=tls, limit=LARGEST_HEAD)
        return cls(address, reader, writer)

    def is_stale(self, longest_idle: float) -> bool:
        return (self.loop is not asyncio.get_running_loop() or self.reader.at_eof() or self.writer.is_closing()
                or time.monotonic() - self.idle_since > longest_idle)

    async def write_request(self, call: Call[Any], headers: Mapping[str, str]) -> None:
        """Send a request. A server that rejects it closes the connection, but its response may be available."""
        body = call.encoded_body()
        fields = {"Host": self._address.host_header, **headers, **call.headers}
        if call.body is not None:
            fields["Transfer-Encoding"] = "chunked"
        elif body is not None or call.method not in ("GET", "HEAD"):
            fields["Content-Length"] = str(len(body or b""))
        try:
            self.writer.write(head_of(f"{call.method} {self._address.prefix}{call.target} HTTP/1.1", fields))
            if body:
                self.writer.write(body)
            await self.writer.drain()
            if call.body is not None:
                await self._write_chunks(call.body)
        except (BrokenPipeError, ConnectionResetError):
            pass

    async def _write_chunks(self, pieces: Iterable[bytes]) -> None:
        # Files are read by another thread: the loop goes on.
        iterator = iter(pieces)
        at_end = object()
        while True:
            piece: Any = await self.loop.run_in_executor(None, next, iterator, at_end)
            if piece is at_end:
                break
            if piece:
                self.writer.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
                await self.writer.drain()
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def read_head(self) -> None:
        """Read status and headers of the next response that is not interim."""
        while True:
            try:
                head = await self.reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError as error:
                raise Broken("without a response" if not error.partial else "in the middle of a response") from None
            except asyncio.LimitOverrunError:
                raise SandboxUnavailableError("the head of the response is too long") from None
            self.status, self.headers = parse_head(head)
            if self.status >= 200 or self.status == 101:
                break
        self.will_close = self.headers.get("connection", "").lower() == "close"
        self._chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        if self.status in (101, 204, 304) or self._chunked:
            self._left = 0
        elif "content-length" in self.headers:
            self._left = int(self.headers["content-length"])
        else:
            self._left, self.will_close = None, True

    async def read_some(self) -> bytes:
        """Read the next piece of the body; empty at its end."""
        if self._chunked and not self._left:
            line = await self._line()
            try:
                self._left = int(line.split(b";")[0], 16)
            except ValueError:
                raise Broken("in the middle of a response") from None
            if self._left == 0:
                while await self._line():
                    pass
                self._chunked = False
        if self._left == 0:
            return b""
        piece = await self.reader.read(PIECE if self._left is None else min(PIECE, self._left))
        if self._left is None:
            return piece
        if not piece:
            raise Broken("in the middle of a response")
        self._left -= len(piece)
        if self._chunked and self._left == 0:
            await self._line()
        return piece

    async def _line(self) -> bytes:
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise Broken("in the middle of a response")
        return line.rstrip(b"\r\n")

    async def read_all(self, most: Optional[int] = None) -> bytes:
        pieces, size = [], 0
        while most is None or size < most:
            piece = await self.read_some()
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def cut(self) -> None:
        """Close at once, so that the server notices that the client has left."""
        if self.loop.is_closed():
            return
        self.writer.transport.abort()


def head_of(first: str, fields: Mapping[str, str]) -> bytes:
    lines = [first] + [f"{name}: {value}" for name, value in fields.items()]
    for line in lines:
        if "\r" in line or "\n" in line:
            raise ValueError("the head of the request contains a line end")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
