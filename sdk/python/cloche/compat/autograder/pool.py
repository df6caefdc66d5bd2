"""The pool of one language. The service keeps the sandboxes warm; this object knows which of them this program has
leased.
"""
from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, Optional

import cloche
from cloche.errors import SandboxError, SandboxNotFoundError, SandboxResourceError

from .container import SandboxContainer
from .models import Language, SandboxState
from .pool_config import SandboxPoolConfig


_NO_POOL = {"idle": 0, "active": 0, "total": 0, "pool_size": 0, "scale_limit": 0, "utilization": 0.0}


def figures_of(language: Language, stats: Mapping[str, Any]) -> Optional[Mapping[str, Any]]:
    """Return the figures of the pool of a language; a service may have one pool for C and C++. None if there is no
    pool.
    """
    found: Optional[Mapping[str, Any]] = stats.get(language.value)
    return stats.get("cpp") if found is None and language is Language.C else found


class LanguagePool:
    """The pool of one language. Without `client`, the pool uses the client of its manager."""

    def __init__(self, language: Language, config: SandboxPoolConfig, client: Optional["cloche.Client"] = None) -> None:
        self.language = language
        self.config = config
        self.client = client
        self.active_sandboxes: set[SandboxContainer] = set()
        self._lock = threading.Lock()

    def acquire(self) -> SandboxContainer:
        """Lease a sandbox. Raises ValueError if all are busy and the limit is reached."""
        try:
            lease = self._client.lease(self.language.value)
        except SandboxResourceError as error:
            raise ValueError(error.message) from error
        except SandboxError as error:
            raise ValueError(f"Failed to create sandbox for language {self.language}: {error.message}") from error
        sandbox = SandboxContainer(self.language, lease)
        sandbox.pickup()
        with self._lock:
            self.active_sandboxes.add(sandbox)
        return sandbox

    def release(self, sandbox: SandboxContainer) -> None:
        """Release a sandbox; the service resets or replaces it."""
        self._take_out(sandbox)
        sandbox.release()
        try:
            sandbox._lease.give_back()
        except SandboxNotFoundError:
            pass  # lent for longer than running_timeout: the service has taken it back already

    def destroy_sandbox(self, sandbox: SandboxContainer) -> None:
        self._take_out(sandbox)
        sandbox.state = SandboxState.STOPPED
        try:
            sandbox._lease.destroy()
        except SandboxNotFoundError:
            pass

    @contextmanager
    def acquire_sandbox(self) -> Iterator[SandboxContainer]:
        """Lease a sandbox for a `with` block. It is released at the end, unless it was destroyed before."""
        sandbox = self.acquire()
        try:
            yield sandbox
        finally:
            with self._lock:
                still_lent = sandbox in self.active_sandboxes
            if still_lent:
                self.release(sandbox)

    def get_stats(self) -> dict[str, Any]:
        """Return the service's figures; `active` includes leases of other programs."""
        return {"language": self.language.value, **(figures_of(self.language, self._client.stats()) or _NO_POOL)}

    def shutdown(self) -> None:
        """Destroy the sandboxes that are still leased."""
        with self._lock:
            sandboxes = list(self.active_sandboxes)
        for sandbox in sandboxes:
            self.destroy_sandbox(sandbox)

    @property
    def _client(self) -> "cloche.Client":
        if self.client is None:
            raise ValueError("the pool has no client, because it does not belong to a SandboxManager")
        return self.client

    def _take_out(self, sandbox: SandboxContainer) -> None:
        with self._lock:
            if sandbox not in self.active_sandboxes:
                raise ValueError("Sandbox not found in active sandboxes")
            self.active_sandboxes.remove(sandbox)
