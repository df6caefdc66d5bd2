"""Snapshots: taken, restored into another session, deleted; and forks."""
import pytest
from support import need_backend, run_async, settings_of

import cloche
from cloche import aio


@pytest.fixture(scope="module")
def server():
    need_backend("oci", "test_snapshots")
    with cloche.start(**settings_of("oci")) as started:
        yield started


def test_a_session_starts_with_the_files_of_a_snapshot(server):
    with server.client() as client:
        with server.sandbox() as sandbox:
            sandbox.bash("mkdir -p d/empty && echo kept > d/file && chmod 750 d/file && ln -s file d/link")
            taken = client.take_snapshot(sandbox.session_id, "before")
            assert (taken.name, taken.session_id, taken.kept) == ("before", sandbox.session_id, "files")
            assert (taken.files, taken.size) == (4, 5)
            sandbox.bash("rm -r d")
            with pytest.raises(cloche.SandboxError) as error:
                client.take_snapshot(sandbox.session_id, "before")
            assert error.value.code == "already_exists"
        with server.sandbox(snapshot="before") as sandbox:
            assert sandbox.bash("cat d/link && stat -c %a d/file && ls d").stdout == "kept\n750\nempty\nfile\nlink\n"
        assert [each.id for each in client.snapshots()] == [taken.id]
        assert client.snapshots(session_id="another") == []
        assert client.snapshot("before") == client.snapshot(taken.id) == taken
        client.delete_snapshot(taken.id)
        assert client.snapshots() == []
        with pytest.raises(cloche.SandboxNotFoundError):
            client.snapshot("before")
        with pytest.raises(cloche.SandboxNotFoundError):
            client.create_session("of-nothing", snapshot="before")


def test_forks_have_the_files_and_go_their_own_ways(server):
    with server.client() as client, server.sandbox(env={"WHO": "parent"}) as sandbox:
        sandbox.bash("echo one > file")
        forks = client.fork(sandbox.session_id, ids=["fork-a", "fork-b", sandbox.session_id])
        assert [each.session and each.session.session_id for each in forks] == ["fork-a", "fork-b", None]
        assert forks[2].code == "already_exists"
        try:
            client.bash("echo two > file", session_id="fork-a")
            assert client.bash("cat file; echo $WHO", session_id="fork-b").stdout == "one\nparent\n"
            assert sandbox.bash("cat file").stdout == "one\n"
            assert client.snapshots() == []
        finally:
            for each in forks[:2]:
                client.end_session(each.session.session_id)


def test_the_same_on_asyncio(server):
    async def body():
        async with aio.Client(server.url, "") as client:
            async with aio.Sandbox(client) as sandbox:
                await sandbox.bash("echo kept > file")
                taken = await client.take_snapshot(sandbox.session_id)
                fork, = await client.fork(sandbox.session_id)
                assert (await client.bash("cat file", session_id=fork.session.session_id)).stdout == "kept\n"
                await client.end_session(fork.session.session_id)
            async with aio.Sandbox(client, snapshot=taken.id) as sandbox:
                assert (await sandbox.bash("cat file")).stdout == "kept\n"
            assert [each.id for each in await client.snapshots()] == [taken.id]
            await client.delete_snapshot(taken.id)

    run_async(body())
