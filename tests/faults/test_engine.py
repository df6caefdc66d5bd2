"""An engine that goes away, hangs, lies or loses things: callers are told quickly, and all is well when it is back."""
import signal
import time

import pytest
from harness import host
from harness.beside import Beside
from harness.target import DOCKER, IMAGE
from waiting import eventually, seconds_until

# A call that cannot be served says so within this.
SOON = 40.0
WHOLE = 60.0


def works(server, session):
    """Whether a session can be used, made anew if it was lost."""
    answer = server.bash(session, "echo well", within=20)
    if answer.code == "sandbox_lost":
        server.end_session(session)
    return answer.status == 200 and answer["stdout"] == "well\n"


def expect_whole(server, session="s"):
    """Seconds until sessions can be made and used; then the engine has nothing that the pools have not."""
    took = seconds_until(lambda: works(server, session), "a session works again", WHOLE)
    eventually(lambda: server.is_ready(), "the server is ready", WHOLE)
    for profile in ("session", "python"):
        eventually(lambda p=profile: len(server.sandboxes(p)) == server.stats(p).get("total"),
                   f"the engine has only what the pool of {profile} has", WHOLE)
    return took


def test_cut_off_and_gone_for_a_while__sessions_are_lost_with_the_cause_and_new_ones_are_made(gate, serve, note):
    server = serve(DOCKER, docker_host=gate.host).start().wait_until_ready()
    run = Beside(server.bash, "s", "exec sleep 300")
    eventually(lambda: server.session("s").status == 200 and server.sandboxes(), "it has begun")
    eventually(lambda: host.supervisors_of(DOCKER, server.sandbox_of("s")), "the program runs")
    began = time.monotonic()
    gate.behave("refuse")
    gate.cut()
    answer = run.result()
    told = time.monotonic() - began
    assert (answer.status, answer.code) == (410, "sandbox_lost") and told < 5, answer.text
    refused = server.bash("other", "true")
    assert (refused.status, refused.code) == (503, "unavailable") and refused.took < SOON, refused.text
    assert server.call("GET", "/readyz").status == 503
    assert server.call("GET", "/healthz").status == 200
    gate.behave("open")
    whole = expect_whole(server)
    note(f"runs: 410 sandbox_lost after {told * 1000:.0f} ms; new sessions: 503 after {refused.took:.1f} s", whole,
         "all sessions and their files")


def test_gone_for_longer_than_it_is_waited_for__nothing_of_what_was_being_made_is_left(gate, serve):
    """Containers that the engine had made when it went, and had nobody to tell of."""
    settings = {"profiles": {"session": {"pool": {"pool_size": 8}}}}
    server = serve(DOCKER, settings, docker_host=gate.host).start()
    eventually(lambda: server.stats("session").get("total"), "it makes sandboxes")
    gate.behave("refuse")
    gate.cut()
    time.sleep(8)  # longer than the reaper waits for an engine to come back
    gate.behave("open")
    expect_whole(server)


def test_hung__calls_wait_and_all_goes_on_when_it_wakes(gate, serve, note):
    server = serve(DOCKER, docker_host=gate.host).start().wait_until_ready()
    server.write("s", "kept", "x")
    gate.behave("hang")
    began = time.monotonic()
    assert server.call("GET", "/readyz", timeout=10).status == 503
    told = time.monotonic() - began
    assert server.call("GET", "/healthz").status == 200
    waiting = Beside(server.read, "s", "kept")
    time.sleep(1)
    gate.behave("open")
    assert waiting.result()["content"] == "x"  # the line to the agent was slow, not broken
    whole = expect_whole(server)
    note(f"/readyz 503 after {told:.1f} s; calls wait", whole)


@pytest.mark.parametrize("way", ["garbage", "half", "short", "error"])
def test_answers_nonsense__is_said_to_be_the_engine_and_passes(way, gate, serve, note):
    server = serve(DOCKER, {"profiles": {"session": {"pool": {"pool_size": 1}}}}, docker_host=gate.host)
    server.start().wait_until_ready()
    server.write("s", "kept", "x")
    gate.behave(way)
    assert server.call("GET", "/readyz").status == 503
    refused = next(a for a in (server.bash(f"n{number}", "true") for number in range(4)) if a.status != 200)
    assert (refused.status, refused.code) == (503, "unavailable") and refused.took < SOON, refused.text
    lease = next(a for a in (server.call("POST", "/sandboxes/python") for _ in range(4)) if a.status != 200)
    assert lease.status == 503, lease.text
    for answer in (refused, lease):
        assert "containers" not in answer.text and "POST" not in answer.text and gate.path not in answer.text, answer.text
    assert server.read("s", "kept")["content"] == "x", "a session needs no new connection to the engine"
    gate.behave("open")
    whole = expect_whole(server, "t")
    note(f"new sessions: {refused.status} {refused.code} after {refused.took:.1f} s; those that live go on", whole)


def test_slow__answers_late_and_not_wrongly(gate, serve):
    gate.delay = 0.05
    server = serve(DOCKER, docker_host=gate.host).start().wait_until_ready()
    gate.behave("slow")
    for number in range(3):
        answer = server.bash(f"s{number}", "echo well", within=100)
        assert (answer.status, answer["stdout"]) == (200, "well\n"), answer.text
    gate.behave("open")
    expect_whole(server)


@pytest.mark.parametrize("how", ["kill", "rm", "pause"])
def test_container_ended_behind_our_back__only_its_session_notices(how, serve, note):
    server = serve(DOCKER).start().wait_until_ready()
    server.write("other", "kept", "x")
    run = Beside(server.bash, "s", "exec sleep 300")
    eventually(lambda: server.session("s").status == 200, "the session is made")
    eventually(lambda: host.supervisors_of(DOCKER, server.sandbox_of("s")), "the program runs")
    container = host.container_of(server.sandbox_of("s"))
    began = time.monotonic()
    host.docker(*{"kill": ["kill"], "rm": ["rm", "-f"], "pause": ["pause"]}[how], container)
    if how == "pause":
        assert server.end_session("s").status == 200
        assert run.result().code == "sandbox_lost"
    else:
        answer = run.result()
        assert (answer.status, answer.code) == (410, "sandbox_lost"), answer.text
        assert time.monotonic() - began < 60
    assert server.read("other", "kept")["content"] == "x"
    note("410 sandbox_lost; others nothing", expect_whole(server), "that session")
    eventually(lambda: container[:12] not in host.containers_of(server.owner), "its container is gone")


def test_derived_image_removed__is_made_again(serve):
    server = serve(DOCKER).start().wait_until_ready()
    # Its own alone: other servers of the same engine may have derived others.
    derived = host.docker("inspect", "--format", "{{.Config.Image}}", host.container_of(server.sandboxes()[0])).strip()
    assert derived.startswith("cloche/sandbox:"), derived
    host.docker("rmi", "-f", derived)
    for number in range(4):
        answer = server.bash(f"s{number}", "echo well")
        assert (answer.status, answer["stdout"]) == (200, "well\n"), answer.text


def test_not_there_when_the_server_starts__says_so_and_leaves_what_was(gate, serve):
    server = serve(DOCKER, docker_host=gate.host).start().wait_until_ready()
    server.write("s", "kept", "all of it")
    server.kill()
    gate.behave("refuse")
    server.start()
    code = server.wait()
    assert code == 69, server.log()
    assert "gate" in server.log()
    gate.behave("open")
    server.start()
    assert server.read("s", "kept")["content"] == "all of it"


def test_does_not_let_go_of_one_container__the_server_starts_all_the_same_and_removes_it_later(gate, serve):
    server = serve(DOCKER, docker_host=gate.host).start().wait_until_ready()
    server.write("s", "kept", "x")
    server.kill()
    left = host.docker("create", "--label", f"cloche.owner={server.owner}", "--label", "cloche.app=cloche", "--label",
                       "cloche.sandbox=0123456789abcdef", IMAGE, "true").strip()
    gate.behave("keep")
    began = time.monotonic()
    server.start()
    assert server.is_running() and time.monotonic() - began < 60, server.log()
    assert server.read("s", "kept")["content"] == "x"
    gate.behave("open")
    eventually(lambda: left[:12] not in host.containers_of(server.owner), "it is removed")


def test_server_told_to_end_while_the_engine_hangs__ends_in_order_once_it_wakes(gate, serve):
    server = serve(DOCKER, {"drain_timeout": "1s"}, docker_host=gate.host).start().wait_until_ready()
    server.write("s", "file", "x")
    gate.behave("hang")
    server.process.send_signal(signal.SIGTERM)
    time.sleep(3)
    assert server.is_running()
    gate.behave("open")
    assert server.wait() == 0, server.log()


def test_server_told_to_end_while_the_engine_hangs_for_good__leaves_and_the_next_removes_the_rest(gate, serve, note):
    server = serve(DOCKER, {"drain_timeout": "1s"}, docker_host=gate.host).start().wait_until_ready()
    server.write("s", "file", "x")
    gate.behave("hang")
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    eventually(lambda: "send another signal to stop at once" in server.log(), "it has heard")
    server.process.send_signal(signal.SIGTERM)  # without this one it takes 45 s, not 10
    code = server.wait(WHOLE)
    took = time.monotonic() - began
    assert code == 70 and took < 30, server.log()
    assert "the next start removes them" in server.log()
    gate.behave("open")
    server.start().wait_until_ready()
    assert server.session("s").status == 404
    note(f"exit code 70 after {took:.0f} s", expect_whole(server, "t"), left="sandboxes, until the next start")
