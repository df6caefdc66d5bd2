"""Leases, test cases, and what the service says of itself."""
import pytest
from support import eventually, run_async

import cloche
import cloche.aio

APP = """import http.server
class App(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("X-Query", self.path)
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", 8000), App).serve_forever()
"""


def test_lease_runs_commands_and_gives_files(client):
    with client.lease("python") as lease:
        lease.prepare({"main.py": "print(input() + input())", "sub/a.txt": "hello"})
        lease.inject({"data.bin": b"\x00\xff"})
        assert lease.run_batch(["a", "b"], "python3 main.py").stdout == "ab\n"
        ran = lease.run("cat sub/a.txt missing")
        assert (ran.stdout, ran.exit_code, ran.category, ran.ok) == ("hello", 1, "runtime_error", False)
        assert lease.run("sleep 30", timeout=0.5).category == "timeout"
        assert lease.run("wc -c /tmp/data.bin").stdout == "2 /tmp/data.bin\n"
        assert lease.read_file("sub/a.txt").text == "hello"
        with pytest.raises(cloche.SandboxNotFoundError):
            lease.read_file("missing")
    with pytest.raises(cloche.SandboxNotFoundError):
        lease.run("true")


def ask(lease):
    """None until the server listens."""
    try:
        return lease.request("POST", "/path", json={"a": [1, "\u00e9"]}, params={"q": "1"}, timeout=20)
    except cloche.SandboxNotFoundError:
        return None


def test_server_in_a_lease_is_asked(client):
    with client.lease("python") as lease:
        lease.prepare({"app.py": APP})
        lease.run("python3 app.py &")
        told = eventually(lambda: ask(lease))
        assert (told.status_code, told.ok) == (201, True) and '"a"' in told.text
        assert "q=1" in {name.lower(): value for name, value in told.headers.items()}["x-query"]


def test_pool_at_its_limit_is_said(client):
    with client.lease("python"), client.lease("python") as second:
        with pytest.raises(cloche.SandboxResourceError):
            client.lease("python")
        second.destroy()
    assert client.stats()["python"]["scale_limit"] == 2


def test_language_that_there_is_not(client):
    with pytest.raises(cloche.SandboxArgumentError):
        client.lease("klingon")
    with pytest.raises(cloche.SandboxArgumentError):
        client.run_code("klingon", files={"main.k": "x"})
    with pytest.raises(cloche.SandboxArgumentError):
        client.run_code("python")


def test_cases_are_run_and_judged(client):
    code = "n = int(input())\nprint(n ** 2)"
    results = client.run_code("python", code, cases=[cloche.Case("3", "9"), cloche.Case("4\n", "17"), ["5"], "x"])
    assert [each.passed for each in results] == [True, False, True, False]
    assert [each.category for each in results] == ["success"] * 3 + ["runtime_error"]
    assert "ValueError" in results[3].error_message and results[0].execution_time > 0


def test_program_of_several_files_with_a_command_and_assets(client):
    files = {"main.py": "import helper\nprint(helper.text())",
             "helper.py": "def text(): return open('/tmp/data').read()"}
    (result,) = client.run_code("python", files=files, command="python3 main.py", assets={"data": b"given"})
    assert (result.output, result.ok) == ("given\n", True)


def test_service_says_how_it_is(client):
    assert client.health() is True
    assert set(client.stats()) == {"base", "python", "session"}
    assert isinstance(client.ready().lacks, dict)
    assert "# HELP" in client.metrics()
    assert [each["name"] for each in client.access()["profiles"]] == ["base", "python", "session"]


def test_the_same_on_asyncio(server):
    async def work():
        async with cloche.aio.Client(server.url) as client:
            async with client.lease("python") as lease:
                await lease.prepare({"main.py": "print(input())"})
                assert (await lease.run_batch(["a"], "python3 main.py")).stdout == "a\n"
                assert (await lease.read_file("main.py")).text == "print(input())"
            other = await client.lease("python")
            await other.destroy()
            (result,) = await client.run_code("python", "print(1)")
            assert result.output == "1\n"
            assert await client.health() and "# HELP" in await client.metrics()
            assert (await client.access())["secrets"] == []
            assert "python" in await client.stats() and isinstance((await client.ready()).lacks, dict)
    run_async(work())
