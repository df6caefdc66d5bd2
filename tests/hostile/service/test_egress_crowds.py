"""Ten thousand connections at once to the listener of a sandbox, and of four sandboxes at the same time."""
import contextlib
import json
import os

import egress_world
import house
import pytest
from egress_world import ALLOWED

MOST = 64  # connections of a sandbox at a time
QUOTA = 150  # connections of the tenant
CROWD = 10_000
PROFILE = ("{runtime: crun, pool: {pool_size: 1, scale_limit: 30}, limits: {memory: 768m, pids: 64, open_files: 12000, "
           "work_dir: 64m, file_size: 64m, cpus: 1}}")

# Opens all connections, asks for a tunnel on each that the listener accepts, and holds them until it is told to end.
STORM = """
import errno, resource
place = b"%s:%d"
count = %d
lines, waiting, asked = {}, 0, 0
codes = {}
poll = select.epoll()
def note(what): codes[what] = codes.get(what, 0) + 1
def drop(number, what):
    poll.unregister(number)
    lines.pop(number).close()
    note(what)
def look(seconds):
    for number, events in poll.poll(seconds, 1000):
        line, state = lines[number], states[number]
        try:
            error = line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error: drop(number, errno.errorcode.get(error, str(error)))
            elif state == "connecting":
                line.sendall(b"CONNECT " + place + b" HTTP/1.1\\r\\nHost: " + place + b"\\r\\n\\r\\n")
                states[number] = "asked"
                poll.modify(number, select.EPOLLIN)
            else:
                got = line.recv(4096)
                if not got: drop(number, "closed")
                elif state == "asked":
                    note(str(status(got)))
                    states[number] = "answered"
        except OSError as error: drop(number, errno.errorcode.get(error.errno, "?"))
states = {}
for number in range(count):
    line = socket.socket()
    line.setblocking(False)
    lines[line.fileno()], states[line.fileno()] = line, "connecting"
    poll.register(line.fileno(), select.EPOLLOUT)
    line.connect_ex(("127.0.0.1", 3128))
    if number %% 50 == 0: look(0)
open("tried", "w").close()
while not os.path.exists("enough"): look(0.05)
codes["held"] = sum(states[number] == "answered" for number in lines)
codes["open"] = len(lines)
for line in lines.values(): line.close()
open("told", "w").write(json.dumps(codes))
"""


@pytest.fixture(scope="module")
def world():
    egress_world.need(__name__)
    limits = {"max_connections": MOST, "idle_timeout": "600s"}
    server = f", quotas: {{tenants: {{default: {{egress_connections: {QUOTA}}}}}}}"
    with egress_world.World(egress=lambda _: limits, session=PROFILE, server=server, log="warn") as made:
        yield made


def descriptors(world):
    return len(os.listdir(f"/proc/{world.house.process.pid}/fd"))


def open_now(events):
    ended = {event["id"] for event in events if event["outcome"] in ("closed", "failed", "ended", "over_quota")}
    return {event["id"] for event in events if event["outcome"] == "allowed"} - ended


@pytest.mark.parametrize("sandboxes", [1, 4])
def test_ten_thousand_connections__are_bounded_and_released(world, sandboxes):
    """tries: ten thousand connections at once from each sandbox, each of which asks for a tunnel and keeps it.
    must: at most so many of a sandbox and of the tenant are carried, the rest wait, are reset or get 429; the service
    and its memory do not notice; afterwards everything is closed on both sides, and all places are free.
    """
    world.house.is_well()
    before, held_before = descriptors(world), len(world.allowed.seen)
    sessions = [world.session() for _ in range(sandboxes)]
    runs = []
    with world.house.memory_within(64):
        runs = [world.begin(session, STORM % (ALLOWED, world.port, CROWD)) for session in sessions]
        carried = min(MOST * sandboxes, QUOTA)
        house.eventually(lambda: len(world.allowed.seen) - held_before >= carried, "the allowed ones arrive", seconds=120)
        for session in sessions:
            house.eventually(lambda session=session: "tried" in world.house.bash(session, "ls")["stdout"],
                             "all connections are tried", seconds=120)
        # All of them are there now.
        slowest = max(world.house.is_well() for _ in range(20))
        assert slowest < 10, slowest
        assert world.house.ask("GET", "/healthz", timeout=10).status == 200
        assert sum(len(open_now(world.events(session))) for session in sessions) <= carried
        assert descriptors(world) < before + 2 * carried + 64 * sandboxes
        for session in sessions:
            world.house.bash(session, "touch enough")
        told = [house.eventually(lambda session=session: told_by(world, session), "the program ended", seconds=120)
                for session in sessions]
    for codes in told:
        assert codes["held"] <= MOST, told
        assert set(codes) <= {"200", "429", "held", "open", "closed", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ECONNREFUSED"}, told
    assert sum(codes.get("200", 0) for codes in told) == carried, told
    for session, run in zip(sessions, runs):
        house.eventually(lambda session=session, run=run: state_of(world, session, run) == "ended", "the run ended")
    house.eventually(lambda: not any(open_now(world.events(session)) for session in sessions), "all connections ended")
    for session in sessions:
        again = f"tell([http_status('{ALLOWED}', {world.port}) for _ in range(10)])"
        house.eventually(lambda session=session: world.inside(session, again) == [200] * 10, "the places are free again")
    world.end_sessions()
    house.eventually(lambda: descriptors(world) <= before + 8, "no descriptor of the server is left over")
    world.house.is_well()


def told_by(world, session):
    text = world.house.bash(session, "cat told 2>/dev/null")["stdout"]
    with contextlib.suppress(ValueError):
        return json.loads(text)
    return None


def state_of(world, session, run):
    return world.house.ask("GET", f"/sessions/default/{session}/runs/{run}").json()["state"]
