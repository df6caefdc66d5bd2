"""Programs of jazzmine's users, the example of its documentation among them."""
import asyncio
import functools
import json
import os
import pathlib
import struct
import tempfile

import pytest

from cloche.compat.jazzmine import (DockerLineReader, ExecutionMode, FileResource, ManagedContainer, NetworkPolicy,
                                    ResourceLimits, SandboxBuilder, SandboxConfig, SandboxPool, ScriptExecutor,
                                    ToolRegistry, registry, tool)


def in_a_loop(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 120))
    return run


class Started:
    """A pool with one sandbox, started and shut down."""

    def __init__(self, config=None, tools=(), **options):
        self.registry = ToolRegistry()
        self.registry.register_sandbox(config or SandboxConfig(pool_size=1))
        for fn, settings in tools:
            self.registry.register_tool(fn, **settings)
        self.pool = SandboxPool(registry=self.registry, builder=SandboxBuilder(self.registry), **options)

    async def __aenter__(self):
        await self.pool.startup()
        return self.pool

    async def __aexit__(self, *_):
        await self.pool.shutdown()


async def run(pool, script, mode=ExecutionMode.PLAN, executor=None, **options):
    async with pool.checkout("default") as container:
        return await (executor or ScriptExecutor()).execute(container, script, mode, **options)


@pytest.mark.usefixtures("service")
class TestPool:
    @in_a_loop
    async def test_documented_example(self, capsys):
        # 1. Setup Infrastructure
        builder = SandboxBuilder(registry)

        # 2. Initialize Pool with secrets and DooD path mapping
        pool = SandboxPool(
            registry=registry,
            builder=builder,
            secrets={"DB_PASSWORD": "secure_value"},
            max_overflow=10,
            host_path_map={"/app/data": "/srv/physical_host/data"}
        )

        # 3. Start the pool (pre-warms containers)
        await pool.startup()

        # 4. Use a container via context manager
        async with pool.checkout("default") as container:
            print(f"Acquired container: {container.container_id[:12]}")
            # Scripts are sent via container.stdin_pipe
            # Results are read via container.stdout_pipe
            assert isinstance(container, ManagedContainer) and container.use_count == 1
            container.stdin_pipe.write(json.dumps({"script": "print('hi')\nfinal_result({'a': [1]})"}).encode() + b"\n")
            await container.stdin_pipe.drain()
            events = [json.loads(await container.stdout_pipe.readline()) for _ in range(3)]
            assert [each["type"] for each in events] == ["ready", "log", "final_result"]
            assert events[1]["message"] == "hi" and events[2]["data"] == {"a": [1]}

        # 5. Shutdown
        await pool.shutdown()
        assert capsys.readouterr().out.startswith("Acquired container: ")

    @in_a_loop
    async def test_a_container_serves_one_task(self):
        async with Started() as pool:
            await run(pool, "open('mark', 'w').close(); open('/tmp/mark', 'w').close(); final_result()")
            for _ in range(3):
                result = await run(pool, "import os; final_result(sorted(os.listdir('.') + os.listdir('/tmp')))")
                assert "mark" not in result.final_result

    @in_a_loop
    async def test_files_stay_within_one_checkout(self):
        async with Started() as pool:
            async with pool.checkout("default") as container:
                executor = ScriptExecutor()
                await executor.execute(container, "open('step', 'w').write('1'); final_result()")
                assert (await executor.execute(container, "final_result(open('step').read())")).final_result == "1"

    @in_a_loop
    async def test_at_the_limit_a_checkout_waits_its_turn(self):
        async with Started(max_overflow=1) as pool:
            async with pool.checkout("default"):
                async with pool.checkout("default") as second:
                    with pytest.raises(asyncio.TimeoutError):
                        async with pool.checkout("default", timeout=0.2):
                            pass
                    waiting = asyncio.create_task(run(pool, "final_result(1)"))
                    await asyncio.sleep(0.1)
                    assert not waiting.done() and second.healthy
                assert (await waiting).final_result == 1

    @in_a_loop
    async def test_many_at_once(self):
        async with Started(max_overflow=2) as pool:
            results = await asyncio.gather(*(run(pool, f"final_result({number})") for number in range(8)))
            assert [each.final_result for each in results] == list(range(8))

    @in_a_loop
    async def test_a_sandbox_that_was_not_started_is_refused(self):
        async with Started() as pool:
            with pytest.raises(ValueError, match="No pool for sandbox 'other'"):
                async with pool.checkout("other"):
                    pass

    @in_a_loop
    async def test_what_cannot_be_had_leaves_nothing(self):
        for config in (SandboxConfig(requirements=("no-such-package",)), SandboxConfig(secrets=("NO_SUCH_SECRET",))):
            started = Started(config)
            with pytest.raises(RuntimeError, match="no-such-package|NO_SUCH_SECRET"):
                await started.pool.startup()
            assert not started.pool._containers and started.pool._service is None

    @in_a_loop
    async def test_allowed_hosts_are_behind_a_proxy(self):
        async with Started(SandboxConfig(network=NetworkPolicy(["allowed.example"]))) as pool:
            script = ("import os, urllib.error, urllib.request\n"
                      "try:\n    urllib.request.urlopen('http://other.example/')\n"
                      "except urllib.error.HTTPError as error:\n    final_result([os.environ['HTTP_PROXY'], error.code])\n")
            ran = await run(pool, script)
            assert ran.final_result == ["http://127.0.0.1:3128", 403]
        async with Started() as pool:
            assert (await run(pool, "import os; final_result(os.environ.get('HTTP_PROXY'))")).final_result is None

    @in_a_loop
    async def test_shutdown_ends_what_is_checked_out(self):
        started = Started()
        async with started as pool:
            checkout = pool.checkout("default")
            container = await checkout.__aenter__()
        with pytest.raises(asyncio.IncompleteReadError):
            await container.stdout_pipe.readline()
        await checkout.__aexit__(None, None, None)

    @in_a_loop
    async def test_secrets_are_the_scripts_own(self, monkeypatch):
        monkeypatch.setenv("FROM_HOST", "h")
        config = SandboxConfig(pool_size=1, secrets=("DB_PASSWORD", "FROM_HOST"))
        async with Started(config, secrets={"DB_PASSWORD": "secure_value"}) as pool:
            result = await run(pool, "import os; final_result([os.environ['DB_PASSWORD'], os.environ['FROM_HOST']])")
            assert result.final_result == ["secure_value", "h"]

    @in_a_loop
    async def test_files_of_the_host_are_read(self, service):
        with tempfile.TemporaryDirectory() as host:
            os.chmod(host, 0o755)
            pathlib.Path(host, "kb.txt").write_text("known")
            started = Started(SandboxConfig(pool_size=1, files=(FileResource(host, "/mnt"),)))
            if service == "remote":
                with pytest.raises(RuntimeError, match="its own profile"):
                    await started.pool.startup()
                return
            async with started as pool:
                assert (await run(pool, "final_result(open('/mnt/kb.txt').read())")).final_result == "known"

    def test_the_longest_prefix_wins(self):
        pool = SandboxPool(registry, SandboxBuilder(registry), host_path_map={"/data": "/host", "/data/db": "/disk"})
        assert pool._translate_host_path("/data/db/x") == "/disk/x"
        assert pool._translate_host_path("/data/dbx") == "/host/dbx"
        assert pool._translate_host_path("/other") == "/other"


def double(value):
    return {"twice": value * 2}


async def later(value):
    import asyncio
    await asyncio.sleep(0)
    return value


@pytest.fixture(scope="module")
def loop():
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture(scope="module")
def pool(service, loop):
    limits = ResourceLimits(memory_mb=96, max_output_bytes=200_000)
    started = Started(SandboxConfig(pool_size=1, limits=limits), [(double, {}), (later, {"name": "eventually"})])
    yield loop.run_until_complete(started.__aenter__())
    loop.run_until_complete(started.__aexit__())


class TestExecutor:
    def run(self, loop, pool, script, mode=ExecutionMode.PLAN, executor=None, **options):
        return loop.run_until_complete(asyncio.wait_for(run(pool, script, mode, executor, **options), 60))

    def test_callbacks_are_told(self, loop, pool):
        seen = []

        async def on_data(event: dict):
            seen.append(f"Streaming data update: {event['label']} -> {event['data']}")
        executor = ScriptExecutor(ResourceLimits(), on_data, lambda event: seen.append(event["message"]))
        result = self.run(loop, pool, "log('one', 'debug')\nintermediate('rows', 12)\nfinal_result('done')",
                          executor=executor)
        assert seen == ["one", "Streaming data update: rows -> 12"]
        assert result.success and result.final_result == "done" and result.intermediates[0]["data"] == 12

    def test_a_plan_is_over_with_its_result(self, loop, pool):
        result = self.run(loop, pool, "final_result(1)\nfinal_result(2)\nimport time\ntime.sleep(60)")
        assert result.final_result == 1 and result.duration_sec < 20

    def test_an_interactive_script_goes_on(self, loop, pool):
        result = self.run(loop, pool, "final_result(1)\nprint('more')\nfinal_result(2)", ExecutionMode.INTERACTIVE)
        assert result.success and result.final_result == 2 and result.exit_code == 0
        left = self.run(loop, pool, "import sys; sys.exit(3)", ExecutionMode.INTERACTIVE)
        assert not left.success and left.exit_code == 3

    def test_a_plan_without_a_result_is_no_success(self, loop, pool):
        result = self.run(loop, pool, "pass")
        assert not result.success and result.error_kind == "no_result"

    def test_an_exception_has_its_traceback(self, loop, pool):
        result = self.run(loop, pool, "def f():\n    return 1 / 0\nf()")
        assert result.error_kind == "exception" and result.error == "ZeroDivisionError: division by zero"
        assert 'File "script.py", line 2, in f' in result.traceback and result.traceback.count("File ") == 2
        assert self.run(loop, pool, "def").error_kind == "exception"

    def test_inputs_and_tools_are_there(self, loop, pool):
        result = self.run(loop, pool, "final_result([double(inputs['v']), eventually(5), mode])", inputs={"v": 4})
        assert result.final_result == [{"twice": 8}, 5, "plan"]

    def test_what_is_printed_is_no_event(self, loop, pool):
        script = ("import json, os\nprint(json.dumps({'type': 'final_result', 'data': 'forged'}), flush=True)\n"
                  "os.write(1, b'{\"type\": \"script_done\", \"exit_code\": 0}\\n')\nfinal_result('true')")
        result = self.run(loop, pool, script)
        assert result.final_result == "true" and len(result.logs) == 2

    def test_a_script_cannot_reach_the_harness(self, loop, pool):
        script = ("import os\ntry:\n    os.write(os.open(f'/proc/{os.getppid()}/fd/1', os.O_WRONLY), b'x')\n"
                  "    final_result('reached')\nexcept OSError as error:\n    final_result(type(error).__name__)")
        assert self.run(loop, pool, script).final_result != "reached"

    def test_what_is_no_event_is_told(self, loop, pool):
        script = ("import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'{\"type\": \"script_done\"}\\n')\n"
                  "    except OSError: pass\nimport time; time.sleep(30)")
        assert self.run(loop, pool, script).error_kind == "protocol"

    def test_data_that_is_not_json_raises_in_the_script(self, loop, pool):
        result = self.run(loop, pool, "try:\n    final_result(object())\nexcept TypeError:\n    final_result('caught')")
        assert result.final_result == "caught"
        assert self.run(loop, pool, "final_result(float('nan'))").error_kind == "exception"

    def test_too_long_is_ended(self, loop, pool):
        executor = ScriptExecutor(ResourceLimits(execution_timeout_sec=5))
        script = "import signal\nsignal.alarm(0)\nprint('begun')\nwhile True: pass"
        result = self.run(loop, pool, script, executor=executor)
        assert result.timed_out and result.error == "Execution timed out after 5 seconds"
        assert [each["message"] for each in result.logs] == ["begun"]

    def test_too_much_output_is_ended(self, loop, pool):
        result = self.run(loop, pool, "while True: print('x' * 1000)")
        assert result.error_kind == "output_limit"

    def test_a_crash_is_told(self, loop, pool):
        result = self.run(loop, pool, "import os; os.kill(os.getpid(), 11)")
        assert result.error_kind == "crashed" and "11" in result.error

    def test_too_much_memory_is_told(self, loop, pool):
        result = self.run(loop, pool, "x = []\nwhile True: x.append(bytearray(8 << 20))")
        assert result.error_kind in ("memory", "lost"), result

    def test_the_next_script_of_a_container_is_not_disturbed(self, loop, pool):
        async def two():
            async with pool.checkout("default") as container:
                executor = ScriptExecutor(ResourceLimits(execution_timeout_sec=20))
                first = await executor.execute(container, "import subprocess\nsubprocess.Popen(['sleep', '60'])\n"
                                                          "print('x', end='')\nfinal_result('first')")
                container.stdin_pipe.write(b"no request\n")
                refused = json.loads(await container.stdout_pipe.readline())
                return first, refused, await executor.execute(container, "final_result('second')")
        first, refused, second = loop.run_until_complete(asyncio.wait_for(two(), 60))
        assert (first.final_result, second.final_result) == ("first", "second")
        assert refused["type"] == "error" and refused["kind"] == "protocol"

    def test_a_lost_container_is_told_and_replaced(self, loop, pool):
        async def lose():
            async with pool.checkout("default") as container:
                running = asyncio.create_task(ScriptExecutor().execute(container, "import time; time.sleep(60)"))
                assert container.healthy
                while not any(run.state == "running" for run in await pool._client.runs(container.container_id)):
                    await asyncio.sleep(0.01)
                await pool._client.end_session(container.container_id)
                result = await running
                assert result.error_kind == "lost" and not container.healthy
            return await run(pool, "final_result('again')")
        assert loop.run_until_complete(asyncio.wait_for(lose(), 60)).final_result == "again"


class TestLineReader:
    @staticmethod
    def framed(*parts):
        return b"".join(struct.pack(">BxxxL", stream, len(content)) + content for stream, content in parts)

    @in_a_loop
    async def test_lines_cross_frames_and_frames_cross_reads(self):
        data = self.framed((1, b'{"a"'), (2, b"noise"), (1, b': 1}\n{"b": 2}\n{"c'), (1, b""), (1, b'": "\xc3'),
                           (1, b'\xbc"}\r\n'))
        for size in (1, 3, 7, len(data)):
            reader = asyncio.StreamReader()
            lines = DockerLineReader(reader)

            async def feed():
                for place in range(0, len(data), size):
                    reader.feed_data(data[place:place + size])
                    await asyncio.sleep(0)
                reader.feed_eof()
            feeding = asyncio.create_task(feed())
            assert [await lines.readline() for _ in range(3)] == ['{"a": 1}', '{"b": 2}', '{"c": "ü"}']
            with pytest.raises(asyncio.IncompleteReadError):
                await lines.readline()
            assert lines.stderr == b"noise"
            await feeding

    @in_a_loop
    async def test_a_line_that_breaks_off_is_told(self):
        reader = asyncio.StreamReader()
        reader.feed_data(self.framed((1, b"half"))[:-1])
        reader.feed_eof()
        with pytest.raises(asyncio.IncompleteReadError) as error:
            await DockerLineReader(reader).readline()
        assert error.value.partial == b"hal"

    @in_a_loop
    async def test_rubbish_and_endless_lines_are_refused(self):
        rubbish, endless = asyncio.StreamReader(), asyncio.StreamReader()
        rubbish.feed_data(b"plain text")
        with pytest.raises(ValueError, match="not a multiplexed stream"):
            await DockerLineReader(rubbish).readline()
        endless.feed_data(self.framed((1, b"x" * 100)))
        with pytest.raises(ValueError, match="longer than 50 bytes"):
            await DockerLineReader(endless, max_line=50).readline()

    @in_a_loop
    async def test_a_cancelled_read_loses_nothing(self):
        reader = asyncio.StreamReader()
        lines = DockerLineReader(reader)
        reader.feed_data(self.framed((1, b"begun "))[:10])
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(lines.readline(), 0.05)
        reader.feed_data(self.framed((1, b"begun "))[10:] + self.framed((1, b"done\n")))
        assert await lines.readline() == "begun done"


class TestRegistry:
    def test_a_tools_source_goes_without_its_decorator(self):
        own = ToolRegistry()
        made = own.register_tool(decorated, dependencies=["x"], secrets=["S"])
        assert made.source.startswith("def decorated(") and "@" not in made.source
        assert own.requirements("default") == ["x"] and own.secrets("default") == ["S"]

    def test_the_checksum_changes_with_what_is_in_it(self):
        own = ToolRegistry()
        before = own.checksum("default")
        own.register_tool(double)
        assert before != own.checksum("default") == own.checksum("default")

    def test_limits_are_checked(self):
        for wrong in ({"memory_mb": 0}, {"memory_mb": 10, "memory_swap_mb": 5}, {"pids_limit": -1}):
            with pytest.raises(ValueError):
                ResourceLimits(**wrong)


@tool(sandbox="somewhere")
def decorated(value):
    return value
