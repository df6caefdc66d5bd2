"""The quiz's sandboxed code runner over Cloche.

    from cloche.compat.coderunner import CodeRunnerFactory, CodeRunnerOptions

    runner = CodeRunnerFactory().create("Python")
    result = await runner.run_code_async("print(input())", CodeRunnerOptions(input=["hello"]))
    result.output     # 'hello'
"""
from .models import (CSHARP, PYTHON, CodeRunnerException, CodeRunnerOptions, CodeRunnerResult, LanguageSandboxConfig,
                     SandboxConfiguration, SandboxRequest, SandboxResult, UnsupportedLanguageException)
from .runner import CodeRunnerFactory, SandboxedCodeRunner
from .sandbox import DockerSandbox

__all__ = [
    "CSHARP", "PYTHON", "CodeRunnerException", "CodeRunnerFactory", "CodeRunnerOptions", "CodeRunnerResult",
    "DockerSandbox", "LanguageSandboxConfig", "SandboxConfiguration", "SandboxRequest", "SandboxResult",
    "SandboxedCodeRunner", "UnsupportedLanguageException",
]
