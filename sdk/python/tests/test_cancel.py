"""Who leaves a call takes its work along: the program in the sandbox is gone, not just the answer."""
import asyncio
import os
import signal
import threading
import time

import pytest
from support import eventually, run_async

import cloche
import cloche.aio

ENDLESS = "import time\nopen('began', 'w').close()\nprint('began', flush=True)\nwhile True: time.sleep(1)"


def began(sandbox):
    return eventually(lambda: sandbox.glob("began"))


def assert_cancelled(sandbox):
    def still_running():
        return [each for each in sandbox.client.runs(sandbox.session_id) if each.running]
    assert eventually(lambda: not still_running()), still_running()
    # A run of its own sees the process itself go.
    alive = "for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = python3 ] && echo $p; done; true"
    assert eventually(lambda: sandbox.bash(alive).stdout == ""), sandbox.bash(alive).stdout


def test_deadline_of_a_call_ends_its_program(sandbox):
    sandbox.start()
    with pytest.raises(cloche.SandboxTimeoutError):
        sandbox.run(ENDLESS, deadline=1.5)
    assert sandbox.glob("began")
    assert_cancelled(sandbox)


def test_interrupt_of_a_call_ends_its_program(server, sandbox):
    def interrupt():
        began(sandbox)
        os.kill(os.getpid(), signal.SIGINT)
    sandbox.start()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        sandbox.run(ENDLESS)
    thread.join()
    assert_cancelled(sandbox)
    assert sandbox.run("print('goes on')").stdout == "goes on\n"


def test_interrupt_of_a_stream_ends_its_program(sandbox):
    with pytest.raises(KeyboardInterrupt):
        for event in sandbox.stream(ENDLESS):
            if event.kind == "stdout":
                raise KeyboardInterrupt
    assert_cancelled(sandbox)


def test_stream_that_is_left_ends_its_program_at_once(sandbox):
    started = time.monotonic()
    for event in sandbox.stream(ENDLESS):
        if event.kind == "stdout":
            break
    assert_cancelled(sandbox)
    assert time.monotonic() - started < 20  # the service's own patience is 30 s


def test_terminal_that_is_closed_ends_its_program(sandbox):
    with sandbox.terminal("python3 -c 'import time; print(1, flush=True); time.sleep(600)'") as terminal:
        terminal.read_until("1")
    assert_cancelled(sandbox)


def test_context_call_that_is_left_is_interrupted(sandbox):
    sandbox.run("x = 1", context="c")
    with pytest.raises(cloche.SandboxTimeoutError):
        sandbox.run("import time; time.sleep(600)", context="c", deadline=1)
    assert sandbox.run("x", context="c", timeout=30).value == "1"


def test_background_run_outlives_its_client(server):
    with server.sandbox("outlives", keep=True) as sandbox:
        run_id = sandbox.background(ENDLESS).run_id
    with server.sandbox("outlives") as sandbox:
        run = sandbox.client.run("outlives", run_id)
        assert began(sandbox) and run.poll() is None
        run.stop()
        assert_cancelled(sandbox)


def test_task_that_is_cancelled_ends_its_program(server, sandbox):
    async def work():
        async with cloche.aio.Client(server.url) as client:
            task = asyncio.ensure_future(client.execute(ENDLESS, session_id=sandbox.session_id))
            while not await client.glob("began", session_id=sandbox.session_id):
                await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    sandbox.start()
    run_async(work())
    assert_cancelled(sandbox)


def test_stream_whose_task_is_cancelled_ends_its_program(server, sandbox):
    async def follow(client, seen):
        async for event in client.stream(ENDLESS, session_id=sandbox.session_id):
            if event.kind == "stdout":
                seen.set()

    async def work():
        async with cloche.aio.Client(server.url) as client:
            seen = asyncio.Event()
            task = asyncio.ensure_future(follow(client, seen))
            await seen.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not [each for each in await client.runs(sandbox.session_id) if each.running]
    sandbox.start()
    run_async(work())
    assert_cancelled(sandbox)


def test_timeout_of_asyncio_ends_its_program(server, sandbox):
    async def work():
        async with cloche.aio.Client(server.url) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.execute(ENDLESS, session_id=sandbox.session_id), 1.5)
    sandbox.start()
    run_async(work())
    assert_cancelled(sandbox)
