"""scripts/summarize-tests: which cases it counts, what a second run changes, and what it prints at the end."""
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/summarize-tests"


def ran(*cases):
    """What a GoogleTest program prints for (case, word, output)."""
    return "".join(f"[ RUN      ] {case}\n{output}" + (f"[{word:^10}] {case} (5 ms)\n" if word else "")
                   for case, word, output in cases)


class Run:
    """A run of ctest: what it writes, and the summary of it."""
    def __init__(self, place):
        self.place = place
        self.options = []
        self.tests = {"junit.xml": [], "again.xml": []}

    def add(self, name, status="run", output="", file="junit.xml"):
        self.tests[file].append((name, status, output))
        return self

    def again(self, name, status="run", output=""):
        return self.add(name, status, output, "again.xml")

    def unsteady(self, text):
        (self.place / "unsteady.txt").write_text(text)
        self.options += ["--unsteady", str(self.place / "unsteady.txt")]
        return self

    def summary(self, *options):
        for file, tests in self.tests.items():
            suite = xml.Element("testsuite")
            for name, status, output in tests:
                case = xml.SubElement(suite, "testcase", name=name, status=status)
                if status == "fail":
                    xml.SubElement(case, "failure")
                xml.SubElement(case, "system-out").text = output
            (self.place / file).write_bytes(xml.tostring(suite))
        again = ["--again", str(self.place / "again.xml")] if self.tests["again.xml"] else []
        command = [sys.executable, "-B", SCRIPT, str(self.place / "junit.xml"), *again, *self.options, *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert "Traceback" not in done.stdout, done.stdout
        return done.returncode, done.stdout


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path).add("steady")


def last_line(text):
    return text.splitlines()[-1]


def test_cases_of_a_program__are_counted_one_by_one(run):
    run.add("many", output=ran(("A.one", "OK", ""), ("A.two", "SKIPPED", "")))
    code, text = run.summary()
    assert code == 0 and last_line(text) == "2 passed, 0 failed, 1 skipped"


def test_no_case_that_passed__fails(tmp_path):
    assert Run(tmp_path).summary()[0] == 1


def test_failure__is_shown_again_just_before_the_last_line(run):
    lines = "".join(f"line {i}\n" for i in range(100))
    run.add("many", "fail", ran(("A.one", "OK", "not shown\n"), ("A.two", "FAILED", lines), ("A.three", "OK", "nor this\n")))
    code, text = run.summary()
    assert code == 1 and last_line(text) == "3 passed, 1 failed, 0 skipped"
    assert "=== many: A.two: the last 40 of 102 lines" in text and "line 99\n" in text and "many: A.two: failed\n" in text
    assert "line 60\n" not in text and "not shown" not in text and "nor this" not in text


def test_program_that_crashes__fails_with_the_case_that_it_was_in(run):
    run.add("many", "fail", ran(("A.one", "OK", ""), ("A.two", "", "about to crash\n")))
    code, text = run.summary()
    assert code == 1 and "about to crash" in text and last_line(text) == "2 passed, 1 failed, 0 skipped"


def test_check_outside_ctest__fails_and_shows_its_output(run, tmp_path):
    (tmp_path / "audit").write_text("a mount\n")
    code, text = run.summary("--failed", "audit", str(tmp_path / "audit"))
    assert code == 1 and "=== audit\na mount\n" in text and last_line(text) == "1 passed, 1 failed, 0 skipped"


def test_required_thing_that_is_missing__fails(run, tmp_path):
    (tmp_path / "missing").write_text("docker\tA.one\tno engine\n")
    assert run.summary("--missing", str(tmp_path / "missing"))[0] == 0
    code, text = run.summary("--missing", str(tmp_path / "missing"), "--require", "docker,crun")
    assert code == 1 and "required, but could not be tested: docker" in text


def test_test_that_fails_twice__fails_and_shows_both_outputs(run):
    run.add("start", "fail", "first\n").again("start", "fail", "second\n").unsteady("start is on the list\n")
    code, text = run.summary("--tolerate", "5")
    assert code == 1 and "start: failed twice\n" in text
    assert "first\n--- alone:\nsecond\n" in text


def test_test_that_fails_next_to_others__fails_if_it_is_not_listed(run):
    run.add("start", "fail", "a reason\n").again("start").unsteady("# start is a comment\nother waits too long\n")
    code, text = run.summary()
    assert code == 1 and "start: failed next to other tests, passed alone (not on tests/unsteady.txt)\n" in text
    assert "=== start\na reason\n" in text


@pytest.mark.parametrize("name", ["many", "A.two"])
def test_unsteady_case__passes_and_is_named_if_it_or_its_test_is_listed(run, name):
    run.add("many", "fail", ran(("A.one", "OK", ""), ("A.two", "FAILED", "a reason\n")))
    run.again("many", output=ran(("A.one", "OK", ""), ("A.two", "OK", "")))
    code, text = run.unsteady(f"{name}   waits for time  # since always\n").summary()
    assert code == 0 and last_line(text) == "3 passed, 0 failed, 0 skipped"
    assert "many: A.two: failed next to other tests, passed alone (unsteady: waits for time)" in text
    assert "a reason" in text


def test_list_without_a_reason__is_rejected(run):
    code, text = run.unsteady("start\n").summary()
    assert code == 1 and "start has no reason" in text


def test_unsteady_tests__pass_while_no_more_than_tolerated(run):
    for name in ("start", "stop"):
        run.add(name, "fail").again(name)
    code, text = run.summary("--tolerate", "2")
    assert code == 0 and "stop: failed next to other tests, passed alone (not on tests/unsteady.txt); tolerated" in text
    code, text = run.summary("--tolerate", "1")
    assert code == 1 and "tolerated" not in text and last_line(text) == "1 passed, 2 failed, 0 skipped"


def test_failure_of_the_program_and_of_none_of_its_cases__passes_alone(run):
    run.add("many", "fail", ran(("A.one", "OK", ""))).again("many", output=ran(("A.one", "OK", "")))
    assert run.summary("--tolerate", "1")[0] == 0


def test_case_that_fails_only_alone__fails(run):
    run.add("many", "fail", ran(("A.one", "OK", ""), ("A.two", "FAILED", "")))
    run.again("many", "fail", ran(("A.one", "FAILED", "new\n"), ("A.two", "OK", "")))
    code, text = run.summary("--tolerate", "1")
    assert code == 1 and "many: A.one: passed next to other tests, failed alone (not on tests/unsteady.txt)" in text
    assert last_line(text) == "1 passed, 2 failed, 0 skipped"


def test_cases_that_only_the_second_run_came_to__count(run):
    run.add("many", "fail", ran(("A.one", "", "")))
    run.again("many", "fail", ran(("A.one", "OK", ""), ("A.two", "OK", ""), ("A.three", "FAILED", "")))
    code, text = run.summary("--tolerate", "1")
    assert code == 1 and "many: A.three: failed alone\n" in text and last_line(text) == "3 passed, 1 failed, 0 skipped"
