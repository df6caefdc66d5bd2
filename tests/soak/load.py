"""A caller: does what callers do, one thing after the other, and checks every answer against what it knows."""
import os
import random
import socket
import threading
import time

import cloche
from harness.answers import call

# Longer than any answer takes where nothing is wrong, on a machine that is busy.
PATIENCE = 45.0
MOST_SESSIONS = 2
# With so many that want each core, a program may well need the ten seconds that it has.
BUSY = 4


class Failed(Exception):
    """A call that did not go as it should. `how` is short and without numbers, to be counted by."""

    def __init__(self, how, session=None, text=""):
        super().__init__(how)
        self.how = how
        self.session = session
        self.text = text


class KnownSession:
    """What a caller knows of a session: what it was told, and what it tried without being told."""

    def __init__(self, name):
        self.name = name
        self.sandbox = None
        self.files = {}     # path to the contents it may have
        self.counter = None  # the value of a context's variable; None: not known
        self.runs = {}      # background runs: id to the number of lines each prints


class Caller(threading.Thread):
    def __init__(self, number, server, tenant, token, weather, ledger, seed):
        super().__init__(daemon=True, name=f"caller-{number}")
        self.number = number
        self.server = server
        self.tenant = tenant
        self.token = token
        self.weather = weather
        self.ledger = ledger
        self.chance = random.Random(seed)
        self.stopped = threading.Event()
        self.sessions = []
        self.made = 0
        self.client = cloche.Client("unix:" + server.socket, token=token, tenant=tenant, timeout=PATIENCE)

    def run(self):
        things = [(self.run_code, 6), (self.run_shell, 6), (self.use_files, 6), (self.use_context, 4),
                  (self.start_run, 2), (self.look_at_runs, 3), (self.use_terminal, 1), (self.borrow, 4),
                  (self.judge, 2), (self.follow, 2), (self.vanish, 2), (self.end_session, 1)]
        while not self.stopped.is_set():
            thing = self.chance.choices([each for each, _ in things], [weight for _, weight in things])[0]
            self.do(thing)
        for session in list(self.sessions):
            self.do(lambda s=session: self.end_session(s), "end_session")
        self.client.close()

    def do(self, thing, name=None):
        name = name or thing.__name__
        began = time.monotonic()
        try:
            thing()
            self.ledger.did(name)
        except Failed as failed:
            because = self.explain(failed, began)
            detail = "" if because else f" (caller {self.number}, {self.tenant}, {self.server.target.name}, " \
                                        f"after {time.monotonic() - began:.1f} s: {failed.text[:300]})"
            self.ledger.failed(name, failed.how + detail, because)
            if failed.session in self.sessions and because:
                self.give_up(failed.session, because)
            time.sleep(0.1)
        except Exception as error:  # an answer that is not what the contract says, or a fault of this program
            self.ledger.failed(name, f"{type(error).__name__}: {error}", None)
            time.sleep(0.1)

    # Errors, and what explains them.

    def explain(self, failed, began):
        kinds = self.weather.kinds(began)
        session = failed.session
        if "killed server" in kinds and failed.how in ("no answer", "503 unavailable", "404 lease", "run lost",
                                                       "404 of a run"):
            return "killed server"
        if "full disk" in kinds and failed.how == "503 unavailable":
            return "full disk"
        if "engine cut" in kinds and failed.how in ("410 sandbox_lost", "503 unavailable", "404 lease", "504 timeout",
                                                    "run lost", "no answer", "system_error"):
            return "engine cut"
        if failed.how in ("system_error", "404 lease") and kinds & {"killed agent", "silent agent"}:
            return "killed agent"  # which sandbox a lease has is not told
        if session is not None and session.sandbox is not None:
            ended_by = self.weather.end_of(session.sandbox)
            if ended_by and failed.how in ("410 sandbox_lost", "no answer", "run lost", "504 timeout"):
                return ended_by
            # One that was made before the engine went, and not used since.
            if failed.how == "410 sandbox_lost" and self.weather.latest_end("engine cut") > 0:
                return "engine cut"
        # One that was struck while it was being made, or before its caller knew which it is.
        not_known = session is None or session.sandbox is None
        struck = kinds & {"killed agent", "silent agent"}
        if not_known and struck and failed.how in ("503 unavailable", "410 sandbox_lost"):
            return "+".join(sorted(struck))
        if failed.how == "out of time":
            if "silent agent" in kinds:
                return "silent agent"
            if os.getloadavg()[0] > BUSY * os.cpu_count():
                return "busy host"
        return None

    def give_up(self, session, because):
        """Goes on with another; this one is ended if it can be."""
        if because in ("killed server", "full disk"):
            return  # it is still there
        self.sessions.remove(session)
        self.call("DELETE", f"/sessions/{self.tenant}/{session.name}")

    # Calls.

    def call(self, method, target, body=None, **options):
        return call(self.server.socket, method, target, body, token=self.token, timeout=PATIENCE, **options)

    def ask(self, session, method, target, body=None, wanted=(200,)):
        answer = self.call(method, target, body)
        if answer.status in wanted:
            return answer
        raise Failed(how_of(answer), session, answer.text)

    def in_session(self, session, route, /, **fields):
        return self.ask(session, "POST", route, {"session_id": session.name, **fields}, wanted=(200, 202))

    def session(self):
        """One of this caller's, or a new one."""
        if self.sessions and (len(self.sessions) >= MOST_SESSIONS or self.chance.random() < 0.7):
            return self.chance.choice(self.sessions)
        self.made += 1
        session = KnownSession(f"c{self.number}-{self.made}")
        self.sessions.append(session)
        # A refusal may leave it made or not; either is found out by the next call.
        self.ask(session, "POST", "/sessions", {"session_id": session.name}, wanted=(201,))
        session.sandbox = self.sandbox_of(session)
        return session

    def sandbox_of(self, session):
        told = self.call("GET", f"/sessions/{self.tenant}/{session.name}")
        return told["sandbox"] if told.status == 200 else session.sandbox

    def ready_session(self):
        session = self.session()
        if session.sandbox is None:
            session.sandbox = self.sandbox_of(session)
        return session

    # What callers do.

    def run_code(self):
        a, b = self.chance.randrange(1000), self.chance.randrange(1000)
        session = self.ready_session()
        answer = self.in_session(session, "/execute", code=f"print({a} * {b})")
        expect(answer["stdout"] == f"{a * b}\n", "wrong output", session, answer)

    def run_shell(self):
        word = f"w{self.chance.randrange(10**6)}"
        session = self.ready_session()
        answer = self.in_session(session, "/bash", command=f"echo {word}; exit 3")
        expect((answer["stdout"], answer["exit_code"]) == (word + "\n", 3), "wrong output", session, answer)

    def use_files(self):
        session = self.ready_session()
        path = f"f{self.chance.randrange(4)}"
        may_be = session.files.setdefault(path, [None])  # None: not there
        if may_be != [None] and self.chance.random() < 0.6:
            answer = self.call("POST", "/read", {"session_id": session.name, "path": path})
            content = None if answer.status == 404 and "No such file" in answer.message else answer
            if content is not None and answer.status != 200:
                raise Failed(how_of(answer), session, answer.text)
            content = answer["content"] if content is not None else None
            expect(content in may_be, "confirmed content is lost", session, answer)
            session.files[path] = [content]
            return
        content = f"{self.chance.random()}" * self.chance.randrange(1, 200)
        may_be.append(content)  # until it is confirmed
        answer = self.in_session(session, "/write", path=path, content=content)
        expect(answer["size"] == len(content), "wrong size", session, answer)
        session.files[path] = [content]

    def use_context(self):
        session = self.ready_session()
        before, session.counter = session.counter, None
        fields = {"context": "c", "code": "n = globals().get('n', 0) + 1\nn"}
        answer = self.in_session(session, "/execute", **fields)
        value = int(answer["value"])
        if before is not None and not answer["fresh"]:
            expect(value == before + 1, "a context has lost its state in silence", session, answer)
        session.counter = value

    def start_run(self):
        session = self.ready_session()
        lines = self.chance.randrange(5, 60)
        answer = self.in_session(session, "/bash", background=True, timeout=120,
                                 command=f"for i in $(seq {lines}); do echo line $i; sleep 0.05; done")
        session.runs[answer["run_id"]] = lines

    def look_at_runs(self):
        session = self.ready_session()
        for run, lines in list(session.runs.items()):
            below = f"/sessions/{self.tenant}/{session.name}/runs/{run}"
            state = self.ask(session, "GET", below)
            output = self.ask(session, "GET", below + "/output?stream=stdout&offset=0&limit=65536")
            whole = "".join(f"line {i}\n" for i in range(1, lines + 1))
            expect(whole.startswith(output["content"]), "wrong output", session, output)
            if state["state"] != "ended":
                continue
            del session.runs[run]
            if "error" in state.body and state["error"]:
                raise Failed("run lost", session, state.text)
            output = self.ask(session, "GET", below + "/output?stream=stdout&offset=0&limit=65536")
            expect(output["content"] == whole, "a background run has lost output", session, output)
            self.ask(session, "DELETE", below)

    def use_terminal(self):
        session = self.ready_session()
        a = self.chance.randrange(1000)
        try:
            with self.client.terminal(session.name) as terminal:
                terminal.write(f"echo $(({a} * 1000 + 7))=\n")
                terminal.read_until(f"{a * 1000 + 7}=", timeout=PATIENCE)
        except cloche.SandboxError as error:
            raise Failed(how_of_error(error), session, str(error)) from None

    def borrow(self):
        lent = self.call("POST", "/sandboxes/python")
        if lent.status != 200:
            raise Failed(how_of_lease(lent), None, lent.text)
        place = f"/sandboxes/{lent['sandbox_id']}"
        ran = self.call("POST", place + "/run", {"command": "echo well", "timeout": 20})
        ended = self.call("DELETE", place + ("/destroy" if self.chance.random() < 0.2 else ""))
        for answer in (ran, ended):
            if answer.status != 200:
                raise Failed(how_of_lease(answer), None, answer.text)
        if ran["category"] == "system_error":
            raise Failed("system_error", None, ran.text)
        if ran["category"] == "timeout":
            raise Failed("out of time", None, ran.text)
        expect(ran["stdout"] == "well\n", "wrong output", None, ran)

    def judge(self):
        number = self.chance.randrange(1000)
        body = {"language": "python", "test_cases": [[str(number)]],
                "submission_files": [{"filename": "main.py", "content": "print(int(input()) * 2)"}]}
        answer = self.call("POST", "/api/v1/execute", body)
        if answer.status != 200:
            raise Failed(how_of_lease(answer), None, answer.text)
        result = answer["results"][0]
        if result["category"] == "system_error":
            raise Failed("system_error", None, answer.text)
        if result["category"] == "timeout":
            raise Failed("out of time", None, answer.text)
        expect(result["output"] == f"{number * 2}\n", "wrong output", None, answer)

    def follow(self):
        session = self.ready_session()
        code = "import time\nfor i in range(5):\n  print(i, flush=True)\n  time.sleep(.02)"
        try:
            with self.client.stream(code, session_id=session.name) as stream:
                said = ""
                for event in stream:
                    said += getattr(event, "text", "") or ""
                    if self.chance.random() < 0.03:
                        return  # has seen enough
            expect(said == "0\n1\n2\n3\n4\n", "wrong output", session, said)
        except cloche.SandboxNotFoundError as error:  # taken up again at a server that does not know the run
            raise Failed("404 of a run", session, str(error)) from None
        except cloche.SandboxError as error:
            raise Failed(how_of_error(error), session, str(error)) from None

    def vanish(self):
        """Hangs up in the middle of something."""
        session = self.ready_session()
        body = b'{"session_id": "%s", "command": "sleep 2; echo on"}' % session.name.encode()
        head = (b"POST /bash HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (self.token.encode(), len(body)))
        sent = head + body
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE)
            try:
                line.connect(self.server.socket)
                line.sendall(sent[:self.chance.choice([5, len(head), len(head) + 10, len(sent)])])
                time.sleep(self.chance.random() * 0.2)
            except OSError as error:
                raise Failed("no answer", session, str(error)) from None

    def end_session(self, session=None):
        if session is None:
            if not self.sessions:
                return
            session = self.chance.choice(self.sessions)
        mode = self.chance.choice(["cut", "wait"]) if not session.runs else "cut"
        answer = self.call("DELETE", f"/sessions/{self.tenant}/{session.name}?mode={mode}")
        if answer.status == 404 and session.sandbox is None:
            self.sessions.remove(session)  # it never came to be
            return
        if answer.status != 200:
            raise Failed(how_of(answer), session, answer.text)
        self.sessions.remove(session)


def expect(holds, how, session, answer):
    if not holds:
        raise Failed(how, session, getattr(answer, "text", str(answer)))


def how_of(answer):
    return "no answer" if answer.status == 0 else f"{answer.status} {answer.code}"


def how_of_lease(answer):
    """The lease interface has no codes."""
    if answer.status == 0:
        return "no answer"
    return {404: "404 lease", 503: "503 unavailable", 410: "410 sandbox_lost", 504: "504 timeout"}.get(
        answer.status, f"{answer.status} of a lease")


def how_of_error(error):
    if error.status is None and error.code in (None, "unavailable"):
        return "no answer"
    return {"sandbox_lost": "410 sandbox_lost", "session_ending": "410 sandbox_lost", "unavailable": "503 unavailable",
            "timeout": "504 timeout"}.get(error.code, f"{error.status} {error.code}")
