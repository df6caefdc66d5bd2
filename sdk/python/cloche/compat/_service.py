"""Which service a drop-in talks to: the one at `$CLOCHE_URL`, else a private one that it starts for itself."""
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
    """Without `server` somebody else runs it, with a configuration of its own."""

    url: str
    server: Optional["cloche.Server"] = None

    @property
    def remote(self) -> bool:
        return self.server is None

    @property
    def token(self) -> Optional[str]:
        """A private one asks for none, and is not to see one that is meant for another; None: the environment's."""
        return None if self.remote else ""

    def client(self) -> "cloche.Client":
        return cloche.Client(self.url, self.token)

    def async_client(self) -> "aio.Client":
        return aio.Client(self.url, self.token)

    def stop(self) -> None:
        """Ends a private one. May be called again."""
        if self.server is not None:
            self.server.stop()


def backend() -> str:
    """Of private services."""
    return os.environ.get("CLOCHE_BACKEND") or os.environ.get("SANDBOX_BACKEND") or "oci"


def remote_profile(image: str) -> Optional[str]:
    """What a remote service, whose images are its own, calls the sandboxes of an image: a profile of that name."""
    return None if image == DEFAULT_IMAGE else image


def image_setting(image: str) -> dict[str, str]:
    """What a profile says of an image."""
    if backend() == "oci" and image == DEFAULT_IMAGE:
        return {}
    return {"image": image}


def open_service(config: Mapping[str, Any], config_file: Optional[str] = None) -> Service:
    """`config_file`, else `config`, is for a private service; a remote one has its own. Blocks while it starts."""
    url = os.environ.get("CLOCHE_URL")
    if url:
        return Service(url)
    server = cloche.start(backend(), config_file or config)
    return Service(server.url, server)


_shared: dict[str, Service] = {}
_shared_lock = threading.Lock()


def shared_service(config: Mapping[str, Any]) -> Service:
    """One for all who ask for the same configuration; a private one ends with the program. Blocks while it starts."""
    key = json.dumps([os.environ.get("CLOCHE_URL"), backend(), config], sort_keys=True)
    with _shared_lock:
        found = _shared.get(key)
        if found is None:
            found = _shared[key] = open_service(config)
        return found


def stop_shared_services() -> None:
    """Those that are private end now, and what runs in them."""
    with _shared_lock:
        services = list(_shared.values())
        _shared.clear()
    for service in services:
        service.stop()


atexit.register(stop_shared_services)
