"""The autograder's sandbox manager over Cloche.

    from cloche.compat.autograder import Language, SandboxPoolConfig, get_sandbox_manager, initialize_sandbox_manager

    initialize_sandbox_manager(SandboxPoolConfig.load_from_yaml("sandbox_config.yml"))
    with get_sandbox_manager().acquire_sandbox(Language.PYTHON) as sandbox:
        sandbox.prepare_workdir(files)
        result = sandbox.run_command("python main.py")
"""
from .container import ContainerRef, SandboxContainer
from .manager import SandboxManager, get_sandbox_manager, initialize_sandbox_manager
from .models import (CommandResponse, ExtractedFile, HttpResponse, Language, RequestException, ResolvedAsset,
                     ResponseCategory, SandboxState, SubmissionFile)
from .pool import LanguagePool
from .pool_config import SandboxPoolConfig

__all__ = [
    "CommandResponse", "ContainerRef", "ExtractedFile", "HttpResponse", "Language", "LanguagePool", "RequestException",
    "ResolvedAsset", "ResponseCategory", "SandboxContainer", "SandboxManager", "SandboxPoolConfig", "SandboxState",
    "SubmissionFile", "get_sandbox_manager", "initialize_sandbox_manager",
]
