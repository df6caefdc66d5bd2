"""A crowd of hostile clients: what a request costs the server, and the others."""
import contextlib
import json
import time

import crowd
import house
import pytest

# One tenant is all there is here, so its part of the memory is what all clients share.
SERVER = ", quotas: {bodies: 64m}, limits: {body_budget: 128m}"
# What a body of 60 MiB may take while it is read, and what stays of it in the allocator.
MEMORY = 320


@pytest.fixture(scope="module")
def server():
    house.need_crun(__name__)
    with house.House(server=SERVER, log="warn") as started:
        for i in range(crowd.GOOD):
            started.python(crowd.SESSION_OF.format(i), "print(1)")
        yield started


WRONG = {
    "zeros for code": (b'{"session_id": "s", "code": [0', b",0"),
    "objects for code": (b'{"session_id": "s", "code": {"a": 0', b',"b": 0'),
    "lists for a file": (b'{"session_id": "s", "files": {"a": [0', b",0"),
    "zeros in an unknown field": (b'{"session_id": "s", "other": [0', b",0"),
    "a number without end": (b'{"session_id": "s", "timeout": 1', b"1"),
    "a key without end": (b'{"', b"key"),
    "nesting without end": (b"", b'{"a":'),
    "lists in lists": (b"", b"["),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("target", ["/execute", "/bash", "/write", "/sessions/default/s/copy", "/api/v1/execute"])
def test_body_that_cannot_be_right__is_refused_when_it_shows(server, what, target):
    """
    tries: 60 MiB, announced or in chunks, of something that no route takes
    must: a refusal after a small part of it, at once, and no memory for it
    """
    first, repeated = WRONG[what]
    for framing in (b"Content-Length: %d" % (30 << 20), b"Transfer-Encoding: chunked"):
        chunk = b"1e00000\r\n" if b"chunked" in framing else b""
        with server.memory_within(40), server.connect() as line:
            with contextlib.suppress(ConnectionError):
                line.sendall(crowd.head(framing, target.encode()) + chunk + first + repeated * 100_000)
            begun = time.monotonic()
            answer = line.recv(4096)
            assert house.statuses(answer)[0] in (400, 413, 422), answer
            assert time.monotonic() - begun < 60


def test_control__large_body_is_served(server):
    """
    tries: 20 MiB of code that is right
    must: be run
    """
    code = "x = '" + "y" * (20 << 20) + "'\nprint(len(x))"
    assert server.python("large", code)["stdout"] == f"{20 << 20}\n"


def test_control__large_output_is_told(server):
    """
    tries: 1 MiB on stdout, not all of it UTF-8
    must: be told, as text and as bytes
    """
    told = server.python("large", "import os\nfor _ in range(16): os.write(1, b'\\xff' + b'x' * 65000)")
    assert len(told["stdout"]) == 16 * 65001 and told["stdout_base64"]


def test_numbers__are_plain_decimals(server):
    """
    tries: responses with small fractions in them
    must: have no exponents
    """
    answer = server.post("/execute", {"session_id": "good-0", "code": "print(1)"}).body.decode()
    told = json.loads(answer, parse_float=str, parse_int=str)
    for name in ("execution_time", "cpu_time"):
        assert set(told[name]) <= set("0123456789."), answer


def test_bodies_beyond_the_budget__are_told_to_come_again(server):
    """
    tries: more bodies at a time than the tenant may have in memory, none of which is finished
    must: 429 before they are read, or 408 for those that do not go on; small requests are served; all is given back
    """
    with server.memory_within(MEMORY):
        lines = [server.connect() for _ in range(6)]
        held = [line.__enter__() for line in lines]
        try:
            for line in held:
                line.sendall(crowd.announced(40 << 20) + b'{"session_id": "s", "code": "' + b"x" * (1 << 20))
            answers = [house.read_all(line, quiet=0.2) for line in held[1:]]
            assert sum(answer.startswith(b"HTTP/1.1 429") for answer in answers) >= 4, answers
            assert all(b"Retry-After: 1" in answer for answer in answers if b" 429 " in answer)
            assert server.is_well() < 30
            # Others need what it holds, so it ends soon.
            assert house.read_all(held[0]).startswith(b"HTTP/1.1 408")
        finally:
            for line in lines:
                line.__exit__(None, None, None)
    assert server.python("large", "print(1)")["stdout"] == "1\n"


def test_fifty_hostile_clients__cost_eight_good_ones_little(server):
    """
    tries: garbage of 60 MiB, nesting, long keys, floods of chunks, slow and unfinished bodies, half-open connections and
           pipelines, 50 clients without pause
    must: the p99 of 8 clients that run code stay near what it is without them (the benchmark says how near: crowd.py);
          the server's memory stay within its budget
    """
    tries = []
    for _ in range(3):
        alone, failures = crowd.good_ones(server.port, 3, crowd.run_code)
        assert not failures
        with server.memory_within(MEMORY), crowd.Crowd(server.port) as hostile:
            time.sleep(0.5)
            beside, failures = crowd.good_ones(server.port, 4, crowd.run_code)
        assert not failures, failures[:3]
        assert hostile.refused() > 20, hostile.statuses()
        tries.append((crowd.percentile(alone, 0.99), crowd.percentile(beside, 0.99)))
        if tries[-1][1] < max(2 * tries[-1][0], 0.25):
            return
    raise AssertionError(f"p99 alone and beside the crowd, in seconds: {tries}")
