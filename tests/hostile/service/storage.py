"""Volumes of a server: requests about them, and what is on the host."""
import contextlib
import pathlib
import shutil
import subprocess
import tempfile

import house


def need(test):
    """Skips, and notes why, where there are no volumes."""
    house.need_crun(test)
    if not pathlib.Path("/dev/loop-control").exists() or not shutil.which("mke2fs"):
        house.note_missing("disks", test, "there are no loop devices, or mke2fs is not installed")


def create(server, name, size="16m", **options):
    return server.post("/volumes", {"name": name, "size": size}, **options)


def delete(server, name, tenant="default", **options):
    return server.ask("DELETE", f"/volumes/{tenant}/{name}", **options)


def names(server, **options):
    listed = server.ask("GET", "/volumes", **options)
    assert listed.status == 200, listed
    return [volume["name"] for volume in listed.json()["volumes"]]


def begin(server, volumes, session=None, **options):
    """A session with these volumes: names, or maps."""
    volumes = [{"name": each} if isinstance(each, str) else each for each in volumes]
    return server.post("/sessions", {"session_id": session or house.name(), "volumes": volumes}, **options)


def end(server, session, tenant="default", **options):
    ended = server.ask("DELETE", f"/sessions/{tenant}/{session}", **options)
    assert ended.status == 200, ended


@contextlib.contextmanager
def session(server, *volumes, **options):
    """Until the end of `with`. The name of the session."""
    begun = begin(server, volumes, **options)
    assert begun.status == 201, begun
    name = begun.json()["session_id"]
    try:
        yield name
    finally:
        end(server, name, begun.json()["tenant_id"], **options)


def directory(server, tenant="default"):
    """Where the images of a tenant are."""
    [place] = (server.scratch / "state").glob("instances/*/*/volumes")
    return place / tenant


def image(server, name, tenant="default"):
    return directory(server, tenant) / f"{name}.img"


def loop_devices(server):
    """Files of this server that are attached to loop devices. Unnamed ones are listed with ` (deleted)`."""
    files = []
    for entry in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            files.append(entry.read_text(encoding="utf-8").strip())
    return [file for file in files if file.startswith(str(server.scratch))]


def attached(server, name):
    return [file for file in loop_devices(server) if file.endswith(f"/{name}.img")]


@contextlib.contextmanager
def mounted(path):
    """On the host, as root."""
    with tempfile.TemporaryDirectory(prefix="cloche-test-") as place:
        subprocess.run(["mount", "-o", "loop", str(path), place], check=True, timeout=60)
        try:
            yield pathlib.Path(place)
        finally:
            subprocess.run(["umount", place], check=True, timeout=60)
