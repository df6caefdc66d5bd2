"""A file that a run created or changed."""
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
    """A file that a run created or changed. Its content is fetched from the session on request. The session must still
    exist; if the file was changed in the meantime, its current content is returned.
    """

    _client: Any = field(repr=False, compare=False)
    _session_id: str = field(repr=False, compare=False)

    def read(self) -> bytes:
        client: "Client" = self._client
        return client._send(client._calls.file(self._session_id, self.path))

    def save(self, directory: AnyPath = ".") -> pathlib.Path:
        """Write the file below the directory, with its path in the workspace, and return where it is."""
        client: "Client" = self._client
        place = place_below(pathlib.Path(directory), self.path)
        client._download(self._session_id, self.path, place)
        return place
