"""The address of the service: `http://host:port`, `https://host:port` or `unix:/path`, with an optional path prefix."""
from __future__ import annotations

import os
import ssl
import urllib.parse
from dataclasses import dataclass
from typing import Optional

from .errors import SandboxArgumentError

DEFAULT_URL = "http://127.0.0.1:8080"


@dataclass(frozen=True)
class Address:
    """One of the three kinds of address; `prefix` is added before every path."""

    url: str
    host: str = ""
    port: int = 0
    unix_path: str = ""
    encrypted: bool = False
    prefix: str = ""

    @property
    def host_header(self) -> str:
        if self.unix_path:
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.encrypted else 80) else f"{host}:{self.port}"

    def tls(self, given: Optional[ssl.SSLContext]) -> Optional[ssl.SSLContext]:
        """The TLS context: the one given, otherwise one that checks the host against the system's certificate
        authorities.
        """
        if not self.encrypted:
            return None
        return given or ssl.create_default_context()


def parse_address(url: Optional[str]) -> Address:
    """Parse an address. None means `$CLOCHE_URL`, otherwise http://127.0.0.1:8080."""
    url = url or os.environ.get("CLOCHE_URL") or DEFAULT_URL
    if url.startswith("unix:"):
        path = url[len("unix:"):]
        if path.startswith("//"):
            path = path[2:]
        if not path.startswith("/"):
            raise SandboxArgumentError(f"{url!r}: a unix socket needs an absolute path, as in unix:/run/cloche.sock")
        return Address(url=url, unix_path=path)
    parts = urllib.parse.urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise SandboxArgumentError(f"{url!r} is not an address: use http://host:port, https://host:port or unix:/path")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SandboxArgumentError("an address must not contain a user, query or fragment; pass a token as `token`")
    encrypted = parts.scheme == "https"
    return Address(url=url, host=parts.hostname, port=port or (443 if encrypted else 80), encrypted=encrypted,
                   prefix=parts.path.rstrip("/"))
