"""Test cases and their verdicts, and results of leases."""
from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Union

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """The input of a program, as lines or as text (a missing line end is added), and the expected output, if it is
    known.
    """

    input: Union[str, Sequence[str]] = ()
    expected: Optional[str] = None

    def lines(self) -> list[str]:
        if not isinstance(self.input, str):
            return list(self.input)
        lines = self.input.split("\n")
        return lines[:-1] if lines[-1] == "" else lines


def same_lines(one: str, other: str) -> bool:
    """Compare as the service's `trimmed` checker does: without white space at the ends of lines, and without empty
    lines at the end.
    """
    def trimmed(text: str) -> list[str]:
        lines = [line.rstrip() for line in text.split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        return lines
    return trimmed(one) == trimmed(other)


@dataclass(frozen=True)
class CaseResult:
    """The result of a test case. `category` is as in `Result`. `output` is stdout, a line feed and stderr; empty parts
    are left out. `passed`: the program succeeded and, if a stdout was expected, printed it.
    """

    output: str
    category: str
    error_message: Optional[str]
    execution_time: float
    passed: bool
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0

    @property
    def ok(self) -> bool:
        return self.category == "success"

    @classmethod
    def from_json(cls, told: Json, case: Optional[Case]) -> "CaseResult":
        expected = case.expected if case else None
        passed = told["category"] == "success" and (expected is None or same_lines(told["stdout"], expected))
        return cls(told["output"], told["category"], told["error_message"], told["execution_time"], passed,
                   told["stdout"], told["stderr"], told["exit_code"])


@dataclass(frozen=True)
class CommandResult:
    """How a command in a lease ended."""

    stdout: str
    stderr: str
    exit_code: int
    execution_time: float
    category: str

    @property
    def ok(self) -> bool:
        return self.category == "success"

    @classmethod
    def from_json(cls, told: Json) -> "CommandResult":
        return cls(told["stdout"], told["stderr"], told["exit_code"], told["execution_time"], told["category"])


@dataclass(frozen=True)
class AppResponse:
    """The response of a server in a sandbox."""

    status_code: int
    text: str
    headers: Mapping[str, str]
    content: bytes
    ok: bool

    @classmethod
    def from_json(cls, told: Json) -> "AppResponse":
        return cls(told["status_code"], told["text"], told["headers"], base64.b64decode(told["content"]), told["ok"])


@dataclass(frozen=True)
class LeaseFile:
    """A file of a lease. `text` and `encoding` are None if it is not text."""

    path: str
    content: bytes
    size: int
    text: Optional[str]
    encoding: Optional[str]

    @classmethod
    def from_json(cls, told: Json) -> "LeaseFile":
        return cls(told["path"], base64.b64decode(told["content_bytes"]), told["size"], told["content_text"],
                   told["encoding"])
