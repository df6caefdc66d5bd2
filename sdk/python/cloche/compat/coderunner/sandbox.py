"""Run one program in a sandbox that is created for it and destroyed afterwards."""
from __future__ import annotations

import asyncio
import posixpath
import shlex
import uuid
from typing import Any

from cloche import aio
from cloche.errors import SandboxError
from cloche.results import Result

from .._service import image_setting, remote_profile, shared_service
from .models import SandboxRequest, SandboxResult

TIMED_OUT = "Execution timed out"
# What the original grants a program beyond its limit, for the runtime around it.
_MEMORY_BUFFER = 256 * 1024 * 1024
_CPU_PERIOD = 100000
# Beyond the program's own time; then the sandbox is given up.
_CLIENT_BUFFER = 15
_REMOTE_WORK_DIR = "/workspace"


class DockerSandbox:
    """Has the interface of the original; the service decides which backend creates the sandbox."""

    async def execute_async(self, request: SandboxRequest) -> SandboxResult:
        """Run the program. How it ended is in the result. Raises SandboxError if no sandbox is available, OSError if
        the code file cannot be read.
        """
        loop = asyncio.get_running_loop()
        code = await loop.run_in_executor(None, _read, request.code_file_path)
        service = await loop.run_in_executor(None, shared_service, _service_config(request))
        work_dir = _REMOTE_WORK_DIR if service.remote else request.container_work_dir
        session_id = f"coderunner-{uuid.uuid4().hex}"
        client = service.async_client()
        own: dict[str, Any] = {}
        if service.remote:
            own = {"profile": remote_profile(request.docker_image), "limits": _limits(request)}
        try:
            await client.create_session(session_id, idle_timeout=request.timeout_seconds + 4 * _CLIENT_BUFFER, **own)
            arguments = [_moved(each, request.container_work_dir, work_dir) for each in request.arguments]
            result = await client.bash(
                shlex.join([request.command, *arguments]), session_id=session_id,
                timeout=request.timeout_seconds, stdin="\n".join(request.input), env={"PYTHONUNBUFFERED": "1"},
                files={posixpath.basename(request.code_file_path): code})
        finally:
            await asyncio.shield(_end(client, session_id))
        return _to_sandbox_result(result)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _limits(request: SandboxRequest) -> dict[str, Any]:
    return {"memory": request.memory_limit_bytes + _MEMORY_BUFFER, "cpus": request.cpu_quota / _CPU_PERIOD}


def _service_config(request: SandboxRequest) -> dict[str, Any]:
    """Return the configuration of a service with sandboxes of this image, directory and limits, each for one program.
    """
    profile: dict[str, Any] = {
        **image_setting(request.docker_image), "work_dir": request.container_work_dir,
        "limits": {**_limits(request), "pids": 128, "file_size": "64m"},
        "pool": {"pool_size": 1, "scale_limit": 50, "reuse": "never"},
    }
    return {"profiles": {"session": profile}, "sessions": {"most": 48}}


def _moved(argument: str, from_dir: str, to_dir: str) -> str:
    below = from_dir.rstrip("/") + "/"
    return posixpath.join(to_dir, argument[len(below):]) if argument.startswith(below) else argument


async def _end(client: "aio.Client", session_id: str) -> None:
    try:
        await client.end_session(session_id)
    except SandboxError:
        pass  # never made, or lost: then there is nothing to end
    finally:
        await client.close()


def _to_sandbox_result(result: Result) -> SandboxResult:
    if result.category == "timeout":
        return SandboxResult(False, error=TIMED_OUT, timed_out=True)
    if result.exit_code == 0 and result.ok:
        return SandboxResult(True, output=result.stdout.strip())
    said = result.stderr.strip() or result.stdout.strip()
    if result.reason and result.cause not in ("exit_code", "signal"):
        said = f"{said}\n{result.reason}" if said else result.reason
    return SandboxResult(False, error=said)
