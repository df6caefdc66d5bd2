"""Sessions and their files."""
import threading

import pytest
from support import run_async

import cloche
import cloche.aio


def ids(client):
    return [each.session_id for each in client.sessions()]


def test_sandbox_ends_its_session(server, client):
    with server.sandbox() as sandbox:
        sandbox.bash("true")
        assert sandbox.session_id in ids(client)
        assert sandbox.info().state == "live"
    assert sandbox.session_id not in ids(client)
    with pytest.raises(cloche.SandboxNotFoundError):
        client.session(sandbox.session_id)


def test_sandbox_that_is_kept_is_found_again(server, client):
    with server.sandbox("kept", keep=True) as sandbox:
        sandbox.write("a", "1")
    with server.sandbox("kept") as sandbox:
        assert sandbox.read("a") == "1"
    assert "kept" not in ids(client)


def test_sandbox_that_was_never_used_makes_nothing(server, client):
    with server.sandbox("unused"):
        assert "unused" not in ids(client)


def test_sandbox_with_options_never_takes_anothers_session(server, client):
    client.bash("true", session_id="taken")
    with server.sandbox("taken", env={"A": "b"}) as sandbox:
        with pytest.raises(cloche.SandboxError) as caught:
            sandbox.bash("true")
        assert caught.value.code == "already_exists"
    assert "taken" in ids(client)
    client.end_session("taken", "wait")


def test_options_reach_the_sandbox(server):
    with server.sandbox(env={"COLOUR": "blue"}, limits={"pids": 20, "memory": "64m"}, idle_timeout=100) as sandbox:
        assert sandbox.bash("echo $COLOUR").stdout == "blue\n"
        assert sandbox.info().idle_timeout == 100
        assert sandbox.run("x = bytearray(200 << 20)").cause == "memory"


def test_session_that_nobody_can_have_is_refused(client):
    with pytest.raises(cloche.SandboxArgumentError):
        client.create_session("../up")
    with pytest.raises(cloche.SandboxArgumentError):
        client.create_session("a", limits={"cpu": 1})
    with pytest.raises(cloche.SandboxArgumentError):
        client.execute(42, session_id="a")


def test_threads_share_a_sandbox(sandbox):
    got = []
    threads = [threading.Thread(target=lambda n=n: got.append(sandbox.run(f"print({n})").stdout)) for n in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(got) == [f"{n}\n" for n in range(6)]


# Files

def test_text_is_written_and_read_by_lines(sandbox):
    assert sandbox.write("deep/a.txt", "one\ntwo\nthree\n") == 14
    sandbox.write("deep/a.txt", "four\n", append=True)
    text = sandbox.read("deep/a.txt", offset=1, limit=2)
    assert text == "two\nthree\n" and (text.truncated, text.next_offset, text.total_lines) == (True, 3, 4)
    assert sandbox.read("/workspace/deep/a.txt").size == 19


def test_bytes_are_written_and_read(sandbox):
    sandbox.write("b.bin", bytes(range(256)), mode=0o600)
    assert sandbox.read_binary("b.bin") == bytes(range(256))
    part = sandbox.read_binary("b.bin", offset=10, length=5)
    assert part == bytes(range(10, 15)) and part.size == 256
    assert sandbox.bash("stat -c %a b.bin").stdout == "600\n"
    with pytest.raises(cloche.SandboxArgumentError) as caught:
        sandbox.read("b.bin")
    assert caught.value.code == "not_text"
    assert len(sandbox.read("b.bin", encoding="latin-1")) == 256


def test_what_is_not_there_or_leads_out_is_an_error(sandbox):
    with pytest.raises(cloche.SandboxNotFoundError):
        sandbox.read("missing")
    with pytest.raises(cloche.SandboxArgumentError):
        sandbox.read("../etc/passwd")
    sandbox.bash("ln -s /etc/passwd link")
    with pytest.raises(cloche.SandboxPermissionError):
        sandbox.read("link")


def test_grep_and_glob(sandbox):
    sandbox.copy_in({"src/a.py": "import os\nx = 1\n", "src/b.py": "y = 2\n", "c.txt": "import no\n"})
    found = sandbox.grep("^import", glob="*.py", context=1)
    assert [(each.path, each.line, each.text, list(each.after)) for each in found] == [
        ("src/a.py", 1, "import os", ["x = 1"])]
    assert found.files_searched >= 1 and not found.truncated
    paths = sandbox.glob("**/*.py")
    assert sorted(paths) == ["src/a.py", "src/b.py"] and {each.type for each in paths.entries} == {"file"}


def test_names_and_parts_of_files_are_changed(sandbox):
    sandbox.write("a.py", "x = 1\r\ny = 1\r\n", mode=0o755)
    assert sandbox.edit("a.py", "x = 1", "x = 2").replaced == 1
    with pytest.raises(cloche.SandboxArgumentError) as refused:
        sandbox.edit("a.py", "= ", "=")
    assert refused.value.code == "other_count" and "2 times" in str(refused.value)
    assert sandbox.edit("a.py", b"= ", b"=\xff", replace_all=True) == cloche.Edited(2, 14)
    assert sandbox.read_binary("a.py") == b"x =\xff2\r\ny =\xff1\r\n"
    assert sandbox.mkdir("d/e", parents=True) and not sandbox.mkdir("d/e", parents=True)
    sandbox.move("a.py", "d/e/b.py")
    sandbox.write("c", "")
    with pytest.raises(cloche.SandboxError) as taken:
        sandbox.move("c", "d/e/b.py")
    assert taken.value.status == 409
    sandbox.move("c", "d/e/b.py", overwrite=True)
    about = sandbox.stat("d/e/b.py")
    assert (about.type, about.size, about.mode) == ("file", 0, 0o644)
    assert sandbox.delete("d", recursive=True) == 3 and sandbox.delete("d", missing_ok=True) == 0
    with pytest.raises(cloche.SandboxNotFoundError):
        sandbox.stat("d")


def test_files_outside_the_workspace(sandbox, tmp_path):
    sandbox.write("/tmp/x/f", "text\n")
    assert sandbox.bash("cat f", work_dir="/tmp/x").stdout == "text\n"
    assert sandbox.glob("*", path="/tmp/x") == ["/tmp/x/f"]
    assert sandbox.download("/tmp/x/f", tmp_path).read_text() == "text\n"
    with pytest.raises(cloche.SandboxPermissionError):
        sandbox.read("/proc/self/status")


def test_what_is_left_out_of_searches_and_artifacts(sandbox):
    made = sandbox.bash("mkdir -p node_modules .git; "
                        "for f in a.py b.log node_modules/c.py .git/d.py; do echo hit > $f; done")
    assert [each.path for each in made.artifacts] == ["a.py", "b.log"] and made.artifacts_ignored == 2
    found = sandbox.grep("hit", exclude=["*.log", "node_modules"], hidden=False)
    assert [each.path for each in found] == ["a.py"] and found.files_binary == found.files_unreadable == 0
    assert sandbox.glob("**/*.py", exclude=["node_modules/"]) == ["a.py"]
    every = sandbox.bash("touch a.py .git/d.py", artifacts={"ignore": "none", "exclude": ["a.*"]})
    assert [each.path for each in every.artifacts] == [".git/d.py"]


def test_input_of_bytes_and_pipes_that_fail(sandbox):
    assert sandbox.bash("cat", stdin=b"\x00\xff").stdout_bytes == b"\x00\xff"
    assert sandbox.bash("false | true").exit_code == 0
    assert sandbox.bash("false | true", pipefail=True).exit_code == 1
    assert sandbox.bash("echo " + "x" * 200_000 + " | wc -c").stdout == "200001\n"


def test_trees_go_in_and_out(sandbox, tmp_path):
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "big").write_bytes(b"x" * 3_000_000)
    (source / "run.sh").write_text("echo ran\n")
    (source / "run.sh").chmod(0o755)
    sandbox.upload(source, "copied")
    assert sandbox.bash("copied/run.sh && wc -c < copied/sub/big").stdout == "ran\n3000000\n"
    sandbox.upload(source / "run.sh")
    sandbox.bash("ln -s /etc/passwd copied/link; mkfifo copied/fifo")
    done = sandbox.copy_out("copied", tmp_path / "back")
    files = {str(each.relative_to(tmp_path / "back")) for each in done.files}
    assert {name.rpartition("/")[2] for name in files} == {"big", "run.sh"} and "link" in "".join(done.skipped)
    saved = sandbox.download("copied/sub/big", tmp_path)
    assert saved == tmp_path / "big" and saved.stat().st_size == 3_000_000
    with pytest.raises(cloche.SandboxNotFoundError):
        sandbox.download("missing", tmp_path / "missing")
    assert not (tmp_path / "missing").exists()


def test_tree_that_does_not_fit_is_refused_whole(sandbox, tmp_path):
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "first").write_text("small")
    with open(tmp_path / "big" / "second", "wb") as file:
        file.truncate(200 << 20)
    with pytest.raises(cloche.SandboxResourceError):
        sandbox.upload(tmp_path / "big")
    assert sandbox.glob("*") == []


def test_files_on_asyncio(server, tmp_path):
    async def work():
        async with cloche.aio.Client(server.url) as client, cloche.aio.Sandbox(client) as sandbox:
            await sandbox.write("a", "1\n")
            assert await sandbox.read("a") == "1\n" and await sandbox.read_binary("a") == b"1\n"
            (tmp_path / "tree").mkdir()
            (tmp_path / "tree" / "f").write_bytes(b"y" * 1_000_000)
            assert (await sandbox.upload(tmp_path / "tree", "t")).bytes == 1_000_000
            assert await sandbox.glob("t/*") == ["t/f"]
            assert len(await sandbox.grep("1")) == 1
            done = await sandbox.copy_out("t", tmp_path / "back")
            assert [each.stat().st_size for each in done.files] == [1_000_000]
            assert (await sandbox.download("a", tmp_path)).read_text() == "1\n"
            assert (await sandbox.edit("a", "1", "2")).replaced == 1 and (await sandbox.stat("a")).size == 2
            await sandbox.move("a", "/tmp/b")
            assert await sandbox.mkdir("made") and await sandbox.delete("made") == 1
            assert (await sandbox.info()).state == "live"
            assert sandbox.session_id in [each.session_id for each in await client.sessions()]
    run_async(work())
