"""Programs that want to get past the proxy, or to take its place."""
import contextlib
import pathlib
import socket

import egress_world
import house
import pytest
from egress_world import FORBIDDEN, runtimes, session_on


@pytest.fixture(scope="module")
def world():
    egress_world.need(__name__)
    with egress_world.World() as made:
        yield made


@pytest.fixture(autouse=True)
def the_house_stands(world):
    yield
    egress_world.is_as_it_was(world)


@pytest.mark.parametrize("profile", ["session", "redirected"])
def test_connections_without_the_proxy__have_the_same_decisions(world, profile):
    """tries: connections that use no proxy, by name and by address, to what is forbidden. must: reset, with an event
    each. What is allowed is reached: the control. Only on crun: the kernel redirects them there.
    """
    session = world.session(profile=profile)
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


@runtimes()
def test_server_that_is_killed__takes_the_connections_and_listens_again(world, runtime):
    """tries: a tunnel that outlives its server. must: it is reset with the server; the next server listens in the same
    session, with the same network.
    """
    session = session_on(world, runtime)
    world.begin(session, f"""
code, line = tunnel("good.test:{world.port}")
open("ready", "w").close()
line.settimeout(None)
try: got = line.recv(10)
except OSError as error: got = type(error).__name__.encode()
open("ended", "wb").write(got or b"closed")
""")
    house.eventually(lambda: "ready" in world.house.bash(session, "ls")["stdout"], "the tunnel is open")
    world.house.kill_and_start_again()
    ended = house.eventually(lambda: world.house.bash(session, "cat ended 2>/dev/null")["stdout"], "the tunnel ends")
    assert ended in ("closed", "ConnectionResetError")
    assert world.inside(session, f"tell(http_status('good.test', {world.port}))") == 200


def test_sandbox_without_a_network__has_nothing_that_listens(world):
    """tries: to find a listener where egress is off. must: none; the server itself listens where it always does."""
    session = world.session("none")
    told = world.inside(session, LISTENING + "tell([refused(port) for port in (3128, 3129, 3130, 3153, 53)] + [listening()])")
    assert told == [True] * 5 + [[]]
    # The sandbox is prepared for a network that may come: its rules lead to closed ports.
    told = world.inside(session, f"""
def direct(address, port):
    try: return socket.create_connection((address, port), timeout=20).close()
    except OSError as error: return type(error).__name__
def question():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(20)
        line.connect(("192.0.2.1", 53))
        line.send(b"x" * 20)
        return line.recv(100)
try: asked = question()
except OSError as error: asked = type(error).__name__
tell([direct(address, {world.port}) for address in ("192.0.2.7", "10.0.0.1", "198.18.0.1", "169.254.169.254")] + [asked])
""")
    assert told == ["ConnectionRefusedError"] * 5, told
    assert world.outcomes(session) == []
    tables = pathlib.Path(f"/proc/{world.house.process.pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    mine = {link.stat().st_ino for link in pathlib.Path(f"/proc/{world.house.process.pid}/fd").iterdir() if link.is_socket()}
    ports = [int(line.split()[1].rsplit(":", 1)[1], 16) for line in tables
             if line.split()[3] == "0A" and int(line.split()[9]) in mine]
    assert ports == [world.house.port]
