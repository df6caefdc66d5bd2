"""A program on a terminal in a session."""
from __future__ import annotations

import json
import select
import socket
import ssl
import threading
from typing import Any, Iterator, Mapping, Optional, Union

from .deadline import Deadline
from .errors import (SandboxError, SandboxLostError, SandboxTimeoutError, SandboxUnavailableError, error_for,
                     error_from_answer)
from .transport import PIECE, Transport
from .websocket import (BINARY, CLOSE, LARGEST_HEAD, PING, TEXT, FrameDecoder, Handshake, Message, PONG, TerminalExit,
                        control, encode_frame, parse_head)

# The service takes messages of 1 MiB.
LARGEST_PIECE = 256 << 10
# For a program that does not read what is typed.
WRITE_SECONDS = 90.0
CLOSE_SECONDS = 2.0
NORMAL_END = (1000).to_bytes(2, "big")


def read_text_message(data: bytes) -> TerminalExit:
    """Return how the program ended, from a text message of the service; raise if the message is an error."""
    told: Mapping[str, Any] = json.loads(data.decode("utf-8"))
    if told.get("type") == "error":
        raise error_for(told["message"], code=told["code"])
    return TerminalExit(told["exit_code"], told["signal"], told["ending"], told["reason"])


class Terminal:
    """A terminal: bytes in both directions. Closing it ends the program. One thread may read while another one writes.
    Read at least once a minute: the service disconnects a client that does not respond to it for two minutes.

    >>> with client.terminal("s1") as terminal:                  # doctest: +SKIP
    ...     terminal.write("echo $((6 * 7))\\n")
    ...     print(terminal.read_until("42"))
    """

    def __init__(self, transport: Transport, target: str) -> None:
        deadline = Deadline(transport.timeout)
        handshake = Handshake()
        self.exit: Optional[TerminalExit] = None
        self._decoder = FrameDecoder()
        self._messages: list[Message] = []
        self._unread = b""
        self._broken: Optional[str] = None  # how the line was lost, if it was: of the program's end nothing is known
        self._writing = threading.Lock()
        self._open = True
        self._socket = transport.dial(deadline)
        try:
            self._socket.settimeout(deadline.left())
            self._socket.sendall(transport.upgrade_head(target, handshake.headers))
            self._begin(handshake, deadline)
            self._socket.settimeout(WRITE_SECONDS)
        except socket.timeout:
            self._hang_up()
            raise deadline.error() from None
        except OSError as error:
            self._hang_up()
            raise SandboxUnavailableError(f"the connection broke: {error!r}", code="unavailable") from error
        except BaseException:
            self._hang_up()
            raise

    def write(self, data: Union[str, bytes]) -> None:
        """Send input, as if it was typed."""
        typed = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        for start in range(0, len(typed), LARGEST_PIECE):
            self._send(encode_frame(BINARY, typed[start:start + LARGEST_PIECE]))

    def read(self, timeout: Optional[float] = None) -> bytes:
        """Read the next bytes that the program prints; empty when it has ended. Raises `SandboxTimeoutError` after
        `timeout` seconds, and `SandboxUnavailableError` if the connection to the service is lost. In that case the
        program of the terminal ends, but the session may still exist.
        """
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        deadline = Deadline(timeout)
        while self._open:
            if self._messages:
                data = self._take(self._messages.pop(0))
                if data:
                    return data
                continue
            self._receive(deadline)
        self._check_line()
        if self.exit is None:
            raise SandboxLostError("the terminal was closed before its program had ended", code="sandbox_lost")
        return b""

    def read_until(self, wanted: Union[str, bytes], timeout: Optional[float] = 30) -> bytes:
        """Read all output up to and including these bytes; until the end, if they do not occur."""
        end = wanted.encode("utf-8") if isinstance(wanted, str) else wanted
        deadline = Deadline(timeout)
        got = b""
        while end not in got:
            try:
                piece = self.read(deadline.left())
            except BaseException:
                self._unread = got + self._unread
                raise
            if not piece:
                return got
            got += piece
        at = got.index(end) + len(end)
        self._unread = got[at:] + self._unread
        return got[:at]

    def __iter__(self) -> Iterator[bytes]:
        while True:
            data = self.read()
            if not data:
                return
            yield data

    def resize(self, rows: int, cols: int) -> None:
        self._send(control("resize", rows=rows, cols=cols))

    def signal(self, signal: Union[int, str]) -> None:
        """Send a signal to the started program. A ^C that is written goes to the foreground process instead."""
        self._send(control("signal", signal=signal))

    def wait(self, timeout: Optional[float] = None) -> TerminalExit:
        """Read until the program ends, and return how it ended."""
        deadline = Deadline(timeout)
        while self.read(deadline.left()):
            pass
        assert self.exit is not None
        return self.exit

    def close(self) -> None:
        if not self._open:
            return
        self._open = False  # before the service can answer, so that a reader knows who closed the terminal
        try:
            with self._writing:
                self._socket.settimeout(CLOSE_SECONDS)
                self._socket.sendall(encode_frame(CLOSE, NORMAL_END))
        except OSError:
            pass
        self._hang_up()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _begin(self, handshake: Handshake, deadline: Deadline) -> None:
        got = b""
        while b"\r\n\r\n" not in got:
            self._socket.settimeout(deadline.left())
            piece = self._socket.recv(PIECE)
            got += piece
            if not piece or len(got) > LARGEST_HEAD:
                raise SandboxUnavailableError("the service did not respond to the WebSocket handshake")
        head, _, rest = got.partition(b"\r\n\r\n")
        status, headers = parse_head(head)
        if status != 101:
            size = min(int(headers.get("content-length", "0")), LARGEST_HEAD)
            while len(rest) < size:
                self._socket.settimeout(deadline.left())
                piece = self._socket.recv(PIECE)
                if not piece:
                    break
                rest += piece
            raise error_from_answer(status, headers, rest)
        handshake.check(headers)
        self._messages += self._decoder.feed(rest)

    def _receive(self, deadline: Deadline) -> None:
        try:
            if not self._is_readable(deadline):
                raise SandboxTimeoutError(f"the terminal printed nothing for {deadline.seconds:g} s", code="timeout")
            piece = self._socket.recv(PIECE)
        except (OSError, ValueError) as error:  # ValueError: another thread has closed the socket
            raise self._lose_line(f"the connection of the terminal broke: {error!r}") from error
        if not piece:
            if self.exit is None:
                raise self._lose_line("the service closed the connection of the terminal")
            self._hang_up()
        self._messages += self._decoder.feed(piece)

    def _is_readable(self, deadline: Deadline) -> bool:
        """Poll instead of setting a timeout on the socket, because a writing thread shares the socket."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        left = deadline.left()
        return bool(poller.poll(None if left is None else left * 1000))

    def _take(self, message: Message) -> bytes:
        if message.kind == BINARY:
            return message.data
        if message.kind == TEXT:
            try:
                self.exit = read_text_message(message.data)
            except BaseException:
                self._hang_up()
                raise
        elif message.kind == PING:
            self._send(encode_frame(PONG, message.data))
        elif message.kind == CLOSE:
            if self.exit is None:
                raise self._lose_line("the service closed the terminal before its program had ended")
            self.close()
        return b""

    def _send(self, frame: bytes) -> None:
        self._check_line()
        if not self._open:
            raise SandboxLostError("the terminal is closed", code="sandbox_lost")
        try:
            with self._writing:
                self._socket.sendall(frame)
        except OSError as error:
            raise self._lose_line(f"the connection of the terminal broke: {error!r}") from error

    def _lose_line(self, how: str) -> SandboxError:
        """The connection is lost. This says nothing about the sandbox, which may still exist."""
        if not self._open:
            return SandboxLostError("the terminal was closed in the meantime", code="sandbox_lost")
        self._hang_up()
        self._broken = how
        return SandboxUnavailableError(how, code="unavailable")

    def _check_line(self) -> None:
        if self._broken is not None:
            raise SandboxUnavailableError(self._broken, code="unavailable")

    def _hang_up(self) -> None:
        self._open = False
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
