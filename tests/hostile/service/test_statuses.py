"""What callers are told when a session ends under them, when they send what is not taken, when the host fails."""
import contextlib
import glob
import os
import pathlib
import signal
import threading

import hostile_tar as tar
import house
import pytest


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    with house.House(more="sessions: {most: 20}") as started:
        yield started


def beside(work):
    result = []
    thread = threading.Thread(target=lambda: result.append(work()))
    thread.start()

    def join():
        thread.join()
        return result[0]
    return join


def wake(seconds):
    """Ends the `sleep` of so many seconds, which is seen from the host."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if pathlib.Path(path).read_bytes() == f"sleep\0{seconds}\0".encode():
                os.kill(int(path.split("/")[2]), signal.SIGTERM)


def begun(server, session):
    house.eventually(lambda: server.post("/read", {"session_id": session, "path": "begun"}).status == 200, "it has begun")


def test_call_that_meets_the_end_of_its_session__is_told_so(server):
    """tries: calls while a session is being ended. must: 409 session_ending with Retry-After; what ran finishes."""
    session = house.name()
    run = beside(lambda: server.post("/bash", {"session_id": session, "command": "touch begun; sleep 104723; echo done"}))
    begun(server, session)
    ending = beside(lambda: server.ask("DELETE", f"/sessions/default/{session}?mode=wait"))
    house.eventually(lambda: server.ask("GET", f"/sessions/default/{session}").json()["state"] == "ending", "it ends")
    calls = [("POST", "/bash", {"session_id": session, "command": "true"}),
             ("POST", "/read", {"session_id": session, "path": "begun"}),
             ("GET", f"/sessions/default/{session}/runs", None),
             ("GET", f"/sessions/default/{session}/proxy/80/", None),
             ("POST", f"/sessions/default/{session}/contexts", {"name": "c", "language": "python"}),
             ("POST", "/sessions", {"session_id": session})]
    for method, target, body in calls:
        answer = server.ask(method, target, body)
        assert (answer.status, answer.code()) == (409, "session_ending"), (target, answer)
        assert answer.headers["Retry-After"] == "1"
    wake("104723")
    assert run().json()["stdout"] == "done\n" and ending().status == 200
    assert server.bash(session, "echo new")["stdout"] == "new\n"


@pytest.mark.parametrize("how", ["plain", "context", "events", "background"])
def test_run_whose_session_is_cut__is_lost(server, how):
    """tries: to end a session under each kind of run. must: sandbox_lost, never 499: the caller took nothing back."""
    session = house.name()
    code = "open('begun', 'w'); import time; time.sleep(60)"
    body = {"session_id": session, "code": code}
    headers = {}
    if how == "context":
        body["context"] = "c"
    if how == "events":
        headers["Accept"] = "text/event-stream"
    if how == "background":
        run_id = server.post("/execute", body | {"background": True}).json()["run_id"]
        run = beside(lambda: server.post(f"/sessions/default/{session}/runs/{run_id}/wait", {"timeout": 60}))
    else:
        run = beside(lambda: server.post("/execute", body, headers=headers))
    begun(server, session)
    assert server.ask("DELETE", f"/sessions/default/{session}?mode=cut").status == 200
    answer = run()
    assert "sandbox_lost" in answer.body.decode() and "cancelled" not in answer.body.decode(), answer
    assert answer.status == (410 if how in ("plain", "context") else 200), answer


@pytest.mark.parametrize("entry", [
    tar.header("d", b"3", devices=b"0000001\x000000003\0"), tar.header("d", b"4", devices=b"0000010\x000000000\0"),
    tar.header("p", b"6"), tar.header("s", b"S", magic=b"ustar  \0"), tar.header("x", b"Z")],
    ids=["character device", "block device", "fifo", "sparse", "unknown"])
def test_archive_with_what_is_not_unpacked__is_the_senders_fault(server, entry):
    """tries: devices, FIFOs, sparse files, kinds that nobody knows. must: 400."""
    answer = server.ask("POST", "/sessions/default/archive/copy", tar.file("first", b"x") + entry + tar.END,
                        headers={"Content-Type": "application/x-tar"})
    assert (answer.status, answer.code()) == (400, "invalid_argument"), answer
