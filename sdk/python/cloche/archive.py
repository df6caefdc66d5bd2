"""Create tar archives from files of this machine, and unpack archives from a sandbox, which are not trusted."""
from __future__ import annotations

import io
import os
import pathlib
import stat
import tarfile
import tempfile
from dataclasses import dataclass, field
from typing import Iterator, Optional, Union

from .errors import SandboxArgumentError, SandboxResourceError, SandboxUnavailableError

AnyPath = Union[str, "os.PathLike[str]"]

PIECE = 256 << 10
BLOCK = 512
# The service gives no larger archive.
MOST_BYTES = 4 << 30


@dataclass
class Unpacked:
    """The files that were written, and the entries that were left out because they are neither files nor directories.
    """

    files: list[pathlib.Path] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def pack(source: AnyPath, name: str) -> Iterator[bytes]:
    """Yield an archive of a file or a directory with everything below it; `name` is its name in the archive. Links stay
    links; owners are not included.
    """
    source = pathlib.Path(source)
    if not source.exists():
        raise SandboxArgumentError(f"{source} does not exist", code="invalid_argument")
    return _pack(source, name)


def _pack(source: pathlib.Path, name: str) -> Iterator[bytes]:
    yield from _packed(source, name, follow=True)
    if source.is_dir():
        for parent, directories, files in os.walk(source):
            directories.sort()
            inside = pathlib.PurePosixPath(name, *pathlib.Path(parent).relative_to(source).parts)
            for each in sorted(directories + files):
                yield from _packed(pathlib.Path(parent, each), str(inside / each), follow=False)
    yield bytes(2 * BLOCK)


def _packed(path: pathlib.Path, name: str, follow: bool) -> Iterator[bytes]:
    status = path.stat() if follow else path.lstat()
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = stat.S_IMODE(status.st_mode) & 0o777, int(status.st_mtime)
    if stat.S_ISDIR(status.st_mode):
        if name in ("", "."):
            return  # the workspace itself is there
        info.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(status.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
    elif stat.S_ISREG(status.st_mode):
        info.size = status.st_size
    else:
        return  # sockets and the like stay where they are
    yield info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    if info.size:
        yield from _content(path, info.size)


def _content(path: pathlib.Path, size: int) -> Iterator[bytes]:
    left = size
    with open(path, "rb") as file:
        while left:
            piece = file.read(min(PIECE, left))
            if not piece:
                raise SandboxArgumentError(f"{path} became shorter while it was read", code="invalid_argument")
            left -= len(piece)
            yield piece
    yield bytes(-size % BLOCK)


class PieceReader(io.RawIOBase):
    """Read pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        taken = self._rest[:len(buffer)]
        buffer[:len(taken)] = taken
        self._rest = self._rest[len(taken):]
        return len(taken)


def place_below(directory: pathlib.Path, path: str) -> pathlib.Path:
    """Return where a path from a sandbox is written. Rejects a path that leads out of the directory."""
    pure = pathlib.PurePosixPath(path)
    parts = [part for part in pure.parts if part != "."]
    strange = "\0" in path or (os.sep != "/" and any(os.sep in part or ":" in part for part in parts))
    if pure.is_absolute() or ".." in parts or not parts or strange:
        raise SandboxUnavailableError(f"the sandbox returned the path {path!r}, which is outside the target directory")
    return directory.joinpath(*parts)


def unpack(pieces: Iterator[bytes], directory: AnyPath, most_bytes: int = MOST_BYTES) -> Unpacked:
    """Write files and directories below `directory`, which is created. Each file appears whole and replaces an existing
    file.
    """
    target = pathlib.Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    done, written = Unpacked(), 0
    try:
        with tarfile.open(fileobj=io.BufferedReader(PieceReader(pieces), PIECE), mode="r|") as archive:
            for member in archive:
                if member.isdir():
                    if pathlib.PurePosixPath(member.name) != pathlib.PurePosixPath("."):
                        place_below(target, member.name).mkdir(parents=True, exist_ok=True)
                    continue
                # A sparse file can claim any size.
                if not member.isreg() or member.issparse():
                    done.skipped.append(member.name)
                    continue
                written += member.size
                if written > most_bytes:
                    raise SandboxResourceError(f"the archive has more than {most_bytes} bytes", code="too_large")
                place = place_below(target, member.name)
                write_whole(place, _pieces_of(archive, member), member.mode & 0o755)
                done.files.append(place)
    except tarfile.TarError as error:
        raise SandboxUnavailableError(f"the archive ended early: {error}") from error
    return done


def _pieces_of(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    content = archive.extractfile(member)
    assert content is not None  # it is a file
    while True:
        piece = content.read(PIECE)
        if not piece:
            return
        yield piece


def write_whole(place: pathlib.Path, pieces: Iterator[bytes], mode: Optional[int] = None) -> None:
    """Write through a temporary file next to it, so that no other process sees a partial file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=".cloche-")
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(piece)
        os.chmod(name, 0o644 if mode is None else mode | 0o600)
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise
