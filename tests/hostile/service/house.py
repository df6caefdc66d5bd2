"""A real `cloche serve` of the tests' own, and clients of it that keep to no rules.

A case says in its docstring what it `tries:` and what `must:` happen; `red:` names the weakening under which it was seen
to fail (README.md).
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "service"), str(HERE.parents[1] / "support")]
from openapi_server import Server  # noqa: E402
from waiting import eventually  # noqa: E402,F401

PROGRAM = os.environ.get("CLOCHE_PROGRAM", "build/cloche")
PATIENCE = 60

# Everything on crun, whatever else the host has: the default would be the strongest, which is the slowest.
PROFILE = "runtime: crun, pool: {pool_size: 1, scale_limit: 30}"
SESSION = "{" + PROFILE + ", limits: {memory: 256m, pids: 128, work_dir: 128m, file_size: 64m, cpus: 1}}"
DOCKER_SESSION = SESSION.replace("runtime: crun", "runtime: runc, image: cloche-test/debian")


def need(backend, test):
    if backend == "oci":
        need_crun(test)
    elif not os.environ.get("CLOCHE_TEST_DOCKER_HOST"):
        note_missing("docker", test, "there is no Docker engine for tests")


def need_crun(test):
    """Skips, and notes why, where sandboxes cannot be made."""
    why = None
    if os.geteuid() != 0:
        why = "sandboxes are made as root"
    elif not shutil.which("crun"):
        why = "crun is not installed"
    if why is not None:
        note_missing("crun", test, why)


def note_missing(thing, test, why):
    if log := os.environ.get("CLOCHE_MISSING_LOG"):
        with open(log, "a", encoding="utf-8") as notes:
            notes.write(f"{thing}\t{test}\t{why}\n")
    pytest.skip(f"{thing}: {why}")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body.decode("utf-8"))

    def code(self):
        return self.json()["error"]["code"]

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


class House(Server):
    """The server, on a unix socket and on a port of 127.0.0.1; its log has everything, as JSON."""

    def __init__(self, server="", profiles="", more="", backend="oci", session=None, log="debug"):
        session = session or (SESSION if backend == "oci" else DOCKER_SESSION)
        if backend == "docker":
            more += f"\ndocker: {{host: {os.environ['CLOCHE_TEST_DOCKER_HOST']}}}"
        config = (f'backend: {backend}\nserver: {{listen: ["127.0.0.1:0", "unix:SOCKET"]{server}}}\n'
                  f"drain_timeout: 1s\nprofiles:\n  session: {session}\n{profiles}\n"
                  f"log: {{level: {log}, format: json}}\n{more}\n")
        super().__init__(config, [PROGRAM, "serve"])
        self.port = None
        self.token = None

    @classmethod
    def with_liars(cls, lies, **options):
        """Profiles `lie-X` have the agent of liar.py. Its crun is seen by this server alone."""
        profiles = "\n".join(
            f"  {lie}: {{runtime: crun, hostname: {lie}, ready_timeout: 3s, pool: {{pool_size: 0, scale_limit: 3}}}}"
            for lie in lies)
        house = cls(profiles=profiles, **options)
        real, liar, fake = (house.scratch / name for name in ("crun.real", "liar.py", "crun.py"))
        crun = shutil.which("crun")
        shutil.copy(crun, real)
        shutil.copy(HERE / "liar.py", liar)
        text = (HERE / "crun_with_liar.py").read_text(encoding="utf-8")
        fake.write_text(text.replace("@CRUN@", str(real)).replace("@LIAR@", str(liar)), encoding="utf-8")
        for program in (real, liar, fake):
            program.chmod(0o755)
        house.command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh",
                         str(fake), crun, *house.command]
        return house

    def start(self):
        super().start()
        self.port = int(self.printed[-1].rsplit(":", 1)[1])
        # Nobody reads what else it says.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def kill_and_start_again(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.start()

    def rss(self):
        """Resident memory of the server, in MiB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("the server is gone")

    @contextlib.contextmanager
    def memory_within(self, most):
        """Fails when the server's memory grew by more MiB at any moment. It is killed far beyond that, for the host's sake."""
        before, peak, over = self.rss(), [0.0], threading.Event()
        process = self.process

        def watch():
            while not over.wait(0.02):
                with contextlib.suppress(AssertionError, OSError):
                    peak[0] = max(peak[0], self.rss() - before)
                if peak[0] > 4096:
                    process.kill()
        watching = threading.Thread(target=watch)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()
        assert peak[0] < most, f"the server's memory grew by {peak[0]:.0f} MiB"

    def log_text(self):
        return (self.scratch / "log").read_bytes().decode(errors="replace")

    def ask(self, method, target, body=None, headers=None, token=None, timeout=PATIENCE):
        """One request by the rules, JSON unless the body is bytes."""
        headers = dict(headers or {})
        token = token if token is not None else self.token
        if token:
            headers.setdefault("Authorization", "Bearer " + token)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def post(self, target, body, **options):
        return self.ask("POST", target, body, **options)

    def bash(self, session, command, **options):
        answer = self.post("/bash", {"session_id": session, "command": command}, **options)
        assert answer.status == 200, answer
        return answer.json()

    def python(self, session, code, **options):
        answer = self.post("/execute", {"session_id": session, "code": code}, **options)
        assert answer.status == 200, answer
        return answer.json()

    def connect(self, timeout=PATIENCE):
        return contextlib.closing(socket.create_connection(("127.0.0.1", self.port), timeout=timeout))

    def raw(self, data, timeout=PATIENCE):
        """Sends bytes as they are; all that comes back until the server hangs up or is silent for a second."""
        with self.connect(timeout) as line:
            with contextlib.suppress(ConnectionError):
                line.sendall(data)
            return read_all(line)

    def is_well(self, session="neighbour"):
        """Somebody else's sandbox does its work, soon."""
        begun = time.monotonic()
        answer = self.post("/bash", {"session_id": session, "command": "echo well"}, timeout=30)
        assert answer.status == 200 and answer.json()["stdout"] == "well\n", answer
        return time.monotonic() - begun


def read_all(line, quiet=1.0):
    """Until the other end hangs up, or is silent for so long; its first word may take longer."""
    line.settimeout(10)
    got = b""
    with contextlib.suppress(TimeoutError, ConnectionError):
        while part := line.recv(1 << 16):
            got += part
            line.settimeout(quiet)
    return got


def statuses(answers):
    """Of all answers in what a connection gave."""
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]


def name():
    return "s" + secrets.token_hex(4)


def together(work, arguments):
    """All at once, each in a thread; their results in order."""
    results = [None] * len(arguments)

    def one(index, argument):
        try:
            results[index] = work(argument)
        except Exception as error:  # told to whoever looks at the results
            results[index] = error
    threads = [threading.Thread(target=one, args=pair) for pair in enumerate(arguments)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def run(*command, check=True, **options):
    return subprocess.run(command, check=check, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          **options)
