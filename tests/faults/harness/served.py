"""`cloche serve` as a process: started, killed, told to end, started again over the same directories."""
import contextlib
import json
import os
import pathlib
import secrets
import signal
import subprocess
import threading

from . import host
from .answers import call
from .target import engine_host
from waiting import PATIENCE, eventually

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def program():
    return os.environ.get("CLOCHE_PROGRAM") or str(REPOSITORY / "build/dev/cloche")


def merged(over, under):
    """Dictionaries of dictionaries, key by key."""
    made = dict(under)
    for key, value in over.items():
        made[key] = merged(value, made[key]) if isinstance(value, dict) and isinstance(made.get(key), dict) else value
    return made


def settings_for(target):
    """A small server: a pool of sessions, and one to borrow from."""
    limits = {"memory": "128m", "cpus": 1, "pids": 96 if target.runtime != "runsc" else 256}
    return {
        "drain_timeout": "200ms",
        "sessions": {"most": 40},
        "egress": {"choose": {"tenants": "all"}},
        "profiles": {
            "session": {**target.sandbox(), "limits": limits, "pool": {"pool_size": 2, "scale_limit": 44}},
            "python": {**target.sandbox(), "work_dir": "/app", "limits": limits,
                       "pool": {"pool_size": 1, "scale_limit": 3}},
        },
    }


class Served:
    """Its directories are in `scratch`, a short path. `settings` stand over those of `settings_for`."""

    def __init__(self, scratch, target, settings=None, *, name="a", instance=None, docker_host=None, state_dir=None,
                 launcher=()):
        self.target = target
        self.scratch = pathlib.Path(scratch)
        self.instance = instance or "fault-" + secrets.token_hex(6)
        self.socket = str(self.scratch / f"{name}.s")
        self.state_dir = pathlib.Path(state_dir or self.scratch / f"{name}-state")
        self.run_dir = str(self.scratch / f"{name}-run")
        self.launcher = list(launcher)
        self.docker_host = docker_host or engine_host()
        self.token = None
        self._owner = ""
        self.process = None
        self.printed = ""
        self.log_file = self.scratch / f"{name}.log"
        self.config = self.scratch / f"{name}.yml"
        self.config.touch(mode=0o600)
        self.config.write_text(json.dumps(merged(settings or {}, settings_for(target))), encoding="utf-8")

    @property
    def pid(self):
        return self.process.pid

    @property
    def instance_dir(self):
        return self.state_dir / "instances" / self.target.backend / self.instance

    @property
    def owner(self):
        """The id that all of its sandboxes carry; empty before its first start. Also known once the file is gone."""
        with contextlib.suppress(OSError, ValueError):
            self._owner = json.loads((self.instance_dir / "identity").read_text())["id"]
        return self._owner

    def command(self):
        made = [*self.launcher, program(), "serve", "--config", str(self.config), "--listen", "unix:" + self.socket,
                "--backend", self.target.backend, "--instance", self.instance, "--state-dir", str(self.state_dir),
                "--run-dir", self.run_dir, "--log-level", "info", "--log-format", "text"]
        return made + (["--docker-host", self.docker_host] if self.target.is_docker else [])

    def launch(self, fault=None):
        """Without waiting for anything. `fault` is the point at which it is to be killed."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("CLOCHE_", "SANDBOX_", "DOCKER_", "E2B_"))}
        if fault:
            environment["CLOCHE_FAULT"] = fault
        self.printed = ""
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                            env=environment, cwd="/")
        return self

    def start(self, fault=None, seconds=PATIENCE * 2):
        """Until it listens and has taken over what was there, or has ended."""
        self.launch(fault)
        watchdog = threading.Timer(seconds, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stdout:
                self.printed += line.decode()
                if line.startswith(b"cloche: listening on "):
                    return self
        finally:
            watchdog.cancel()
        self.process.wait(seconds)
        return self

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        self.process.kill()
        return self.wait()

    def terminate(self, seconds=PATIENCE * 2):
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds=PATIENCE * 2):
        """Its exit code; minus a signal's number. One that does not end is killed, and fails the test."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not end within {seconds:g} s\n{self.log()}") from None
        finally:
            self.process.stdout.close()
        return code

    def log(self, size=6000):
        text = self.log_file.read_text(errors="replace") if self.log_file.exists() else ""
        return text[-size:]

    # Calls.

    def call(self, method, target, body=None, **options):
        options.setdefault("token", self.token)
        return call(self.socket, method, target, body, **options)

    def execute(self, session, code, **fields):
        timeout = fields.pop("within", PATIENCE)
        return self.call("POST", "/execute", {"session_id": session, "code": code, **fields}, timeout=timeout)

    def bash(self, session, command, **fields):
        timeout = fields.pop("within", PATIENCE)
        return self.call("POST", "/bash", {"session_id": session, "command": command, **fields}, timeout=timeout)

    def write(self, session, path, content):
        return self.call("POST", "/write", {"session_id": session, "path": path, "content": content})

    def read(self, session, path):
        return self.call("POST", "/read", {"session_id": session, "path": path})

    def session(self, session):
        return self.call("GET", f"/sessions/default/{session}")

    def end_session(self, session, mode="cut"):
        return self.call("DELETE", f"/sessions/default/{session}?mode={mode}")

    def sandbox_of(self, session):
        return self.session(session)["sandbox"]

    def stats(self, profile):
        answer = self.call("GET", "/stats")
        return answer[profile] if answer.status == 200 else {}

    def metric(self, line):
        """The value of the line of /metrics that begins so."""
        for each in self.call("GET", "/metrics").text.splitlines():
            if each.startswith(line + " "):
                return float(each.rpartition(" ")[2])
        return None

    def lost(self, profile):
        """Sandboxes of the pool that died, since the server started."""
        return self.metric(f'cloche_pool_events_total{{profile="{profile}",event="lost"}}')

    def sandboxes(self, profile="session"):
        """The ids of all that there are on the host, lent or not."""
        label = f"pool.profile={profile}"
        if self.target.is_docker:
            return host.docker("ps", "-a", "--filter", f"label=cloche.owner={self.owner}", "--filter",
                               "label=" + label, "--format", '{{.Label "cloche.sandbox"}}').split()
        found = []
        for record in pathlib.Path(self.run_dir, self.owner, "sandboxes").glob("*/sandbox.json"):
            with contextlib.suppress(OSError):
                if f'"pool.profile":"{profile}"' in record.read_text().replace(" ", ""):
                    found.append(record.parent.name)
        return found

    def first_processes(self, profile="session"):
        """Process 1 of each of them."""
        return [first for each in self.sandboxes(profile) if (first := host.first_process_of(self.target, each))]

    def first_process_running(self, profile, command):
        """Process 1 of the sandbox in which a program of this name runs."""
        for each in self.sandboxes(profile):
            if any(process.name == command for process in host.processes_of(self.target, each)):
                return host.first_process_of(self.target, each)
        return None

    def is_ready(self):
        return self.call("GET", "/readyz", timeout=10).status == 200

    def wait_until_ready(self, seconds=PATIENCE):
        eventually(self.is_ready, "the server is ready", seconds)
        return self

    def traces(self):
        return host.traces_of(self.owner, self.run_dir, self.target.backend)

    def clean_up(self):
        """Whatever a failed test left: a server that is started once more and told to end removes it."""
        if self.process is None:
            return
        if self.is_running():
            self.process.send_signal(signal.SIGCONT)
            self.terminate()
        if self.traces():
            self.launcher = []
            self.docker_host = engine_host()
            self.start()
            self.terminate()
