"""Which backend and runtime a test runs on, and what is missing here to do so."""
import dataclasses
import os
import shutil

import pytest

IMAGE = "cloche-test/debian"


@dataclasses.dataclass(frozen=True)
class Target:
    backend: str
    runtime: str

    @property
    def name(self):
        return f"{self.backend}_{self.runtime}"

    @property
    def is_docker(self):
        return self.backend == "docker"

    def sandbox(self):
        """The part of a profile that says it."""
        return {"runtime": self.runtime, **({"image": IMAGE} if self.is_docker else {})}


CRUN = Target("oci", "crun")
RUNSC = Target("oci", "runsc")
DOCKER = Target("docker", "runc")


def engine_host():
    return os.environ.get("CLOCHE_TEST_DOCKER_HOST", "")


def engine_socket():
    """The path of the tests' engine; empty where it listens elsewhere."""
    host = engine_host()
    return host.removeprefix("unix://") if host.startswith("unix://") else ""


def lack_of(target):
    """(thing, why) where this host cannot have it, else None."""
    if os.geteuid() != 0:
        return target.backend, "sandboxes are made as root"
    if target.is_docker and not engine_socket():
        return "docker", "CLOCHE_TEST_DOCKER_HOST names no engine at a unix socket"
    if not shutil.which(target.runtime):
        return target.runtime, f"{target.runtime} is not installed"
    return None


def cannot_test(thing, test, why):
    """Notes what could not be tested here, and skips."""
    log = os.environ.get("CLOCHE_MISSING_LOG")
    if log:
        with open(log, "a", encoding="utf-8") as notes:
            notes.write(f"{thing}\t{test}\t{why}\n")
    pytest.skip(why)
