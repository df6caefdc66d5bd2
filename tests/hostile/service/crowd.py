"""Fifty hostile clients beside eight good ones: what the good ones notice.

As a program it measures for longer and prints the figures: CLOCHE_PROGRAM=build/cloche /usr/bin/python3 crowd.py --seconds 20
"""
import argparse
import contextlib
import http.client
import itertools
import json
import multiprocessing
import os
import re
import select
import socket
import threading
import time

MIB = 1 << 20
# Some of what the crowd sends is larger than what a tenant may have in memory, some is not, and has to be read.
LARGE, MIDDLE = 60 * MIB, 2 * MIB
GOOD, SESSION_OF = 8, "good-{}"
PIECE = 64 << 10


def head(framing, target=b"/execute", kind=b"application/json"):
    return (b"POST " + target + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + kind + b"\r\n" + framing +
            b"\r\n\r\n")


def announced(size):
    return head(b"Content-Length: %d" % size)


CHUNKED = head(b"Transfer-Encoding: chunked")


def is_answered(line):
    """Whether the server has said something, or hung up."""
    return bool(select.select([line], [], [], 0)[0])


def pour(line, first, repeated, most=LARGE):
    """Sends as fast as the server takes it, until it answers."""
    line.sendall(first)
    piece = repeated * (PIECE // len(repeated) + 1)
    sent = 0
    while sent < most and not is_answered(line):
        sent += line.send(piece)


def drip(line, first, each):
    """A little each second until the server has had enough."""
    line.sendall(first)
    while not is_answered(line):
        line.send(each)
        time.sleep(1)


def zeros(line):
    pour(line, announced(LARGE) + b'{"session_id": "s", "code": [0', b",0")


def zeros_elsewhere(line):
    pour(line, announced(MIDDLE) + b'{"session_id": "s", "other": [0', b",0")


def objects(line):
    pour(line, announced(MIDDLE) + b'{"session_id": "s", "files": {"a": [{}', b",{}")


def deep(line):
    pour(line, announced(MIDDLE), b'{"a":')


def long_key(line):
    pour(line, announced(MIDDLE) + b'{"', b"key")


def long_number(line):
    pour(line, announced(MIDDLE) + b'{"session_id": "s", "timeout": 1', b"1")


def many_files(line):
    line.sendall(announced(MIDDLE) + b'{"session_id": "s", "files": {"a": ""')
    for i in itertools.count():
        if is_answered(line):
            return
        line.sendall(b"".join(b',"f%d":""' % (1000 * i + j) for j in range(1000)))


def endless_chunks(line):
    pour(line, CHUNKED + b"fffffff\r\n{\"session_id\": \"s\", \"code\": \"", b"x", most=256 * MIB)


def tiny_chunks(line):
    pour(line, CHUNKED + b"1\r\n{\r\n", b"1\r\n \r\n")


def large_and_wrong_at_its_end(line):
    last = b'", "language": 5}'
    first = b'{"session_id": "s", "code": "'
    line.sendall(announced(8 * MIB) + first + b"x\\n\\u0041" * ((8 * MIB - len(first) - len(last)) // 9))
    line.sendall(b"x" * ((8 * MIB - len(first) - len(last)) % 9) + last)


def slow(line):
    drip(line, announced(LARGE) + b'{"session_id": "s", "code": "' + b"x" * MIB, b"x")


def unfinished(line):
    line.sendall(announced(LARGE) + b'{"session_id": "s", "code": "' + b"x" * MIB)
    line.recv(1, socket.MSG_PEEK)


def half_open(line):
    others = [socket.create_connection(line.getpeername()) for _ in range(15)]
    with contextlib.suppress(OSError):
        line.sendall(b"POST /execute HTTP/1.1\r\nHost: local")
        line.recv(1, socket.MSG_PEEK)
    for other in others:
        other.close()


def pipelined(line):
    line.sendall(b"GET /sessions HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300)
    time.sleep(1)


CROWD = {zeros: 8, zeros_elsewhere: 5, objects: 4, deep: 4, long_key: 4, long_number: 2, many_files: 4, endless_chunks: 3,
         tiny_chunks: 2, large_and_wrong_at_its_end: 3, slow: 3, unfinished: 3, half_open: 3, pipelined: 2}
assert sum(CROWD.values()) == 50
KINDS = list(CROWD)


def attack(port, how, over, counts):
    while not over.is_set():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as line:
            status = ""
            with contextlib.suppress(ConnectionError, TimeoutError):
                how(line)
                line.settimeout(2)
                status = line.recv(12)[9:12].decode("latin-1")
            with counts.get_lock():
                counts[KINDS.index(how) * 1000 + (int(status) if status.isdigit() else 0)] += 1
        over.wait(0.02)


def yield_to_others():
    """What these clients cost this machine is not what is measured. The scheduler may weigh whole sessions against each
    other, and then the nice value of a process counts in its own session alone."""
    os.setsid()
    os.nice(19)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as autogroup:
        autogroup.write("19")


def attack_all(port, attacks, over, counts):
    yield_to_others()
    threads = [threading.Thread(target=attack, args=(port, how, over, counts), daemon=True) for how in attacks]
    for thread in threads:
        thread.start()
    over.wait()


class Crowd:
    """The hostile clients, in processes of their own."""

    def __init__(self, port):
        context = multiprocessing.get_context("fork")
        self.over = context.Event()
        self.counts = context.Array("q", 1000 * len(KINDS))
        everyone = [how for how, count in CROWD.items() for _ in range(count)]
        self.processes = [context.Process(target=attack_all, args=(port, everyone[i::5], self.over, self.counts), daemon=True)
                          for i in range(5)]

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for process in self.processes:
            process.join(10)
            process.kill()

    def statuses(self):
        """How often which attack was answered with which status; 0: it was cut off."""
        counts = list(self.counts)
        return {kind.__name__: {status: count for status, count in enumerate(counts[1000 * i:1000 * (i + 1)]) if count}
                for i, kind in enumerate(KINDS)}

    def refused(self):
        return sum(sum(count for status, count in told.items() if status >= 400) for told in self.statuses().values())


def good_client(port, number, until, taken, failures, ask):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while time.monotonic() < until:
        begun = time.monotonic()
        try:
            status, body = ask(connection, number)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            failures.append(repr(error))
            continue
        taken.append(time.monotonic() - begun)
        if status != 200:
            failures.append(f"{status} {body[:200]!r}")
        time.sleep(0.005)
    connection.close()


def run_code(connection, number):
    body = json.dumps({"session_id": SESSION_OF.format(number), "code": "print(1)"})
    connection.request("POST", "/execute", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read()


def healthz(connection, _number):
    connection.request("GET", "/healthz")
    response = connection.getresponse()
    return response.status, response.read()


def good_ones(port, seconds, ask):
    """How long each request of the good clients took, sorted, and what went wrong."""
    taken, failures = [], []
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=good_client, args=(port, i, until, taken, failures, ask)) for i in range(GOOD)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(taken), failures


def percentile(taken, part):
    return taken[min(len(taken) - 1, int(len(taken) * part))]


def lag(server):
    """Of the server's thread, by its own metric: how often it was late by more than so many seconds."""
    text = server.ask("GET", "/metrics").body.decode()
    found = re.findall(r'cloche_loop_lag_seconds_bucket\{le="([^"]+)"\} (\d+)', text)
    total = int(dict(found)["+Inf"])
    return {float(bound): total - int(count) for bound, count in found if bound != "+Inf"}


def main():
    import house
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20)
    wanted = parser.parse_args()
    with house.House(log="warn") as server:
        for i in range(GOOD):
            server.python(SESSION_OF.format(i), "print(1)")
        for ask in (healthz, run_code):
            alone, _ = good_ones(server.port, wanted.seconds / 2, ask)
            before, rss = lag(server), server.rss()
            peak = [rss]
            with Crowd(server.port) as crowd:
                time.sleep(1)
                over = threading.Event()

                def watch():
                    while not over.wait(0.05):
                        peak[0] = max(peak[0], server.rss())
                watching = threading.Thread(target=watch)
                watching.start()
                beside, failures = good_ones(server.port, wanted.seconds, ask)
                over.set()
                watching.join()
            late = {bound: count - before[bound] for bound, count in lag(server).items() if count > before[bound]}
            print(ask.__name__)
            for name, taken in (("alone", alone), ("beside the crowd", beside)):
                print(f"  {name}: {len(taken)} requests, p50 {percentile(taken, .5) * 1e3:.1f} ms, "
                      f"p99 {percentile(taken, .99) * 1e3:.1f} ms, worst {taken[-1] * 1e3:.0f} ms")
            print(f"  p99 is {percentile(beside, .99) / percentile(alone, .99):.2f} times as long; {len(failures)} failed "
                  f"{failures[:3]}")
            print(f"  the crowd got {crowd.statuses()}; memory from {rss:.0f} to {peak[0]:.0f} MiB")
            print(f"  the server's thread was late by more than: {late}")


if __name__ == "__main__":
    main()
