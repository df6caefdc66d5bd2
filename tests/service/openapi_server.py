"""`cloche serve` as a process of its own, with directories of its own, and a client of it."""
import contextlib
import http.client
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
START_SECONDS = 60
END_SECONDS = 60


def skip_without_crun(test):
    """Ends the process where sandboxes cannot be made, and notes why."""
    why = None
    if os.geteuid() != 0:
        why = "sandboxes are made as root"
    elif not shutil.which("crun"):
        why = "crun is not installed"
    if why is None:
        return
    if log := os.environ.get("CLOCHE_MISSING_LOG"):
        with open(log, "a", encoding="utf-8") as notes:
            notes.write(f"crun\t{test}\t{why}\n")
    print("skipped:", why)
    sys.exit(SKIPPED)


class Server:
    """Runs from `with` to its end, which it must reach by SIGTERM with exit code 0."""

    def __init__(self, config, command):
        """`command` is what starts it, as a list. All else is in the environment and in the configuration."""
        self.command = command
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="cloche."))
        self.scratch.chmod(0o755)  # a sandbox's root is below it
        self.socket = str(self.scratch / "s")
        config_file = self.scratch / "cloche.yml"
        config_file.write_text(config.replace("SOCKET", self.socket), encoding="utf-8")
        config_file.chmod(0o600)
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("CLOCHE_", "SANDBOX_", "DOCKER_", "E2B_"))
        } | {
            "CLOCHE_CONFIG": str(config_file),
            "CLOCHE_STATE_DIR": str(self.scratch / "state"),
            "CLOCHE_RUN_DIR": str(self.scratch / "run"),
            "CLOCHE_INSTANCE": "test-" + secrets.token_hex(6),
        }
        self.process = None
        self.printed = []
        self.log = open(self.scratch / "log", "w+b")

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.clean_up()
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            code = self.end()
            if kind is not None or code != 0:
                self.show_log()
            if kind is None and code != 0:
                raise AssertionError(f"after SIGTERM the exit code is {code}, not 0")
        finally:
            self.clean_up()

    def start(self):
        self.process = subprocess.Popen(self.command, cwd=self.scratch, env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        # A server that never says so is killed, which ends the loop below.
        watchdog = threading.Timer(START_SECONDS, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stdout:
                self.printed.append(line.rstrip("\n"))
                if line.startswith("cloche: listening on "):
                    return
        finally:
            watchdog.cancel()
        self.show_log()
        raise AssertionError(f"the server did not start: exit code {self.process.wait()}")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return f"none: killed, because it did not end in {END_SECONDS} s"

    def clean_up(self):
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def show_log(self):
        self.log.seek(0)
        sys.stderr.write("the server's log ends with:\n" + self.log.read().decode(errors="replace")[-4000:])

    def run(self, *command):
        """Another command with the same directories and configuration; what it prints."""
        ran = subprocess.run(command, cwd=self.scratch, env=self.environment, check=True, stdout=subprocess.PIPE,
                             text=True, timeout=60)
        return ran.stdout

    @contextlib.contextmanager
    def connection(self):
        connection = UnixConnection(self.socket)
        try:
            yield connection
        finally:
            connection.close()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
