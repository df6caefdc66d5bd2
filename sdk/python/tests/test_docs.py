"""The examples of the documents: each block of Python is run, and prints what stands below it."""
import pathlib
import re
import subprocess
import sys

import pytest
from support import SCRIPT_SECONDS, need_backend

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", re.M | re.S)


def examples():
    for name in ("docs/python.md", "sdk/python/README.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        found = list(EXAMPLE.finditer(text))
        assert len(found) == text.count("```python"), f"{name}: a block without its output"
        for each in found:
            line = text.count("\n", 0, each.start()) + 1
            yield pytest.param(each[1], each[2], id=f"{name}:{line}")


@pytest.mark.parametrize("code, printed", examples())
def test_example_prints_what_stands_below_it(code, printed, tmp_path):
    need_backend("oci", "test_docs")
    ran = subprocess.run([sys.executable, "-W", "always::ResourceWarning", "-c", code], cwd=tmp_path,
                         capture_output=True, text=True, timeout=SCRIPT_SECONDS, check=False)
    assert ran.stderr == ""
    assert ran.stdout == printed and ran.returncode == 0
