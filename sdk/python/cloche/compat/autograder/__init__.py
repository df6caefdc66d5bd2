"""The autograder's sandbox manager on Cloche."""
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
