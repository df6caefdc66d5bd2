"""The line itself, against a server that plays a part: connections that break, come back, stall and lie."""
import asyncio
import base64
import contextlib
import hashlib
import json
import pathlib
import select
import socket
import ssl
import subprocess
import tempfile
import threading
import time

import pytest
from support import run_async

import cloche
import cloche.aio
from cloche.aio.within import within
from cloche.deadline import Deadline

RESULT = {"exit_code": 0, "category": "success", "cause": "none", "reason": "", "execution_time": 0.1, "cpu_time": 0.1,
          "memory_peak": 1, "truncated": False, "artifacts": [], "artifacts_truncated": False, "run_id": "r1",
          "tenant_id": "acme", "session_id": "s"}


class Part:
    """Serves each connection by the next of its acts, one after the other, and remembers what was asked."""

    def __init__(self, *acts, tls=None):
        self.acts, self.tls = list(acts), tls
        self.requests = []
        self.hung_up = threading.Event()
        self.left = threading.Event()  # it has closed a connection
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.play, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes whoever accepts
        self.listener.close()
        self.thread.join(20)

    def play(self):
        for act in self.acts:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection:
                connection.settimeout(60)
                if self.tls:
                    with self.tls.wrap_socket(connection, server_side=True) as encrypted:
                        act(self, encrypted)
                else:
                    act(self, connection)
            self.left.set()
        self.listener.close()

    def read_request(self, connection):
        got = b""
        while b"\r\n\r\n" not in got:
            piece = connection.recv(65536)
            if not piece:
                return None
            got += piece
        head, _, body = got.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65536)
        self.requests.append((*lines[0].split(" ")[:2], headers))
        return lines[0]


def answer(status=200, body=None, **headers):
    text = json.dumps({"status": "ok"} if body is None else body).encode()
    fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\n{fields}\r\n".encode() + text


def answers(*all_of_them):
    def act(part, connection):
        for each in all_of_them:
            if part.read_request(connection) is None:
                return
            connection.sendall(each)
    return act


def hang_up(part, connection):
    part.read_request(connection)


def wait_for_hang_up(part, connection):
    part.read_request(connection)
    if connection.recv(1) == b"":
        part.hung_up.set()


def upgrade(part, connection):
    """Becomes a WebSocket that says nothing until it is closed."""
    part.read_request(connection)
    key = part.requests[-1][2]["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    connection.sendall(f"HTTP/1.1 101 X\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
    while connection.recv(65536):
        pass


def events(*told, then=b"0\r\n\r\n"):
    def act(part, connection):
        part.read_request(connection)
        text = "".join(f"event: {name}\nid: {at}\ndata: {json.dumps(data)}\n\n" for name, at, data in told).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                           + b"%x\r\n" % len(text) + text + b"\r\n" + then)
    return act


class SyncFace:
    """Both clients behind one face, so that every test is for both."""

    @staticmethod
    def call(url, name, *arguments, options=None, **named):
        with cloche.Client(url, token="", **(options or {})) as client:
            return getattr(client, name)(*arguments, **named)

    @staticmethod
    def follow(url, code):
        with cloche.Client(url, token="") as client:
            return list(client.stream(code, session_id="s"))


class AsyncFace:
    @staticmethod
    def call(url, name, *arguments, options=None, **named):
        async def work():
            async with cloche.aio.Client(url, token="", **(options or {})) as client:
                return await getattr(client, name)(*arguments, **named)
        return run_async(work())

    @staticmethod
    def follow(url, code):
        async def work():
            async with cloche.aio.Client(url, token="") as client:
                return [event async for event in client.stream(code, session_id="s")]
        return run_async(work())


@pytest.fixture(params=[SyncFace, AsyncFace], ids=["sync", "aio"])
def face(request):
    return request.param


def test_connection_is_kept():
    with Part(answers(answer(), answer(), answer())) as part, cloche.Client(part.url, token="") as client:
        assert [client.health() for _ in range(3)] == [True] * 3


def test_connection_is_kept_aio():
    async def work(url):
        async with cloche.aio.Client(url, token="") as client:
            return [await client.health() for _ in range(3)]
    with Part(answers(answer(), answer(), answer())) as part:
        assert run_async(work(part.url)) == [True] * 3


def test_connection_that_the_server_closed_meanwhile_is_not_used():
    with Part(answers(answer()), answers(answer(body=RESULT | {"stdout": "", "stderr": ""}))) as part:
        with cloche.Client(part.url, token="") as client:
            assert client.health()
            assert part.left.wait(60)
            assert client.execute("", session_id="s").ok  # a POST, which is never sent twice


def test_threads_have_connections_of_their_own():
    everybody = threading.Barrier(4)

    def act(part, connection):
        part.read_request(connection)

        def serve(mine):
            with mine:
                everybody.wait(20)
                mine.sendall(answer())
        threading.Thread(target=serve, args=[connection.dup()]).start()
    with Part(act, act, act, act) as part, cloche.Client(part.url, token="") as client:
        got = []
        threads = [threading.Thread(target=lambda: got.append(client.health())) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(20)
        assert got == [True] * 4


def test_get_whose_line_broke_is_sent_again(face):
    with Part(hang_up, hang_up, answers(answer())) as part:
        assert face.call(part.url, "health")
        assert len(part.requests) == 3


def test_post_whose_line_broke_is_not_sent_again(face):
    with Part(hang_up, answers(answer(body=RESULT))) as part:
        with pytest.raises(cloche.SandboxUnavailableError):
            face.call(part.url, "execute", "print()", session_id="s")
        assert len(part.requests) == 1


def test_post_that_could_not_be_sent_is_tried_again(face):
    with Part() as gone:
        pass
    started = time.monotonic()
    with pytest.raises(cloche.SandboxUnavailableError, match="no service responds"):
        face.call(gone.url, "execute", "print()", session_id="s")
    assert time.monotonic() - started > 0.2


def test_service_that_is_busy_is_asked_again_only_where_that_is_safe(face):
    busy = answer(503, {"error": {"code": "unavailable", "message": "busy", "request_id": "q"}}, Retry_After="0")
    with Part(answers(busy, answer())) as part:
        assert face.call(part.url, "health")
    with Part(answers(busy, answer())) as part:
        with pytest.raises(cloche.SandboxUnavailableError) as caught:
            face.call(part.url, "bash", "true", session_id="s")
        assert caught.value.request_id == "q" and len(part.requests) == 1


def test_service_that_starts_is_asked_again(face):
    told = {"error": {"code": "unavailable", "message": "the service is starting", "request_id": ""}}
    with Part(answers(answer(503, told, Retry_After="0"), answer(body=RESULT | {"stdout": "a", "stderr": ""}))) as part:
        assert face.call(part.url, "bash", "true", session_id="s").stdout == "a"


def test_delete_that_was_done_by_the_first_attempt_is_done(face):
    with Part(hang_up, answers(answer(404, {"error": {"code": "not_found", "message": "", "request_id": ""}}))) as part:
        face.call(part.url, "end_session", "s")


def test_server_that_trickles_meets_the_deadline(face):
    def act(part, connection):
        part.read_request(connection)
        for byte in b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 100:
            connection.sendall(bytes([byte]))
            time.sleep(0.1)
    started = time.monotonic()
    with Part(act) as part:
        with pytest.raises(cloche.SandboxTimeoutError):
            face.call(part.url, "stats", options={"timeout": 0.7})
        assert time.monotonic() - started < 10  # the whole takes 12 s


def test_call_that_meets_its_deadline_hangs_up(face):
    with Part(wait_for_hang_up) as part:
        with pytest.raises(cloche.SandboxTimeoutError):
            face.call(part.url, "execute", "print()", session_id="s", deadline=0.3)
        assert part.hung_up.wait(60)


def test_answer_to_what_was_only_half_sent_is_read(face):
    def act(part, connection):
        connection.recv(100)
        connection.sendall(answer(413, {"error": {"code": "too_large", "message": "too much", "request_id": ""}},
                                  Connection="close"))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    with Part(act) as part:
        with pytest.raises(cloche.SandboxResourceError, match="too much"):
            face.call(part.url, "write", "a", b"x" * (8 << 20), session_id="s")


@pytest.mark.parametrize("lie", [b"220 mail.example ESMTP\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n",
                                 b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
                                 b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000])
def test_what_is_not_the_service_is_an_error_of_ours(face, lie):
    with Part(answers(lie), answers(lie), answers(lie)) as part:
        with pytest.raises(cloche.SandboxError):
            face.call(part.url, "stats")


def test_cancellation_that_comes_with_the_answer_is_not_lost():
    """At every step at which it can come, also when the answer is there already."""
    async def work(url):
        async with cloche.aio.Client(url, token="") as client:
            lost = []
            for steps in range(40):
                task = asyncio.ensure_future(client.health())
                for _ in range(steps):
                    await asyncio.sleep(0.0003)
                cancelled = task.cancel()
                try:
                    await task
                except asyncio.CancelledError:
                    continue
                if cancelled:
                    lost.append(steps)
            return lost

    def serve(part, connection):
        while part.read_request(connection) is not None:
            connection.sendall(answer())
    with Part(*[serve] * 41) as part:
        assert run_async(work(part.url)) == []


def test_deadline_and_cancellation_are_told_apart():
    async def work():
        with pytest.raises(cloche.SandboxTimeoutError):
            await within(Deadline(0.05), asyncio.sleep(10))
        with pytest.raises(cloche.SandboxTimeoutError):
            await within(Deadline(-1), asyncio.sleep(10))
        assert await within(Deadline(None), asyncio.sleep(0, "done")) == "done"
        task = asyncio.ensure_future(within(Deadline(10), asyncio.sleep(10)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The next wait of the same task is not touched by the alarm of the last.
        await within(Deadline(0.05), asyncio.sleep(0))
        await asyncio.sleep(0.1)
    run_async(work())


# Events

FIRST = ("run", "r1-0", {"run_id": "r1", "tenant_id": "acme", "session_id": "s"})


@pytest.mark.parametrize("then", [b"", b"0\r\n\r\n", b"5\r\nev"], ids=["cut", "ended", "cut in a chunk"])
def test_lost_line_is_taken_up_where_it_broke(face, then):
    broken = events(FIRST, ("stdout", "r1-1", {"text": "one "}), then=then)
    rest = events(("run", "r1-1", FIRST[2]), ("stdout", "r1-2", {"text": "two"}), ("result", "r1-3", RESULT))
    with Part(broken, hang_up, rest) as part:
        got = face.follow(part.url, "print()")
        assert [event.kind for event in got] == ["run", "stdout", "stdout", "result"]
        assert got[-1].result.stdout == "one two"
    (started, *came_back) = part.requests
    assert started[:2] == ("POST", "/execute")
    assert {each[:2] for each in came_back} == {("GET", "/sessions/acme/s/runs/r1/events")}
    assert {each[2]["last-event-id"] for each in came_back} == {"r1-1"}


def test_line_lost_before_the_first_event_is_not_taken_up(face):
    with Part(hang_up) as part:
        with pytest.raises(cloche.SandboxUnavailableError):
            face.follow(part.url, "print()")
        assert len(part.requests) == 1


def test_error_event_is_raised(face):
    with Part(events(FIRST, ("error", "r1-1", {"code": "sandbox_lost", "message": "it died"}))) as part:
        with pytest.raises(cloche.SandboxLostError, match="it died"):
            face.follow(part.url, "print()")


def test_character_in_bytes_that_are_not_utf8_is_kept(face):
    with Part(events(FIRST, ("stdout", "r1-1", {"text": "\ufffd", "text_base64": "/w=="}),
                     ("result", "r1-2", RESULT))) as part:
        got = face.follow(part.url, "print()")
        assert got[1].data == b"\xff" and got[-1].result.stdout_bytes == b"\xff"


def test_stream_that_is_left_stops_its_run():
    def stay(part, connection):
        events(FIRST, then=b"")(part, connection)
        if connection.recv(1) == b"":
            part.hung_up.set()
    with Part(stay, answers(answer())) as part, cloche.Client(part.url, token="") as client:
        for _ in client.stream("print()", session_id="s"):
            break
        assert part.hung_up.wait(60)
        part.thread.join(10)
    assert part.requests[-1][:2] == ("DELETE", "/sessions/acme/s/runs/r1")


# TLS

def test_terminal_that_another_thread_closes_just_before_it_is_read_is_lost(monkeypatch):
    poll = select.poll

    def close_first():
        terminal.close()
        return poll()

    with Part(upgrade) as part, cloche.Client(part.url) as client, client.terminal("s") as terminal:
        monkeypatch.setattr(select, "poll", close_first)
        with pytest.raises(cloche.SandboxLostError):
            terminal.read()


@pytest.fixture(scope="module")
def certificate():
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        make_certificate(place)
        yield place


def make_certificate(place):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", place / "key", "-out", place / "cert", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)


def server_tls(certificate):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate / "cert", certificate / "key")
    return tls


def test_tls_with_a_known_authority_works(face, certificate):
    known = ssl.create_default_context(cafile=str(certificate / "cert"))
    with Part(answers(answer()), tls=server_tls(certificate)) as part:
        assert face.call(part.url, "health", options={"tls": known})


def test_tls_with_an_unknown_authority_is_refused(face, certificate):
    with Part(hang_up, tls=server_tls(certificate)) as part:
        with pytest.raises(cloche.SandboxUnavailableError, match="certificate"):
            face.call(part.url, "health")
        assert part.requests == []
