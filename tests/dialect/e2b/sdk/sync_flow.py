"""A flow through E2B's synchronous Python package: control, commands, files, watching by polls, code."""
import asyncio
import os
import time

from e2b import AsyncSandbox, CommandExitException, NotFoundException, Sandbox, SandboxQuery
from e2b_code_interpreter import Sandbox as Interpreter


def commands(sandbox):
    result = sandbox.commands.run("echo out; echo err >&2")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 0), result
    try:
        sandbox.commands.run("exit 7")
        raise AssertionError("a failing command did not raise")
    except CommandExitException as error:
        assert error.exit_code == 7
    handle = sandbox.commands.run("cat", background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, "line\n")
    for out, _, _ in handle:
        assert out == "line\n"
        break
    assert handle.kill()


def files(sandbox):
    sandbox.files.write("dir/a.txt", "text")
    assert sandbox.files.read("dir/a.txt") == "text"
    assert [entry.name for entry in sandbox.files.list("dir")] == ["a.txt"]
    watcher = sandbox.files.watch_dir("dir")
    sandbox.files.write("dir/b.txt", "more")
    seen = []
    deadline = time.monotonic() + 20
    while not any(event.name == "b.txt" for event in seen) and time.monotonic() < deadline:
        seen += watcher.get_new_events()
        time.sleep(0.05)
    watcher.stop()
    assert any(event.name == "b.txt" for event in seen), seen
    sandbox.files.rename("dir/b.txt", "dir/c.txt")
    sandbox.files.remove("dir/c.txt")
    try:
        sandbox.files.read("dir/c.txt")
        raise AssertionError("a removed file was read")
    except NotFoundException:
        pass


def control(sandbox):
    info = sandbox.get_info()
    assert info.sandbox_id == sandbox.sandbox_id and info.metadata == {"flow": "python"}
    found = Sandbox.list(query=SandboxQuery(metadata={"flow": "python"})).next_items()
    assert sandbox.sandbox_id in [each.sandbox_id for each in found]
    sandbox.set_timeout(240)
    assert Sandbox.connect(sandbox.sandbox_id).is_running()


def interpreter():
    with Interpreter.create(timeout=120) as sandbox:
        sandbox.run_code("x = 1")
        lines = []
        execution = sandbox.run_code("print('p')\nx + 1", on_stdout=lambda message: lines.append(message.line))
        assert execution.text == "2" and lines == ["p\n"], (execution, lines)
        assert sandbox.run_code("1/0").error.name == "ZeroDivisionError"


async def asynchronous():
    sandbox = await AsyncSandbox.create(timeout=120)
    try:
        results = await asyncio.gather(*(sandbox.commands.run(f"echo {i}") for i in range(8)))
        assert [result.stdout for result in results] == [f"{i}\n" for i in range(8)]
    finally:
        assert await sandbox.kill()


sandbox = Sandbox.create(timeout=120, metadata={"flow": "python"})
try:
    commands(sandbox)
    files(sandbox)
    control(sandbox)
finally:
    assert sandbox.kill()
assert not sandbox.is_running()
interpreter()
asyncio.run(asynchronous())
print("all of it worked", flush=True)
# The package leaves threads behind, and one that is busy while the interpreter ends can crash it.
os._exit(0)
