#!/usr/bin/python3
"""Runs what README.md shows, word for word, and compares what is printed with what it shows.

Usage: readme_test.py CLOCHE REPOSITORY

Of the fenced `console` blocks those are run that show some output. `$ ` begins a command, `> ` goes on with it, and the
rest is what it prints. `build/cloche serve` stays in the background for the blocks that follow; only its host and port
are exchanged, in commands and in what they print, since others may use the README's.
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))
from openapi_server import Server, skip_without_crun  # noqa: E402

TEST = "readme"
CONFIG = """
server: {listen: ["127.0.0.1:0"]}
log: {level: warn}
"""
ADDRESS = "127.0.0.1:8080"
SERVE = "build/cloche serve"


def commands_of(block):
    """Pairs of a command and what it prints."""
    commands = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append([line[2:], ""])
        elif line.startswith("> ") and not commands[-1][1]:
            commands[-1][0] += "\n" + line[2:]
        else:
            commands[-1][1] += line + "\n"
    return commands


def blocks_of(text):
    blocks = [commands_of(block) for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]
    return [block for block in blocks if any(printed for _, printed in block)]


def check(command, wanted, server, address):
    command, wanted = command.replace(ADDRESS, address), wanted.replace(ADDRESS, address)
    ran = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=server.scratch, env=server.environment,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    # Where an answer does not end with a line end, the README has one all the same.
    printed = ran.stdout if not ran.stdout or ran.stdout.endswith("\n") else ran.stdout + "\n"
    if ran.returncode == 0 and printed == wanted:
        return True
    print(f"$ {command}\nREADME.md shows:\n{wanted}it prints, with exit code {ran.returncode}:\n{printed}{ran.stderr}")
    return False


def main():
    program, repository = sys.argv[1], pathlib.Path(sys.argv[2])
    blocks = blocks_of((repository / "README.md").read_text(encoding="utf-8"))
    serves = [wanted for block in blocks for command, wanted in block if command == SERVE]
    assert serves == [f"cloche: listening on http://{ADDRESS}\n"], f"README.md starts the service otherwise: {serves}"
    skip_without_crun(TEST)
    server = Server(CONFIG, ["bash", "-c", "exec " + SERVE])
    # What the commands expect to find in a checkout.
    (server.scratch / "build").mkdir()
    (server.scratch / "build/cloche").symlink_to(program)
    (server.scratch / "examples").symlink_to(repository / "examples")
    with server:
        address = server.printed[-1].removeprefix("cloche: listening on http://")
        results = [check(command, wanted, server, address)
                   for block in blocks for command, wanted in block if command != SERVE]
    print(f"{sum(results)} of {len(results)} commands print what README.md shows")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
