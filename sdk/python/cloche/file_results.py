"""Results of calls about files."""
from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence

Json = Mapping[str, Any]


class Text(str):
    """Lines of a file, and their position in it. `truncated`: there are more, from line `next_offset` on if that is not
    None. `cut_lines` is the number of lines that were longer than 1 MiB.
    """

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
    """Bytes of a file. `size` is that of the whole file. `truncated`: there are more of the requested bytes."""

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
    """A line that matches a pattern. Lines are counted from 1, as editors do."""

    path: str
    line: int
    text: str
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    text_truncated: bool = False


class Matches(list):
    """The result of `grep`: a list of `Match`, and counts of the searched files."""

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
    """An entry of a directory. `type` is file, directory, symlink, fifo, socket, device or other."""

    path: str
    type: str
    size: int


class Paths(list):
    """The result of `glob`: a list of paths as text; `entries` has details of each."""

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
    """The description of a path. `type` is as in `Entry`, `mode` has the permission bits, `modified` is in UTC,
    `link_target` is for a symlink that was not followed.
    """

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
    """The number of occurrences that an edit replaced, and the size of the file."""

    replaced: int
    size: int


@dataclass(frozen=True)
class Copied:
    """The numbers of `files` and `bytes` that a copy wrote."""

    files: int
    bytes: int


@dataclass(frozen=True)
class FileChange:
    """What happened to a file below a watched directory. `type` is created, written, removed, renamed (the old name),
    mode_changed, or overflow: events were lost, or parts of the tree are not watched.
    """

    type: str
    path: str
