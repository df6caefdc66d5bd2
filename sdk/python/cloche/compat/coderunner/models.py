"""Inputs and results of CodeQuiz' code runner. The names are those of its C# records, spelled as in Python."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional, Sequence


@dataclass(frozen=True)
class SandboxRequest:
    """One run of a program. `cpu_quota` is in microseconds per 100 ms: 50000 is half a core."""

    docker_image: str
    command: str
    arguments: Sequence[str]
    code_file_path: str
    container_work_dir: str
    input: Sequence[str] = ()
    timeout_seconds: int = 10
    memory_limit_bytes: int = 128 * 1024 * 1024
    cpu_quota: int = 50000


@dataclass(frozen=True)
class SandboxResult:
    """The result of a run: `output` after a success, `error` after a failure; the other is None."""

    success: bool
    output: Optional[str] = None
    error: Optional[str] = None
    timed_out: bool = False


@dataclass(frozen=True)
class CodeRunnerResult:
    success: bool
    output: Optional[str] = None
    error: Optional[str] = None


@dataclass(frozen=True)
class CodeRunnerOptions:
    """`contain_output` and `contain_error` decide whether the result contains them."""

    contain_output: bool = True
    contain_error: bool = True
    input: Sequence[str] = ()


class CodeRunnerException(Exception):
    """The code could not be run, so there is no result."""

    def __init__(self, message: str = "Failed to run code") -> None:
        super().__init__(message)


class UnsupportedLanguageException(CodeRunnerException):
    """The language has no sandbox. Code is never run outside of one."""

    def __init__(self, language: str) -> None:
        super().__init__(f"The programming language '{language}' is not currently supported.")


@dataclass(frozen=True)
class LanguageSandboxConfig:
    docker_image: str
    command: str
    file_extension: str
    argument_template: Sequence[str] = ("{filename}",)
    code_prefix: Optional[str] = None

    def get_arguments(self, filename: str) -> list[str]:
        return [argument.replace("{filename}", filename) for argument in self.argument_template]

    def prepare_code(self, code: str) -> str:
        return (self.code_prefix or "") + code


CSHARP = LanguageSandboxConfig(
    docker_image="mcr.microsoft.com/dotnet/sdk:10.0",
    command="dotnet",
    file_extension=".cs",
    argument_template=("run", "/sandbox/{filename}"),
    code_prefix="#pragma warning disable\n",
)

PYTHON = LanguageSandboxConfig(
    docker_image="python:3.12-slim",
    command="python",
    file_extension=".py",
    argument_template=("/sandbox/{filename}",),
)


@dataclass(frozen=True)
class SandboxConfiguration:
    temp_code_path: str = "/tmp/code"
    timeout_seconds: int = 10
    memory_limit_bytes: int = 128 * 1024 * 1024
    language_configs: Mapping[str, LanguageSandboxConfig] = field(
        default_factory=lambda: {"CSharp": CSHARP, "Python": PYTHON})
