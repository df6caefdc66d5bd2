"""The service in a container, as deploy/compose.yml describes it, over the engine of the tests."""
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import time

import pytest
from conftest import REPOSITORY, cannot_test

PATIENCE = 120.0
COMPOSE = REPOSITORY / "deploy/compose.yml"
# The engine of the tests has no networks. The calls of the test are made inside the container.
NO_NETWORK = "version: '3.8'\nservices: {cloche: {network_mode: none}}\n"


class Composition:
    def __init__(self, host, place, image):
        self.host = host
        self.name = "cloche-test-" + secrets.token_hex(4)
        self.data = place / "data"
        self.data.mkdir()
        config = (REPOSITORY / "deploy/container.yml").read_text()
        assert "/srv/cloche/data" in config
        (place / "container.yml").write_text(config.replace("/srv/cloche/data", str(self.data)))
        (place / "override.yml").write_text(NO_NETWORK)
        self.files = ["-f", str(COMPOSE), "-f", str(place / "override.yml")]
        self.environment = {
            **os.environ, "DOCKER_HOST": host, "CLOCHE_DOCKER_SOCKET": host.removeprefix("unix://"),
            "CLOCHE_SERVICE_IMAGE": image, "CLOCHE_SANDBOX_IMAGE": "cloche-test/debian",
            "CLOCHE_CONFIG": str(place / "container.yml")}

    def compose(self, *arguments):
        return self._run("docker-compose", *self.files, "-p", self.name, *arguments)

    def docker(self, *arguments):
        return self._run("docker", *arguments)

    def _run(self, *command):
        ran = subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=PATIENCE,
                             check=False)
        assert ran.returncode == 0, f"{command}: {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout.strip()

    def container(self):
        return self.compose("ps", "-q", "cloche")

    def wait_until_healthy(self):
        end = time.monotonic() + PATIENCE
        while (health := self.docker("inspect", "-f", "{{.State.Health.Status}}", self.container())) != "healthy":
            assert time.monotonic() < end, f"{health}\n{self.compose('logs')}"
            time.sleep(0.2)

    def owner(self):
        identity = "/var/lib/cloche/instances/docker/default/identity"
        return json.loads(self.docker("exec", self.container(), "cat", identity))["id"]


@pytest.fixture
def composition(scratch, packages):
    host = os.environ.get("CLOCHE_TEST_DOCKER_HOST", "")
    if not host.startswith("unix://"):
        cannot_test("docker", "CLOCHE_TEST_DOCKER_HOST names no engine at a unix socket")
    if not shutil.which("docker-compose"):
        cannot_test("docker-compose", "docker-compose is not installed")
    place = pathlib.Path(scratch / "container")
    place.mkdir()
    place.chmod(0o755)
    image = f"cloche-test/service:{secrets.token_hex(4)}"
    subprocess.run([str(REPOSITORY / "scripts/service-image"), "--docker-host", host, "--tag", image, "--packages",
                    str(packages)], check=True)
    made = Composition(host, place, image)
    try:
        yield made
    finally:
        made.compose("down", "-v", "--timeout", "60")
        made.docker("rmi", "-f", image)


def test_composed_service__runs_a_program_that_sees_a_mount_and_leaves_nothing(composition):
    (composition.data / "file").write_text("of the host\n")
    (composition.data / "file").chmod(0o644)
    composition.data.chmod(0o755)
    composition.compose("up", "-d")
    composition.wait_until_healthy()
    container, owner = composition.container(), composition.owner()
    rights = json.loads(composition.docker("inspect", container))[0]["HostConfig"]
    assert rights["ReadonlyRootfs"] and rights["CapDrop"] == ["ALL"] and not rights["Privileged"]

    token = composition.docker("exec", container, "cloche", "token", "create", "--tenant", "default")
    client = ["exec", "-e", "CLOCHE_TOKEN=" + token, container, "cloche", "exec", "-n", "s"]
    assert composition.docker(*client, "--", "cat", "/data/file") == "of the host"
    assert composition.docker("ps", "-q", "--filter", f"label=cloche.owner={owner}")
    refused = subprocess.run(["docker", "exec", container, "cloche", "exec", "-n", "s", "true"], capture_output=True,
                             text=True, env=composition.environment, timeout=PATIENCE, check=False)
    assert refused.returncode != 0 and "token" in refused.stderr

    composition.compose("down", "-v", "--timeout", "60")
    for kind in (["ps", "-aq"], ["volume", "ls", "-q"], ["network", "ls", "-q"]):
        for label in (f"cloche.owner={owner}", f"com.docker.compose.project={composition.name}"):
            assert composition.docker(*kind, "--filter", f"label={label}") == "", (kind, label)
