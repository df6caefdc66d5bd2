"""Drop-ins are tested against a service of their own (`private`) and against one that somebody else runs (`remote`: on
Docker where CLOCHE_TEST_DOCKER_HOST names an engine). Nothing may be left of either."""
import os
import tempfile

import pytest

import cloche
from cloche.compat import _service

DOCKER_HOST = os.environ.get("CLOCHE_TEST_DOCKER_HOST")
POOL = {"pool_size": 1, "scale_limit": 3}
LANGUAGES = {"python": {}, "cpp": {}}


@pytest.fixture(scope="session", autouse=True)
def only_temporary():
    """All that is made on this machine is made below one directory, and is gone at the end."""
    before, tempfile.tempdir = tempfile.tempdir, tempfile.mkdtemp(prefix="cp-", dir="/tmp")
    os.chmod(tempfile.tempdir, 0o711)  # sandboxes' roots are below it
    for name in ("CLOCHE_URL", "CLOCHE_TOKEN", "CLOCHE_BACKEND", "SANDBOX_BACKEND"):
        os.environ.pop(name, None)
    yield
    _service.stop_shared_services()
    here, tempfile.tempdir = tempfile.tempdir, before
    assert os.listdir(here) == []
    os.rmdir(here)


def note_missing(test):
    """Of what could not be tested here."""
    log = os.environ.get("CLOCHE_MISSING_LOG")
    if log:
        with open(log, "a", encoding="utf-8") as notes:
            notes.write(f"crun\t{test}\tsandboxes are made as root\n")


def remote_config():
    # gVisor on Docker cannot be given other limits when it is claimed.
    image = {"image": "cloche-test/debian", "runtime": "runc"} if DOCKER_HOST else {}
    profiles = {name: {"work_dir": "/app", "pool": {**POOL, "at_limit": "fail"}, **image} for name in LANGUAGES}
    profiles["session"] = {"limits": {"memory": "512m", "cpus": 1, "pids": 128, "file_size": "64m"}, **image,
                           "pool": {"pool_size": 1, "scale_limit": 20}}
    return {"profiles": profiles, "sessions": {"most": 16}, "egress": {"choose": {"tenants": "all"}}}


@pytest.fixture(scope="module", params=["private", "remote"])
def service(request):
    """Its kind."""
    if os.geteuid() != 0 and (request.param == "private" or not DOCKER_HOST):
        note_missing(request.module.__name__)
        pytest.skip("sandboxes are made as root")
    if request.param == "private":
        yield "private"
        _service.stop_shared_services()
        return
    with cloche.start("docker" if DOCKER_HOST else "oci", remote_config(), docker_host=DOCKER_HOST) as server:
        os.environ["CLOCHE_URL"] = server.url
        try:
            yield "remote"
        finally:
            del os.environ["CLOCHE_URL"]
            _service.stop_shared_services()
