"""The settings of a sandbox."""
from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, Tuple

from .._service import DEFAULT_IMAGE


@dataclass
class SandboxSettings:
    """Settings, checked when they are created: raises ValueError for invalid ones. `timeout` is that of a command, in
    seconds.
    """

    use_sandbox: bool = False
    image: str = DEFAULT_IMAGE
    work_dir: str = "/workspace"
    memory_limit: str = "512m"
    cpu_limit: float = 1.0
    timeout: int = 300
    network_enabled: bool = False

    def __post_init__(self) -> None:
        kinds: Dict[str, Tuple[type, ...]] = {
            "image": (str,), "work_dir": (str,), "memory_limit": (str,), "cpu_limit": (int, float),
            "timeout": (int, float), "use_sandbox": (bool,), "network_enabled": (bool,)}
        for name, kind in kinds.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or isinstance(value, bool) != (bool in kind):
                raise ValueError(f"{name}: {value!r} has the wrong type")
        if not self.work_dir.startswith("/"):
            raise ValueError("work_dir: must be an absolute path")
        if self.cpu_limit <= 0 or self.timeout <= 0:
            raise ValueError("cpu_limit and timeout must be greater than 0")

    def model_dump(self) -> dict[str, Any]:
        return asdict(self)
