"""A day of an agent with the package managers of this host: what `cloche egress learn` finds is enough for them."""
import json
import os
import shutil
import subprocess

import pytest
from support import missing, need_backend

import cloche
from cloche.server import find_program

SECONDS = 300
INSTALL = "python3 -m pip install --quiet --no-warn-script-location"


def learn(client):
    """The rules for one package manager of this host."""
    if not shutil.which(client):
        missing(client, "test_agent_day", f"{client} is not installed")
    ran = subprocess.run([find_program(), "egress", "learn", client, "--json"], capture_output=True, text=True,
                         timeout=SECONDS, check=True)
    return json.loads(ran.stdout)["allow"]


def asked(*command):
    """What a client of this host prints, or nothing."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def pip_environment():
    """Where pip of this host looks for packages."""
    names = {"PIP_INDEX_URL": "global.index-url", "PIP_EXTRA_INDEX_URL": "global.extra-index-url",
             "PIP_TRUSTED_HOST": "global.trusted-host"}
    found = {name: os.environ.get(name) or asked("pip", "config", "get", key) for name, key in names.items()}
    return {name: value for name, value in found.items() if value}


def npm_environment():
    registry = asked("npm", "config", "get", "registry")
    return {"npm_config_registry": registry, "npm_config_update_notifier": "false"} if registry else {}


@pytest.fixture(scope="module")
def server():
    need_backend("oci", "test_agent_day")
    packages = {"allow": learn("pip") + (learn("npm") if shutil.which("npm") else [])}
    session = {"runtime": "crun", "workspace": "disk", "disk_size": "512m", "tenants": "all",
               "network": {"rules": ["packages"]}, "pool": {"pool_size": 1, "scale_limit": 3},
               "limits": {"memory": "1g", "pids": 256, "file_size": "256m", "cpus": 2}}
    with cloche.start(profiles={"session": session}, egress={"rules": {"packages": packages}}) as started:
        yield started


@pytest.fixture
def volume(server):
    with server.client() as client:
        client.create_volume("kept", "64m")
        yield "kept"
        client.delete_volume("kept")


def need_registry(client, test, environment, *command):
    """Skips, and notes why, where this host cannot reach its own registry."""
    try:
        ran = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60,
                             check=False)
        why = "" if ran.returncode == 0 else ran.stderr.strip()[-200:]
    except subprocess.TimeoutExpired:
        why = "it does not respond"
    if why:
        missing("registry", test, f"{client} of this host does not reach its registry: {why}")


def test_pip_installs_a_package_that_the_next_session_imports(server, volume, tmp_path):
    environment = pip_environment()
    need_registry("pip", "test_agent_day", environment, "/usr/bin/python3", "-m", "pip", "download", "--quiet", "--no-deps",
                  "--dest", str(tmp_path), "idna")
    with server.sandbox(env=environment, volumes=[volume]) as sandbox:
        if sandbox.bash("python3 -m pip --version").exit_code != 0:
            missing("pip", "test_agent_day", "the sandbox has no pip")
        assert sandbox.bash("git init --quiet . && git status --short").exit_code == 0
        installed = sandbox.bash(f"{INSTALL} --target /volumes/kept/lib idna", timeout=SECONDS)
        assert installed.exit_code == 0, installed.stderr
        outcomes = {event.outcome for event in sandbox.egress_events()}
        assert "allowed" in outcomes and "denied" not in outcomes
        # Nothing else is reached.
        assert sandbox.bash("curl -sS -o /dev/null https://not-a-registry.example/").exit_code != 0
        assert sandbox.egress_events()[-1].outcome == "denied"
    with server.sandbox(network="none", volumes=[{"name": volume, "access": "read_only"}]) as sandbox:
        ran = sandbox.run("import sys\nsys.path.insert(0, '/volumes/kept/lib')\nimport idna\n"
                          "print(idna.encode('b\\u00fccher.test').decode())")
        assert ran.stdout == "xn--bcher-kva.test\n", ran.stderr


def test_pip_installs_into_the_home_directory(server, tmp_path):
    environment = pip_environment()
    need_registry("pip", "test_agent_day", environment, "/usr/bin/python3", "-m", "pip", "download", "--quiet", "--no-deps",
                  "--dest", str(tmp_path), "idna")
    with server.sandbox(env=environment) as sandbox:
        installed = sandbox.bash(f"{INSTALL} --user --ignore-installed --break-system-packages idna", timeout=SECONDS)
        if "no such option" in installed.stderr:
            missing("pip", "test_agent_day", "pip of the sandbox is too old")
        assert installed.exit_code == 0, installed.stderr
        assert sandbox.run("import idna\nprint(idna.__file__.startswith('/usr'))").stdout == "False\n"


def test_npm_installs_a_package(server):
    if not shutil.which("npm"):
        missing("npm", "test_agent_day", "npm is not installed")
    environment = npm_environment()
    need_registry("npm", "test_agent_day", environment, "npm", "view", "left-pad", "version")
    with server.sandbox(env=environment) as sandbox:
        if sandbox.bash("npm --version").exit_code != 0:
            missing("npm", "test_agent_day", "the sandbox has no npm")
        installed = sandbox.bash("npm install --no-audit --no-fund left-pad", timeout=SECONDS)
        assert installed.exit_code == 0, installed.stderr
        ran = sandbox.bash("node -e 'console.log(require(\"left-pad\")(7, 3, 0))'")
        assert ran.stdout == "007\n", ran.stderr
        assert "denied" not in {event.outcome for event in sandbox.egress_events()}
