"""Run untrusted code in warm sandboxes.

>>> import cloche
>>> with cloche.start() as server, server.sandbox() as sandbox:        # doctest: +SKIP
...     print(sandbox.run("print(6 * 7)").stdout)
42

`start` starts a private server; `Client` and `Sandbox` use a running one. `cloche.aio` is the same for asyncio.
"""
from .archive import Unpacked
from .artifact import Artifact
from .client import Client
from .errors import (SandboxArgumentError, SandboxError, SandboxLostError, SandboxNotFoundError, SandboxPermissionError,
                     SandboxResourceError, SandboxTimeoutError, SandboxUnavailableError)
from .file_results import Binary, Copied, Edited, Entry, FileChange, FileStat, Match, Matches, Paths, Text
from .lease import Lease
from .results import (CompileResult, ContextError, ContextInfo, EgressEvent, Event, Fork, Output, ProgramError,
                      Readiness, ResourceUse, Result, RunInfo, SessionInfo, SnapshotInfo, VolumeInfo)
from .run import Run
from .runner_results import AppResponse, Case, CaseResult, CommandResult, LeaseFile
from .sandbox import Sandbox
from .server import Server, start
from .stream import Stream
from .terminal import Terminal
from .websocket import TerminalExit

__version__ = "0.1.0"

__all__ = [
    "AppResponse", "Artifact", "Binary", "Case", "CaseResult", "Client", "CommandResult", "CompileResult",
    "ContextError", "ContextInfo", "Copied", "Edited", "EgressEvent", "Entry", "Event", "FileChange", "FileStat",
    "Fork", "Lease", "LeaseFile", "Match", "Matches", "Output", "Paths", "ProgramError", "Readiness", "ResourceUse",
    "Result", "Run", "RunInfo", "Sandbox", "SandboxArgumentError", "SandboxError", "SandboxLostError",
    "SandboxNotFoundError",
    "SandboxPermissionError", "SandboxResourceError", "SandboxTimeoutError", "SandboxUnavailableError", "Server",
    "SessionInfo", "SnapshotInfo", "start", "Stream", "Terminal", "TerminalExit", "Text", "Unpacked", "VolumeInfo",
]
