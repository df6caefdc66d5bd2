"""Read lines from Docker's multiplexed stream: frames of `[1 byte stream][3 bytes zero][4 bytes length]` and content.
Lines begin and end anywhere in a frame.
"""
from __future__ import annotations

import asyncio
import struct

STDIN, STDOUT, STDERR = 0, 1, 2
_HEADER = struct.Struct(">BxxxL")
_KEPT_STDERR = 64 * 1024


def frame(stream: int, content: bytes) -> bytes:
    """Encode `content` as one frame."""
    return _HEADER.pack(stream, len(content)) + content


class DockerLineReader:
    """Reads such a stream from any `asyncio.StreamReader`, for example an engine's attached socket.

    `stderr` has the last 64 KiB of that stream. Only one reader at a time.
    """

    def __init__(self, reader: asyncio.StreamReader, max_line: int = 16 * 1024 * 1024) -> None:
        self._reader = reader
        self._max_line = max_line
        self._buffer = bytearray()
        self._searched = 0
        self._left_of_frame = 0
        self._stream = STDOUT
        self.stderr = b""

    async def readline(self) -> str:
        """Read the next line of stdout, without its line end.

        Raises asyncio.IncompleteReadError when the stream ends, with an incomplete line in `partial`, and ValueError if
        it is not such a stream or a line is longer than `max_line` bytes. A cancelled call loses nothing.
        """
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[:end + 1]
                self._searched = 0
                return line.rstrip(b"\r").decode("utf-8", "replace")
            self._searched = len(self._buffer)
            if self._searched > self._max_line:
                raise ValueError(f"a line is longer than {self._max_line} bytes")
            await self._read_more()

    async def _read_more(self) -> None:
        if self._left_of_frame == 0:
            try:
                header = await self._reader.readexactly(_HEADER.size)
            except asyncio.IncompleteReadError:
                raise asyncio.IncompleteReadError(bytes(self._buffer), None) from None
            stream, length = _HEADER.unpack(header)
            if stream > STDERR or header[1:4] != b"\0\0\0":
                raise ValueError("not a multiplexed stream; check whether the container was created with a terminal")
            self._stream, self._left_of_frame = stream, length
            return
        content = await self._reader.read(min(self._left_of_frame, 65536))
        if not content:
            raise asyncio.IncompleteReadError(bytes(self._buffer), None)
        self._left_of_frame -= len(content)
        if self._stream == STDERR:
            self.stderr = (self.stderr + content)[-_KEPT_STDERR:]
        else:
            self._buffer += content
