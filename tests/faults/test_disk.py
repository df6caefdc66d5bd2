"""Disks that are full, broken or gone: what lives goes on, what cannot be written down is refused, nothing is lost."""
import errno
import os
import shutil
import sqlite3
import subprocess

import pytest
from harness.target import CRUN
from waiting import eventually, seconds_until


def fill(place):
    """Until nothing goes in; the file to remove."""
    filler = place / "filler"
    with open(filler, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError as error:
                assert error.errno == errno.ENOSPC
    return filler


def test_state_directory_full__new_sessions_are_refused_and_those_that_live_go_on(tmpfs, serve, note):
    state = tmpfs("disk", "64m")
    server = serve(CRUN, state_dir=state).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    filler = fill(state)
    # What the journal of the database already has room for is still taken.
    answers = [server.write(f"n{number}", "file", "x") for number in range(60)]
    refused = [answer for answer in answers if answer.status not in (200, 429)]
    assert refused and all((answer.status, answer.code) == (503, "unavailable") for answer in refused), \
        [answer.text for answer in answers]
    assert max(answer.took for answer in refused) < 35
    assert server.write("s", "more", "y").status == 200
    assert server.bash("s", "cat kept more")["stdout"] == "xy"
    os.unlink(filler)
    for number in range(60):
        server.end_session(f"n{number}")
    whole = seconds_until(lambda: server.write("after", "file", "x").status == 200, "sessions can be made again")
    server.kill()
    server.start()
    assert server.read("s", "kept")["content"] == "x" and server.read("after", "file").status == 200
    note("new sessions: 503 unavailable; those that live: nothing", whole)


def test_state_directory_full_when_the_server_is_killed__all_is_found_again_once_there_is_room(tmpfs, serve):
    state = tmpfs("disk", "64m")
    server = serve(CRUN, state_dir=state).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    filler = fill(state)
    server.kill()
    server.start()
    if not server.is_running():
        assert server.wait() == 69 and "disk is full" in server.log(), server.log()
        os.unlink(filler)
        server.start()
    else:
        os.unlink(filler)
    assert server.read("s", "kept")["content"] == "x", server.log()


def test_workspace_full__is_the_callers_own_affair(serve):
    settings = {"profiles": {"session": {"limits": {"work_dir": "1m", "file_size": "64m"}}}}
    server = serve(CRUN, settings).start().wait_until_ready()
    filled = server.bash("s", "head -c 4000000 /dev/zero > big; echo $?")
    assert filled["stdout"] == "1\n" and "No space left" in filled["stderr"], filled.text
    refused = server.write("s", "more", "x" * 100_000)
    assert (refused.status, refused.code) == (413, "too_large"), refused.text
    assert server.bash("s", "rm big; echo well > file; cat file")["stdout"] == "well\n"
    assert server.write("other", "file", "x" * 100_000).status == 200


@pytest.mark.parametrize("file", ["sessions.db", "journal.db"])
@pytest.mark.parametrize("damage", ["truncated", "garbage", "empty", "gone"])
def test_database_damaged_while_the_server_was_down__it_starts_keeps_the_file_and_leaves_nothing(file, damage, serve):
    server = serve(CRUN).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    server.kill()
    place = server.instance_dir / file
    for beside in ("-wal", "-shm"):
        place.with_name(file + beside).unlink(missing_ok=True)
    if damage == "truncated":
        os.truncate(place, 100)
    elif damage == "garbage":
        place.write_bytes(os.urandom(8192))
    elif damage == "empty":
        place.write_bytes(b"")
    else:
        place.unlink()
    server.start()
    assert server.is_running(), server.log()
    if damage in ("truncated", "garbage"):
        assert "cannot be used and is kept as" in server.log()
        assert list(server.instance_dir.glob(file + ".damaged-*"))
    # What was in it is lost, and that is told; nothing is made up.
    told = server.session("s")
    assert told.status in (200, 404) and (told.status == 404 or told["state"] == "lost"), told.text
    server.end_session("s")
    assert server.write("s", "file", "x").status == 200
    server.wait_until_ready()
    eventually(lambda: len(server.sandboxes()) == server.stats("session")["total"], "only what the pool has is there")


def test_rows_that_make_no_sense__do_not_keep_the_server_from_starting(serve):
    server = serve(CRUN).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    server.kill()
    with sqlite3.connect(server.instance_dir / "journal.db") as journal:
        journal.execute("INSERT INTO sandboxes VALUES ('../../etc', 'nothing', '', 77, 'x', -5, 'nobody')")
    server.start()
    assert server.is_running(), server.log()
    assert server.read("s", "kept")["content"] == "x"


def test_state_directory_read_only__the_server_says_so_and_ends(tmpfs, serve):
    state = tmpfs("disk", "64m")
    server = serve(CRUN, state_dir=state).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    server.kill()
    subprocess.run(["mount", "-o", "remount,ro", str(state)], check=True)
    server.start()
    assert server.wait() != 0
    assert "ead-only" in server.log() or "readonly" in server.log(), server.log()
    subprocess.run(["mount", "-o", "remount,rw", str(state)], check=True)
    server.start()
    assert server.read("s", "kept")["content"] == "x"


def remove_run_directory(server):
    """When nothing is made or removed in it."""
    for profile in ("session", "python"):
        eventually(lambda p=profile: server.stats(p)["idle"] == server.stats(p)["pool_size"], f"{profile} is full")
    shutil.rmtree(os.path.join(server.run_dir, server.owner))


def test_run_directory_removed_under_the_server__sessions_go_on_and_nothing_is_left(serve):
    server = serve(CRUN).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    remove_run_directory(server)
    assert server.read("s", "kept")["content"] == "x"
    eventually(lambda: server.write("new", "file", "x").status == 200, "new ones are made")
    for session in ("s", "new"):
        assert server.end_session(session).status == 200


def test_run_directory_removed_and_server_killed__the_next_removes_what_it_cannot_reach(serve):
    server = serve(CRUN).start().wait_until_ready()
    assert server.write("s", "kept", "x").status == 200
    remove_run_directory(server)
    server.kill()
    server.start()
    assert server.is_running(), server.log()
    told = server.session("s")
    assert told["state"] == "lost", told.text
    server.wait_until_ready()
