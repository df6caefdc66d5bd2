"""Check that everything that a sandbox needs exists. Nothing is downloaded: packages come with the image."""
from __future__ import annotations

from typing import Any

from .._service import image_setting
from .registry import ToolRegistry


class SandboxBuilder:
    """Turns the registry's entries into the configuration of the service."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.registry = registry

    async def ensure_sandbox(self, sandbox_name: str) -> str:
        """Return a tag that changes when the sandbox changes."""
        return f"cloche-sandbox-{sandbox_name}:{self.registry.checksum(sandbox_name)[:12]}"

    def profile(self, sandbox_name: str, capacity: int) -> dict[str, Any]:
        """Return the profile for the configuration of a private service. It keeps one more sandbox warm than the pool
        uses.
        """
        config = self.registry.sandbox(sandbox_name)
        profile: dict[str, Any] = {
            "limits": {**config.limits.for_session(), "file_size": "64m", "work_dir": "64m"},
            "pool": {"pool_size": 1, "scale_limit": capacity + 2, "max_uses": 50},
            "zygotes": [{"name": "python", "imports": ["json", "select", "traceback"]}],
        }
        if config.image is not None:
            profile.update(image_setting(config.image))
        network = config.network.for_session()
        if network is not None:
            profile["network"] = network
            profile["tenants"] = "all"  # the service is this process's own
        if config.files:
            profile["mounts"] = [{"source": file.host_path, "target": file.container_path, "access": "read_only"}
                                 for file in config.files]
            profile["tenants"] = "all"  # the service is this process's own
        return profile
