"""Tokens, tenants and quotas."""
import subprocess
import time

import pytest
from support import eventually, need_backend, run_async

import cloche
import cloche.aio
from cloche.server import find_program

# A token that is good no longer is noticed within four seconds; the rest is for a busy machine.
SOON = 20.0

CONFIG = """
secrets: {{KEY: {{env: PATH, tenants: [acme]}}}}
server:
  tokens: {directory}/tokens.json
  quotas: {{tenants: {{small: {{sessions: 1, runs: 1}}}}}}
profiles:
  session: {{runtime: crun, limits: {{memory: 128m}}, pool: {{pool_size: 1, scale_limit: 8}}}}
sessions: {{most: 6}}
"""


@pytest.fixture
def guarded(tmp_path):
    """A server that asks for tokens, and some by tenant."""
    need_backend("oci", "test_auth")
    config = tmp_path / "cloche.yml"
    config.write_text(CONFIG.format(directory=tmp_path))
    config.chmod(0o600)

    def make_token(tenant, role, *more):
        command = [find_program(), "token", "create", "--config", config, "--tenant", tenant, "--role", role, *more]
        made = subprocess.run(command, check=True, capture_output=True, text=True)
        return made.stdout.strip()

    def revoke_token(token):
        command = [find_program(), "token", "revoke", "--config", config, token.split("_")[1]]
        subprocess.run(command, check=True, capture_output=True)
    # Before the start: a server that runs sees new ones within a second.
    tokens = {tenant: make_token(tenant, role) for tenant, role in
              (("acme", "user"), ("other", "user"), ("small", "user"), ("default", "admin"))}
    with cloche.start(config=config) as server:
        server.make_token, server.revoke_token = make_token, revoke_token
        yield server, tokens


def test_secret_is_for_the_tenants_that_it_lists(guarded):
    server, tokens = guarded
    with server.client(token=tokens["acme"]) as client, cloche.Sandbox(client, secrets=["KEY"]) as sandbox:
        assert "/bin" in sandbox.bash("printenv KEY").stdout
        with pytest.raises(cloche.SandboxPermissionError):
            client.access()
    with server.client(token=tokens["other"]) as client:
        for name in ("KEY", "NO_SUCH", "PATH"):
            with pytest.raises(cloche.SandboxNotFoundError, match=f"no such secret: '{name}'"):
                client.create_session("s", secrets=[name])
    with server.client(token=tokens["default"]) as admin:
        assert admin.access()["secrets"] == [{"name": "KEY", "all_tenants": False, "tenants": ["acme"]}]


def test_strangers_are_refused_and_tenants_are_apart(guarded):
    server, tokens = guarded
    for token in ("", "cloche_" + "0" * 16 + "_" + "0" * 64):
        with server.client(token=token) as stranger:
            with pytest.raises(cloche.SandboxPermissionError) as caught:
                stranger.sessions()
            assert caught.value.status == 401 and stranger.health()

    with server.client(token=tokens["acme"]) as client, cloche.Sandbox(client) as sandbox:
        sandbox.write("a", "mine")
        assert sandbox.info().tenant_id == "acme"  # the tenant's name is the service's to tell
        run = sandbox.background("echo hi", "bash")
        assert run.wait(20).stdout == "hi\n"
        with sandbox.terminal("echo ready") as terminal:
            assert terminal.wait(20).exit_code == 0

        with server.client(token=tokens["other"]) as other:
            assert other.sessions() == []
        with server.client(token=tokens["acme"], tenant="other") as wrong:
            with pytest.raises(cloche.SandboxPermissionError) as caught:
                wrong.execute("", session_id="x")
            assert caught.value.status == 403

        with server.client(token=tokens["default"], tenant="acme") as admin:
            assert admin.read("a", session_id=sandbox.session_id) == "mine"
            assert admin.session(sandbox.session_id).tenant_id == "acme"


def test_token_of_the_environment_is_sent(guarded, monkeypatch):
    server, tokens = guarded
    monkeypatch.setenv("CLOCHE_URL", server.url)
    monkeypatch.setenv("CLOCHE_TOKEN", tokens["acme"])
    with cloche.Sandbox() as sandbox:
        assert sandbox.run("print(42)").stdout == "42\n"

    async def work():
        async with cloche.aio.Sandbox() as sandbox:
            assert (await sandbox.run("print(42)")).stdout == "42\n"
            assert (await sandbox.info()).tenant_id == "acme"
    run_async(work())


def test_quota_is_said_with_when_to_come_again(guarded):
    server, tokens = guarded
    with server.client(token=tokens["small"]) as client, cloche.Sandbox(client) as first:
        first.bash("true")
        with cloche.Sandbox(client) as second, pytest.raises(cloche.SandboxResourceError) as caught:
            second.bash("true")
        assert caught.value.status == 429
        first.background("sleep 600", "bash")
        with pytest.raises(cloche.SandboxResourceError) as caught:
            first.bash("true")
        assert caught.value.retry_after is not None


ENDLESS = "import time\nwhile True: print('tick', flush=True); time.sleep({pause})"


@pytest.mark.parametrize("pause", [0.01, 600], ids=["talks", "is_silent"])
def test_stream_of_a_token_that_is_revoked_ends_soon(pause, guarded):
    server, tokens = guarded
    with server.client(token=tokens["acme"]) as client:
        with client.stream(ENDLESS.format(pause=pause), session_id="s") as events:
            assert [next(events).kind for _ in range(2)] == ["run", "stdout"]
            server.revoke_token(tokens["acme"])
            began = time.monotonic()
            with pytest.raises(cloche.SandboxPermissionError) as caught:
                for _ in events:
                    pass
    assert caught.value.code == "unauthenticated" and time.monotonic() - began < SOON


@pytest.mark.parametrize("command", ["echo up; exec sleep 600", "echo up; exec yes"], ids=["is_silent", "talks"])
def test_terminal_of_a_token_that_is_revoked_ends_soon(command, guarded):
    server, tokens = guarded
    with server.client(token=tokens["acme"], tenant="acme") as client, client.terminal("s", command) as terminal:
        terminal.read_until("up")
        server.revoke_token(tokens["acme"])
        began = time.monotonic()
        with pytest.raises(cloche.SandboxPermissionError) as caught:
            terminal.wait(60)
    assert caught.value.code == "unauthenticated" and time.monotonic() - began < SOON
    with server.client(token=tokens["default"], tenant="acme") as admin:
        left = "for p in /proc/[0-9]*; do cat $p/comm; done 2>/dev/null | grep -cE '^(sleep|yes)$'; true"
        assert eventually(lambda: admin.bash(left, session_id="s").stdout == "0\n")


def test_terminal_of_a_token_that_is_good_goes_on(guarded):
    server, tokens = guarded
    with server.client(token=tokens["acme"], tenant="acme") as client, client.terminal("s") as terminal:
        server.revoke_token(tokens["other"])
        time.sleep(5)  # longer than it takes to look at the tokens again
        terminal.write("echo $((6 * 7))\n")
        assert b"42" in terminal.read_until("42")


def test_terminal_of_a_token_that_expires_ends_soon(guarded):
    server, _ = guarded
    token = server.make_token("acme", "user", "--expires", "4s")
    with server.client(token=token, tenant="acme") as client:
        def terminal():
            try:
                return client.terminal("s", "echo up; exec sleep 600")
            except cloche.SandboxPermissionError:  # the server has not seen the new token yet
                return None
        with eventually(terminal) as opened, pytest.raises(cloche.SandboxPermissionError) as caught:
            began = time.monotonic()
            opened.wait(60)
    assert caught.value.code == "unauthenticated" and time.monotonic() - began < SOON
