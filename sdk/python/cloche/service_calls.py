"""Calls about leases, test cases and the service itself, as values."""
from __future__ import annotations

import base64
import urllib.parse
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from .call import Answer, Call
from .errors import SandboxArgumentError, SandboxResourceError
from .results import Readiness
from .runner_results import AppResponse, Case, CaseResult, CommandResult, LeaseFile
from .session_calls import Content, Network, quoted, without_none

#: A case is a `Case`, its input as text, or its input as lines.
AnyCase = Union[Case, str, Sequence[str]]

# What the main file of a language is called, as in src/language/languages.yml; a test compares them. The service finds
# the main file of other languages by its name.
_MAIN_FILES = {
    "python": "main.py", "py": "main.py", "python3": "main.py", "javascript": "main.js", "js": "main.js",
    "node": "main.js", "nodejs": "main.js", "typescript": "main.ts", "ts": "main.ts", "java": "Main.java",
    "c": "main.c", "gcc": "main.c", "cpp": "main.cpp", "c++": "main.cpp", "cxx": "main.cpp", "g++": "main.cpp",
    "csharp": "main.cs", "c#": "main.cs", "cs": "main.cs", "dotnet": "main.cs", "go": "main.go",
    "golang": "main.go", "rust": "main.rs", "rs": "main.rs", "ruby": "main.rb", "rb": "main.rb", "php": "main.php",
    "bash": "main.sh", "sh": "main.sh", "shell": "main.sh",
}


def _bytes_of(content: Content) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else bytes(content)


def asset_list(assets: Union[None, Mapping[str, Content], Iterable[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Assets are a map of targets to contents, or a list of {"target", "content", "read_only"}."""
    if assets is None:
        return []
    if isinstance(assets, Mapping):
        assets = [{"target": target, "content": content} for target, content in assets.items()]
    return [{"target": each["target"], "content": base64.b64encode(_bytes_of(each["content"])).decode("ascii"),
             "read_only": each.get("read_only", True)} for each in assets]


def submission(language: str, code: Optional[str], files: Optional[Mapping[str, str]]) -> list[dict[str, str]]:
    if (code is None) == (files is None):
        raise SandboxArgumentError("give either code or files", code="invalid_argument")
    if code is not None:
        name = _MAIN_FILES.get(language.lower())
        if name is None:
            raise SandboxArgumentError(f"unknown name of the main file of {language!r}; pass files={{name: text}}",
                                       code="invalid_argument")
        files = {name: code}
    return [{"filename": name, "content": text} for name, text in (files or {}).items()]


def _case_of(case: AnyCase) -> Case:
    return case if isinstance(case, Case) else Case(case)


def run_code(language: str, code: Optional[str], files: Optional[Mapping[str, str]],
             cases: Optional[Iterable[AnyCase]], command: Optional[str],
             assets: Union[None, Mapping[str, Content], Iterable[Mapping[str, Any]]],
             network: Optional[Network], deadline: Optional[float]) -> Call[list[CaseResult]]:
    wanted = [Case()] if cases is None else [_case_of(each) for each in cases]

    def read(answer: Answer) -> list[CaseResult]:
        told = answer.json()["results"]
        if len(told) == len(wanted):
            return [CaseResult.from_json(each, case) for each, case in zip(told, wanted)]
        return [CaseResult.from_json(each, None) for each in told]
    body = without_none({"language": language, "submission_files": submission(language, code, files),
                         "program_command": command, "test_cases": [case.lines() for case in wanted],
                         "assets": asset_list(assets) or None, "network": network})
    return Call("POST", "/api/v1/execute", read, json=body, timeout=deadline, work_time=60 + 60 * len(wanted))


# Leases

def lend(language: str, network: Optional[Network] = None) -> Call[tuple[str, str]]:
    """The id of the lease, and the name of the sandbox."""
    def read(answer: Answer) -> tuple[str, str]:
        if answer.status == 400:
            raise SandboxResourceError(str(answer.json().get("detail")), code="limit_reached", status=400,
                                       request_id=answer.headers.get("x-request-id"))
        lent = answer.json()
        return str(lent["sandbox_id"]), str(lent.get("name") or lent["sandbox_id"])
    body = None if network is None else {"network": network}
    return Call("POST", f"/sandboxes/{quoted(language)}", read, json=body, good=(200, 400), work_time=60)


def _lease_call(lease_id: str, verb: str, body: Mapping[str, Any], read: Any, work_time: float = 0.0) -> Call[Any]:
    return Call("POST", f"/sandboxes/{quoted(lease_id)}/{verb}", read, json=body, work_time=work_time)


def prepare(lease_id: str, files: Mapping[str, str]) -> Call[None]:
    named = {name: {"filename": name, "content": content} for name, content in files.items()}
    return _lease_call(lease_id, "prepare", {"submission_files": named}, lambda _: None)


def inject(lease_id: str, assets: Union[Mapping[str, Content], Iterable[Mapping[str, Any]]]) -> Call[None]:
    return _lease_call(lease_id, "inject", {"resolved_assets": asset_list(assets)}, lambda _: None)


def lease_run(lease_id: str, command: str, timeout: float, workdir: Optional[str]) -> Call[CommandResult]:
    body = without_none({"command": command, "timeout": timeout, "workdir": workdir})
    return _lease_call(lease_id, "run", body, lambda answer: CommandResult.from_json(answer.json()), timeout)


def lease_run_batch(lease_id: str, commands: Iterable[str], program_command: Optional[str], timeout: float,
                    workdir: Optional[str]) -> Call[CommandResult]:
    body = without_none({"commands": list(commands), "program_command": program_command, "timeout": timeout,
                         "workdir": workdir})
    return _lease_call(lease_id, "run-batch", body, lambda answer: CommandResult.from_json(answer.json()), timeout)


def lease_request(lease_id: str, method: str, endpoint: str, options: Mapping[str, Any]) -> Call[AppResponse]:
    body = {"method": method, "endpoint": endpoint, "kwargs": without_none(options)}
    return _lease_call(lease_id, "request", body, lambda answer: AppResponse.from_json(answer.json()),
                       float(options.get("timeout") or 5))


def lease_file(lease_id: str, path: str, max_bytes: int) -> Call[LeaseFile]:
    query = urllib.parse.urlencode({"path": path, "max_bytes": max_bytes})
    return Call("GET", f"/sandboxes/{quoted(lease_id)}/files?{query}",
                lambda answer: LeaseFile.from_json(answer.json()))


def give_back(lease_id: str) -> Call[None]:
    return Call("DELETE", f"/sandboxes/{quoted(lease_id)}", lambda _: None)


def destroy(lease_id: str) -> Call[None]:
    return Call("DELETE", f"/sandboxes/{quoted(lease_id)}/destroy", lambda _: None)


# The service

def stats() -> Call[dict[str, Any]]:
    return Call("GET", "/stats", Answer.json)


def health() -> Call[bool]:
    return Call("GET", "/healthz", lambda answer: answer.json().get("status") == "ok")


def ready() -> Call[Readiness]:
    def read(answer: Answer) -> Readiness:
        lacks = answer.json().get("lacks", ())
        return Readiness(answer.status == 200, {each["pool"]: each["why"] for each in lacks})
    return Call("GET", "/readyz", read, good=(200, 503))


def access() -> Call[dict[str, Any]]:
    return Call("GET", "/access", Answer.json)


def metrics() -> Call[str]:
    return Call("GET", "/metrics", lambda answer: answer.body.decode("utf-8"))
