"""Tokens, tenants and quotas."""
import subprocess

import pytest
from support import need_backend, run_async

import cloche
import cloche.aio
from cloche.server import find_program

CONFIG = """
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

    def make_token(tenant, role):
        command = [find_program(), "token", "create", "--config", config, "--tenant", tenant, "--role", role]
        made = subprocess.run(command, check=True, capture_output=True, text=True)
        return made.stdout.strip()
    # Before the start: a server that runs sees new ones within a second.
    tokens = {tenant: make_token(tenant, role) for tenant, role in
              (("acme", "user"), ("other", "user"), ("small", "user"), ("default", "admin"))}
    with cloche.start(config=config) as server:
        yield server, tokens


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
