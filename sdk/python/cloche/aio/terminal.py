"""A program on a terminal in a session, on asyncio."""
from __future__ import annotations

from typing import Any, AsyncIterator, Awaitable, Callable, Optional, Union

from ..deadline import Deadline
from ..errors import SandboxError, SandboxLostError, SandboxTimeoutError, SandboxUnavailableError
from ..terminal import CLOSE_SECONDS, LARGEST_PIECE, NORMAL_END, WRITE_SECONDS, read_text_message
from ..transport import PIECE
from ..websocket import (BINARY, CLOSE, PING, PONG, TEXT, FrameDecoder, Handshake, Message, TerminalExit, control,
                         encode_frame)
from .connection import Connection
from .transport import Transport
from .within import within


class Terminal:
    """A terminal: bytes in both directions; see `cloche.Terminal`. One task may read while another one writes.

    >>> async with client.terminal("s1") as terminal:                  # doctest: +SKIP
    ...     await terminal.write("echo $((6 * 7))\\n")
    ...     print(await terminal.read_until("42"))
    """

    def __init__(self, connection: Connection) -> None:
        self.exit: Optional[TerminalExit] = None
        self._connection = connection
        self._decoder = FrameDecoder()
        self._messages: list[Message] = []
        self._unread = b""
        self._broken: Optional[str] = None  # how the line was lost, if it was: of the program's end nothing is known
        self._open = True

    async def write(self, data: Union[str, bytes]) -> None:
        """Send input, as if it was typed."""
        typed = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        for start in range(0, len(typed), LARGEST_PIECE):
            await self._send(encode_frame(BINARY, typed[start:start + LARGEST_PIECE]))

    async def read(self, timeout: Optional[float] = None) -> bytes:
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
                data = await self._take(self._messages.pop(0))
                if data:
                    return data
                continue
            await self._receive(deadline)
        self._check_line()
        if self.exit is None:
            raise SandboxLostError("the terminal was closed before its program had ended", code="sandbox_lost")
        return b""

    async def read_until(self, wanted: Union[str, bytes], timeout: Optional[float] = 30) -> bytes:
        """Read all output up to and including these bytes; until the end, if they do not occur."""
        end = wanted.encode("utf-8") if isinstance(wanted, str) else wanted
        deadline = Deadline(timeout)
        got = b""
        while end not in got:
            try:
                piece = await self.read(deadline.left())
            except BaseException:
                self._unread = got + self._unread
                raise
            if not piece:
                return got
            got += piece
        at = got.index(end) + len(end)
        self._unread = got[at:] + self._unread
        return got[:at]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            data = await self.read()
            if not data:
                return
            yield data

    async def resize(self, rows: int, cols: int) -> None:
        await self._send(control("resize", rows=rows, cols=cols))

    async def signal(self, signal: Union[int, str]) -> None:
        """Send a signal to the started program. A ^C that is written goes to the foreground process instead."""
        await self._send(control("signal", signal=signal))

    async def wait(self, timeout: Optional[float] = None) -> TerminalExit:
        """Read until the program ends, and return how it ended."""
        deadline = Deadline(timeout)
        while await self.read(deadline.left()):
            pass
        assert self.exit is not None
        return self.exit

    async def close(self) -> None:
        if not self._open:
            return
        self._open = False
        try:
            self._connection.writer.write(encode_frame(CLOSE, NORMAL_END))
            await within(Deadline(CLOSE_SECONDS), self._connection.writer.drain())
            self._connection.writer.close()
        except (OSError, SandboxTimeoutError):
            pass
        finally:
            self._hang_up()

    async def __aenter__(self) -> "Terminal":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def _receive(self, deadline: Deadline) -> None:
        try:
            piece = await within(deadline, self._connection.reader.read(PIECE))
        except SandboxTimeoutError:
            told = f"the terminal printed nothing for {deadline.seconds:g} s"
            raise SandboxTimeoutError(told, code="timeout") from None
        except OSError as error:
            raise self._lose_line(f"the connection of the terminal broke: {error!r}") from error
        if not piece:
            if self.exit is None:
                raise self._lose_line("the service closed the connection of the terminal")
            self._hang_up()
        self._messages += self._decoder.feed(piece)

    async def _take(self, message: Message) -> bytes:
        if message.kind == BINARY:
            return message.data
        if message.kind == TEXT:
            try:
                self.exit = read_text_message(message.data)
            except BaseException:
                self._hang_up()
                raise
        elif message.kind == PING:
            await self._send(encode_frame(PONG, message.data))
        elif message.kind == CLOSE:
            if self.exit is None:
                raise self._lose_line("the service closed the terminal before its program had ended")
            await self.close()
        return b""

    async def _send(self, frame: bytes) -> None:
        self._check_line()
        if not self._open:
            raise SandboxLostError("the terminal is closed", code="sandbox_lost")
        try:
            self._connection.writer.write(frame)
            await within(Deadline(WRITE_SECONDS), self._connection.writer.drain())
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
        self._connection.cut()


class TerminalRequest:
    """`await client.terminal("s1")`, or `async with client.terminal("s1") as terminal`."""

    def __init__(self, transport: Transport, make_target: Callable[[], str]) -> None:
        self._transport, self._make_target = transport, make_target
        self._before: Optional[Callable[[], Awaitable[Any]]] = None  # what must be there before it
        self._terminal: Optional[Terminal] = None

    async def _begin(self) -> Terminal:
        if self._before is not None:
            await self._before()
        handshake = Handshake()
        deadline = Deadline(self._transport.timeout)
        connection = await self._transport.upgrade(self._make_target(), handshake.headers, deadline)
        try:
            handshake.check(connection.headers)
        except BaseException:
            connection.cut()
            raise
        return Terminal(connection)

    def __await__(self) -> Any:
        return self._begin().__await__()

    async def __aenter__(self) -> Terminal:
        self._terminal = await self._begin()
        return self._terminal

    async def __aexit__(self, *_: Any) -> None:
        assert self._terminal is not None
        await self._terminal.close()
