"""The edge: bytes on a socket that are no request, two requests in one, or too much of one."""
import contextlib
import json
import socket
import threading
import time

import house
import pytest

LIMITS = ", limits: {connections: 80, head_timeout: 1s, idle_timeout: 2s, write_timeout: 2s}"


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    with house.House(server=LIMITS) as started:
        started.is_well()
        assert started.post("/sessions", {"session_id": "victim"}).status == 201
        yield started


@pytest.fixture(autouse=True)
def the_house_stands(server):
    """After each case the server lives, and so does the session. The next case finds both in any case."""
    yield
    lives = server.process.poll() is None
    if not lives:
        server.kill_and_start_again()
    untouched = server.ask("GET", "/sessions/default/victim").status == 200
    if not untouched:
        server.post("/sessions", {"session_id": "victim"})
    assert lives, "the server crashed"
    assert untouched, "a smuggled request was served"


# Served, it would be seen: the session is gone.
SMUGGLED = b"DELETE /sessions/default/victim HTTP/1.1\r\nHost: localhost\r\n\r\n"


def head(*fields, line=b"POST /bash HTTP/1.1"):
    return b"\r\n".join([line, b"Host: localhost", b"Content-Type: application/json", *fields]) + b"\r\n\r\n"


CHUNKED = b"Transfer-Encoding: chunked"

TWO_WAYS = {
    "length and chunked": head(b"Content-Length: 4", CHUNKED) + b"0\r\n\r\n",
    "chunked and length": head(CHUNKED, b"Content-Length: 70") + b"0\r\n\r\n",
    "two lengths": head(b"Content-Length: 0", b"Content-Length: 64"),
    "the same length twice": head(b"Content-Length: 2", b"Content-Length: 2") + b"{}",
    "a list of lengths": head(b"Content-Length: 0, 64"),
    "a length with a sign": head(b"Content-Length: +0"),
    "a length below zero": head(b"Content-Length: -1"),
    "a length in hexadecimal": head(b"Content-Length: 0x0"),
    "a length of 2^64": head(b"Content-Length: 18446744073709551616"),
    "a length with a blank in it": head(b"Content-Length: 0 0"),
    "an empty length": head(b"Content-Length: "),
    "chunked twice": head(CHUNKED, CHUNKED) + b"0\r\n\r\n",
    "chunked and more": head(b"Transfer-Encoding: chunked, identity") + b"0\r\n\r\n",
    "chunked behind gzip": head(b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
    "chunked with a vertical tab": head(b"Transfer-Encoding: \x0bchunked") + b"0\r\n\r\n",
    "chunked in another spelling": head(b"Transfer-Encoding: xchunked") + b"0\r\n\r\n",
    "chunked in HTTP/1.0": head(CHUNKED, line=b"POST /bash HTTP/1.0") + b"0\r\n\r\n",
    "a blank before the colon": head(b"Content-Length : 0"),
    "a folded field": head(b"X-A: b", b" Content-Length: 0"),
    "a field that begins with a blank": b"POST /bash HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "a bare line feed": b"POST /bash HTTP/1.1\nHost: localhost\n\n",
    "a bare carriage return": head(b"X-A: b\rContent-Length: 0"),
    "a NUL in a field": head(b"X-A: b\0c"),
    "a field without a name": head(b": b"),
    "a field without a colon": head(b"nothing"),
    "two hosts": head(b"Host: 127.0.0.1"),
    "no host": b"POST /bash HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    "a line with blanks": head(line=b"POST /bash x HTTP/1.1"),
    "a chunk beyond 2^64": head(CHUNKED) + b"10000000000000000\r\n",
    "a chunk below zero": head(CHUNKED) + b"-1\r\n",
    "a chunk in C's hexadecimal": head(CHUNKED) + b"0x0\r\n\r\n",
    "a chunk of an empty size": head(CHUNKED) + b"\r\n",
    "a chunk longer than its size": head(CHUNKED) + b"2\r\n{}xx0\r\n\r\n",
    "a chunk that ends with a line feed": head(CHUNKED) + b"2\n{}\n0\n\n",
    "an extension with a control character": head(CHUNKED) + b"0;a=\x01\r\n\r\n",
    "an extension without end": head(CHUNKED) + b"0;" + b"a" * 70000 + b"\r\n\r\n",
    "trailers without end": head(CHUNKED) + b"0\r\n" + b"X-A: b\r\n" * 9000 + b"\r\n",
    "a trailer that is none": head(CHUNKED) + b"0\r\nnothing\r\n\r\n",
    "two kinds of content": head(b"Content-Type: text/plain", b"Content-Length: 2") + b"{}",
}


@pytest.mark.parametrize("how", TWO_WAYS)
def test_request_that_two_readers_take_for_two_things__is_one_refusal(server, how):
    """tries: a second request hidden in what a proxy in front would take for the first one's body, or the other way round.
    must: one answer, 4xx, and the connection ends: what follows is not read as a request.
    """
    answers = server.raw(TWO_WAYS[how] + SMUGGLED)
    assert len(house.statuses(answers)) == 1 and 400 <= house.statuses(answers)[0] < 500, answers[:500]


def test_body_of_a_refused_request__is_not_the_next_request(server):
    """tries: a body that is a request, behind a head whose route does not read bodies (404, 405, GET).
    must: it is dropped with its request; a good request behind it is answered.
    """
    for line in (b"POST /nowhere HTTP/1.1", b"PUT /healthz HTTP/1.1", b"GET /healthz HTTP/1.1"):
        length = b"Content-Length: %d" % len(SMUGGLED)
        good = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        answers = server.raw(head(length, line=line) + SMUGGLED + good)
        assert len(house.statuses(answers)) in (1, 2), answers
        assert house.statuses(answers)[1:] in ([], [200]), answers


TOO_MUCH = [
    ("10,000 fields", head(*[b"X-%d: y" % i for i in range(10_000)]), 431),
    ("one field of 1 MB", head(b"X-A: " + b"y" * 1_000_000), 431),
    ("a target of 1 MB", b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
    ("a method of 1 kB", b"G" * 1000 + b" / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("a body of 10 GB", head(b"Content-Length: 10000000000"), 413),
    ("HTTP/2 without a question", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 9, 505),
    ("HTTP/0.9", b"GET /healthz\r\n", 408),
    ("TLS where none is spoken", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64, 400),
    ("a proxy's CONNECT", b"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n", 400),
    ("TRACE", b"TRACE /healthz HTTP/1.1\r\nHost: localhost\r\nX-Secret: mirror\r\n\r\n", 405),
    ("another server's URL", b"GET http://169.254.169.254/latest HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("a file's URL", b"GET file:///etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
]


@pytest.mark.parametrize("what, data, status", TOO_MUCH, ids=[case[0] for case in TOO_MUCH])
def test_too_much_or_something_else__is_refused_at_once(server, what, data, status):
    """tries: heads, targets and bodies beyond all measure, other protocols, requests for elsewhere.
    must: the status that says so, within a second, nothing mirrored, memory stays.
    """
    before, begun = server.rss(), time.monotonic()
    answers = server.raw(data)
    assert house.statuses(answers)[:1] == [status], (what, answers[:300])
    assert b"mirror" not in answers
    assert time.monotonic() - begun < 60 and server.rss() < before + 16


def test_chunks_without_end__stop_at_the_limit(server):
    """tries: a body in chunks that never ends. must: 413 at the route's limit, then cut; memory stays."""
    before = server.rss()
    with server.connect() as line:
        line.sendall(head(CHUNKED, line=b"POST /read HTTP/1.1") + b'10\r\n{"session_id": "\r\n')
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - begun < 20:
                line.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                assert server.rss() < before + 16
        assert time.monotonic() - begun < 15, "it is still read"
    assert '"path":"/read","status":413' in server.log_text()


@pytest.mark.parametrize("path", [
    "/sessions/default/victim/files/../../../../etc/passwd", "/sessions/default/victim/files/..%2f..%2fetc%2fpasswd",
    "/sessions/default/victim/files/%2e%2e/%2e%2e/etc/passwd", "/sessions/default/victim/files/%2fetc%2fpasswd",
    "/sessions/default/victim/files/%c0%ae%c0%ae/etc/passwd", "/sessions/default/victim/files/%252e%252e%252fetc/passwd",
    "/sessions/default/victim/files/a%00b", "/sessions/default/victim/files/..\\..\\etc\\passwd",
    "/sessions/default/victim/files//etc/passwd", "/sessions/default/victim/files/proc/self/root/etc/passwd",
    "/sessions/default/..%2fdefault%2fvictim", "/sessions/%2e%2e/metrics", "//healthz/..%2f..%2fmetrics", "/%zz", "/%"])
def test_path_with_a_way_out__leads_nowhere(server, path):
    """tries: dots, slashes, NUL and characters in other spellings, to leave the workspace or another route's guard.
    must: 4xx, nothing of the host.
    """
    answers = server.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert len(house.statuses(answers)) == 1 and 400 <= house.statuses(answers)[0] < 500, answers[:300]
    assert b"root:" not in answers


PAGES = {
    "another name": ["Host: evil.example"],
    "a name that begins like ours": ["Host: localhost.evil.example"],
    "another name with our port": ["Host: evil.example:8080"],
    "an address that is not this machine's": ["Host: 192.168.1.1"],
    "a page of another origin": ["Host: localhost", "Origin: http://evil.example"],
    "a page without origin": ["Host: localhost", "Origin: null"],
    "a page of another port": ["Host: localhost", "Origin: http://localhost:1"],
    "two origins": ["Host: localhost", "Origin: http://localhost", "Origin: http://evil.example"],
    "a page of another site": ["Host: localhost", "Sec-Fetch-Site: cross-site"],
    "a page of a sister site": ["Host: localhost", "Sec-Fetch-Site: same-site"],
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("how", ["GET", "POST", "WebSocket"])
def test_web_page_in_a_browser_of_this_machine__is_refused(server, page, how):
    """tries: without tokens, to let the operator's browser call: a rebound name, a form, a script, a WebSocket.
    must: 403 before anything is done.
    """
    fields = "\r\n".join(PAGES[page])
    request = {
        "GET": f"GET /sessions HTTP/1.1\r\n{fields}\r\n\r\n",
        "POST": f"POST /bash HTTP/1.1\r\n{fields}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}",
        "WebSocket": f"GET /sessions/default/victim/terminal HTTP/1.1\r\n{fields}\r\nConnection: Upgrade\r\n"
                     "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    }[how]
    assert house.statuses(server.raw(request.encode()))[:1] == [403]


def test_control__the_same_by_the_rules_is_served(server):
    """A server that refuses everything would pass every case above."""
    assert house.statuses(server.raw(b"GET /sessions HTTP/1.1\r\nHost: localhost\r\n\r\n")) == [200]
    absolute = b"GET http://localhost/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert house.statuses(server.raw(absolute)) == [200]
    chunked = head(CHUNKED) + b'2b;x=y\r\n{"session_id": "victim", "command": "true"}\r\n0\r\nX-A: b\r\n\r\n'
    assert house.statuses(server.raw(chunked.replace(b"2b;", b"%x;" % 43))) == [200]


def test_form_of_a_page__is_no_json(server):
    """tries: JSON as text/plain, which a page may send without asking. must: 415."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        body = json.dumps({"session_id": "victim", "command": "touch /workspace/owned"}).encode()
        answer = server.ask("POST", "/bash", body, headers={"Content-Type": kind})
        assert answer.status == 415, (kind, answer)
    assert server.bash("victim", "ls")["stdout"] == ""


ODD_JSON = {
    "10,000 levels": b'{"session_id": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "a million levels": b"[" * 1_000_000,
    "a key twice": b'{"session_id": "mine", "session_id": "victim", "command": "true"}',
    "a key twice, escaped": b'{"session_id": "mine", "session\\u005fid": "victim", "command": "true"}',
    "a number beyond doubles": b'{"session_id": "victim", "command": "true", "timeout": 1e400}',
    "a number of 100,000 digits": b'{"session_id": "victim", "command": "true", "timeout": ' + b"9" * 100_000 + b"}",
    "minus zero seconds": b'{"session_id": "victim", "command": "true", "timeout": -0.0}',
    "not a number": b'{"session_id": "victim", "command": "true", "timeout": NaN}',
    "bytes that are no UTF-8": b'{"session_id": "victim", "command": "\xff\xfe"}',
    "half a surrogate": b'{"session_id": "victim", "command": "\\ud800"}',
    "NUL in a command": b'{"session_id": "victim", "command": "true\\u0000; false"}',
    "NUL in a name": b'{"session_id": "victim\\u0000", "command": "true"}',
    "a mark of byte order": b'\xef\xbb\xbf{"session_id": "victim", "command": "true"}',
    "more behind it": b'{"session_id": "victim", "command": "true"}{}',
    "a comment": b'{"session_id": "victim", /* */ "command": "true"}',
    "an array": b'["victim"]',
    "nothing": b"",
    "a field that is not known": b'{"session_id": "victim", "command": "true", "root": true}',
    "a name that is a path": b'{"session_id": "../victim", "command": "true"}',
    "a variable with a line end in its name": b'{"session_id": "victim", "command": "true", "env": {"A\\n=": "b"}}',
}


@pytest.mark.parametrize("what", ODD_JSON)
def test_json_that_is_odd__is_refused(server, what):
    """tries: bodies that overflow a stack or a number, or that two readers take for two things.
    must: 400, at once, the connection still good for another.
    """
    begun = time.monotonic()
    answer = server.ask("POST", "/bash", ODD_JSON[what], headers={"Content-Type": "application/json"})
    assert answer.status == 400, answer
    assert time.monotonic() - begun < 60
    json.loads(answer.body.decode("utf-8"))


def test_head_a_byte_at_a_time__is_cut(server):
    """tries: forty connections that send a head slowly, each byte within any pause. must: 408 or cut within the time."""
    def drip(_):
        with server.connect() as line:
            begun = time.monotonic()
            with contextlib.suppress(ConnectionError, TimeoutError):
                for byte in b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"y" * 200:
                    line.sendall(bytes([byte]))
                    line.settimeout(0.05)
                    with contextlib.suppress(TimeoutError):
                        if line.recv(1000):
                            return time.monotonic() - begun
            return time.monotonic() - begun
    for taken in house.together(drip, range(40)):
        assert isinstance(taken, float) and taken < 8, taken


def test_answer_that_nobody_reads__is_given_up(server):
    """tries: to hold a large answer, and what it is made of, by reading none of it.
    must: the connection is cut after the time for writing; memory does not hold the answer.
    """
    server.bash("victim", "head -c 60000000 /dev/zero > big")
    before = server.rss()
    lines = []
    try:
        for _ in range(10):
            line = socket.socket()
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect(("127.0.0.1", server.port))
            line.sendall(b"GET /sessions/default/victim/files/big HTTP/1.1\r\nHost: localhost\r\n\r\n")
            lines.append(line)
        house.eventually(lambda: open_connections(server) <= 1, "the connections are closed")
        assert server.rss() < before + 64
    finally:
        for line in lines:
            line.close()
    server.bash("victim", "rm big")


def test_events_that_nobody_reads__are_given_up(server):
    """tries: to follow a run that prints for ever, and read none of it. must: as above."""
    before = server.rss()
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", server.port))
        body = json.dumps({"session_id": "victim", "command": "yes", "timeout": 30}).encode()
        line.sendall(head(b"Accept: text/event-stream", b"Content-Length: %d" % len(body)) + body)
        house.eventually(lambda: open_connections(server) <= 1, "the connection is closed")
    assert server.rss() < before + 32
    for run in server.ask("GET", "/sessions/default/victim/runs").json()["runs"]:
        server.ask("DELETE", f"/sessions/default/victim/runs/{run['run_id']}")


def test_pipelined_requests_without_a_reader__do_not_pile_up(server):
    """tries: requests without end on one connection, no answer read.
    must: the server stops reading when its answers are not taken.
    """
    before = server.rss()
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", server.port))
        line.settimeout(1)
        flood = b"GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000
        with contextlib.suppress(ConnectionError, TimeoutError):
            for _ in range(3000):
                line.sendall(flood)
        assert server.rss() < before + 16
    assert server.is_well() < 30


def test_connections_beyond_the_limit__leave_room_again(server):
    """tries: all connections there are, held open. must: others are turned away, not hung; soon there is room again."""
    lines = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(120)]
    try:
        assert server.process.poll() is None
        house.eventually(lambda: answers(server), "there is room again")
    finally:
        for line in lines:
            line.close()


def test_upgrade_to_something_unknown__is_no_upgrade(server):
    """tries: Upgrade on a route that has none, h2c, a WebSocket of another version or with a bad key.
    must: an ordinary answer or a refusal, never 101; bytes behind it are not a new protocol.
    """
    upgrade = b"Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    for path, more in [(b"/healthz", b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"),
                       (b"/healthz", b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
                       (b"/sessions/default/victim/terminal", b"Upgrade: websocket\r\nSec-WebSocket-Version: 8\r\n"),
                       (b"/sessions/default/victim/terminal", b"Upgrade: h2c\r\n")]:
        got = server.raw(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + upgrade + more + b"\r\n")
        assert house.statuses(got)[:1] in ([200], [426]), got
    bad_key = (b"GET /sessions/default/victim/terminal HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
               b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n")
    assert house.statuses(server.raw(bad_key))[:1] == [400]


def test_body_a_byte_at_a_time__is_cut(server):
    """tries: a body that comes slower than anybody's line, and never ends.
    must: cut once the grace for slow lines is used up.
    """
    with server.connect(40) as line:
        line.sendall(head(b"Content-Length: 60000", line=b"POST /read HTTP/1.1"))
        begun = time.monotonic()
        stop = threading.Event()

        def drip():
            with contextlib.suppress(OSError):
                while not stop.wait(0.2):
                    line.sendall(b" ")
        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            with contextlib.suppress(ConnectionError):
                got = line.recv(1000)
                assert got == b"" or house.statuses(got)[:1] == [408], got
        finally:
            stop.set()
            dripping.join()
        assert time.monotonic() - begun < 30


def open_connections(server):
    text = server.ask("GET", "/metrics").body.decode()
    values = [line.split()[-1] for line in text.splitlines() if line.startswith("cloche_http_connections ")]
    assert values, text[:2000]
    return float(values[0])


def answers(server):
    with contextlib.suppress(OSError):
        return server.ask("GET", "/healthz", timeout=2).status == 200
    return False
