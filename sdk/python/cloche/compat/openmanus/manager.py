"""Many sandboxes, by id."""
from __future__ import annotations

import asyncio
import logging
import time
import uuid
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Mapping, Optional

from .exceptions import SandboxLimitError
from .sandbox import DockerSandbox
from .settings import SandboxSettings

logger = logging.getLogger(__name__)

# How long the deletion of a sandbox waits for what runs in it.
_PATIENCE = 5.0
_PAUSE = 0.02


class SandboxManager:
    """Checks for idle sandboxes every `cleanup_interval` seconds: from the start if it is created in an event loop,
    otherwise from its first `create_sandbox` on.
    """

    def __init__(self, max_sandboxes: int = 100, idle_timeout: int = 3600, cleanup_interval: int = 300) -> None:
        self.max_sandboxes = max_sandboxes
        self.idle_timeout = idle_timeout
        self.cleanup_interval = cleanup_interval
        self._sandboxes: dict[str, DockerSandbox] = {}
        self._last_used: dict[str, float] = {}
        self._being_made = 0
        self._locks: dict[str, asyncio.Lock] = {}
        self._held: dict[str, int] = {}
        self._cleanup_task: Optional["asyncio.Task[None]"] = None
        self._is_shutting_down = False
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        self.start_cleanup_task()

    async def create_sandbox(self, config: Optional[SandboxSettings] = None,
                             volume_bindings: Optional[Mapping[str, str]] = None) -> str:
        """Create a sandbox and return its id. Raises RuntimeError if there are already `max_sandboxes`, or if it cannot
        be created.
        """
        if self._is_shutting_down:
            raise RuntimeError("Failed to create sandbox: the manager has been cleaned up")
        self.start_cleanup_task()
        if len(self._sandboxes) + self._being_made >= self.max_sandboxes:
            raise SandboxLimitError(f"Maximum number of sandboxes ({self.max_sandboxes}) reached")
        self._being_made += 1
        try:
            sandbox = await DockerSandbox(config, volume_bindings).create()
        finally:
            self._being_made -= 1
        if self._is_shutting_down:
            await asyncio.shield(sandbox.cleanup())
            raise RuntimeError("Failed to create sandbox: the manager has been cleaned up")
        sandbox_id = str(uuid.uuid4())
        self._sandboxes[sandbox_id] = sandbox
        self._last_used[sandbox_id] = time.monotonic()
        self._locks[sandbox_id] = asyncio.Lock()
        return sandbox_id

    @asynccontextmanager
    async def sandbox_operation(self, sandbox_id: str) -> AsyncIterator[DockerSandbox]:
        """Use a sandbox exclusively, among the callers of this method. Raises KeyError for an unknown id."""
        lock = self._locks.get(sandbox_id)
        if lock is None:
            raise KeyError(f"Sandbox {sandbox_id} not found")
        async with lock:
            sandbox = self._sandboxes.get(sandbox_id)
            if sandbox is None:
                raise KeyError(f"Sandbox {sandbox_id} not found")
            self._held[sandbox_id] = self._held.get(sandbox_id, 0) + 1
            self._last_used[sandbox_id] = time.monotonic()
            try:
                yield sandbox
            finally:
                self._held[sandbox_id] -= 1
                if not self._held[sandbox_id]:
                    del self._held[sandbox_id]

    async def get_sandbox(self, sandbox_id: str) -> DockerSandbox:
        async with self.sandbox_operation(sandbox_id) as sandbox:
            return sandbox

    async def delete_sandbox(self, sandbox_id: str) -> None:
        """Delete a sandbox. Waits up to five seconds for running commands, then ends it anyway. Has no effect for an
        unknown id.
        """
        if sandbox_id in self._sandboxes:
            await self._safe_delete_sandbox(sandbox_id)

    def start_cleanup_task(self) -> None:
        """Start the cleanup in the running event loop. Has no effect if it is already running."""
        if self._cleanup_task is None or self._cleanup_task.done():
            self._cleanup_task = asyncio.get_running_loop().create_task(self._look_for_idle_ones())

    async def cleanup(self) -> None:
        """Delete all sandboxes, at the same time. Afterwards no sandbox can be created."""
        self._is_shutting_down = True
        task, self._cleanup_task = self._cleanup_task, None
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await asyncio.gather(*(self._safe_delete_sandbox(each) for each in list(self._sandboxes)))

    def get_stats(self) -> dict[str, Any]:
        return {
            "total_sandboxes": len(self._sandboxes),
            "active_operations": sum(self._is_active(each) for each in self._sandboxes),
            "max_sandboxes": self.max_sandboxes,
            "idle_timeout": self.idle_timeout,
            "cleanup_interval": self.cleanup_interval,
            "is_shutting_down": self._is_shutting_down,
        }

    async def __aenter__(self) -> "SandboxManager":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cleanup()

    def _is_active(self, sandbox_id: str) -> bool:
        return sandbox_id in self._held or self._sandboxes[sandbox_id].operations > 0

    async def _look_for_idle_ones(self) -> None:
        while not self._is_shutting_down:
            await self._cleanup_idle_sandboxes()
            await asyncio.sleep(self.cleanup_interval)

    async def _cleanup_idle_sandboxes(self) -> None:
        now = time.monotonic()
        for sandbox_id, sandbox in list(self._sandboxes.items()):
            last_used = max(self._last_used.get(sandbox_id, now), sandbox.last_used)
            if sandbox_id not in self._sandboxes or self._is_active(sandbox_id) or now - last_used <= self.idle_timeout:
                continue
            await self.delete_sandbox(sandbox_id)

    async def _safe_delete_sandbox(self, sandbox_id: str) -> None:
        until = time.monotonic() + _PATIENCE
        while sandbox_id in self._sandboxes and self._is_active(sandbox_id) and time.monotonic() < until:
            await asyncio.sleep(_PAUSE)
        sandbox = self._sandboxes.pop(sandbox_id, None)
        self._last_used.pop(sandbox_id, None)
        self._locks.pop(sandbox_id, None)
        if sandbox is None:
            return
        try:
            await asyncio.shield(sandbox.cleanup())
        except Exception as error:
            logger.error("Failed to delete sandbox %s: %s", sandbox_id, error)
