"""Too much of everything through the way out: connections, responses without end, silence; and an upstream proxy that
answers garbage."""
import contextlib
import json
import threading
import time

import egress_world
import house
import pytest
from egress_world import ALLOWED, BROKEN, ENDLESS, runtimes, session_on

MOST = 64  # connections of a sandbox at a time
# Bodies without end are no error: the program stops reading when it has enough.
ENDLESS_BODIES = ["/endless-body", "/endless-chunks"]
ENDLESS_HEADS = [path for path in ENDLESS if path not in (*ENDLESS_BODIES, "/endless-trailers", "/endless-extension")]


@pytest.fixture(scope="module")
def world():
    egress_world.need(__name__)
    limits = {"max_connections": MOST, "idle_timeout": "2s", "connect_timeout": "2s"}
    with egress_world.World(egress=lambda _: limits) as made:
        yield made


@pytest.fixture(autouse=True)
def the_house_stands(world):
    before = world.house.rss()
    yield
    world.end_sessions()
    world.house.is_well()
    assert world.house.rss() < before + 48


def fetch(world, session, path):
    return world.inside(session, f"""
got = ask(b"GET http://good.test:{world.port}{path} HTTP/1.1\\r\\nHost: good.test:{world.port}\\r\\n\\r\\n")
tell([status(got), got[-4000:].decode("latin-1")])
""")


@pytest.mark.parametrize("path", [*BROKEN, *ENDLESS_HEADS])
def test_response_that_is_not_http__is_502(world, path):
    """tries: noise, half a head, two lengths, a switch of protocols that was not asked for, heads without end.
    must: 502 at once; nothing of it reaches the program; an event says so.
    """
    session = world.session()
    with world.house.memory_within(64):
        code, got = fetch(world, session, path)
    assert code == 502 and "X-Second" not in got, got
    assert world.outcomes(session)[-1] == "failed"


@pytest.mark.parametrize("path", [*ENDLESS_BODIES, "/endless-trailers", "/endless-extension"])
def test_response_without_end__costs_no_memory(world, path):
    """tries: a body, trailers and an extension without end, for a program that reads nothing, and for one that reads
    and leaves. must: no memory grows; the connection to the server ends with the program's.
    """
    session = world.session()
    with world.house.memory_within(64):
        told = world.inside(session, f"""
request = b"GET http://good.test:{world.port}{path} HTTP/1.1\\r\\nHost: good.test:{world.port}\\r\\n\\r\\n"
lines = [connect() for _ in range(8)]
for line in lines: line.sendall(request)
size = 0
try:
    while size < 4 << 20 and (part := lines[0].recv(65536)): size += len(part)
except OSError: pass
for line in lines: line.close()
tell(size)
""")
    if path in ENDLESS_BODIES:
        assert told >= 4 << 20
    ends = ("closed", "failed", "over_quota", "ended")
    house.eventually(lambda: sum(outcome in ends for outcome in world.outcomes(session)) == 8, "all eight ended")


def test_silence__ends_the_connection(world):
    """tries: a server that stops in the middle, a program that never sends a head, a tunnel on which nothing happens.
    must: each ends by itself, and the books have them.
    """
    session = world.session()
    begun = time.monotonic()
    told = world.inside(session, f"""
code, idle = tunnel("good.test:{world.port}")
half = connect()
half.sendall(b"GET http://good.test:{world.port}/ HTTP/1.1\\r\\n")
broken = ask(b"GET http://good.test:{world.port}/silent HTTP/1.1\\r\\nHost: good.test:{world.port}\\r\\n\\r\\n")
def ended(line):
    try: return line.recv(4096)[:12].decode("latin-1")
    except ConnectionResetError: return ""
with idle, half: tell([code, status(broken), ended(idle), ended(half)])
""")
    assert told[0] == 200 and told[2] == "" and told[3] in ("", "HTTP/1.1 408", "HTTP/1.1 400"), told
    assert time.monotonic() - begun < 30
    house.eventually(lambda: world.outcomes(session).count("allowed") == 2 and len(world.outcomes(session)) >= 4, "both ended")


@pytest.mark.parametrize("profile", ["session", "redirected", "gvisor"])
def test_more_connections_than_allowed__wait_or_are_reset(world, profile):
    """tries: three times as many tunnels as a sandbox may have, and then 2,000 connections one after the other.
    must: at most so many at a time; a neighbour's connections work meanwhile; afterwards the sandbox's do, too.
    """
    if profile == "gvisor":
        egress_world.need_runsc(__name__)
    session, neighbour = world.session(profile=profile), world.session()
    before = len(world.allowed.seen)
    run = world.begin(session, f"""
lines = [socket.socket() for _ in range({3 * MOST})]
for line in lines:
    line.setblocking(False)
    line.connect_ex(("127.0.0.1", 3128))
poll, waiting = select.poll(), dict((line.fileno(), line) for line in lines)
for number in waiting: poll.register(number, select.POLLOUT)
while waiting and not os.path.exists("enough"):
    for number, _ in poll.poll(100):
        poll.unregister(number)
        try: waiting.pop(number).sendall(b"CONNECT {ALLOWED}:{world.port} HTTP/1.1\\r\\nHost: {ALLOWED}:{world.port}\\r\\n\\r\\n")
        except OSError: pass
while not os.path.exists("enough"): time.sleep(0.05)
""")
    house.eventually(lambda: len(world.allowed.seen) >= before + MOST // 2, "connections arrive")
    assert world.inside(neighbour, f"tell(http_status('{ALLOWED}', {world.port}))") == 200
    house.eventually(lambda: world.outcomes(session).count("allowed") >= MOST // 2, "the books have them")
    world.house.bash(session, "touch enough")
    house.eventually(lambda: world.house.ask("GET", f"/sessions/default/{session}/runs/{run}").json()["state"] == "ended",
                     "the program ended")
    open_at_once = peak(world.events(session))
    assert 0 < open_at_once <= MOST, open_at_once
    count = 2000 if profile == "session" else 200
    told = world.inside(session, f"""
codes = {{}}
for _ in range({count}):
    code = http_status("{ALLOWED}", {world.port})
    codes[code] = codes.get(code, 0) + 1
tell(codes)
""")
    assert told == {"200": count}


def peak(events):
    """The most connections that were open at the same time, as the books have it."""
    count = most = 0
    for event in events:
        count += 1 if event["outcome"] == "allowed" else -1 if event["outcome"] in ("closed", "ended") else 0
        most = max(most, count)
    return most


def test_crowd_of_sandboxes__is_served(world):
    """tries: four sandboxes at once, each with as many connections as it can, some cut off, some garbage.
    must: the service is well meanwhile, and everything is closed afterwards.
    """
    sessions = [world.session() for _ in range(4)]
    over = threading.Event()
    slow = []

    def look():
        while not over.wait(0.1):
            slow.append(world.house.is_well())
    looking = threading.Thread(target=look)
    looking.start()
    try:
        results = house.together(lambda session: world.inside(session, f"""
from concurrent.futures import ThreadPoolExecutor
def one(number):
    try:
        with connect() as line:
            if number % 3 == 0: line.sendall(os.urandom(200) + b"\\r\\n\\r\\n")
            elif number % 3 == 1: line.sendall(b"CONNECT {ALLOWED}:{world.port} HTTP/1.1\\r\\n\\r\\n")
            else: return http_status("{ALLOWED}", {world.port})
    except OSError: return 0
with ThreadPoolExecutor(24) as pool: tell(list(pool.map(one, range(600))).count(200))
"""), sessions)
    finally:
        over.set()
        looking.join()
    # Those beyond the limit were reset.
    assert all(isinstance(result, int) and result > 0 for result in results), results
    assert slow and max(slow) < 20
    for session in sessions:
        again = f"tell([http_status('{ALLOWED}', {world.port}) for _ in range(10)])"
        house.eventually(lambda session=session: world.inside(session, again) == [200] * 10, "the places are free again")


STREAMS = """
def stream(number):
    code, line = tunnel("good.test:%d")
    line.sendall(b"GET /endless-body HTTP/1.1\\r\\n\\r\\n")
    return line
lines = [stream(number) for number in range(%d)]
open("begun", "w").close()
room = bytearray(1 << 20)
total = 0
while not os.path.exists("enough"):
    for line in lines: total += line.recv_into(room)
    if total > 64 << 20: open("much", "w").close()
"""


@runtimes()
def test_streams_at_full_speed__leave_time_for_others(world, runtime):
    """tries: four tunnels without end, read as fast as possible. must: every other request is served meanwhile, also
    through a neighbour's way out; afterwards all ends.
    """
    session, neighbour = session_on(world, runtime), world.session()
    world.begin(session, STREAMS % (world.port, 4))
    house.eventually(lambda: "much" in world.house.bash(session, "ls")["stdout"], "bytes arrive", seconds=120)
    slow = []
    for _ in range(50):
        begun = time.monotonic()
        assert world.house.ask("GET", "/healthz").status == 200
        slow.append(time.monotonic() - begun)
    assert max(slow) < 10, slow
    assert world.inside(neighbour, f"tell(http_status('{ALLOWED}', {world.port}))") == 200
    world.house.bash(session, "touch enough")
    ends = ("closed", "failed", "over_quota", "ended")
    house.eventually(lambda: sum(outcome in ends for outcome in world.outcomes(session)) == 4, "all four ended")


@runtimes()
def test_tunnel_that_is_not_read__costs_no_memory_and_no_time(world, runtime):
    """tries: tunnels to a host that sends without end, from programs that read nothing, or leave in the middle, with
    the smallest buffers, and with every end of a connection there is. must: no memory grows, the service is well, and
    each ends: by the program, or because nothing is transferred.
    """
    session = session_on(world, runtime)
    with world.house.memory_within(64):
        told = world.inside(session, f"""
def stream(number):
    line = connect()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 << 20)
    line.sendall(b"CONNECT good.test:{world.port} HTTP/1.1\\r\\nHost: good.test:{world.port}\\r\\n\\r\\n")
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    line.sendall(b"GET /endless-body HTTP/1.1\\r\\n\\r\\n")
    return line
lines = [stream(number) for number in range(16)]
time.sleep(0.5)
for number, line in enumerate(lines[:12]):
    if number % 4 == 0: line.close()
    elif number % 4 == 1: line.shutdown(socket.SHUT_RD)
    elif number % 4 == 2: line.shutdown(socket.SHUT_WR)
    else:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        line.close()
tell(len(lines))
time.sleep(0.5)
""")
        assert told == 16
        world.house.is_well()
        ends = ("closed", "failed", "over_quota", "ended")
        house.eventually(lambda: sum(outcome in ends for outcome in world.outcomes(session)) == 16, "all ended")


PROXIES = {
    "garbage": b"\x16\x03\x01 no proxy at all\r\n\r\n",
    "nothing": b"",
    "refusal": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
    "login": b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.3/\r\nContent-Length: 0\r\n\r\n",
    "switch": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
    "half": b"HTTP/1.1 200 Connection est",
    "long": b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"y" * (1 << 20),
    "status": b"HTTP/1.1 20 OK\r\n\r\n",
    "lines": b"HTTP/1.1 200 OK\nX: y\n\n",
}


def test_upstream_proxy_that_answers_garbage__is_502(world):
    """tries: a proxy that answers noise, nothing, a redirect, half a head, a head without end, and silence.
    must: 502, or 504 for silence; the password of the proxy is in no answer, event or log.
    """
    world.end_sessions()
    answers = {}
    asked = []

    def garbage(line, heard):
        head = egress_world.read_head(line, heard)
        asked.append(head)
        place = head.split()[1].decode()
        answer = answers[place.partition(".")[0]]
        if answer is None:
            line.recv(1)
            return
        line.sendall(answer)
        if answer == PROXIES["lines"]:
            line.recv(1)

    port = egress_world.free_port()
    proxy = egress_world.Listener(ALLOWED, port, garbage)
    more = "egress: " + json.dumps({
        "choose": {"tenants": "all"}, "connect_timeout": "2s", "upstream_proxy": f"http://user:pass-9f2c71@{ALLOWED}:{port}",
        "rules": {"up": {"tenants": "all", "allow": [f"*.up.test:{world.port}"]}}})
    with contextlib.closing(proxy), house.House(more=more) as server:
        made = server.post("/sessions", {"session_id": "u", "network": {"rules": ["up"]}})
        assert made.status == 201, made
        answers.update(PROXIES | {"silence": None, "good": b"HTTP/1.1 200 OK\r\n\r\n"})
        ran = server.python("u", egress_world.INSIDE + f"""
tell([[connect_status(name + ".up.test:{world.port}"), http_status(name + ".up.test", {world.port})] for name in {list(answers)!r}])
""")
        told = dict(zip(answers, json.loads(ran["stdout"].rsplit("\n@", 1)[1])))
        assert told.pop("good")[0] == 200
        assert told.pop("silence") == [504, 504]
        assert all(codes == [502, 502] for codes in told.values()), told
        assert any(b"Proxy-Authorization: Basic " in head for head in asked)
        books = server.ask("GET", "/sessions/default/u/egress").body.decode()
        for text in (ran["stdout"], books, server.log_text()):
            assert "pass-9f2c71" not in text and "dXNlcjpwYXNzLTlmMmM3MQ" not in text
        server.is_well()
