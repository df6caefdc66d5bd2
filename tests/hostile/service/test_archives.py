"""Archives and file names that lead elsewhere, are more than they say, or are no archives: into a session and out of it."""
import base64
import gzip
import io
import tarfile
import time
import zipfile

import hostile_tar as tar
import house
import pytest

# The user may write to /tmp: nothing but the check of names keeps an archive from it.
PLANT = "rm -rf /tmp/outside; mkdir /tmp/outside; echo kept > /tmp/outside/canary"
LOOK = "cat /tmp/outside/canary; ls -A /tmp/outside | wc -l; ls -A /workspace"


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    profiles = "  python: {runtime: crun, work_dir: /app, pool: {pool_size: 1, scale_limit: 4}}"
    with house.House(profiles=profiles) as started:
        started.is_well()
        yield started


@pytest.fixture
def session(server):
    made = house.name()
    server.bash(made, PLANT)
    yield made
    server.ask("DELETE", f"/sessions/default/{made}")


def upload(server, session, archive, kind="application/x-tar"):
    return server.ask("POST", f"/sessions/default/{session}/copy", archive, headers={"Content-Type": kind})


HOSTILE = {
    "an absolute name": tar.file("/tmp/outside/new"),
    "a name with two dots": tar.file("../tmp/outside/new"),
    "two dots in the middle": tar.file("a/../../tmp/outside/new"),
    "two dots at the end": tar.header("a/..", b"5"),
    "an absolute name behind a pax header": tar.pax(path="/tmp/outside/new") + tar.file("good"),
    "two dots behind a pax header": tar.pax(path="../tmp/outside/new") + tar.file("good"),
    "two dots behind GNU's long name": tar.gnu_long(b"../tmp/outside/new") + tar.file("good"),
    "two dots from the prefix field": tar.file("outside/new", prefix=b"../tmp"),
    "a name with NUL in it": tar.pax(path=b"good\0/../../tmp/outside/new") + tar.file("good"),
    "through a link that leads out": tar.link("l", "/tmp/outside") + tar.file("l/new"),
    "through a relative link that leads out": tar.link("l", "../tmp/outside") + tar.file("l/new"),
    "through two links": tar.link("a", "..") + tar.link("b", "a/tmp/outside") + tar.file("b/new"),
    "a directory through a link": tar.link("l", "/tmp/outside") + tar.header("l/new", b"5", mode=0o777),
    "a directory in a link's place": tar.link("l", "/tmp/outside") + tar.header("l", b"5", mode=0) + tar.file("l/new"),
    "a link through a link": tar.link("l", "/tmp/outside") + tar.link("l/new", "x"),
    "a hard link to an absolute name": tar.hard_link("h", "/tmp/outside/canary") + tar.file("h"),
    "a hard link with two dots": tar.hard_link("h", "../tmp/outside/canary"),
    "a hard link through a link": tar.link("l", "/tmp/outside") + tar.hard_link("h", "l/canary"),
    "a hard link behind a pax header": tar.pax(linkpath="/tmp/outside/canary") + tar.hard_link("h", "good"),
    "a character device": tar.header("d", b"3", devices=b"0000001\x000000003\0"),
    "a block device": tar.header("d", b"4", devices=b"0000010\x000000000\0"),
    "a FIFO": tar.header("f", b"6"),
    "a sparse file of GNU's": tar.header("s", b"S", magic=b"ustar  \0"),
    "an entry of an unknown kind": tar.header("u", b"Z"),
    "a directory with content": tar.header("d", b"5", size=512) + bytes(512),
    "a link with content": tar.header("l", b"2", size=512, link=b"x") + bytes(512),
    "a size below zero": tar.header("n", size_field=b"\xff" * 12),
    "a size beyond 2^63": tar.header("n", size_field=b"\x80" + b"\xff" * 11),
    "a size that is no number": tar.header("n", size_field=b"99999999999\0"),
    "a pax size that is none": tar.pax(size="-1") + tar.file("n"),
    "a pax header of 2 MB": tar.header("p", b"x", size=2 << 20) + bytes(2 << 20),
    "a pax header that is none": tar.header("p", b"x", size=10) + tar.padded(b"xxxxxxxxxx") + tar.file("n"),
    "a long name of 2 MB": tar.gnu_long(b"n" * (2 << 20)) + tar.file("n"),
    "a file of 10 TB": tar.header("big", size_field=b"\x80" + (10 << 40).to_bytes(11, "big")),
    "a file of 300 MB, said": tar.header("big", size=300 << 20),
    "a file and a directory of one name": tar.file("x") + tar.file("x/y"),
    "a wrong checksum": tar.file("good")[:148] + b"000000\0 " + tar.file("good")[156:],
    "10,001 entries": b"".join(tar.header(f"e{i}") for i in range(10_001)),
    "20,000 levels": tar.pax(path="a/" * 20_000 + "f") + tar.file("f"),
    "half a header": tar.file("good") + tar.header("x")[:100],
    "half a file": tar.header("x", size=10_000) + bytes(1000),
    "an entry behind a zero block": tar.file("good") + bytes(512) + tar.file("hidden"),
    "noise": bytes(range(256)) * 100,
}
NO_END = {"half a header", "half a file", "a file of 10 TB", "a file of 300 MB, said"}


@pytest.mark.parametrize("how", HOSTILE)
def test_archive_that_leads_out_or_is_none__unpacks_nothing(server, session, how):
    """tries: to write outside the workspace, to make what is no file, to be larger or other than it says.
    must: 4xx, soon; nothing in the workspace, nothing changed outside.
    """
    before, begun = server.rss(), time.monotonic()
    good = tar.file("first", b"a good one in front")
    answer = upload(server, session, good + HOSTILE[how] + (b"" if how in NO_END else tar.END))
    assert 400 <= answer.status < 500, answer
    assert server.bash(session, LOOK)["stdout"] == "kept\n1\n", answer
    assert time.monotonic() - begun < 60 and server.rss() < before + 32


def test_control__an_honest_archive_is_unpacked(server, session):
    """A server that refuses every archive would pass every case above."""
    honest = (tar.header("d", b"5", mode=0o755) + tar.file("d/a") + tar.link("l", "d") + tar.file("l/b")
              + tar.hard_link("h", "d/a") + tar.END)
    answer = upload(server, session, honest)
    assert answer.status == 200, answer
    assert server.bash(session, "cat d/a d/b h")["stdout"] == "hostile" * 3


def test_link_that_a_program_planted__is_not_written_through(server, session):
    """tries: a link in the workspace, planted before, where the archive has a directory or a file.
    must: what it leads to is untouched.
    """
    server.bash(session, "ln -s /tmp/outside d; ln -s /tmp/outside/canary f; ln -s /tmp/outside/new n")
    for archive in (tar.file("d/new"), tar.file("d/canary")):
        upload(server, session, archive + tar.END)
    answer = upload(server, session, tar.file("f") + tar.file("n") + tar.END)
    assert answer.status in (200, 400, 403, 409), answer
    assert server.bash(session, "cat /tmp/outside/canary; ls -A /tmp/outside | wc -l")["stdout"] == "kept\n1\n"


def test_modes_and_owners__are_not_the_archives_to_give(server, session):
    """tries: setuid, setgid, sticky, another owner. must: plain files of the sandbox's user."""
    archive = tar.file("s", mode=0o7777) + tar.header("d", b"5", mode=0o7777) + tar.END
    assert upload(server, session, archive).status == 200
    assert server.bash(session, "stat -c '%a %u' s d")["stdout"].split() == ["777", "1000", "777", "1000"]


def test_names_twice_and_in_two_cases__the_last_counts(server, session):
    """tries: one name twice, a link and then a file of its name, names that differ in case only.
    must: the last is the file; the link is replaced and not followed; cases are two files.
    """
    archive = (tar.file("x", b"one") + tar.file("x", b"two") + tar.link("y", "/tmp/outside/canary") + tar.file("y", b"mine")
               + tar.file("Case", b"A") + tar.file("case", b"a") + tar.END)
    assert upload(server, session, archive).status == 200
    assert server.bash(session, "cat x y Case case; cat /tmp/outside/canary")["stdout"] == "twomineAakept\n"


def test_rubbish_behind_the_end__is_not_read_as_entries(server, session):
    """tries: another archive behind the end mark. must: not unpacked."""
    answer = upload(server, session, tar.file("a") + tar.END + tar.file("hidden") + tar.END)
    assert answer.status in (200, 400)
    assert "hidden" not in server.bash(session, "ls")["stdout"]


@pytest.mark.parametrize("kind, status", [("application/gzip", 415), ("application/zip", 415), ("application/x-tar", 400),
                                          ("multipart/form-data; boundary=x", 415), ("", 415)])
def test_packed_archives_and_other_forms__are_not_guessed(server, session, kind, status):
    """tries: bombs in gzip and zip, under their own name or as tar. must: refused unopened."""
    bomb = gzip.compress(bytes(50 << 20))
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../tmp/outside/new", bytes(50 << 20))
    for data in (bomb, zipped.getvalue()):
        assert upload(server, session, data, kind).status == status
    assert server.bash(session, LOOK)["stdout"] == "kept\n1\n"


def test_more_than_the_workspace_holds__is_all_or_nothing(server, session):
    """tries: 200 MB where 128 fit. must: 413; the space is free again."""
    archive = b"".join(tar.file(f"f{i}", bytes(20 << 20)) for i in range(10)) + tar.END
    answer = upload(server, session, archive)
    assert answer.status == 413, answer
    assert server.bash(session, "ls -A; df --output=used -k . | tail -1")["stdout"].split()[0] in ("0", "4", "8")


NAMES = ["../x", "/etc/x", "/proc/self/comm", "a/../../tmp/outside/new", "", ".", "..", "a\0b", "/workspace/../tmp/outside/new",
         "~/x/../../../tmp/outside/new", "n" * 5000]


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_names_in_json__are_checked_on_every_way_in(server, session, number):
    """tries: the same names by /write, /copy, files of a run. must: 4xx; nothing outside."""
    name = NAMES[number]
    content = "hostile"
    answers = [
        server.post("/write", {"session_id": session, "path": name, "content": content}),
        server.post(f"/sessions/default/{session}/copy", {"files": {name: content}}),
        server.post("/bash", {"session_id": session, "command": "true", "files": {name: content}}),
    ]
    assert all(400 <= answer.status < 500 for answer in answers), answers
    assert server.bash(session, "cat /tmp/outside/canary; ls -A /tmp/outside | wc -l")["stdout"] == "kept\n1\n"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "..", "a\0b"])
def test_names_of_leases__are_checked(server, name):
    """tries: names out of the work directory, and assets out of /tmp, by the lease interface. must: 4xx."""
    lease = server.post("/sandboxes/python", {}).json()["sandbox_id"]
    try:
        prepared = server.post(f"/sandboxes/{lease}/prepare", {"submission_files": {"a": {"filename": name, "content": "x"}}})
        asset = {"target": "/tmp/" + name if not name.startswith("/") else name,
                 "content": base64.b64encode(b"x").decode(), "read_only": True}
        injected = server.post(f"/sandboxes/{lease}/inject", {"resolved_assets": [asset]})
        read = server.ask("GET", f"/sandboxes/{lease}/files?path=" + name.replace("\0", "%00"))
        assert 400 <= prepared.status < 500 and 400 <= read.status < 500, (prepared, read)
        if name != "..":
            assert 400 <= injected.status < 500, injected
    finally:
        server.ask("DELETE", f"/sandboxes/{lease}")


def test_archive_that_comes_out__has_links_and_not_what_they_lead_to(server, session):
    """tries: to read files of the host or the agent by packing links to them. must: links; no content of theirs."""
    server.bash(session, "ln -s /etc/passwd p; ln -s /proc/1/environ e; ln -s / root; echo mine > f; mkfifo q")
    answer = server.ask("GET", f"/sessions/default/{session}/copy")
    assert answer.status == 200
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as archive:
        kinds = {member.name.removeprefix("./").rstrip("/"): member.type for member in archive}
    assert kinds["p"] == kinds["e"] == kinds["root"] == tarfile.SYMTYPE and kinds["f"] == tarfile.REGTYPE
    assert b"root:" not in answer.body and not any(each.startswith("root/") for each in kinds)
