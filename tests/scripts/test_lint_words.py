"""scripts/lint-words: which text it reads in each kind of file, what it permits, and its exit codes."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/lint-words"
LOADER = importlib.machinery.SourceFileLoader("lint_words", str(SCRIPT))
lint_words = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint_words", LOADER))
LOADER.exec_module(lint_words)


def found(name, text, comments=False):
    return [(number, word) for number, word, _ in lint_words.findings(name, text, comments)]


def run(*arguments, cwd):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_markdown__is_read_without_code_and_link_targets():
    text = "Nobody waits.\n\n```sh\nid nobody\n```\nuser `nobody`, [text](nobody.md)\nWhoever reads\n"
    assert found("a.md", text) == [(1, "Nobody"), (7, "Whoever")]


def test_cpp__is_read_in_string_literals_only():
    text = 'int nobody;  // nobody\nauto text = "for \\"want\\" nobody";\nauto raw = R"(a\nanew)";\nchar c = \'"\'; /* anew */\n'
    assert found("src/a.cpp", text) == [(2, "nobody"), (4, "anew")]


def test_cpp__with_comments__is_read_in_comments_too():
    assert found("src/a.cpp", "int a;  // nobody\n/* one\n anew */\n", comments=True) == [(1, "nobody"), (3, "anew")]


def test_public_header__is_read_in_its_documentation():
    text = "/// Told of output.\n// nobody\nvoid f();\n"
    assert found("include/cloche/a.hpp", text) == [(1, "Told of")]
    assert not found("src/a.hpp", text)


def test_python__is_read_in_strings_and_docstrings():
    text = '"""Opens anew.\n\nFor nobody.\n"""\nnobody = "somebody"  # whoever\n'
    assert found("a.py", text) == [(1, "anew"), (3, "nobody"), (5, "somebody")]
    assert (5, "whoever") in found("a.py", text, comments=True)


def test_shell__is_read_in_its_help_and_its_messages():
    text = "#!/bin/bash\n# Helps nobody.\nset -e\n# not nobody\ndie 'somebody'  # anew\n"
    assert found("scripts/a", text) == [(2, "nobody"), (5, "somebody")]


def test_inline_code__is_no_finding():
    assert not found("src/a.cpp", 'auto text = "the user `nobody`";\n')
    assert not found("include/cloche/a.hpp", "/// As the user `nobody`.\n")
    assert not found("a.py", '"""The user `nobody`."""\n')


def test_yaml__is_read_in_every_line():
    assert found("docs/openapi.yaml", "a:\n  description: tells of `nobody`\n") == [(2, "tells of")]


@pytest.mark.parametrize("name, text", [
    ("a.md", "The user nobody. <!-- lint-words: allow -->\n"),
    ("a.md", "<!-- lint-words: allow -->\nThe user nobody.\n"),
    ("a.cpp", 'auto user = "nobody";  // lint-words: allow\n'),
    ("a.py", '# lint-words: allow\nUSER = "nobody"\n'),
    ("a.md", "<!-- lint-words: skip-file -->\nnobody\nnobody\n"),
])
def test_marked_line__is_permitted(name, text):
    assert not found(name, text)


def test_marker__permits_no_other_line():
    assert found("a.md", "<!-- lint-words: allow -->\nnobody\nnobody\n") == [(3, "nobody")]


def test_usual_words__are_no_findings():
    assert not found("a.md", "There is none. The default is none. The bearer token. Standard. Stands alone. Mendel.\n")


def test_every_rule__is_listed_with_a_suggestion(tmp_path):
    listed = run("--list", cwd=tmp_path)
    assert listed.returncode == 0 and len(listed.stdout.splitlines()) == len(lint_words.RULES)


def test_findings__are_printed_with_place_word_and_suggestion(tmp_path):
    (tmp_path / "a.md").write_text("fine\nOpens anew.\n", encoding="utf-8")
    ran = run("a.md", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "a.md:2:anew: again\n")


def test_clean_file__exits_with_0(tmp_path):
    (tmp_path / "a.md").write_text("Opens again.\n", encoding="utf-8")
    ran = run("a.md", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_sources_of_tests__are_read_on_request_only(tmp_path):
    (tmp_path / "a_test.cpp").write_text('auto a = "nobody";\n', encoding="utf-8")
    assert run("a_test.cpp", cwd=tmp_path).returncode == 0
    assert run("--tests", "a_test.cpp", cwd=tmp_path).returncode == 1


def test_wrong_command_line__exits_with_2(tmp_path):
    assert run("--no-such-option", cwd=tmp_path).returncode == 2
    assert run("missing.md", cwd=tmp_path).returncode == 2
    helped = run("--help", cwd=tmp_path)
    assert helped.returncode == 0 and "Usage: scripts/lint-words" in helped.stdout
