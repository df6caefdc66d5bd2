"""Servers that are killed with sessions that are paused, or that expire: what was confirmed holds for the next."""
import time

import pytest
from harness.target import CRUN, DOCKER
from waiting import eventually

BOTH = pytest.mark.parametrize("target", [CRUN, DOCKER], ids=lambda target: target.name)

COUNTING = "i=0; while [ ! -e stop ]; do i=$((i+1)); echo $i > count; sleep 0.01; done"


def place(session):
    return f"/sessions/default/{session}"


def state(server, session):
    return server.call("GET", place(session))["state"]


def count(server, session):
    return server.read(session, "count")["content"]


@BOTH
def test_killed_with_a_paused_session__it_stays_paused_and_its_program_continues_after_a_resume(target, serve):
    server = serve(target).start().wait_until_ready()
    started = server.bash("s", COUNTING, background=True)
    assert started.status == 202, started.text
    eventually(lambda: server.read("s", "count").status == 200, "it counts")
    assert server.call("POST", place("s") + "/pause").status == 200
    for _ in range(2):
        server.kill()
        server.start().wait_until_ready()
        assert state(server, "s") == "paused"
        assert server.read("s", "count").code == "session_paused"
    # It stands still: what the sandbox uses of the cpu does not change, once it is frozen again.
    used = settled_use(server, "s")
    time.sleep(0.3)
    assert server.call("GET", place("s") + "/metrics")["cpu_time"] == used
    resumed = server.call("POST", place("s") + "/resume")
    assert (resumed.status, resumed["state"]) == (200, "live"), resumed.text
    before = count(server, "s")
    eventually(lambda: count(server, "s") != before, "it counts again")
    assert server.write("s", "stop", "").status == 200
    ended = server.call("POST", place("s") + f"/runs/{started['run_id']}/wait", {"timeout": 60})
    assert (ended.status, ended["state"]) == (200, "ended"), ended.text
    assert server.terminate() == 0
    eventually(lambda: not server.traces(), "nothing is left")


def settled_use(server, session):
    """The server finds the runs of the session before it freezes it again."""
    seen = []

    def same_twice():
        seen.append(server.call("GET", place(session) + "/metrics")["cpu_time"])
        time.sleep(0.05)
        return len(seen) > 4 and len(set(seen[-4:])) == 1
    eventually(same_twice, "it is frozen again")
    return seen[-1]


@BOTH
def test_killed_with_sessions_that_expire__they_expire_for_the_next(target, serve):
    server = serve(target).start().wait_until_ready()
    for session, options in (("ends", {}), ("pauses", {"on_timeout": "pause"}), ("stays", {})):
        wanted = {"session_id": session, "timeout": 600, "metadata": {"a": session}, **options}
        made = server.call("POST", "/sessions", wanted)
        assert made.status == 201, made.text
    for session in ("ends", "pauses"):
        assert server.call("PUT", place(session) + "/timeout", {"timeout": 2}).status == 200
    server.kill()
    time.sleep(2)  # their time is over while there is no server
    server.start().wait_until_ready()
    eventually(lambda: server.call("GET", place("ends")).status == 404, "it is ended")
    eventually(lambda: state(server, "pauses") == "paused", "it is paused")
    stays = server.call("GET", place("stays"))
    assert (stays["state"], stays["metadata"]) == ("live", {"a": "stays"}) and stays["expires"], stays.text
    assert server.terminate() == 0
    eventually(lambda: not server.traces(), "nothing is left")


def test_told_to_end_with_a_paused_session_in_which_a_program_runs__ends_at_once(serve):
    server = serve(CRUN).start().wait_until_ready()
    assert server.bash("s", COUNTING, background=True).status == 202
    assert server.call("POST", place("s") + "/pause").status == 200
    began = time.monotonic()
    assert server.terminate() == 0
    assert time.monotonic() - began < 10
    eventually(lambda: not server.traces(), "nothing is left")
