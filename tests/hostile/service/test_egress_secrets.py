"""Programs, and the servers that they talk to, which want the secret that Cloche puts on requests."""
import base64
import gzip
import html
import json
import pathlib
import ssl
import urllib.parse

import egress_world
import house
import pytest
from egress_world import ALLOWED

SECRET = 'Kq7/Zx+3w=Pl&9<Vt"m'
PLACEHOLDER = "placeholder-of-the-program"


def spellings(secret):
    """As far as the documentation promises."""
    data = secret.encode()
    found = {secret, data.hex(), data.hex().upper(), urllib.parse.quote(secret, safe=""), html.escape(secret),
             json.dumps(secret)[1:-1], urllib.parse.quote(secret, safe="").lower()}
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data + b"\0" * 3).decode()
        inner = encoded[(8 * before + 5) // 6:8 * (before + len(data)) // 6]
        found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return found


def echo(line, heard):
    """Sends back the secret of each request, in the way that its path names."""
    while head := egress_world.read_head(line, heard):
        target = head.split()[1].decode("latin-1")
        fields = dict(field.split(": ", 1) for field in head.decode("latin-1").split("\r\n")[1:] if ": " in field)
        secret = fields.get("X-Api-Key", urllib.parse.parse_qs(target.partition("?")[2]).get("key", ["none"])[0]).encode()
        way = target.partition("?")[0].rsplit("/", 1)[1]
        answer = respond(way, secret, head)
        if isinstance(answer, list):
            for piece in answer:
                line.sendall(piece)
        else:
            line.sendall(answer)
        if way in LAST:
            return


LAST = {"until-end", "interim", "two-answers", "half", "status-line", "garbage"}


def body(data, *fields):
    head = "".join(f"{field}\r\n" for field in ("HTTP/1.1 200 OK", f"Content-Length: {len(data)}", *fields))
    return head.encode("latin-1") + b"\r\n" + data


def chunk(data):
    return b"%x\r\n" % len(data) + data + b"\r\n"


def respond(way, secret, head):
    text = secret.decode("latin-1")
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
    single = [chunk(secret[at:at + 1]) for at in range(len(secret))]
    frame = bytes([0x81, len(secret)]) + secret + b"\x81\x02ok"
    ways = {
        "whole-head": lambda: body(head),
        "raw": lambda: body(b"it is " + secret + b"."),
        "twice": lambda: body(secret * 40),
        "base64": lambda: body(base64.b64encode(secret)),
        "base64-1": lambda: body(base64.b64encode(b"x" + secret + b"yz")),
        "base64-2": lambda: body(base64.b64encode(b"xx" + secret + b"yz")),
        "base64url": lambda: body(base64.urlsafe_b64encode(b"user:" + secret)),
        "hex": lambda: body(secret.hex().encode()),
        "upper-hex": lambda: body(secret.hex().upper().encode()),
        "percent": lambda: body(urllib.parse.quote(text, safe="").encode()),
        "json": lambda: body(json.dumps({"key": text}).encode()),
        "html": lambda: body(html.escape(text).encode()),
        "header": lambda: body(b"", "X-Echo: " + text),
        "header-base64": lambda: body(b"", "X-Echo: " + base64.b64encode(secret).decode()),
        "cookie": lambda: body(b"", "Set-Cookie: a=" + text),
        "redirect": lambda: b"HTTP/1.1 302 Found\r\nLocation: https://api.test/v1/" + secret + b"\r\nContent-Length: 0\r\n\r\n",
        "error": lambda: b"HTTP/1.1 401 No\r\nWWW-Authenticate: x realm=" + secret + b"\r\nContent-Length: %d\r\n\r\n" % len(secret)
        + secret,
        "status-line": lambda: b"HTTP/1.1 200 " + secret + b"\r\nContent-Length: 0\r\n\r\n",
        "chunks": lambda: [chunked + b"\r\n", *single, b"0\r\n\r\n"],
        "extension": lambda: chunked + b"\r\n2;x=" + secret.hex().encode() + b"\r\nok\r\n0\r\n\r\n",
        "trailer": lambda: chunked + b"Trailer: X-Echo\r\n\r\n2\r\nok\r\n0\r\nX-Echo: " + secret + b"\r\n\r\n",
        "interim": lambda: b"HTTP/1.1 103 Early Hints\r\nLink: " + secret + b"\r\n\r\n" + body(b"ok"),
        "until-end": lambda: b"HTTP/1.1 200 OK\r\n\r\n" + secret,
        "half": lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + secret,
        "two-answers": lambda: body(b"ok") + body(secret, "X-Second: " + text),
        "gzip": lambda: body(gzip.compress(secret), "Content-Encoding: gzip"),
        "deflate": lambda: body(secret, "Content-Encoding: x-" + text.encode().hex()),
        "type": lambda: body(b"", "Content-Type: text/" + secret.hex()),
        "etag": lambda: body(b"", 'ETag: "' + base64.b64encode(secret).decode() + '"'),
        "name": lambda: body(b"", "X-" + secret.hex() + ": 1"),
        "part": lambda: b"HTTP/1.1 206 Part\r\nContent-Range: bytes 0-3/20\r\nContent-Length: 4\r\n\r\n" + secret[:4]
        if b"\r\nrange:" in head.lower() else body(b"no range was asked for"),
        "socket": lambda: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n" + frame,
        "garbage": lambda: b"not HTTP at all: " + secret + b"\r\n\r\n",
    }
    return ways.get(way, lambda: body(b"ok"))()


WAYS = ["whole-head", "raw", "twice", "base64", "base64-1", "base64-2", "base64url", "hex", "upper-hex", "percent", "json",
        "html", "header", "header-base64", "cookie", "redirect", "error", "status-line", "chunks", "extension", "trailer",
        "interim", "until-end", "half", "two-answers", "gzip", "deflate", "type", "etag", "name", "part", "garbage"]


class SecretWorld(egress_world.World):
    def __init__(self):
        self.tls_port = egress_world.free_port()

        def rules(world):
            certificate, key = egress_world.make_certificate(world.directory, "api.test")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self.api = egress_world.Listener(ALLOWED, self.tls_port, lambda line, heard: self.serve(context, line, heard))
            other, other_key = egress_world.make_certificate(world.directory, "untrusted.test")
            wrong = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            wrong.load_cert_chain(other, other_key)
            self.wrong = egress_world.Listener("127.0.0.5", self.tls_port, lambda line, heard: self.serve(wrong, line, heard))
            world.names.addresses |= {"api.test": [ALLOWED], "query.test": [ALLOWED], "untrusted.test": ["127.0.0.5"]}
            header = {"name": "KEY", "header": "X-Api-Key"}
            return {"api": {"tenants": "all", "allow": [
                {"host": "api.test", "ports": [str(self.tls_port)], "methods": ["GET", "POST", "TRACE"], "paths": ["/v1"],
                 "secret": header},
                {"host": "untrusted.test", "ports": [str(self.tls_port)], "secret": header},
                f"{ALLOWED}:{self.tls_port}", f"127.0.0.5:{self.tls_port}"]}}

        super().__init__(extra_rules=rules, egress=lambda world: {
            "secrets": {"KEY": {"value": SECRET}}, "extra_ca": str(world.directory / "api.test.pem")})

    def serve(self, context, line, heard):
        with context.wrap_socket(line, server_side=True) as secured:
            echo(secured, heard)

    def __exit__(self, *what):
        try:
            return super().__exit__(*what)
        finally:
            self.api.close()
            self.wrong.close()


@pytest.fixture(scope="module")
def world():
    egress_world.need(__name__)
    with SecretWorld() as made:
        made.thief = made.session({"mode": "allow-list", "rules": ["api", "local"]})
        made.sessions.clear()
        yield made


@pytest.fixture(autouse=True)
def the_secret_is_nowhere(world):
    """In no log, and in no event."""
    yield
    world.end_sessions()
    world.house.is_well()
    assert shown_in(world.house.log_text()) == []
    assert shown_in(json.dumps(world.events(world.thief))) == []


def shown_in(text):
    return [spelling for spelling in spellings(SECRET) if spelling in text]


TLS = """
def secured(host, port, name=None):
    code, line = tunnel("%s:%d" % (host, port))
    if code != 200: return code, line
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    try: return code, context.wrap_socket(line, server_hostname=name or host)
    except OSError as error: return type(error).__name__, line

def https(data, host, port):
    code, line = secured(host, port)
    if code != 200: return code
    with line:
        if line.selected_alpn_protocol() == "h2": return "h2"
        line.sendall(data)
        return read(line, most=1 << 16).decode("latin-1")
"""


def https(world, path, *fields, method="GET", host="api.test", named=None, session=None, data=b""):
    """What a program gets for a request to the host with the secret; all of it."""
    place = f"{named or host}:{world.tls_port}"
    head = "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {place}", *fields, "", ""]).encode("latin-1")
    code = TLS + f"tell(https({head + data!r}, {host!r}, {world.tls_port}))"
    return world.inside(session or world.thief, code)


def test_request_with_a_secret__arrives_with_it(world):
    """The control: the server gets the secret; the program gets its response."""
    before = len(world.api.seen)
    got = https(world, "/v1/good")
    assert got.startswith("HTTP/1.1 200 ") and "\r\nok" in got, got
    assert SECRET.encode() in b"".join(bytes(heard) for heard in world.api.seen[before:])
    assert [event["secret"] for event in world.events(world.thief) if event.get("secret")]


def test_what_the_server_sends__has_the_secret():
    """The control: each response shows the secret to who looks for it, except those that hide it from such a search."""
    head = f"GET /v1 HTTP/1.1\r\nX-Api-Key: {SECRET}\r\n\r\n".encode()
    shown = []
    for way in WAYS:
        sent = respond(way, SECRET.encode(), head)
        text = (b"".join(sent) if isinstance(sent, list) else sent).decode("latin-1")
        shown += [way] if shown_in(text) else []
    assert set(WAYS) - set(shown) == {"chunks", "gzip", "part"}


@pytest.mark.parametrize("way", WAYS)
def test_server_that_echoes__gives_nothing_away(world, way):
    """tries: a server that sends the secret back: raw, encoded, cut into chunks of a byte, in headers, cookies,
    redirects, reason phrases, extensions, trailers, early hints, compressed, in parts, as noise.
    must: what the program gets contains no spelling of it.
    """
    got = https(world, "/v1/" + way)
    assert isinstance(got, str) and shown_in(got) == [], got
    if way in ("gzip", "deflate", "garbage"):
        assert got.startswith("HTTP/1.1 502 "), got
    if way == "part":
        assert "no range" in https(world, "/v1/part", "Range: bytes=0-3", "If-Range: x")


def test_server_that_echoes_in_a_websocket__gives_nothing_away(world):
    """tries: the same in a frame. must: overwritten, and the frame arrives."""
    got = https(world, "/v1/socket", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Extensions: permessage-deflate")
    assert got.startswith("HTTP/1.1 101 ") and shown_in(got) == [] and "***" in got, got
    assert b"permessage" not in bytes(world.api.seen[-1])


@pytest.mark.parametrize("fields", [
    ["X-Api-Key: " + PLACEHOLDER], ["x-API-key: " + PLACEHOLDER, "X_Api_Key: " + PLACEHOLDER],
    ["Connection: X-Api-Key", "X-Api-Key: " + PLACEHOLDER], ["Connection: close, x-api-key"],
    ["Accept-Encoding: gzip, br"], ["TE: trailers"], ["Expect: 100-continue"], ["X-Copy: {secret}", "Cookie: {secret}"],
    ["Proxy-Authorization: Basic eDp5"], ["X-Forwarded-Host: evil.test"], ["Max-Forwards: 0"]])
def test_fields_of_the_program__change_nothing(world, fields):
    """tries: its own value in the secret's place, in other spellings, headers that remove headers, placeholders.
    must: the server gets the secret once and nothing of the program's in its place; the program gets nothing of it.
    """
    before = len(world.api.seen)
    got = https(world, "/v1/whole-head", *fields)
    assert got.startswith("HTTP/1.1 200 ") and shown_in(got) == [], got
    heard = bytes(world.api.seen[before])
    assert heard.count(SECRET.encode()) == 1 and PLACEHOLDER.encode() not in heard
    assert b"gzip" not in heard and b"br\r\n" not in heard


REFUSED = {
    "another path": ({"path": "/v2/raw"}, 403), "root": ({"path": "/"}, 403),
    "dots": ({"path": "/v1/../v2/raw"}, 403), "encoded": ({"path": "/v1%2f..%2fv2/raw"}, 403),
    "overlong": ({"path": "/v1/%c0%ae%c0%ae/v2/raw"}, 403),
    "another method": ({"path": "/v1/raw", "method": "DELETE"}, 403), "trace": ({"path": "/v1/raw", "method": "TRACE"}, 405),
    "another host": ({"path": "/v1/raw", "named": "good.test"}, 421),
    "url of another host": ({"path": "https://good.test/v1/raw"}, (400, 403, 421)),
    "untrusted server": ({"path": "/v1/raw", "host": "untrusted.test"}, 502),
}


@pytest.mark.parametrize("trick", REFUSED)
def test_request_that_the_rule_does_not_allow__has_no_secret(world, trick):
    """tries: other paths, methods, hosts, and a server whose certificate no authority signed. must: refused as
    documented; no server gets a request.
    """
    options, wanted = REFUSED[trick]
    before = len(world.api.seen), len(world.wrong.seen)
    got = https(world, options["path"], **{name: value for name, value in options.items() if name != "path"})
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert int(got[9:12]) in wanted, got
    assert shown_in(got) == []
    assert all(not heard for heard in world.api.seen[before[0]:] + world.wrong.seen[before[1]:])


def test_two_requests_in_one__are_one_or_none(world):
    """tries: a second request in the body of the first, by two lengths, for a path that the rule does not allow.
    must: 400; the server gets neither.
    """
    hidden = f"GET /v2/raw HTTP/1.1\r\nHost: api.test:{world.tls_port}\r\n\r\n".encode()
    before = len(world.api.seen)
    for fields in (["Content-Length: 5", "Transfer-Encoding: chunked"], ["Content-Length: 0", f"Content-Length: {len(hidden)}"],
                   ["Transfer-Encoding: xchunked"], ["Transfer-Encoding : chunked"], ["X: a\r\n Transfer-Encoding: chunked"]):
        got = https(world, "/v1/whole-head", *fields, method="POST", data=b"0\r\n\r\n" + hidden)
        assert house.statuses(got.encode("latin-1")) in ([400], [501]), (fields, got)
    assert all(b"/v2/" not in heard for heard in world.api.seen[before:])


def test_other_ways_to_the_same_server__have_no_secret(world):
    """tries: plain HTTP, TLS by address, another server name, bytes that are not TLS. must: 403, no secret, or closed."""
    before = len(world.api.seen)
    told = world.inside(world.thief, TLS + f"""
port = {world.tls_port}
codes = [http_status("api.test", port, "/v1/raw"), http_status("API.test.", port, "/v1/raw")]
code, line = secured("{ALLOWED}", port, "api.test")
codes.append(code)
code, line = tunnel("api.test:%d" % port)
line.sendall(b"GET /v1/raw HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
codes.append(read(line).decode("latin-1"))
code, line = secured("api.test", port, "good.test")
codes.append(code)
tell(codes)
""")
    # By address the server's own certificate is seen, which the sandbox trusts as the host does: by extra_ca.
    assert told[:2] == [403, 403] and told[2] == 200
    assert told[3] == "" or told[3].startswith("!")
    assert told[4] != 200
    assert all(SECRET.encode() not in bytes(heard) for heard in world.api.seen[before:])


def test_files_and_variables_of_the_sandbox__have_no_secret(world):
    """tries: the environment, the trust bundle and all files that it can read. must: no secret, and no private key of
    the server's authority; on the host only its owner can read the key, and no file but the configuration has the secret.
    """
    found = world.house.bash(world.thief, "env; cat \"$SSL_CERT_FILE\"; grep -rsl -F 'PRIVATE KEY' /etc /workspace /tmp /.cloche;"
                             " cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")["stdout"]
    assert "BEGIN CERTIFICATE" in found and "PRIVATE KEY" not in found and shown_in(found) == []
    authority = list(pathlib.Path(world.house.environment["CLOCHE_STATE_DIR"]).rglob("egress-authority.pem"))
    assert len(authority) == 1 and authority[0].stat().st_mode & 0o777 == 0o600
    for file in world.house.scratch.rglob("*"):
        if file.is_file() and not file.is_symlink() and file.name != "cloche.yml" and file.stat().st_size < 1 << 20:
            assert SECRET.encode() not in file.read_bytes(), file
