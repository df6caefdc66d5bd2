#!/usr/bin/python3
"""Holds a running service to docs/openapi.yaml: every operation, with a good request and with a bad one.

Usage: openapi_contract.py CLOCHE OPENAPI.YAML WEB_SERVER.PY

Each good request fits the documented schema; each answer has a documented status, type and body, events of streams and
messages of terminals included, and no field that is not written down. Fails when an operation was not exercised.
"""
import json
import pathlib
import sys

import openapi_file_cases as in_files
import openapi_run_cases as in_runs
from openapi_cases import NO_SESSION, SESSION, eventually
from openapi_checker import Contract
from openapi_client import Client
from openapi_server import Server, skip_without_crun

TEST = "service_openapi_contract"
CONFIG = """
server: {auth: tokens, listen: ["unix:SOCKET"]}
log: {level: warn}
sessions: {most: 4}
secrets: {KEY: {env: PATH, tenants: [someone]}}
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


def service_itself(client):
    assert client.good("health").json() == {"status": "ok"}
    client.bad_method("health", "POST")
    eventually(lambda: client.ask("readiness").status == 200, "the service is ready")
    client.good("readiness")
    client.bad_method("readiness", "DELETE")
    text = client.good("contract").body.decode()
    assert text == pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"), "the service shows another contract"
    client.bad_method("contract", "PUT")
    assert b"cloche" in client.good("metrics").body
    of_user = {"Authorization": "Bearer " + client.user_token}
    eventually(lambda: client.ask("metrics", headers=of_user).status == 403, "the user's token is known")
    client.bad("metrics", 403, headers=of_user)
    access = client.good("getAccess").json()
    assert {"name": "KEY", "all_tenants": False, "tenants": ["someone"]} in access["secrets"], access
    assert [each["name"] for each in access["profiles"]] == ["base", "python", "session"], access
    client.bad("getAccess", 403, headers=of_user)


def sessions(client):
    made = client.good("createSession", 201, json={
        "session_id": "s1", "env": {"GREETING": "hello"}, "limits": {"memory": "200m", "cpus": 0.5, "pids": 100},
        "idle_timeout": 300}).json()
    assert made["idle_timeout"] == 300 and made["state"] == "live", made
    client.bad("createSession", 409, json={"session_id": "s1"})
    client.bad("createSession", 400, json={"session_id": "s2", "colour": "red"})
    client.bad("createSession", 400, json={"session_id": ".."})
    client.bad("createSession", 404, json={"session_id": "s2", "secrets": ["KEY"]})
    client.bad("createSession", 404, json={"session_id": "s2", "profile": "nosuch"})
    client.bad("createSession", 415, raw=b"session_id=s2", content_type="application/x-www-form-urlencoded")
    client.bad("createSession", 403, json={"tenant_id": "default", "session_id": "s2"},
               headers={"Authorization": "Bearer " + client.user_token})
    listed = client.good("listSessions", query={"tenant_id": "default"}).json()["sessions"]
    assert [each["session_id"] for each in listed] == ["s1"], listed
    client.bad("listSessions", 400, query={"tenant_id": "not a name"})
    client.bad("createSession", 404, json={"session_id": "s2", "network": "internet"})
    client.bad("createSession", 400, json={"session_id": "s2", "network": "host"})
    closed = client.good("setNetwork", path=SESSION, json={"network": "none"}).json()
    assert closed["network"] == {"mode": "none"}, closed
    client.good("setNetwork", path=SESSION, json={"network": None})
    client.bad("setNetwork", 404, path=SESSION, json={"network": {"rules": ["nosuch"]}})
    client.bad("setNetwork", 404, path=NO_SESSION, json={"network": "none"})
    client.bad("setNetwork", 400, path=SESSION, json={"colour": "red"})
    assert client.good("getEgress", path=SESSION, query={"after": 3}).json() == {"events": []}
    client.bad("getEgress", 400, path=SESSION, query={"follow": "yes"})
    client.bad("getEgress", 404, path=NO_SESSION)
    client.good("getSession", path=SESSION)
    client.bad("getSession", 404, path=NO_SESSION)


def lifecycle(client):
    place = {"tenant": "default", "session": "s5"}
    made = client.good("createSession", 201, json={"session_id": "s5", "metadata": {"user": "7"}, "timeout": 600,
                                                   "on_timeout": "pause"}).json()
    assert made["metadata"] == {"user": "7"} and made["expires"] and made["on_timeout"] == "pause", made
    client.bad("createSession", 400, json={"session_id": "s6", "metadata": {"user": "x" * 1025}})
    client.bad("createSession", 400, json={"session_id": "s6", "timeout": -1})
    client.bad("createSession", 400, json={"session_id": "s6", "on_timeout": "explode"})
    used = client.good("getResourceUse", path=place).json()
    assert used["memory"] > 0 and used["limits"]["memory"] > 0, used
    client.bad("getResourceUse", 404, path=NO_SESSION)
    paused = client.good("pauseSession", path=place).json()
    assert paused["state"] == "paused" and paused["expires"] is None, paused
    client.bad("pauseSession", 409, path=place)
    client.bad("pauseSession", 404, path=NO_SESSION)
    client.bad("readText", 409, json={"session_id": "s5", "path": "file"})
    listed = client.good("listSessions", query={"state": "paused"}).json()["sessions"]
    assert [each["session_id"] for each in listed] == ["s5"], listed
    client.bad("listSessions", 400, query={"state": "asleep"})
    client.bad("resumeSession", 400, path=place, json={"timeout": 0})
    resumed = client.good("resumeSession", path=place, json={"timeout": 60}).json()
    assert resumed["state"] == "live" and resumed["expires"], resumed
    client.good("resumeSession", path=place)
    client.bad("resumeSession", 404, path=NO_SESSION)
    assert client.good("setTimeout", path=place, json={"timeout": 600}).json()["expires"]
    assert client.good("setTimeout", path=place, json={"timeout": None}).json()["expires"] is None
    client.bad("setTimeout", 400, path=place, json={"timeout": "soon"})
    client.bad("setTimeout", 404, path=NO_SESSION, json={"timeout": 1})
    client.good("endSession", path=place)


def volumes(client):
    made = client.good("createVolume", 201, json={"name": "data", "size": "16m"}).json()
    assert made["size"] == 16 << 20 and made["writers"] == 0, made
    client.bad("createVolume", 409, json={"name": "data", "size": "16m"})
    client.bad("createVolume", 400, json={"name": "..", "size": "16m"})
    client.bad("createVolume", 400, json={"name": "small", "size": 1})
    listed = client.good("listVolumes", query={"tenant_id": "default"}).json()["volumes"]
    assert [each["name"] for each in listed] == ["data"], listed
    client.bad("listVolumes", 400, query={"tenant_id": "not a name"})
    volume = {"tenant": "default", "name": "data"}
    with_it = {"session_id": "s3", "volumes": [{"name": "data", "target": "/workspace/data", "access": "read_write"}]}
    opened = client.good("createSession", 201, json=with_it).json()
    assert opened["volumes"] == with_it["volumes"], opened
    assert client.good("getVolume", path=volume).json()["writers"] == 1
    client.bad("createSession", 429, json=with_it | {"session_id": "s4"})
    client.bad("createSession", 404, json={"session_id": "s4", "volumes": [{"name": "absent"}]})
    client.bad("createSession", 400, json={"session_id": "s4", "volumes": [{"name": "data", "target": "/etc"}]})
    client.bad("deleteVolume", 429, path=volume)
    client.good("endSession", path={"tenant": "default", "session": "s3"})
    client.good("deleteVolume", path=volume)
    client.bad("deleteVolume", 404, path=volume)
    client.bad("getVolume", 404, path=volume)


def snapshots(client):
    source = {"tenant": "default", "session": "s5"}
    client.good("createSession", 201, json={"session_id": "s5"})
    taken = client.good("takeSnapshot", 201, path=source, json={"name": "before"}).json()
    assert (taken["name"], taken["kept"]) == ("before", "files"), taken
    client.bad("takeSnapshot", 409, path=source, json={"name": "before"})
    client.bad("takeSnapshot", 400, path=source, json={"name": "a b"})
    client.bad("takeSnapshot", 404, path=NO_SESSION, json={})
    listed = client.good("listSnapshots", query={"tenant_id": "default", "session_id": "s5"}).json()
    assert [each["id"] for each in listed["snapshots"]] == [taken["id"]] and listed["stored"] > 0, listed
    client.bad("listSnapshots", 400, query={"tenant_id": "not a name"})
    assert client.good("getSnapshot", path={"snapshot": "before"}).json() == taken
    client.good("createSession", 201, json={"session_id": "s6", "snapshot": taken["id"]})
    client.good("endSession", path={"tenant": "default", "session": "s6"})
    client.bad("createSession", 404, json={"session_id": "s6", "snapshot": "absent"})
    forks = client.good("forkSession", 201, path=source, json={"ids": ["s5", "s6"]}).json()["forks"]
    assert forks[0]["error"]["code"] == "already_exists" and forks[1]["session"]["session_id"] == "s6", forks
    client.bad("forkSession", 400, path=source, json={"count": 101})
    client.bad("forkSession", 404, path=NO_SESSION, json={})
    for session in ("s5", "s6"):
        client.good("endSession", path={"tenant": "default", "session": session})
    client.good("deleteSnapshot", path={"snapshot": taken["id"]})
    client.bad("deleteSnapshot", 404, path={"snapshot": taken["id"]})
    client.bad("getSnapshot", 404, path={"snapshot": "before"})


def leases(client):
    judged = client.good("judge", json={
        "language": "python", "submission_files": [{"filename": "main.py", "content": "print(int(input()) * 2)"}],
        "program_command": None, "test_cases": [["21"], ["x"]],
        "assets": [{"target": "/tmp/a", "content": "YQ=="}]}).json()
    assert [each["category"] for each in judged["results"]] == ["success", "runtime_error"], judged
    client.bad("judge", 422, json={"language": "cobol", "submission_files": []})
    client.bad("judge", 422, raw=b"{", content_type="application/json")
    lease = {"id": lend(client)}
    client.bad("lend", 400, path={"language": "python"})
    client.bad("lend", 422, path={"language": "cobol"})
    client.bad("lend", 422, path={"language": "python"}, json={"network": "host"})
    nothing = {"id": "0" * 32}
    client.good("prepare", path=lease, json={"submission_files": {
        "main.py": {"filename": "main.py", "content": "print(sum(map(int, open(0))))"},
        "web.py": {"content": client.web_server}}})
    client.bad("prepare", 422, path=lease, json={"submission_files": 1})
    client.bad("prepare", 404, path=nothing, json={"submission_files": {}})
    asset = {"target": "/tmp/data", "content": "YQ==", "read_only": True}
    client.good("inject", path=lease, json={"resolved_assets": [asset]})
    client.bad("inject", 400, path=lease, json={"resolved_assets": [asset | {"target": "/etc/passwd"}]})
    command = {"command": "cat /tmp/data", "timeout": 10, "workdir": "/app"}
    ran = client.good("runCommand", path=lease, json=command).json()
    assert (ran["stdout"], ran["category"]) == ("a", "success"), ran
    client.bad("runCommand", 400, path=lease, json={"command": ""})
    client.bad("runCommand", 422, path=lease, raw=b"{", content_type="application/json")
    batch = {"commands": ["20", "22"], "program_command": "python3 main.py"}
    summed = client.good("runBatch", path=lease, json=batch).json()
    assert summed["stdout"] == "42\n", summed
    client.bad("runBatch", 422, path=lease, json={"commands": "ls"})
    client.good("runCommand", path=lease, json={"command": "python3 web.py 8000 &"})
    hello = {"method": "GET", "endpoint": "/"}
    eventually(lambda: client.ask("requestApp", path=lease, json=hello).status == 200, "the app listens")
    app = client.good("requestApp", path=lease, json={
        "method": "POST", "endpoint": "/x",
        "kwargs": {"params": {"a": 1}, "json": {"b": 2}, "headers": {"X-Y": "z"}, "timeout": 20}}).json()
    assert app["status_code"] == 200 and json.loads(app["text"])["path"] == "/x?a=1", app
    client.bad("requestApp", 422, path=lease, json={"method": "GET"})
    client.bad("requestApp", 415, path=lease, raw=b"{}", content_type="text/plain")
    extracted = client.good("extractFile", path=lease, query={"path": "main.py", "max_bytes": 1000}).json()
    assert extracted["content_text"].startswith("print"), extracted
    client.bad("extractFile", 404, path=lease, query={"path": "none.py"})
    client.bad("extractFile", 422, path=lease, query={"path": "main.py", "max_bytes": 0})
    client.good("giveBack", path={"language": lease["id"]})
    client.bad("giveBack", 404, path={"language": lease["id"]})
    again = {"id": lend(client)}
    client.good("destroyLease", path=again)
    client.bad("destroyLease", 404, path=again)
    assert set(client.good("stats").json()) == {"base", "python", "session"}
    client.bad_method("stats", "POST")


def lend(client):
    """The pool has one sandbox, which may still be on its way back."""
    eventually(lambda: client.good("stats").json()["python"]["idle"] == 1, "a sandbox is idle")
    return client.good("lend", path={"language": "python"}).json()["sandbox_id"]


def end_of_session(client):
    client.bad("endSession", 400, path=SESSION, query={"mode": "later"})
    client.good("endSession", path=SESSION, query={"mode": "wait"})
    client.bad("endSession", 404, path=SESSION)


def main():
    program, contract_file, web_server = sys.argv[1:]
    contract = Contract(contract_file)
    contract.check_itself()
    skip_without_crun(TEST)
    with Server(CONFIG, [program, "serve"]) as server:
        token = next(line for line in server.printed if line.startswith("cloche_"))
        client = Client(contract, server, token)
        made = server.run(program, "token", "create", "--tenant", "other", "--role", "user", "--json")
        client.user_token = json.loads(made)["token"]
        client.web_server = pathlib.Path(web_server).read_text(encoding="utf-8")
        for part in (service_itself, sessions, in_runs.runs, in_runs.streams, in_runs.background_runs, in_runs.contexts,
                     in_files.files, in_files.terminal, in_files.proxy, lifecycle, volumes, snapshots, leases, end_of_session):
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
