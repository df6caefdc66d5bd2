"""The size of each language's pool, from `sandbox_config.yml` or from the program."""
from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Optional, Sequence

from .._service import backend
from .models import Language
from .yaml_subset import parse_mapping

_DEFAULTS = {"pool_size": 3, "scale_limit": 10, "idle_timeout": 600, "running_timeout": 120}
_DURATIONS = ("idle_timeout", "running_timeout")
_DURATION = re.compile(r"([0-9]+)(s|m|h)$")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass
class SandboxPoolConfig:
    """The configuration of one language's pool. Times are in seconds."""

    language: Language
    pool_size: int
    scale_limit: int
    idle_timeout: int
    running_timeout: int
    # Where it was read from; the service reads the same file again, and then also keys that are not among these.
    source: Optional[str] = field(default=None, repr=False, compare=False)

    @classmethod
    def load_from_yaml(cls, config_path: str = "sandbox_config.yml") -> list["SandboxPoolConfig"]:
        """Load one configuration for each language. A relative path is relative to the current directory.

        Raises FileNotFoundError, or ValueError for an invalid file.
        """
        path = os.path.abspath(config_path)
        if not os.path.exists(path):
            raise FileNotFoundError(f"Sandbox configuration file not found: {path}")
        with open(path, encoding="utf-8") as file:
            try:
                top = parse_mapping(file.read())
            except ValueError as error:
                raise ValueError(f"Invalid sandbox configuration: {path}: {error}") from None
        if "general" not in top:
            raise ValueError("Invalid sandbox configuration: 'general' section not found")
        general = {**_DEFAULTS, **_section(top, "general")}
        own = _section(top, "languages")
        return [cls(language, source=path, **_figures({**general, **_section(own, language.value),
                                                       **_section(top, language.value)}))
                for language in Language]


def _section(of: dict[str, Any], name: str) -> dict[str, Any]:
    found = of.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"Invalid sandbox configuration: '{name}' must be a section")
    return found


def _figures(given: dict[str, Any]) -> dict[str, int]:
    return {name: (_seconds if name in _DURATIONS else _count)(name, given[name]) for name in _DEFAULTS}


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"Invalid sandbox configuration: '{name}' must be a whole number, not {value!r}")
    return value


def _seconds(name: str, value: Any) -> int:
    if isinstance(value, str):
        match = _DURATION.match(value)
        if match:
            return int(match.group(1)) * _SECONDS[match.group(2)]
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return max(1, round(value))
    raise ValueError(f"Invalid sandbox configuration: '{name}' must be a number of seconds, not {value!r}")


def source_of(configs: Sequence[SandboxPoolConfig]) -> Optional[str]:
    """Return the file that contains exactly these settings, if all came from one file and were not changed since."""
    sources = {config.source for config in configs}
    path = sources.pop() if len(sources) == 1 else None
    if path is None or not os.path.exists(path):
        return None
    try:
        return path if SandboxPoolConfig.load_from_yaml(path) == list(configs) else None
    except ValueError:
        return None


def service_config(configs: Sequence[SandboxPoolConfig]) -> dict[str, Any]:
    """Return the configuration of a service with these pools only; it is the same as the service derives from the file.
    """
    profiles: dict[str, Any] = {}
    for each in configs:
        figures = asdict(each)
        profile: dict[str, Any] = {"work_dir": "/app", "pool": {name: figures[name] for name in _DEFAULTS}}
        if backend() == "docker":
            profile["image"] = each.language.image
        profiles[each.language.value] = profile
    limits = {"memory": "128m", "cpus": 0.5, "pids": 64, "file_size": "10m", "work_dir": "64m", "tmp_dir": "32m"}
    return {"name_prefix": "ag-sbx", "limits": limits, "pool": {"at_limit": "fail"}, "profiles": profiles,
            "sessions": {"most": 0}}
