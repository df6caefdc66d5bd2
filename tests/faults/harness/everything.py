"""All that a client can do with a server, once; and the steps at which a server of a build with tests can be made to
fail."""
import base64
import contextlib
import json
import os
import socket
import subprocess
import time

from .served import program


def fault_points():
    """Names of all, as the program tells them."""
    listed = subprocess.run([program(), "fault-points"], capture_output=True, text=True, timeout=60, check=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def leave_something(server):
    """A server with a session that counts, one in which nothing runs, one that is paused, and a lease that no one will
    remember, killed."""
    server.start().wait_until_ready()
    assert server.write("kept", "a/file", "all of it").status == 200
    assert server.bash("kept", "echo on; exec sleep 1000", background=True).status == 202
    assert server.write("quiet", "file", "x").status == 200
    assert server.write("asleep", "file", "asleep").status == 200
    assert server.call("POST", "/sessions/default/asleep/pause").status == 200
    assert server.call("POST", "/sandboxes/python").status == 200
    end = time.monotonic() + 30
    while server.stats("session")["idle"] == 0 and time.monotonic() < end:
        time.sleep(0.02)
    server.kill()


def terminal(server, session, command, seconds=30):
    """The status of the answer, once the terminal has been closed by the server. 0 where nothing came, -1 where it was
    not closed."""
    key = base64.b64encode(os.urandom(16)).decode()
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as line:
        line.settimeout(seconds)
        try:
            line.connect(server.socket)
            line.sendall((f"GET /sessions/default/{session}/terminal?command={command} HTTP/1.1\r\nHost: localhost\r\n"
                          "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                          f"Sec-WebSocket-Key: {key}\r\n\r\n").encode())
            said = b""
            while piece := line.recv(65536):
                said += piece
                if b"\x88" in said.partition(b"\r\n\r\n")[2] or (b" 101 " not in said[:20] and b"\r\n\r\n" in said):
                    break
        except TimeoutError:
            return -1
        except OSError:
            return 0
    return int(said.split()[1]) if said else 0


def go_through_sandbox_of_e2b(ask, turn):
    key = {"X-API-Key": "e2b_00"}
    made = ask("E2B sandbox " + turn, "POST", "/sandboxes", {"templateID": "base", "timeout": 60}, headers=key)
    if made.status != 201:
        return
    to = {"E2b-Sandbox-Id": made["sandboxID"], "X-Access-Token": made["envdAccessToken"]}
    start = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", "echo on"]}, "stdin": False}).encode()
    ask("E2B process " + turn, "POST", "/process.Process/Start", b"\0" + len(start).to_bytes(4, "big") + start,
        headers=to | {"E2b-Sandbox-Port": "49983", "Content-Type": "application/connect+json"})
    ask("E2B code " + turn, "POST", "/execute", {"code": "1 + 1"}, headers=to | {"E2b-Sandbox-Port": "49999"})
    ask("E2B end " + turn, "DELETE", f"/sandboxes/{made['sandboxID']}", headers=key)


def go_through_everything(server):
    """Does all of it, whatever the answers are, and gives them by what was asked."""
    answers = {}

    def ask(name, method, target, body=None, **options):
        answers[name] = server.call(method, target, body, timeout=45, **options)
        return answers[name]

    ask("earlier runs", "GET", "/sessions/default/quiet/runs")
    ask("write", "POST", "/write", {"session_id": "made", "path": "file", "content": "x"})
    ask("run", "POST", "/execute", {"session_id": "made", "code": "open('made', 'w').write('x'); print(1)",
                                    "stdin": "some input"})
    ask("context", "POST", "/execute", {"session_id": "made", "code": "1 + 1", "context": "c"})
    ask("close context", "DELETE", "/sessions/default/made/contexts/c")
    ask("events", "POST", "/bash", {"session_id": "made", "command": "echo one; echo two"},
        headers={"Accept": "text/event-stream"})
    ask("background", "POST", "/bash", {"session_id": "made", "background": True,
                                        "command": "exec python3 -m http.server --bind 127.0.0.1 8000"})
    end = time.monotonic() + 15
    while ask("proxy", "GET", "/sessions/default/made/proxy/8000/").status == 502 and time.monotonic() < end:
        time.sleep(0.1)
    answers["terminal"] = terminal(server, "made", "echo+hi")
    for way in ("", "/destroy"):
        lent = ask("lend" + way, "POST", "/sandboxes/python")
        if lent.status == 200:
            ask("work in lease" + way, "POST", f"/sandboxes/{lent['sandbox_id']}/run", {"command": "echo on"})
            ask("end lease" + way, "DELETE", f"/sandboxes/{lent['sandbox_id']}{way}")
    ask("judge", "POST", "/api/v1/execute",
        {"language": "python", "submission_files": [{"filename": "main.py", "content": "print(input())"}],
         "test_cases": [["1"], ["2"]]})
    ask("end session", "DELETE", "/sessions/default/made?mode=cut")
    for turn in "123":
        ask("session with network " + turn, "POST", "/sessions", {"session_id": "n" + turn, "network": "allow-list"})
        ask("change network " + turn, "PUT", f"/sessions/default/n{turn}/network", {"network": "none"})
        ask("end session with network " + turn, "DELETE", f"/sessions/default/n{turn}")
    for turn in "123":
        one = f"/sessions/default/p{turn}"
        ask("session with a time " + turn, "POST", "/sessions", {"session_id": "p" + turn, "timeout": 600,
                                                                 "on_timeout": "pause"})
        ask("pause " + turn, "POST", one + "/pause")
        ask("metrics " + turn, "GET", one + "/metrics")
        ask("resume " + turn, "POST", one + "/resume", {"timeout": 600})
        ask("set the time " + turn, "PUT", one + "/timeout", {"timeout": 0.01})
        end = time.monotonic() + 5
        while '"state":"live"' in ask("look " + turn, "GET", one).text and time.monotonic() < end:
            time.sleep(0.02)
        ask("end paused session " + turn, "DELETE", one)
    for turn in "123":
        ask("create volume " + turn, "POST", "/volumes", {"name": "data", "size": "16m"})
        ask("use volume " + turn, "POST", "/sessions", {"session_id": "v" + turn, "volumes": [{"name": "data"}]})
        ask("end use " + turn, "DELETE", f"/sessions/default/v{turn}")
        ask("delete volume " + turn, "DELETE", "/volumes/default/data")
    ask("session with files", "POST", "/write", {"session_id": "kept-files", "path": "file", "content": "x"})
    for turn in "123":
        ask("take snapshot " + turn, "POST", "/sessions/default/kept-files/snapshots", {"name": "n" + turn})
        ask("restore snapshot " + turn, "POST", "/sessions", {"session_id": "r" + turn, "snapshot": "n" + turn})
        ask("end restored " + turn, "DELETE", f"/sessions/default/r{turn}")
        ask("fork " + turn, "POST", "/sessions/default/kept-files/fork", {"ids": ["f" + turn]})
        ask("end fork " + turn, "DELETE", f"/sessions/default/f{turn}")
        ask("delete snapshot " + turn, "DELETE", "/snapshots/n" + turn)
    ask("end session with files", "DELETE", "/sessions/default/kept-files")
    for turn in "123":
        go_through_sandbox_of_e2b(ask, turn)
    return answers
