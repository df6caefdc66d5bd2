"""Programs that want more of a host than their rules allow: by requests that two readers understand differently, by
bytes that are no requests, and by server names of TLS."""
import egress_world
import house
import pytest
from egress_world import READ_ONLY


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
    egress_world.is_as_it_was(world)


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
