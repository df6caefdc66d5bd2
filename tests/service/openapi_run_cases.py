"""Code and commands in a session, their events, background runs and contexts, by the letter of the contract."""
import base64

from openapi_cases import NO_SESSION, SESSION, eventually


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
    wrong = {"session_id": "s1", "language": "c", "code": "int main(void) { return x; }"}
    compiled = client.good("execute", json=wrong).json()
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


def joined(events):
    """Output that is read later comes in fewer pieces: pieces of one stream become one, with the id of the last."""
    all_joined = []
    for name, place, data in events:
        if all_joined and name == all_joined[-1][0] and set(data) == set(all_joined[-1][2]) == {"text"}:
            all_joined[-1] = (name, place, {"text": all_joined[-1][2]["text"] + data["text"]})
        else:
            all_joined.append((name, place, data))
    return all_joined


def streams(client):
    request = {"session_id": "s1", "command": "echo one; echo two >&2; echo x > streamed; echo three"}
    as_events = {"Accept": "text/event-stream"}
    not_text = {"session_id": "s1", "code": "import os; os.write(1, b'\\xfe')"}
    events = client.check_events(client.good("execute", json=not_text, headers=as_events))
    assert [each[2]["text_base64"] for each in events if each[0] == "stdout"] == ["/g=="], events
    events = client.check_events(client.good("bash", json=request, headers=as_events))
    assert {"run", "stdout", "stderr", "artifact", "result"} == {name for name, _, _ in events}, events
    seen = events[2][1]
    again = client.check_events(client.good("bash", json=request, headers=as_events | {"Last-Event-ID": seen}))
    assert joined(again[1:]) == joined(events[3:]), (events, again)
    run = {**SESSION, "run": events[0][2]["run_id"]}
    followed = client.check_events(client.good("followRun", path=run))
    assert joined(followed) == joined(events), (events, followed)
    rest = client.check_events(client.good("followRun", path=run, headers={"Last-Event-ID": seen}))
    assert joined(rest[1:]) == joined(events[3:]), (events, rest)
    client.bad("followRun", 400, path=run, headers={"Last-Event-ID": "nonsense"})
    client.bad("followRun", 404, path={**SESSION, "run": "none"})
    client.bad("bash", 400, json=request, headers=as_events | {"Last-Event-ID": "nonsense"})


def background_runs(client):
    started = client.good("bash", 202, json={
        "session_id": "s1", "background": True,
        "command": "trap 'echo caught; exit 5' TERM; echo up; while :; do sleep 0.1; done"})
    run = {**SESSION, "run": started.json()["run_id"]}
    listed = client.good("listRuns", path=SESSION).json()["runs"]
    assert run["run"] in [each["run_id"] for each in listed if each["state"] == "running"], listed
    client.bad("listRuns", 404, path=NO_SESSION)
    assert client.good("getRun", path=run).json()["state"] == "running"
    client.bad("getRun", 404, path={**SESSION, "run": "none"})
    assert client.good("waitForRun", path=run, json={"timeout": 0.05}).json()["state"] == "running"
    client.bad("waitForRun", 400, path=run, json={"timeout": -1})
    client.bad("waitForRun", 404, path={**SESSION, "run": "none"}, json={})
    eventually(lambda: client.good("getRunOutput", path=run).json()["content"] == "up\n", "its trap is set")
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
    killed_run(client)


def killed_run(client):
    """One that is ended by a signal, followed to its end."""
    started = client.good("execute", 202, json={
        "session_id": "s1", "background": True, "code": "import time; time.sleep(100)"})
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
    moved = client.good("bash", json={"session_id": "s1", "context": "shell", "command": "pwd"}).json()
    assert moved["stdout"] == "/tmp\n", moved
    client.bad("createContext", 409, path=SESSION, json={"name": "shell", "language": "bash"})
    client.bad("createContext", 400, path=SESSION, json={"name": "other", "language": "cobol"})
    listed = client.good("listContexts", path=SESSION).json()["contexts"]
    assert [each["name"] for each in listed] == ["main", "shell"], listed
    client.bad("listContexts", 404, path=NO_SESSION)
    client.good("restartContext", path={**SESSION, "name": "main"})
    client.bad("restartContext", 404, path={**SESSION, "name": "none"})
    client.good("closeContext", path={**SESSION, "name": "main"})
    client.bad("closeContext", 404, path={**SESSION, "name": "main"})
