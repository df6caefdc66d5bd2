"""Servers killed at any moment under load, told to end while they start or are busy, and two of them on one host."""
import os
import random
import signal
import threading
import time

import pytest
from harness import host
from harness.beside import Beside
from harness.target import CRUN, DOCKER
from waiting import eventually

import cloche

BOTH = pytest.mark.parametrize("target", [CRUN, DOCKER], ids=lambda target: target.name)


class Writer(threading.Thread):
    """Writes numbers to a file of a session, one after the other, and knows which of them were confirmed."""

    def __init__(self, server, session):
        super().__init__(daemon=True)
        self.server, self.session = server, session
        self.confirmed, self.tried = 0, 0
        self.stopped = threading.Event()
        self.unexpected = []

    def run(self):
        while not self.stopped.is_set():
            self.tried += 1
            answer = self.server.write(self.session, "number", str(self.tried))
            if answer.status == 200:
                self.confirmed = self.tried
            elif answer.status not in (0, 503):  # no server, or one that is starting
                self.unexpected.append(answer.text)
            if answer.status != 200:
                time.sleep(0.02)


@BOTH
def test_killed_at_random_moments_under_load__nothing_confirmed_is_lost(target, serve, note):
    server = serve(target).start().wait_until_ready()
    writers = [Writer(server, f"s{number}") for number in range(4)]
    for writer in writers:
        writer.start()
    chance = random.Random(7)
    whole = []
    for _ in range(4 if target is CRUN else 2):
        before = [writer.confirmed for writer in writers]
        eventually(lambda: all(w.confirmed > b for w, b in zip(writers, before)), "all have written")
        time.sleep(chance.random() * 0.3)
        began = time.monotonic()
        server.kill()
        server.start()
        whole.append(time.monotonic() - began)
    for writer in writers:
        writer.stopped.set()
    for writer in writers:
        writer.join(60)
        assert not writer.unexpected, writer.unexpected[:3]
        read = server.read(writer.session, "number")
        assert read.status == 200 and writer.confirmed <= int(read["content"]) <= writer.tried, read.text
    note("the line breaks; 503 until it has taken over", max(whole), "runs in the foreground, contexts, leases")


def test_killed_with_an_idle_agent_that_is_silent__the_next_start_does_not_wait_long_for_it(serve):
    server = serve(CRUN, {"profiles": {"session": {"pool": {"pool_size": 1}}}}).start().wait_until_ready()
    eventually(lambda: server.stats("session")["idle"] == 1, "one is idle")
    for process in server.first_processes():
        process.send(signal.SIGSTOP)
    server.kill()
    began = time.monotonic()
    server.start()
    assert time.monotonic() - began < 28  # 5 s, and not the 30 s that a new one has
    assert server.write("s", "file", "x").status == 200


@BOTH
def test_told_to_end_while_it_starts__leaves_nothing(target, serve):
    server = serve(target)
    for delay in (0.05, 0.15, 0.3, 0.6):
        server.launch()
        # A server that has not come to reading its signals yet has made nothing either.
        time.sleep(delay)
        server.process.send_signal(signal.SIGTERM)
        assert server.wait() in (0, -signal.SIGTERM)
        eventually(lambda: not server.traces(), "nothing is left")


@BOTH
def test_told_to_end_while_it_takes_over__ends_sessions_in_order(target, serve):
    server = serve(target).start().wait_until_ready()
    for number in range(4):
        assert server.write(f"s{number}", "file", "x").status == 200
    server.kill()
    server.launch()
    eventually(lambda: server.call("GET", "/healthz").status == 200, "it listens")
    server.process.send_signal(signal.SIGTERM)
    assert server.wait() == 0, server.log()
    eventually(lambda: not server.traces(), "nothing is left")


@BOTH
def test_told_to_end_under_load__what_ends_in_time_is_answered(target, serve):
    server = serve(target, {"drain_timeout": "20s"}).start().wait_until_ready()
    short = [Beside(server.bash, f"s{number}", "touch begun; sleep 1; echo done") for number in range(4)]
    for number in range(4):
        eventually(lambda n=number: server.read(f"s{n}", "begun").status == 200, "it has begun")
    server.process.send_signal(signal.SIGTERM)
    for run in short:
        answer = run.result()
        assert (answer.status, answer["stdout"]) == (200, "done\n"), answer.text
    late = server.bash("s0", "true")
    assert late.status in (0, 503), late.text
    assert server.wait() == 0


def test_told_to_end_with_a_run_that_does_not__is_cut_after_the_drain_and_a_second_signal_hastens(serve):
    server = serve(CRUN, {"drain_timeout": "600s"}).start().wait_until_ready()
    lent = server.call("POST", "/sandboxes/python")
    assert lent.status == 200
    server.process.send_signal(signal.SIGTERM)
    eventually(lambda: server.call("GET", "/healthz").status == 0, "it does not listen any more")
    assert server.is_running()
    server.process.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0


def test_told_twice_to_end_with_runs_under_way__cuts_them_and_ends_in_order(serve):
    server = serve(CRUN, {"drain_timeout": "600s"}).start().wait_until_ready()
    run = Beside(server.bash, "s", "touch begun; exec sleep 300")
    eventually(lambda: server.read("s", "begun").status == 200, "it has begun")
    assert server.bash("t", "exec sleep 300", background=True).status == 202
    server.process.send_signal(signal.SIGTERM)
    eventually(lambda: server.call("GET", "/healthz").status == 0, "it does not listen any more")
    server.process.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0, server.log()
    assert run.result().status in (0, 410)


def test_two_restarts_at_once__the_second_says_who_has_the_instance(serve):
    server = serve(CRUN).start().wait_until_ready()
    assert server.write("s", "file", "x").status == 200
    second = serve(CRUN, instance=server.instance, state_dir=server.state_dir, name="b")
    second.run_dir = server.run_dir
    began = time.monotonic()
    second.start()
    assert second.wait() == 70 and time.monotonic() - began < 20
    assert f"instance '{server.instance}' of the state directory {server.state_dir} is in use by process {server.pid}" in second.log()
    assert "stop that process, or choose another `instance` or `state_dir`" in second.log()
    assert server.read("s", "file").status == 200
    second.process = None


@BOTH
def test_two_servers_of_one_host__neither_touches_what_is_the_others(target, serve):
    first, second = serve(target).start(), serve(target).start()
    first.wait_until_ready(), second.wait_until_ready()
    assert first.write("s", "file", "of the first").status == 200
    assert second.write("s", "file", "of the second").status == 200
    first.kill()
    assert second.read("s", "file")["content"] == "of the second"
    second.kill()
    second.start()
    assert second.read("s", "file")["content"] == "of the second"
    first.start()
    assert first.read("s", "file")["content"] == "of the first"
    assert second.terminate() == 0
    assert first.read("s", "file")["content"] == "of the first"
    eventually(lambda: not second.traces(), "nothing is left of the second")


def test_stopped_and_continued__sessions_that_were_idle_too_long_are_ended_and_others_go_on(serve):
    """What a suspend looks like to a server: nothing ran for a while, and the clock has gone on."""
    server = serve(CRUN, {"sessions": {"idle_timeout": "2s"}}).start().wait_until_ready()
    assert server.write("idle", "file", "x").status == 200
    assert server.bash("busy", "exec sleep 1000", background=True).status == 202
    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(server.pid, signal.SIGCONT)
    eventually(lambda: server.session("idle").status == 404, "the idle one has ended")
    assert server.session("busy")["state"] == "live"
    assert server.write("new", "file", "x").status == 200


@BOTH
def test_killed_with_a_background_run_and_a_context__the_run_goes_on_and_the_context_says_it_is_fresh(target, serve):
    server = serve(target).start().wait_until_ready()
    with cloche.Client("unix:" + server.socket, token="", tenant="default") as client:
        client.execute("x = 41", session_id="s", context="c")
        counting = "import time\nfor i in range(10**9):\n  print(i, flush=True)\n  time.sleep(.05)"
        run = client.background(counting, session_id="s")
        eventually(lambda: run.read().text.count("\n") > 3, "it prints")
        sandbox = server.sandbox_of("s")
        server.kill()
        server.start()
        assert server.sandbox_of("s") == sandbox
        lines = eventually(lambda: (text := run.read().text).count("\n") > 8 and text, "it goes on").splitlines()
        assert lines[:8] == [str(number) for number in range(8)]
        answer = server.execute("s", "x", context="c")
        assert answer.status == 200 and answer["fresh"] is True, answer.text
    assert host.first_process_of(target, sandbox)
