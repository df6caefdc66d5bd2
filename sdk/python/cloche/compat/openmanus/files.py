"""Copy files into and out of a sandbox. Files of the work directory use the service's file routes. Other files are
copied from or to the work directory by a shell in the sandbox, with the permissions of its user.
"""
from __future__ import annotations

import os
import posixpath
import shlex
import tempfile
import uuid
from contextlib import asynccontextmanager
from typing import AsyncIterator, Optional

from cloche.errors import SandboxError

from .session import Session

_SHELL_SECONDS = 60


def resolve_path(work_dir: str, path: str) -> str:
    """Resolve a path. Raises ValueError if it contains `..`."""
    if ".." in path.split("/"):
        raise ValueError("Path contains potentially unsafe patterns")
    return posixpath.normpath(posixpath.join(work_dir, path))


class SandboxFiles:
    """Files of a sandbox. Paths are absolute paths of the sandbox, except those called `local`. Raises
    FileNotFoundError, PermissionError, SandboxError.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    async def read(self, path: str) -> bytes:
        await self._find(path)
        async with self._at_hand(path) as near:
            content = b""
            while True:
                piece = await self._session.client.read_binary(near, session_id=self._session.id, offset=len(content))
                content += piece
                if not piece.truncated:
                    return content

    async def write(self, path: str, content: bytes) -> None:
        inside = self._below_work_dir(path)
        if inside is not None:
            await self._session.client.write(inside, content, session_id=self._session.id)
            return
        async with self._stage() as stage:
            await self._session.client.write(f"{stage}/file", content, session_id=self._session.id)
            await self._move(f"{stage}/file", path)

    async def copy_to(self, local: str, path: str) -> None:
        """Copy a file or a directory to `path`. Other content of an existing directory remains."""
        inside = self._below_work_dir(path)
        if inside is not None:
            await self._session.client.copy_in(local, inside, session_id=self._session.id)
            return
        async with self._stage() as stage:
            await self._session.client.copy_in(local, f"{stage}/copy", session_id=self._session.id)
            await self._move(f"{stage}/copy", path)

    async def copy_from(self, path: str, local: str) -> None:
        """Copy a file or a directory to `local`, or into it if it is a directory."""
        is_directory = await self._find(path) == "directory"
        if is_directory and os.path.exists(local) and not os.path.isdir(local):
            raise IsADirectoryError("Source path is a directory but destination is a file")
        place = os.path.join(local, posixpath.basename(path)) if os.path.isdir(local) else local
        os.makedirs(os.path.dirname(os.path.abspath(place)), exist_ok=True)
        async with self._at_hand(path) as near:
            if not is_directory:
                await self._session.client.download(near, place, session_id=self._session.id)
                return
            with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(place))) as folder:
                await self._session.client.copy_out(near, folder, session_id=self._session.id)
                _merge(_root_of(folder, near), place)

    def _below_work_dir(self, path: str) -> Optional[str]:
        if path == self._session.work_dir:
            return "."
        below = self._session.work_dir.rstrip("/") + "/"
        return path[len(below):] if path.startswith(below) else None

    @asynccontextmanager
    async def _at_hand(self, path: str) -> AsyncIterator[str]:
        inside = self._below_work_dir(path)
        if inside is not None:
            yield inside
            return
        async with self._stage() as stage:
            await self._shell(f"cp -RH -- {shlex.quote(path)} {shlex.quote(stage)}/copy")
            yield f"{stage}/copy"

    @asynccontextmanager
    async def _stage(self) -> AsyncIterator[str]:
        stage = f".cloche-{uuid.uuid4().hex}"
        await self._shell(f"mkdir -m 700 -- {stage}")
        try:
            yield stage
        finally:
            await self._shell(f"rm -rf -- {stage}")

    async def _move(self, near: str, path: str) -> None:
        there, parent = shlex.quote(path), shlex.quote(posixpath.dirname(path))
        await self._shell(f"mkdir -p -- {parent} && if [ -d {near} ] && [ -d {there} ]; "
                          f"then cp -R -- {near}/. {there}; else mv -fT -- {near} {there}; fi")

    async def _find(self, path: str) -> str:
        """Return the type of a file, as stat prints it. Raises PermissionError if a directory of the path may not be
        searched, because then it is unknown whether the file exists.
        """
        result = await self._session.client.bash(f"LC_ALL=C stat -L -c %F -- {shlex.quote(path)}",
                                                 session_id=self._session.id, timeout=_SHELL_SECONDS)
        if result.ok:
            return result.stdout.strip()
        if result.stderr.rstrip().endswith("Permission denied"):
            raise PermissionError(f"Permission denied: {path}")
        raise FileNotFoundError(path)

    async def _shell(self, line: str) -> None:
        result = await self._session.client.bash(line, session_id=self._session.id, timeout=_SHELL_SECONDS)
        if not result.ok:
            raise SandboxError(result.stderr.strip() or result.reason or f"exit code {result.exit_code}")


def _root_of(folder: str, near: str) -> str:
    """Return the path of the copied directory itself."""
    for candidate in (os.path.join(folder, *near.split("/")), os.path.join(folder, posixpath.basename(near))):
        if os.path.isdir(candidate):
            return candidate
    return folder


def _merge(source: str, place: str) -> None:
    """Copy the content of `source` into `place`; existing files are replaced."""
    os.makedirs(place, exist_ok=True)
    for name in os.listdir(source):
        here, there = os.path.join(source, name), os.path.join(place, name)
        if os.path.isdir(here):
            _merge(here, there)
        else:
            os.replace(here, there)
