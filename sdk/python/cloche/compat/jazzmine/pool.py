"""A set of sandboxes, some of them warm, each checked out for one task."""
from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections import deque
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Mapping, Optional, Sequence

from cloche import aio
from cloche.errors import SandboxError

from .._service import Service, backend, open_service
from .builder import SandboxBuilder
from .config import SandboxConfig
from .container import Bridge, ManagedContainer
from .registry import ToolRegistry

MAX_CONTAINER_USES = 50
_READY_SECONDS = 30
_IDLE_SECONDS = 24 * 3600


class _Fleet:
    """The containers of one sandbox. `total` counts all that exist or are being created or ended."""

    def __init__(self, config: SandboxConfig, capacity: int, profile: Optional[str],
                 limits: Optional[Mapping[str, Any]], network: Optional[Mapping[str, Any]]) -> None:
        self.config = config
        self.capacity = capacity
        self.profile = profile
        # To be said with each session; a private service's profile has them.
        self.limits, self.network = limits, network
        self.idle: deque[ManagedContainer] = deque()
        self.total = 0
        self.changed = asyncio.Condition()


class SandboxPool:
    """Create, use and shut down the pool in one event loop."""

    def __init__(self, registry: ToolRegistry, builder: SandboxBuilder, secrets: Optional[Mapping[str, str]] = None,
                 max_overflow: int = 10, host_path_map: Optional[Mapping[str, str]] = None) -> None:
        if max_overflow < 0:
            raise ValueError("max_overflow must not be less than 0")
        self.registry = registry
        self.builder = builder
        self.secrets = dict(secrets or {})
        self.max_overflow = max_overflow
        self.host_path_map = dict(host_path_map or {})
        self._fleets: dict[str, _Fleet] = {}
        self._containers: set[ManagedContainer] = set()
        self._chores: set["asyncio.Task[None]"] = set()
        self._service: Optional[Service] = None
        self._client: Optional["aio.Client"] = None
        self._closing = False

    async def startup(self, sandbox_names: Optional[Sequence[str]] = None) -> None:
        """Create `pool_size` containers of each sandbox; by default of all sandboxes in the registry. If one fails, the
        others are removed.
        """
        if self._client is not None:
            raise RuntimeError("the pool is already started")
        self._closing = False
        names = list(self.registry.sandbox_names() if sandbox_names is None else sandbox_names)
        for name in names:
            await self.builder.ensure_sandbox(name)
        try:
            config = self._service_config(names)
            self._service = await asyncio.get_running_loop().run_in_executor(None, open_service, config)
            self._client = self._service.async_client()
            for place, name in enumerate(names):
                self._fleets[name] = self._fleet(name, None if self._service.remote else f"sandbox-{place}")
            await asyncio.gather(*(self._fill(fleet) for fleet in self._fleets.values()))
        except BaseException:
            await self.shutdown()
            raise

    @asynccontextmanager
    async def checkout(self, sandbox_name: str, timeout: Optional[float] = None) -> AsyncIterator[ManagedContainer]:
        """Check out an unused container. Waits while all are in use, for at most `timeout` seconds if it is given
        (asyncio.TimeoutError). Raises ValueError for a sandbox that was not started, RuntimeError if no container can
        be created.
        """
        fleet = self._fleets.get(sandbox_name)
        if fleet is None:
            raise ValueError(f"No pool for sandbox '{sandbox_name}': it was not included in startup()")
        container = await asyncio.wait_for(self._take(fleet), timeout)
        container.use_count += 1
        try:
            yield container
        finally:
            self._begin_chore(self._renew(fleet, container))

    async def shutdown(self) -> None:
        """End every container, including those that are checked out, and stop the pool's own service."""
        self._closing = True
        for chore in list(self._chores):
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        await asyncio.gather(*(self._end(each) for each in list(self._containers)), return_exceptions=True)
        for fleet in self._fleets.values():
            async with fleet.changed:
                fleet.changed.notify_all()
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        service, self._service = self._service, None
        if service is not None:
            await asyncio.get_running_loop().run_in_executor(None, service.stop)
        self._fleets.clear()

    async def _take(self, fleet: _Fleet) -> ManagedContainer:
        async with fleet.changed:
            await fleet.changed.wait_for(lambda: fleet.idle or fleet.total < fleet.capacity or self._closing)
            if self._closing:
                raise RuntimeError("the pool has been shut down")
            if fleet.idle:
                return fleet.idle.popleft()
            fleet.total += 1
        return await self._spawn(fleet)

    async def _fill(self, fleet: _Fleet) -> None:
        fleet.total += fleet.config.pool_size
        spawning = (self._spawn(fleet) for _ in range(fleet.config.pool_size))
        made = await asyncio.gather(*spawning, return_exceptions=True)
        for each in made:
            if isinstance(each, BaseException):
                raise each
            fleet.idle.append(each)

    async def _renew(self, fleet: _Fleet, used: ManagedContainer) -> None:
        """Replace a used container by a fresh one, if there are too few idle ones."""
        await self._end(used)
        if self._closing:
            return
        if len(fleet.idle) < fleet.config.pool_size:
            try:
                fresh = await self._spawn(fleet)
            except (RuntimeError, asyncio.TimeoutError):
                return  # whoever comes next tries again, and is told
            async with fleet.changed:
                fleet.idle.append(fresh)
                fleet.changed.notify()
        else:
            await self._forget_place(fleet)

    async def _forget_place(self, fleet: _Fleet) -> None:
        async with fleet.changed:
            fleet.total -= 1
            fleet.changed.notify()

    async def _spawn(self, fleet: _Fleet) -> ManagedContainer:
        """Create a container that is already counted; if this fails, the count is corrected."""
        container: Optional[ManagedContainer] = None
        try:
            container = await self._start(fleet)
            told = json.loads(await asyncio.wait_for(container.stdout_pipe.readline(), _READY_SECONDS))
            if told.get("type") != "ready":
                raise RuntimeError(f"{told.get('kind')}: {told.get('message')}")
            return container
        except BaseException as error:
            if container is not None:
                await asyncio.shield(self._end(container))
            await self._forget_place(fleet)
            if isinstance(error, (asyncio.CancelledError, asyncio.TimeoutError)):
                raise
            reason = (container.bridge.failure if container is not None else None) or error
            raise RuntimeError(f"Failed to start a container for sandbox '{fleet.config.name}': {reason}") from error

    async def _start(self, fleet: _Fleet) -> ManagedContainer:
        assert self._client is not None
        name = fleet.config.name
        session_id = f"jazzmine-{uuid.uuid4().hex}"
        bridge = Bridge(self._client, session_id, fleet.config,
                        {tool.name: tool.source for tool in self.registry.tools(name)}, self._resolve_secrets(name),
                        self.registry.requirements(name))
        try:
            await self._client.create_session(session_id, profile=fleet.profile, idle_timeout=_IDLE_SECONDS,
                                              limits=fleet.limits, network=fleet.network)
            container = await bridge.open(name)
        except BaseException:
            await asyncio.shield(self._end_session(session_id))
            raise
        self._containers.add(container)
        return container

    async def _end(self, container: ManagedContainer) -> None:
        self._containers.discard(container)
        await container.close()
        await self._end_session(container.container_id)

    async def _end_session(self, session_id: str) -> None:
        if self._client is None:
            return
        try:
            await self._client.end_session(session_id)
        except SandboxError:
            pass  # lost already, or the service is gone

    def _begin_chore(self, work: Any) -> None:
        chore = asyncio.ensure_future(work)
        self._chores.add(chore)
        chore.add_done_callback(self._chores.discard)

    def _resolve_secrets(self, sandbox_name: str) -> dict[str, str]:
        """Return the secrets from the map, otherwise from this process's environment. Only the processes of scripts get
        them.
        """
        resolved = {}
        for name in self.registry.secrets(sandbox_name):
            value = self.secrets.get(name, os.environ.get(name))
            if value is None:
                raise RuntimeError(f"the secret {name} is neither in secrets nor in the environment")
            resolved[name] = value
        return resolved

    def _translate_host_path(self, path: str) -> str:
        """Translate a path of this process to a path of the container engine's host; the longest prefix applies."""
        for prefix in sorted(self.host_path_map, key=len, reverse=True):
            bare = prefix.rstrip("/")
            if path == bare or path.startswith(bare + "/"):
                return self.host_path_map[prefix].rstrip("/") + path[len(bare):]
        return path

    def _fleet(self, name: str, profile: Optional[str]) -> _Fleet:
        config = self.registry.sandbox(name)
        limits = network = None
        if profile is None:
            limits = config.limits.for_session()
            network = config.network.for_session()
            if config.files or config.image is not None:
                raise RuntimeError(f"Sandbox '{name}' requires an image or files: with a remote service they belong to "
                                   "its own profile of that name")
            profile = None if name == "default" else name
        return _Fleet(config, config.pool_size + self.max_overflow, profile, limits, network)

    def _service_config(self, names: Sequence[str]) -> dict[str, Any]:
        sizes = [self.registry.sandbox(name).pool_size + self.max_overflow for name in names]
        profiles = {f"sandbox-{place}": self.builder.profile(name, sizes[place]) for place, name in enumerate(names)}
        config: dict[str, Any] = {"profiles": profiles, "sessions": {"most": sum(sizes) + 8, "profile": "sandbox-0"}}
        if backend() == "docker" and self.host_path_map:
            config["docker"] = {"host_path_map": self.host_path_map}
        return config
