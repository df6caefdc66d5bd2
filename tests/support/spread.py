"""Run the cases of a pytest file in several processes at once, for suites whose cases mostly wait.

Usage: spread.py WORKERS PYTEST-ARGUMENT...

Every process collects all cases, and each case runs in the process that claims it first. What a process does not share
with others (fixtures of a module, such as a server) exists once in each of them. The run fails if one of the processes
fails, or if a case was not run to its end.
"""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

CLAIMS = "CLOCHE_SPREAD_CLAIMS"


def pytest_collection_finish(session):
    pathlib.Path(os.environ[CLAIMS], f"collected.{os.getpid()}").write_text(
        "".join(item.nodeid + "\n" for item in session.items), encoding="utf-8")


def claimed(items):
    """The cases that this process has claimed, with their numbers. Each is claimed when it is asked for."""
    for number, item in enumerate(items):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(os.path.join(os.environ[CLAIMS], f"case.{number}"), os.O_CREAT | os.O_EXCL))
            yield number, item


def pytest_runtestloop(session):
    """Instead of pytest's own loop. pytest must know the next case to tear down what only the last one needed."""
    if session.testsfailed:
        raise session.Interrupted("errors during collection")
    mine = claimed(session.items)
    number, item = next(mine, (0, None))
    while item is not None:
        next_number, following = next(mine, (0, None))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        pathlib.Path(os.environ[CLAIMS], f"ran.{number}").touch()
        number, item = next_number, following
    return True


def run(workers, arguments):
    with tempfile.TemporaryDirectory(prefix="cloche-spread.") as claims:
        here = str(pathlib.Path(__file__).resolve().parent)
        paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, CLAIMS: claims, "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "spread", *arguments]
        started = [subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT) for _ in range(workers)]
        codes = []
        for process in started:
            sys.stdout.buffer.write(process.communicate()[0])
            sys.stdout.buffer.flush()
            codes.append(process.returncode)
        return 1 if any(codes) or not is_complete(pathlib.Path(claims)) else 0


def is_complete(claims):
    """Whether all processes found the same cases, and each case was run to its end."""
    collected = {file.read_text(encoding="utf-8") for file in claims.glob("collected.*")}
    counts = [len(cases.splitlines()) for cases in collected]
    ran = len(list(claims.glob("ran.*")))
    print(f"{ran} cases of {' or '.join(map(str, counts))} ran to their end")
    return counts == [ran] and ran > 0


if __name__ == "__main__":
    sys.exit(run(int(sys.argv[1]), sys.argv[2:]))
