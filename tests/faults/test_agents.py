"""Agents that die or fall silent: whoever waits is told at once, nobody else notices, and the pool is whole again."""
import signal
import time

import pytest
from harness import host
from harness.beside import Beside
from harness.target import CRUN, DOCKER, RUNSC
from waiting import eventually, seconds_until

import cloche

AT_ONCE = 30.0
BOTH = pytest.mark.parametrize("target", [CRUN, DOCKER], ids=lambda target: target.name)
ALL = pytest.mark.parametrize("target", [CRUN, RUNSC, DOCKER], ids=lambda target: target.name)


def start_sleeper(server, session="s", **fields):
    """A run that goes on beside the test, once it has begun."""
    run = Beside(server.bash, session, "touch begun; exec sleep 300", **fields)
    eventually(lambda: server.read(session, "begun").status == 200, "the program has begun")
    return run


def expect_lost(answer, began):
    assert (answer.status, answer.code) == (410, "sandbox_lost"), answer.text
    assert time.monotonic() - began < AT_ONCE


def expect_new_session(server, session="s"):
    """Seconds until the session is made anew and works."""
    began = time.monotonic()
    made = server.call("POST", "/sessions", {"session_id": session})
    assert made.status == 201, made.text
    assert server.bash(session, "echo well")["stdout"] == "well\n"
    return time.monotonic() - began


@ALL
def test_killed_under_a_run__the_run_ends_at_once_and_the_session_is_lost_with_its_cause(target, serve, note):
    server = serve(target).start().wait_until_ready()
    run = start_sleeper(server)
    sandbox = server.sandbox_of("s")
    server.write("other", "kept", "x")
    began = time.monotonic()
    host.signal_first(target, sandbox, signal.SIGKILL)
    ended = run.result()
    expect_lost(ended, began)
    told = time.monotonic() - began
    later = server.bash("s", "true")
    assert (later.status, later.code) == (410, "sandbox_lost"), later.text
    assert server.session("s")["state"] == "lost" and server.session("s")["lost_because"]
    assert server.read("other", "kept").status == 200
    whole = expect_new_session(server)
    eventually(lambda: not host.processes_of(target, sandbox), "nothing of the dead one is left")
    note(f"410 sandbox_lost after {told * 1000:.0f} ms", whole, "the session's files")


@BOTH
def test_killed_while_idle__is_replaced_before_anybody_meets_it(target, serve, note):
    server = serve(target).start().wait_until_ready()
    eventually(lambda: server.stats("session").get("idle") == 2, "both are idle")
    idle = server.first_processes()
    began = time.monotonic()
    for process in idle:
        process.send(signal.SIGKILL)
    whole = seconds_until(lambda: server.stats("session").get("idle") == 2 and server.lost("session") == 2,
                          "both have been replaced")
    answer = server.bash("s", "echo well")
    assert (answer.status, answer["stdout"]) == (200, "well\n"), answer.text
    assert not any(process.is_alive() for process in idle)
    note("nothing", whole)
    assert time.monotonic() - began < 60


@BOTH
def test_killed_in_a_lease__its_run_ends_at_once_and_the_next_lease_is_another(target, serve, note):
    server = serve(target).start().wait_until_ready()
    lent = server.call("POST", "/sandboxes/python")["sandbox_id"]
    run = Beside(server.call, "POST", f"/sandboxes/{lent}/run", {"command": "sleep 300", "timeout": 300})
    process = eventually(lambda: server.first_process_running("python", "sleep"), "the program has begun")
    began = time.monotonic()
    process.send(signal.SIGKILL)
    answer = run.result()
    told = time.monotonic() - began
    # The autograder's client knows no other way to be told.
    assert (answer.status, answer["category"]) == (200, "system_error") and told < AT_ONCE, answer.text
    assert "lost" in answer["stderr"]
    server.call("DELETE", f"/sandboxes/{lent}")
    again = server.call("POST", "/sandboxes/python")
    assert again.status == 200 and again["sandbox_id"] != lent, again.text
    ran = server.call("POST", f"/sandboxes/{again['sandbox_id']}/run", {"command": "echo well"})
    assert ran["stdout"] == "well\n"
    note(f"`system_error` after {told * 1000:.0f} ms", time.monotonic() - began - told, "what was in the lease")


@BOTH
def test_killed_under_a_background_run__the_run_is_told_as_lost(target, serve):
    server = serve(target).start().wait_until_ready()
    started = server.bash("s", "echo on; exec sleep 300", background=True)
    assert started.status == 202, started.text
    waiting = Beside(server.call, "POST", f"/sessions/default/s/runs/{started['run_id']}/wait", {"timeout": 60})
    began = time.monotonic()
    host.signal_first(target, server.sandbox_of("s"), signal.SIGKILL)
    answer = waiting.result()
    assert time.monotonic() - began < AT_ONCE
    assert answer.status == 410 or answer["state"] == "ended" and answer["error"]["code"] == "sandbox_lost", answer.text
    expect_new_session(server)


@BOTH
def test_killed_under_a_terminal_and_a_context__both_end_at_once(target, serve):
    server = serve(target).start().wait_until_ready()
    with cloche.Client("unix:" + server.socket, token="", tenant="default") as client:
        client.execute("x = 41", session_id="s", context="c")
        with client.terminal("s", "echo open; exec sleep 300") as terminal:
            terminal.read_until("open")
            forever = "open('begun', 'w'); import time; time.sleep(300)"
            code = Beside(client.execute, forever, session_id="s", context="c")
            eventually(lambda: server.read("s", "begun").status == 200, "the code has begun")
            began = time.monotonic()
            host.signal_first(target, server.sandbox_of("s"), signal.SIGKILL)
            with pytest.raises(cloche.SandboxLostError):
                code.result()
            with pytest.raises(cloche.SandboxLostError):
                terminal.wait(30)
            assert time.monotonic() - began < AT_ONCE
    expect_new_session(server)


@BOTH
def test_stopped_under_a_session__calls_wait_and_go_on_when_it_is_continued(target, serve):
    server = serve(target).start().wait_until_ready()
    server.write("s", "kept", "all of it")
    process = host.signal_first(target, server.sandbox_of("s"), signal.SIGSTOP)
    run = Beside(server.bash, "s", "echo well", within=100)
    server.bash("other", "true")  # others go on
    process.send(signal.SIGCONT)
    answer = run.result()
    assert (answer.status, answer["stdout"]) == (200, "well\n"), answer.text
    assert server.read("s", "kept")["content"] == "all of it"


@BOTH
def test_stopped_for_ever__the_session_can_be_ended_and_its_sandbox_goes(target, serve, note):
    server = serve(target).start().wait_until_ready()
    run = start_sleeper(server)
    sandbox = server.sandbox_of("s")
    host.signal_first(target, sandbox, signal.SIGSTOP)
    began = time.monotonic()
    ended = server.end_session("s")
    assert ended.status == 200, ended.text
    cut = run.result()
    assert cut.code == "sandbox_lost" and time.monotonic() - began < AT_ONCE, cut.text
    told = time.monotonic() - began
    eventually(lambda: not host.processes_of(target, sandbox), "its processes are gone")
    assert expect_new_session(server) < AT_ONCE
    note(f"calls wait; cut off {told * 1000:.0f} ms after DELETE", time.monotonic() - began, "the session")


@BOTH
def test_stopped_while_idle__is_found_by_the_health_check_and_replaced(target, serve, note):
    settings = {"profiles": {"session": {"pool": {"pool_size": 1, "health_interval": "500ms"}}}}
    server = serve(target, settings).start().wait_until_ready()
    eventually(lambda: server.stats("session").get("idle") == 1, "one is idle")
    idle = server.first_processes("session")
    for process in idle:
        process.send(signal.SIGSTOP)
    whole = seconds_until(lambda: server.lost("session") == 1 and server.stats("session").get("idle") == 1, "replaced")
    assert server.bash("s", "echo well")["stdout"] == "well\n"
    assert not any(process.is_alive() for process in idle)
    note("nothing, or a claim that waits", whole)


@pytest.mark.parametrize("target", [CRUN, RUNSC], ids=lambda target: target.name)
def test_all_idle_ones_stopped__a_new_session_gets_one_that_answers(target, serve, note):
    settings = {"profiles": {"session": {"pool": {"pool_size": 2, "health_interval": "10m"}},
                             "python": {"pool": {"pool_size": 1, "health_interval": "10m"}}}}
    server = serve(target, settings).start().wait_until_ready()
    eventually(lambda: server.stats("session").get("idle") == 2, "both are idle")
    eventually(lambda: server.stats("python").get("idle") == 1, "the other pool's, too")
    time.sleep(1.1)  # one that was heard of within a second is not asked again for a lease
    stopped = server.first_processes("session") + server.first_processes("python")
    for process in stopped:
        process.send(signal.SIGSTOP)
    began = time.monotonic()
    answer = server.bash("s", "echo well")
    told = time.monotonic() - began
    assert (answer.status, answer["stdout"]) == (200, "well\n"), answer.text
    lent = server.call("POST", "/sandboxes/python")
    ran = server.call("POST", f"/sandboxes/{lent['sandbox_id']}/run", {"command": "echo well"})
    assert ran["stdout"] == "well\n", ran.text
    assert told < 10
    eventually(lambda: not any(process.is_alive() for process in stopped), "the stopped ones are gone")
    note("nothing; a claim takes a second longer for each", told)


def test_all_of_a_sandbox_stopped__calls_wait_and_go_on_when_continued(serve):
    server = serve(CRUN).start().wait_until_ready()
    server.write("s", "kept", "x")
    processes = host.processes_of(CRUN, server.sandbox_of("s"))
    for process in processes:  # much as a freezer does, which need not be there
        process.send(signal.SIGSTOP)
    run = Beside(server.read, "s", "kept")
    assert server.bash("other", "echo well")["stdout"] == "well\n"
    assert not run.is_done()
    for process in processes:
        process.send(signal.SIGCONT)
    assert run.result()["content"] == "x"


def test_starved_of_cpu__answers_late_and_not_wrongly(serve):
    server = serve(CRUN).start().wait_until_ready()
    made = server.call("POST", "/sessions", {"session_id": "s", "limits": {"cpus": 0.01}})
    assert made.status == 201, made.text
    answer = server.bash("s", "echo well", timeout=60, within=100)
    assert (answer.status, answer["stdout"]) == (200, "well\n"), answer.text


def test_supervisor_of_a_run_killed__the_run_ends_and_the_sandbox_goes_on(serve):
    server = serve(CRUN).start().wait_until_ready()
    run = start_sleeper(server)
    sandbox = server.sandbox_of("s")
    began = time.monotonic()
    for process in host.supervisors_of(CRUN, sandbox):
        process.send(signal.SIGKILL)
    answer = run.result()
    assert time.monotonic() - began < AT_ONCE
    assert answer.status in (200, 410, 500, 502), answer.text
    assert answer.status != 200 or answer["category"] != "success", answer.text
    if answer.status != 410:
        assert server.bash("s", "echo well")["stdout"] == "well\n"
