"""A WebSocket client that sends whatever frame it is told to."""
import contextlib
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Rude:
    def __init__(self, server, target, fields=""):
        self.line = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        self.line.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                          f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{fields}\r\n".encode())
        self.stream = self.line.makefile("rb")
        self.status = int(self.stream.readline().split()[1])
        self.fields = []
        while field := self.stream.readline().strip():
            self.fields.append(field.decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.line.close()

    def frame(self, kind, data=b"", fin=True, masked=True, length=None, reserved=0):
        """Whatever the arguments say, right or wrong."""
        size = len(data) if length is None else length
        head = bytes([0x80 * fin | reserved << 4 | kind])
        mask_bit = 0x80 if masked else 0
        if size < 126:
            head += bytes([mask_bit | size])
        elif size < 65536:
            head += bytes([mask_bit | 126]) + struct.pack(">H", size)
        else:
            head += bytes([mask_bit | 127]) + struct.pack(">Q", size)
        if not masked:
            return head + data
        mask = os.urandom(4)
        repeated = (mask * (len(data) // 4 + 1))[:len(data)]
        return head + mask + (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(data), "big")

    def send(self, *arguments, **options):
        self.line.sendall(self.frame(*arguments, **options))

    def receive(self):
        """The next frame: kind and data; None when the line has ended."""
        with contextlib.suppress(OSError):
            head = self.stream.read(2)
            if len(head) < 2:
                return None
            size = head[1] & 127
            if size >= 126:
                size = struct.unpack(">H" if size == 126 else ">Q", self.stream.read(2 if size == 126 else 8))[0]
            return head[0] & 15, self.stream.read(size)
        return None

    def receive_until(self, text):
        """All that is printed, until the text is in it or the line has ended."""
        got = b""
        while text not in got and (frame := self.receive()):
            if frame[0] in (TEXT, BINARY):
                got += frame[1]
        return got

    def ends(self):
        """The close code with which the server ends; 0 when it just hangs up."""
        while frame := self.receive():
            if frame[0] == CLOSE:
                return struct.unpack(">H", frame[1][:2])[0] if len(frame[1]) >= 2 else 0
        return 0
