"""The data plane of an E2B sandbox: input that is broken, cut off or too large, and what E2B's own tests rely on."""
import http.client
import json
import socket
import time
import urllib.parse

import pytest
import sandboxes
from sandboxes import envelope, house, messages

PORT = 8000
HEADERS = """
import http.server
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(self.headers).encode())
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Echo)
"""
TLS = """
import ssl, subprocess
subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-keyout", "key.pem", "-out", "cert.pem", "-days", "1",
                "-nodes", "-subj", "/CN=localhost"], check=True, capture_output=True)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
"""


@pytest.fixture(scope="module")
def server():
    sandboxes.need_crun(__name__)
    with sandboxes.start(more="sessions: {most: 12}") as started:
        yield started


@pytest.fixture(scope="module")
def api(server):
    return sandboxes.Api(server, sandboxes.key(server, "acme"))


@pytest.fixture(scope="module")
def shared(api):
    made = api.create()
    yield made
    api.ask("DELETE", made.path)


@pytest.fixture
def sandbox(api):
    made = api.create()
    yield made
    api.ask("DELETE", made.path)


def failure_of(sandbox, body, target="/process.Process/Start"):
    """The code of the failure that a stream ends with."""
    with sandbox.open(target, body, content_type="application/connect+json") as response:
        assert response.status == 200
        last = list(messages(response))[-1]
    return last["error"]["code"]


@pytest.mark.parametrize("body, code", [
    (b"", "invalid_argument"),
    (b"\0\0", "invalid_argument"),
    (envelope(b"{}", length=3), "invalid_argument"),
    (envelope(b"{"), "invalid_argument"),
    (envelope(b"[]"), "invalid_argument"),
    (envelope(b"\xff\xfe"), "invalid_argument"),
    (envelope(b"{}") + envelope(b"{}"), "invalid_argument"),
    (envelope(b"{}", flags=1), "unimplemented"),
    (envelope(b"{}", flags=0x80), "invalid_argument"),
    (envelope(b"", length=2**32 - 1), "resource_exhausted"),
    (envelope(b"", length=16 * 2**20 + 1), "resource_exhausted"),
])
def test_malformed_envelope__is_a_failure_and_starts_nothing(shared, body, code):
    assert failure_of(shared, body) == code
    assert shared.ask("POST", "/process.Process/List", {}).json() == {}


def test_message_of_the_largest_size__is_taken(server, shared):
    """16 MiB are read; they are no arguments that a program could be started with."""
    fill = "x" * (15 * 2**20)
    body = envelope(json.dumps({"process": {"cmd": "/bin/true", "args": [fill]}}).encode())
    with server.memory_within(400):
        assert failure_of(shared, body) in ("invalid_argument", "resource_exhausted")
    assert shared.run("echo well") == "well\n"


def test_client_that_is_cut_off_in_its_message__leaves_nothing(server, shared):
    whole = envelope(json.dumps({"process": {"cmd": "/bin/sleep", "args": ["600"]}}).encode())
    head = (f"POST /process.Process/Start HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {shared.id}\r\n"
            f"E2b-Sandbox-Port: 49983\r\nX-Access-Token: {shared.token}\r\nContent-Type: application/connect+json\r\n"
            f"Content-Length: {len(whole)}\r\n\r\n").encode()
    for size in (0, 1, 4, 5, len(whole) - 1):
        with server.connect() as line:
            line.sendall(head + whole[:size])
            line.shutdown(socket.SHUT_WR)
            assert b'"pid"' not in house.read_all(line)
    assert shared.ask("POST", "/process.Process/List", {}).json() == {}


def test_client_that_disconnects__leaves_its_program_running(shared):
    with shared.start("echo begun; sleep 600") as response:
        stream = messages(response)
        pid = next(stream)["event"]["start"]["pid"]
        assert "data" in next(stream)["event"]
    running = shared.ask("POST", "/process.Process/List", {}).json()["processes"]
    assert [each["pid"] for each in running] == [pid]
    stop = {"process": {"selector": {"pid": pid}, "pid": pid}, "signal": "SIGNAL_SIGKILL"}
    assert shared.ask("POST", "/process.Process/SendSignal", stop).status == 200
    house.eventually(lambda: shared.ask("POST", "/process.Process/List", {}).json() == {}, "the program ends")


def test_upload_that_is_cut_off__leaves_no_file(server, shared):
    head = (f"POST /files?path=cut.txt HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: {shared.id}\r\n"
            f"E2b-Sandbox-Port: 49983\r\nX-Access-Token: {shared.token}\r\n"
            "Content-Type: application/octet-stream\r\nContent-Length: 1000\r\n\r\n").encode()
    with server.connect() as line:
        line.sendall(head + b"x" * 500)
    house.eventually(lambda: shared.ask("GET", "/files?path=cut.txt").status == 404, "no half of a file")
    assert shared.run("ls -A | grep -c cut; true") == "0\n"


def test_signature_that_is_off_by_a_byte__is_401(server, shared):
    written = shared.ask("POST", "/files?path=hello.txt", b"hello", headers={"Content-Type": "application/octet-stream"})
    assert written.status == 200, written
    good = shared.signature("hello.txt")
    own = {"E2b-Sandbox-Id": shared.id, "E2b-Sandbox-Port": "49983"}

    def statuses(signature):
        query = "/files?" + urllib.parse.urlencode({"path": "hello.txt", "signature": signature})
        return {server.ask("GET", query, headers=own, token="").status, server.ask("GET", query, token="").status}
    assert statuses(good) == {200}
    for at in range(len(good)):
        assert statuses(good[:at] + ("A" if good[at] != "A" else "B") + good[at + 1:]) == {401}, at
    assert statuses(good[:-1]) == {401} and statuses(good + "A") == {401} and statuses(good + "=") == {401}


@pytest.mark.parametrize("minutes, status", [(-5, 401), (5, 200)])
def test_signature_of_a_clock_that_is_off__is_judged_by_ours(server, shared, minutes, status):
    """A client whose clock is late signs links that have expired; nothing is added for it."""
    shared.ask("POST", "/files?path=hello.txt", b"hello", headers={"Content-Type": "application/octet-stream"})
    expires = int(time.time()) + 60 * minutes
    query = {"path": "hello.txt", "signature_expiration": expires, "signature": shared.signature("hello.txt", expires=expires)}
    answer = server.ask("GET", "/files?" + urllib.parse.urlencode(query), token="")
    assert answer.status == status, answer
    if status == 401:
        assert answer.json() == {"code": 401, "message": "signature is already expired"}
    for moved in (expires + 1, expires + 3600):
        changed = query | {"signature_expiration": moved}
        assert server.ask("GET", "/files?" + urllib.parse.urlencode(changed), token="").status == 401


def test_programs__know_their_sandbox(api):
    made = api.create(envVars={"E2B_TEMPLATE_ID": "own"})
    assert made.run("echo $E2B_SANDBOX $E2B_SANDBOX_ID $E2B_TEMPLATE_ID") == f"true {made.id} own\n"
    assert made.run("echo $E2B_SANDBOX", envs={"E2B_SANDBOX": "mine"}) == "mine\n"
    code = {"code": "import os\nos.environ['E2B_SANDBOX_ID']"}
    lines = made.ask("POST", "/execute", code, port=sandboxes.INTERPRETER).body.decode().splitlines()
    assert made.id in [json.loads(line).get("text") for line in lines]
    shown = made.ask("GET", "/envs").json()
    assert shown["E2B_SANDBOX"] == "true" and shown["E2B_TEMPLATE_ID"] == "own"
    assert api.ask("DELETE", made.path).status == 204


def test_code_of_a_sandbox_that_is_killed__is_cut_off(api):
    made = api.create()
    with made.open("/execute", json.dumps({"code": "import time\nprint(1, flush=True)\ntime.sleep(600)"}),
                   port=sandboxes.INTERPRETER) as response:
        while json.loads(response.readline())["type"] != "stdout":
            pass
        assert api.ask("DELETE", made.path).status == 204
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            rest = response.read()
            raise AssertionError(f"it ended in good order: {rest}")
    assert made.health() == 502


def test_context_in_a_directory_that_cannot_be_entered__is_400(shared):
    for cwd in ("/root", "/no/such/directory"):
        answer = shared.ask("POST", "/contexts", {"cwd": cwd}, port=sandboxes.INTERPRETER)
        assert answer.status == 400 and b"work directory" in answer.body, answer


def test_metrics__are_those_of_the_time_that_is_asked_for(api, sandbox):
    now = int(time.time())
    assert len(api.get(f"{sandbox.path}/metrics?start={now - 60}&end={now + 1}").json()) == 1
    assert api.get(f"{sandbox.path}/metrics?start={now - 3600}&end={now - 1800}").json() == []
    assert api.get(f"{sandbox.path}/metrics?start={now + 3600}").json() == []
    assert api.get(f"{sandbox.path}/metrics?start=2&end=1").status == 400
    assert api.get(f"{sandbox.path}/metrics?start=soon").status == 400


def serve(made, code):
    body = {"session_id": made.id, "code": code + "server.serve_forever()\n", "background": True}
    assert made.api.server.ask("POST", "/execute", body, token=made.api.api_key).status == 202
    house.eventually(lambda: made.ask("GET", "/", port=PORT).status == 200, "its server listens")


def test_masked_host__is_what_a_server_sees(api):
    made = api.create(network={"maskRequestHost": "app.example:${PORT}"})
    serve(made, HEADERS)
    assert b"Host: app.example:8000\n" in made.ask("GET", "/", port=PORT).body
    assert made.info().json()["network"]["maskRequestHost"] == "app.example:${PORT}"
    assert api.ask("DELETE", made.path).status == 204


def test_https_port__is_reached_over_tls(api):
    made = api.create(network={"httpsPorts": [PORT]})
    serve(made, HEADERS + TLS)
    assert b"Host: localhost:8000\n" in made.ask("GET", "/", port=PORT).body
    assert made.info().json()["network"]["httpsPorts"] == [PORT]
    assert api.ask("DELETE", made.path).status == 204
    plain = api.create(network={"httpsPorts": [PORT]})
    body = {"session_id": plain.id, "code": HEADERS + "server.serve_forever()", "background": True}
    assert api.server.ask("POST", "/execute", body, token=api.api_key).status == 202
    house.eventually(lambda: "port is not open" not in plain.ask("GET", "/", port=PORT).body.decode(), "it listens")
    assert plain.ask("GET", "/", port=PORT).status == 502, "a server without TLS"
    assert api.ask("DELETE", plain.path).status == 204


@pytest.mark.parametrize("network", [{"maskRequestHost": "a\r\nX-Evil: 1"}, {"maskRequestHost": "a b"},
                                     {"httpsPorts": [0]}, {"httpsPorts": "8443"}, {"httpsPorts": list(range(1, 70))}])
def test_bad_network__is_400(api, network):
    answer = api.post("/v2/sandboxes", {"templateID": "base", "network": network})
    assert answer.status == 400, answer
