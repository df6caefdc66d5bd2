"""A private server for one script: it needs no set-up, and leaves nothing when the script ends."""
from __future__ import annotations

import atexit
import json
import os
import pathlib
import secrets
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any, Mapping, Optional, Union

from .client import Client
from .errors import SandboxArgumentError, SandboxPermissionError, SandboxUnavailableError
from .sandbox import Sandbox

START_SECONDS = 120.0
STOP_SECONDS = 60.0
# A unix socket's path has at most so many bytes.
LONGEST_SOCKET = 107

# Waits for the server and cleans up behind it, also when the script is not there any more to do so. A server that did
# not end in order is started once more with nothing to wait for: it takes over what the first one left, and ends it.
# Nothing is removed below a mount, should one have been left.
_KEEPER = """
directory=$1
shift
trap : HUP INT TERM
"$@"
code=$?
if [ "$code" -ne 0 ]; then : | "$@" >/dev/null 2>&1; fi
grep -qF " $directory/" /proc/self/mountinfo || rm -rf -- "$directory"
exit "$code"
"""


def find_program(program: Optional[str] = None) -> str:
    """Find the `cloche` command: the one given, `$CLOCHE_PROGRAM`, the one in PATH, otherwise the build of this
    repository.
    """
    for given, what in ((program, "program"), (os.environ.get("CLOCHE_PROGRAM"), "$CLOCHE_PROGRAM")):
        if given:
            if not os.access(given, os.X_OK) or os.path.isdir(given):
                raise SandboxUnavailableError(f"{what} is {given!r}, which is not an executable program")
            return os.path.abspath(given)
    found = shutil.which("cloche")
    if found:
        return os.path.abspath(found)
    repository = pathlib.Path(__file__).resolve().parents[3]
    for built in ("build/cloche", "build/dev/cloche", "build/release/cloche"):
        if os.access(repository / built, os.X_OK):
            return str(repository / built)
    raise SandboxUnavailableError("the program `cloche` was not found: install it (`make install`), put it in PATH, or "
                                  "set $CLOCHE_PROGRAM or cloche.start(program=...)")


def _environment() -> dict[str, str]:
    """Return the environment without variables that would change the server."""
    kept = ("SANDBOX_WORKER_IMAGE",)
    return {name: value for name, value in os.environ.items()
            if name in kept or not name.startswith(("CLOCHE_", "SANDBOX_", "E2B_"))}


class Server:
    """A running server; see `start`. `url` is its address."""

    def __init__(self, command: list[str], directory: pathlib.Path, socket: pathlib.Path, timeout: float) -> None:
        self.url = f"unix:{socket}"
        self._directory = directory
        self._owner = os.getpid()
        self._log = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _KEEPER, "cloche-keeper", str(directory), *command], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=self._log, env=_environment(), cwd="/",
                start_new_session=True)  # a Ctrl-C is for the script, which then ends the server
        except BaseException:
            self._log.close()
            raise
        atexit.register(self.stop)
        try:
            self._wait_until_listening(timeout)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """The id of the server's process group."""
        return self._process.pid

    def client(self, **options: Any) -> Client:
        """Create a client of this server; the options are those of `Client`."""
        options.setdefault("token", "")
        return Client(self.url, **options)

    def sandbox(self, session_id: Optional[str] = None, **options: Any) -> Sandbox:
        """Create a sandbox of this server; the options are those of `Sandbox`."""
        made = Sandbox(self.client(), session_id, **options)
        made._owns_client = True
        return made

    def log(self) -> str:
        """Return the last part of the server's log."""
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), 65536, max(0, size - 65536)).decode("utf-8", "replace")

    def stop(self) -> None:
        """Stop the server with all its sandboxes, and remove its directory. Has no effect when called again, or in a
        child of the process that started the server.
        """
        if os.getpid() != self._owner or self._log.closed:
            return
        atexit.unregister(self.stop)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            # A signal hastens it.
            if not self._ends_within(STOP_SECONDS) and not self._ends_after(signal.SIGTERM):
                self._ends_after(signal.SIGKILL)
        finally:
            self._process.stdout.close()
            self._log.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Server(url={self.url!r})"

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _ends_after(self, number: int) -> bool:
        os.killpg(self._process.pid, number)
        return self._ends_within(STOP_SECONDS)

    def _wait_until_listening(self, timeout: float) -> None:
        assert self._process.stdout is not None
        end = time.monotonic() + timeout
        printed = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"cloche: listening on " not in printed:
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise SandboxUnavailableError(f"the server did not start within {timeout:g} s:\n{self.log()}")
                piece = os.read(self._process.stdout.fileno(), 65536)
                if not piece:
                    raise SandboxUnavailableError(f"the server did not start:\n{self.log().strip()}")
                printed += piece


def start(backend: str = "oci", config: Union[None, str, "os.PathLike[str]", Mapping[str, Any]] = None, *,
          program: Optional[str] = None, docker_host: Optional[str] = None, log_level: str = "warn",
          timeout: float = START_SECONDS, **options: Any) -> Server:
    """Start a private server, on a unix socket that only this user can reach, with its own directories. It ends with
    the script, even if the script is killed.

    `config` is the path of a cloche.yml, or its content as a dictionary, to which `options` are added:

    >>> import cloche
    >>> with cloche.start(sessions={"most": 4}) as server, server.sandbox() as sandbox:    # doctest: +SKIP
    ...     print(sandbox.run("print('hello')").stdout)
    hello

    By default there is a pool for sessions and one for each language of this host. Fewer pools start sooner:
    `start(profiles={"python": {"pool": {"pool_size": 1}}})`. The backend `oci` needs root.
    """
    if backend not in ("oci", "docker"):
        raise SandboxArgumentError(f"unknown backend {backend!r}; use 'oci' or 'docker'", code="invalid_argument")
    if backend == "oci" and os.geteuid() != 0:
        raise SandboxPermissionError("the backend 'oci' requires root: run this as root, use "
                                     "start(backend='docker'), or use a running server (cloche.Client(url))")
    if config is not None and not isinstance(config, Mapping) and options:
        raise SandboxArgumentError("options cannot be combined with a configuration file; write them into the file",
                                   code="invalid_argument")
    found = find_program(program)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cloche-"))
    try:
        command = _command(found, backend, directory, config, options)
        command += ["--docker-host", docker_host] if docker_host else []
        command += ["--log-level", log_level]
        return Server(command, directory, directory / "api" / "socket", timeout)
    except BaseException:
        # Else its keeper has removed it, or found mounts below it.
        if not (directory / "run").exists():
            shutil.rmtree(directory, ignore_errors=True)
        raise


def _command(program: str, backend: str, directory: pathlib.Path,
             config: Union[None, str, "os.PathLike[str]", Mapping[str, Any]], options: Mapping[str, Any]) -> list[str]:
    directory.chmod(0o711)  # sandboxes' roots are below it, and their users are others
    private = directory / "api"
    private.mkdir(mode=0o700)
    if len(os.fsencode(private / "socket")) > LONGEST_SOCKET:
        raise SandboxArgumentError(f"{private} is too long for a unix socket; set TMPDIR to a shorter path")
    if config is None or isinstance(config, Mapping):
        # Who leaves does not wait for what is under way.
        settings = {"drain_timeout": "1s", **(config or {}), **options}
        file = private / "cloche.yml"
        file.touch(mode=0o600)
        file.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    else:
        file = pathlib.Path(config).absolute()
    return [program, "serve", "--config", str(file), "--listen", f"unix:{private / 'socket'}", "--backend", backend,
            "--instance", "py-" + secrets.token_hex(8), "--state-dir", str(directory / "state"),
            "--run-dir", str(directory / "run"), "--end-with-stdin"]
