"""Sessions that are paused, resumed and expire; notes on them; what they use."""
import time

import pytest
from support import run_async

import cloche
from cloche import aio


def test_paused_session_takes_no_calls_and_continues_where_it_was(server, client):
    with server.sandbox() as sandbox:
        run = sandbox.background("i=0; while [ ! -e stop ]; do i=$((i+1)); echo $i; sleep 0.01; done", language="bash")
        sandbox.run("x = 1", context="c")
        assert sandbox.pause().state == "paused"
        with pytest.raises(cloche.SandboxUnavailableError) as caught:
            sandbox.bash("true")
        assert caught.value.code == "session_paused"
        assert [each.session_id for each in client.sessions(state="paused")] == [sandbox.session_id]
        assert sandbox.resume().state == "live"
        assert sandbox.run("x + 1", context="c").value == "2"
        sandbox.write("stop", "")
        assert run.wait().exit_code == 0


def test_session_expires(server, client):
    client.create_session("brief", timeout=0.5)
    until_gone(client, "brief")
    client.create_session("tired", timeout=600, on_timeout="pause")
    assert client.session("tired").on_timeout == "pause"
    assert client.set_timeout("tired", 0.1).expires is not None
    end = time.monotonic() + 60
    while client.session("tired").state != "paused" and time.monotonic() < end:
        time.sleep(0.02)
    woken = client.resume("tired", timeout=600)
    assert woken.state == "live" and woken.expires is not None
    assert client.set_timeout("tired", None).expires is None
    client.end_session("tired")


def until_gone(client, session_id):
    end = time.monotonic() + 60
    while session_id in [each.session_id for each in client.sessions()]:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_metadata_is_kept_and_searched(server, client):
    notes = {"user": "7", "a b": "ü"}
    with server.sandbox(metadata=notes) as sandbox, server.sandbox(metadata={"user": "8"}) as other:
        sandbox.bash("true")
        other.bash("true")
        assert sandbox.info().metadata == notes
        assert [each.session_id for each in client.sessions(metadata=notes)] == [sandbox.session_id]
        assert client.sessions(metadata={"user": "9"}) == []
    with pytest.raises(cloche.SandboxArgumentError):
        client.create_session("noted", metadata={"": "x"})


def test_resource_use(sandbox):
    sandbox.run("sum(range(10 ** 6))")
    used = sandbox.resource_use()
    assert used.cpu_time > 0 and 0 < used.memory < used.limits["memory"]


def test_async(server):
    async def work():
        async with aio.Client(server.url) as client:
            await client.bash("true", session_id="slow")
            assert (await client.pause("slow")).state == "paused"
            assert (await client.resume("slow", timeout=60)).expires is not None
            assert (await client.set_timeout("slow", None)).expires is None
            assert (await client.resource_use("slow")).memory > 0
            assert [each.session_id for each in await client.sessions(state="live")] == ["slow"]
            await client.end_session("slow")
    run_async(work())
