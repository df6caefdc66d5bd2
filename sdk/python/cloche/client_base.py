"""The common part of the sync and the async client."""
from __future__ import annotations

import pathlib
import urllib.parse
from typing import Any, Mapping, Optional, Union

from .archive import AnyPath, pack
from .call import Call
from .file_results import Copied
from .results import ArtifactInfo, ArtifactMaker, Result
from .session_calls import Content, SessionCalls, without_none

_SHELLS = ("bash", "sh", "shell")


class ClientBase:
    """Creates calls; subclasses send them."""

    _artifact_class: Any = None

    def __init__(self, tenant: Optional[str]) -> None:
        self._calls = SessionCalls(tenant)

    def _artifact_maker(self, session_id: str) -> ArtifactMaker:
        return lambda told: self._artifact_class(**ArtifactInfo.fields_of(told), _client=self, _session_id=session_id)

    def _result_of(self, session_id: str, told: Mapping[str, Any]) -> Result:
        return Result.from_json(told, self._artifact_maker(session_id))

    def _bash_call(self, command: str, session_id: str, deadline: Optional[float], **fields: Any) -> Call[Result]:
        return self._calls.run("bash", command, session_id, self._artifact_maker(session_id), fields=fields,
                               deadline=deadline)

    def _execute_call(self, code: str, language: str, session_id: str, deadline: Optional[float],
                      **fields: Any) -> Call[Result]:
        return self._calls.run("execute", code, session_id, self._artifact_maker(session_id),
                               fields={"language": language, **fields}, deadline=deadline)

    def _any_call(self, text: str, language: str, session_id: str, deadline: Optional[float],
                  **fields: Any) -> Call[Result]:
        """Create a run. For a shell the text is a command line, otherwise it is code."""
        if language in _SHELLS:
            return self._bash_call(text, session_id, deadline, **fields)
        return self._execute_call(text, language, session_id, deadline, **fields)

    def _copy_in_call(self, session_id: str, files: Union[Mapping[str, Content], AnyPath], to: str) -> Call[Copied]:
        if isinstance(files, Mapping):
            placed = files if to == "." else {f"{to}/{path}": content for path, content in files.items()}
            return self._calls.copy_in(session_id, placed)
        source = pathlib.Path(files)
        name = source.name if to == "." and not source.is_dir() else to
        return self._calls.copy_in_tar(session_id, pack(source, name))

    def _terminal_target(self, session_id: str, command: Optional[str], rows: int, cols: int) -> str:
        query = urllib.parse.urlencode(without_none({"rows": rows, "cols": cols, "command": command}))
        return self._calls.path(session_id, "/terminal?" + query)


def place_of_download(path: str, to: AnyPath) -> pathlib.Path:
    place = pathlib.Path(to)
    return place / pathlib.PurePosixPath(path).name if place.is_dir() else place
