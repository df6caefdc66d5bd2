"""SIGUSR1, with which an upgrade replaces a server: requests finish, and sandboxes and sessions wait for the next one.
What a service manager is told meanwhile."""
import secrets
import signal
import socket

import pytest
from harness import host
from harness.beside import Beside
from harness.target import CRUN, DOCKER
from waiting import PATIENCE, eventually

BOTH = pytest.mark.parametrize("target", [CRUN, DOCKER], ids=lambda target: target.name)


def hand_over(server):
    server.process.send_signal(signal.SIGUSR1)
    eventually(lambda: server.call("GET", "/healthz").status == 0, "it does not listen any more")


def process_with(target, sandbox, command):
    return next((each for each in host.processes_of(target, sandbox) if command in each.read("cmdline")), None)


@BOTH
def test_told_to_hand_over__answers_what_is_in_flight_and_the_next_has_the_session(target, serve):
    server = serve(target, {"drain_timeout": "60s"}).start().wait_until_ready()
    assert server.write("s", "file", "of the first").status == 200
    started = server.bash("s", "echo on; exec sleep 1000", background=True)
    assert started.status == 202
    sandbox = server.sandbox_of("s")
    in_flight = Beside(server.bash, "s", "sleep 1001; echo answered")
    waits_for = eventually(lambda: process_with(target, sandbox, "sleep\x001001"), "the request is in flight")
    hand_over(server)
    assert server.is_running() and not in_flight.is_done()
    first = host.first_process_of(target, sandbox)
    waits_for.send(signal.SIGTERM)
    answer = in_flight.result()
    assert (answer.status, answer["stdout"]) == (200, "answered\n"), answer.text
    assert server.wait() == 0, server.log()
    assert host.first_process_of(target, sandbox).pid == first.pid

    server.start().wait_until_ready()
    assert server.sandbox_of("s") == sandbox
    assert server.read("s", "file")["content"] == "of the first"
    runs = server.call("GET", "/sessions/default/s/runs")["runs"]
    states = [(run["run_id"], run["state"]) for run in runs if run["background"]]
    assert states == [(started["run_id"], "running")], runs
    assert server.end_session("s").status == 200


def test_told_to_hand_over_with_a_run_that_does_not_end__ends_after_the_drain(serve):
    server = serve(CRUN, {"drain_timeout": "500ms"}).start().wait_until_ready()
    assert server.write("s", "file", "x").status == 200
    run = Beside(server.bash, "s", "touch begun; exec sleep 300")
    eventually(lambda: server.read("s", "begun").status == 200, "it has begun")
    server.process.send_signal(signal.SIGUSR1)
    assert server.wait() == 0, server.log()
    assert run.result().status != 200
    server.start().wait_until_ready()
    assert server.read("s", "file")["content"] == "x"


def test_told_to_stop_while_it_hands_over__removes_everything(serve):
    server = serve(CRUN, {"drain_timeout": "600s"}).start().wait_until_ready()
    run = Beside(server.bash, "s", "touch begun; exec sleep 300")
    eventually(lambda: server.read("s", "begun").status == 200, "it has begun")
    hand_over(server)
    server.process.send_signal(signal.SIGTERM)
    assert server.wait() == 0, server.log()
    assert run.result().status != 200
    eventually(lambda: not server.traces(), "nothing is left")


class Supervisor:
    """What systemd is to a service of `Type=notify`: a socket with an abstract name."""

    def __init__(self):
        self.name = "cloche-test-" + secrets.token_hex(8)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.settimeout(PATIENCE)
        self.socket.bind("\0" + self.name)

    def launcher(self, watchdog_usec):
        return ["env", f"NOTIFY_SOCKET=@{self.name}", f"WATCHDOG_USEC={watchdog_usec}"]

    def until(self, assignment):
        """All messages up to the one that has this line."""
        messages = [self.socket.recv(4096).decode()]
        while assignment not in messages[-1].splitlines():
            messages.append(self.socket.recv(4096).decode())
        return messages


def test_supervised__says_when_it_is_ready_alive_and_stopping(serve):
    supervisor = Supervisor()
    with supervisor.socket:
        server = serve(CRUN, {"drain_timeout": "600s"}, launcher=supervisor.launcher(200_000)).start()
        before = supervisor.until("READY=1")[:-1]
        assert before == ["STATUS=starting"]
        assert server.call("GET", "/healthz").status == 200
        for _ in range(3):
            assert supervisor.until("WATCHDOG=1") == ["WATCHDOG=1"]
        # A watchdog that is not fed during the drain would kill the service.
        run = Beside(server.bash, "s", "touch begun; exec sleep 300")
        eventually(lambda: server.read("s", "begun").status == 200, "it has begun")
        server.process.send_signal(signal.SIGTERM)
        assert set(supervisor.until("STOPPING=1")[:-1]) <= {"WATCHDOG=1"}
        for _ in range(3):
            assert supervisor.until("WATCHDOG=1") == ["WATCHDOG=1"]
        server.process.send_signal(signal.SIGTERM)
        assert server.wait() == 0, server.log()
        run.result()


def test_supervised__no_program_inherits_the_supervisors_socket(serve):
    supervisor = Supervisor()
    with supervisor.socket:
        server = serve(CRUN, launcher=supervisor.launcher(0)).start().wait_until_ready()
        assert server.bash("s", "env")["stdout"].find("NOTIFY_SOCKET") == -1
        sandbox = host.first_process_of(CRUN, server.sandbox_of("s"))
        assert "NOTIFY_SOCKET" not in sandbox.read("environ")
