#!/usr/bin/python3 -I
"""An agent that lies. Put in the agent's place, it is process 1 of a sandbox; the sandbox's hostname says which lie it tells.

What it is not lying about it answers as an agent would, without doing anything: files have no content, programs print
`honest` and end well.
"""
import os
import select
import struct
import sys
import time

HELLO, READY, OPEN, MESSAGE, DATA, EOF, CREDIT, CANCEL, CLOSE, PING, PONG = range(1, 12)
EXEC, EXEC_LIST, ATTACH, FILE, TCP, RESET, ZYGOTE = range(1, 8)
WRITE, READ, STAT, LIST, REMOVE, MKDIR, MOVE, TAR_IN, TAR_OUT, GLOB, GREP, MARK, CHANGES = range(13)
STARTED, ENDED, _, _, EXECS, FILE_REPLY, RESET_REPORT, CONNECTED = range(1, 9)
IN, OUT, ERR = range(3)
REGULAR = 1
WINDOW = 256 * 1024


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(tag, value):
    body = varint(value) if isinstance(value, int) else value
    return varint(tag) + varint(len(body)) + body


def frame(kind, stream=0, payload=b"", lane=0, flags=0):
    return struct.pack("<BBBBII", kind, lane, flags, 0xC1, stream, len(payload)) + payload + b"\xa5"


def take_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def fields_of(data):
    found, at = {}, 0
    while at < len(data):
        tag, at = take_varint(data, at)
        size, at = take_varint(data, at)
        found.setdefault(tag, []).append(data[at:at + size])
        at += size
    return found


def number_in(fields, tag):
    return take_varint(fields[tag][0], 0)[0] if tag in fields else 0


def entry(path, size=0, kind=REGULAR):
    return field(1, path) + field(2, kind) + field(3, size) + field(9, 2 * (time.time_ns() + 10**9))


def reply(*parts):
    return varint(FILE_REPLY) + b"".join(parts)


DONE = field(1, 1)


class Agent:
    """One that tells no lie."""

    def __init__(self):
        self.buffer = b""
        self.parts = {}
        self.version = 0

    def run(self):
        self.begin()
        while True:
            got = os.read(0, 1 << 16)
            if not got:
                return
            self.buffer += got
            while (taken := self.take()) is not None:
                self.on_frame(*taken)

    def take(self):
        self.buffer = self.buffer.lstrip(b"\0")
        if len(self.buffer) < 12:
            return None
        kind, lane, flags, _, stream, size = struct.unpack("<BBBBII", self.buffer[:12])
        if len(self.buffer) < 13 + size:
            return None
        payload = self.buffer[12:12 + size]
        self.buffer = self.buffer[13 + size:]
        return kind, lane, flags, stream, payload

    def on_frame(self, kind, lane, flags, stream, payload):
        if kind == HELLO:
            hello = fields_of(payload[1:])
            self.version = number_in(hello, 1)
            self.on_hello(hello[2][0])
        elif kind == PING:
            self.say(frame(PONG))
        elif kind == OPEN:
            whole = self.parts.pop(stream, b"") + payload
            if flags & 1:
                self.parts[stream] = whole
                return
            request, at = take_varint(whole, 0)
            self.on_open(request, stream, fields_of(whole[at:]))
        elif kind == DATA:
            self.on_data(stream, lane, payload)
        elif kind == EOF:
            self.on_eof(stream)

    @staticmethod
    def say(data):
        while data:
            data = data[os.write(1, data):]

    def message(self, stream, payload):
        self.say(frame(MESSAGE, stream, payload))

    def close(self, stream, refusal=0, text=b""):
        self.say(frame(CLOSE, stream, b"\x04" + field(1, refusal) + field(2, text)))

    def ready(self, nonce, version=None):
        self.say(frame(READY, 0, b"\x02" + field(1, version or self.version) + field(2, nonce)))

    def grant(self, stream, amount, lane=IN):
        self.say(frame(CREDIT, stream, b"\x03" + field(1, amount), lane))

    def begin(self):
        pass

    def on_hello(self, nonce):
        self.ready(nonce)

    def on_data(self, stream, lane, payload):
        self.grant(stream, len(payload), lane)

    def on_eof(self, stream):
        pass

    def on_open(self, request, stream, fields):
        if request == EXEC:
            self.on_exec(stream, fields)
        elif request == EXEC_LIST:
            self.on_exec_list(stream)
        elif request == FILE:
            self.on_file(number_in(fields, 1), stream, fields)
        elif request == RESET:
            self.message(stream, varint(RESET_REPORT))
            self.close(stream)
        elif request == TCP:
            self.on_tcp(stream)
        else:
            self.close(stream)

    def on_exec(self, stream, fields):
        self.started(stream)
        self.say(frame(DATA, stream, b"honest\n", OUT))
        self.ended(stream)
        self.close(stream)

    def started(self, stream):
        self.message(stream, varint(STARTED) + field(1, 0) + field(2, 7))

    def ended(self, stream, code=0, along=b""):
        """With a mark, so that the server asks what has changed; or with the changes along."""
        mark = field(15, 2 * time.time_ns())
        self.message(stream, varint(ENDED) + field(1, 0) + field(2, code) + field(5, 1000) + mark + along)

    def on_exec_list(self, stream):
        self.message(stream, varint(EXECS))
        self.close(stream)

    def on_tcp(self, stream):
        self.message(stream, varint(CONNECTED))

    def on_file(self, op, stream, fields):
        if op == MARK:
            self.message(stream, reply(DONE, field(9, 2 * time.time_ns())))
        elif op == STAT:
            self.message(stream, reply(DONE, field(2, entry(fields[2][0], 5))))
        elif op == READ:
            self.on_read(stream)
            return
        elif op == GLOB:
            self.on_glob(stream)
            return
        elif op == CHANGES:
            self.on_changes(stream)
            return
        else:
            self.message(stream, reply(DONE))
        self.close(stream)

    def on_read(self, stream):
        self.message(stream, reply(field(8, 5)))
        self.say(frame(DATA, stream, b"hello", OUT))
        self.message(stream, reply(DONE, field(5, 5), field(8, 5)))
        self.close(stream)

    def on_glob(self, stream):
        self.message(stream, reply(DONE, field(2, entry(b"a.txt"))))
        self.close(stream)

    def on_changes(self, stream):
        self.message(stream, reply(DONE))
        self.close(stream)


def for_ever(data):
    while True:
        Agent.say(data)


# --- before it is ready ---

class Garbage(Agent):
    def begin(self):
        self.say(b"\x7fthis is no frame, and never was one\n" * 100)


class WrongVersion(Agent):
    def on_hello(self, nonce):
        self.ready(nonce, 999)


class WrongNonce(Agent):
    def on_hello(self, nonce):
        self.ready(b"0" * 32)


class NeverReady(Agent):
    def on_hello(self, nonce):
        pass


class HelloFlood(Agent):
    def on_hello(self, nonce):
        for_ever(frame(HELLO, 0, b"\x01" + field(1, self.version) + field(2, nonce)) * 500)


class HalfFrame(Agent):
    def on_hello(self, nonce):
        self.say(struct.pack("<BBBBII", READY, 0, 0, 0xC1, 0, 60000) + b"x" * 30000)


class HugeFrame(Agent):
    def on_hello(self, nonce):
        self.say(struct.pack("<BBBBII", READY, 0, 0, 0xC1, 0, 0xFFFFFFFF))


class Dies(Agent):
    def on_hello(self, nonce):
        sys.exit(1)


# --- of streams ---

class UnknownStreams(Agent):
    def on_hello(self, nonce):
        for stream in [*range(1, 400), 0xFFFFFFFF]:
            self.say(frame(DATA, stream, b"forged", OUT))
            self.ended(stream, 99)
            self.close(stream)
        self.ready(nonce)


class EndlessOutput(Agent):
    """Keeps to its credit, and never stops."""

    def on_exec(self, stream, fields):
        self.started(stream)
        self.flooded = stream
        for _ in range(4):
            self.say(frame(DATA, stream, b"e" * 65536, OUT))

    def on_frame(self, kind, lane, flags, stream, payload):
        if kind == CREDIT and lane == OUT and stream == getattr(self, "flooded", None):
            amount = number_in(fields_of(payload[1:]), 1)
            while amount > 0:
                part = min(amount, 65536)
                self.say(frame(DATA, stream, b"e" * part, OUT))
                amount -= part
            return
        super().on_frame(kind, lane, flags, stream, payload)


class LongMessage(Agent):
    def on_exec(self, stream, fields):
        for_ever(frame(MESSAGE, stream, b"m" * 65536, flags=1))


class RepliesTwice(Agent):
    def on_exec(self, stream, fields):
        self.started(stream)
        self.say(frame(DATA, stream, b"honest\n", OUT))
        for code in (0, 42):
            self.ended(stream, code)
        for _ in range(3):
            self.close(stream)


class OutcomeFirst(Agent):
    def on_exec(self, stream, fields):
        self.ended(stream)
        self.say(frame(DATA, stream, b"too late\n", OUT))
        self.started(stream)
        self.close(stream)


class NoOutcome(Agent):
    def on_exec(self, stream, fields):
        self.started(stream)
        self.close(stream)


class ServersFrames(Agent):
    def on_exec(self, stream, fields):
        self.say(frame(OPEN, stream, b"\x01"))


class OddNumbers(Agent):
    def on_exec(self, stream, fields):
        most = 2**64 - 1
        self.started(stream)
        self.message(stream, varint(ENDED) + field(1, 0) + field(2, 2**32 - 1) + field(5, most) + field(6, most)
                     + field(7, most) + field(8, most) + field(9, most) + field(12, field(1, most) + field(2, most)))
        self.close(stream)


class SilentExec(Agent):
    def on_exec(self, stream, fields):
        self.started(stream)


class HalfAnswer(Agent):
    def on_exec(self, stream, fields):
        self.say(frame(DATA, stream, b"x" * 1000, OUT)[:500])
        time.sleep(3600)


class BadWords(Agent):
    """A refusal whose words would forge a line of the log, and are no UTF-8."""

    def on_exec(self, stream, fields):
        text = b'\xff\xfe"}\n{"level":"error","message":"FORGED LINE"}\r\n\x1b[2J\0' + b"w" * 50000
        self.close(stream, 1, text)


class ManyExecs(Agent):
    def on_exec_list(self, stream):
        payload = varint(EXECS) + b"".join(field(1, field(1, number) + field(4, 1)) for number in range(1, 60001))
        for at in range(0, len(payload), 65536):
            self.say(frame(MESSAGE, stream, payload[at:at + 65536], flags=int(at + 65536 < len(payload))))
        self.close(stream)


class PongFlood(Agent):
    def on_exec(self, stream, fields):
        for_ever(frame(PONG) * 4000)


# --- of files ---

class Stalled(Agent):
    """A large file, as much of it as its reader takes; then frames that cost no credit."""

    def on_file(self, op, stream, fields):
        if op == STAT:
            self.message(stream, reply(DONE, field(2, entry(fields[2][0], 2**30))))
            self.close(stream)
        elif op == READ and 0 < number_in(fields, 14) <= 8192:
            super().on_read(stream)
        elif op == READ:
            self.message(stream, reply(field(8, 2**30)))
            self.fill(stream, WINDOW)
            while select.select([0], [], [], 0.5)[0]:
                self.buffer += os.read(0, 1 << 16)
                while (taken := self.take()) is not None:
                    if taken[0] == CREDIT:
                        self.fill(stream, number_in(fields_of(taken[4][1:]), 1))
            flood = self.flood_of(stream)
            for_ever(flood * max(1, 20000 // len(flood)))
        else:
            super().on_file(op, stream, fields)

    def fill(self, stream, amount):
        while amount > 0:
            part = min(amount, 65536)
            self.say(frame(DATA, stream, b"d" * part, OUT))
            amount -= part


class DataFlood(Stalled):
    """More than it has credit for."""

    def flood_of(self, stream):
        return frame(DATA, stream, b"c" * 65536, OUT)


class EofFlood(Stalled):
    def flood_of(self, stream):
        return frame(EOF, stream, lane=OUT)


class EmptyDataFlood(Stalled):
    def flood_of(self, stream):
        return frame(DATA, stream, b"", OUT)


class SmallMessageFlood(Stalled):
    def flood_of(self, stream):
        return frame(MESSAGE, stream, varint(FILE_REPLY))


class Oversized(Agent):
    """More content than was asked for."""

    def on_read(self, stream):
        self.reading = stream
        self.message(stream, reply(field(8, 2**40)))
        for _ in range(4):
            self.say(frame(DATA, stream, b"o" * 65536, OUT))

    def on_frame(self, kind, lane, flags, stream, payload):
        if kind == CREDIT and stream == getattr(self, "reading", None):
            for _ in range(number_in(fields_of(payload[1:]), 1) // 65536):
                self.say(frame(DATA, stream, b"o" * 65536, OUT))
            return
        super().on_frame(kind, lane, flags, stream, payload)


class OddSizes(Agent):
    """A file larger than any can be."""

    def on_file(self, op, stream, fields):
        if op == STAT:
            self.message(stream, reply(DONE, field(2, entry(fields[2][0], 2**64 - 1))))
            self.close(stream)
        else:
            super().on_file(op, stream, fields)


class EndlessList(Agent):
    def on_glob(self, stream):
        names = b"".join(field(2, entry(b"n" * 200)) for _ in range(250))
        for_ever(frame(MESSAGE, stream, reply(names)))


class BadNames(Agent):
    NAMES = [b"../../etc/passwd", b"/etc/shadow", b"a/../../b", b"nul\0name", b".."]

    def name(self):
        return self.NAMES[int(os.uname().nodename.rsplit("-", 1)[1])]

    def on_glob(self, stream):
        self.message(stream, reply(DONE, field(2, entry(b"good.txt")), field(2, entry(self.name()))))
        self.close(stream)

    def on_file(self, op, stream, fields):
        if op == GREP:
            match = field(1, self.name()) + field(2, 1) + field(3, b"text")
            self.message(stream, reply(DONE, field(3, match)))
            self.close(stream)
        else:
            super().on_file(op, stream, fields)

    def on_changes(self, stream):
        self.on_glob(stream)

    def ended(self, stream, code=0, along=b""):
        """Every other one tells its lie along with the program's end."""
        if int(os.uname().nodename.rsplit("-", 1)[1]) % 2 == 0:
            along = field(16, DONE + field(2, entry(self.name())))
        super().ended(stream, code, along)


class ForgedArtifact(Agent):
    """A file that says it is small, and a picture, and is neither."""

    FORGED = DONE + field(2, entry(b"picture.png", 2)) + field(2, entry(b"huge.bin", 2**62))

    def on_changes(self, stream):
        self.message(stream, reply(self.FORGED))
        self.close(stream)


class ForgedAlong(ForgedArtifact):
    def ended(self, stream, code=0, along=b""):
        super().ended(stream, code, field(16, self.FORGED))


class ManyAlong(Agent):
    """More changes than anybody asked for."""

    def ended(self, stream, code=0, along=b""):
        super().ended(stream, code, field(16, DONE + b"".join(field(2, entry(b"n")) for _ in range(10_001))))


class NoCredit(Agent):
    def on_file(self, op, stream, fields):
        if op != WRITE:
            super().on_file(op, stream, fields)

    def on_data(self, stream, lane, payload):
        pass


class WildCredit(Agent):
    def on_open(self, request, stream, fields):
        if request == FILE and number_in(fields, 1) == WRITE:
            self.grant(stream, 2**40)
        else:
            super().on_open(request, stream, fields)


class NotConnected(Agent):
    def on_tcp(self, stream):
        self.say(frame(DATA, stream, b"HTTP/1.1 200 OK\r\n\r\nforged", OUT))


def tar_header(name, kind=b"0", size=0, link=b""):
    block = bytearray(512)
    block[0:len(name)] = name
    block[100:156] = b"0000644\0" + b"0000000\0" * 2 + b"%011o\0" % size + b"00000000000\0" + b" " * 8
    block[156:157 + len(link)] = kind + link
    block[257:265] = b"ustar\x0000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


class BadTar(Agent):
    """Archives that are none, or that want to be unpacked elsewhere. The last two are taken for good ones."""

    GOOD = tar_header(b"good", size=4) + b"good".ljust(512, b"\0")
    TARS = [
        tar_header(b"../../etc/cron.d/x"), tar_header(b"/etc/passwd"), tar_header(b"disk", b"4"), tar_header(b"fifo", b"6"),
        tar_header(b"hard", b"1", link=b"good"), tar_header(b"sparse", b"S"), tar_header(b"huge", size=2**33),
        tar_header(b"pax", b"x", 2**30), b"noise" * 1000, tar_header(b"cut", size=1024) + b"x",
        tar_header(b"out", b"2", link=b"/tmp") + tar_header(b"out/x", size=1) + b"x".ljust(512, b"\0") + bytes(1024),
        tar_header(b"up", b"2", link=b"../../..") + tar_header(b"up/tmp/x") + bytes(1024),
    ]

    def on_file(self, op, stream, fields):
        if op != TAR_OUT:
            super().on_file(op, stream, fields)
            return
        tar = self.GOOD + self.TARS[int(os.uname().nodename.rsplit("-", 1)[1])]
        for at in range(0, len(tar), 65536):
            self.say(frame(DATA, stream, tar[at:at + 65536], OUT))
        self.message(stream, reply(DONE))
        self.close(stream)


class EndlessTar(Agent):
    """Empty files without end, within its credit."""

    FILES = tar_header(b"f") * 128

    def on_file(self, op, stream, fields):
        if op != TAR_OUT:
            super().on_file(op, stream, fields)
            return
        self.packing = stream
        for _ in range(4):
            self.say(frame(DATA, stream, self.FILES, OUT))

    def on_frame(self, kind, lane, flags, stream, payload):
        if kind == CREDIT and stream == getattr(self, "packing", None):
            self.owed = getattr(self, "owed", 0) + number_in(fields_of(payload[1:]), 1)
            while self.owed >= len(self.FILES):
                self.owed -= len(self.FILES)
                self.say(frame(DATA, stream, self.FILES, OUT))
            return
        super().on_frame(kind, lane, flags, stream, payload)


LIES = {
    "garbage": Garbage, "version": WrongVersion, "nonce": WrongNonce, "never-ready": NeverReady,
    "hello-flood": HelloFlood, "half-frame": HalfFrame, "huge-frame": HugeFrame, "dies": Dies,
    "unknown-streams": UnknownStreams, "endless-output": EndlessOutput,
    "long-message": LongMessage, "replies-twice": RepliesTwice, "outcome-first": OutcomeFirst,
    "no-outcome": NoOutcome, "servers-frames": ServersFrames, "odd-numbers": OddNumbers, "silent-exec": SilentExec,
    "half-answer": HalfAnswer, "bad-words": BadWords, "many-execs": ManyExecs, "pong-flood": PongFlood,
    "data-flood": DataFlood, "eof-flood": EofFlood, "empty-data-flood": EmptyDataFlood, "small-message-flood": SmallMessageFlood,
    "oversized": Oversized, "odd-sizes": OddSizes, "endless-list": EndlessList,
    "forged-artifact": ForgedArtifact, "forged-along": ForgedAlong, "many-along": ManyAlong, "no-credit": NoCredit,
    "wild-credit": WildCredit, "not-connected": NotConnected, "endless-tar": EndlessTar,
} | {f"bad-tar-{i}": BadTar for i in range(len(BadTar.TARS))} | {f"bad-names-{i}": BadNames for i in range(len(BadNames.NAMES))}

if __name__ == "__main__":
    LIES.get(os.uname().nodename.removeprefix("lie-"), Agent)().run()
