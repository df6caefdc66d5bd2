"""Files of a session, its terminal, and servers that listen in it, by the letter of the contract."""
import base64
import io
import json
import pathlib
import tarfile

from openapi_cases import NO_SESSION, SESSION, eventually


def files(client):
    code = "def f():\n    return 1\n"
    client.good("write", json={"session_id": "s1", "path": "src/a.py", "content": code, "mode": "0640"})
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
    found = client.good("grep", json={
        "session_id": "s1", "pattern": "RETURN", "ignore_case": True, "glob": "*.py", "context": 1}).json()
    assert [(each["line"], each["before"]) for each in found["matches"]] == [(2, ["def f():"])], found
    client.bad("grep", 400, json={"session_id": "s1", "pattern": "("})
    listed = client.good("glob", json={"session_id": "s1", "pattern": "**/*.py", "limit": 10}).json()
    assert listed["entries"] == [{"path": "src/a.py", "type": "file", "size": 28}], listed
    client.bad("glob", 400, json={"session_id": "s1", "pattern": "*", "limit": 0})
    client.bad("glob", 400, json={"session_id": "s1", "pattern": "*", "exclude": [""]})
    left = client.good("glob", json={"session_id": "s1", "pattern": "**", "exclude": ["src/"]}).json()
    assert "b.bin" in left["paths"] and not [each for each in left["paths"] if each.startswith("src")], left
    changes(client)
    raw_files(client)
    trees(client)


def changes(client):
    def body(path, **fields):
        return {"session_id": "s1", "path": path, **fields}
    about = client.good("stat", json=body("src/a.py")).json()
    assert (about["type"], about["size"], about["mode"]) == ("file", 28, "0640"), about
    client.good("stat", json=body("/tmp", follow=False))
    client.bad("stat", 404, json=body("none"))
    client.bad("stat", 403, json=body("/proc/1/status"))
    assert client.good("mkdir", json=body("m/n", parents=True, mode="0750")).json()["created"] is True
    assert client.good("mkdir", json=body("m/n", parents=True)).json()["created"] is False
    with client.open_events("watchFiles", path=SESSION, query={"path": "m/n"}) as next_event:
        assert next_event()[0] == "ready"
        client.good("write", json=body("m/n/watched", content="x"))
        name, told = next_event()
        assert name == "changes" and "watched" in json.dumps(told), (name, told)
        client.good("delete", json=body("m/n/watched"))
    client.bad("watchFiles", 404, path=SESSION, query={"path": "none"})
    client.bad("watchFiles", 404, path=NO_SESSION)
    client.bad("mkdir", 409, json=body("m/n"))
    client.bad("mkdir", 404, json=body("x/y/z"))
    client.good("write", json=body("m/f", content="one two two"))
    edited = client.good("edit", json=body("m/f", old="one", new="1")).json()
    assert edited == {"path": "m/f", "replaced": 1, "size": 9}, edited
    refused = {fields["old"]: client.bad("edit", 409, json=body("m/f", new="", **fields)).json()["error"]["code"]
               for fields in ({"old": "two"}, {"old": "three"}, {"old": "1", "expected": 2})}
    assert refused == {"two": "other_count", "three": "no_match", "1": "other_count"}, refused
    client.good("edit", json=body("m/f", old_base64="dHdv", new_base64="/w==", replace_all=True))
    client.bad("edit", 400, json=body("m/f", old="", new="x"))
    client.bad("edit", 400, json=body("m/f", new="x"))
    client.bad("edit", 404, json=body("none", old="x", new="y"))
    client.bad("edit", 413, json=body("m/f", old="x", new="y" * (1 << 20) + "y"))
    client.good("move", json=body("m/f", to="m/n/g"))
    client.good("write", json=body("m/f", content=""))
    client.bad("move", 409, json=body("m/f", to="m/n/g"))
    client.good("move", json=body("m/f", to="m/n/g", overwrite=True))
    client.good("move", json=body("m/n/g", to="/tmp/new/g", parents=True))
    client.bad("move", 404, json=body("none", to="x"))
    client.bad("move", 400, json=body("m", to="m/n/o"))
    client.bad("delete", 400, json=body("m"))
    client.bad("delete", 400, json=body("."))
    client.bad("delete", 404, json=body("none"))
    assert client.good("delete", json=body("none", missing_ok=True)).json()["removed"] == 0
    assert client.good("delete", json=body("m", recursive=True)).json()["removed"] == 2


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
    client.bad("copyOut", 400, path=SESSION, query={"path": "../etc"})
    client.bad("copyOut", 403, path=SESSION, query={"path": "/proc"})


def terminal(client):
    messages = client.contract.operations["terminal"].responses["101"]["x-messages"]
    wanted = {"rows": 30, "cols": 100, "command": "read x; stty size; exit 7"}
    with client.open_websocket("terminal", path=SESSION, query=wanted) as socket:
        for control in ({"type": "resize", "rows": 5, "cols": 42},
                        {"type": "signal", "signal": "SIGCONT", "target": "program"}):
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
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})


def start_web_server(client):
    started = client.good("bash", 202, json={
        "session_id": "s1", "background": True, "files": {"web_server.py": client.web_server},
        "command": "exec python3 web_server.py 8000"}).json()
    run = {**SESSION, "run": started["run_id"]}
    eventually(lambda: "listening" in client.good("getRunOutput", path=run).json()["content"], "the server listens")
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
