#!/usr/bin/python3
"""Holds a running service to docs/openapi.yaml: every operation, with a good request and with a bad one.

Usage: openapi_contract.py CLOCHE OPENAPI.YAML WEB_SERVER.PY

Each good request fits the documented schema; each answer has a documented status, type and body, events of streams and
messages of terminals included, and no field that is not written down. Fails when an operation was not exercised.
"""
import base64
import io
import json
import pathlib
import sys
import tarfile
import time

from openapi_checker import Contract
from openapi_client import Client
from openapi_server import Server, skip_without_crun

TEST = "service_openapi_contract"
CONFIG = """
server: {auth: tokens, listen: ["unix:SOCKET"]}
log: {level: warn}
sessions: {most: 4}
profiles:
  python:
    work_dir: /app
    runtime: crun
    pool: {pool_size: 1, scale_limit: 1, at_limit: fail}
  session:
    work_dir: /workspace
    runtime: crun
    limits: {memory: 256m, cpus: 1, pids: 128}
    pool: {pool_size: 1, scale_limit: 5}
"""
SESSION = {"tenant": "default", "session": "s1"}
NO_SESSION = {"tenant": "default", "session": "nobody"}


def service_itself(client):
    assert client.good("health").json() == {"status": "ok"}
    client.bad_method("health", "POST")
    until(lambda: client.ask("readiness").status == 200, "the service is not ready")
    client.good("readiness")
    client.bad_method("readiness", "DELETE")
    text = client.good("contract").body.decode()
    assert text == pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"), "the service shows another contract"
    client.bad_method("contract", "PUT")
    assert b"cloche" in client.good("metrics").body
    of_user = {"Authorization": "Bearer " + client.user_token}
    until(lambda: client.ask("metrics", headers=of_user).status == 403, "the user's token is not known")
    client.bad("metrics", 403, headers=of_user)


def until(holds, what):
    """Asks again until it holds."""
    deadline = time.monotonic() + 60
    while not (found := holds()):
        assert time.monotonic() < deadline, f"in a minute: {what}"
        time.sleep(0.02)
    return found


def sessions(client):
    made = client.good("createSession", 201, json={
        "session_id": "s1", "env": {"GREETING": "hello"}, "limits": {"memory": "200m", "cpus": 0.5, "pids": 100},
        "idle_timeout": 300}).json()
    assert made["idle_timeout"] == 300 and made["state"] == "live", made
    client.bad("createSession", 409, json={"session_id": "s1"})
    client.bad("createSession", 400, json={"session_id": "s2", "colour": "red"})
    client.bad("createSession", 400, json={"session_id": ".."})
    client.bad("createSession", 415, raw=b"session_id=s2", content_type="application/x-www-form-urlencoded")
    client.bad("createSession", 403, json={"tenant_id": "default", "session_id": "s2"},
               headers={"Authorization": "Bearer " + client.user_token})
    listed = client.good("listSessions", query={"tenant_id": "default"}).json()["sessions"]
    assert [each["session_id"] for each in listed] == ["s1"], listed
    client.bad("listSessions", 400, query={"tenant_id": "not a name"})
    client.good("getSession", path=SESSION)
    client.bad("getSession", 404, path=NO_SESSION)


def runs(client):
    ran = client.good("execute", json={"session_id": "s1", "code": "print(42)"}).json()
    assert (ran["stdout"], ran["category"], ran["exit_code"]) == ("42\n", "success", 0), ran
    made = client.good("execute", json={
        "session_id": "s1", "language": "python", "timeout": 20, "stdin": "7\n", "env": {"WHO": "you"},
        "files": {"given.txt": "from text", "sub/given.bin": {"content_base64": base64.b64encode(b"\0\xff").decode()}},
        "code": "import os, sys\nopen('made.txt', 'w').write(input() + os.environ['WHO'])\n"
                "sys.stdout.buffer.write(b'\\xff'); sys.exit(3)"}).json()
    assert made["category"] == "runtime_error" and made["stdout_base64"] == "/w==", made
    assert "made.txt" in [each["path"] for each in made["artifacts"]], made
    compiled = client.good("execute", json={"session_id": "s1", "language": "c", "code": "int main(void) { return x; }"}).json()
    assert compiled["category"] == "compilation_error" and "x" in compiled["compile"]["stderr"], compiled
    client.bad("execute", 400, json={"session_id": "s1", "code": "1", "language": "no such language"})
    client.bad("execute", 400, json={"session_id": "s1", "code": 1})
    client.bad("execute", 400, json={"session_id": "s1", "code": "1", "timeout": 1e9})
    client.bad("execute", 400, raw=b"{", content_type="application/json")

    greeted = client.good("bash", json={"session_id": "s1", "command": "echo $GREETING; echo no >&2; exit 2"}).json()
    assert (greeted["stdout"], greeted["stderr"], greeted["exit_code"]) == ("hello\n", "no\n", 2), greeted
    late = client.good("bash", json={"session_id": "s1", "command": "sleep 100", "timeout": 0.2}).json()
    assert (late["category"], late["cause"]) == ("timeout", "wall"), late
    client.bad("bash", 400, json={"session_id": "s1", "command": "true", "what": 1})


def streams(client):
    request = {"session_id": "s1", "command": "echo one; echo two >&2; echo x > streamed; echo three"}
    as_events = {"Accept": "text/event-stream"}
    for name, body in (("bash", request), ("execute", {"session_id": "s1", "code": "import os; os.write(1, b'\\xfe'); print(1)"})):
        events = client.check_events(client.good(name, json=body, headers=as_events))
        assert events[-1][0] == "result" and events[-1][2]["category"] == "success", events
    events = client.check_events(client.good("bash", json=request, headers=as_events))
    assert {"run", "stdout", "stderr", "artifact", "result"} == {name for name, _, _ in events}, events
    seen = events[2][1]
    again = client.check_events(client.good("bash", json=request, headers=as_events | {"Last-Event-ID": seen}))
    assert again[1:] == events[3:], (events, again)
    run = {**SESSION, "run": events[0][2]["run_id"]}
    followed = client.check_events(client.good("followRun", path=run))
    assert followed == events, (events, followed)
    rest = client.check_events(client.good("followRun", path=run, headers={"Last-Event-ID": seen}))
    assert rest[1:] == events[3:], (events, rest)
    client.bad("followRun", 400, path=run, headers={"Last-Event-ID": "nonsense"})
    client.bad("followRun", 404, path={**SESSION, "run": "none"})
    client.bad("bash", 400, json=request, headers=as_events | {"Last-Event-ID": "nonsense"})


def background_runs(client):
    started = client.good("bash", 202, json={
        "session_id": "s1", "background": True, "command": "trap 'echo caught; exit 5' TERM; echo up; while :; do sleep 0.1; done"})
    run = {**SESSION, "run": started.json()["run_id"]}
    listed = client.good("listRuns", path=SESSION).json()["runs"]
    assert run["run"] in [each["run_id"] for each in listed if each["state"] == "running"], listed
    client.bad("listRuns", 404, path=NO_SESSION)
    assert client.good("getRun", path=run).json()["state"] == "running"
    client.bad("getRun", 404, path={**SESSION, "run": "none"})
    assert client.good("waitForRun", path=run, json={"timeout": 0.05}).json()["state"] == "running"
    client.bad("waitForRun", 400, path=run, json={"timeout": -1})
    client.bad("waitForRun", 404, path={**SESSION, "run": "none"}, json={})
    until(lambda: client.good("getRunOutput", path=run, query={"stream": "stdout"}).json()["content"], "its trap is not set")
    client.good("signalRun", path=run, json={"signal": "TERM"})
    client.bad("signalRun", 400, path=run, json={"signal": "SIGNONSENSE"})
    ended = client.good("waitForRun", path=run, json={"timeout": 30}).json()
    assert ended["state"] == "ended" and ended["result"]["exit_code"] == 5, ended
    client.good("waitForRun", path=run)
    printed = client.good("getRunOutput", path=run, query={"stream": "stdout", "offset": 3, "limit": 100}).json()
    assert (printed["content"], printed["state"]) == ("caught\n", "ended"), printed
    raw = client.good("getRunOutput", path=run, headers={"Accept": "application/octet-stream"})
    assert raw.body == b"up\ncaught\n" and raw.headers["Cloche-Next-Offset"] == "10", raw.body
    client.bad("getRunOutput", 400, path=run, query={"stream": "stdlog"})
    client.bad("signalRun", 400, path=run, json={"signal": 15})
    client.good("removeRun", path=run)
    client.bad("removeRun", 404, path=run)
    called_off(client)


def called_off(client):
    """A run that is removed under its reader ends with an error."""
    started = client.good("execute", 202, json={"session_id": "s1", "background": True, "code": "import time; time.sleep(100)"})
    run = {**SESSION, "run": started.json()["run_id"]}
    client.good("signalRun", path=run, json={"signal": 9})
    events = client.check_events(client.good("followRun", path=run))
    assert events[-1][0] == "result" and events[-1][2]["cause"] == "signal", events
    client.good("removeRun", path=run)


def contexts(client):
    call = {"session_id": "s1", "context": "main"}
    first = client.good("execute", json={**call, "code": "x = 41"}).json()
    assert first["fresh"] is True and first["state"] == "kept", first
    second = client.good("execute", json={**call, "code": "x + 1"}).json()
    assert second["value"] == "42" and second["fresh"] is False, second
    raised = client.good("execute", json={**call, "code": "1 / 0"}).json()
    assert raised["error"]["name"] == "ZeroDivisionError", raised
    client.bad("execute", 409, json={**call, "code": "ls", "language": "bash"})
    client.bad("execute", 400, json={**call, "code": "1", "background": True})
    client.good("createContext", 201, path=SESSION, json={"name": "shell", "language": "bash"})
    client.good("bash", json={"session_id": "s1", "context": "shell", "command": "cd /tmp"})
    assert client.good("bash", json={"session_id": "s1", "context": "shell", "command": "pwd"}).json()["stdout"] == "/tmp\n"
    client.bad("createContext", 409, path=SESSION, json={"name": "shell", "language": "bash"})
    client.bad("createContext", 400, path=SESSION, json={"name": "other", "language": "cobol"})
    listed = client.good("listContexts", path=SESSION).json()["contexts"]
    assert [each["name"] for each in listed] == ["main", "shell"], listed
    client.bad("listContexts", 404, path=NO_SESSION)
    client.good("restartContext", path={**SESSION, "name": "main"})
    client.bad("restartContext", 404, path={**SESSION, "name": "none"})
    client.good("closeContext", path={**SESSION, "name": "main"})
    client.bad("closeContext", 404, path={**SESSION, "name": "main"})


def files(client):
    client.good("write", json={"session_id": "s1", "path": "src/a.py", "content": "def f():\n    return 1\n", "mode": "0640"})
    client.good("write", json={"session_id": "s1", "path": "src/a.py", "content": "# end\n", "append": True})
    client.good("write", json={"session_id": "s1", "path": "/workspace/b.bin", "mode": 420,
                               "content_base64": base64.b64encode(b"\x89PNG\r\n\x1a\n\xff").decode()})
    client.bad("write", 400, json={"session_id": "s1", "path": "x"})
    client.bad("write", 400, json={"session_id": "s1", "path": "../x", "content": ""})
    client.bad("write", 413, json={"session_id": "s1", "path": "x", "content": "x" * (33 << 20)})
    read = client.good("readText", json={"session_id": "s1", "path": "src/a.py", "offset": 1, "limit": 1}).json()
    assert (read["content"], read["next_offset"], read["total_lines"]) == ("    return 1\n", 2, 3), read
    client.good("readText", json={"session_id": "s1", "path": "b.bin", "encoding": "replace"})
    refused = client.bad("readText", 400, json={"session_id": "s1", "path": "b.bin"}).json()
    assert refused["error"]["code"] == "not_text", refused
    client.bad("readText", 404, json={"session_id": "s1", "path": "none"})
    client.bad("readText", 400, json={"session_id": "s1", "path": "src"})
    client.bad("readText", 400, json={"session_id": "s1", "path": "a\0b"})
    whole = client.good("readBinary", json={"session_id": "s1", "path": "b.bin"}).json()
    assert whole["content_type"] == "image/png" and whole["size"] == 9, whole
    client.good("readBinary", json={"session_id": "s1", "path": "b.bin", "offset": 1, "length": 3})
    raw = {"Accept": "application/octet-stream"}
    assert client.good("readBinary", json={"session_id": "s1", "path": "b.bin"}, headers=raw).body[:4] == b"\x89PNG"
    client.good("readBinary", 206, json={"session_id": "s1", "path": "b.bin"}, headers=raw | {"Range": "bytes=1-3"})
    client.bad("readBinary", 416, json={"session_id": "s1", "path": "b.bin"}, headers=raw | {"Range": "bytes=99-"})
    client.bad("readBinary", 400, json={"session_id": "s1", "path": "b.bin", "length": 0})
    found = client.good("grep", json={"session_id": "s1", "pattern": "RETURN", "ignore_case": True, "glob": "*.py", "context": 1})
    assert [(each["path"], each["line"], each["before"]) for each in found.json()["matches"]] == [("src/a.py", 2, ["def f():"])]
    client.bad("grep", 400, json={"session_id": "s1", "pattern": "("})
    listed = client.good("glob", json={"session_id": "s1", "pattern": "**/*.py", "limit": 10}).json()
    assert listed["entries"] == [{"path": "src/a.py", "type": "file", "size": 28}], listed
    client.bad("glob", 400, json={"session_id": "s1", "pattern": "*", "limit": 0})
    raw_files(client)
    trees(client)


def raw_files(client):
    got = client.good("getFile", path={**SESSION, "path": "src/a.py"})
    assert got.body.startswith(b"def f()") and got.headers["Content-Security-Policy"] == "sandbox", got.headers
    tag = {"If-None-Match": got.headers["ETag"]}
    client.good("getFile", 304, path={**SESSION, "path": "src/a.py"}, headers=tag)
    part = client.good("getFile", 206, path={**SESSION, "path": "src/a.py"}, headers={"Range": "bytes=0-2"})
    assert part.body == b"def", part.body
    client.bad("getFile", 416, path={**SESSION, "path": "src/a.py"}, headers={"Range": "bytes=1000-"})
    client.bad("getFile", 404, path={**SESSION, "path": "src/none.py"})


def trees(client):
    copied = client.good("copyIn", path=SESSION, json={"files": {
        "t/one": "1", "t/two": {"content_base64": "Mg==", "mode": "0755"}}}).json()
    assert copied["bytes"] == 2, copied
    client.good("copyIn", path=SESSION, json={"files": [{"path": "t/three", "content": "3"}]})
    client.bad("copyIn", 400, path=SESSION, json={"files": {"../out": "1"}})
    client.bad("copyIn", 415, path=SESSION, raw=b"x", content_type="application/zip")
    out = client.good("copyOut", path=SESSION, query={"path": "t"}).body
    with tarfile.open(fileobj=io.BytesIO(out)) as archive:
        names = {pathlib.PurePath(member.name).name for member in archive if member.isfile()}
    assert names == {"one", "two", "three"}, names
    client.good("copyIn", path=SESSION, raw=out, content_type="application/x-tar")
    client.bad("copyIn", 400, path=SESSION, raw=b"this is no archive" * 100, content_type="application/x-tar")
    client.bad("copyOut", 404, path=NO_SESSION)
    client.bad("copyOut", 400, path=SESSION, query={"path": "/etc"})


def terminal(client):
    messages = client.contract.operations["terminal"].responses["101"]["x-messages"]
    with client.open_websocket("terminal", path=SESSION, query={"rows": 30, "cols": 100, "command": "read x; stty size; exit 7"}) as socket:
        for control in ({"type": "resize", "rows": 5, "cols": 42}, {"type": "signal", "signal": "SIGCONT"}):
            client.contract.check_request_value(messages["client"], control, "message to a terminal")
            socket.send(json.dumps(control))
        socket.send(b"go\n")
        printed, told = b"", []
        while (message := socket.receive()) is not None:
            if isinstance(message, bytes):
                printed += message
            else:
                told.append(json.loads(message))
                client.contract.check_answer_value(messages["server"], told[-1], "message of a terminal")
    assert b"5 42" in printed and [each["exit_code"] for each in told] == [7], (printed, told)
    client.bad("terminal", 426, path=SESSION)
    client.bad("terminal", 400, path=SESSION, query={"rows": 0}, headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})


def start_web_server(client):
    source = pathlib.Path(sys.argv[3]).read_text(encoding="utf-8")
    started = client.good("bash", 202, json={"session_id": "s1", "background": True, "files": {"web_server.py": source},
                                             "command": "exec python3 web_server.py 8000"}).json()
    run = {**SESSION, "run": started["run_id"]}
    until(lambda: "listening" in client.good("getRunOutput", path=run).json()["content"], "the server does not listen")
    return run


def proxy(client):
    run = start_web_server(client)
    server = {**SESSION, "port": 8000}
    for method in ("get", "post", "put", "patch", "delete", "options"):
        moved = client.good(method + "ProxyRoot", 308, path=server)
        assert moved.headers["Location"] == "8000/", moved.headers
        client.bad(method + "ProxyRoot", 400, path={**SESSION, "port": 0})
        body = {"raw": b"some bytes", "content_type": "text/plain"} if method in ("post", "put", "patch") else {}
        echoed = client.good(method + "Proxy", path={**server, "rest": "a/b"}, **body).json()
        assert (echoed["method"], echoed["path"]) == (method.upper(), "/a/b"), echoed
        assert echoed["size"] == len(body.get("raw", b"")) and "authorization" not in echoed["fields"], echoed
        client.bad(method + "Proxy", 502, path={**SESSION, "port": 9, "rest": ""}, **body)
        client.bad(method + "Proxy", 404, path={**NO_SESSION, "port": 9, "rest": ""}, **body)
    client.bad("getProxy", 502, path={**server, "rest": "hang-up"})
    client.good("getProxy", 302, path={**server, "rest": "redirect"})
    with client.open_websocket("getProxy", path={**server, "rest": "ws"}) as socket:
        socket.send("abc")
        assert socket.receive() == "cba"
    client.good("removeRun", path=run)


def leases(client):
    judged = client.good("judge", json={
        "language": "python", "submission_files": [{"filename": "main.py", "content": "print(int(input()) * 2)"}],
        "program_command": None, "test_cases": [["21"], ["x"]], "assets": [{"target": "/tmp/a", "content": "YQ=="}]}).json()
    assert [each["category"] for each in judged["results"]] == ["success", "runtime_error"], judged
    client.bad("judge", 422, json={"language": "cobol", "submission_files": []})
    client.bad("judge", 422, raw=b"{", content_type="application/json")
    lease = {"id": lend(client)}
    client.bad("lend", 400, path={"language": "python"})
    client.bad("lend", 422, path={"language": "cobol"})
    nothing = {"id": "0" * 32}
    source = pathlib.Path(sys.argv[3]).read_text(encoding="utf-8")
    client.good("prepare", path=lease, json={"submission_files": {
        "main.py": {"filename": "main.py", "content": "print(sum(map(int, open(0))))"}, "web.py": {"content": source}}})
    client.bad("prepare", 400, path=lease, json={"submission_files": 1})
    client.bad("prepare", 404, path=nothing, json={"submission_files": {}})
    client.good("inject", path=lease, json={"resolved_assets": [{"target": "/tmp/data", "content": "YQ==", "read_only": True}]})
    client.bad("inject", 400, path=lease, json={"resolved_assets": [{"target": "/etc/passwd", "content": "YQ=="}]})
    ran = client.good("runCommand", path=lease, json={"command": "cat /tmp/data", "timeout": 10, "workdir": "/app"}).json()
    assert (ran["stdout"], ran["category"]) == ("a", "success"), ran
    client.bad("runCommand", 400, path=lease, json={"command": ""})
    client.bad("runCommand", 422, path=lease, raw=b"{", content_type="application/json")
    summed = client.good("runBatch", path=lease, json={"commands": ["20", "22"], "program_command": "python3 main.py"}).json()
    assert summed["stdout"] == "42\n", summed
    client.bad("runBatch", 400, path=lease, json={"commands": "ls"})
    client.good("runCommand", path=lease, json={"command": "python3 web.py 8000 &"})
    hello = {"method": "GET", "endpoint": "/"}
    until(lambda: client.ask("requestApp", path=lease, json=hello).status == 200, "the app does not listen")
    app = client.good("requestApp", path=lease, json={
        "method": "POST", "endpoint": "/x", "kwargs": {"params": {"a": 1}, "json": {"b": 2}, "headers": {"X-Y": "z"}, "timeout": 20}}).json()
    assert app["status_code"] == 200 and json.loads(app["text"])["path"] == "/x?a=1", app
    client.bad("requestApp", 400, path=lease, json={"method": "GET"})
    extracted = client.good("extractFile", path=lease, query={"path": "main.py", "max_bytes": 1000}).json()
    assert extracted["content_text"].startswith("print"), extracted
    client.bad("extractFile", 404, path=lease, query={"path": "none.py"})
    client.bad("extractFile", 422, path=lease, query={"path": "main.py", "max_bytes": 0})
    client.good("giveBack", path={"language": lease["id"]})
    client.bad("giveBack", 404, path={"language": lease["id"]})
    again = {"id": lend(client)}
    client.good("destroyLease", path=again)
    client.bad("destroyLease", 404, path=again)
    assert set(client.good("stats").json()) == {"python", "session"}
    client.bad_method("stats", "POST")


def lend(client):
    """The pool has one sandbox, which may still be on its way back."""
    until(lambda: client.good("stats").json()["python"]["idle"] == 1, "no sandbox is idle")
    return client.good("lend", path={"language": "python"}).json()["sandbox_id"]


def end_of_session(client):
    client.bad("endSession", 400, path=SESSION, query={"mode": "later"})
    client.good("endSession", path=SESSION, query={"mode": "wait"})
    client.bad("endSession", 404, path=SESSION)


def main():
    program, contract_file, _ = sys.argv[1:]
    contract = Contract(contract_file)
    contract.check_itself()
    skip_without_crun(TEST)
    with Server(CONFIG, [program, "serve"]) as server:
        token = next(line for line in server.printed if line.startswith("cloche_"))
        client = Client(contract, server, token)
        client.user_token = json.loads(server.run(program, "token", "create", "--tenant", "other", "--role", "user", "--json"))["token"]
        for part in (service_itself, sessions, runs, streams, background_runs, contexts, files, terminal, proxy, leases,
                     end_of_session):
            print(part.__name__.replace("_", " "), flush=True)
            part(client)
        client.strangers_are_refused()
    for what, counted in (("no good request", client.served), ("no bad request", client.refused)):
        left = set(contract.operations) - set(counted)
        assert not left, f"{what} was made to: {', '.join(sorted(left))}"
    print(f"{len(contract.operations)} operations, {sum(client.served.values())} good requests, "
          f"{sum(client.refused.values())} bad ones")


if __name__ == "__main__":
    main()
