"""Inputs and results of an autograder's sandbox."""
from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any, Mapping


class Language(Enum):
    """The value is the name of the language; `image` is its image on Docker."""

    PYTHON = ("python", "sandbox-py:latest")
    JAVA = ("java", "sandbox-java:latest")
    NODE = ("node", "sandbox-node:latest")
    CPP = ("cpp", "sandbox-cpp:latest")
    C = ("c", "sandbox-cpp:latest")

    image: str

    def __new__(cls, name: str, image: str) -> "Language":
        member = object.__new__(cls)
        member._value_ = name
        member.image = image
        return member


class SandboxState(Enum):
    IDLE = "idle"
    BUSY = "busy"
    STOPPED = "stopped"


class ResponseCategory(Enum):
    SUCCESS = "success"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    SYSTEM_ERROR = "system_error"
    COMPILATION_ERROR = "compilation_error"


@dataclass
class CommandResponse:
    stdout: str
    stderr: str
    exit_code: int
    execution_time: float
    category: ResponseCategory = ResponseCategory.SUCCESS

    @property
    def output(self) -> str:
        return self.stdout

    def __str__(self) -> str:
        return self.stdout


@dataclass
class SubmissionFile:
    """A file of a submission. Any object with these two attributes works as well."""

    filename: str
    content: str


@dataclass
class ResolvedAsset:
    """An asset. Any object with these attributes works as well. `target` is a path below /tmp."""

    target: str
    content: bytes
    read_only: bool = True


@dataclass
class ExtractedFile:
    path: str
    content_bytes: bytes
    size: int
    content_text: str = ""
    encoding: str = "utf-8"


class HttpResponse:
    """The response of an application in a sandbox."""

    def __init__(self, status_code: int, headers: Mapping[str, str], content: bytes, text: str) -> None:
        self.status_code = status_code
        self.headers = dict(headers)
        self.content = content
        self.text = text

    @property
    def ok(self) -> bool:
        return self.status_code < 400

    def json(self) -> Any:
        return json.loads(self.content)

    def __repr__(self) -> str:
        return f"<HttpResponse [{self.status_code}]>"


class RequestException(OSError):
    """The application did not respond."""


def request_exception(message: str) -> RequestException:
    """Return an exception that `except requests.RequestException` also catches, in a program that uses requests."""
    requests = sys.modules.get("requests")
    theirs = getattr(requests, "RequestException", None)
    if theirs is None:
        return RequestException(message)
    both = type("RequestException", (RequestException, theirs), {})
    error: RequestException = both(message)
    return error
