"""A sandbox leased from a pool, with the interface of the autograder's templates."""
from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, Mapping, Optional, Sequence

import cloche
from cloche.errors import SandboxArgumentError, SandboxError, SandboxNotFoundError, SandboxResourceError

from .models import (CommandResponse, ExtractedFile, HttpResponse, Language, ResolvedAsset, ResponseCategory,
                     SandboxState, SubmissionFile, request_exception)

_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
_REQUEST_OPTIONS = ("json", "params")
_APP_PORT = 8000


@dataclass(frozen=True)
class ContainerRef:
    """Replaces Docker's container: the id of the lease, and the name of the sandbox in the service, such as
    `ag-sbx-python-a1b2c3d4-0001`.
    """

    id: str
    name: str


class SandboxContainer:
    """Belongs to the caller that leased it, until it is released or destroyed."""

    def __init__(self, language: Language, lease: "cloche.Lease") -> None:
        self.language = language
        self.container_ref = ContainerRef(lease.sandbox_id, lease.name)
        self.port = _APP_PORT
        self.state = SandboxState.IDLE
        self.created_at = self.last_updated = datetime.now()
        self._lease = lease

    def pickup(self) -> None:
        self.state = SandboxState.BUSY
        self.last_updated = datetime.now()

    def release(self) -> None:
        self.state = SandboxState.IDLE
        self.last_updated = datetime.now()

    def prepare_workdir(self, submission_files: Mapping[str, SubmissionFile]) -> None:
        """Write files into /app, and create missing directories. Raises RuntimeError if a file cannot be written, or
        would be outside /app.
        """
        if not submission_files:
            return
        try:
            self._lease.prepare({file.filename: file.content for file in submission_files.values()})
        except SandboxError as error:
            message = error.message
            if not message.startswith("Error preparing workdir: "):
                message = f"Error preparing workdir: {message}"
            raise RuntimeError(message) from error

    def inject_assets(self, resolved_assets: Sequence[ResolvedAsset]) -> None:
        """Write files into /tmp. Raises ValueError for a target outside /tmp, RuntimeError if a file cannot be written.
        """
        if not resolved_assets:
            return
        try:
            self._lease.inject([{"target": asset.target, "content": asset.content, "read_only": asset.read_only}
                                for asset in resolved_assets])
        except SandboxArgumentError as error:
            raise ValueError(error.message) from error
        except SandboxError as error:
            raise RuntimeError(f"Failed to create asset file: {error.message}") from error

    def run_command(self, command: str, timeout: int = 30, workdir: str = "/app") -> CommandResponse:
        """Run a command. Never raises for what happens in the sandbox. A command that ends with ` &` keeps running, for
        `make_request`.
        """
        return _response(lambda: self._lease.run(command, timeout=timeout, workdir=workdir), "Command execution failed")

    def run_commands(self, commands: Sequence[str], program_command: Optional[str] = None, timeout: int = 30,
                     workdir: str = "/app") -> CommandResponse:
        """Run the program with `commands` as the lines of its stdin; `"CMD"` is the language's own program."""
        program = program_command or None
        return _response(lambda: self._lease.run_batch(list(commands), program, timeout=timeout, workdir=workdir),
                         "Batch command execution failed")

    def extract_file(self, path: str, max_bytes: int = 1_048_576) -> ExtractedFile:
        """Read a file of /app. Raises FileNotFoundError; ValueError if the file is too large or not in /app; otherwise
        RuntimeError.
        """
        if not os.path.isabs(path):
            raise ValueError(f"Path must be absolute inside container: {path}")
        try:
            file = self._lease.read_file(path, max_bytes=max_bytes)
        except SandboxNotFoundError as error:
            if error.message.startswith("File not found"):
                raise FileNotFoundError(f"File not found in container: {path}") from error
            raise RuntimeError(f"Failed to read file from container: {error.message}") from error
        except (SandboxArgumentError, SandboxResourceError) as error:
            raise ValueError(error.message) from error
        except SandboxError as error:
            raise RuntimeError(f"Failed to read file from container: {error.message}") from error
        if file.text is None:
            return ExtractedFile(path, file.content, file.size, file.content.decode("latin-1"), "latin-1")
        return ExtractedFile(path, file.content, file.size, file.text, file.encoding or "utf-8")

    def make_request(self, method: str, endpoint: str, data: Any = None, json_data: Any = None,
                     headers: Optional[Mapping[str, str]] = None, timeout: Optional[float] = 5,
                     **kwargs: Any) -> HttpResponse:
        """Send a request to an application that listens on port 8000 in the sandbox. `json` and `params` are as in
        requests.

        Raises RequestException if there is no response. If the program uses requests, it is also a
        requests.RequestException.
        """
        method = method.upper()
        if method not in _METHODS:
            raise ValueError(f"Unsupported HTTP method: {method}")
        unknown = [name for name in kwargs if name not in _REQUEST_OPTIONS]
        if unknown:
            raise TypeError(f"make_request() got an unexpected keyword argument '{unknown[0]}'")
        if json_data is not None:
            kwargs["json"] = json_data
        if data is not None:
            kwargs["data"] = data.decode("utf-8") if isinstance(data, bytes) else data
        if headers is not None:
            kwargs["headers"] = dict(headers)
        kwargs["timeout"] = 5 if timeout is None else timeout
        try:
            answer = self._lease.request(method, endpoint, **kwargs)
        except SandboxError as error:
            url = f"http://localhost:{self.port}{endpoint}"
            raise request_exception(f"HTTP {method} request to {url} failed: {error.message}") from error
        return HttpResponse(answer.status_code, answer.headers, answer.content, answer.text)

    def __repr__(self) -> str:
        return f"<SandboxContainer lang={self.language.value} state={self.state.value} name={self.container_ref.name}>"


def _response(run: Callable[[], Any], failed: str) -> CommandResponse:
    try:
        ran = run()
    except SandboxArgumentError as error:
        raise ValueError(error.message) from error
    except SandboxError as error:
        return CommandResponse("", f"{failed}: {error.message}", -1, 0.0, ResponseCategory.SYSTEM_ERROR)
    return CommandResponse(ran.stdout, ran.stderr, ran.exit_code, ran.execution_time, ResponseCategory(ran.category))
