"""docs/operations.md tells of every metric, every warning and error of the log, and has a unit that systemd takes."""
import re
import shutil
import subprocess

from harness.served import REPOSITORY
from harness.target import CRUN, cannot_test

DOCUMENT = (REPOSITORY / "docs/operations.md").read_text(encoding="utf-8")


def section(title):
    return DOCUMENT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(text):
    """Of each row of the tables in it."""
    return [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]


def test_metrics__are_all_told_and_no_others(serve):
    server = serve(CRUN).start().wait_until_ready()
    assert server.execute("s", "print(1)").status == 200
    shown = set(re.findall(r"^# TYPE (\S+)", server.call("GET", "/metrics").text, re.MULTILINE))
    told = set(re.findall(r"`(cloche_\w+)`", " ".join(first_cells(section("Metrics")))))
    assert shown == told


def messages():
    """Formats of all warnings and errors in the sources."""
    found = set()
    for file in (REPOSITORY / "src").rglob("*.cpp"):
        if file.name.endswith("_test.cpp") or "testing" in file.parts:
            continue
        for literals in re.findall(r'\blog::(?:warn|error)\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', file.read_text("utf-8")):
            found.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)))
    return found


def test_warnings_and_errors_of_the_log__are_all_told_and_no_others():
    told = {cell.strip().strip("`") for cell in first_cells(section("What the log says"))}
    assert messages() == told


def test_tests_of_the_table_of_faults__are_there():
    named = set(re.findall(r"`(test_\w+\.py)`", section("Faults")))
    assert named and all((REPOSITORY / "tests/faults" / name).exists() for name in named)


def test_unit__is_one_that_systemd_takes(scratch, request):
    if not shutil.which("systemd-analyze"):
        cannot_test("systemd", request.node.nodeid, "systemd-analyze is not installed")
    unit = (REPOSITORY / "deploy/systemd/cloche.service").read_text("utf-8")
    assert "ExecStart=/usr/bin/cloche serve" in unit
    file = scratch / "cloche.service"
    file.write_text(unit.replace("/usr/bin/cloche", "/bin/true"), encoding="utf-8")
    checked = subprocess.run(["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True,
                             timeout=60, check=False)
    said = [line for line in checked.stderr.splitlines() if "cloche.service" in line]
    assert checked.returncode == 0 and not said, checked.stderr
