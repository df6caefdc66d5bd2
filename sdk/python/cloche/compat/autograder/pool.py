"""The pool of one language. The service keeps the sandboxes warm; this knows which of them this program was lent."""
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
    """Of the pool that serves the language; a service may have one for C and C++. None where there is none."""
    found: Optional[Mapping[str, Any]] = stats.get(language.value)
    return stats.get("cpp") if found is None and language is Language.C else found


class LanguagePool:
    """`client` may be left to the manager, which has one for all of its pools."""

    def __init__(self, language: Language, config: SandboxPoolConfig, client: Optional["cloche.Client"] = None) -> None:
        self.language = language
        self.config = config
        self.client = client
        self.active_sandboxes: set[SandboxContainer] = set()
        self._lock = threading.Lock()

    def acquire(self) -> SandboxContainer:
        """ValueError when all are busy and there may be no more."""
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
        """Gives it back; the service makes it as good as new, or replaces it."""
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
        """Released at the end, unless it was destroyed before."""
        sandbox = self.acquire()
        try:
            yield sandbox
        finally:
            with self._lock:
                still_lent = sandbox in self.active_sandboxes
            if still_lent:
                self.release(sandbox)

    def get_stats(self) -> dict[str, Any]:
        """The service's figures: `active` has what other programs were lent, too."""
        return {"language": self.language.value, **(figures_of(self.language, self._client.stats()) or _NO_POOL)}

    def shutdown(self) -> None:
        """Destroys what was lent and not given back."""
        with self._lock:
            sandboxes = list(self.active_sandboxes)
        for sandbox in sandboxes:
            self.destroy_sandbox(sandbox)

    @property
    def _client(self) -> "cloche.Client":
        if self.client is None:
            raise ValueError("the pool has no client: it belongs to no SandboxManager")
        return self.client

    def _take_out(self, sandbox: SandboxContainer) -> None:
        with self._lock:
            if sandbox not in self.active_sandboxes:
                raise ValueError("Sandbox not found in active sandboxes")
            self.active_sandboxes.remove(sandbox)
