"""Watches of directories."""
import pytest
from support import run_async

import cloche
from cloche import aio


def changes_until(watch, last):
    seen = []
    for change in watch:
        if change.path == last:
            return seen
        seen.append((change.type, change.path))
    raise AssertionError(f"the watch ended: {seen}")


def test_changes_of_a_tree_are_told_in_order(sandbox):
    sandbox.bash("mkdir d")
    watch = sandbox.watch(recursive=True)
    sandbox.bash("echo x > d/f; mv d/f d/g; rm d/g; touch last")
    seen = changes_until(watch, "last")
    kinds = [change for change in seen if change[0] in ("created", "renamed", "removed")]
    assert kinds == [("created", "d/f"), ("renamed", "d/f"), ("created", "d/g"), ("removed", "d/g")]
    assert ("written", "d/f") in seen
    watch.close()


def test_without_recursion_nothing_below_is_told(sandbox):
    sandbox.bash("mkdir d")
    watch = sandbox.watch()
    sandbox.bash("echo x > d/f; touch last")
    assert all("/" not in path for _, path in changes_until(watch, "last"))
    watch.close()


def test_directory_that_is_removed_ends_the_watch(sandbox):
    sandbox.bash("mkdir d")
    watch = sandbox.watch("d")
    sandbox.bash("rmdir d")
    with pytest.raises(cloche.SandboxNotFoundError):
        for _ in watch:
            pass


def test_what_cannot_be_watched_is_refused(sandbox):
    sandbox.bash("touch f")
    for path in ("f", "missing"):
        with pytest.raises(cloche.SandboxNotFoundError):
            sandbox.watch(path)
    for path in ("../x", "/proc"):
        with pytest.raises(cloche.SandboxError):
            sandbox.watch(path)


def test_end_of_the_session_ends_the_watch(server):
    with server.sandbox() as sandbox:
        sandbox.bash("true")
        watch = sandbox.watch()
    with pytest.raises(cloche.SandboxError):
        for _ in watch:
            pass


def test_async_watch_is_armed_when_it_is_returned(server):
    async def check():
        async with aio.Client(server.url) as client:
            await client.bash("true", session_id="w")
            watch = await client.watch(session_id="w")
            await client.bash("touch f", session_id="w")
            async for change in watch:
                assert (change.type, change.path) == ("created", "f")
                break
            await watch.aclose()
            await client.end_session("w")
    run_async(check())
