"""Servers for the tests of this folder. Each must leave nothing on the host, whatever was done to it."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parents[1] / "sdk/python")]

from harness.engine_gate import EngineGate  # noqa: E402
from harness.served import Served  # noqa: E402
from harness.target import cannot_test, engine_socket, lack_of  # noqa: E402
from waiting import eventually  # noqa: E402


@pytest.fixture
def scratch():
    """A short path, because sockets are in it; open, because a sandbox's root is below it."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="cloche."))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def serve(scratch, request):
    """Makes servers, not started. In the end all of them are told to end, and nothing of them may be there."""
    made = []

    def make(target, settings=None, **options):
        if lack := lack_of(target):
            cannot_test(lack[0], request.node.nodeid, lack[1])
        options.setdefault("name", "abcdefgh"[len(made)])
        made.append(Served(scratch, target, settings, **options))
        return made[-1]

    yield make
    failed = []
    for server in made:
        if server.process is None:
            continue
        try:
            code = server.terminate() if server.is_running() else 0
            eventually(lambda s=server: not s.traces(), f"nothing is left of {server.instance}")
            if code != 0:
                failed.append(f"{server.instance}: exit code {code} after SIGTERM")
        except AssertionError as left:
            failed.append(f"{left}: {server.traces()}")
        finally:
            server.clean_up()
    tail = "\n".join(server.log() for server in made) if failed or request.node.stash.get(FAILED, False) else ""
    if tail:
        print(tail)
    assert not failed, failed


FAILED = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.failed:
        item.stash[FAILED] = True


@pytest.fixture
def gate(scratch):
    """In front of the tests' engine."""
    if not engine_socket():
        pytest.skip("there is no engine at a unix socket")
    with EngineGate(scratch / "gate", engine_socket()) as made:
        yield made


@pytest.fixture
def tmpfs(scratch):
    """Makes file systems of a given size that go with the test."""
    mounted = []

    def make(name, size):
        place = scratch / name
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", str(place)], check=True)
        mounted.append(place)
        return place

    yield make
    for place in reversed(mounted):
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def note(request):
    """Tells what was measured, for the table of docs/operations.md: lines in the file $CLOCHE_FAULT_NOTES."""
    def write(seen, whole, lost="nothing", left="nothing"):
        line = f"{request.node.nodeid.partition('::')[2]} | {seen} | {whole:.2f} s | {lost} | {left}"
        print(line)
        if file := os.environ.get("CLOCHE_FAULT_NOTES"):
            with open(file, "a", encoding="utf-8") as notes:
                notes.write(line + "\n")
    return write
