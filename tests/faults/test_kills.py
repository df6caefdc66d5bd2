"""A server killed at every point where it has written one half of something: the next has all it had confirmed, and
nothing else."""
import signal

import pytest
from harness.everything import fault_points, leave_something
from harness.target import CRUN, DOCKER
from waiting import eventually

OCI_ALONE = {"backend.make.directory", "backend.make.gpus", "backend.make.uids", "backend.make.cgroup",
             "backend.remove.killed", "backend.remove.cgroup", "backend.remove.journalled", "backend.remove.uids",
             "backend.recover.met", "backend.volumes.attached", "backend.volumes.journalled", "backend.volumes.mapped"}
DOCKER_ALONE = {"backend.make.created"}
# Steps between which nothing is written: a server that is killed there is like one that is killed at any time.
NOTHING_WRITTEN = {"backend.remove.kill", "pool.bind", "pool.claim.answered", "pool.claim.before", "pool.claim.queued",
                   "pool.claim.served", "pool.look", "pool.make.begin", "pool.make.interpreters", "pool.monitor",
                   "pool.recover.adopt", "pool.recover.begin", "pool.recover.hold", "pool.recover.reset",
                   "pool.remove.destroy", "pool.reset.begin", "session.end.closed", "session.expire",
                   "session.pause.begun", "session.reap", "session.recover", "session.resume.begun",
                   "snapshot.restore.begun"}


def points():
    """All that there are of backends, pools, sessions and snapshots."""
    return [point for point in fault_points()
            if point.startswith(("backend.", "pool.", "session.", "snapshot.")) and point not in NOTHING_WRITTEN]


def points_of(target):
    other = DOCKER_ALONE if target is CRUN else OCI_ALONE
    return [point for point in points() if point not in other]


def go_through_everything(server):
    """Comes by every point there is, unless the server dies on the way."""
    server.write("made", "file", "x")
    for end in ("", "/destroy"):
        lent = server.call("POST", "/sandboxes/python")
        if lent.status == 200:
            server.call("POST", f"/sandboxes/{lent['sandbox_id']}/run", {"command": "echo on"})
            server.call("DELETE", f"/sandboxes/{lent['sandbox_id']}{end}")
    server.end_session("made")
    server.call("POST", "/sessions", {"session_id": "with-network", "network": "allow-list"})
    server.call("PUT", "/sessions/default/with-network/network", {"network": {"mode": "allow-list", "allow": ["a.test"]}})
    server.write("pausing", "file", "x")
    server.call("POST", "/sessions/default/pausing/pause")
    server.call("POST", "/sessions/default/pausing/resume")
    server.call("PUT", "/sessions/default/pausing/timeout", {"timeout": 3600})
    server.call("POST", "/volumes", {"name": "data", "size": "16m"})
    server.call("POST", "/sessions", {"session_id": "with-volume", "volumes": [{"name": "data"}]})
    server.call("POST", "/sessions/default/kept/snapshots", {"name": "taken"})
    server.call("POST", "/sessions", {"session_id": "from-snapshot", "snapshot": "taken"})
    server.call("POST", "/sessions/default/kept/fork", {"ids": ["forked"]})
    server.call("DELETE", "/snapshots/taken")


def expect_all_of_it(server):
    read = server.read("kept", "a/file")
    assert (read.status, read["content"]) == (200, "all of it"), read.text
    # Whether a session is found before its runs are is a matter of milliseconds.
    runs = eventually(lambda: server.call("GET", "/sessions/default/kept/runs")["runs"], "the run is found again")
    assert [(run["state"], run["background"]) for run in runs] == [("running", True)]
    for session in server.call("GET", "/sessions")["sessions"]:
        # One that was being paused or resumed is either, and works afterwards.
        states = {"asleep": ["paused"], "pausing": ["live", "paused"]}.get(session["session_id"], ["live"])
        assert session["state"] in states, session
    assert server.read("asleep", "file").code == "session_paused"
    # Snapshots that are there are whole; temporary ones are gone.
    for number, taken in enumerate(server.call("GET", "/snapshots")["snapshots"]):
        assert taken["name"] == "taken", taken
        made = server.call("POST", "/sessions", {"session_id": f"again-{number}", "snapshot": taken["id"]})
        assert made.status == 201, made.text
        assert server.read(f"again-{number}", "a/file")["content"] == "all of it"
        assert server.end_session(f"again-{number}").status == 200
    assert server.write("new", "file", "x").status == 200


def expect_to_wake_up(server, session, content):
    if server.call("GET", f"/sessions/default/{session}").status == 404:
        return  # killed before it was confirmed
    resumed = server.call("POST", f"/sessions/default/{session}/resume")
    assert (resumed.status, resumed["state"]) == (200, "live"), resumed.text
    read = server.read(session, "file")
    assert (read.status, read["content"]) == (200, content), read.text


def kill_at(server, point):
    leave_something(server)
    server.start(fault=point)
    if server.is_running():
        go_through_everything(server)
    code = server.wait(60)
    assert code == -signal.SIGKILL, f"it never came by {point}"
    server.start()
    expect_all_of_it(server)
    server.kill()  # and again, at once
    server.start()
    expect_all_of_it(server)
    expect_to_wake_up(server, "asleep", "asleep")
    expect_to_wake_up(server, "pausing", "x")
    assert server.terminate() == 0
    eventually(lambda: not server.traces(), "nothing is left")


@pytest.mark.parametrize("point", points_of(CRUN))
def test_killed_at_a_point__the_next_has_what_was_confirmed_and_nothing_else(point, serve):
    kill_at(serve(CRUN), point)


@pytest.mark.parametrize("point", [point for point in points_of(DOCKER) if not point.startswith(("session.", "snapshot."))])
def test_killed_at_a_point_on_docker__the_next_has_what_was_confirmed_and_nothing_else(point, serve):
    kill_at(serve(DOCKER), point)
