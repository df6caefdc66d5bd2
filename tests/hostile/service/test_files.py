"""Files of a session that fight back: links swapped while they are read, traps, trees and patterns without end."""
import contextlib
import http.client
import json
import time

import house
import pytest

OUTSIDE = "mkdir -p /tmp/outside; echo KEPT-OUT > /tmp/outside/canary"

# Swaps a good name for a link that leads out, and back, as fast as the kernel does it.
SWAPPER = r"""
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("good", exist_ok=True)
open("good/canary", "w").write("mine\n" * 1000)
open("file", "w").write("mine\n" * 1000)
for link, target in (("evil", "/tmp/outside"), ("evilfile", "/tmp/outside/canary")):
    if not os.path.lexists(link): os.symlink(target, link)
end = time.monotonic() + 12
while time.monotonic() < end and not os.path.exists("stop"):
    for a, b in ((b"good", b"evil"), (b"file", b"evilfile")):
        libc.renameat2(-100, a, -100, b, 2)
"""


def start(backend):
    house.need(backend, __name__)
    return house.House(backend=backend, server=", limits: {write_timeout: 5s}")


@pytest.fixture(scope="module")
def server():
    with start("oci") as started:
        started.is_well()
        yield started


@contextlib.contextmanager
def session_in(server):
    made = house.name()
    server.bash(made, OUTSIDE)
    before = server.rss()
    yield made
    assert server.rss() < before + 64
    begun = time.monotonic()
    assert server.ask("DELETE", f"/sessions/default/{made}").status == 200
    assert time.monotonic() - begun < 60
    assert server.is_well() < 30


@pytest.fixture
def session(server):
    with session_in(server) as made:
        yield made


# The agent does the same on every backend; how its file system behaves in a race is the backend's.
@pytest.fixture(scope="module", params=["oci", "docker"])
def any_server(request):
    if request.param == "oci":
        yield request.getfixturevalue("server")
        return
    with start("docker") as started:
        started.is_well()
        yield started


def ways_to_read(server, session):
    at = f"/sessions/default/{session}"
    raw = {"Accept": "application/octet-stream"}
    for name in ("good/canary", "file"):
        yield lambda name=name: server.ask("GET", f"{at}/files/{name}")
        yield lambda name=name: server.post("/read", {"session_id": session, "path": name})
        yield lambda name=name: server.post("/read_binary", {"session_id": session, "path": name}, headers=raw)
    yield lambda: server.post("/grep", {"session_id": session, "pattern": "KEPT|mine", "limit": 20})
    yield lambda: server.post("/grep", {"session_id": session, "pattern": "KEPT|mine", "path": "good", "limit": 20})
    yield lambda: server.post("/glob", {"session_id": session, "pattern": "**"})
    yield lambda: server.ask("GET", f"{at}/copy")
    yield lambda: server.ask("GET", f"{at}/copy?path=good")


def test_links_swapped_while_the_server_reads__nothing_of_outside_is_read(any_server):
    """tries: a program exchanges a file and a directory with links that lead out, without pause, while a client reads,
           searches, lists and packs them.
    must: no answer ever has what is outside; good answers come as well.
    """
    with session_in(any_server) as session:
        any_server.post("/execute", {"session_id": session, "code": SWAPPER, "background": True})
        good, leaked = 0, []
        end = time.monotonic() + 4
        while time.monotonic() < end:
            for way in ways_to_read(any_server, session):
                try:
                    answer = way()
                    assert answer.status in (200, 400, 403, 404), answer
                    seen = answer.body
                except http.client.IncompleteRead as cut:  # swapped between its head and its content
                    seen = cut.partial
                good += b"mine" in seen
                if b"KEPT-OUT" in seen:
                    leaked.append(seen)
        assert not leaked
        assert good > 0


def test_links_swapped_while_the_server_writes__nothing_outside_is_written(any_server):
    """tries: the same, while a client writes and unpacks. must: outside there is still the one file, as it was."""
    server = any_server
    with session_in(server) as session:
        server.post("/execute", {"session_id": session, "code": SWAPPER, "background": True})
        end = time.monotonic() + 4
        while time.monotonic() < end:
            server.post("/write", {"session_id": session, "path": "good/new", "content": "x"})
            server.post("/write", {"session_id": session, "path": "file", "content": "x", "append": True})
            server.post(f"/sessions/default/{session}/copy", {"files": {"good/copied": "x", "good/deep/er": "y"}})
        look = server.bash(session, "touch stop; ls -A /tmp/outside; cat /tmp/outside/canary")["stdout"]
        assert look == "canary\nKEPT-OUT\n"


def test_links_swapped_while_the_server_moves_edits_and_deletes__nothing_outside_is_touched(any_server):
    """tries: the same, while a client edits, moves and deletes by paths in the workspace.
    must: outside there is still the one file, as it was; no answer is a failure of the server.
    """
    server = any_server
    with session_in(server) as session:
        server.post("/execute", {"session_id": session, "code": SWAPPER, "background": True})
        end, good = time.monotonic() + 4, 0
        while time.monotonic() < end:
            for route, body in (("/write", {"path": "good/new", "content": "mine"}),
                                ("/edit", {"path": "good/canary", "old": "KEPT", "new": "LOST", "replace_all": True}),
                                ("/edit", {"path": "file", "old": "mine", "new": "mine", "replace_all": True}),
                                ("/move", {"path": "good/new", "to": "good/newer", "overwrite": True}),
                                ("/move", {"path": "good/canary", "to": "taken", "overwrite": True}),
                                ("/move", {"path": "taken", "to": "good/canary", "overwrite": True}),
                                ("/delete", {"path": "good/newer"}), ("/mkdir", {"path": "good/d", "parents": True}),
                                ("/delete", {"path": "good/d", "recursive": True})):
                answer = server.post(route, {"session_id": session} | body)
                assert answer.status in (200, 400, 403, 404, 409), (route, body, answer)
                good += answer.status == 200
        assert good > 0
        look = server.bash(session, "touch stop; ls -A /tmp/outside; cat /tmp/outside/canary")["stdout"]
        assert look == "canary\nKEPT-OUT\n"


def test_paths_outside_that_lead_to_the_kernel__are_refused(any_server):
    """tries: /proc and /sys by absolute paths, by links in /tmp, and by walks from the root: a file worker is not the
           user's program, and its own /proc/self would tell of the agent.
    must: refused everywhere; a walk from the root goes around them and ends.
    """
    with session_in(any_server) as session:
        any_server.bash(session, "ln -s /proc/self /tmp/self; ln -s /proc /tmp/p; ln -s /sys /tmp/s; "
                                 "echo mine > /tmp/mine")

        def ask(route, path, **fields):
            return any_server.post(route, {"session_id": session, "path": path} | fields)
        for path in ("/proc/self/mem", "/proc/self/environ", "/proc/1/status", "/tmp/self/environ", "/tmp/self/maps",
                     "/tmp/p/1/status", "/tmp/p/version", "/tmp/s/kernel/notes", "/proc/self/fd/0"):
            for answer in (ask("/read", path), ask("/read_binary", path), ask("/write", path, content="x"),
                           ask("/edit", path, old="x", new="y"), ask("/grep", path, pattern="."),
                           ask("/move", path, to="stolen"), ask("/move", "mine", to=path), ask("/delete", path)):
                assert 400 <= answer.status < 500, (path, answer)
        assert ask("/read", "/tmp/mine").json()["content"] == "mine\n"
        found = ask("/glob", "/", pattern="{proc,sys}/*")
        assert found.status == 200 and found.json()["paths"] == [], found
        assert ask("/delete", "/", recursive=True).status == 400
        assert ask("/delete", "/tmp", recursive=True).status in (400, 403)
        assert ask("/read", "/tmp/mine").status == 200


def test_tree_without_bottom__is_deleted_or_given_up_in_time(server, session):
    """tries: a tree of 20,000 directories in each other, and one of 20,000 names that are no UTF-8, to be deleted.
    must: an answer within the time that file operations have; the server's memory stays (checked by the session).
    """
    server.python(session, "import os\nfor i in range(20000):\n os.mkdir('d'); os.chdir('d')")
    server.python(session, "import os\nos.mkdir('n')\nfor i in range(20000): open(b'n/\\n\\xff%d' % i, 'w').close()")
    for path in ("d", "n"):
        begun = time.monotonic()
        answer = server.post("/delete", {"session_id": session, "path": path, "recursive": True})
        assert answer.status in (200, 504), answer
        assert time.monotonic() - begun < 90


TRAPS = r"""
import os, socket
os.mkfifo("fifo")
s = socket.socket(socket.AF_UNIX); s.bind("socket")
for name, target in (("zero", "/dev/zero"), ("out", "/tmp/outside/canary"), ("self", "self"), ("up", ".."), ("here", "."),
                     ("memory", "/proc/self/mem"), ("agent", "/proc/1/root/etc/passwd"), ("fd", "/proc/self/fd/0")):
    os.symlink(target, name)
os.mkdir("closed"); open("closed/f", "w").write("x"); os.chmod("closed", 0)
open("unreadable", "w").write("x"); os.chmod("unreadable", 0)
os.mkdir(b"new\nline\xff"); open(b"new\nline\xff/\x1b[2J", "w").write("mine")
"""


def test_traps_in_the_place_of_files__open_for_nobody(server, session):
    """tries: a FIFO, a socket, links to devices, to /proc, to themselves, out; directories and files without rights.
    must: each read is refused at once; lists, and searches of the whole go on; answers are JSON in UTF-8.
    """
    server.python(session, TRAPS)
    for trap in ("fifo", "zero", "out", "self", "up/tmp/outside/canary", "memory", "agent", "fd", "closed/f",
                 "unreadable", "closed"):
        begun = time.monotonic()
        for answer in (server.post("/read", {"session_id": session, "path": trap}),
                       server.ask("GET", f"/sessions/default/{session}/files/{trap}")):
            assert 400 <= answer.status < 500 and b"KEPT-OUT" not in answer.body, (trap, answer)
        assert time.monotonic() - begun < 60
    for answer in (server.post("/glob", {"session_id": session, "pattern": "**"}),
                   server.post("/grep", {"session_id": session, "pattern": "KEPT|mine"})):
        assert answer.status == 200 and "KEPT-OUT" not in json.dumps(answer.json()), answer
    packed = server.ask("GET", f"/sessions/default/{session}/copy")
    assert packed.status in (200, 403) and b"KEPT-OUT" not in packed.body, packed  # 403: a directory that is closed


def test_socket_in_the_place_of_a_file__is_a_refusal(server, session):
    """tries: to fill the operator's log with errors, by reading a socket that a program made. must: 400, as for a FIFO."""
    server.python(session, TRAPS)
    answer = server.post("/read", {"session_id": session, "path": "socket"})
    assert answer.status == 400, answer


def test_traps_among_artifacts__are_left_out(server, session):
    """tries: artifacts that are FIFOs, links, sparse and huge, unreadable, or go on growing.
    must: the run ends soon, tells of the plain files alone, and says that some were left out.
    """
    code = TRAPS + r"""
import subprocess
for i in range(8):
    with open(f"sparse{i}", "wb") as f: f.truncate(60_000_000)
open("plain", "w").write("mine")
subprocess.Popen(["sh", "-c", "while :; do echo x >> growing; done"], start_new_session=True)
"""
    begun = time.monotonic()
    told = server.python(session, code)
    assert time.monotonic() - begun < 30
    made = {each["path"]: each["size"] for each in told["artifacts"]}
    assert made["plain"] == 4 and told["artifacts_truncated"]
    assert not {"fifo", "socket", "zero", "out", "memory", "unreadable", "closed/f"} & set(made)
    assert sum(made.values()) <= 256 << 20


def test_sparse_files_beyond_all_size__cannot_be_made_or_are_refused(server, session):
    """tries: a file of 10 TB for whoever reads, packs or hashes it.
    must: no file is larger than files may be, sparse or not.
    """
    ended = server.bash(session, "truncate -s 10T huge; ls -l | grep -c huge; stat -c %s huge")
    assert int(ended["stdout"].split()[-1] or 0) <= 64 << 20
    answer = server.post("/write", {"session_id": session, "path": "w", "content": "x" * 1000, "append": True})
    assert answer.status == 200


def test_file_that_grows_while_it_is_read__the_reader_comes_to_an_end(server, session):
    """tries: a file that grows faster than it is read. must: a download ends at the size it began with."""
    code = "import time\nend = time.monotonic() + 6\nwith open('log', 'ab', 0) as f:\n" \
           " while time.monotonic() < end and f.tell() < 50_000_000: f.write(b'x' * 10000)"
    server.post("/execute", {"session_id": session, "code": code, "background": True})
    while server.ask("GET", f"/sessions/default/{session}/files/log").status != 200:
        time.sleep(0.05)
    for _ in range(5):
        answer = server.ask("GET", f"/sessions/default/{session}/files/log", timeout=20)
        assert answer.status == 200 and len(answer.body) == int(answer.headers["Content-Length"])


def test_file_that_shrinks_while_it_is_read__is_not_taken_for_whole(server, session):
    """tries: a file that is cut while it is sent. must: fewer bytes than promised and a broken connection; no padding."""
    server.bash(session, "head -c 50000000 /dev/zero > f")
    with server.connect() as line:
        line.sendall(f"GET /sessions/default/{session}/files/f HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        got = line.recv(65536)
        server.bash(session, ": > f")
        got += house.read_all(line, 3)
    assert b"Content-Length: 50000000" in got and len(got) < 50_000_000


DEEP = r"""
import os
for i in range(10000):
    os.mkdir("d"); os.chdir("d")
open("bottom", "w").write("needle")
"""


def test_tree_of_ten_thousand_levels__is_walked_or_refused(server, session):
    """tries: a tree deeper than any path, for stacks and descriptors to run out.
    must: every operation answers soon, all or cut; the sandbox and the server go on; the tree goes with the session.
    """
    server.python(session, DEEP)
    for work in (lambda: server.post("/glob", {"session_id": session, "pattern": "**", "limit": 10}),
                 lambda: server.post("/glob", {"session_id": session, "pattern": "**/bottom"}),
                 lambda: server.post("/grep", {"session_id": session, "pattern": "needle"}),
                 lambda: server.ask("GET", f"/sessions/default/{session}/copy"),
                 lambda: server.post("/bash", {"session_id": session, "command": "echo more > f"})):
        begun = time.monotonic()
        answer = work()
        assert answer.status in (200, 400, 413), answer
        assert time.monotonic() - begun < 60


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(.*)*(.*)*(.*)*x", "((a{1,100}){1,100}){1,100}", "(x+x+)+y",
                                     "a" * 60_000, "(" * 2000 + ")" * 2000, r"(a)\1", "(?=a)b", "[", "\\", "\udcff"])
def test_regular_expressions_that_explode__do_not(server, session, pattern):
    """tries: patterns that take other engines an age, or a stack. must: an answer or 400 within seconds."""
    server.bash(session, "head -c 2000000 /dev/zero | tr '\\0' a > as")
    begun = time.monotonic()
    body = json.dumps({"session_id": session, "pattern": pattern}).encode()
    answer = server.ask("POST", "/grep", body, headers={"Content-Type": "application/json"})
    assert answer.status in (200, 400, 413), answer
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("pattern", ["*a" * 200 + "b", "**/" * 200 + "x", "{a,b}" * 40, "{" * 5000, "[" * 5000, "?" * 5000,
                                     "{a,{a,{a,{a,{a,{a,b}}}}}}" * 20, "**" * 5000, "[!" + "a-z" * 5000 + "]"])
def test_globs_that_explode__do_not(server, session, pattern):
    """tries: wildcards and braces whose ways multiply. must: an answer or 400 within seconds."""
    server.python(session, "import os\nfor i in range(200):\n os.makedirs('a' * 100 + f'/{i}')\n open('a' * 200 + str(i), 'w')")
    begun = time.monotonic()
    answer = server.post("/glob", {"session_id": session, "pattern": pattern})
    assert answer.status in (200, 400), answer
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("wanted", ["bytes=0-0," * 1000 + "0-0", "bytes=-0", "bytes=5-1", "bytes=99999999999999999999-",
                                    "bytes=-99999999999999999999", "bytes=0-18446744073709551615", "lines=0-1", "bytes="])
def test_ranges_that_are_none__give_the_file_or_416(server, session, wanted):
    """tries: ranges that multiply an answer, overlap, overflow. must: all of it, a part of it, or 416."""
    server.bash(session, "printf 0123456789 > f")
    answer = server.ask("GET", f"/sessions/default/{session}/files/f", headers={"Range": wanted})
    assert answer.status in (200, 206, 400, 416, 431), answer
    if answer.status in (200, 206):
        assert len(answer.body) <= 10 and answer.body in b"0123456789"


def test_fifty_readers_of_one_fifo_and_one_file__nobody_waits_for_the_others(server, session):
    """tries: to use up the file workers by reading what blocks. must: all are answered."""
    server.bash(session, "mkfifo q; echo mine > f")
    def read(number):
        name = "q" if number % 2 else "f"
        return server.post("/read", {"session_id": session, "path": name}).status
    answered = house.together(read, range(50))
    assert answered == [200, 400] * 25, answered
