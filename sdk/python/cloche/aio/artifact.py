"""A file that a run created or changed, on asyncio."""
from __future__ import annotations

import pathlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..archive import AnyPath, place_below
from ..results import ArtifactInfo

if TYPE_CHECKING:
    from .client import Client


@dataclass(frozen=True)
class Artifact(ArtifactInfo):
    """See `cloche.Artifact`."""

    _client: Any = field(repr=False, compare=False)
    _session_id: str = field(repr=False, compare=False)

    async def read(self) -> bytes:
        client: "Client" = self._client
        return await client._send(client._calls.file(self._session_id, self.path))

    async def save(self, directory: AnyPath = ".") -> pathlib.Path:
        """Write the file below the directory, with its path in the workspace, and return where it is."""
        client: "Client" = self._client
        place = place_below(pathlib.Path(directory), self.path)
        await client._download(self._session_id, self.path, place)
        return place
