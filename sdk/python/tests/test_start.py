"""The server that a script has for itself, and that nothing of it is left however the script ends."""
import glob
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading

import pytest
from support import SCRIPT_SECONDS, eventually, need_backend, python, run_async, settings_of

import cloche
import cloche.aio

BACKENDS = pytest.mark.parametrize("backend", ["oci", "docker"])

# In which the script's program sleeps; no other process has this number among its arguments.
SECONDS = str(random.randrange(10**8, 10**9))

# Says where the server is when a program runs in it.
SCRIPT = """
import sys, time, cloche
sys.path.insert(0, {tests!r})
from support import settings_of
server = cloche.start(**settings_of({backend!r}))
sandbox = server.sandbox()
sandbox.background("sleep {seconds}", "bash")
sandbox.terminal()
with server.client().lease("python") as lease:
    print(server.url[len("unix:"):], server.pid, flush=True)
    {then}
"""


def directory_of(url):
    return pathlib.Path(url[len("unix:"):]).parent.parent


def left_behind(directory):
    """Of a server: its directory, and processes and cgroups that name it or its sandboxes."""
    found = [str(directory)] if directory.exists() else []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            line = pathlib.Path(path).read_bytes()
        except OSError:
            continue
        if os.fsencode(str(directory)) in line:
            found.append(f"{path}: {line!r}")
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        if f" {directory}/" in line:
            found.append(line)
    return found


def sleepers():
    """Processes of the script's program, in the sandbox of any backend."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if SECONDS.encode() in pathlib.Path(path).read_bytes() and "python" not in os.readlink(path[:-7] + "exe"):
                found.append(path)
        except OSError:
            continue
    return found


@pytest.fixture
def script():
    started = []

    def start(backend, then):
        code = SCRIPT.format(tests=str(pathlib.Path(__file__).parent), backend=backend, seconds=SECONDS, then=then)
        process = python(code)
        started.append(process)
        words = process.stdout.readline().split()
        assert words, process.stderr.read()
        return process, directory_of("unix:" + words[0]), int(words[1])
    yield start
    for each in started:
        each.kill()
        each.wait()
        each.stdout.close()
        each.stderr.close()


@BACKENDS
def test_server_ends_with_its_block(backend):
    need_backend(backend, "start")
    with cloche.start(**settings_of(backend)) as server:
        directory = directory_of(server.url)
        assert oct((directory / "api").stat().st_mode & 0o777) == "0o700"
        with server.sandbox() as sandbox:
            assert sandbox.run("print(42)").stdout == "42\n"
    assert not left_behind(directory)
    server.stop()
    with pytest.raises(cloche.SandboxUnavailableError):
        server.client().health()


@BACKENDS
def test_script_that_ends_takes_its_server_along(backend, script):
    need_backend(backend, "start")
    process, directory, _ = script(backend, "pass")
    assert process.wait(SCRIPT_SECONDS) == 0, process.stderr.read()
    assert not left_behind(directory) and not sleepers()


@BACKENDS
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_script_that_is_killed_takes_its_server_along(backend, how, script):
    need_backend(backend, "start")
    process, directory, _ = script(backend, "time.sleep(600)")
    assert eventually(sleepers)  # the program is started when the service says so, and appears a little later
    process.send_signal(how)
    process.wait(SCRIPT_SECONDS)
    assert eventually(lambda: not left_behind(directory) and not sleepers()), left_behind(directory)


def children_of(pid):
    path = f"/proc/{pid}/task/{pid}/children"
    return [int(each) for each in pathlib.Path(path).read_text().split()]


@BACKENDS
def test_server_that_is_killed_leaves_nothing_either(backend, script):
    need_backend(backend, "start")
    process, directory, keeper = script(backend, "time.sleep(600)")
    (server,) = children_of(keeper)
    os.kill(server, signal.SIGKILL)
    assert eventually(lambda: not left_behind(directory) and not sleepers()), left_behind(directory)
    process.kill()


def kill(server):
    (process,) = children_of(server.pid)
    os.kill(process, signal.SIGKILL)


def test_server_that_is_killed_has_not_lost_the_sandbox_of_a_terminal():
    need_backend("oci", "start")
    with cloche.start(**settings_of("oci")) as server, server.client() as client:
        with client.terminal("s") as terminal:
            terminal.write("echo $((6 * 7))\n")
            terminal.read_until("42")
            kill(server)
            for ask in (lambda: terminal.read_until("no"), terminal.wait, terminal.read, lambda: terminal.write("x")):
                with pytest.raises(cloche.SandboxUnavailableError) as caught:
                    ask()
                assert caught.value.code == "unavailable"


def test_server_that_is_killed_has_not_lost_the_sandbox_of_a_terminal_on_asyncio():
    async def work(server):
        async with cloche.aio.Client(server.url) as client, client.terminal("s") as terminal:
            await terminal.write("echo $((6 * 7))\n")
            await terminal.read_until("42")
            kill(server)
            for ask in (lambda: terminal.read_until("no"), terminal.wait, terminal.read, lambda: terminal.write("x")):
                with pytest.raises(cloche.SandboxUnavailableError) as caught:
                    await ask()
                assert caught.value.code == "unavailable"
    need_backend("oci", "start")
    with cloche.start(**settings_of("oci")) as server:
        run_async(work(server))


def test_terminal_that_is_closed_while_it_is_read_is_lost():
    need_backend("oci", "start")
    with cloche.start(**settings_of("oci")) as server, server.client() as client, client.terminal("s") as terminal:
        terminal.write("echo $((6 * 7))\n")
        terminal.read_until("42")
        closing = threading.Timer(0.2, terminal.close)
        closing.start()
        with pytest.raises(cloche.SandboxLostError):
            terminal.read_until("never")
        closing.join()


def test_options_are_the_configuration():
    need_backend("oci", "start")
    with cloche.start(**settings_of("oci", sessions={"most": 1})) as server, server.client() as client:
        client.bash("true", session_id="a")
        with pytest.raises(cloche.SandboxResourceError):
            client.bash("true", session_id="b")


def test_configuration_file_is_used(tmp_path):
    need_backend("oci", "start")
    config = tmp_path / "cloche.yml"
    config.write_text("profiles: {only: {runtime: crun, pool: {pool_size: 0}}}\nsessions: {profile: only}\n"
                      "dialects: {e2b: {enabled: false}}\n")
    config.chmod(0o600)
    with cloche.start(config=config) as server, server.client() as client:
        assert set(client.stats()) == {"only"}
    with pytest.raises(cloche.SandboxArgumentError):
        cloche.start(config=config, sessions={"most": 1})


def empty_of_ours():
    return not glob.glob(os.path.join(tempfile.gettempdir(), "cloche-????????"))


def test_configuration_that_makes_no_sense_is_said(monkeypatch, tmp_path):
    need_backend("oci", "start")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(cloche.SandboxUnavailableError, match="colour"):
        cloche.start(colour="blue")
    assert eventually(empty_of_ours)


def test_program_that_is_not_found_is_said(monkeypatch, tmp_path):
    need_backend("oci", "start")
    with pytest.raises(cloche.SandboxUnavailableError, match="not an executable program"):
        cloche.start(program=str(tmp_path / "missing"))
    monkeypatch.setenv("CLOCHE_PROGRAM", str(tmp_path))
    with pytest.raises(cloche.SandboxUnavailableError, match="CLOCHE_PROGRAM"):
        cloche.start()
    # Installed elsewhere, and with nothing in PATH.
    code = ("import sys, importlib.util as u, cloche, cloche.server as s; s.__file__ = '/nowhere/a/b/c/d.py'\n"
            "try: s.find_program()\nexcept cloche.SandboxUnavailableError as e: print('make install' in str(e))")
    environment = {name: value for name, value in os.environ.items() if name != "CLOCHE_PROGRAM"} | {"PATH": "/nowhere"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout == "True\n", ran.stderr


def test_backend_that_there_is_not_and_user_that_is_not_root(monkeypatch):
    with pytest.raises(cloche.SandboxArgumentError, match="'oci' or 'docker'"):
        cloche.start(backend="e2b")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(cloche.SandboxPermissionError, match="root"):
        cloche.start()


def test_variables_of_another_server_do_not_matter(monkeypatch):
    need_backend("oci", "start")
    monkeypatch.setenv("CLOCHE_CONFIG", "/nowhere.yml")
    monkeypatch.setenv("SANDBOX_BACKEND", "e2b")
    monkeypatch.setenv("E2B_API_KEY", "x")
    monkeypatch.setenv("CLOCHE_TOKEN", "of-another-server")
    with cloche.start(**settings_of("oci")) as server, server.client() as client:
        assert client.health() and client.sessions() == []
