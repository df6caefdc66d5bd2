"""One tenant that takes all it can, by every route that costs something: programs, terminals, interpreters, streams,
connections, files, leases, places in queues."""
import contextlib
import http.client
import json
import threading
import time

import house
import pytest
import tokens
from websocket import Rude

QUOTAS = (", auth: tokens, quotas: {tenants: {programs: {runs: 3}, found: {runs: 2}, minds: {contexts: 2}, "
          "readers: {streams: 2}, callers: {connections: 2}, copiers: {files: 2}, lender: {leases: 1}, "
          "busy: {calls: 2}}}")
PYTHON = ("  python: {runtime: crun, work_dir: /app, pool: {pool_size: 1, scale_limit: 4, wait_timeout: 30s}}\n"
          "  single: {runtime: crun, pool: {pool_size: 0, scale_limit: 4}}")
TENANTS = ("programs", "found", "minds", "readers", "callers", "copiers", "lender", "busy", "greedy", "modest", "shell")


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    more = "sessions: {most: 60, terminal_timeout: 3s}"
    with house.House(server=QUOTAS, profiles=PYTHON, more=more) as started:
        started.admin = next(line for line in started.printed if line.startswith("cloche_"))
        for tenant in TENANTS:
            setattr(started, tenant, tokens.create(started, tenant))
        house.eventually(lambda: started.ask("GET", "/stats", token=started.shell).status == 200, "the last token is known")
        yield started


def background(server, token, session="s", command="exec sleep 300"):
    body = {"session_id": session, "command": command, "background": True}
    return server.post("/bash", body, token=token)


def terminal(server, tenant, session="s", command="exec sleep 300"):
    target = f"/sessions/{tenant}/{session}/terminal?command=" + command.replace(" ", "%20")
    return Rude(server, target, f"Authorization: Bearer {getattr(server, tenant)}\r\n")


def expect_over(answer, word):
    assert answer.status == 429 and int(answer.headers["Retry-After"]) >= 1, answer
    assert word in answer.body.decode(), answer


def test_terminals_beyond_the_quota_of_runs__are_refused(server):
    """tries: programs on terminals, where no runs are left. must: terminals and runs are one quota."""
    runs = [background(server, server.programs) for _ in range(2)]
    assert [run.status for run in runs] == [202, 202]
    with terminal(server, "programs") as first:
        assert first.status == 101
        with terminal(server, "programs") as second:
            assert second.status == 429
            assert any(field.lower().startswith("retry-after") for field in second.fields)
        expect_over(background(server, server.programs), "runs")
    house.eventually(lambda: background(server, server.programs).status == 202, "the terminal's place is free again")


def test_terminals_of_one_session__count_among_its_runs(server):
    """tries: more than 32 programs in a session by terminals. must: the 33rd is refused, whatever it is."""
    with contextlib.ExitStack() as held:
        for _ in range(32):
            assert held.enter_context(terminal(server, "modest", "many", "read x")).status == 101
        assert terminal(server, "modest", "many").status == 429
        assert background(server, server.modest, "many").status == 429


def test_terminal_that_never_ends__ends_at_its_time_limit(server):
    """tries: a program on a terminal that prints for ever. must: ended after terminal_timeout, and said so."""
    begun = time.monotonic()
    with terminal(server, "shell", command="while true; do echo on; sleep 0.2; done") as line:
        assert line.status == 101
        last = None
        while (frame := line.receive()) is not None and frame[0] != 8:
            last = frame
        assert json.loads(last[1])["ending"] == "wall_limit", last
    assert 2.5 < time.monotonic() - begun < 20


def test_background_runs_found_after_a_crash__count_again(server):
    """tries: to get rid of one's tickets by a crash of the server. must: what runs counts, so that one more is refused."""
    started = [background(server, server.found).json()["run_id"] for _ in range(2)]
    expect_over(background(server, server.found), "runs")
    server.kill_and_start_again()
    house.eventually(lambda: server.ask("GET", "/readyz").status == 200, "ready again")
    expect_over(background(server, server.found), "runs")
    assert server.ask("DELETE", f"/sessions/found/s/runs/{started[0]}", token=server.found).status == 200
    assert background(server, server.found).status == 202


def test_interpreters_that_are_kept__count(server):
    """tries: an interpreter in each of many sessions. must: contexts of all sessions are one quota of the tenant."""
    def create(session, name):
        return server.post(f"/sessions/minds/{session}/contexts", {"name": name, "language": "python"}, token=server.minds)
    assert create("a", "one").status == 201 and create("b", "two").status == 201
    expect_over(create("c", "three"), "contexts")
    refused = server.post("/execute", {"session_id": "c", "code": "1", "context": "four"}, token=server.minds)
    expect_over(refused, "contexts")
    assert server.ask("DELETE", "/sessions/minds/a/contexts/one", token=server.minds).status == 200
    assert create("c", "three").status == 201
    assert server.ask("DELETE", "/sessions/minds/b", token=server.minds).status == 200
    assert create("a", "four").status == 201, "the end of a session gives its contexts' places back"


def follow(server, token, target):
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    line.request("GET", target, headers={"Authorization": "Bearer " + token, "Accept": "text/event-stream"})
    return line, line.getresponse()


def test_followers_of_runs__count(server):
    """tries: many clients that follow one run. must: the tenant's streams are counted, waiting for a run among them."""
    run = background(server, server.readers).json()["run_id"]
    target = f"/sessions/readers/s/runs/{run}"
    held = [follow(server, server.readers, target + "/events") for _ in range(2)]
    assert [answer.status for _, answer in held] == [200, 200]
    expect_over(server.ask("GET", target + "/events", token=server.readers), "streams")
    expect_over(server.post(target + "/wait", {"timeout": 1}, token=server.readers), "streams")
    body = {"session_id": "s", "command": "true"}
    live = server.post("/bash", body, headers={"Accept": "text/event-stream"}, token=server.readers)
    expect_over(live, "streams")
    for line, answer in held:
        answer.close()
        line.close()
    house.eventually(lambda: server.post(target + "/wait", {"timeout": 0.1}, token=server.readers).status == 200, "places are free")


SLOW_APP = r"""
import socket, threading, time
def serve(line):
    got = line.recv(65536)
    if b"/hold" in got: time.sleep(300)
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    line.close()
listener = socket.create_server(("127.0.0.1", 8000))
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


def test_connections_into_a_sandbox__count(server):
    """tries: many requests to an app that does not answer. must: the tenant's connections are counted."""
    body = {"session_id": "s", "code": SLOW_APP, "background": True}
    assert server.post("/execute", body, token=server.callers).status == 202
    app = "/sessions/callers/s/proxy/8000"
    house.eventually(lambda: server.ask("GET", app + "/", token=server.callers).status == 200, "the app listens")
    with contextlib.ExitStack() as held:
        for _ in range(2):
            line = held.enter_context(server.connect())
            line.sendall(f"GET {app}/hold HTTP/1.1\r\nHost: localhost\r\n"
                         f"Authorization: Bearer {server.callers}\r\n\r\n".encode())
        house.eventually(lambda: server.ask("GET", app + "/", token=server.callers).status == 429, "both are counted")
        expect_over(server.ask("GET", app + "/", token=server.callers), "connections")
    house.eventually(lambda: server.ask("GET", app + "/", token=server.callers).status == 200, "places are free")


def test_file_operations_under_way__count(server):
    """tries: downloads that are never read. must: the tenant's file operations are counted; others' are not held up."""
    server.bash("s", "head -c 50000000 /dev/urandom > large", token=server.copiers)
    with contextlib.ExitStack() as held:
        for _ in range(2):
            line = held.enter_context(server.connect())
            line.sendall(f"GET /sessions/copiers/s/files/large HTTP/1.1\r\nHost: localhost\r\n"
                         f"Authorization: Bearer {server.copiers}\r\n\r\n".encode())
        read = {"session_id": "s", "path": "large", "limit": 1, "encoding": "replace"}
        house.eventually(lambda: server.post("/read", read, token=server.copiers).status == 429, "both are counted")
        expect_over(server.post("/glob", {"session_id": "s", "pattern": "*"}, token=server.copiers), "files")
        expect_over(server.ask("GET", "/sessions/copiers/s/copy", token=server.copiers), "files")
        assert server.post("/glob", {"session_id": "s", "pattern": "*"}, token=server.modest).status == 200
    glob = {"session_id": "s", "pattern": "*"}
    house.eventually(lambda: server.post("/glob", glob, token=server.copiers).status == 200, "places are free")


def test_many_file_operations_at_once__wait_for_their_turn(server):
    """tries: 100 reads at a time in one session. must: all succeed; control of the quota above."""
    server.bash("s", "echo x > f", token=server.modest)
    answers = house.together(
        lambda _: server.post("/read", {"session_id": "s", "path": "f"}, token=server.modest), list(range(100)))
    assert {answer.status for answer in answers} == {200}


def test_leases__count(server):
    """tries: a second lease, and a third after giving back. must: leases are a quota; giving back frees a place."""
    first = server.post("/sandboxes/python", {}, token=server.lender)
    assert first.status == 200, first
    expect_over(server.post("/sandboxes/python", {}, token=server.lender), "leases")
    assert server.ask("DELETE", f"/sandboxes/{first.json()['sandbox_id']}", token=server.lender).status == 200
    again = server.post("/sandboxes/python", {}, token=server.lender)
    assert again.status == 200, again
    assert server.ask("DELETE", f"/sandboxes/{again.json()['sandbox_id']}/destroy", token=server.lender).status == 200


def test_requests_under_way__count(server):
    """tries: requests that wait, as many as the server takes. must: a tenant's requests under way are a quota."""
    run = background(server, server.busy).json()["run_id"]
    target = f"/sessions/busy/s/runs/{run}"
    held = [follow(server, server.busy, target + "/events") for _ in range(2)]
    expect_over(server.ask("GET", "/stats", token=server.busy), "calls")
    assert server.ask("GET", "/stats", token=server.modest).status == 200
    for line, answer in held:
        answer.close()
        line.close()
    house.eventually(lambda: server.ask("GET", "/stats", token=server.busy).status == 200, "places are free")


def test_all_of_a_pool__is_not_to_be_had_by_one_tenant(server):
    """tries: every sandbox of a pool. must: half of it at most, and another tenant is lent one at once."""
    lent = [server.post("/sandboxes/python", {}, token=server.greedy) for _ in range(3)]
    try:
        assert [answer.status for answer in lent] == [200, 200, 400], lent
        assert "tenant_limit" in lent[2].json()["detail"]
        other = server.post("/sandboxes/python", {}, token=server.modest)
        assert other.status == 200, other
        assert server.ask("DELETE", f"/sandboxes/{other.json()['sandbox_id']}", token=server.modest).status == 200
    finally:
        for answer in lent[:2]:
            server.ask("DELETE", f"/sandboxes/{answer.json()['sandbox_id']}", token=server.greedy)


def execute(server, token, code):
    body = {"language": "python", "submission_files": [{"filename": "main.py", "content": code}],
            "program_command": "python3 main.py", "test_cases": [[]]}
    return server.post("/api/v1/execute", body, token=token)


def test_queue_full_of_one_tenants_submissions__does_not_hold_another_up(server):
    """tries: forty slow submissions at once. must: another tenant's is judged long before they are through."""
    done = []
    flood = [threading.Thread(target=lambda: done.append(execute(server, server.greedy, "import time; time.sleep(0.5)")))
             for _ in range(40)]
    for each in flood:
        each.start()
    house.eventually(lambda: len(done) >= 2, "the flood is under way")
    answer = execute(server, server.modest, "print(42)")
    behind = len(done)
    for each in flood:
        each.join()
    assert answer.status == 200 and answer.json()["results"][0]["output"].strip() == "42", answer
    assert behind < 20, f"{behind} of 40 came first"
    assert {each.status for each in done} == {200}
