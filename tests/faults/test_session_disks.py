"""Sessions on disk: a server killed at any step leaves no image, device or mount, and no session loses a byte."""
import os
import pathlib
import shutil
import tempfile

import pytest
from harness.everything import fault_points
from harness.target import CRUN, RUNSC, cannot_test
from test_kills import kill_at
from waiting import eventually

ON_DISK = {"profiles": {"session": {"workspace": "disk", "disk_size": "64m"}}}
# Steps of a sandbox between which its disk changes hands.
STEPS = ["backend.make.cgroup", "backend.make.started", "backend.recover.met", "backend.remove.killed"]


@pytest.fixture
def scratch():
    """On disk, where the images of a server are."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="cloche.", dir=os.environ.get("CLOCHE_TEST_DISK_DIR")))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def disk_points():
    return [point for point in fault_points() if point.startswith("disk.")]


def devices_of(server):
    """The loop devices whose images are in its directory of disks."""
    found = []
    for file in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            backing = file.read_text()
        except OSError:  # detached meanwhile
            continue
        if backing.startswith(str(server.state_dir)):
            found.append(file.parts[3])
    return found


def mounts_of(server):
    text = pathlib.Path("/proc/self/mountinfo").read_text()
    return [line for line in text.splitlines() if str(server.scratch) in line]


def expect_nothing(server):
    eventually(lambda: not devices_of(server), "no device is left")
    assert not mounts_of(server)
    assert not list((server.state_dir / "disks").iterdir())


@pytest.fixture
def serve_on_disk(serve, request):
    if not pathlib.Path("/dev/loop-control").exists():
        cannot_test("loop devices", request.node.nodeid, "this host has no loop devices")
    return lambda target: serve(target, ON_DISK)


def test_points_of_disks_are_known():
    assert disk_points() == ["disk.attached", "disk.image", "disk.made", "disk.mounted"]


@pytest.mark.parametrize("point", disk_points() + STEPS)
def test_killed_at_a_point__no_disk_is_left_and_no_file_is_lost(point, serve_on_disk):
    server = serve_on_disk(CRUN)
    kill_at(server, point)
    expect_nothing(server)


@pytest.mark.parametrize("target", [CRUN, RUNSC], ids=lambda target: target.name)
def test_killed_with_sessions__they_keep_their_disks(target, serve_on_disk):
    server = serve_on_disk(target)
    server.start()
    server.bash("kept", "echo work > file; echo home > ~/file; head -c 20M /dev/urandom > big; cksum big > sum")
    assert devices_of(server)
    assert not mounts_of(server)
    server.kill()
    assert devices_of(server)
    server.start()
    read = server.bash("kept", "cat file ~/file; cksum big | diff - sum && df --output=size -BM . | tail -1")
    assert read["stdout"].split()[:2] == ["work", "home"], read.text
    assert 56 <= int(read["stdout"].split()[2].rstrip("M")) <= 64, read.text
    server.end_session("kept")
    assert server.terminate() == 0
    expect_nothing(server)
