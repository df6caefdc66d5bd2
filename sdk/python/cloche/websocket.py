"""The client's side of WebSocket (RFC 6455), without a socket: converts bytes to messages and messages to bytes."""
from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional

from .errors import SandboxUnavailableError

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
LARGEST_MESSAGE = 16 << 20
LARGEST_HEAD = 64 << 10


def encode_frame(kind: int, payload: bytes) -> bytes:
    """Encode one frame, masked as a client must do."""
    size = len(payload)
    if size < 126:
        head = struct.pack(">BB", 0x80 | kind, 0x80 | size)
    elif size < 65536:
        head = struct.pack(">BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack(">BBQ", 0x80 | kind, 0x80 | 127, size)
    mask = os.urandom(4)
    repeated = (mask * (size // 4 + 1))[:size]
    masked = (int.from_bytes(payload, "little") ^ int.from_bytes(repeated, "little")).to_bytes(size, "little")
    return head + mask + masked


class Handshake:
    """The request that upgrades a connection to a WebSocket, and the check of its response."""

    def __init__(self) -> None:
        self._key = base64.b64encode(os.urandom(16)).decode("ascii")
        self.headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                        "Sec-WebSocket-Key": self._key}

    def check(self, headers: Mapping[str, str]) -> None:
        digest = hashlib.sha1((self._key + _GUID).encode("ascii")).digest()
        if headers.get("sec-websocket-accept") != base64.b64encode(digest).decode("ascii"):
            raise SandboxUnavailableError("the response to the WebSocket handshake is invalid")


def parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    """Return status and headers (names in lower case) of a response head."""
    lines = head.decode("latin-1").split("\r\n")
    try:
        version, status = lines[0].split(" ", 2)[:2]
        if not version.startswith("HTTP/1."):
            raise ValueError(version)
        fields = {}
        for line in lines[1:]:
            if line:
                name, colon, value = line.partition(":")
                if not colon:
                    raise ValueError(line)
                fields[name.strip().lower()] = value.strip()
        return int(status), fields
    except ValueError:
        raise SandboxUnavailableError("the response is not HTTP") from None


@dataclass(frozen=True)
class Message:
    """`kind` is TEXT, BINARY, PING, PONG or CLOSE."""

    kind: int
    data: bytes


class FrameDecoder:
    """Accepts bytes in any pieces and yields complete messages."""

    def __init__(self) -> None:
        self._rest = b""
        self._parts: list[bytes] = []
        self._kind = 0

    def feed(self, piece: bytes) -> Iterator[Message]:
        self._rest += piece
        while True:
            frame = self._frame()
            if frame is None:
                return
            final, kind, payload = frame
            if kind >= CLOSE:
                yield Message(kind, payload)
                continue
            if (kind == 0) != bool(self._kind):
                raise SandboxUnavailableError("the service sent a WebSocket message in the wrong order")
            self._kind = self._kind or kind
            self._parts.append(payload)
            if sum(map(len, self._parts)) > LARGEST_MESSAGE:
                raise SandboxUnavailableError("a message of the service is too large")
            if final:
                yield Message(self._kind, b"".join(self._parts))
                self._parts, self._kind = [], 0

    def _frame(self) -> Optional[tuple[bool, int, bytes]]:
        rest = self._rest
        if len(rest) < 2:
            return None
        size, start = rest[1] & 0x7F, 2
        if rest[0] & 0x70 or rest[1] & 0x80:
            raise SandboxUnavailableError("the service sent an invalid WebSocket frame")
        if size >= 126:
            start = 4 if size == 126 else 10
            if len(rest) < start:
                return None
            size = struct.unpack(">H" if start == 4 else ">Q", rest[2:start])[0]
        if size > LARGEST_MESSAGE:
            raise SandboxUnavailableError("a message of the service is too large")
        if len(rest) < start + size:
            return None
        self._rest = rest[start + size:]
        return bool(rest[0] & 0x80), rest[0] & 0x0F, rest[start:start + size]


@dataclass(frozen=True)
class TerminalExit:
    """How the program of a terminal ended. `signal` is the number of the signal that ended it, if any."""

    exit_code: int
    signal: Optional[int]
    ending: str
    reason: str


def control(kind: str, **fields: Any) -> bytes:
    """Encode a control message to the terminal."""
    return encode_frame(TEXT, json.dumps({"type": kind, **fields}).encode("utf-8"))
