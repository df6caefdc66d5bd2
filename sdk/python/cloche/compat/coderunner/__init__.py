"""CodeQuiz' sandboxed code runner on Cloche."""
from .models import (CSHARP, PYTHON, CodeRunnerException, CodeRunnerOptions, CodeRunnerResult, LanguageSandboxConfig,
                     SandboxConfiguration, SandboxRequest, SandboxResult, UnsupportedLanguageException)
from .runner import CodeRunnerFactory, SandboxedCodeRunner
from .sandbox import DockerSandbox

__all__ = [
    "CSHARP", "PYTHON", "CodeRunnerException", "CodeRunnerFactory", "CodeRunnerOptions", "CodeRunnerResult",
    "DockerSandbox", "LanguageSandboxConfig", "SandboxConfiguration", "SandboxRequest", "SandboxResult",
    "SandboxedCodeRunner", "UnsupportedLanguageException",
]
