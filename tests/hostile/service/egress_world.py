"""What programs in sandboxes try to reach: servers, a name server and an upstream proxy on loopback addresses of this
host; and a `cloche serve` that asks this name server alone. No packet leaves this host.
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

import house
import pytest

ALLOWED = "127.0.0.2"  # a rule names it
FORBIDDEN = "127.0.0.3"  # no rule names it
READ_ONLY = "127.0.0.4"  # a rule allows GET below /public

# Put in front of each program that is run inside. Programs print what they got as JSON.
INSIDE = r"""
import base64, json, os, select, socket, ssl, struct, sys, threading, time

def connect(port=3128, address="127.0.0.1"):
    return socket.create_connection((address, port), timeout=30)

def is_whole(got):
    head, end, body = got.partition(b"\r\n\r\n")
    if not end: return False
    fields = head.lower()
    if b"\r\ntransfer-encoding: chunked" in fields: return got.endswith(b"\r\n0\r\n\r\n")
    for field in fields.split(b"\r\n"):
        if field.startswith(b"content-length:"): return len(body) >= int(field[15:])
    return False

def read(line, quiet=1.0, most=1 << 20):
    # One response, or all until the other end closes or is silent after its first bytes.
    got = b""
    try:
        while len(got) < most and not is_whole(got):
            part = line.recv(65536)
            if not part: break
            got += part
            line.settimeout(quiet)
    except (OSError, ssl.SSLError) as error:
        got = got or b"!" + type(error).__name__.encode()
    line.settimeout(30)
    return got

def status(got):
    return int(got[9:12]) if got[:9] in (b"HTTP/1.1 ", b"HTTP/1.0 ") else 0

def ask(data):
    with connect() as line:
        try: line.sendall(data)
        except OSError: pass
        return read(line)

def tunnel(place):
    line = connect()
    place = place if isinstance(place, bytes) else place.encode()
    line.sendall(b"CONNECT " + place + b" HTTP/1.1\r\nHost: " + place + b"\r\n\r\n")
    got = b""
    while b"\r\n\r\n" not in got:
        part = line.recv(1)
        if not part: break
        got += part
    return status(got), line

def connect_status(place):
    code, line = tunnel(place)
    line.close()
    return code

def http_status(host, port, path="/good"):
    host = host if isinstance(host, bytes) else host.encode()
    place = host + b":%d" % port
    return status(ask(b"GET http://" + place + path.encode() + b" HTTP/1.1\r\nHost: " + place + b"\r\n\r\n"))

def socks_code(host, port):
    kind, packed = 3, None
    for family, number in ((socket.AF_INET, 1), (socket.AF_INET6, 4)):
        try:
            kind, packed = number, socket.inet_pton(family, host.strip("[]"))
            break
        except (OSError, ValueError): pass
    if packed is None:
        name = host.encode()
        packed = bytes([len(name)]) + name
    with connect() as line:
        line.sendall(b"\x05\x01\x00")
        if line.recv(2) != b"\x05\x00": return -1
        line.sendall(b"\x05\x01\x00" + bytes([kind]) + packed + struct.pack(">H", port))
        got = line.recv(64)
        return got[1] if len(got) > 1 else -2

def tell(what):
    print("\n@" + json.dumps(what))
"""


def free_port():
    """Free on all addresses that the tests use."""
    with contextlib.closing(socket.create_server(("0.0.0.0", 0))) as probe:
        return probe.getsockname()[1]


class Listener:
    """Accepts connections, each in a thread, and remembers the bytes that each has sent."""

    def __init__(self, address, port, serve=None):
        self.seen = []
        self.serve = serve
        self.socket = socket.create_server((address, port), backlog=512)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                line, _ = self.socket.accept()
            except OSError:
                return
            heard = bytearray()
            self.seen.append(heard)
            threading.Thread(target=self._guarded, args=(line, heard), daemon=True).start()

    def _guarded(self, line, heard):
        with line, contextlib.suppress(OSError):
            line.settimeout(120)
            if self.serve is not None:
                self.serve(line, heard)

    def close(self):
        # An accept under way ends by the shutdown, not by the close.
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def read_head(line, heard):
    """The next head, or nothing at the end of the connection. What a client sends is remembered as it comes."""
    start = len(heard)
    while b"\r\n\r\n" not in heard[start:]:
        part = line.recv(65536)
        if not part:
            return b""
        heard += part
    return bytes(heard[start:])


def answer_by_path(line, heard):
    """The path of a request names the response."""
    while head := read_head(line, heard):
        path = head.split()[1].decode("latin-1")
        if path.startswith("/to/"):
            to = path.removeprefix("/to/").encode("latin-1")
            line.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://" + to + b"\r\nContent-Length: 0\r\n\r\n")
        elif path in ENDLESS:
            first, piece = ENDLESS[path]
            line.sendall(first)
            while True:
                line.sendall(piece)
        elif path in BROKEN:
            line.sendall(BROKEN[path])
            return
        elif path == "/silent":
            line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhello")
            line.recv(1)
            return
        else:
            line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")


ENDLESS = {
    "/endless-body": (b"HTTP/1.1 200 OK\r\n\r\n", b"y" * 65536),
    "/endless-chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"y" * 4096 + b"\r\n"),
    "/endless-fields": (b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"y" * 1000 + b"\r\n"),
    "/endless-line": (b"HTTP/1.1 200 OK\r\nX-A: ", b"y" * 65536),
    "/endless-status": (b"", b"H" * 65536),
    "/endless-interim": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 100),
    "/endless-trailers": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: " + b"y" * 1000 + b"\r\n"),
    "/endless-extension": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;", b"y" * 65536),
}
BROKEN = {
    "/garbage": b"\x16\x03\x01 this is no HTTP\r\n\r\n",
    "/nothing": b"",
    "/half-head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "/two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 60\r\n\r\nhello",
    "/both": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nX-Second: 1\r\n\r\n",
    "/minus": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    "/overflow": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
    "/bad-status": b"HTTP/1.1 99999 OK\r\n\r\n",
    "/switch": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nX-Second: 1\r\n\r\n",
    "/nul": b"HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 5\r\n\r\nhello",
}


class NameServer:
    """Answers for the names that it is given; no other name exists."""

    def __init__(self):
        self.addresses = {}  # a name: its addresses, or a function of the number of questions before
        self.asked = {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # Its port is always 53, so its address is its own: other tests may run at the same time.
        self.address = f"127.{random.randint(64, 250)}.{random.randint(1, 250)}.{random.randint(1, 250)}"
        self.socket.bind((self.address, 53))
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            question, client = self.socket.recvfrom(4096)
            if not question:
                return
            with contextlib.suppress(OSError, IndexError, struct.error):
                self.socket.sendto(self._answer(question), client)

    def _answer(self, question):
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode("latin-1").lower())
            at += 1 + question[at]
        name = ".".join(labels)
        kind = struct.unpack(">H", question[at + 1:at + 3])[0]
        known = self.addresses.get(name, self.addresses.get("*." + name.partition(".")[2]))
        before = self.asked.get((name, kind), 0)
        self.asked[(name, kind)] = before + 1
        found = known(before) if callable(known) else known or []
        records = []
        for address in found:
            family, number = (socket.AF_INET6, 28) if ":" in address else (socket.AF_INET, 1)
            if number == kind:
                data = socket.inet_pton(family, address)
                records.append(b"\xc0\x0c" + struct.pack(">HHIH", number, 1, 0, len(data)) + data)
        flags = 0x8180 if known is not None else 0x8183
        header = question[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0)
        return header + question[12:at + 5] + b"".join(records)

    def close(self):
        self.socket.sendto(b"", (self.address, 53))
        self.thread.join()
        self.socket.close()


class World:
    """The servers, and the `cloche serve` beside them."""

    def __init__(self, extra_rules=None, egress=None, **options):
        self.port = free_port()
        self.sessions = []
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="cloche-egress-"))
        self.allowed = Listener(ALLOWED, self.port, answer_by_path)
        self.forbidden = [Listener(address, self.port, answer_by_path) for address in (FORBIDDEN, "127.0.0.1")]
        self.read_only = Listener(READ_ONLY, self.port, answer_by_path)
        self.names = NameServer()
        self.names.addresses = {
            "good.test": [ALLOWED], "paths.test": [READ_ONLY], "inside.test": [FORBIDDEN], "self.test": ["127.0.0.1"],
            "zero.test": ["0.0.0.0"], "metadata.test": ["169.254.169.254"], "private.test": ["10.0.0.1"],
            "mapped.test": ["::ffff:" + FORBIDDEN], "translated.test": ["64:ff9b::7f00:3"], "six.test": ["::1"],
            "mixed.test": [FORBIDDEN, ALLOWED, "10.0.0.1"], "xn--bcher-kva.test": [ALLOWED],
            "*.rebind.test": lambda before: [FORBIDDEN] if before else [ALLOWED],
            "*.late.test": lambda before: [ALLOWED] if before else [FORBIDDEN],
        }
        reads = {"ports": [str(self.port)], "methods": ["GET"], "paths": ["/public"]}
        names = [f"{name}:{self.port}" for name in (
            "good.test", "inside.test", "self.test", "zero.test", "metadata.test", "private.test", "mapped.test",
            "translated.test", "six.test", "mixed.test", "xn--bcher-kva.test", "*.rebind.test", "*.late.test")]
        rules = {
            "local": {"tenants": "all", "allow": [
                f"{ALLOWED}:{self.port}", *names, {"host": "paths.test", **reads}, {"host": READ_ONLY, **reads}]},
            "loopback": {"tenants": "all", "allow": ["127.0.0.0/8:1-65535", "0.0.0.0/32:1-65535", "[::1]:1-65535",
                                                     "[::]:1-65535", "self.test:1-65535", "zero.test:1-65535"]},
            **(extra_rules(self) if extra_rules else {}),
        }
        section = {"rules": rules, "choose": {"tenants": "all"}, **(egress(self) if egress else {})}
        # A profile with a network of its own, beside those over which a network is chosen.
        profiles = ("  gvisor: {runtime: runsc, pool: {pool_size: 0, scale_limit: 3}}\n"
                    "  redirected: {runtime: crun, network: allow-list, tenants: all, pool: {pool_size: 0, scale_limit: 8}}")
        more = "egress: " + json.dumps(section) + "\nsessions: {most: 60}"
        self.house = house.House(profiles=profiles, more=more, **options)
        # Its names come from the name server above, and it sees no names of this host.
        resolv, hosts = self.directory / "resolv.conf", self.directory / "hosts"
        resolv.write_text(f"nameserver {self.names.address}\noptions timeout:2 attempts:1\n", encoding="utf-8")
        hosts.write_text("127.0.0.1 localhost\n", encoding="utf-8")
        script = ('mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"')
        self.house.command = ["unshare", "--mount", "sh", "-c", script, "sh", str(resolv), str(hosts),
                              *self.house.command]

    def __enter__(self):
        self.house.__enter__()
        return self

    def __exit__(self, *what):
        try:
            return self.house.__exit__(*what)
        finally:
            self.names.close()
            for listener in (self.allowed, self.read_only, *self.forbidden):
                listener.close()
            shutil.rmtree(self.directory, ignore_errors=True)

    def session(self, network=None, profile="session"):
        """A new session with this network: by default one that reaches what `local` allows."""
        name = house.name()
        body = {"session_id": name, "network": network or {"mode": "allow-list", "rules": ["local"]}, "profile": profile}
        made = self.house.post("/sessions", body)
        assert made.status == 201, made
        self.sessions.append(name)
        return name

    def end_sessions(self):
        """All but those that were taken off the list."""
        while self.sessions:
            ended = self.house.ask("DELETE", f"/sessions/default/{self.sessions.pop()}")
            assert ended.status == 200, ended

    def set_network(self, session, network):
        return self.house.ask("PUT", f"/sessions/default/{session}/network", {"network": network})

    def inside(self, session, code, **options):
        """What the program told."""
        ran = self.house.python(session, INSIDE + code, **options)
        assert "\n@" in ran["stdout"], ran
        return json.loads(ran["stdout"].rsplit("\n@", 1)[1])

    def begin(self, session, code):
        """A program in the background; its run."""
        begun = self.house.post("/execute", {"session_id": session, "code": INSIDE + code, "background": True})
        assert begun.status == 202, begun
        return begun.json()["run_id"]

    def events(self, session):
        listed = self.house.ask("GET", f"/sessions/default/{session}/egress")
        assert listed.status == 200, listed
        return listed.json()["events"]

    def outcomes(self, session):
        return [event["outcome"] for event in self.events(session)]

    def reached(self):
        """Connections to servers that nothing may reach."""
        return sum(len(listener.seen) for listener in self.forbidden)


def need(test):
    """Skips, and notes why, where this cannot be tried."""
    house.need_crun(test)
    if not shutil.which("unshare"):
        house.note_missing("unshare", test, "unshare is not installed")


def is_as_it_was(world):
    """After each case: the server works, and reached no server that no rule names."""
    world.end_sessions()
    world.house.is_well()
    assert world.reached() == 0, "a server that no rule names was reached"


def runtimes():
    return pytest.mark.parametrize("runtime", ["crun", "runsc"])


def session_on(world, runtime, network=None):
    if runtime == "runsc":
        need_runsc("egress")
    return world.session(network, "gvisor" if runtime == "runsc" else "session")


def need_runsc(test):
    if not shutil.which("runsc"):
        house.note_missing("runsc", test, "runsc is not installed")


def make_certificate(directory, name):
    """Files of a certificate for this name and of its key; it is its own authority."""
    certificate, key = directory / (name + ".pem"), directory / (name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                    "2", "-subj", "/CN=" + name, "-addext", "subjectAltName=DNS:" + name, "-keyout", str(key), "-out",
                    str(certificate)], check=True, capture_output=True, timeout=60, env={**os.environ, "LC_ALL": "C"})
    return certificate, key
