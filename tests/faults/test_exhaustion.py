"""Descriptors, processes or memory of the server used up: it refuses, says why, and recovers."""
import contextlib
import os
import pathlib
import secrets
import signal
import socket
import subprocess

import pytest
from harness import host
from harness.target import CRUN, cannot_test
from waiting import eventually, seconds_until

DESCRIPTORS = 80


def parent_cgroup(controller):
    """The top of whichever hierarchy has the controller, or None."""
    v1 = pathlib.Path("/sys/fs/cgroup", controller)
    if (v1 / "cgroup.procs").exists():
        return v1
    enabled = pathlib.Path("/sys/fs/cgroup/cgroup.subtree_control")
    return enabled.parent if enabled.exists() and controller in enabled.read_text().split() else None


@contextlib.contextmanager
def cgroup(controller, request):
    """One of the test's own; what is in it in the end goes back to the top."""
    parent = parent_cgroup(controller)
    if parent is None:
        cannot_test("cgroups", request.node.nodeid, f"no hierarchy has the controller {controller}")
    place = parent / ("fault-" + secrets.token_hex(4))
    place.mkdir()
    try:
        yield place
    finally:
        home = parent / "cgroup.procs"
        for pid in (place / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                home.write_text(pid)
        eventually(lambda: not (place / "cgroup.procs").read_text(), "the cgroup is empty")
        place.rmdir()


def test_descriptors_used_up_by_clients__is_whole_again_when_they_go(serve, note):
    server = serve(CRUN, launcher=["prlimit", f"--nofile={DESCRIPTORS}:4096"]).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    lines = []
    for _ in range(DESCRIPTORS * 2):
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(5)
        with contextlib.suppress(OSError):
            line.connect(server.socket)
        lines.append(line)
    eventually(lambda: host.open_descriptors(server.pid) >= DESCRIPTORS - 2, "all descriptors are in use")
    assert server.is_running()
    for line in lines:
        line.close()
    whole = seconds_until(lambda: server.write("new", "file", "x").status == 200, "new sessions can be made")
    assert server.read("s", "kept")["content"] == "x"
    assert "oo many open files" in server.log(200_000)
    note("connections wait", whole)


def test_descriptors_used_up_by_sandboxes__further_sessions_are_refused_and_those_there_go_on(serve, note):
    server = serve(CRUN, launcher=["prlimit", f"--nofile={DESCRIPTORS}:4096"]).start().wait_until_ready()
    answers = []
    for number in range(38):
        answers.append(server.write(f"s{number}", "kept", "x"))
        if answers[-1].status != 200:
            break
    refused = answers[-1]
    assert (refused.status, refused.code) == (503, "unavailable"), [answer.text for answer in answers]
    assert "Too many open files" in server.log(200_000) and "LimitNOFILE" in server.log(200_000), refused.text
    assert server.read("s0", "kept")["content"] == "x"
    for number in range(len(answers)):
        server.end_session(f"s{number}")
    whole = seconds_until(lambda: server.write("new", "file", "x").status == 200, "new sessions can be made")
    note(f"new sessions: {refused.status} {refused.code} after {len(answers) - 1} of them", whole)


def test_processes_used_up__new_sandboxes_are_refused_and_it_recovers(serve, request, note):
    server = serve(CRUN).start().wait_until_ready()
    eventually(lambda: server.stats("session")["idle"] == 2, "the pool is full")
    with cgroup("pids", request) as place:
        (place / "cgroup.procs").write_text(str(server.pid))
        (place / "pids.max").write_text(str(len(os.listdir(f"/proc/{server.pid}/task"))))
        answers = [server.write(f"s{number}", "kept", "x") for number in range(6)]
        made = [answer for answer in answers if answer.status == 200]
        refused = [answer for answer in answers if answer.status != 200]
        assert len(made) >= 2 and refused, [answer.text for answer in answers]
        assert all(answer.status == 503 and answer.took < 35 for answer in refused), [each.text for each in refused]
        assert server.bash("s0", "cat kept")["stdout"] == "x"
        (place / "pids.max").write_text("max")
        whole = seconds_until(lambda: server.write("new", "file", "x").status == 200, "new sessions can be made")
    note(f"new sessions: {refused[0].status} {refused[0].code}; those that live: nothing", whole)


def test_killed_by_the_kernel_for_its_memory__the_next_goes_on(serve, request, note):
    server = serve(CRUN).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    with cgroup("memory", request) as place:
        (place / "cgroup.procs").write_text(str(server.pid))
        limit = "memory.limit_in_bytes" if (place / "memory.limit_in_bytes").exists() else "memory.max"
        (place / limit).write_text(str(24 << 20))
        body = {"session_id": "s", "files": {f"f{number}": "x" * 1_000_000 for number in range(20)}}
        for _ in range(8):
            server.call("POST", "/sessions/default/s/copy", {"files": body["files"]}, timeout=60)
            if not server.is_running():
                break
        if server.is_running():
            pytest.skip("the kernel found memory elsewhere")
        assert server.wait() == -signal.SIGKILL
    took = seconds_until(lambda: server.start().is_running(), "it starts")
    assert server.read("s", "kept")["content"] == "x"
    note("the line breaks", took, "runs in the foreground")


def test_another_clock_after_a_restart__sessions_are_found_and_none_idles_out_early(serve, request):
    """A monotonic clock that says something else, as after a restart of the machine's clock. The time of day cannot be
    changed for one process; only tokens' expiry and what is shown depend on it."""
    server = serve(CRUN, {"sessions": {"idle_timeout": "60s"}}).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    server.kill()
    later = ["unshare", "--time", "--monotonic", "1000000", "--"]
    if subprocess.run([*later, "true"], check=False, capture_output=True).returncode != 0:
        cannot_test("time namespaces", request.node.nodeid, "unshare --time does not work here")
    server.launcher = later
    server.start()
    assert server.read("s", "kept")["content"] == "x"
    server.kill()
    server.launcher = []
    server.start()
    assert server.read("s", "kept")["content"] == "x"
