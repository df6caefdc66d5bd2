"""The sandboxes, and the tools that scripts find in each."""
from __future__ import annotations

import ast
import hashlib
import inspect
import json
import textwrap
from dataclasses import dataclass
from typing import Any, Callable, Optional, Sequence

from .config import SandboxConfig


@dataclass(frozen=True)
class RegisteredTool:
    name: str
    fn: Callable[..., Any]
    source: str
    dependencies: tuple[str, ...]
    secrets: tuple[str, ...]
    sandbox_name: str


class ToolRegistry:
    """The registry always has a sandbox `default`."""

    def __init__(self) -> None:
        self._sandboxes: dict[str, SandboxConfig] = {"default": SandboxConfig()}
        self._tools: dict[str, RegisteredTool] = {}

    def register_sandbox(self, config: SandboxConfig) -> SandboxConfig:
        """Register a sandbox; it replaces one with the same name."""
        self._sandboxes[config.name] = config
        return config

    def sandbox(self, name: str) -> SandboxConfig:
        """Return a sandbox. Raises ValueError if the name is not registered."""
        try:
            return self._sandboxes[name]
        except KeyError:
            raise ValueError(f"Sandbox '{name}' is not registered") from None

    def sandbox_names(self) -> list[str]:
        return list(self._sandboxes)

    def register_tool(self, fn: Callable[..., Any], *, name: Optional[str] = None, sandbox: str = "default",
                      dependencies: Sequence[str] = (), secrets: Sequence[str] = ()) -> RegisteredTool:
        """Register a function of a module. Its source is copied into the sandbox, so its imports must be inside the
        function.
        """
        tool = RegisteredTool(name or fn.__name__, fn, _source_of(fn), tuple(dependencies), tuple(secrets), sandbox)
        self._tools[tool.name] = tool
        return tool

    def tools(self, sandbox: str) -> list[RegisteredTool]:
        return [tool for tool in self._tools.values() if tool.sandbox_name == sandbox]

    def requirements(self, sandbox: str) -> list[str]:
        named = set(self.sandbox(sandbox).requirements)
        for tool in self.tools(sandbox):
            named.update(tool.dependencies)
        return sorted(named)

    def secrets(self, sandbox: str) -> list[str]:
        named = set(self.sandbox(sandbox).secrets)
        for tool in self.tools(sandbox):
            named.update(tool.secrets)
        return sorted(named)

    def checksum(self, sandbox: str) -> str:
        """Return a SHA-256 over the inputs of the sandbox; if it changes, the sandbox must be created again."""
        parts = [self.sandbox(sandbox).image, self.requirements(sandbox),
                 sorted([tool.name, tool.source] for tool in self.tools(sandbox))]
        return hashlib.sha256(json.dumps(parts).encode("utf-8")).hexdigest()


def _source_of(fn: Callable[..., Any]) -> str:
    """Return the source without its decorators, which have no meaning in the sandbox."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
    except (OSError, TypeError, SyntaxError) as error:
        raise ValueError(f"cannot read the source of {fn!r}: {error}") from None
    definition = tree.body[0]
    if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise ValueError(f"{fn!r} is not a function with a name")
    definition.decorator_list = []
    return ast.unparse(definition)


registry = ToolRegistry()


def tool(fn: Optional[Callable[..., Any]] = None, *, name: Optional[str] = None, sandbox: str = "default",
         dependencies: Sequence[str] = (), secrets: Sequence[str] = ()) -> Any:
    """`@tool` or `@tool(sandbox="web", secrets=["API_KEY"])`: scripts of that sandbox find the function by its name."""
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        registry.register_tool(function, name=name, sandbox=sandbox, dependencies=dependencies, secrets=secrets)
        return function
    return register if fn is None else register(fn)
