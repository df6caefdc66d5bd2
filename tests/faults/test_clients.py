"""Clients that are slow, or vanish at any stage: they take their own run along and nothing else."""
import json
import socket
import time

import pytest
from harness import host
from harness.target import CRUN
from waiting import eventually

import cloche

CROWD = 200


def request(body, path="/bash", more=""):
    data = json.dumps(body).encode()
    head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n{more}\r\n").encode()
    return head, data


def connect(server):
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(60)
    line.connect(server.socket)
    return line


def running(server, session="s"):
    """Whether a program runs in the session."""
    return bool(host.supervisors_of(CRUN, server.sandbox_of(session)))


def expect_quiet(server, descriptors):
    """All that the clients brought is gone again."""
    eventually(lambda: server.metric("cloche_http_connections") <= 1, "all connections are closed")
    eventually(lambda: host.open_descriptors(server.pid) <= descriptors + 3, "all descriptors are closed")
    assert server.bash("s", "echo well")["stdout"] == "well\n"


@pytest.fixture
def server(serve):
    made = serve(CRUN, {"server": {"limits": {"head_timeout": "1s", "write_timeout": "2s"}}}).start().wait_until_ready()
    assert made.bash("s", "head -c 9000000 /dev/zero > big; touch small").status == 200
    eventually(lambda: made.stats("session")["idle"] == 2, "the pool is full")
    return made


STAGES = ["before the head", "in the head", "before the body", "in the body", "before the answer"]


@pytest.mark.parametrize("stage", STAGES)
def test_vanishes__its_run_ends_and_nothing_of_it_is_left(stage, server):
    before = host.open_descriptors(server.pid)
    head, data = request({"session_id": "s", "command": "exec sleep 300"})
    sent = {"before the head": b"", "in the head": head[:30], "before the body": head, "in the body": head + data[:5],
            "before the answer": head + data}[stage]
    line = connect(server)
    line.sendall(sent)
    if stage == "before the answer":
        eventually(lambda: running(server), "the program runs")
    line.close()
    eventually(lambda: not running(server), "no program runs")
    expect_quiet(server, before)


def test_vanishes_from_events__the_run_waits_for_it_to_come_back(server):
    before = host.open_descriptors(server.pid)
    body = {"session_id": "s", "command": "echo on; sleep 1; echo off"}
    head, data = request(body, more="Accept: text/event-stream\r\n")
    line = connect(server)
    line.sendall(head + data)
    seen = b""
    while b"on\\n" not in seen:
        seen += line.recv(65536)
    line.close()
    run = seen.decode().partition('"run_id":"')[2].partition('"')[0]
    told = server.call("POST", f"/sessions/default/s/runs/{run}/wait", {"timeout": 30})
    assert told["result"]["exit_code"] == 0, told.text
    expect_quiet(server, before)


def test_vanishes_from_a_terminal__the_program_goes_with_it(server):
    before = host.open_descriptors(server.pid)
    client = cloche.Client("unix:" + server.socket, token="", tenant="default")
    terminal = client.terminal("s", "echo open; exec sleep 300")
    terminal.read_until("open")
    assert running(server)
    terminal._socket.shutdown(socket.SHUT_RDWR)  # without a word
    eventually(lambda: not running(server), "no program runs")
    terminal._socket.close()
    client.close()
    expect_quiet(server, before)


def test_does_not_finish_its_head__is_turned_away_and_nobody_waits_for_it(server):
    line = connect(server)
    line.sendall(b"GET /healthz HTTP/1.1\r\n")
    began = time.monotonic()
    assert server.call("GET", "/healthz").took < 5
    answer = line.recv(65536)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408 "), answer
    assert time.monotonic() - began < 20
    line.close()


def test_does_not_read_its_answer__is_cut_off_and_others_go_on(server):
    before = host.open_descriptors(server.pid)
    line = connect(server)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.sendall(b"GET /sessions/default/s/files/big HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert line.recv(12) == b"HTTP/1.1 200"
    assert server.bash("s", "echo well")["stdout"] == "well\n"
    eventually(lambda: server.metric("cloche_http_connections") <= 1, "it is cut off")
    line.close()
    expect_quiet(server, before)


def test_two_hundred_at_once_and_all_cut__the_server_is_as_before(server, note):
    before = host.open_descriptors(server.pid)
    lines = []
    for number in range(CROWD):
        head, data = request({"session_id": f"c{number % 8}", "command": "exec sleep 300"})
        line = connect(server)
        line.sendall(head + data if number % 3 else head + data[:7])
        lines.append(line)
    eventually(lambda: server.metric("cloche_http_requests_in_flight") > CROWD / 4, "they are being served")
    began = time.monotonic()
    for line in lines:
        line.close()
    for number in range(8):
        name = f"c{number}"
        eventually(lambda s=name: server.session(s).status == 404 or not running(server, s), "all have ended")
        server.end_session(name)
    whole = time.monotonic() - began
    eventually(lambda: server.stats("session")["active"] == 1, "their sandboxes are given back")
    expect_quiet(server, before + 20)  # the pool may keep a few more idle than before
    note("others: nothing", whole, "their own runs")
