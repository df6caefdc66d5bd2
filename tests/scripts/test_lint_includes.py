"""scripts/lint-includes: which includes it rejects."""
import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/lint-includes"


@pytest.fixture(name="tree")
def make_tree(tmp_path):
    """A project of three folders: low, high, and high/inner, which is above high."""
    files = {"CMakeLists.txt": "add_subdirectory(src/low)\nadd_subdirectory(src/high)\n",
             "src/low/CMakeLists.txt": "cloche_library(low)\n",
             "src/high/CMakeLists.txt": "cloche_library(high)\nadd_subdirectory(inner)\n",
             "include/cloche/all.hpp": "#pragma once\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "src/high/inner").mkdir()
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts/lint-includes")
    return tmp_path


def lint(tree):
    return subprocess.run([sys.executable, "-B", tree / "scripts/lint-includes"], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("file,included", [
    ("src/high/a.cpp", "low/a.hpp"), ("src/high/inner/a.cpp", "high/a.hpp"), ("src/low/a.cpp", "cloche/all.hpp"),
    ("src/low/a.cpp", "low/b.hpp"), ("src/low/a_test.cpp", "high/a.hpp"), ("src/low/testing/a.cpp", "high/a.hpp")])
def test_folder_that_includes_a_lower_one__is_accepted(tree, file, included):
    (tree / file).parent.mkdir(parents=True, exist_ok=True)
    (tree / file).write_text(f'#include <vector>\n#include "{included}"\n')
    ended = lint(tree)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("file,included", [
    ("src/low/a.hpp", "high/a.hpp"), ("src/high/a.cpp", "high/inner/a.hpp"), ("include/cloche/b.hpp", "low/a.hpp")])
def test_folder_that_includes_a_higher_one__is_rejected_with_its_line(tree, file, included):
    (tree / file).write_text(f'#pragma once\n#include "{included}"\n')
    ended = lint(tree)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"{file}:2: ") and included in ended.stderr
