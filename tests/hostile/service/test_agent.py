"""A sandbox's agent that lies: real server, real sandbox, and liar.py in the agent's place."""
import concurrent.futures
import contextlib
import json
import socket
import time

import house
import liar
import pytest

LIES = ["lie-" + lie for lie in liar.LIES]


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    with house.House.with_liars(LIES, more="sessions: {most: 100}") as started:
        started.is_well()
        yield started


@pytest.fixture(autouse=True)
def nobody_else_is_harmed(server):
    """During every lie the server's memory stays within bounds, and after it the neighbour works."""
    with server.memory_within(160):
        yield
        assert server.is_well() < 30


def open_session(server, lie):
    session = house.name()
    return session, server.post("/sessions", {"session_id": session, "profile": "lie-" + lie})


def end(server, session):
    server.ask("DELETE", f"/sessions/default/{session}")


@contextlib.contextmanager
def session_of(server, lie):
    session, made = open_session(server, lie)
    assert made.status == 201, made
    try:
        yield session
    finally:
        end(server, session)


def bash(server, session, **options):
    return server.post("/bash", {"session_id": session, "command": "x", "timeout": 1} | options)


@pytest.mark.parametrize("lie, status", [
    ("garbage", 503), ("version", 503), ("nonce", 503), ("huge-frame", 503), ("dies", 503),
    ("never-ready", 504), ("half-frame", 504), ("hello-flood", 504)])
def test_first_words_that_are_none__the_sandbox_is_refused(server, lie, status):
    """tries: to be taken for an agent: noise, another protocol, another's nonce, a frame of 4 GiB, half a frame and
           silence, hellos without end, no word at all.
    must: an error that says so, within the time that an agent has; no sandbox left.
    """
    begun = time.monotonic()
    _, made = open_session(server, lie)
    assert made.status == status, made
    assert time.monotonic() - begun < 30
    assert "agent" in made.json()["error"]["message"] or "sandbox" in made.json()["error"]["message"]


def test_results_of_streams_that_nobody_opened__count_for_nothing(server):
    """tries: answers in advance, for every stream that will be opened.
    must: dropped; the later streams get their own answers.
    """
    with session_of(server, "unknown-streams") as session:
        answer = bash(server, session)
        assert answer.status == 200, answer
        assert (answer.json()["stdout"], answer.json()["exit_code"]) == ("honest\n", 0)


@pytest.mark.parametrize("lie", ["long-message", "servers-frames"])
def test_rules_of_the_channel_broken__cut_off_at_once(server, lie):
    """tries: a message without end, a frame that only servers send.
    must: 502 for who waits, 410 from then on: that sandbox is lost and no other.
    """
    with session_of(server, lie) as session:
        begun = time.monotonic()
        answer = bash(server, session)
        assert answer.status == 502 and "violated the protocol" in answer.json()["error"]["message"], answer
        assert time.monotonic() - begun < 60
        after = bash(server, session)
        assert after.status in (410, 502), after


def test_output_without_end_within_its_credit__ends_at_the_cap(server):
    """tries: to fill the server's memory with what a program prints, byte by byte within the rules.
    must: an error at the cap of what was to be kept; memory stays.
    """
    with session_of(server, "endless-output") as session:
        answer = bash(server, session)
        assert answer.status == 502, answer
        assert "more output than requested" in answer.json()["error"]["message"]


def test_end_told_twice__the_first_counts(server):
    """tries: an outcome, another outcome, three ends of the stream.
    must: the first; nothing of it reaches the next run.
    """
    with session_of(server, "replies-twice") as session:
        for _ in range(3):
            answer = bash(server, session)
            assert answer.status == 200 and answer.json()["exit_code"] == 0, answer
            assert answer.json()["stdout"] == "honest\n"


def test_outcome_before_output__what_comes_after_is_dropped(server):
    """tries: output behind the outcome. must: the outcome ends the run; later runs see none of it."""
    with session_of(server, "outcome-first") as session:
        for _ in range(3):
            answer = bash(server, session)
            assert answer.status == 200 and answer.json()["stdout"] == "", answer


def test_no_outcome_at_all__is_an_error(server):
    """tries: a stream that ends well without a word of how the program did. must: 502, not a success."""
    with session_of(server, "no-outcome") as session:
        answer = bash(server, session)
        assert answer.status == 502, answer
        assert "did not report how the program ended" in answer.json()["error"]["message"]


def test_numbers_beyond_all_bounds__the_answer_is_still_json(server):
    """tries: exit codes, times and sizes of 2^64 - 1.
    must: an answer in JSON whose times are not negative, or an error; no crash, no overflow.
    """
    with session_of(server, "odd-numbers") as session:
        answer = bash(server, session)
        assert answer.status in (200, 502), answer
        if answer.status == 200:
            told = answer.json()
            assert all(told[field] >= 0 for field in ("execution_time", "cpu_time", "memory_peak")), told


def timed(work):
    begun = time.monotonic()
    answer = work()
    return answer, time.monotonic() - begun


def keep_waiting(server, lie):
    with session_of(server, lie) as session:
        if lie == "no-credit":
            body = {"session_id": session, "path": "x", "content": "y" * 2_000_000}
            return timed(lambda: server.post("/write", body, timeout=100))
        return timed(lambda: bash(server, session, timeout=1))


@pytest.fixture(scope="module", autouse=True)
def patience(request, server):
    """What takes its time goes on beside all other cases, if it was asked for."""
    lies = ["silent-exec", "half-answer", "no-credit"]
    asked_for = any("silence" in item.name or "credit_never" in item.name for item in request.session.items)
    with concurrent.futures.ThreadPoolExecutor(len(lies)) as pool:
        yield {lie: pool.submit(keep_waiting, server, lie) for lie in lies if asked_for}


def test_words_of_a_refusal__forge_no_line_of_the_log_and_no_json(server):
    """tries: an error message with line ends, a terminal's escapes, bytes that are no UTF-8, 50 kB of it.
    must: the client gets short JSON in UTF-8; the log has one JSON object a line.
    """
    with session_of(server, "bad-words") as session:
        answer = bash(server, session)
        assert answer.status == 400, answer
        message = answer.json()["error"]["message"]  # decodes strictly
        assert len(message) < 5000
        assert not any(ord(c) < 32 or ord(c) == 127 for c in message)
    for line in server.log_text().splitlines():
        assert json.loads(line)["message"] != "FORGED LINE"


def test_flood_of_frames_that_mean_nothing__others_are_served(server):
    """tries: pongs as fast as the channel takes them, for as long as the sandbox lives.
    must: the neighbour's calls are answered all the while.
    """
    session, made = open_session(server, "pong-flood")
    assert made.status == 201, made
    with server.connect() as line:
        line.sendall(request("POST", "/bash", {"session_id": session, "command": "x", "timeout": 1}))
        slowest = max(server.is_well() for _ in range(10))
        assert slowest < 5, slowest
    end(server, session)


def request(method, target, body):
    data = json.dumps(body).encode()
    return (f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n").encode() + data


@pytest.mark.parametrize("lie", ["data-flood", "eof-flood", "empty-data-flood", "small-message-flood"])
def test_frames_without_cost_to_a_reader_that_stalls__are_not_kept(server, lie):
    """tries: while a client reads nothing of a download, data beyond all credit, and frames that need none: ends, empty data,
           tiny messages.
    must: they do not pile up in the server.
    """
    with session_of(server, lie) as session, socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", server.port))
        line.sendall(f"GET /sessions/default/{session}/files/x HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        with server.memory_within(64):
            time.sleep(5)


def test_more_content_than_was_asked_for__is_not_collected(server):
    """tries: a read of at most 16 MiB answered without end, within its credit.
    must: an error; memory stays.
    """
    with session_of(server, "oversized") as session, server.memory_within(96), server.connect(8) as line:
        line.sendall(request("POST", "/read_binary", {"session_id": session, "path": "x"}))
        answered = line.recv(100)
        assert answered.startswith(b"HTTP/1.1 502"), answered


def test_size_that_no_file_has__is_not_passed_on(server):
    """tries: a file of 2^64 - 1 bytes, for lengths and ranges to overflow. must: 502."""
    with session_of(server, "odd-sizes") as session:
        for headers in ({}, {"Range": "bytes=5-"}, {"Range": "bytes=-1"}):
            answer = server.ask("GET", f"/sessions/default/{session}/files/x", headers=headers)
            assert answer.status == 502, answer


def test_list_without_end__ends_at_the_cap(server):
    """tries: names without end as the answer to one glob. must: 502 at 64 MiB; memory comes back."""
    with session_of(server, "endless-list") as session:
        answer = server.post("/glob", {"session_id": session, "pattern": "*"})
        assert answer.status == 502, answer


@pytest.mark.parametrize("number", range(len(liar.BadNames.NAMES)))
def test_names_that_lead_out__are_not_passed_on(server, number):
    """tries: file lists, matches and artifacts with `..`, absolute names and NUL, for clients that write what they get.
    must: no such name in an answer.
    """
    bad = liar.BadNames.NAMES[number].decode()
    with session_of(server, f"bad-names-{number}") as session:
        for route, body in (("/glob", {"pattern": "*"}), ("/grep", {"pattern": "x"}), ("/bash", {"command": "x"})):
            answer = server.post(route, {"session_id": session} | body)
            assert answer.status in (200, 502), answer
            told = json.dumps(answer.json().get("paths", []) + answer.json().get("entries", [])
                              + answer.json().get("matches", []) + answer.json().get("artifacts", []))
            assert json.dumps(bad)[1:-1] not in told, f"{route}: {told}"


def test_sixty_thousand_background_programs__are_not_believed(server):
    """tries: a list of background programs that makes the server follow 60,000 of them.
    must: refused or bounded: memory, descriptors and time stay.
    """
    session, made = open_session(server, "many-execs")
    assert made.status == 201, made
    begun = time.monotonic()
    answer = bash(server, session)
    assert time.monotonic() - begun < 60
    assert answer.status in (200, 429, 502), answer
    end(server, session)


@pytest.mark.parametrize("lie", ["forged-artifact", "forged-along"])
def test_artifact_with_forged_size_and_type__is_told_by_its_bytes(server, lie):
    """tries: an artifact that claims to be a picture of 2 bytes and is 5 bytes of text, another of 2^62 bytes.
    must: size and checksum are those of the bytes; what is too large is left out, unread.
    """
    with session_of(server, lie) as session:
        answer = bash(server, session)
        assert answer.status == 200, answer
        told = answer.json()
        assert [(made["path"], made["size"]) for made in told["artifacts"]] == [("picture.png", 5)]
        assert told["artifacts"][0]["sha256"] == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        assert told["artifacts_truncated"] is True


def test_more_changes_than_asked_for__are_not_believed(server):
    """tries: ten thousand and one changes along with a program's end. must: 502."""
    with session_of(server, "many-along") as session:
        answer = bash(server, session)
        assert answer.status == 502, answer


def test_credit_of_two_to_the_forty__is_cut_off(server):
    """tries: more credit than a number of the protocol holds. must: 502, cut off."""
    with session_of(server, "wild-credit") as session:
        answer = server.post("/write", {"session_id": session, "path": "x", "content": "y" * 1000})
        assert answer.status == 502, answer


def test_connection_that_was_never_made__is_no_answer(server):
    """tries: an HTTP answer on a stream that it never said was connected. must: 502, nothing of it passed on."""
    with session_of(server, "not-connected") as session:
        answer = server.ask("GET", f"/sessions/default/{session}/proxy/80/")
        assert answer.status == 502 and b"forged" not in answer.body, answer


@pytest.mark.parametrize("lie", ["silent-exec", "half-answer"])
def test_silence_in_the_middle__the_caller_hears_soon(patience, lie):
    """tries: to keep a caller waiting for ever: a program that started and never ends, half a frame.
    must: an error soon after the run's own time limit.
    """
    answer, taken = patience[lie].result()
    assert answer.status >= 500 or answer.json().get("category") != "success", answer
    assert taken < 45


def test_credit_never_given__the_writer_gives_up(patience):
    """tries: to hold an upload for ever by taking none of it.
    must: the caller is told within the time of a file operation (a minute); the server held a window of it.
    """
    answer, taken = patience["no-credit"].result()
    assert answer.status == 504, answer
    assert taken < 90


def test_restart_with_a_pipe_full_of_false_starts__is_quick(server):
    """tries: a program fills the channel with the byte that begins an agent's answer, then the server is killed.
    must: the next server finds the answer among them without delay, and the session lives on.
    """
    session = house.name()
    server.bash(session, "true")
    flood = "import os\nwhile True: os.write(1, b'\\2' * 65536)"
    with server.connect() as line:
        line.sendall(request("POST", "/execute", {"session_id": session, "code": flood}))
        time.sleep(0.5)
        server.process.kill()
    begun = time.monotonic()
    server.kill_and_start_again()
    assert server.bash(session, "echo back")["stdout"] == "back\n"
    assert time.monotonic() - begun < 30
    end(server, session)
