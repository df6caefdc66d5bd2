"""Servers in a sandbox, seen through the proxy: answers that are none, that go on for ever, or that speak for the service."""
import contextlib
import json
import time

import house
import pytest
from websocket import Rude

# Runs in the sandbox. The path of a request names the answer.
SERVER = r"""
import socket, threading, time
def endless(line, piece):
    while True: line.sendall(piece)
def serve(line):
    got = b""
    while b"\r\n\r\n" not in got:
        part = line.recv(65536)
        if not part: return
        got += part
    path = got.split()[1].decode().split("?")[0]
    body = b"hello"
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
    answers = {
        "/good": ok + b"\r\nhello",
        "/mirror": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(got) + got,
        "/garbage": b"\x16\x03\x01 this is no HTTP\r\n\r\n",
        "/nothing": b"",
        "/half-head": b"HTTP/1.1 200 OK\r\nContent-Le",
        "/half-body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhello",
        "/half-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhello",
        "/two-answers": ok + b"\r\nhello" + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-Second: 1\r\n\r\nsecond",
        "/two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 60\r\n\r\nhello",
        "/both": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            + b"HTTP/1.1 200 OK\r\nX-Second: 1\r\n\r\n",
        "/minus": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        "/overflow": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
        "/huge-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\nhello",
        "/bad-status": b"HTTP/1.1 99999 OK\r\n\r\n",
        "/switch": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        "/informational": b"HTTP/1.1 100 Continue\r\n\r\n" * 10000,
        "/nul": b"HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 5\r\n\r\nhello",
        "/fold": b"HTTP/1.1 200 OK\r\nX-A: a\r\n X-Folded: yes\r\nContent-Length: 5\r\n\r\nhello",
        "/bare": b"HTTP/1.1 200 OK\r\nX-A: a\nX-Injected: yes\r\nContent-Length: 5\r\n\r\nhello",
        "/cr": b"HTTP/1.1 200 OK\r\nX-A: a\rX-Injected: yes\r\nContent-Length: 5\r\n\r\nhello",
        "/speaks-for-us": ok + b"".join(name + b": x\r\n" for name in (b"Set-Cookie", b"WWW-Authenticate",
            b"Strict-Transport-Security", b"Clear-Site-Data", b"Alt-Svc", b"Access-Control-Allow-Origin",
            b"Access-Control-Allow-Credentials", b"Service-Worker-Allowed", b"Refresh", b"Proxy-Authenticate",
            b"Set-Login", b"Accept-CH", b"Critical-CH", b"Speculation-Rules", b"X-Accel-Redirect", b"X-Sendfile", b"Link",
            b"Set-Cookie2", b"NEL", b"Report-To", b"X-Request-Id", b"Upgrade", b"Keep-Alive", b"Trailer", b"TE"))
            + b"Connection: X-Hop\r\nX-Hop: 1\r\nX-Kept: 1\r\nContent-Security-Policy: default-src *\r\n\r\nhello",
        "/metadata": b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n",
        "/elsewhere": b"HTTP/1.1 302 Found\r\nLocation: //evil.example/\r\nContent-Length: 0\r\n\r\n",
        "/within": b"HTTP/1.1 302 Found\r\nLocation: /good\r\nContent-Length: 0\r\n\r\n",
        "/status-0": b"HTTP/1.1 000 Zero\r\nContent-Length: 5\r\n\r\nhello",
        "/status-99": b"HTTP/1.1 099 Low\r\nContent-Length: 5\r\n\r\nhello",
        "/status-600": b"HTTP/1.1 600 High\r\nContent-Length: 5\r\n\r\nhello",
        "/status-999": b"HTTP/1.1 999 Highest\r\nContent-Length: 5\r\n\r\nhello",
        "/two-locations": b"HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
        "/bomb": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
    }
    if path == "/to":
        from urllib.parse import unquote_to_bytes
        to = unquote_to_bytes(got.split()[1].split(b"?", 1)[1])
        answers["/to"] = b"HTTP/1.1 307 Moved\r\nLocation: " + to + b"\r\nContent-Length: 0\r\n\r\n"
    if path == "/endless-fields":
        line.sendall(b"HTTP/1.1 200 OK\r\n")
        endless(line, b"X-A: " + b"y" * 1000 + b"\r\n")
    elif path == "/endless-line":
        line.sendall(b"HTTP/1.1 200 OK\r\nX-A: ")
        endless(line, b"y" * 65536)
    elif path == "/endless-status":
        endless(line, b"H" * 65536)
    elif path == "/endless-extension":
        line.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;")
        endless(line, b"y" * 65536)
    elif path == "/endless-trailers":
        line.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
        endless(line, b"X-A: " + b"y" * 1000 + b"\r\n")
    elif path == "/endless-body":
        line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        endless(line, b"y" * 65536)
    line.sendall(answers.get(path, b""))
    line.close()
def guarded(line):
    try: serve(line)
    except OSError: pass
listener = socket.create_server(("127.0.0.1", 8000))
print("listening", flush=True)
while True:
    threading.Thread(target=guarded, args=(listener.accept()[0],), daemon=True).start()
"""


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    with house.House(server=", limits: {write_timeout: 3s}") as started:
        answer = started.post("/execute", {"session_id": "p", "code": SERVER, "background": True})
        assert answer.status == 202, answer
        house.eventually(lambda: fetch(started, "/good").status == 200, "the app listens")
        yield started


@pytest.fixture(autouse=True)
def the_house_stands(server):
    before = server.rss()
    yield
    assert server.rss() < before + 48
    answer = fetch(server, "/good")
    assert answer.status == 200 and answer.body == b"hello"


def fetch(server, path, **options):
    return server.ask("GET", f"/sessions/default/p/proxy/8000{path}", **options)


@pytest.mark.parametrize("path", [
    "garbage", "nothing", "half-head", "minus", "overflow", "bad-status", "two-lengths", "both", "nul", "switch",
    "informational", "endless-fields", "endless-line", "endless-status", "status-0", "status-99", "status-600", "status-999",
    "two-locations"])
def test_answer_that_is_none__is_502(server, path):
    """tries: noise, half a head, lengths that are none or two, a switch that nobody asked for, heads without end.
    must: 502 at once; nothing of it is passed on, no second answer on the client's connection.
    """
    request = f"GET /sessions/default/p/proxy/8000/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    begun = time.monotonic()
    got = server.raw(request.encode())
    assert house.statuses(got) == [502], got[:500]
    assert b"X-Second" not in got
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("path", ["fold", "bare", "cr"])
def test_field_that_hides_another__adds_none(server, path):
    """tries: a field of the service's answer out of a folded line, a bare line feed, a bare carriage return.
    must: refused, or passed on without the hidden field; never a line of its own.
    """
    got = server.raw(f"GET /sessions/default/p/proxy/8000/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert house.statuses(got) in ([200], [502])
    head = got.split(b"\r\n\r\n")[0]
    assert b"\nX-Injected" not in head and b"\nX-Folded" not in head and b"\rX-Injected" not in head, head
    assert all(not line.startswith((b" ", b"\t")) for line in head.split(b"\r\n"))


@pytest.mark.parametrize("path", ["half-body", "half-chunk", "huge-chunk", "endless-extension", "endless-trailers"])
def test_body_that_breaks_off__is_not_taken_for_a_whole_one(server, path):
    """tries: a body shorter than promised, a chunk that is none, extensions and trailers without end.
    must: 502, or the connection breaks before the end that the client waits for.
    """
    got = server.raw(f"GET /sessions/default/p/proxy/8000/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert house.statuses(got) in ([200], [502]), got[:300]
    if house.statuses(got) == [200]:
        assert not got.endswith(b"0\r\n\r\n") and b"X-A" not in got
        assert b"Content-Length: 5\r\n" not in got


def test_second_answer_behind_the_first__is_nobodys(server):
    """tries: two answers, for the request after this one to be answered by the sandbox.
    must: the next request on the same connection gets its own answer.
    """
    request = b"GET /sessions/default/p/proxy/8000/two-answers HTTP/1.1\r\nHost: localhost\r\n\r\n"
    got = server.raw(request + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert house.statuses(got)[0] == 200 and b"X-Second" not in got and b"second" not in got
    assert len(house.statuses(got)) == 2


def test_body_without_end__is_passed_on_and_not_kept(server):
    """tries: to fill the server by way of a client that reads slowly. must: memory stays while it streams."""
    before = server.rss()
    with server.connect() as line:
        line.sendall(b"GET /sessions/default/p/proxy/8000/endless-body HTTP/1.1\r\nHost: localhost\r\n\r\n")
        end = time.monotonic() + 3
        while time.monotonic() < end:
            line.recv(65536)
            assert server.rss() < before + 32


def test_fields_that_speak_for_the_service__are_taken_out(server):
    """tries: cookies, authentication, permissions and policies for the service's whole origin; fields of one connection.
    must: none of them arrives; the page is in a sandbox of its own.
    """
    answer = fetch(server, "/speaks-for-us")
    assert answer.status == 200
    names = {each.lower() for each in answer.headers}
    ours = {"set-cookie", "set-cookie2", "www-authenticate", "strict-transport-security", "clear-site-data", "alt-svc",
            "access-control-allow-origin", "access-control-allow-credentials", "service-worker-allowed", "refresh", "nel",
            "report-to", "set-login", "accept-ch", "critical-ch", "speculation-rules", "x-accel-redirect", "x-sendfile", "link",
            "upgrade", "keep-alive", "trailer", "te", "x-hop", "proxy-authenticate"}
    assert not names & ours, names & ours
    assert "x-kept" in names
    assert "sandbox" in answer.headers.get_all("Content-Security-Policy")
    assert answer.headers["X-Request-Id"] != "x"


def test_redirect_to_the_hosts_metadata__is_not_followed(server):
    """tries: to make the server fetch what only the host may. must: the redirect is the client's to follow or not."""
    answer = fetch(server, "/metadata")
    assert answer.status == 302 and answer.headers["Location"] == "http://169.254.169.254/latest/"
    assert fetch(server, "/elsewhere").headers["Location"] == "//evil.example/"
    assert fetch(server, "/within").headers["Location"] == "/sessions/default/p/proxy/8000/good"


# Where a client should not get to by following a redirect. PORT is the service's.
VICTIM = "/sessions/default/victim"
REDIRECTS = [
    "/../../../../default/victim", "/../../../../../" + VICTIM, "/%2e%2e/%2e%2e/%2e%2e/%2E%2E/default/victim",
    "/.%2e/%2e./%2e%2e/default/victim", "../../../../default/victim", "..\\..\\..\\..\\default\\victim",
    "\\..\\..\\..\\..\\default/victim", "/..\t/.\t./../../default/victim", " /../../../../default/victim",
    "/..%2f..%2f..%2f..%2fdefault%2fvictim", "/..%5c..%5c..%5cdefault%5cvictim", "/x/../../../../../default/victim",
    "http://localhost:PORT" + VICTIM, "http://127.0.0.1:PORT" + VICTIM, "http://127.1:PORT" + VICTIM,
    "http://2130706433:PORT" + VICTIM, "http://0x7f.0.0.1:PORT" + VICTIM, "http://[::ffff:127.0.0.1]:PORT" + VICTIM,
    "http://0:PORT" + VICTIM, "HTTP://LOCALHOST:PORT" + VICTIM, "//localhost:PORT" + VICTIM, "//127.0.0.1:PORT" + VICTIM,
    "/\\127.0.0.1:PORT" + VICTIM, "\\\\127.0.0.1:PORT" + VICTIM, "///127.0.0.1:PORT" + VICTIM,
    "http:/127.0.0.1:PORT" + VICTIM, "http:" + VICTIM, "http:127.0.0.1:PORT" + VICTIM,
    "http://x@127.0.0.1:PORT" + VICTIM, "http://evil.example\\@127.0.0.1:PORT" + VICTIM,
    "http://127.0.0.1:PORT\\@evil.example" + VICTIM, "http://127.0.0.1:PORT/sessions/default/p/proxy/8000/../../../victim",
    "http://localhost:8000" + "/../../.." + VICTIM, "http://127.0.0.1.:PORT" + VICTIM, "http://x.localhost:PORT" + VICTIM,
]


@pytest.mark.parametrize("url", REDIRECTS)
def test_redirect_at_the_service_itself__leads_no_client_out_of_the_apps_place(server, url):
    """tries: a redirect of a DELETE to another session, in every spelling. must: refused with 502, or below the prefix of
    the app, also for a client that follows it as curl does; the session is still there.
    """
    server.bash("victim", "true")
    to = "".join(f"%{byte:02x}" for byte in url.replace("PORT", str(server.port)).encode())
    prefix = "/sessions/default/p/proxy/8000"
    answer = server.ask("DELETE", f"{prefix}/to?{to}")
    assert answer.status in (307, 502), answer
    if answer.status == 307:
        assert answer.headers["Location"].startswith(prefix + "/"), answer.headers["Location"]
    base = f"http://127.0.0.1:{server.port}"
    followed = house.run("curl", "-s", "-o", "/dev/null", "-X", "DELETE", "-L", "--max-redirs", "3", "-w", "%{url_effective}",
                         f"{base}{prefix}/to?{to}", check=False)
    assert followed.stdout.startswith(base + prefix + "/"), followed.stdout
    assert server.ask("GET", "/sessions/default/victim").status == 200, "the redirect ended another session"


def test_answers_that_break_off__raise_no_alarm(server):
    """tries: to fill the log with errors by answers that break off. must: not one line of level error."""
    def errors():
        return [line for line in server.log_text().splitlines() if '"level":"error"' in line.replace(" ", "")]
    before = len(errors())
    for _ in range(5):
        for path in ("half-body", "half-chunk", "huge-chunk", "status-999", "nothing", "garbage"):
            server.raw(f"GET /sessions/default/p/proxy/8000/{path} HTTP/1.1\r\nHost: localhost\r\n"
                       "Connection: close\r\n\r\n".encode())
    assert errors()[before:] == []


def test_content_that_claims_to_be_packed__is_not_unpacked(server):
    """tries: a bomb for whoever decodes. must: passed on byte by byte."""
    answer = fetch(server, "/bomb")
    assert answer.body == b"hello" and answer.headers["Content-Encoding"] == "gzip"


@pytest.mark.parametrize("port", ["0", "65536", "-1", "+80", "80a", "%38%30%30%30x", "8000%2f..%2f", "1e3", "127.0.0.1:22",
                                  "169.254.169.254", "８０", ""])
def test_port_that_is_none__is_refused(server, port):
    """tries: another host or port out of the port's place in the path. must: 400 or 404, nothing is connected to."""
    with contextlib.suppress(UnicodeEncodeError):
        status = server.ask("GET", f"/sessions/default/p/proxy/{port}/good").status
        assert status in (400, 404), status


def test_port_where_the_host_listens__is_the_sandboxes_own(server):
    """tries: the server's own port, and others of the host, through the sandbox's loopback. must: 502, nobody listens."""
    for port in (server.port, 22, 80, 2375):
        answer = server.ask("GET", f"/sessions/default/p/proxy/{port}/healthz")
        assert answer.status == 502 and b"ok" not in answer.body[:20], answer


def test_secrets_of_the_request__do_not_reach_the_sandbox(server):
    """tries: to read what proves who the client is, fields of one connection, a line smuggled into the target.
    must: none of it arrives; the request has one head.
    """
    answer = fetch(server, "/mirror?a=%0d%0aX-Injected:%20yes", headers={
        "Cookie": "session=secret", "X-Forwarded-Host": "evil", "Connection": "X-Private", "X-Private": "secret",
        "Proxy-Authorization": "Basic secret", "X-Own": "kept"})
    seen = answer.body.decode()
    assert "secret" not in seen and "evil" not in seen and "X-Own: kept" in seen
    assert seen.count("\r\n\r\n") == 1 and "\nX-Injected" not in seen
    assert [line for line in seen.split("\r\n") if line.lower().startswith("host:")] == ["Host: localhost:8000"]


def test_websocket_that_the_sandbox_did_not_accept__is_not_switched(server):
    """tries: an upgrade answered by something else, by noise, by 101 with more behind it.
    must: no 101 unless the sandbox said so; bytes behind a 101 belong to the WebSocket alone.
    """
    for path, expected in (("good", 200), ("garbage", 502), ("nothing", 502)):
        with Rude(server, f"/sessions/default/p/proxy/8000/{path}") as line:
            assert line.status == expected, path
    with Rude(server, "/sessions/default/p/proxy/8000/switch") as line:
        assert line.status == 101
        assert not any(field.lower().startswith("set-cookie") for field in line.fields)


def test_token_in_the_request__does_not_reach_the_sandbox():
    """tries: to learn the caller's token. must: Authorization does not arrive."""
    house.need_crun(__name__)
    with house.House(server=", auth: tokens") as guarded:
        guarded.token = next(line for line in guarded.printed if line.startswith("cloche_"))
        assert guarded.post("/execute", {"session_id": "p", "code": SERVER, "background": True}).status == 202
        house.eventually(lambda: fetch(guarded, "/mirror").status == 200, "the app listens")
        seen = fetch(guarded, "/mirror")
        assert guarded.token.encode() not in seen.body and b"uthorization" not in seen.body
        # The lease interface's way to an app, too.
        assert json.dumps(seen.body.decode()).count("cloche_") == 0
