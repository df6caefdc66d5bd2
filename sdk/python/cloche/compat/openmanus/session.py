"""The session of a sandbox; it replaces Docker's container."""
from __future__ import annotations

import asyncio
import os
import shlex
import stat
import uuid
from typing import Any, Mapping, Optional

from cloche import aio
from cloche.errors import SandboxError

from .._service import Service, backend, image_setting, remote_profile, shared_service
from .settings import SandboxSettings

REMOTE_WORK_DIR = "/workspace"
# For a program that is gone without a word. A manager has its own idea of idle ones.
_IDLE_SECONDS = 24 * 3600
_MOST_SESSIONS = 1000


class Session:
    """A session. `id` and `name` are those of the session; `work_dir` is where it starts."""

    def __init__(self, service: Service, work_dir: str) -> None:
        self.id = f"sandbox_{uuid.uuid4().hex}"
        self.work_dir = work_dir
        self._service = service
        self._client: Optional["aio.Client"] = None
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    @property
    def name(self) -> str:
        return self.id

    @property
    def client(self) -> "aio.Client":
        """The client of the running event loop: connections belong to one event loop."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop = self._service.async_client(), loop
        return self._client

    @classmethod
    async def create(cls, config: SandboxSettings, volume_bindings: Mapping[str, str]) -> "Session":
        """Create the session. Raises ValueError for settings that the service does not support, and SandboxError if it
        has no sandbox.
        """
        loop = asyncio.get_running_loop()
        service = await loop.run_in_executor(None, shared_service, _service_config(config, volume_bindings))
        profile = _remote_profile(config, volume_bindings) if service.remote else None
        session = cls(service, config.work_dir)
        try:
            await session.client.create_session(session.id, profile=profile, idle_timeout=_IDLE_SECONDS,
                                                limits=_limits(config) if service.remote else None,
                                                network="internet" if service.remote and config.network_enabled else None)
        except BaseException:
            await asyncio.shield(session.end())
            raise
        return session

    async def end(self) -> None:
        """End the session and everything in it. Has no effect if it has already ended."""
        client = self.client
        try:
            await client.end_session(self.id)
        except SandboxError:
            pass
        finally:
            self._client = None
            await client.close()


def _limits(config: SandboxSettings) -> dict[str, Any]:
    return {"memory": config.memory_limit, "cpus": float(config.cpu_limit)}


def _remote_profile(config: SandboxSettings, volume_bindings: Mapping[str, str]) -> Optional[str]:
    """Return the profile of a remote service. Raises ValueError for settings that belong to the configuration of that
    service.
    """
    if volume_bindings:
        raise ValueError("volume_bindings: with a remote service mounts belong to its profiles")
    if config.work_dir != REMOTE_WORK_DIR:
        raise ValueError(f"work_dir: with a remote service it must be {REMOTE_WORK_DIR}")
    return remote_profile(config.image)


def _service_config(config: SandboxSettings, volume_bindings: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration of a private service. The profile has the limits, because not every runtime can change
    those of a warm sandbox.
    """
    profile: dict[str, Any] = {
        **image_setting(config.image), "work_dir": config.work_dir,
        "limits": {**_limits(config), "pids": 128, "file_size": "256m", "work_dir": "256m"},
        "pool": {"pool_size": 1, "scale_limit": _MOST_SESSIONS + 10},
    }
    if config.network_enabled:
        profile["network"] = "internet"
        profile["tenants"] = "all"  # the service is this process's own
    if volume_bindings:
        profile["mounts"] = [_mount(host, inside) for host, inside in volume_bindings.items()]
        profile["tenants"] = "all"  # the service is this process's own
        for mount in profile["mounts"]:
            _check_rights(mount["source"])
    return {"profiles": {"session": profile}, "sessions": {"most": _MOST_SESSIONS}}


def _check_rights(host: str) -> None:
    """Raise ValueError for a mount that programs could not use: without an engine, their user does not exist on this
    host, and is not the owner of what is mounted.
    """
    if backend() != "oci" or not os.path.exists(host):
        return
    mode = stat.S_IMODE(os.stat(host).st_mode)
    wanted, rights = (0o005, "o+rx") if os.path.isdir(host) else (0o004, "o+r")
    if mode & wanted != wanted:
        raise ValueError(f"volume_bindings: programs in the sandbox run as another user and may not read {host} "
                         f"(mode {mode:04o}): chmod {rights} {shlex.quote(host)}")


def _mount(host: str, inside: str) -> dict[str, str]:
    """Return a mount with Docker's rules: writable, unless it ends with `:ro`."""
    for suffix, access in ((":ro", "read_only"), (":rw", "read_write")):
        if inside.endswith(suffix):
            return {"source": host, "target": inside[:-len(suffix)], "access": access}
    return {"source": host, "target": inside, "access": "read_write"}
