"""Programs that want to reach what their network does not allow: by odd names and addresses, by the name server, by
requests that two readers understand differently, past the proxy, and by taking the proxy's place."""
import contextlib
import pathlib
import socket

import egress_world
import house
import pytest
from egress_world import ALLOWED, FORBIDDEN, READ_ONLY


@pytest.fixture(scope="module")
def world():
    egress_world.need(__name__)
    with egress_world.World() as made:
        made.smuggler = made.session()
        made.sessions.clear()
        yield made


@pytest.fixture(autouse=True)
def the_house_stands(world):
    yield
    world.end_sessions()
    world.house.is_well()
    assert world.reached() == 0, "a server that no rule names was reached"


def runtimes():
    return pytest.mark.parametrize("runtime", ["crun", "runsc"])


def session_on(world, runtime, network=None):
    if runtime == "runsc":
        egress_world.need_runsc(__name__)
    return world.session(network, "gvisor" if runtime == "runsc" else "session")


@runtimes()
def test_what_is_allowed__is_reached(world, runtime):
    """The control: by CONNECT, as a URL and by SOCKS, by name and by address."""
    session = session_on(world, runtime)
    before = len(world.allowed.seen)
    told = world.inside(session, f"""
port = {world.port}
tell([connect_status("good.test:%d" % port), http_status("GOOD.test.", port), socks_code("good.test", port),
      connect_status("{ALLOWED}:%d" % port), http_status("[::ffff:{ALLOWED}]", port), socks_code("{ALLOWED}", port),
      http_status("paths.test", port, "/public/a")])
""")
    assert told == [200, 200, 0, 200, 200, 0, 200]
    house.eventually(lambda: len(world.allowed.seen) == before + 6, "six connections arrive")
    outcomes = house.eventually(lambda: (lambda all: all if len(all) == 14 else None)(world.outcomes(session)),
                                "each connection has two events")
    assert outcomes.count("allowed") == 7 and outcomes.count("closed") == 7


def test_weakened__the_same_attacks_arrive(world):
    """The control of the attacks below: where the operator names all of loopback, they reach the forbidden servers."""
    session = world.session({"mode": "allow-list", "rules": ["loopback", "local"]})
    hosts = ["127.0.0.1", FORBIDDEN, "0.0.0.0", "[::ffff:7f00:3]", "[64:ff9b::7f00:3]", "inside.test", "INSIDE.Test.", "zero.test",
             "mapped.test", "translated.test", "self.test"]
    told = world.inside(session, f"""
port = {world.port}
tell([[connect_status("%s:%d" % (host, port)), http_status(host, port), socks_code(host, port)] for host in {hosts!r}])
""")
    assert told == [[200, 200, 0]] * len(hosts), list(zip(hosts, told))
    house.eventually(lambda: world.reached() == 3 * len(hosts), "all of them arrive")
    for listener in world.forbidden:
        listener.seen.clear()


# No resolver may get these: it could take them for an address in another notation, or for more than a name.
INVALID = ["0x7f.0.0.3", "0x7f000003", "2130706435", "017700000003", "0177.0.0.3", "127.3", "127.0.3", "127.0.0.3.",
           "127.0.0.03", "127.0.0.0x3", "127.0.0.3..", "[127.0.0.3]", "[::1%25lo]", "[::1%lo]", "[::ffff:127.0.0.3",
           "inside.test%00.good.test", "inside.test%2e", "in\u017fide.test", "\u24d8nside.test", "127\u30020\u30020\u30023",
           "unix:/run/cloche.sock", "/run/cloche.sock", "%2Frun%2Fcloche.sock", "good.test@127.0.0.3", "good.test#", "*",
           "..", "-inside.test", "a" * 64 + ".test"]
# Valid, and not public.
NOT_PUBLIC = ["127.0.0.1", FORBIDDEN, "0.0.0.0", "127.255.255.254", "[::1]", "[::]", "[::ffff:127.0.0.3]",
              "[::ffff:7f00:3]", "[0:0:0:0:0:FFFF:127.0.0.3]", "[64:ff9b::7f00:3]", "[64:ff9b::127.0.0.3]",
              "[64:ff9b:1::7f00:3]", "[2002:7f00:3::]", "[::127.0.0.3]", "[fe80::1]", "[fd00:ec2::254]", "[ff02::1]",
              "169.254.169.254", "10.0.0.1", "100.100.100.200", "192.168.0.1", "172.17.0.1", "198.18.0.1", "224.0.0.1",
              "255.255.255.255", "LOCALHOST", "localhost.", "inside.test", "INSIDE.Test.", "zero.test", "metadata.test",
              "private.test", "mapped.test", "translated.test", "six.test", "self.test"]


@runtimes()
@pytest.mark.parametrize("mode", ["allow-list", "internet"])
def test_addresses_in_other_notations__are_refused(world, mode, runtime):
    """tries: loopback, private and metadata addresses as octal, hexadecimal and decimal numbers, in short, with dots at
    their end, within IPv6, by names in odd case, and by names that resolve to them; unix sockets as hosts.
    must: 400 for what is no strict name, 403 for the rest, an event for each, and no connection.
    """
    session = session_on(world, runtime, {"mode": mode, "rules": ["local"]})
    told = world.inside(session, f"""
port = {world.port}
tell([[[connect_status(host.encode() + b":%d" % port), http_status(host.encode(), port)] for host in hosts]
      for hosts in {[INVALID, NOT_PUBLIC]!r}])
""")
    for host, found in zip(INVALID, told[0]):
        assert found == [400, 400], host
    for host, found in zip(NOT_PUBLIC, told[1]):
        assert found == [403, 403], host
    denied = [event for event in world.events(session) if event["outcome"] == "denied"]
    # A target that is not even a URL is rejected before there is a host to decide about.
    assert len(denied) >= 2 * len(NOT_PUBLIC) + len(INVALID) and all(event["reason"] for event in denied)
    assert set(world.outcomes(session)) == {"denied"}


def test_addresses_by_socks__are_refused(world):
    """tries: the same by SOCKS, as addresses and as names. must: code 2, or 1, 7 and 8 for what is invalid."""
    session = world.session("internet")
    told = world.inside(session, f"""
hosts = {[INVALID, NOT_PUBLIC]!r}
tell([[socks_code(host.encode().decode("latin-1") if host.isascii() else host, {world.port}) for host in each]
      for each in hosts])
""")
    assert all(code in (1, 2, 7, 8, -1, -2) for code in told[0]), list(zip(INVALID, told[0]))
    assert all(code in (1, 2, 8) for code in told[1]), list(zip(NOT_PUBLIC, told[1]))


@pytest.mark.parametrize("zone", ["rebind", "late"])
def test_name_server_that_changes_its_mind__reaches_nothing_new(world, zone):
    """tries: names whose first answer is an allowed address and all others a forbidden one, and the other way round,
    asked for by many connections at once. must: a connection goes to an address that was decided about, or nowhere.
    """
    session = world.session()
    told = world.inside(session, f"""
from concurrent.futures import ThreadPoolExecutor
names = ["n%d.{zone}.test" % number for number in range(6)] * 4
with ThreadPoolExecutor(12) as pool:
    first = list(pool.map(lambda name: connect_status("%s:{world.port}" % name), names))
    second = list(pool.map(lambda name: http_status(name, {world.port}), names))
tell(first + second)
""")
    # A result is used again for some seconds, so the second answer may not have been asked for yet.
    assert set(told) <= {200, 403} and (200 if zone == "rebind" else 403) in told
    kept = {event.get("address") for event in world.events(session) if event["outcome"] in ("allowed", "closed")}
    assert kept <= {ALLOWED}


def test_rebound_name__is_refused_when_it_is_asked_for_again(world):
    """tries: one name, again and again, until the server asks for it again. must: 403 from then on; nothing reached."""
    session = world.session()
    place = f"{house.name()}.rebind.test"
    once = f"tell(http_status('{place}', {world.port}))"
    assert world.inside(session, once) == 200
    house.eventually(lambda: world.inside(session, once) == 403, "the second answer is used")
    assert any(event["outcome"] == "denied" and FORBIDDEN in event["reason"] for event in world.events(session))


def test_name_with_good_and_bad_addresses__goes_to_the_good_one(world):
    """tries: a name with a forbidden, an allowed and a private address. must: only the allowed one is connected to."""
    session = world.session()
    assert world.inside(session, f"tell([http_status('mixed.test', {world.port}) for _ in range(5)])") == [200] * 5
    addresses = {event["address"] for event in world.events(session) if event["outcome"] == "allowed"}
    assert addresses == {ALLOWED}


def test_denied_name_in_another_spelling__is_denied(world):
    """tries: a denied name in upper case, with a final dot, in its Unicode form, by SOCKS. must: denied, or invalid."""
    session = world.session({"mode": "internet", "rules": ["local"], "deny": ["good.test", "xn--bcher-kva.test"]})
    told = world.inside(session, f"""
port = {world.port}
tell([[http_status(host.encode(), port), connect_status(host.encode() + b":%d" % port)]
      for host in ["good.test", "GOOD.TEST", "gOOd.test.", "xn--bcher-kva.test", "XN--BCHER-KVA.Test.", "b\\u00fccher.test"]]
     + [socks_code("Good.Test.", port)])
""")
    assert told == [[403, 403]] * 5 + [[400, 400], 2]


@runtimes()
def test_redirect_to_a_private_address__is_refused(world, runtime):
    """tries: an allowed server that redirects to the forbidden one, to metadata and to the service itself.
    must: a client that follows it gets 403, and the first response is as the server sent it.
    """
    session = session_on(world, runtime)
    targets = [f"{FORBIDDEN}:{world.port}/", f"inside.test:{world.port}/", "169.254.169.254/latest/",
               f"127.0.0.1:{world.house.port}/sessions", f"[::ffff:7f00:3]:{world.port}/"]
    told = world.inside(session, f"""
import urllib.request, urllib.error
os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""
proxy = urllib.request.ProxyHandler({{"http": "http://127.0.0.1:3128"}})
codes = []
for target in {targets!r}:
    try: codes.append(urllib.request.build_opener(proxy).open("http://good.test:{world.port}/to/" + target, timeout=20).status)
    except urllib.error.HTTPError as error: codes.append(error.code)
tell(codes)
""")
    assert told == [403] * len(targets)


@runtimes()
def test_service_itself__is_refused_whatever_the_rules(world, runtime):
    """tries: the service's own address, where rules name all of loopback: as it is, as 0.0.0.0, within IPv6, by names.
    must: 403 that says so. A port of loopback that the rules name is reached: the control.
    """
    session = session_on(world, runtime, {"mode": "allow-list", "rules": ["loopback", "local"]})
    service = world.house.port
    told = world.inside(session, f"""
hosts = ["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:0.0.0.0]", "self.test", "SELF.test.", "zero.test"]
tell([[connect_status(host + ":{service}"), http_status(host, {service}), socks_code(host, {service})] for host in hosts]
     + [http_status("{ALLOWED}", {world.port})])
""")
    assert told == [[403, 403, 2]] * 7 + [200]
    reasons = [event["reason"] for event in world.events(session) if event["outcome"] == "denied"]
    assert len(reasons) == 21 and all("this service listens" in reason for reason in reasons)


def test_servers_of_other_sandboxes__are_not_reached(world):
    """tries: a port on which a neighbour's sandbox listens, where rules name all of loopback. must: 502: nothing there."""
    port = egress_world.free_port()
    neighbour = world.session("none")
    world.begin(neighbour, f"""
listener = socket.create_server(("0.0.0.0", {port}))
open("listening", "w").close()
while True: listener.accept()[0].sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
""")
    house.eventually(lambda: "listening" in world.house.bash(neighbour, "ls")["stdout"], "the neighbour listens")
    session = world.session({"mode": "allow-list", "rules": ["loopback"]})
    told = world.inside(session, f"tell([connect_status('127.0.0.1:{port}'), http_status('127.0.0.2', {port})])")
    assert told == [502, 502]
    assert world.outcomes(session) == ["failed", "failed"]


def request(line, *fields, body=b"", host=None):
    host = host or "paths.test:PORT"
    head = "\r\n".join([line, "Host: " + host, *fields]).encode("latin-1")
    return head + b"\r\n\r\n" + body


URL = "http://paths.test:PORT"
GET = f"GET {URL}/public HTTP/1.1"
POST = f"POST {URL}/public HTTP/1.1"
HIDDEN = b"GET /private HTTP/1.1\r\nHost: paths.test:PORT\r\n\r\n"
CHUNKED = b"0\r\n\r\n" + HIDDEN
SMUGGLED = {
    "another method": POST,
    "lower case": f"get {URL}/private HTTP/1.1",
    "another path": f"GET {URL}/private HTTP/1.1",
    "upper case": f"GET {URL}/PUBLIC HTTP/1.1",
    "longer word": f"GET {URL}/publicprivate HTTP/1.1",
    "dots": f"GET {URL}/public/../private HTTP/1.1",
    "one dot": f"GET {URL}/public/./../private HTTP/1.1",
    "encoded dots": f"GET {URL}/public/%2e%2E/private HTTP/1.1",
    "half encoded dots": f"GET {URL}/public/.%2e/private HTTP/1.1",
    "encoded slash": f"GET {URL}/public/..%2fprivate HTTP/1.1",
    "encoded twice": f"GET {URL}/public/%252e%252e%252fprivate HTTP/1.1",
    "backslash": f"GET {URL}/public\\..\\private HTTP/1.1",
    "encoded backslash": f"GET {URL}/public/..%5cprivate HTTP/1.1",
    "parameters": f"GET {URL}/public/..;x/private HTTP/1.1",
    "two slashes": f"GET {URL}//private HTTP/1.1",
    "two slashes within": f"GET {URL}/public//../private HTTP/1.1",
    "encoded nul": f"GET {URL}/public%00/../private HTTP/1.1",
    "fragment": f"GET {URL}/public#/../private HTTP/1.1",
    "overlong": f"GET {URL}/public/%c0%ae%c0%ae/private HTTP/1.1",
    "user": "GET http://x@paths.test:PORT/private HTTP/1.1",
    "length and chunks": request(GET, "Content-Length: 6", "Transfer-Encoding: chunked", body=CHUNKED),
    "chunks and length": request(GET, "Transfer-Encoding: chunked", "Content-Length: 6", body=CHUNKED),
    "two lengths": request(GET, "Content-Length: 0", f"Content-Length: {len(HIDDEN)}", body=HIDDEN),
    "list of lengths": request(GET, f"Content-Length: 0, {len(HIDDEN)}", body=HIDDEN),
    "length with sign": request(GET, "Content-Length: +0", body=HIDDEN),
    "length in hex": request(GET, "Content-Length: 0x0", body=HIDDEN),
    "length of two lines": request(GET, "Content-Length:\r\n 0", body=HIDDEN),
    "other coding": request(GET, "Transfer-Encoding: xchunked", body=CHUNKED),
    "two codings": request(GET, "Transfer-Encoding: chunked", "Transfer-Encoding: identity", body=CHUNKED),
    "coding with tab": request(GET, "Transfer-Encoding:\tchunked", "Content-Length: 6", body=CHUNKED),
    "coding of two lines": request(GET, "Transfer-Encoding:\r\n chunked", body=CHUNKED),
    "space before colon": request(GET, "Transfer-Encoding : chunked", body=CHUNKED),
    "underscore": request(GET, "Transfer_Encoding: chunked", "Content-Length : 6", body=CHUNKED),
    "folded": request(GET, "X-A: a\r\n Transfer-Encoding: chunked", body=CHUNKED),
    "bare line feed": request(GET, "X-A: a\nTransfer-Encoding: chunked", body=CHUNKED),
    "bare carriage return": request(GET, "X-A: a\rTransfer-Encoding: chunked", body=CHUNKED),
    "nul": request(GET, "X-A: a\0", body=HIDDEN),
    "field in the target": request(f"GET {URL}/public HTTP/1.1\nX: /private HTTP/1.1"),
    "chunk with sign": request(GET, "Transfer-Encoding: chunked", body=b"+0\r\n\r\n" + HIDDEN),
    "chunk in hex": request(GET, "Transfer-Encoding: chunked", body=b"0x0\r\n\r\n" + HIDDEN),
    "chunk with line feed": request(GET, "Transfer-Encoding: chunked", body=b"0\n\n" + HIDDEN),
    "chunk too long": request(GET, "Transfer-Encoding: chunked", body=b"10000000000000000\r\n" + HIDDEN),
    "two hosts": request(GET, "Host: good.test:PORT"),
    "another host": request(f"GET {URL}/private HTTP/1.1", host="good.test:PORT"),
    "another url": request("GET http://good.test:PORT/private HTTP/1.1", host="paths.test:PORT"),
    "host of two": request(GET, host="paths.test:PORT, good.test:PORT"),
    "no host of a url": b"GET /private HTTP/1.1\r\nHost: paths.test:PORT\r\n\r\n",
    "old version": b"GET /private HTTP/1.0\r\n\r\n",
    "no version": f"GET {URL}/private\r\n\r\n".encode(),
    "version 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "spaces": f"GET {URL}/public /private HTTP/1.1",
    "connect to the url": request("CONNECT http://paths.test:PORT/private HTTP/1.1"),
    "connect with body": request("CONNECT good.test:PORT HTTP/1.1", f"Content-Length: {len(HIDDEN)}", body=HIDDEN),
    "star": request("OPTIONS * HTTP/1.1"),
    "trace": request(f"TRACE {URL}/private HTTP/1.1"),
}


@pytest.mark.parametrize("trick", SMUGGLED)
def test_request_past_a_rule__is_refused(world, trick):
    """tries: another method and another path than the rule allows, openly, in another spelling, or hidden in a request
    that two readers understand differently. must: 400, 403, or what HTTP has for it; nothing hidden reaches the server.
    """
    data = SMUGGLED[trick]
    data = data if isinstance(data, bytes) else request(data)
    data = data.replace(b"PORT", str(world.port).encode())
    before = len(world.read_only.seen), len(world.allowed.seen)
    got = world.inside(world.smuggler, f"tell(ask({data!r}).decode('latin-1'))")
    codes = house.statuses(got.encode("latin-1"))
    assert codes and set(codes) <= {400, 403, 405, 414, 501, 505}, got
    assert "hello" not in got
    assert len(world.allowed.seen) == before[1]
    # The head of a request arrives before a bad chunk is seen; its connection ends there.
    assert all(b"private" not in heard and (not heard or heard.startswith(b"GET /public ")) for heard in world.read_only.seen[before[0]:])


@pytest.mark.parametrize("second", [
    f"GET {URL}/private HTTP/1.1", POST, "GET /private HTTP/1.1", f"GET http://{READ_ONLY}:PORT/private HTTP/1.1"])
def test_second_request_of_a_connection__has_its_own_decision(world, second):
    """tries: an allowed request, then a forbidden one on the same connection, in one piece.
    must: 200, then a refusal; the second does not reach the server.
    """
    host = f"{READ_ONLY}:PORT" if READ_ONLY in second else None
    before = len(world.read_only.seen)
    data = (request(GET) + request(second, host=host)).replace(b"PORT", str(world.port).encode())
    got = world.inside(world.smuggler, f"""
with connect() as line:
    line.sendall({data!r})
    got = b""
    while got.count(b"HTTP/1.1 ") < 2 or not got.endswith((b"}}", b"\\n", b"it")):
        part = line.recv(65536)
        if not part: break
        got += part
tell(got.decode("latin-1"))
""")
    assert house.statuses(got.encode("latin-1"))[0] == 200 and house.statuses(got.encode("latin-1"))[1] in (400, 403), got
    assert all(b"private" not in heard and b"POST" not in heard for heard in world.read_only.seen[before:])


def test_bytes_past_a_rule_for_requests__are_not_carried(world):
    """tries: CONNECT, SOCKS and a WebSocket to a host of which only GET requests are allowed. must: refused; h2c is not
    offered to the server.
    """
    session = world.session()
    upgrade = request(GET, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    upgrade = upgrade.replace(b"PORT", str(world.port).encode())
    told = world.inside(session, f"""
port = {world.port}
tell([connect_status("paths.test:%d" % port), connect_status("{READ_ONLY}:%d" % port), socks_code("paths.test", port),
      socks_code("{READ_ONLY}", port), status(ask({upgrade!r}))])
""")
    assert told[:4] == [403, 403, 2, 2] and told[4] in (200, 400, 501)
    assert all(b"h2c" not in heard.lower() and b"http2" not in heard.lower() for heard in world.read_only.seen)


HELLO = """
def hello(name, alpn=None):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try: handshake.do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()

def records(data, size):
    # The same handshake in records of this size.
    body = data[5:]
    return b"".join(data[:3] + struct.pack(">H", len(body[at:at + size])) + body[at:at + size]
                    for at in range(0, len(body), size))

def send(place, pieces):
    code, line = tunnel(place)
    with line:
        try:
            for piece in pieces: line.sendall(piece)
            return [code, read(line).decode("latin-1")]
        except OSError as error: return [code, "!" + type(error).__name__]
"""


def test_server_name_that_disagrees__reaches_nothing(world):
    """tries: CONNECT to an allowed name, then TLS for another: whole, in pieces of a byte, in small records, without a
    name, with a name of NULs. must: the connection closes, and the server has received not one byte of it.
    """
    session = world.session()
    before = len(world.allowed.seen)
    told = world.inside(session, HELLO + f"""
place = "good.test:{world.port}"
other, none = hello("inside.test"), hello(None)
bytewise = [other[at:at + 1] for at in range(len(other))]
tell([send(place, pieces) for pieces in (
    [other], bytewise, [records(other, 16)], [records(other, 300)], [none], [hello("good.test.inside.test")],
    [other.replace(b"inside.test", b"good.test\\0x")], [b"\\x16\\x03\\x01\\xff\\xff" + b"x" * 70000],
    [other + b"GET / HTTP/1.1\\r\\n\\r\\n"])])
""")
    assert [code for code, _ in told] == [200] * 9
    assert all(got == "" or got.startswith("!") for _, got in told), told
    assert len(world.allowed.seen) == before + 9
    assert all(not heard for heard in world.allowed.seen[before:])
    denied = [event for event in world.events(session) if event["outcome"] == "denied"]
    assert len(denied) == 9 and all("TLS" in event["reason"] or "hello" in event["reason"] for event in denied)


def test_server_name_that_agrees__is_passed_on_as_it_is(world):
    """The control of the above: in odd case, in small records."""
    session = world.session()
    before = len(world.allowed.seen)
    world.inside(session, HELLO + f"""
place = "good.test:{world.port}"
for data in (hello("good.test"), hello("GOOD.test"), records(hello("good.test"), 16)):
    code, line = tunnel(place)
    with line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        read(line)
tell(True)
""")
    heard = house.eventually(lambda: [bytes(each) for each in world.allowed.seen[before:] if each][2:] and
                             [bytes(each) for each in world.allowed.seen[before:]], "three hellos arrive")
    assert len(heard) == 3 and all(each[0] == 0x16 for each in heard)


def test_connections_without_the_proxy__have_the_same_decisions(world):
    """tries: connections that use no proxy, by name and by address, to what is forbidden. must: reset, with an event
    each. What is allowed is reached: the control. Only on crun: the kernel redirects them there.
    """
    session = world.session(profile="redirected")
    told = world.inside(session, f"""
def direct(host, port):
    try:
        with socket.create_connection((host, port), timeout=20) as line:
            line.sendall(b"GET /good HTTP/1.1\\r\\nHost: %s:%d\\r\\n\\r\\n" % (host.encode(), port))
            return status(read(line))
    except OSError as error: return type(error).__name__
tell([direct("good.test", {world.port})]
     + [direct(host, {world.port}) for host in ("inside.test", "INSIDE.test.", "metadata.test", "other.test", "paths.test",
                                                "self.test", "192.0.2.7", "169.254.169.254", "10.0.0.1", "198.18.99.99")])
""")
    assert told[0] == 200
    assert all(found in (0, "ConnectionResetError", "gaierror", "ConnectionRefusedError") for found in told[1:]), told
    hosts = [event["host"] for event in world.events(session) if event["outcome"] == "denied"]
    assert {"inside.test", "metadata.test", "other.test", "paths.test", "192.0.2.7", "169.254.169.254", "10.0.0.1"} <= set(hosts)


@pytest.mark.parametrize("profile", ["session", "redirected", "gvisor"])
def test_packets_that_are_no_connections__go_nowhere(world, profile):
    """tries: raw sockets, packets, ICMP, datagrams to the host's addresses and to a name server, multicast.
    must: refused by the kernel, or they stay in the sandbox's own loopback.
    """
    if profile == "gvisor":
        egress_world.need_runsc(__name__)
    session = world.session(profile=profile)
    asked = dict(world.names.asked)
    with contextlib.closing(socket.socket(type=socket.SOCK_DGRAM)) as canary:
        canary.bind((FORBIDDEN, 0))
        canary.setblocking(False)
        port = canary.getsockname()[1]
        told = world.inside(session, f"""
held = []
def attempt(what, work):
    try: work()
    except OSError as error: held.append(what)
for what, kind in (("raw", (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)),
                   ("icmp", (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)),
                   ("tcp", (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)),
                   ("packet", (socket.AF_PACKET, socket.SOCK_RAW, 0x300))):
    attempt(what, lambda: socket.socket(*kind).close())
def datagram(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line: line.sendto(b"hello", (address, port))
for address in ("{FORBIDDEN}", "127.0.0.1", "192.0.2.7", "10.0.0.1", "224.0.0.1", "169.254.169.254"):
    attempt("datagram", lambda: datagram(address, {port}))
query = b"\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x05stolen"[:13] + b"stole\\x04test\\x00\\x00\\x01\\x00\\x01"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
    line.settimeout(0.5)
    attempt("query", lambda: (line.sendto(query, ("{world.names.address}", 53)), line.recv(512)))
tell(held)
""")
        assert {"raw", "icmp", "tcp", "packet"} <= set(told)
        with pytest.raises(BlockingIOError):
            canary.recv(64)
    # A name that is only asked for is asked for nowhere: no data leaves by questions.
    assert world.names.asked == asked


LISTENING = """
def listening():
    ports = []
    for table in ("tcp", "tcp6", "udp", "udp6"):
        try: lines = open("/proc/net/" + table).read().splitlines()[1:]
        except OSError: continue
        ports += [int(line.split()[1].rsplit(":", 1)[1], 16) for line in lines if line.split()[3] in ("0A", "07")]
    return sorted(ports)
def refused(port):
    try:
        connect(port).close()
        return False
    except ConnectionRefusedError: return True
"""


@runtimes()
def test_listener__cannot_be_replaced_or_killed(world, runtime):
    """tries: to bind the proxy's port beside it, with every option and address, and to kill who listens.
    must: the port of 127.0.0.1 is the agent's, and it carries connections as before.
    """
    session = session_on(world, runtime)
    told = world.inside(session, f"""
import signal
bound = []
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::ffff:127.0.0.1"),
                        (socket.AF_INET6, "::")):
    for options in ((), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)):
        try: line = socket.socket(family)
        except OSError: continue
        for option in options: line.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            line.bind((address, 3128))
            line.listen()
            bound.append(line)
        except OSError: pass
codes = [http_status("good.test", {world.port}) for _ in range(20)]
killed = []
for process in [1] + [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]:
    try:
        os.kill(process, signal.SIGKILL)
        killed.append(process)
    except OSError: pass
tell([codes, 1 in killed, http_status("good.test", {world.port})])
""")
    assert told == [[200] * 20, False, 200]


def test_port_that_is_taken__is_an_error_and_not_a_proxy(world):
    """tries: to listen on the proxy's port before there is a network, to be the proxy of the session's other programs.
    must: the change of the network fails and says why; with the port free again it succeeds.
    """
    session = world.session("none")
    run = world.begin(session, """
listener = socket.create_server(("127.0.0.1", 3128))
open("listening", "w").close()
listener.accept()
""")
    house.eventually(lambda: "listening" in world.house.bash(session, "ls")["stdout"], "the program listens")
    network = {"mode": "allow-list", "rules": ["local"]}
    refused = world.set_network(session, network)
    assert refused.status in (409, 429, 502, 503), refused
    assert "3128" in refused.body.decode(), refused
    shown = world.house.ask("GET", f"/sessions/default/{session}").json()
    assert shown["network"] == {"mode": "none"} and shown["state"] == "live"
    assert world.house.bash(session, "env | grep -ci _proxy=")["stdout"] == "0\n"
    ended = world.house.ask("DELETE", f"/sessions/default/{session}/runs/{run}")
    assert ended.status == 200, ended
    house.eventually(lambda: world.set_network(session, network).status == 200, "the port is free again")
    assert world.inside(session, f"tell(http_status('good.test', {world.port}))") == 200


@runtimes()
def test_network_that_is_turned_off__leaves_nothing(world, runtime):
    """tries: a tunnel kept open, and new connections, while and after the network is set to none.
    must: the tunnel is reset, nothing listens any more, the server's side is closed, and the books say so.
    """
    session = session_on(world, runtime)
    before = len(world.allowed.seen)
    world.begin(session, f"""
code, line = tunnel("good.test:{world.port}")
line.sendall(b"GET /good HTTP/1.1\\r\\n\\r\\n")
read(line)
open("ready", "w").close()
line.settimeout(None)
try: got = line.recv(10)
except OSError as error: got = type(error).__name__.encode()
open("ended", "wb").write(got or b"closed")
""")
    house.eventually(lambda: "ready" in world.house.bash(session, "ls")["stdout"], "the tunnel is open")
    assert world.set_network(session, "none").status == 200
    ended = house.eventually(lambda: world.house.bash(session, "cat ended 2>/dev/null")["stdout"], "the tunnel ends")
    assert ended in ("closed", "ConnectionResetError")
    told = world.inside(session, LISTENING + "tell([refused(3128), listening()])")
    assert told == [True, []]
    assert world.outcomes(session)[-1] == "ended" and len(world.allowed.seen) == before + 1


def test_sandbox_without_a_network__has_nothing_that_listens(world):
    """tries: to find a listener where egress is off. must: none; the server itself listens where it always does."""
    session = world.session("none")
    told = world.inside(session, LISTENING + "tell([refused(port) for port in (3128, 3129, 3130, 53)] + [listening()])")
    assert told == [True] * 4 + [[]]
    assert world.outcomes(session) == []
    tables = pathlib.Path(f"/proc/{world.house.process.pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    mine = {link.stat().st_ino for link in pathlib.Path(f"/proc/{world.house.process.pid}/fd").iterdir() if link.is_socket()}
    ports = [int(line.split()[1].rsplit(":", 1)[1], 16) for line in tables
             if line.split()[3] == "0A" and int(line.split()[9]) in mine]
    assert ports == [world.house.port]
