"""Programs of the autograder's users, the examples of its documentation among them."""
import os
import re
import threading
import time

import pytest
from support import eventually

from cloche.compat.autograder import (CommandResponse, Language, LanguagePool, RequestException, ResolvedAsset,
                                      ResponseCategory, SandboxManager, SandboxPoolConfig, SandboxState,
                                      SubmissionFile, get_sandbox_manager, initialize_sandbox_manager)

APPLICATION = """
import http.server, json
class App(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        told = json.dumps({"path": self.path, "method": self.command, "body": body, "x": self.headers.get("X-Test")})
        self.send_response(404 if self.path == "/missing" else 200)
        self.end_headers()
        self.wfile.write(told.encode())
    do_GET = do_POST = do_DELETE = answer
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", 8000), App).serve_forever()
"""


def files_of(**contents):
    named = {name.replace("__", "."): text for name, text in contents.items()}
    return {name: SubmissionFile(filename=name, content=text) for name, text in named.items()}


@pytest.fixture(scope="module")
def manager(service):
    pools = [SandboxPoolConfig(Language.PYTHON, 1, 3, 600, 120), SandboxPoolConfig(Language.CPP, 1, 3, 600, 120)]
    with initialize_sandbox_manager(pools) as made:
        yield made


@pytest.fixture
def sandbox(manager):
    with manager.acquire_sandbox(Language.PYTHON) as lent:
        yield lent


class TestPools:
    def test_the_manager_comes_with_warm_pools(self, service):
        if service == "remote":
            pytest.skip("the pools of a remote service are warm already")
        pools = [SandboxPoolConfig(Language.PYTHON, 2, 3, 600, 120), SandboxPoolConfig(Language.C, 1, 3, 600, 120)]
        with SandboxManager({config.language: LanguagePool(config.language, config) for config in pools}) as made:
            stats = made.get_pool_stats()
        assert {name: figures["idle"] for name, figures in stats.items()} == {"python": 2, "c": 1}

    def test_sandboxes_are_called_by_prefix_language_pool_and_number(self, service, sandbox):
        prefix = "ag-sbx" if service == "private" else "cloche"
        assert re.fullmatch(prefix + "-python-[0-9a-f]{8}-[0-9]{4}", sandbox.container_ref.name)
        assert sandbox.container_ref.name in repr(sandbox)
        assert re.fullmatch("[0-9a-f]{32}", sandbox.container_ref.id)


class TestPython:
    def test_python_is_there_wherever_python3_is(self, sandbox):
        look = "import sys, os; print(sys.version_info[0], os.path.exists(sys.executable))"
        for command in (f"python -c '{look}'", f"sh -c \"python -c '{look}'\"", f"env python -c '{look}'"):
            result = sandbox.run_command(command)
            assert (result.stdout, result.stderr) == ("3 True\n", ""), command

    def test_a_program_that_is_not_there_is_named(self, sandbox):
        result = sandbox.run_command("no-such-program --help")
        assert (result.exit_code, result.stderr) == (127, "no-such-program: command not found")
        assert sandbox.run_command("./no-such-file").stderr == "./no-such-file: No such file or directory"


class TestDocumentedExamples:
    def test_direct_acquire_and_release(self, manager):
        files = files_of(main__py="print('hello')")
        manager = get_sandbox_manager()
        sandbox = manager.get_sandbox(Language.PYTHON)
        try:
            sandbox.prepare_workdir(files)
            result = sandbox.run_command("python main.py")
        finally:
            manager.release_sandbox(Language.PYTHON, sandbox)
        assert result.stdout == "hello\n" and result.category == ResponseCategory.SUCCESS
        assert sandbox.state is SandboxState.IDLE

    def test_context_manager(self, manager):
        files = files_of(main__py="print(2 ** 70)")
        manager = get_sandbox_manager()
        with manager.acquire_sandbox(Language.PYTHON) as sandbox:
            sandbox.prepare_workdir(files)
            result = sandbox.run_command("python main.py")
        # Automatically released, even on exception
        assert (result.stdout, result.stderr, result.exit_code) == ("1180591620717411303424\n", "", 0)
        assert 0 < result.execution_time < 20

    def test_destroy_on_fatal_error(self, manager):
        def grade(timeout):
            manager = get_sandbox_manager()
            sandbox = manager.get_sandbox(Language.PYTHON)
            grade.sandbox = sandbox
            sandbox.prepare_workdir(files_of(main__py="print('so far', flush=True)\nwhile True: pass"))
            try:
                result = sandbox.run_command("python main.py", timeout=timeout)
                if result.category == ResponseCategory.TIMEOUT:
                    manager.destroy_sandbox(Language.PYTHON, sandbox)
                    return result  # Don't release — it's already destroyed
            except Exception:
                manager.destroy_sandbox(Language.PYTHON, sandbox)
                raise
            manager.release_sandbox(Language.PYTHON, sandbox)
        result = grade(timeout=4)
        assert result.exit_code == 124 and "Execution timed out after 4 seconds" in result.stderr
        assert result.stdout == "so far\n"
        assert grade.sandbox.state is SandboxState.STOPPED
        with pytest.raises(ValueError, match="Sandbox not found in active sandboxes"):
            manager.release_sandbox(Language.PYTHON, grade.sandbox)

    def test_run_commands(self, sandbox):
        sandbox.prepare_workdir(files_of(calculator__py="print(int(input()) + int(input()))"))
        result = sandbox.run_commands(["5", "3"], program_command="python calculator.py")
        assert result.stdout == "8\n"

    def test_make_request(self, sandbox):
        sandbox.prepare_workdir(files_of(app__py=APPLICATION))
        assert sandbox.run_command("python app.py &").exit_code == 0
        assert eventually(lambda: _answers(sandbox))
        response = sandbox.make_request("GET", "/api/health")
        assert response.status_code == 200 and response.ok and response.json()["path"] == "/api/health"
        posted = sandbox.make_request("POST", "/items", json_data={"a": 1}, headers={"X-Test": "yes"})
        assert posted.json()["body"].replace(" ", "") == '{"a":1}' and posted.json()["x"] == "yes"
        assert sandbox.make_request("DELETE", "/a", params={"q": "x y"}).json()["path"] in ("/a?q=x+y", "/a?q=x%20y")
        assert not sandbox.make_request("get", "/missing").ok

    def test_pool_stats(self, manager):
        with manager.acquire_sandbox(Language.PYTHON):
            stats = manager.get_pool_stats()
        assert set(stats) == {"python", "cpp"}
        assert {"idle", "active", "total", "pool_size", "scale_limit", "utilization"} <= set(stats["python"])
        assert stats["python"]["active"] >= 1 and stats["python"]["scale_limit"] == 3


def _answers(sandbox):
    try:
        return sandbox.make_request("GET", "/").ok
    except RequestException:
        return False


class TestContainer:
    def test_nested_files_reach_their_directories(self, sandbox):
        sandbox.prepare_workdir({"a": SubmissionFile("services/deep/service.py", "x = 'ü\\\\n'")})
        assert sandbox.run_command("cat services/deep/service.py").stdout == "x = 'ü\\\\n'"
        assert sandbox.run_command("pwd", workdir="/app/services").stdout == "/app/services\n"

    def test_a_large_file_is_no_matter(self, sandbox):
        sandbox.prepare_workdir(files_of(data__txt="x" * 3_000_000))
        assert sandbox.run_command("wc -c data.txt").stdout.split()[0] == "3000000"

    def test_a_file_that_would_leave_is_refused(self, sandbox):
        with pytest.raises(RuntimeError, match="^Error preparing workdir: Path must stay within working directory: "):
            sandbox.prepare_workdir({"a": SubmissionFile("../etc/x", "")})

    def test_assets_are_in_tmp_and_read_only(self, sandbox):
        sandbox.inject_assets([ResolvedAsset("/tmp/data/set.bin", b"\x00\xff"),
                               ResolvedAsset("notes.txt", b"n", read_only=False)])
        found = sandbox.run_command("find /tmp -type f -printf '%m %P '").stdout.split()
        assert dict(zip(found[1::2], found[::2])) == {"data/set.bin": "444", "notes.txt": "644"}
        with pytest.raises(ValueError, match="/tmp"):
            sandbox.inject_assets([ResolvedAsset("/tmp/../etc/passwd", b"")])

    def test_input_is_not_mangled(self, sandbox):
        result = sandbox.run_commands(["-n", "a\\nb", "it's", ""], program_command="cat")
        assert result.stdout.split("\n")[:3] == ["-n", "a\\nb", "it's"]

    def test_how_a_program_ended_is_told_apart(self, sandbox):
        sandbox.prepare_workdir(files_of(fail__py="1/0", crash__py="import os; os.abort()", quiet__py="exit(1)"))
        for name in ("fail.py", "crash.py", "quiet.py"):
            assert sandbox.run_command(f"python {name}").category is ResponseCategory.RUNTIME_ERROR
        assert "ZeroDivisionError" in sandbox.run_command("python3 fail.py").stderr

    def test_a_file_is_extracted(self, sandbox):
        sandbox.run_command("sh -c 'printf hi > out.txt; printf \"\\377\" > raw.bin'")
        found = sandbox.extract_file("/app/out.txt")
        assert (found.content_bytes, found.content_text, found.size, found.encoding) == (b"hi", "hi", 2, "utf-8")
        assert sandbox.extract_file("/app/raw.bin").encoding == "latin-1"
        with pytest.raises(FileNotFoundError, match="^File not found in container: /app/none$"):
            sandbox.extract_file("/app/none")
        with pytest.raises(ValueError, match="^File exceeds maximum size: 2 bytes > 1 bytes$"):
            sandbox.extract_file("/app/out.txt", max_bytes=1)
        with pytest.raises(ValueError, match="must be absolute"):
            sandbox.extract_file("out.txt")
        with pytest.raises(ValueError, match="Path must stay within working directory"):
            sandbox.extract_file("/etc/passwd")

    def test_a_request_that_nobody_answers_raises(self, sandbox):
        with pytest.raises(RequestException, match=r"^HTTP GET request to http://localhost:8000/x failed: "):
            sandbox.make_request("GET", "/x", timeout=1)
        with pytest.raises(ValueError, match="Unsupported HTTP method: BREW"):
            sandbox.make_request("BREW", "/x")

    def test_requests_own_exception_takes_ours(self, sandbox, monkeypatch):
        import sys
        import types
        requests = types.ModuleType("requests")
        requests.RequestException = type("RequestException", (IOError,), {})
        monkeypatch.setitem(sys.modules, "requests", requests)
        with pytest.raises(requests.RequestException):
            sandbox.make_request("GET", "/x", timeout=1)

    def test_nothing_of_the_last_use_is_left(self, manager):
        with manager.acquire_sandbox(Language.PYTHON) as first:
            first.prepare_workdir(files_of(secret__txt="s"))
            first.run_command("touch /tmp/mark")
        for _ in range(4):
            with manager.acquire_sandbox(Language.PYTHON) as next_one:
                assert next_one.run_command("find /app /tmp").stdout.split() == ["/app", "/tmp"]


class TestManager:
    def test_at_the_limit_a_claim_fails(self, manager):
        lent = [manager.get_sandbox(Language.PYTHON) for _ in range(3)]
        try:
            with pytest.raises(ValueError, match=r"^No idle sandboxes available for language .* "
                                                 r"All 3 sandboxes are busy \(scale_limit: 3\)$"):
                manager.get_sandbox(Language.PYTHON)
        finally:
            for each in lent:
                manager.release_sandbox(Language.PYTHON, each)
        assert eventually(lambda: manager.get_pool_stats()["python"]["active"] == 0)

    def test_a_language_without_a_pool_is_refused(self, manager):
        with pytest.raises(ValueError, match="^Unsupported language: Language.JAVA$"):
            manager.get_sandbox(Language.JAVA)

    def test_an_exception_releases(self, manager):
        with pytest.raises(ZeroDivisionError):
            with manager.acquire_sandbox(Language.PYTHON):
                raise ZeroDivisionError
        assert not manager.language_pools[Language.PYTHON].active_sandboxes

    def test_destroyed_within_the_block_is_not_released(self, manager):
        with manager.acquire_sandbox(Language.PYTHON) as sandbox:
            manager.destroy_sandbox(Language.PYTHON, sandbox)

    def test_threads_share_it(self, manager):
        outputs = []

        def grade(number):
            while True:
                try:
                    sandbox = manager.get_sandbox(Language.PYTHON)
                    break
                except ValueError:
                    time.sleep(0.02)
            try:
                outputs.append(int(sandbox.run_command(f"echo {number}").stdout))
            finally:
                manager.release_sandbox(Language.PYTHON, sandbox)
        threads = [threading.Thread(target=grade, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outputs) == list(range(12))

    def test_the_compiler_is_told_from_the_program(self, manager, service):
        with manager.acquire_sandbox(Language.CPP) as sandbox:
            if sandbox.run_command("which g++").exit_code:
                pytest.skip("no g++ in the sandbox")
            sandbox.prepare_workdir(files_of(bad__cpp="int main() { return x; }"))
            result = sandbox.run_command("g++ bad.cpp")
        assert result.category is ResponseCategory.COMPILATION_ERROR and "x" in result.stderr


class TestConfiguration:
    TEXT = """
general:
  # Minimum idle sandboxes per language (always kept warm)
  pool_size: 0
  # Maximum total sandboxes (active + idle) per language
  scale_limit: 10
  # Seconds before destroying idle sandboxes above pool_size
  idle_timeout: 600
  # Maximum seconds a sandbox can be actively processing
  running_timeout: 120
python:
  pool_size: 1
"""

    def test_a_file_makes_a_manager(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("CLOCHE_URL", raising=False)
        path = tmp_path / "sandbox_config.yml"
        path.write_text(self.TEXT)
        configs = SandboxPoolConfig.load_from_yaml("sandbox_config.yml")
        assert [each.language for each in configs] == list(Language)
        assert configs[0] == SandboxPoolConfig(Language.PYTHON, 1, 10, 600, 120)
        assert configs[1] == SandboxPoolConfig(Language.JAVA, 0, 10, 600, 120)
        with initialize_sandbox_manager() as manager:
            with manager.acquire_sandbox(Language.PYTHON) as sandbox:
                assert sandbox.run_command("pwd").stdout == "/app\n"
            assert set(manager.get_pool_stats()) == {"python", "java", "node", "cpp", "c"}

    @pytest.mark.parametrize("text, why", [
        ("", "'general' section not found"),
        ("general:\n  pool_size: many\n", "'pool_size' must be a whole number"),
        ("general:\n  pool_size: 1\n  pool_size: 2\n", "line 3 has a duplicate key `pool_size`"),
        ("general: [1]\n", "line 1 has an unsupported value"),
        ("general:\n\tpool_size: 1\n", "line 2"),
        ("general: 7\n", "'general' must be a section"),
    ])
    def test_a_file_that_makes_no_sense_is_refused(self, tmp_path, text, why):
        path = tmp_path / "c.yml"
        path.write_text(text)
        with pytest.raises(ValueError) as error:
            SandboxPoolConfig.load_from_yaml(str(path))
        assert why in str(error.value)

    def test_a_missing_file_is_named(self):
        with pytest.raises(FileNotFoundError, match="^Sandbox configuration file not found: /none/x.yml$"):
            SandboxPoolConfig.load_from_yaml("/none/x.yml")

    def test_nothing_works_before_it_is_initialized(self):
        from cloche.compat.autograder import manager
        before, manager._instance = manager._instance, None
        try:
            with pytest.raises(ValueError, match="^SandboxManager has not been initialized. "
                                                 r"Call initialize_sandbox_manager\(\) first.$"):
                get_sandbox_manager()
            with pytest.raises(ValueError, match="^pool_configs must be provided for local mode$"):
                initialize_sandbox_manager([])
        finally:
            manager._instance = before

    def test_the_remote_mode_uses_the_service_that_is_there(self, service):
        if service != "remote":
            pytest.skip("needs one")
        manager = initialize_sandbox_manager(mode="remote", api_url=os.environ["CLOCHE_URL"])
        assert isinstance(manager, SandboxManager) and Language.C in manager.language_pools
        with manager.acquire_sandbox(Language.PYTHON) as sandbox:
            assert str(sandbox.run_command("echo hi")) == "hi\n"
        manager.shutdown()

    def test_values_are_those_of_the_original(self):
        assert Language("python") is Language.PYTHON and Language.C.image == Language.CPP.image == "sandbox-cpp:latest"
        assert {each.value for each in ResponseCategory} == {"success", "runtime_error", "compilation_error", "timeout",
                                                             "system_error"}
        assert CommandResponse("out", "", 0, 0.1).output == "out"
