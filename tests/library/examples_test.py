#!/usr/bin/python3
"""Runs the Python examples, and compares what each prints with its last comment.

Usage: examples_test.py CLOCHE REPOSITORY
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

SECONDS = 120


def skip(why):
    log = os.environ.get("CLOCHE_MISSING_LOG")
    if log:
        with open(log, "a", encoding="utf-8") as notes:
            notes.write(f"crun\tlibrary_python_examples\t{why}\n")
    print(why)
    sys.exit(77)


def printed_by(source):
    found = re.search(r"^# Prints:\n#\n((?:#   .*\n)+)\Z", source.read_text(encoding="utf-8"), re.M)
    return re.sub(r"^#   ", "", found[1], flags=re.M) if found else None


def main():
    program, repository = sys.argv[1], pathlib.Path(sys.argv[2])
    if os.geteuid() != 0:
        skip("sandboxes are made as root")
    if not shutil.which("crun"):
        skip("crun is not installed")
    environment = {**os.environ, "PYTHONPATH": str(repository / "sdk/python"), "CLOCHE_PROGRAM": program,
                   "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("CLOCHE_URL", "CLOCHE_TOKEN", "CLOCHE_BACKEND", "SANDBOX_BACKEND"):
        environment.pop(name, None)
    # Programs that use E2B's package are run by tests/dialect/e2b.
    sources = sorted(each for each in (repository / "examples/python").glob("*.py") if not each.name.startswith("e2b_"))
    failed = []
    for source in sources:
        wanted = printed_by(source)
        ran = subprocess.run([str(repository / "tests/library/alone.sh"), sys.executable, str(source)], env=environment,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
        if ran.returncode != 0 or ran.stdout != wanted:
            failed.append(source.name)
            print(f"{source.name} says that it prints:\n{wanted}\nit prints, with exit code {ran.returncode}:\n"
                  f"{ran.stdout}{ran.stderr}")
    print(f"{len(sources) - len(failed)} of {len(sources)} examples print what they say")
    return 1 if failed or len(sources) < 9 else 0


if __name__ == "__main__":
    sys.exit(main())
