"""Terminals: frames that break the protocol, floods, clients that vanish or never read."""
import contextlib
import json
import socket
import time

import house
import pytest
from websocket import BINARY, CLOSE, PING, TEXT, Rude

TERMINAL = "/sessions/default/t/terminal"


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    with house.House(server=", limits: {write_timeout: 2s}") as started:
        started.is_well()
        yield started


@pytest.fixture(autouse=True)
def nothing_is_left(server):
    """After every case the program is gone with its client, and memory is as before."""
    before = server.rss()
    yield
    count = "ps -eo args | grep -c '[s]leep 4321'"
    house.eventually(lambda: server.bash("t", count)["stdout"] == "0\n", "the terminal's program ends with its client")
    assert server.rss() < before + 64
    assert server.is_well() < 30


def open_terminal(server, command="sleep 4321"):
    terminal = Rude(server, f"{TERMINAL}?command={command.replace(' ', '%20')}")
    assert terminal.status == 101
    return terminal


BROKEN = {
    "a frame without a mask": (lambda t: t.frame(BINARY, b"x", masked=False), {1002}),
    "a reserved bit": (lambda t: t.frame(BINARY, b"x", reserved=4), {1002}),
    "an unknown kind": (lambda t: t.frame(3, b"x"), {1002}),
    "a ping of 200 bytes": (lambda t: t.frame(PING, b"x" * 200), {1002}),
    "a ping in pieces": (lambda t: t.frame(PING, b"x", fin=False), {1002}),
    "a continuation of nothing": (lambda t: t.frame(0, b"x"), {1002}),
    "a message within a message": (lambda t: t.frame(BINARY, b"x", fin=False) + t.frame(BINARY, b"y"), {1002}),
    "a frame of 2^63 bytes": (lambda t: t.frame(BINARY, b"x", length=2**63), {1002, 1009}),
    "a frame of 1 GB": (lambda t: t.frame(BINARY, b"x", length=10**9), {1009}),
    "text that is no UTF-8": (lambda t: t.frame(TEXT, b"\xff\xfe"), {1007}),
    "a close of one byte": (lambda t: t.frame(CLOSE, b"x"), {1002}),
    "a close with a code that is none": (lambda t: t.frame(CLOSE, b"\x00\x01"), {1002}),
    "text that is no message": (lambda t: t.frame(TEXT, b"rm -rf /"), {1008}),
    "a signal that is none": (lambda t: t.frame(TEXT, json.dumps({"type": "signal", "signal": "STOP9"}).encode()), {1008}),
    "a size beyond all": (lambda t: t.frame(TEXT, b'{"type": "resize", "rows": 1e9, "cols": -1}'), {1008}),
    "JSON of 10,000 levels": (lambda t: t.frame(TEXT, b'{"type": ' + b"[" * 10000 + b"}"), {1008}),
}


@pytest.mark.parametrize("how", BROKEN)
def test_frame_that_breaks_the_protocol__ends_the_terminal(server, how):
    """tries: frames and messages that are none, each alone. must: the connection ends, by a code that says so or at once."""
    make, codes = BROKEN[how]
    with open_terminal(server) as terminal:
        terminal.line.sendall(make(terminal))
        begun = time.monotonic()
        assert terminal.ends() in codes | {0}
        assert time.monotonic() - begun < 15


def test_fragments_without_end__end_at_the_limit(server):
    """tries: one message in pieces that never ends. must: cut at the limit of a message; memory stays."""
    with server.memory_within(64), open_terminal(server) as terminal:
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            terminal.send(BINARY, b"x" * 65536, fin=False)
            while time.monotonic() - begun < 20:
                terminal.send(0, b"x" * 65536, fin=False)
        assert time.monotonic() - begun < 15, "it is still read"


def test_flood_of_pings__others_are_served(server):
    """tries: pings as fast as they go, answers unread. must: the neighbour is answered; memory stays."""
    with open_terminal(server) as terminal:
        before = server.rss()
        terminal.line.settimeout(1)
        flood = b"".join(terminal.frame(PING, b"x" * 100) for _ in range(2000))
        with contextlib.suppress(OSError):
            for _ in range(100):
                terminal.line.sendall(flood)
        assert server.is_well() < 30
        assert server.rss() < before + 32


def test_input_that_the_program_never_reads__is_held_up(server):
    """tries: to fill the server with what is typed at a program that reads nothing. must: it stops taking; memory stays."""
    with open_terminal(server) as terminal:
        before = server.rss()
        terminal.line.settimeout(1)
        with contextlib.suppress(OSError):
            for _ in range(2000):
                terminal.send(BINARY, b"x" * 65536)
        assert server.rss() < before + 32


def test_output_that_the_client_never_reads__holds_the_program_up(server):
    """tries: a program that prints for ever, and a client that takes nothing.
    must: the program waits or ends, the client is cut in the time for writing; memory stays.
    """
    before = server.rss()
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", server.port))
        line.sendall(f"GET {TERMINAL}?command=yes%20sleep%204321 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
                     "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode())
        end = time.monotonic() + 5
        while time.monotonic() < end:
            assert server.rss() < before + 32
            time.sleep(0.1)


@pytest.mark.parametrize("leave", ["close and hang up", "hang up", "half a frame", "reset", "close twice"])
def test_client_that_goes__takes_its_program_along(server, leave):
    """tries: to leave a program behind by every way of going. must: it ends (looked at after each case)."""
    with open_terminal(server) as terminal:
        if leave == "close and hang up":
            terminal.send(CLOSE, b"\x03\xe8")
        elif leave == "close twice":
            terminal.line.sendall(terminal.frame(CLOSE, b"\x03\xe8") * 2 + terminal.frame(BINARY, b"late"))
            terminal.ends()
        elif leave == "half a frame":
            terminal.line.sendall(terminal.frame(BINARY, b"x" * 1000)[:500])
        elif leave == "reset":
            terminal.line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def test_thirty_that_come_and_go_at_once__leave_nothing(server):
    """tries: races of opening, typing and closing. must: all are served or refused; nothing is left."""
    def come_and_go(number):
        with Rude(server, TERMINAL + "?command=sleep%204321") as terminal:
            if terminal.status == 101 and number % 3:
                terminal.send(BINARY, b"\x03")
                if number % 2:
                    terminal.send(CLOSE, b"\x03\xe8")
            return terminal.status
    for status in house.together(come_and_go, range(30)):
        assert status in (101, 429, 503), status


def test_control__a_terminal_by_the_rules_works(server):
    """A server that ends every terminal would pass every case above."""
    with open_terminal(server, "cat") as terminal:
        terminal.send(BINARY, b"hello\n")
        assert b"hello" in terminal.receive_until(b"hello")
        terminal.send(PING, b"p")
        terminal.send(BINARY, b"\x04")
        assert terminal.ends() == 1000
