"""The configuration of a sandbox, as plain data without a service."""
from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Optional


class ExecutionMode(Enum):
    """PLAN: a script ends with its first result or error. INTERACTIVE: it runs until its end."""

    PLAN = "plan"
    INTERACTIVE = "interactive"


@dataclass(frozen=True)
class ResourceLimits:
    """Limits of a sandbox. `cpu_quota` is in cores. Swap is never used: `memory_swap_mb`, the total of memory and swap,
    is checked but not used.
    """

    cpu_quota: float = 0.5
    memory_mb: int = 256
    memory_swap_mb: Optional[int] = None
    pids_limit: int = 64
    execution_timeout_sec: float = 30
    max_output_bytes: int = 4 * 1024 * 1024

    def __post_init__(self) -> None:
        for name in ("cpu_quota", "memory_mb", "pids_limit", "execution_timeout_sec", "max_output_bytes"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than 0")
        if self.memory_swap_mb is not None and self.memory_swap_mb < self.memory_mb:
            raise ValueError("memory_swap_mb is the total of memory and swap and must not be less than memory_mb")

    def for_session(self) -> dict[str, Any]:
        return {"memory": f"{self.memory_mb}m", "cpus": self.cpu_quota, "pids": self.pids_limit}


@dataclass(frozen=True)
class NetworkPolicy:
    """Hosts that scripts may connect to, through the proxy in `HTTP_PROXY` and `HTTPS_PROXY`. Without any, they have no
    network.
    """

    allowed_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed_hosts", tuple(self.allowed_hosts))

    def for_session(self) -> Optional[dict[str, Any]]:
        return {"mode": "allow-list", "allow": list(self.allowed_hosts)} if self.allowed_hosts else None


@dataclass(frozen=True)
class FileResource:
    """A file or directory of the host, readable at `container_path`."""

    host_path: str
    container_path: str

    def __post_init__(self) -> None:
        if not posixpath.isabs(self.host_path) or not posixpath.isabs(self.container_path):
            raise ValueError("host_path and container_path must be absolute")


@dataclass(frozen=True)
class SandboxConfig:
    """The configuration of a sandbox. `image` is an image on docker, otherwise a root filesystem, an OCI layout or a
    `docker save` archive. Without it, the service's default is used.
    """

    name: str = "default"
    pool_size: int = 2
    image: Optional[str] = None
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    network: NetworkPolicy = field(default_factory=NetworkPolicy)
    files: tuple[FileResource, ...] = ()
    secrets: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    mode: ExecutionMode = ExecutionMode.PLAN

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a sandbox needs a name")
        if self.pool_size < 0:
            raise ValueError("pool_size must not be less than 0")
        for name in ("files", "secrets", "requirements"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
