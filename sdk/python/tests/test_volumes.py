"""Volumes: created, used by sessions one after the other, deleted."""
import shutil

import pytest
from support import missing, need_backend, run_async, settings_of

import cloche
from cloche import aio


@pytest.fixture(scope="module", params=["crun", "runsc"])
def server(request):
    need_backend("oci", "test_volumes")
    if not shutil.which(request.param):
        missing(request.param, "test_volumes", f"{request.param} is not installed")
    settings = settings_of("oci")
    for profile in settings["profiles"].values():
        profile["runtime"] = request.param
    with cloche.start(**settings) as started:
        yield started


def test_files_on_a_volume_outlive_their_session(server):
    with server.client() as client:
        made = client.create_volume("data", "16m")
        assert (made.name, made.size, made.writers) == ("data", 16 << 20, 0)
        with server.sandbox(volumes=["data"]) as sandbox:
            sandbox.bash("echo kept > /volumes/data/file")
            assert [dict(each) for each in sandbox.info().volumes] == [
                {"name": "data", "target": "/volumes/data", "access": "read_write"}]
            assert client.volume("data").writers == 1
            with pytest.raises(cloche.SandboxResourceError, match="in use"):
                client.delete_volume("data")
        mounted = {"name": "data", "target": "/workspace/data", "access": "read_only"}
        with server.sandbox(volumes=[mounted]) as sandbox:
            assert sandbox.bash("cat data/file").stdout == "kept\n"
            assert "Read-only" in sandbox.bash("echo > data/file").stderr
        assert [each.name for each in client.volumes()] == ["data"]
        client.delete_volume("data")
        assert client.volumes() == []
        with pytest.raises(cloche.SandboxNotFoundError):
            client.volume("data")


def test_the_same_on_asyncio(server):
    async def body():
        async with aio.Client(server.url, "") as client:
            await client.create_volume("other", 16 << 20)
            async with aio.Sandbox(client, volumes=["other"]) as sandbox:
                assert (await sandbox.bash("touch /volumes/other/x && ls /volumes/other")).stdout == "x\n"
            assert [each.name for each in await client.volumes()] == ["other"]
            await client.delete_volume("other")

    run_async(body())
