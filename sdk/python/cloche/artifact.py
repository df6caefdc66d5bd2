"""A file that a run made or changed."""
from __future__ import annotations

import pathlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .archive import AnyPath, place_below
from .results import ArtifactInfo

if TYPE_CHECKING:
    from .client import Client


@dataclass(frozen=True)
class Artifact(ArtifactInfo):
    """Its content is fetched when it is asked for, from the session, which must still be there; a file that was changed
    meanwhile is what it is then."""

    _client: Any = field(repr=False, compare=False)
    _session_id: str = field(repr=False, compare=False)

    def read(self) -> bytes:
        client: "Client" = self._client
        return client._send(client._calls.file(self._session_id, self.path))

    def save(self, directory: AnyPath = ".") -> pathlib.Path:
        """Writes it below the directory, under the path that it has in the workspace, and says where."""
        client: "Client" = self._client
        place = place_below(pathlib.Path(directory), self.path)
        client._download(self._session_id, self.path, place)
        return place
