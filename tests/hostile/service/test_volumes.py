"""Volumes by odd names, of others, at places that are not theirs, and with contents that want to be more than files."""
import os
import shutil
import stat
import struct

import house
import pytest
import storage
import tokens

TENANTS = ("acme", "other")


# For what depends on how a runtime shows a volume to programs.
on_each_runtime = pytest.mark.parametrize("server", ["crun", "runsc"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def server(request):
    storage.need(__name__)
    runtime = getattr(request, "param", "crun")
    if not shutil.which(runtime):
        house.note_missing(runtime, __name__, f"{runtime} is not installed")
    session = house.SESSION.replace("runtime: crun", f"runtime: {runtime}")
    with house.House(server=", auth: tokens", more="sessions: {most: 40}", session=session, log="warn") as started:
        started.runtime = runtime
        started.admin = next(line for line in started.printed if line.startswith("cloche_"))
        for tenant in TENANTS:
            setattr(started, tenant, tokens.create(started, tenant))
        house.eventually(lambda: started.ask("GET", "/volumes", token=started.other).status == 200, "the last token is known")
        started.token = started.acme
        yield started


@pytest.fixture(autouse=True)
def the_house_stands(server):
    yield
    server.is_well()


@pytest.fixture
def data(server):
    """A volume of acme's."""
    made = storage.create(server, "data")
    assert made.status == 201, made
    yield "data"
    house.eventually(lambda: storage.delete(server, "data", "acme").status == 200, "the volume is free")
    assert storage.attached(server, "data") == []


def files_of_state(server):
    return sorted(str(path) for path in (server.scratch / "state").rglob("*") if "volumes" in path.parts)


ODD_NAMES = ["", ".", "..", "a/b", "/", "/etc/passwd", "../x", "../../../../tmp/x", "a/../b", "a\0b", "\0", "a b", "a\n",
             "\u00e4", "\u2024\u2024", "a\\b", "a.img/", "%2e%2e", "-x" * 40, "a" * 65, "a" * 255, "a" * 4096, "a" * (1 << 19),
             "a\u0000.img", "{}", "*"]


@pytest.mark.parametrize("name", ODD_NAMES, ids=lambda name: ascii(name[:12]) + str(len(name)))
def test_odd_name__is_no_volume(server, name):
    """tries: to create, mount and delete a volume whose name is a path, has a NUL, dots or too much of everything.
    must: 400, or 404 where it is only looked for; no file is created anywhere; no error of the server's own.
    """
    before = files_of_state(server)
    made = storage.create(server, name)
    assert made.status == 400 and made.code() == "invalid_argument", made
    assert storage.begin(server, [name]).status == 400
    quoted = "".join(f"%{byte:02x}" for byte in name.encode())
    for method in ("GET", "DELETE"):
        assert server.ask(method, "/volumes/acme/" + quoted[:6000]).status in (400, 404, 405, 414, 431)
    assert files_of_state(server) == before


def test_name_of_another_tenants_volume__is_not_there(server, data):
    """tries: to name another tenant's volume, or its tenant, wherever a request can. must: as for a volume that does not
    exist; never a trace of whether it does.
    """
    def form(answer, name):
        return answer.status, answer.code(), answer.json()["error"]["message"].replace(name, "*")
    theirs = storage.begin(server, [data], token=server.other)
    missing = storage.begin(server, ["missing"], token=server.other)
    assert theirs.status == 404 and form(theirs, data) == form(missing, "missing")
    for tenant, name in (("acme", data), ("acme", "missing")):
        for method in ("GET", "DELETE"):
            assert server.ask(method, f"/volumes/{tenant}/{name}", token=server.other).status == 403
    for volume in ({"name": data, "tenant": "acme"}, {"name": data, "tenant_id": "acme"}, {"name": "acme/" + data},
                   {"name": "../acme/" + data}):
        assert storage.begin(server, [volume], token=server.other).status == 400, volume
    assert server.post("/volumes", {"name": "x", "size": "16m", "tenant_id": "acme"}, token=server.other).status == 403
    assert server.post("/sessions", {"session_id": "x", "tenant_id": "acme", "volumes": [{"name": data}]},
                       token=server.other).status == 403
    assert storage.names(server, token=server.other) == []
    assert server.ask("GET", "/volumes?tenant_id=acme", token=server.other).status == 403
    # Their own of the same name is another file system.
    assert storage.create(server, data, token=server.other).status == 201
    with storage.session(server, data) as mine, storage.session(server, data, token=server.other) as other:
        server.bash(mine, "echo acme > /volumes/data/whose")
        assert server.bash(other, "ls -A /volumes/data", token=server.other)["stdout"] == ""
    house.eventually(lambda: storage.delete(server, data, "other", token=server.other).status == 200, "it is free")


PLACES = ["/", "/proc", "/proc/self", "/proc/1/root", "/dev", "/dev/shm", "/etc", "/etc/passwd", "/usr/bin", "/tmp", "/tmp/.cloche",
          "/.cloche", "/.cloche/bin", "/run", "/sys", "/sys/fs/cgroup", "/lib", "/root", "/volumes", "/volumes/a/b", "/workspace",
          "/workspace/", "/workspace/..", "/workspace/../etc", "/workspace/./x", "/workspace//x", "/workspace/x/../../etc",
          "/volumes/..", "/volumes/../etc", "/volumes/.", "/volumes/", "workspace/x", "x", "~", "/workspacex", "/volumesx/a",
          "/workspace/a\0b", "/workspace/" + "a" * 5000]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ascii(place[:24]))
def test_place_of_the_system__gets_no_volume(server, data, place):
    """tries: a volume over the kernel's directories, the agent's, programs, or out of the workspace by `..`.
    must: refused before a sandbox has it; the volume is free afterwards.
    """
    refused = storage.begin(server, [{"name": data, "target": place}])
    assert refused.status in (400, 414, 413), refused
    assert storage.attached(server, data) == []
    assert server.ask("GET", f"/volumes/acme/{data}").json()["writers"] == 0


@on_each_runtime
def test_links_in_a_volume__lead_no_other_volume_astray(server, data):
    """tries: links on a volume at places where the next session mounts: in it, and beside it. must: no volume is mounted
    below another one, so no link is on the way; a link in the volume's own place is what it was.
    """
    with storage.session(server, data) as writer:
        server.bash(writer, "cd /volumes/data; ln -s /etc in; ln -s / root; ln -s /volumes more; ln -s ../../proc up")
    assert storage.create(server, "second").status == 201
    for place in ("/workspace/d/in", "/workspace/d/root/etc", "/workspace/d/more/x", "/workspace/d/up/1"):
        nested = storage.begin(server, [{"name": data, "target": "/workspace/d"}, {"name": "second", "target": place}])
        assert nested.status == 400, nested
        turned = storage.begin(server, [{"name": "second", "target": place}, {"name": data, "target": "/workspace/d"}])
        assert turned.status == 400, turned
    same = storage.begin(server, [{"name": data, "target": "/workspace/d"}, {"name": "second", "target": "/workspace/d"}])
    assert same.status == 400 and storage.begin(server, [data, data]).status == 400
    many = [{"name": data, "target": f"/volumes/v{number}"} for number in range(17)]
    assert storage.begin(server, many).status == 400
    with storage.session(server, {"name": data, "target": "/workspace/d"}) as reader:
        told = server.bash(reader, "readlink d/in d/root; grep -c ' /workspace/d' /proc/self/mountinfo; cat /etc/hostname")
        assert told["stdout"] == "/etc\n/\n1\nsandbox\n", told["stdout"]
    house.eventually(lambda: storage.delete(server, "second", "acme").status == 200, "it is free")


@on_each_runtime
def test_second_writer__is_refused_by_every_way(server, data):
    """tries: two sessions that write, or one that writes and one that reads, at the same moment, thirty times.
    must: at any time one writer, or readers; all others get 429; nothing stays taken.
    """
    def attempt(access):
        begun = storage.begin(server, [{"name": data, "access": access}])
        if begun.status != 201:
            return begun.status
        name = begun.json()["session_id"]
        now = server.ask("GET", f"/volumes/acme/{data}").json()
        storage.end(server, name, "acme")
        return now["readers"], now["writers"]
    results = house.together(attempt, ["read_write", "read_only", "read_write"] * 10)
    assert not [each for each in results if isinstance(each, Exception)], results
    held = [each for each in results if isinstance(each, tuple)]
    assert held and all(writers == 0 or (writers == 1 and readers == 0) for readers, writers in held), results
    assert {each for each in results if isinstance(each, int)} <= {429}, results
    house.eventually(lambda: server.ask("GET", f"/volumes/acme/{data}").json()["writers"] == 0, "no writer is left")


READ_ONLY = r"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
tried = {}
def attempt(what, work):
    try:
        got = work()
        tried[what] = "failed" if got is not None and got < 0 else "WORKED"
    except (OSError, ValueError): tried[what] = "failed"
place = b"/volumes/data"
def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *arguments)
attempt("remount", lambda: libc.mount(b"none", place, None, ctypes.c_ulong(32), None))
attempt("bind", lambda: libc.mount(place, b"/workspace", None, ctypes.c_ulong(4096), None))
attempt("umount", lambda: libc.umount2(place, 2))
attempt("open_tree", lambda: call(428, -100, place, 1))
attempt("mount_setattr", lambda: call(442, -100, place, 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32))
attempt("fspick", lambda: call(433, -100, place, 0))
attempt("unshare", lambda: libc.unshare(0x10000000 | 0x00020000))
reader = os.open("/volumes/data/file", os.O_RDONLY)
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
    attempt(f"fd {flags}", lambda: os.open(f"/proc/self/fd/{reader}", flags))
attempt("ftruncate", lambda: os.ftruncate(reader, 0))
attempt("write", lambda: os.write(reader, b"x"))
attempt("chmod", lambda: os.fchmod(reader, 0o666))
attempt("utime", lambda: os.utime("/volumes/data/file"))
attempt("link", lambda: os.link("/volumes/data/file", "/volumes/data/other"))
attempt("link out", lambda: os.link("/volumes/data/file", "/workspace/out"))
attempt("rename", lambda: os.rename("/volumes/data/file", "/volumes/data/other"))
attempt("unlink", lambda: os.unlink("/volumes/data/file"))
attempt("create", lambda: os.open("/volumes/data/new", os.O_CREAT | os.O_WRONLY))
attempt("unnamed", lambda: os.open("/volumes/data", os.O_TMPFILE | os.O_RDWR))
attempt("xattr", lambda: os.setxattr("/volumes/data/file", "user.x", b"y"))
attempt("cwd", lambda: (os.chdir("/volumes/data"), os.open("/proc/self/cwd/new", os.O_CREAT | os.O_WRONLY))[1])
attempt("root", lambda: os.open("/proc/self/root/volumes/data/file", os.O_WRONLY))
attempt("beside", lambda: os.mkdir("/volumes/beside"))
attempt("replace", lambda: os.rename("/volumes/data", "/volumes/moved"))
import mmap
attempt("map", lambda: mmap.mmap(reader, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0])
print([what for what, how in tried.items() if how == "WORKED"], len(tried))
"""


@on_each_runtime
def test_read_only_volume__cannot_be_written(server, data):
    """tries: to remount it, to bind it elsewhere, and to write by /proc/self/fd, links, maps and names beside it.
    must: each is an error; the file is what it was.
    """
    with storage.session(server, data) as writer:
        server.bash(writer, "echo kept > /volumes/data/file")
        # The control: with the right to write, these do work.
        told = server.python(writer, READ_ONLY)
        assert all(f"'{what}'" in told["stdout"] for what in ("fd 1", "chmod", "utime", "link", "rename", "create")), told["stdout"]
        server.bash(writer, "cd /volumes/data; rm -rf -- *; echo kept > file")
    house.eventually(lambda: storage.attached(server, data) == [], "it is detached")
    before = storage.image(server, data, "acme").read_bytes()
    with storage.session(server, {"name": data, "access": "read_only"}) as reader:
        told = server.python(reader, READ_ONLY)
        assert told["stdout"].startswith("[] "), told
        assert server.bash(reader, "cat /volumes/data/file; ls -A /volumes/data /volumes")["stdout"].split() == [
            "kept", "/volumes:", "data", "/volumes/data:", "file"]
    house.eventually(lambda: storage.attached(server, data) == [], "it is detached")
    assert storage.image(server, data, "acme").read_bytes() == before, "a reader changed the image"


@on_each_runtime
def test_setuid_and_devices__have_no_effect_in_the_next_session(server, data):
    """tries: programs with setuid and setgid bits, of the user and of root, capabilities in attributes, and device nodes
    that only the host could make. must: no program gains anything, and no node can be opened.
    """
    with storage.session(server, data) as writer:
        told = server.bash(writer, "cd /volumes/data && cp /usr/bin/id own && chmod 6755 own && mknod disk b 7 0; "
                                   "mknod pipe p && stat -c %a own")
        assert told["stdout"] == "6755\n" and "disk" in told["stderr"], told
    house.eventually(lambda: storage.attached(server, data) == [], "it is detached")
    with storage.mounted(storage.image(server, data, "acme")) as place:
        for name, kind, number in (("mem", stat.S_IFCHR, (1, 1)), ("zero", stat.S_IFCHR, (1, 5)), ("loop", stat.S_IFBLK, (7, 0))):
            for suffix, owner in (("-root", 0), ("-user", 1000)):
                os.mknod(place / (name + suffix), kind | 0o666, os.makedev(*number))
                os.chown(place / (name + suffix), owner, owner)
        program = (place / "own").read_bytes()
        for name, owner in (("root", 0), ("nobody", 65534), ("beyond", 70000)):
            (place / name).write_bytes(program)
            os.chown(place / name, owner, owner)
            os.chmod(place / name, 0o6755)
        # cap_setuid, cap_sys_admin and all others, effective.
        os.setxattr(place / "nobody", "security.capability", struct.pack("<IIIII", 0x02000001, 0xffffffff, 0, 0x1ff, 0))
    with storage.session(server, data) as reader:
        told = server.bash(reader, """
cd /volumes/data
for program in own root nobody beyond; do ./$program -u; ./$program -g; done
for node in mem zero loop; do for owner in root user; do head -c 1 $node-$owner > /dev/null 2>&1 && echo opened $node; done; done
python3 -c "import os; os.execv('./nobody', ['id', '-u'])"
./root -G; grep -c nosuid,nodev /proc/self/mountinfo > /dev/null && echo flags
""")
        lines = told["stdout"].split("\n")
        # gVisor has the flags, and does not show them.
        assert "opened" not in told["stdout"] and ("flags" in lines or server.runtime == "runsc"), told
        assert set(lines[:8]) == {"1000"} and "0" not in lines, told
        # What belongs to others belongs to no one here, and cannot be taken.
        told = server.bash(reader, "cd /volumes/data; stat -c %u root; chown 1000 root; chmod u+s root; echo x > root")
        assert told["stdout"] == "65534\n" and told["stderr"].count("root") >= 3, told
