"""Programs of the quiz's code runner, as its documentation describes them."""
import asyncio
import functools
import os
import tempfile

import pytest

from cloche.compat.coderunner import (CSHARP, PYTHON, CodeRunnerException, CodeRunnerFactory, CodeRunnerOptions,
                                      DockerSandbox, LanguageSandboxConfig, SandboxConfiguration, SandboxRequest,
                                      SandboxResult, UnsupportedLanguageException)
from cloche.errors import SandboxError


def in_a_loop(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 120))
    return run


@pytest.fixture
def runner(service):
    with tempfile.TemporaryDirectory() as folder:
        yield CodeRunnerFactory(SandboxConfiguration(temp_code_path=folder, timeout_seconds=5)).create("Python")
        assert os.listdir(folder) == []


class TestRunner:
    @in_a_loop
    async def test_a_success_has_output(self, runner):
        result = await runner.run_code_async("print('  hello  ')\nprint(input() + input())",
                                             CodeRunnerOptions(input=["a", "b"]))
        assert (result.success, result.output, result.error) == (True, "hello  \nab", None)

    @in_a_loop
    async def test_a_runtime_exception_is_in_the_error(self, runner):
        result = await runner.run_code_async("print('before')\nraise ValueError('so')")
        assert not result.success and result.output is None and result.error.endswith("ValueError: so")
        quiet = await runner.run_code_async("print('only this'); exit(2)")
        assert (quiet.success, quiet.error) == (False, "only this")

    @in_a_loop
    async def test_a_compilation_error_is_in_the_error(self, runner):
        result = await runner.run_code_async("def")
        assert not result.success and "SyntaxError" in result.error

    @in_a_loop
    async def test_too_long_is_a_timeout(self, service):
        with tempfile.TemporaryDirectory() as folder:
            configuration = SandboxConfiguration(temp_code_path=folder, timeout_seconds=1)
            result = await CodeRunnerFactory(configuration).create("python").run_code_async("while True: pass")
        assert (result.success, result.output, result.error) == (False, None, "Execution timed out")

    @in_a_loop
    async def test_too_much_memory_is_an_error(self, runner):
        result = await runner.run_code_async("x = bytearray(700 * 1024 * 1024)\nprint('had it')")
        assert not result.success and result.error and "had it" not in (result.output or "")

    @in_a_loop
    async def test_concurrent_runs_have_their_own_input(self, runner):
        results = await asyncio.gather(*(runner.run_code_async("print(input())", CodeRunnerOptions(input=[str(number)]))
                                         for number in range(6)))
        assert [each.output for each in results] == [str(number) for number in range(6)]

    @in_a_loop
    async def test_what_is_not_wanted_is_left_out(self, runner):
        assert (await runner.run_code_async("print(1)", CodeRunnerOptions(contain_output=False))).output is None
        assert (await runner.run_code_async("x", CodeRunnerOptions(contain_error=False))).error is None

    @in_a_loop
    async def test_a_folder_that_others_can_write_to_is_not_used(self, tmp_path):
        os.chmod(tmp_path, 0o777)
        with pytest.raises(CodeRunnerException, match="must be a directory of this user that others cannot write to"):
            await CodeRunnerFactory(SandboxConfiguration(str(tmp_path))).create("Python").run_code_async("")

    def test_an_unknown_language_is_never_run(self):
        with pytest.raises(UnsupportedLanguageException,
                           match="^The programming language 'Cobol' is not currently supported.$"):
            CodeRunnerFactory().create("Cobol")
        assert CodeRunnerFactory().create("pYTHON").language == "Python"


class TestSandbox:
    @in_a_loop
    async def test_a_request_is_run(self, service, tmp_path):
        code = tmp_path / "script.py"
        code.write_text("import os, sys\nprint(sys.argv[1:], os.path.exists('/sandbox/script.py'), sys.stdin.read())")
        request = SandboxRequest(docker_image="python:3.12-slim", command="python",
                                 arguments=["/sandbox/script.py", "a b", "$x"], code_file_path=str(code),
                                 container_work_dir="/sandbox", input=["1", "2"])
        result = await DockerSandbox().execute_async(request)
        assert result == SandboxResult(True, output=f"['a b', '$x'] {service == 'private'} 1\n2")

    @in_a_loop
    async def test_a_timeout_is_told_apart(self, service, tmp_path):
        code = tmp_path / "script.py"
        code.write_text("while True: pass")
        result = await DockerSandbox().execute_async(SandboxRequest(
            "python:3.12-slim", "python", ["/sandbox/script.py"], str(code), "/sandbox", timeout_seconds=1))
        assert result == SandboxResult(False, error="Execution timed out", timed_out=True)

    @in_a_loop
    async def test_a_code_file_that_is_not_there_is_an_error(self, service):
        with pytest.raises(FileNotFoundError):
            await DockerSandbox().execute_async(SandboxRequest("python:3.12-slim", "python", [], "/no/such", "/s"))

    @in_a_loop
    async def test_an_image_that_is_not_there_is_an_error(self, service):
        with tempfile.TemporaryDirectory() as folder:
            with pytest.raises(SandboxError):
                await CodeRunnerFactory(SandboxConfiguration(folder)).create("CSharp").run_code_async("")


class TestConfiguration:
    def test_values_are_those_of_the_original(self):
        request = SandboxRequest("i", "c", [], "f", "w")
        assert (request.timeout_seconds, request.memory_limit_bytes, request.cpu_quota, list(request.input)) == (
            10, 128 * 1024 * 1024, 50000, [])
        assert CSHARP == LanguageSandboxConfig(
            docker_image="mcr.microsoft.com/dotnet/sdk:10.0", command="dotnet", file_extension=".cs",
            argument_template=("run", "/sandbox/{filename}"), code_prefix="#pragma warning disable\n")
        assert CSHARP.get_arguments("a.cs") == ["run", "/sandbox/a.cs"]
        assert CSHARP.prepare_code("x") == "#pragma warning disable\nx" and PYTHON.prepare_code("x") == "x"
        assert SandboxConfiguration().temp_code_path == "/tmp/code"
