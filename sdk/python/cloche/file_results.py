"""What calls about files give back."""
from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence

Json = Mapping[str, Any]


class Text(str):
    """Lines of a file, and where they stand in it. `truncated`: there is more, from line `next_offset` on if that is
    not None; `cut_lines` were longer than 1 MiB."""

    path: str
    offset: int
    lines: int
    truncated: bool
    next_offset: Optional[int]
    cut_lines: int
    total_lines: int
    total_lines_exact: bool
    size: int

    @classmethod
    def from_json(cls, told: Json) -> "Text":
        text = cls(told["content"])
        for name in cls.__annotations__:
            setattr(text, name, told[name])
        return text


class Binary(bytes):
    """Bytes of a file. `size` is the whole file's; `truncated`: there is more of what was asked for."""

    path: str
    offset: int
    size: int
    content_type: str
    sha256: str
    truncated: bool

    @classmethod
    def from_json(cls, told: Json) -> "Binary":
        content = cls(base64.b64decode(told["content"]))
        for name in cls.__annotations__:
            setattr(content, name, told[name])
        return content


@dataclass(frozen=True)
class Match:
    """A line that a pattern was found in; lines count from 1 as editors do."""

    path: str
    line: int
    text: str
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    text_truncated: bool = False


class Matches(list):
    """Of `grep`: a list of `Match`, and what was looked at."""

    truncated: bool = False
    files_searched: int = 0
    files_skipped: int = 0
    #: Of those skipped; None where an older sandbox does not say.
    files_binary: Optional[int] = None
    files_unreadable: Optional[int] = None

    @classmethod
    def from_json(cls, told: Json) -> "Matches":
        found = cls(Match(each["path"], each["line"], each["text"], tuple(each.get("before", ())),
                          tuple(each.get("after", ())), each.get("text_truncated", False)) for each in told["matches"])
        for name in ("truncated", "files_searched", "files_skipped"):
            setattr(found, name, told[name])
        found.files_binary = told.get("files_binary")
        found.files_unreadable = told.get("files_unreadable")
        return found


@dataclass(frozen=True)
class Entry:
    """`type` is file, directory, symlink, fifo, socket, device or other."""

    path: str
    type: str
    size: int


class Paths(list):
    """Of `glob`: a list of paths as text; `entries` says more of each."""

    truncated: bool = False
    entries: Sequence[Entry] = ()

    @classmethod
    def from_json(cls, told: Json) -> "Paths":
        found = cls(told["paths"])
        found.truncated = told["truncated"]
        found.entries = [Entry(each["path"], each["type"], each["size"]) for each in told["entries"]]
        return found


@dataclass(frozen=True)
class FileStat:
    """What a path is. `type` as of `Entry`, `mode` the permission bits, `modified` in UTC, `link_target` of a symlink
    that was not followed."""

    path: str
    type: str
    size: int
    mode: int
    uid: int
    gid: int
    modified: str
    link_target: Optional[str] = None

    @classmethod
    def from_json(cls, told: Json) -> "FileStat":
        return cls(told["path"], told["type"], told["size"], int(told["mode"], 8), told["uid"], told["gid"],
                   told["modified"], told.get("link_target"))


@dataclass(frozen=True)
class Edited:
    """How many occurrences an edit replaced, and the size of the file."""

    replaced: int
    size: int


@dataclass(frozen=True)
class Copied:
    """What a copy wrote: so many `files` and `bytes`."""

    files: int
    bytes: int
