"""The subset of YAML that a `sandbox_config.yml` uses: mappings by indentation, with numbers, words and quoted text as
values. Everything else is an error with its line number, so that nothing is misinterpreted.
"""
from __future__ import annotations

import re
from typing import Any, Iterator, NamedTuple, Union

Value = Union[int, float, bool, str, None]

_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?:[ \t]+(.*))?$")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*$")
_WORD = re.compile(r"[A-Za-z0-9_./+-][A-Za-z0-9_./+ -]*$")
_CONSTANTS: dict[str, Value] = {"true": True, "false": False, "null": None, "~": None, "": None}


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def parse_mapping(text: str) -> dict[str, Any]:
    """Parse a mapping. Raises ValueError, which names the line."""
    lines = list(_lines(text))
    top, rest = _block(lines, 0, lines[0].indent if lines else 0)
    if rest != len(lines):
        raise _refused(lines[rest], "is indented less than the line before it")
    return top


def _lines(text: str) -> Iterator[_Line]:
    for number, raw in enumerate(text.splitlines(), 1):
        content = _without_comment(raw).rstrip()
        bare = content.lstrip(" ")
        if not bare or bare == "---" and number == 1:
            continue
        line = _Line(number, len(content) - len(bare), bare)
        if bare.startswith("\t"):
            raise _refused(line, "is indented with a tab")
        yield line


def _without_comment(raw: str) -> str:
    quote = ""
    for place, character in enumerate(raw):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (place == 0 or raw[place - 1] in " \t"):
            return raw[:place]
    return raw


def _block(lines: list[_Line], place: int, indent: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while place < len(lines) and lines[place].indent >= indent:
        line = lines[place]
        if line.indent > indent:
            raise _refused(line, "is indented more than the line before it")
        match = _KEY.match(line.text)
        if match is None:
            raise _refused(line, "is not `key: value`")
        key, value = match.group(1), (match.group(2) or "").strip()
        if key in found:
            raise _refused(line, f"has a duplicate key `{key}`")
        place += 1
        if not value and place < len(lines) and lines[place].indent > indent:
            found[key], place = _block(lines, place, lines[place].indent)
        else:
            found[key] = _scalar(line, value)
    return found, place


def _scalar(line: _Line, text: str) -> Value:
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if _INTEGER.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0] and text[0] not in text[1:-1] and "\\" not in text:
        return text[1:-1]
    if _WORD.match(text):
        return text
    raise _refused(line, f"has an unsupported value: {text}")


def _refused(line: _Line, why: str) -> ValueError:
    return ValueError(f"line {line.number} {why}")
