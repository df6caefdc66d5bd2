"""Programs of OpenManus' users, the examples of its documentation among them."""
import asyncio
import functools
import os
import pathlib
import tempfile
import time

import pytest
from support import need_backend

from cloche.compat.openmanus import (SANDBOX_CLIENT, AsyncDockerizedTerminal, BaseSandboxClient, DockerSandbox,
                                     LocalSandboxClient, SandboxError, SandboxManager, SandboxResourceError,
                                     SandboxSettings, SandboxTimeoutError, create_sandbox_client)


def in_a_loop(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 120))
    return run


pytestmark = pytest.mark.usefixtures("service")


class TestDocumentedExamples:
    @in_a_loop
    async def test_secure_code_execution(self):
        config = SandboxSettings(
            image="python:3.12-slim",
            memory_limit="512m",
            cpu_limit=0.5,
            timeout=300,
            network_enabled=False
        )
        manager = SandboxManager()
        sandbox_id = await manager.create_sandbox(config)
        sandbox = await manager.get_sandbox(sandbox_id)
        result = await sandbox.run_command("python3 -c 'print(\"Hello from sandbox!\")'")
        await manager.delete_sandbox(sandbox_id)
        assert result == "Hello from sandbox!"
        with pytest.raises(KeyError, match=f"Sandbox {sandbox_id} not found"):
            await manager.get_sandbox(sandbox_id)
        await manager.cleanup()

    @in_a_loop
    async def test_file_transfer_workflow(self, tmp_path):
        local_file, output_file = tmp_path / "input.txt", tmp_path / "results" / "output.txt"
        client = create_sandbox_client()
        await client.create()
        try:
            await client.write_file("process.py", "open('output.txt', 'w').write(open('input.txt').read().upper())")
            # Write local file and copy to container
            local_file.write_text("Input data")
            await client.copy_to(str(local_file), "/workspace/input.txt")

            # Process file in container
            await client.run_command("python3 process.py")

            # Copy results back to host
            await client.copy_from("/workspace/output.txt", str(output_file))
        finally:
            await client.cleanup()
        assert output_file.read_text() == "INPUT DATA"

    @in_a_loop
    async def test_resource_limitation_scenario(self, capsys):
        config = SandboxSettings(
            image="python:3.12-slim",
            memory_limit="256m",
            cpu_limit=0.25,
            timeout=60
        )
        client = LocalSandboxClient()
        await client.create(config)
        await client.write_file("memory_test.py", "while True: pass")
        # Execute memory-intensive operation
        try:
            result = await client.run_command("python3 memory_test.py", timeout=1)
            assert not result
        except SandboxTimeoutError:
            print("Operation exceeded time limit")
        finally:
            await client.cleanup()
        assert capsys.readouterr().out == "Operation exceeded time limit\n"
        assert client.sandbox is None


class TestCommands:
    @in_a_loop
    async def test_nothing_of_the_output_is_lost(self):
        async with DockerSandbox() as sandbox:
            assert await sandbox.run_command("echo 42") == "42"
            assert await sandbox.run_command("printf '1\\n\\n$ \\nroot@x:/# \\n  3\\n'") == "1\n\n$ \nroot@x:/# \n  3"
            assert await sandbox.run_command("true") == ""
            assert await sandbox.run_command("echo out; echo err >&2; echo more") == "out\nerr\nmore"

    @in_a_loop
    async def test_the_shell_lives_on(self):
        async with DockerSandbox() as sandbox:
            await sandbox.run_command("mkdir -p sub; cd sub; x=7; f() { echo f$x; }")
            assert await sandbox.run_command("pwd; f") == "/workspace/sub\nf7"
            assert await sandbox.run_command("exit 3") == ""
            assert await sandbox.run_command("echo $x; echo err >&2") == "7\nerr"

    @in_a_loop
    async def test_a_shell_that_was_killed_is_replaced(self):
        async with DockerSandbox() as sandbox:
            await sandbox.run_command("kill -9 $$")
            assert await sandbox.run_command("echo back; echo err >&2; echo last") == "back\nerr\nlast"

    @in_a_loop
    async def test_a_timeout_ends_the_command_and_the_next_one_is_clean(self):
        async with DockerSandbox() as sandbox:
            await sandbox.run_command("y=5")
            with pytest.raises(SandboxTimeoutError, match="^Command execution timed out after 1 seconds$") as error:
                await sandbox.run_command("echo begun; sleep 60; echo never", timeout=1)
            assert error.value.output.startswith("begun") and "never" not in error.value.output
            assert isinstance(error.value, (SandboxError, TimeoutError))
            assert await sandbox.run_command("echo $y") == "5"

    @in_a_loop
    async def test_a_cancelled_command_is_ended(self):
        async with DockerSandbox() as sandbox:
            running = asyncio.create_task(sandbox.run_command("touch begun; sleep 60; touch never"))
            while not await sandbox.container.client.glob("begun", session_id=sandbox.container.id):
                await asyncio.sleep(0.01)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert await sandbox.run_command("pgrep sleep; find . -name never; echo clean", timeout=30) == "clean"

    @in_a_loop
    async def test_python_is_found_by_both_names(self):
        async with DockerSandbox() as sandbox:
            assert await sandbox.run_command("python -c 'print(1)'; python3 -c 'print(2)'") == "1\n2"

    @in_a_loop
    async def test_commands_of_one_sandbox_wait_for_each_other(self):
        async with DockerSandbox() as sandbox:
            both = await asyncio.gather(sandbox.run_command("sleep 0.3; echo a"), sandbox.run_command("echo b"))
            assert both == ["a", "b"]

    @in_a_loop
    async def test_memory_is_limited(self):
        async with DockerSandbox(SandboxSettings(memory_limit="64m")) as sandbox:
            await sandbox.write_file("greedy.py", "x = bytearray(300 * 1024 * 1024); print('had it')")
            said = await sandbox.run_command("python3 greedy.py")
            assert "had it" not in said

    @in_a_loop
    async def test_there_is_no_network(self):
        async with DockerSandbox() as sandbox:
            said = await sandbox.run_command("cat /proc/net/dev | grep -v lo: | grep : || echo none")
            assert said == "none"

    @in_a_loop
    async def test_a_network_is_behind_a_proxy(self):
        async with DockerSandbox(SandboxSettings(network_enabled=True)) as sandbox:
            assert await sandbox.run_command("echo $HTTP_PROXY $https_proxy") == \
                "http://127.0.0.1:3128 http://127.0.0.1:3128"
            refused = await sandbox.run_command(
                "python3 -c 'import urllib.request as r; r.urlopen(\"http://10.0.0.1/\")' 2>&1 | tail -n 1")
            assert "403" in refused

    @in_a_loop
    async def test_a_terminal_of_its_own(self):
        async with DockerSandbox() as sandbox:
            terminal = AsyncDockerizedTerminal(sandbox.container, "/tmp", {"A": "it's"}, default_timeout=20)
            assert terminal.session is None
            async with terminal:
                assert terminal.session.container_id == sandbox.container.id and terminal.session.exec_id
                assert await terminal.session.execute("echo $A") == "it's"
                assert await terminal.run_command("echo $A in $PWD") == "it's in /tmp"
                assert await sandbox.run_command("echo $A in $PWD") == "in /workspace"
                with pytest.raises(TimeoutError):
                    await terminal.run_command("sleep 30", timeout=1)
            with pytest.raises(RuntimeError, match="Terminal not initialized"):
                await terminal.run_command("true")


class TestFiles:
    @in_a_loop
    async def test_what_is_written_is_read(self):
        async with DockerSandbox() as sandbox:
            text = "a\\n 'quoted' $x ü\n\n"
            await sandbox.write_file("deep/er/file.txt", text)
            assert await sandbox.read_file("/workspace/deep/er/file.txt") == text
            assert await sandbox.run_command("cat deep/er/file.txt; echo") == text.rstrip("\n")

    @in_a_loop
    async def test_a_large_file_is_no_matter(self):
        async with DockerSandbox() as sandbox:
            await sandbox.write_file("big.txt", "0123456789" * 2_000_000)
            assert await sandbox.run_command("wc -c < big.txt") == "20000000"
            assert len(await sandbox.read_file("big.txt")) == 20_000_000

    @in_a_loop
    async def test_files_outside_the_work_directory(self, tmp_path):
        async with DockerSandbox() as sandbox:
            await sandbox.write_file("/tmp/x y/file.txt", "there")
            assert await sandbox.run_command("cat '/tmp/x y/file.txt'") == "there"
            assert await sandbox.read_file("/tmp/x y/file.txt") == "there"
            (tmp_path / "tree" / "sub").mkdir(parents=True)
            (tmp_path / "tree" / "sub" / "a").write_bytes(b"\x00\xff")
            await sandbox.copy_to(str(tmp_path / "tree"), "/tmp/copy")
            await sandbox.copy_from("/tmp/copy", str(tmp_path / "back"))
            assert (tmp_path / "back" / "sub" / "a").read_bytes() == b"\x00\xff"
            with pytest.raises(RuntimeError, match="Failed to write file"):
                await sandbox.write_file("/etc/passwd", "root")
            assert await sandbox.run_command("find . -name '.cloche-*'") == ""

    @in_a_loop
    async def test_directories_are_copied_both_ways(self, tmp_path):
        (tmp_path / "in" / "sub").mkdir(parents=True)
        (tmp_path / "in" / "a.txt").write_text("a")
        (tmp_path / "in" / "sub" / "b.txt").write_text("b")
        (tmp_path / "existing").mkdir()
        async with DockerSandbox() as sandbox:
            await sandbox.copy_to(str(tmp_path / "in"), "data/in")
            assert await sandbox.run_command("cat data/in/a.txt data/in/sub/b.txt") == "ab"
            await sandbox.copy_from("data/in", str(tmp_path / "out"))
            assert (tmp_path / "out" / "sub" / "b.txt").read_text() == "b"
            await sandbox.copy_from("/workspace/data/in", str(tmp_path / "existing"))
            assert (tmp_path / "existing" / "in" / "a.txt").read_text() == "a"
            await sandbox.copy_from("data/in/a.txt", str(tmp_path / "existing"))
            assert (tmp_path / "existing" / "a.txt").read_text() == "a"

    @in_a_loop
    async def test_what_is_not_there_or_not_allowed_is_named(self, tmp_path):
        async with DockerSandbox() as sandbox:
            with pytest.raises(FileNotFoundError, match="^File not found: none.txt$"):
                await sandbox.read_file("none.txt")
            with pytest.raises(FileNotFoundError, match="^Source file not found: /workspace/none$"):
                await sandbox.copy_from("/workspace/none", str(tmp_path / "x"))
            with pytest.raises(FileNotFoundError, match="^Source file not found: /no/such$"):
                await sandbox.copy_to("/no/such", "x")
            for path in ("../etc/passwd", "/workspace/../etc/passwd"):
                with pytest.raises(ValueError, match="^Path contains potentially unsafe patterns$"):
                    await sandbox.read_file(path)
            with pytest.raises(RuntimeError, match="^Failed to read file: "):
                await sandbox.read_file("/workspace")

    @in_a_loop
    async def test_what_may_not_be_read_is_not_called_missing(self):
        async with DockerSandbox() as sandbox:
            await sandbox.run_command("mkdir shut && echo x > shut/a && chmod 0 shut")
            for read in (sandbox.read_file("/workspace/shut/a"), sandbox.copy_from("/workspace/shut/a", "/nowhere")):
                with pytest.raises(PermissionError, match="^Permission denied: /workspace/shut/a$"):
                    await read
            await sandbox.run_command("chmod 700 shut")

    @in_a_loop
    async def test_a_volume_that_programs_could_not_read_is_refused(self, service):
        with tempfile.TemporaryDirectory() as host:
            told = "volume_bindings" if service == "remote" else f"mode 0700.*: chmod o\\+rx {host}"
            with pytest.raises(RuntimeError, match=f"^Failed to create sandbox: .*{told}"):
                await DockerSandbox(SandboxSettings(), {host: "/data"}).create()
            file = pathlib.Path(host, "a")
            file.write_text("x")
            file.chmod(0o600)
            if service == "private":
                with pytest.raises(RuntimeError, match="mode 0600.*: chmod o\\+r "):
                    await DockerSandbox(SandboxSettings(), {str(file): "/data"}).create()

    @in_a_loop
    async def test_volumes_are_mounted(self, service):
        with tempfile.TemporaryDirectory() as host:
            await self.mount(service, host)

    async def mount(self, service, host):
        pathlib.Path(host).chmod(0o777)
        pathlib.Path(host, "a").write_text("from the host")
        sandbox = DockerSandbox(SandboxSettings(), {host: "/mnt:ro"})
        if service == "remote":
            with pytest.raises(RuntimeError, match="volume_bindings"):
                await sandbox.create()
            return
        async with sandbox:
            assert await sandbox.run_command("cat /mnt/a") == "from the host"
            assert "Read-only" in await sandbox.run_command("touch /mnt/b")
        assert not pathlib.Path(host, "b").exists()


class TestOnDocker:
    @in_a_loop
    async def test_a_private_service_uses_the_engine(self, service, monkeypatch):
        need_backend("docker", "openmanus")
        monkeypatch.delenv("CLOCHE_URL", raising=False)
        monkeypatch.setenv("CLOCHE_BACKEND", "docker")
        monkeypatch.setenv("DOCKER_HOST", os.environ["CLOCHE_TEST_DOCKER_HOST"])
        config = SandboxSettings(image="cloche-test/debian", work_dir="/work", memory_limit="128m", cpu_limit=0.5)
        async with DockerSandbox(config) as sandbox:
            await sandbox.write_file("a.txt", "a")
            assert await sandbox.run_command("pwd; cat a.txt") == "/work\na"


class TestManager:
    @in_a_loop
    async def test_no_more_than_so_many(self):
        async with SandboxManager(max_sandboxes=1) as manager:
            first = await manager.create_sandbox()
            with pytest.raises(RuntimeError, match=r"^Maximum number of sandboxes \(1\) reached$") as error:
                await manager.create_sandbox()
            assert isinstance(error.value, SandboxResourceError)
            assert manager.get_stats() == {"total_sandboxes": 1, "active_operations": 0, "max_sandboxes": 1,
                                           "idle_timeout": 3600, "cleanup_interval": 300, "is_shutting_down": False}
            await manager.delete_sandbox(first)
            await manager.create_sandbox()
        assert manager.get_stats()["total_sandboxes"] == 0 and manager.get_stats()["is_shutting_down"]

    @in_a_loop
    async def test_idle_ones_go(self):
        async with SandboxManager(idle_timeout=0, cleanup_interval=0.05) as manager:
            sandbox_id = await manager.create_sandbox()
            end = time.monotonic() + 60
            while manager.get_stats()["total_sandboxes"]:
                assert time.monotonic() < end
                await asyncio.sleep(0.02)
            with pytest.raises(KeyError):
                await manager.get_sandbox(sandbox_id)

    @in_a_loop
    async def test_deletion_waits_for_what_runs(self):
        async with SandboxManager() as manager:
            sandbox_id = await manager.create_sandbox()
            sandbox = await manager.get_sandbox(sandbox_id)
            running = asyncio.create_task(sandbox.run_command("sleep 0.5; echo done"))
            while not manager.get_stats()["active_operations"]:
                await asyncio.sleep(0)
            await manager.delete_sandbox(sandbox_id)
            assert await running == "done"
            with pytest.raises(RuntimeError, match="^Sandbox not initialized$"):
                await sandbox.run_command("true")

    @in_a_loop
    async def test_several_at_once_are_apart(self):
        async with SandboxManager() as manager:
            ids = await asyncio.gather(*(manager.create_sandbox() for _ in range(4)))
            sandboxes = [await manager.get_sandbox(each) for each in ids]
            await asyncio.gather(*(each.run_command(f"echo {place} > mine")
                                   for place, each in enumerate(sandboxes)))
            assert await asyncio.gather(*(each.read_file("mine") for each in sandboxes)) == ["0\n", "1\n", "2\n", "3\n"]


class TestClient:
    @in_a_loop
    async def test_nothing_works_before_it_is_created(self):
        client = LocalSandboxClient()
        for call in (client.run_command("true"), client.read_file("x"), client.write_file("x", ""),
                     client.copy_to("/a", "b"), client.copy_from("a", "/b")):
            with pytest.raises(RuntimeError, match="^Sandbox not initialized$"):
                await call
        await client.cleanup()
        assert isinstance(client, BaseSandboxClient) and isinstance(SANDBOX_CLIENT, LocalSandboxClient)

    @in_a_loop
    async def test_an_image_that_is_not_there_is_told(self):
        with pytest.raises(RuntimeError, match="^Failed to create sandbox: .*"):
            await LocalSandboxClient().create(SandboxSettings(image="no-such-image"))

    def test_settings_are_those_of_the_original(self):
        assert SandboxSettings().model_dump() == {
            "use_sandbox": False, "image": "python:3.12-slim", "work_dir": "/workspace", "memory_limit": "512m",
            "cpu_limit": 1.0, "timeout": 300, "network_enabled": False}
        for wrong in ({"timeout": "long"}, {"work_dir": "relative"}, {"cpu_limit": 0}, {"network_enabled": 1}):
            with pytest.raises(ValueError):
                SandboxSettings(**wrong)
