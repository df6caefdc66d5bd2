"""Runs in sessions: at once, followed, in the background, in a context, on a terminal."""
import pytest
from support import eventually, run_async

import cloche
import cloche.aio


def test_program_that_succeeds(sandbox):
    result = sandbox.run("print(6 * 7)")
    assert (result.stdout, result.stderr, result.exit_code, result.ok) == ("42\n", "", 0, True)
    assert (result.category, result.cause, result.truncated) == ("success", "none", False)
    assert result.execution_time > 0 and result.memory_peak > 0 and result.session_id == sandbox.session_id
    assert result.check() is result


def test_program_that_fails_is_a_result_and_check_raises_it(sandbox):
    result = sandbox.run("import sys; print('no', file=sys.stderr); sys.exit(3)")
    assert (result.ok, result.exit_code, result.category, result.cause) == (False, 3, "runtime_error", "exit_code")
    with pytest.raises(cloche.ProgramError, match="runtime_error") as caught:
        result.check()
    assert caught.value.result is result


def test_program_that_takes_too_long(sandbox):
    result = sandbox.run("while True: pass", timeout=0.5)
    assert (result.category, result.cause) == ("timeout", "wall")


def test_stdin_env_files_and_work_dir(sandbox):
    result = sandbox.bash("cat; echo $COLOUR; cat data; pwd", stdin="typed\n", env={"COLOUR": "blue"},
                          files={"sub/data": b"\xc3\xa9\n"}, work_dir="sub")
    assert result.stdout == "typed\nblue\n\u00e9\n/workspace/sub\n"


def test_output_that_is_not_utf8_is_there_as_bytes(sandbox):
    result = sandbox.bash(r"printf '\377\n'")
    assert result.stdout_bytes == b"\xff\n" and result.stdout == "\ufffd\n"


def test_other_language(sandbox):
    assert sandbox.run("echo $((6 * 7))", "bash").stdout == "42\n"
    with pytest.raises(cloche.SandboxArgumentError) as caught:
        sandbox.run("x", "klingon")
    assert caught.value.status == 400 and caught.value.request_id


def test_compiler_that_complains(server, sandbox):
    result = sandbox.run("int main() { return nothing; }", "c")
    if server.backend == "docker":  # whose image has no compiler
        assert (result.category, result.cause) == ("system_error", "not_started")
        return
    assert result.category == "compilation_error" and "nothing" in result.compile.stderr
    assert sandbox.run('#include <stdio.h>\nint main() { puts("hi"); }', "c").stdout == "hi\n"


def test_context_keeps_variables(sandbox):
    assert sandbox.run("x = 20", context="a").fresh is not None
    assert sandbox.run("x + 1", context="a").value == "21"
    failed = sandbox.run("1 / 0", context="a")
    assert failed.error.name == "ZeroDivisionError" and not failed.ok
    assert [each.name for each in sandbox.client.contexts(sandbox.session_id)] == ["a"]
    sandbox.client.restart_context(sandbox.session_id, "a")
    assert sandbox.run("x", context="a").error.name == "NameError"
    sandbox.client.close_context(sandbox.session_id, "a")
    sandbox.bash("cd /tmp", context="shell")
    assert sandbox.bash("pwd", context="shell").stdout == "/tmp\n"


def test_artifacts_are_read_and_saved(sandbox, tmp_path):
    result = sandbox.run("import os; os.mkdir('out'); open('out/a.bin', 'wb').write(bytes(range(256)))")
    (artifact,) = result.artifacts
    assert (artifact.path, artifact.name, artifact.size) == ("out/a.bin", "a.bin", 256)
    assert artifact.read() == bytes(range(256))
    sandbox.bash("echo later > b.txt")
    assert sorted(each.path for each in sandbox.artifacts(save_to=tmp_path)) == ["b.txt", "out/a.bin"]
    assert (tmp_path / "out" / "a.bin").read_bytes() == bytes(range(256))
    assert (tmp_path / "b.txt").read_text() == "later\n"


# Followed

def test_events_come_while_it_runs(sandbox):
    with sandbox.stream("echo one; read -r _ < <(sleep 0.2); echo two >&2; echo x > made", "bash") as stream:
        got = list(stream)
    assert got[0].kind == "run" and got[-1].kind == "result"
    assert "".join(event.text for event in got if event.kind == "stdout") == "one\n"
    assert "".join(event.text for event in got if event.kind == "stderr") == "two\n"
    assert [event.artifact.read() for event in got if event.kind == "artifact"] == [b"x\n"]
    result = got[-1].result
    assert (result.ok, result.stdout, result.stderr, result.run_id) == (True, "one\n", "two\n", stream.run_id)


def test_output_is_there_before_the_end(sandbox):
    code = ("import os, time\nprint('first', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
            "print('last')")
    with sandbox.stream(code) as stream:
        seen = ""
        for event in stream:
            if event.kind == "stdout":
                seen += event.text
            if seen == "first\n":
                sandbox.write("go", "")
        assert seen == "first\nlast\n" and stream.result.ok


def test_language_that_there_is_not_is_raised_by_stream(sandbox):
    with pytest.raises(cloche.SandboxArgumentError):
        sandbox.stream("x", "klingon")


# In the background

def test_background_run_is_read_waited_for_and_followed(sandbox):
    run = sandbox.background("echo one; while [ ! -e go ]; do sleep 0.05; done; echo two", "bash")
    assert run.poll() is None and run.info().running
    first = eventually(lambda: run.read().data and run.read())
    assert first.text == "one\n" and first.running
    with pytest.raises(cloche.SandboxTimeoutError):
        run.wait(0.2)
    sandbox.write("go", "")
    assert run.wait(20).stdout == "one\ntwo\n" and run.poll().ok
    assert run.read(first.next_offset).text == "two\n"
    again = sandbox.client.run(sandbox.session_id, run.run_id)
    assert next(again.events()).kind == "run"
    assert again.events().until_end().stdout == "one\ntwo\n"
    assert [each.run_id for each in sandbox.client.runs(sandbox.session_id) if each.background] == [run.run_id]


def test_background_run_is_signalled_and_stopped(sandbox):
    run = sandbox.background("trap 'echo told; exit 7' TERM; echo ready; while :; do sleep 0.05; done", "bash")
    assert eventually(lambda: run.read().data)
    run.signal("TERM")
    assert (run.wait(20).exit_code, run.wait().stdout) == (7, "ready\ntold\n")
    other = sandbox.background("import time; time.sleep(600)")
    other.stop()
    other.stop()
    with pytest.raises(cloche.SandboxNotFoundError):
        other.poll()


# On a terminal

def test_terminal_is_typed_on_resized_and_ended(sandbox):
    with sandbox.terminal(rows=30, cols=100) as terminal:
        terminal.write("stty size\n")
        assert b"30 100" in terminal.read_until("30 100")
        terminal.resize(40, 120)
        terminal.write("stty size\n")
        assert b"40 120" in terminal.read_until("40 120")
        with pytest.raises(cloche.SandboxTimeoutError):
            terminal.read_until("never", timeout=0.3)
        terminal.write("exit 3\n")
        assert terminal.wait(20).exit_code == 3


def test_terminal_of_a_command_ends_by_a_signal(sandbox):
    with sandbox.terminal("echo ready; exec sleep 600") as terminal:
        terminal.read_until("ready")
        terminal.signal("KILL")
        assert terminal.wait(20).signal == 9
        with pytest.raises(cloche.SandboxLostError):
            terminal.write("more")


def test_terminal_that_is_refused_is_an_error(client, sandbox):
    with pytest.raises(cloche.SandboxArgumentError):
        sandbox.terminal(rows=0)


# On asyncio

def test_the_same_on_asyncio(server, tmp_path):
    async def work():
        async with cloche.aio.Client(server.url) as client, cloche.aio.Sandbox(client) as sandbox:
            async with sandbox.stream("print('one'); open('a', 'w').write('x')") as stream:
                kinds = [event.kind async for event in stream]
                assert list(dict.fromkeys(kinds)) == ["run", "stdout", "artifact", "result"]
            result = await sandbox.run("echo two > b", "bash")
            assert await result.artifacts[0].read() == b"two\n"
            await sandbox.artifacts(save_to=tmp_path)
            assert (tmp_path / "b").read_text() == "two\n"
            run = await sandbox.background("echo three", "bash")
            assert (await run.wait(20)).stdout == "three\n" and (await run.read()).text == "three\n"
            assert (await run.events().until_end()).stdout == "three\n"
            async with sandbox.terminal() as terminal:
                await terminal.write("exit 4\n")
                assert (await terminal.wait(20)).exit_code == 4
            with pytest.raises(cloche.SandboxArgumentError):
                async for _ in sandbox.stream("x", "klingon"):
                    pass
            assert (await sandbox.run("x = 1", context="c")).ok
        async with cloche.aio.Client(server.url) as client:
            assert not [each for each in await client.sessions() if each.session_id == sandbox.session_id]
    run_async(work())
