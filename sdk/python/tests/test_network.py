"""Networks of sessions: chosen, changed, and what the service says about connections."""
import threading

import pytest
from support import eventually, need_backend, run_async, settings_of

import cloche
from cloche import aio

FETCH = ("import urllib.error, urllib.request\n"
         "try:\n    urllib.request.urlopen('http://other.example/')\n"
         "except urllib.error.HTTPError as error:\n    print(error.code)\n")


@pytest.fixture(scope="module")
def server():
    need_backend("oci", "test_network")
    with cloche.start(**settings_of("oci", egress={"choose": {"tenants": "all"}})) as started:
        yield started


def test_a_session_reaches_what_its_network_allows(server):
    with server.sandbox(network={"allow": ["allowed.example"]}) as sandbox:
        assert sandbox.info().network == {"mode": "allow-list", "allow": ["allowed.example"]}
        assert sandbox.run(FETCH).stdout == "403\n"
        denied = sandbox.egress_events()
        assert [(each.outcome, each.host, each.port) for each in denied] == [("denied", "other.example", 80)]
        assert sandbox.egress_events(after=denied[-1].number) == []
        assert sandbox.set_network("none").network == {"mode": "none"}
        assert sandbox.bash("env | grep -ci _proxy=").stdout == "0\n"


def test_a_network_that_is_not_there(server):
    with server.sandbox() as sandbox:
        with pytest.raises(cloche.SandboxNotFoundError, match="no such rule set"):
            sandbox.set_network({"rules": ["missing"]})
        with pytest.raises(cloche.SandboxArgumentError, match="not public"):
            sandbox.set_network({"allow": ["10.0.0.1"]})
        assert sandbox.set_network(None).network == {"mode": "none"}


def test_events_are_followed_until_the_network_ends(server):
    with server.client() as client, server.sandbox(network="allow-list") as sandbox:
        sandbox.start()
        seen = []
        follower = threading.Thread(
            target=lambda: seen.extend(each.outcome for each in client.follow_egress(sandbox.session_id)))
        follower.start()
        sandbox.run(FETCH)
        assert eventually(lambda: seen == ["denied"])
        sandbox.set_network("none")
        follower.join(60)
        assert not follower.is_alive() and seen == ["denied"]


def test_the_same_on_asyncio(server):
    async def body():
        async with aio.Client(server.url, "") as client, aio.Sandbox(client, network="allow-list") as sandbox:
            await sandbox.run(FETCH)
            assert [each.outcome for each in await sandbox.egress_events()] == ["denied"]
            async for event in client.follow_egress(sandbox.session_id):
                assert event.told["reason"]
                break
            assert (await sandbox.set_network("none")).network == {"mode": "none"}
    run_async(body())


def test_runs_without_a_session_of_their_own_choose_a_network(server):
    network = {"allow": ["allowed.example"]}
    with server.client() as client:
        assert client.execute(FETCH, session_id="by-run", network=network).stdout == "403\n"
        assert client.bash("echo again", session_id="by-run", network=network).stdout == "again\n"
        with pytest.raises(cloche.SandboxError, match="has another network") as refused:
            client.bash("true", session_id="by-run", network="none")
        assert refused.value.status == 409
        client.end_session("by-run")
        assert [each.stdout for each in client.run_code("python", FETCH, network=network)] == ["403\n"]
        with pytest.raises(cloche.SandboxNotFoundError, match="no such rule set"):
            client.run_code("python", FETCH, network={"rules": ["missing"]})
        with client.lease("python", network=network) as lease:
            assert "3128" in lease.run("sh -c 'echo $HTTP_PROXY'").stdout

    async def body():
        async with aio.Client(server.url, "") as asynchronous:
            assert [each.stdout for each in await asynchronous.run_code("python", FETCH, network=network)] == ["403\n"]
            async with asynchronous.lease("python", network=network) as lent:
                assert "3128" in (await lent.run("sh -c 'echo $HTTP_PROXY'")).stdout
    run_async(body())
