"""Run source code, by language."""
from __future__ import annotations

import os
import stat
import tempfile
import uuid
from typing import Optional

from .models import (CodeRunnerException, CodeRunnerOptions, CodeRunnerResult, LanguageSandboxConfig,
                     SandboxConfiguration, SandboxRequest, UnsupportedLanguageException)
from .sandbox import TIMED_OUT, DockerSandbox

_WORK_DIR = "/sandbox"


class SandboxedCodeRunner:
    """The runner of one language. Raises UnsupportedLanguageException if the configuration has no sandbox for it."""

    def __init__(self, sandbox: DockerSandbox, configuration: SandboxConfiguration, language: str) -> None:
        self.language, self._config = _find(configuration, language)
        self._sandbox = sandbox
        self._configuration = configuration

    async def run_code_async(self, code: str, options: Optional[CodeRunnerOptions] = None) -> CodeRunnerResult:
        options = options or CodeRunnerOptions()
        _own_folder(self._configuration.temp_code_path)
        with tempfile.TemporaryDirectory(dir=self._configuration.temp_code_path) as folder:
            filename = f"{uuid.uuid4().hex}{self._config.file_extension}"
            path = os.path.join(folder, filename)
            try:
                with open(path, "w", encoding="utf-8", newline="") as file:
                    file.write(self._config.prepare_code(code))
            except (OSError, UnicodeError) as error:
                raise CodeRunnerException(f"cannot write the code to {path}: {error}") from error
            result = await self._sandbox.execute_async(SandboxRequest(
                docker_image=self._config.docker_image, command=self._config.command,
                arguments=self._config.get_arguments(filename), code_file_path=path, container_work_dir=_WORK_DIR,
                input=options.input, timeout_seconds=self._configuration.timeout_seconds,
                memory_limit_bytes=self._configuration.memory_limit_bytes))
        error_text = result.error if result.error is not None else TIMED_OUT if result.timed_out else None
        return CodeRunnerResult(result.success, result.output if options.contain_output else None,
                                error_text if options.contain_error else None)


class CodeRunnerFactory:
    def __init__(self, configuration: Optional[SandboxConfiguration] = None,
                 sandbox: Optional[DockerSandbox] = None) -> None:
        self._configuration = configuration or SandboxConfiguration()
        self._sandbox = sandbox or DockerSandbox()

    def create(self, language: str) -> SandboxedCodeRunner:
        return SandboxedCodeRunner(self._sandbox, self._configuration, language)


def _own_folder(path: str) -> None:
    """Create the directory if it does not exist. A directory that others may write to is rejected, because they could
    replace the code.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        status = os.lstat(path)
    except OSError as error:
        raise CodeRunnerException(f"{path} cannot be used for code: {error}") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise CodeRunnerException(f"{path} cannot be used for code: "
                                  "it must be a directory of this user that others cannot write to")


def _find(configuration: SandboxConfiguration, language: str) -> tuple[str, LanguageSandboxConfig]:
    """Find a language; names are not case-sensitive."""
    for name, config in configuration.language_configs.items():
        if name.casefold() == language.casefold():
            return name, config
    raise UnsupportedLanguageException(language)
