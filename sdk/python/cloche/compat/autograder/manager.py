"""All pools of a program, and its single manager."""
from __future__ import annotations

import atexit
import logging
import threading
import time
from contextlib import AbstractContextManager
from typing import Any, Mapping, Optional, Sequence

import cloche

from .._service import Service, open_service
from .container import SandboxContainer
from .models import Language
from .pool import LanguagePool, figures_of
from .pool_config import SandboxPoolConfig, service_config, source_of

logger = logging.getLogger(__name__)


class SandboxManager:
    """Leases sandboxes by language. Pools without a client use the service at `$CLOCHE_URL`, otherwise one that the
    manager starts and that ends with it.
    """

    def __init__(self, language_pools: Mapping[Language, LanguagePool]) -> None:
        self.language_pools = dict(language_pools)
        self._service: Optional[Service] = None
        self._shutdown_lock = threading.Lock()
        self._is_shut_down = False
        unserved = [pool for pool in self.language_pools.values() if pool.client is None]
        if unserved:
            configs = [pool.config for pool in unserved]
            self._service = open_service(service_config(configs), source_of(configs))
            client = self._service.client()
            for pool in unserved:
                pool.client = client
            _wait_until_warm(client, configs)

    def get_sandbox(self, lang: Language) -> SandboxContainer:
        """Lease a sandbox. Raises ValueError for a language without a pool, and at the limit of its pool."""
        if lang in self.language_pools:
            return self.language_pools[lang].acquire()
        raise ValueError(f"Unsupported language: {lang}")

    def release_sandbox(self, lang: Language, sandbox: SandboxContainer) -> None:
        if lang in self.language_pools:
            self.language_pools[lang].release(sandbox)

    def destroy_sandbox(self, lang: Language, sandbox: SandboxContainer) -> None:
        """Destroy a sandbox that is no longer trusted."""
        if lang in self.language_pools:
            self.language_pools[lang].destroy_sandbox(sandbox)

    def acquire_sandbox(self, lang: Language) -> AbstractContextManager[SandboxContainer]:
        if lang in self.language_pools:
            return self.language_pools[lang].acquire_sandbox()
        raise ValueError(f"Unsupported language: {lang}")

    def get_pool_stats(self) -> dict[str, dict[str, Any]]:
        return {language.value: pool.get_stats() for language, pool in self.language_pools.items()}

    def shutdown(self) -> None:
        """End all leases, and stop the manager's own service. Further calls have no effect."""
        with self._shutdown_lock:
            if self._is_shut_down:
                return
            self._is_shut_down = True
        for language, pool in self.language_pools.items():
            try:
                pool.shutdown()
            except Exception as error:
                logger.warning("Error shutting down %s pool: %s", language, error)
        if self._service is not None:
            self._service.stop()

    def __enter__(self) -> "SandboxManager":
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()


# How long a manager waits for its pools. One that cannot be filled is not waited for any longer; each claim then tries.
_WARM_SECONDS = 60.0


def _wait_until_warm(client: "cloche.Client", configs: Sequence[SandboxPoolConfig]) -> None:
    """Wait until each pool has as many sandboxes as it keeps warm, leased ones included; log a warning if that takes
    too long.
    """
    end = time.monotonic() + _WARM_SECONDS
    while True:
        stats = client.stats()
        cold = [config.language.value for config in configs if _is_cold(figures_of(config.language, stats))]
        if not cold:
            return
        if time.monotonic() >= end:
            logger.warning("Not warm after %g seconds: %s", _WARM_SECONDS, ", ".join(cold))
            return
        time.sleep(0.02)


def _is_cold(figures: Optional[Mapping[str, Any]]) -> bool:
    if figures is None:
        return False
    return figures["idle"] + figures["active"] < min(figures["pool_size"], figures["scale_limit"])


_instance: Optional[SandboxManager] = None
_instance_lock = threading.Lock()


def initialize_sandbox_manager(pool_configs: Optional[Sequence[SandboxPoolConfig]] = None, mode: str = "local",
                               api_url: str = "http://localhost:8001") -> SandboxManager:
    """Initialize the manager; call this once, when the application starts. A second call replaces the manager.

    Without `pool_configs`, it reads `sandbox_config.yml` of the current directory. `mode="remote"` uses the service at
    `api_url`, whose own configuration defines the pools.
    """
    global _instance
    if mode not in ("local", "remote"):
        raise ValueError(f"Unsupported mode: {mode}")
    if mode == "local":
        if pool_configs is None:
            pool_configs = SandboxPoolConfig.load_from_yaml()
        if not pool_configs:
            raise ValueError("pool_configs must be provided for local mode")
        for config in pool_configs:
            if not isinstance(config.language, Language):
                raise ValueError(f"Unsupported language: {config.language}")
    with _instance_lock:
        previous, _instance = _instance, None
        if previous is not None:
            previous.shutdown()
        if mode == "remote":
            _instance = SandboxManager(_remote_pools(api_url, pool_configs))
        else:
            _instance = SandboxManager({config.language: LanguagePool(config.language, config)
                                        for config in pool_configs or ()})
        return _instance


def get_sandbox_manager() -> SandboxManager:
    if _instance is None:
        raise ValueError("SandboxManager has not been initialized. Call initialize_sandbox_manager() first.")
    return _instance


def _remote_pools(api_url: str, configs: Optional[Sequence[SandboxPoolConfig]]) -> dict[Language, LanguagePool]:
    client = cloche.Client(api_url.rstrip("/"))
    given = {config.language: config for config in configs or ()}
    stats = client.stats()
    pools = {}
    for language in Language:
        figures = figures_of(language, stats)
        if figures is None:
            continue
        config = SandboxPoolConfig(language, figures["pool_size"], figures["scale_limit"], 600, 120)
        pools[language] = LanguagePool(language, given.get(language, config), client)
    return pools


@atexit.register
def _shut_down_instance() -> None:
    if _instance is not None:
        _instance.shutdown()
