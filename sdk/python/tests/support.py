"""What the tests have in common."""
import asyncio
import os
import shutil
import subprocess
import sys
import time

import pytest

SCRIPT_SECONDS = 120


def missing(thing, test, why):
    """Notes what could not be tested here, and skips."""
    log = os.environ.get("CLOCHE_MISSING_LOG")
    if log:
        with open(log, "a", encoding="utf-8") as notes:
            notes.write(f"{thing}\t{test}\t{why}\n")
    pytest.skip(why)


def need_backend(backend, test):
    if backend == "docker":
        if not os.environ.get("CLOCHE_TEST_DOCKER_HOST"):
            missing("docker", test, "there is no Docker engine for tests")
    elif os.geteuid() != 0:
        missing("crun", test, "sandboxes are made as root")
    elif not shutil.which("crun"):
        missing("crun", test, "crun is not installed")


def settings_of(backend, **more):
    """What start() is given for a small server."""
    sandbox = {"runtime": "crun"} if backend == "oci" else {"runtime": "runc", "image": "cloche-test/debian"}
    limits = {"memory": "256m", "cpus": 1, "pids": 128, "file_size": "64m", "work_dir": "128m"}
    settings = {
        "backend": backend,
        "profiles": {
            "python": {**sandbox, "pool": {"pool_size": 1, "scale_limit": 2, "at_limit": "fail"}},
            "session": {**sandbox, "limits": limits, "pool": {"pool_size": 1, "scale_limit": 12}},
        },
        "sessions": {"most": 10},
        **more,
    }
    if backend == "docker":
        settings["docker_host"] = os.environ["CLOCHE_TEST_DOCKER_HOST"]
    return settings


def run_async(coroutine):
    """To its end, in a loop of its own; not for ever."""
    async def bounded():
        return await asyncio.wait_for(coroutine, SCRIPT_SECONDS)
    return asyncio.run(bounded())


def eventually(condition, seconds=60):
    """What the condition gives when it is true at last; else its last answer."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def python(code, **options):
    """A script of its own that uses the package."""
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)
