"""The service of a drop-in module: the one at `$CLOCHE_URL`, otherwise a private one that the module starts."""
from __future__ import annotations

import atexit
import json
import os
import threading
from dataclasses import dataclass
from typing import Any, Mapping, Optional

import cloche
from cloche import aio

# What the originals' settings name when nobody chose an image. Without a container engine it stands for this host's own
# /usr, as it does in the C++ library.
DEFAULT_IMAGE = "python:3.12-slim"


@dataclass
class Service:
    """A service. Without `server` it is a remote service with its own configuration."""

    url: str
    server: Optional["cloche.Server"] = None

    @property
    def remote(self) -> bool:
        return self.server is None

    @property
    def token(self) -> Optional[str]:
        """The token. A private service needs none, and must not receive one that is for another service; None means the
        environment's.
        """
        return None if self.remote else ""

    def client(self) -> "cloche.Client":
        return cloche.Client(self.url, self.token)

    def async_client(self) -> "aio.Client":
        return aio.Client(self.url, self.token)

    def stop(self) -> None:
        """Stop a private service. Further calls have no effect."""
        if self.server is not None:
            self.server.stop()


def backend() -> str:
    """The backend of private services."""
    return os.environ.get("CLOCHE_BACKEND") or os.environ.get("SANDBOX_BACKEND") or "oci"


def remote_profile(image: str) -> Optional[str]:
    """Return the profile of a remote service for an image: images belong to the service, and the profile has the name
    of the image.
    """
    return None if image == DEFAULT_IMAGE else image


def image_setting(image: str) -> dict[str, str]:
    """Return the setting of a profile for an image."""
    if backend() == "oci" and image == DEFAULT_IMAGE:
        return {}
    return {"image": image}


def open_service(config: Mapping[str, Any], config_file: Optional[str] = None) -> Service:
    """Open a service. `config_file`, otherwise `config`, is for a private service; a remote one has its own. Blocks
    while the service starts.
    """
    url = os.environ.get("CLOCHE_URL")
    if url:
        return Service(url)
    server = cloche.start(backend(), config_file or config)
    return Service(server.url, server)


_shared: dict[str, Service] = {}
_shared_lock = threading.Lock()


def shared_service(config: Mapping[str, Any]) -> Service:
    """Return one service for all callers with the same configuration. A private one ends with the program. Blocks while
    the service starts.
    """
    key = json.dumps([os.environ.get("CLOCHE_URL"), backend(), config], sort_keys=True)
    with _shared_lock:
        found = _shared.get(key)
        if found is None:
            found = _shared[key] = open_service(config)
        return found


def stop_shared_services() -> None:
    """Stop the private services and everything that runs in them."""
    with _shared_lock:
        services = list(_shared.values())
        _shared.clear()
    for service in services:
        service.stop()


atexit.register(stop_shared_services)
