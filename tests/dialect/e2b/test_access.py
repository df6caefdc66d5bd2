"""Who reaches an E2B sandbox: tokens that are wrong, revoked or another's, host names, ports, a restart in between."""
import http.client
import urllib.parse

import pytest
import sandboxes
from sandboxes import house

DOMAIN = "sbx.test"
OPEN_PORT = 8000
# Answers every request with what it was sent, and sets two cookies; /forever is answered without end.
SERVER = """
import http.server, time
class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path == "/forever":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.1)
        body = (self.path + "\\n" + str(self.headers)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "own=1; Path=/")
        self.send_header("Set-Cookie", "wide=1; Domain=sbx.test")
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Echo).serve_forever()
"""


@pytest.fixture(scope="module")
def server():
    sandboxes.need_crun(__name__)
    with sandboxes.start(e2b=f"domain: '{DOMAIN}:8443'", more="sessions: {most: 12}") as started:
        yield started


@pytest.fixture(scope="module")
def api(server):
    return sandboxes.Api(server, sandboxes.key(server, "acme"))


@pytest.fixture
def sandbox(api):
    made = api.create()
    yield made
    api.ask("DELETE", made.path)


def serve_in(api, sandbox, headers=None):
    """Starts the server above, through the session that the sandbox is."""
    started = api.server.ask("POST", "/execute", {"session_id": sandbox.id, "code": SERVER, "background": True},
                             token=api.api_key)
    assert started.status == 202, started
    house.eventually(lambda: sandbox.ask("GET", "/", port=OPEN_PORT, headers=headers).status == 200, "its server listens")


def at_host(server, name, target="/health", method="GET", headers=None):
    return server.ask(method, target, headers={"Host": name} | (headers or {}), token="")


def test_wrong_token__is_401(api, sandbox):
    assert sandbox.is_open() == 200
    for wrong in ("0" * 64, sandbox.token[:-1], sandbox.token + "0", sandbox.token.upper(), api.api_key, "x"):
        assert sandbox.is_open(token=wrong) == 401, wrong
    for at in range(0, len(sandbox.token), 9):
        off = sandbox.token[:at] + ("0" if sandbox.token[at] != "0" else "1") + sandbox.token[at + 1:]
        assert sandbox.is_open(token=off) == 401
    missing = sandbox.ask("POST", "/process.Process/List", {}, token="")
    assert missing.status == 401 and missing.json()["code"] == 401
    assert "valid access token" in missing.json()["message"]


def test_token_of_another_sandbox__is_401(api, sandbox):
    second = api.create()
    assert sandbox.is_open(token=second.token) == 401
    assert api.ask("DELETE", second.path).status == 204


def test_unknown_sandbox__is_502_as_theirs_says_it(api, sandbox):
    sandbox.id = "i" + "0" * 19
    answer = sandbox.ask("GET", "/health")
    assert answer.status == 502
    assert answer.json() == {"code": 502, "message": "The sandbox was not found", "sandboxId": sandbox.id}


def test_session_of_ours__is_no_sandbox(api, server):
    """A session with an id of their form, made by our own API, is reached by no token of theirs."""
    assert server.ask("POST", "/sessions", {"session_id": "iplain"}, token=api.api_key).status == 201
    plain = sandboxes.Sandbox(api, {"sandboxID": "iplain", "envdAccessToken": "x"})
    assert plain.health() == 502
    assert plain.info().status == 404 and "iplain" not in api.ids()
    assert server.ask("DELETE", "/sessions/acme/iplain", token=api.api_key).status == 200


def test_invalid_names__are_400(server):
    for headers in ({"E2b-Sandbox-Id": "../x", "E2b-Sandbox-Port": "1"}, {"E2b-Sandbox-Id": "iabc"},
                    {"E2b-Sandbox-Id": "iabc", "E2b-Sandbox-Port": "0"}):
        assert server.ask("GET", "/health", headers=headers, token="").status == 400


def test_host_names__reach_it(server, api, sandbox):
    for port in ("", ":8443", ":1"):
        assert at_host(server, f"49983-{sandbox.id}.{DOMAIN}{port}").status == 204
    assert at_host(server, f"49983-{sandbox.id}.{DOMAIN}".upper()).status == 204
    assert at_host(server, f"api.{DOMAIN}", "/v2/sandboxes", headers={"X-API-Key": api.api_key}).status == 200
    assert at_host(server, f"api.{DOMAIN}", "/v2/sandboxes").status == 401
    assert sandbox.made["domain"] == f"{DOMAIN}:8443"
    assert at_host(server, f"49983-{sandbox.id}.evil.test").status != 204
    closed = at_host(server, f"49983-{sandbox.id}.{DOMAIN}", "/process.Process/List", "POST")
    assert closed.status == 401


def test_headers_behind_a_foreign_host__are_not_trusted(server, sandbox):
    own = {"E2b-Sandbox-Id": sandbox.id, "E2b-Sandbox-Port": "49983"}
    assert at_host(server, f"sandbox.{DOMAIN}", headers=own).status == 204
    assert at_host(server, "localhost:80", headers=own).status == 204
    assert at_host(server, DOMAIN, headers=own).status == 400
    # The host wins: this is another sandbox's place.
    assert at_host(server, f"49983-iother.{DOMAIN}", headers=own).status == 502


def test_port__is_passed_on_without_our_tokens(server, api, sandbox):
    closed = sandbox.ask("GET", "/", port=OPEN_PORT)
    assert closed.status == 502 and "port is not open" in closed.json()["message"], closed
    assert closed.json()["port"] == OPEN_PORT and closed.json()["sandboxId"] == sandbox.id
    serve_in(api, sandbox)
    echoed = sandbox.ask("GET", "/a%20b?c=d", port=OPEN_PORT, headers={"X-Api-Key": api.api_key, "X-Own": "kept"})
    assert echoed.status == 200 and echoed.body.startswith(b"/a%20b?c=d\n")
    assert sandbox.token.encode() not in echoed.body and api.api_key.encode() not in echoed.body
    assert b"X-Own: kept" in echoed.body
    assert echoed.headers["Set-Cookie"] is None, "with headers it has no origin of its own"
    page = at_host(server, f"{OPEN_PORT}-{sandbox.id}.{DOMAIN}", "/x", headers={
        "Cookie": "own=1", "Authorization": "Bearer " + api.api_key, "X-Access-Token": sandbox.token})
    assert page.status == 200 and page.headers.get_all("Set-Cookie") == ["own=1; Path=/"]
    assert b"Cookie: own=1" in page.body
    assert api.api_key.encode() not in page.body and sandbox.token.encode() not in page.body


def test_private_ports__need_the_traffic_token(api):
    made = api.create(network={"allowPublicTraffic": False})
    traffic = made.made["trafficAccessToken"]
    assert traffic and traffic != made.token
    for port in (OPEN_PORT, sandboxes.INTERPRETER):
        for wrong in ({}, {"E2B-Traffic-Access-Token": "x"}, {"E2B-Traffic-Access-Token": made.token}):
            answer = made.ask("GET", "/health", port=port, headers=wrong)
            assert answer.status == 403, (port, answer)
    assert made.ask("GET", "/", port=OPEN_PORT, headers={"E2B-Traffic-Access-Token": traffic}).status == 502
    assert made.health() == 204, "envd has its own token"
    assert api.ask("DELETE", made.path).status == 204


def test_signed_file_without_an_id__finds_its_sandbox(server, sandbox):
    written = sandbox.ask("POST", "/files?path=hello.txt", b"hello", headers={"Content-Type": "application/octet-stream"})
    assert written.status == 200, written
    read = server.ask("GET", sandbox.signed("hello.txt"), token="")
    assert read.status == 200 and read.body == b"hello", read
    assert server.ask("GET", sandbox.signed("other.txt").replace("other", "hello"), token="").status == 401
    assert server.ask("POST", sandbox.signed("hello.txt"), b"x", token="").status == 401, "signed for reading"
    late = urllib.parse.urlencode({"path": "hello.txt", "signature_expiration": 1,
                                   "signature": sandbox.signature("hello.txt", expires=1)})
    assert server.ask("GET", "/files?" + late, token="").status == 401
    assert server.ask("GET", "/files?path=a&signature=v1_x", token="").status == 401


def test_killed_server__finds_them_again(server, api):
    kept = api.create(timeout=300, metadata={"a": "b"})
    short = api.create(timeout=3)
    paused = api.create(timeout=300)
    assert api.post(paused.path + "/pause").status == 204
    server.kill_and_start_again()
    info = kept.info().json()
    assert info["metadata"] == {"a": "b"} and info["envdAccessToken"] == kept.token
    assert kept.health() == 204 and kept.is_open() == 200
    assert kept.is_open(token="0" * 64) == 401
    house.eventually(lambda: short.info().status == 404, "its time is over")
    assert paused.info().json()["state"] == "paused" and paused.health() == 502
    assert api.post(f"/v2{paused.path}/connect").status == 201
    assert paused.is_open() == 200
    for each in (kept, paused):
        assert api.ask("DELETE", each.path).status == 204


def test_revoked_key__ends_its_tokens_and_streams(server):
    first = sandboxes.Api(server, sandboxes.key(server, "acme"))
    made = first.create(network={"allowPublicTraffic": False})
    assert made.is_open() == 200
    ports = {"E2B-Traffic-Access-Token": made.made["trafficAccessToken"]}
    serve_in(first, made, ports)
    stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=house.PATIENCE)
    stream.request("GET", "/forever", headers=ports | {"E2b-Sandbox-Id": made.id, "E2b-Sandbox-Port": str(OPEN_PORT)})
    answer = stream.getresponse()
    assert answer.read(1) == b"x"
    server.run(house.PROGRAM, "token", "revoke", sandboxes.token_id(first.api_key))
    house.eventually(lambda: made.is_open() == 401, "the access token is no longer valid")
    assert made.ask("GET", "/", port=OPEN_PORT, headers=ports).status == 403
    assert made.health() == 401
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        answer.read()
    stream.close()
    assert first.get("/v2/sandboxes").status == 401
    # Another key of the tenant takes it over, with another token: the old one stays invalid.
    second = sandboxes.Api(server, sandboxes.key(server, "acme"))
    taken = sandboxes.Sandbox(second, second.post(f"/v2{made.path}/connect").json())
    assert taken.token != made.token
    assert taken.is_open() == 200
    assert made.is_open() == 401
    assert second.ask("DELETE", made.path).status == 204


def test_expired_key__ends_its_tokens(server):
    brief = sandboxes.Api(server, sandboxes.key(server, "acme", "--expires", "5s"))
    made = brief.create()
    house.eventually(lambda: made.is_open() == 401, "the key expires")
    other = sandboxes.Api(server, sandboxes.key(server, "acme"))
    assert other.ask("DELETE", made.path).status == 204


def test_page_of_another_site__is_refused_without_tokens():
    sandboxes.need_crun(__name__)
    with house.House(profiles=sandboxes.BASE) as started:
        api = sandboxes.Api(started, "anything")
        made = api.create(version="", secure=False)
        assert made.token is None
        assert made.health() == 204 and made.is_open() == 200
        for headers in ({"Host": "evil.test"}, {"Origin": "http://evil.test"}, {"Sec-Fetch-Site": "cross-site"}):
            assert api.ask("GET", "/v2/sandboxes", headers=headers).status == 403, headers
            assert made.ask("GET", "/health", headers=headers).status == 403, headers
        assert sandboxes.Api(started, "").get("/v2/sandboxes").status == 401
        # A token of ours was made for one tenant, and is no admin because the token file is missing.
        assert sandboxes.Api(started, "e2b_" + "0" * 80).get("/v2/sandboxes").status == 401
        assert api.ask("DELETE", made.path).status == 204


def test_dialect_that_is_off__claims_nothing():
    sandboxes.need_crun(__name__)
    with house.House(more="dialects: {e2b: {enabled: false}}") as started:
        assert started.ask("GET", "/v2/sandboxes", headers={"X-API-Key": "x"}, token="").status == 404
        assert "base" not in started.ask("GET", "/stats", token="").body.decode()


def test_default_template__is_made_as_clients_expect_it():
    sandboxes.need_crun(__name__)
    with house.House() as started:
        api = sandboxes.Api(started, "anything")
        made = api.create(version="")
        seen = started.bash(made.id, "id -un; pwd; echo $HOME; touch x && echo written")
        assert seen["stdout"].split() == ["user", "/home/user", "/home/user", "written"], seen
        assert api.ask("DELETE", made.path).status == 204
