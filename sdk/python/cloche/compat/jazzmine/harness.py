"""Runs inside the sandbox, once per script: it reads a request on stdin, runs the script in a child process and reports
events on stdout, one JSON object per line.

Output of the script goes to pipes and becomes `log` events. The script never has the descriptor of the events, and may
only send `log`, `intermediate`, `final_result` and `error`. This process reports whether and how the script ended; if
it was killed too, the service does.
"""
import json
import os
import select
import signal
import sys
import time
import traceback

LEVELS = ("debug", "info", "warning", "error")
LONGEST_LOG = 16 * 1024
NOT_DUMPABLE = 4, 0  # prctl(PR_SET_DUMPABLE, 0)


def main():
    request = json.loads(sys.stdin.buffer.read())
    tell = Teller(request["max_output_bytes"])
    if request.get("check") is not None:
        missing = missing_of(request["check"])
        if missing:
            tell({"type": "error", "kind": "requirements", "message": "missing in the sandbox: " + ", ".join(missing)})
        else:
            tell({"type": "ready"})
        return
    Script(request, tell).run()


class Teller:
    """Writes events, up to a number of bytes; then `over` is true and only the last event is written."""

    def __init__(self, most):
        self.left = most
        self.over = False

    def __call__(self, event, last=False):
        line = (json.dumps(event) + "\n").encode()
        self.left -= len(line)
        if self.left < 0 and not last:
            self.over = True
            return
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(1, rest):]


class Script:
    def __init__(self, request, tell):
        self.request = request
        self.tell = tell
        self.plan = request["mode"] == "plan"
        self.finished = False
        self.late = False

    def run(self):
        pipes = {name: os.pipe() for name in ("events", "stdout", "stderr", "start")}
        self.child = os.fork()
        if self.child == 0:
            for name in ("events", "stdout", "stderr"):
                os.close(pipes[name][0])
            os.close(pipes["start"][1])
            run_script(self.request, {name: ends[1] for name, ends in pipes.items() if name != "start"},
                       pipes["start"][0])
        for name in ("events", "stdout", "stderr"):
            os.close(pipes[name][1])
        os.close(pipes["start"][0])
        keep_out_of_reach()
        os.write(pipes["start"][1], b"\n")
        os.close(pipes["start"][1])
        self.tell({"type": "ready"})
        self.readers = {pipes[name][0]: Lines(name) for name in ("events", "stdout", "stderr")}
        self.follow()

    def follow(self):
        poll = select.poll()
        for fd in self.readers:
            os.set_blocking(fd, False)
            poll.register(fd, select.POLLIN)
        status = None
        end = time.monotonic() + self.request["seconds"]
        while status is None and not self.finished and not self.tell.over:
            if time.monotonic() > end:
                self.late = True
                break
            for fd, _ in poll.poll(20):
                if self.take(fd) == b"":
                    poll.unregister(fd)
            pid, told = os.waitpid(self.child, os.WNOHANG)
            if pid:
                status = told
        for fd in self.readers:
            while not self.finished and not self.tell.over and self.take(fd):
                pass  # printed before it ended; what its own children still print is not waited for
        for lines in self.readers.values():
            self.handle_rest(lines)
        self.end(status)

    def take(self, fd):
        """Return what was read, or None if nothing is available now."""
        try:
            piece = os.read(fd, 65536)
        except BlockingIOError:
            return None
        lines = self.readers[fd]
        for line in lines.add(piece):
            if not self.finished:
                self.handle(lines.name, line)
        return piece

    def handle(self, name, line):
        if name != "events":
            text = line.decode("utf-8", "replace")
            self.tell({"type": "log", "source": name, "level": "info" if name == "stdout" else "warning",
                       "message": text[:LONGEST_LOG]})
            return
        event = allowed(line)
        if event is None:
            event = {"type": "error", "kind": "protocol", "message": "the script sent an invalid event",
                     "traceback": ""}
        if self.finished:
            return
        self.finished = event["type"] == "error" or self.plan and event["type"] == "final_result"
        if self.finished:  # what was printed before comes before
            self.finished = False
            for fd, lines in self.readers.items():
                if lines.name != "events":
                    while self.take(fd):
                        pass
                    self.handle_rest(lines)
            self.finished = True
        self.tell(event)

    def handle_rest(self, lines):
        for line in lines.rest():
            if not self.finished:
                self.handle(lines.name, line)

    def end(self, status):
        try:
            os.killpg(self.child, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if status is None:
            status = os.waitpid(self.child, 0)[1]
        if self.tell.over:
            self.tell({"type": "error", "kind": "output_limit", "message": "printed or sent more than allowed",
                       "traceback": ""}, last=True)
        elif self.finished:
            pass
        elif self.late:
            self.tell({"type": "error", "kind": "timeout", "traceback": "",
                       "message": f"Execution timed out after {self.request['seconds']:g} seconds"}, last=True)
        elif os.WIFSIGNALED(status):
            self.tell({"type": "error", "kind": "crashed", "message": f"ended by signal {os.WTERMSIG(status)}",
                       "traceback": ""}, last=True)
            sys.exit(1)  # the service knows whether memory was the reason, and says so of programs that fail
        else:
            self.tell({"type": "script_done", "exit_code": os.WEXITSTATUS(status)}, last=True)


class Lines:
    """Joins pieces to lines of limited length."""

    most = 1024 * 1024

    def __init__(self, name):
        self.name = name
        self.kept = b""

    def add(self, piece):
        *lines, self.kept = (self.kept + piece).split(b"\n")
        if len(self.kept) > self.most:
            lines.append(self.kept)
            self.kept = b""
        return lines

    def rest(self):
        kept, self.kept = self.kept, b""
        return [kept] if kept else []


def allowed(line):
    """Return an event that a script may send, with its known fields only; None for anything else."""
    try:
        given = json.loads(line)
        kind = given["type"]
        if kind == "log" and given["level"] in LEVELS:
            return {"type": kind, "source": "script", "level": given["level"], "message": str(given["message"])}
        if kind == "intermediate":
            return {"type": kind, "label": str(given["label"]), "data": given["data"]}
        if kind == "final_result":
            return {"type": kind, "data": given["data"]}
        if kind == "error":
            return {"type": kind, "kind": "exception", "message": str(given["message"]),
                    "traceback": str(given["traceback"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def run_script(request, fds, start):
    """Run the script, in the child. Does not return."""
    os.setsid()
    os.read(start, 1)
    os.close(start)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(fds["stdout"], 1)
    os.dup2(fds["stderr"], 2)
    for fd in (null, fds["stdout"], fds["stderr"]):
        if fd > 2:
            os.close(fd)
    sys.stdin = open(0)
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    code = 1
    try:
        code = exec_script(request, Helpers(fds["events"]))
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        os._exit(code)


class Helpers:
    """The functions that a script may call."""

    def __init__(self, fd):
        self._fd = fd
        self._pid = os.getpid()

    def log(self, message, level="info"):
        if level not in LEVELS:
            raise ValueError(f"unknown log level {level!r}; use one of {', '.join(LEVELS)}")
        self._send({"type": "log", "level": level, "message": str(message)[:LONGEST_LOG]})

    def intermediate(self, label, data=None):
        self._send({"type": "intermediate", "label": str(label), "data": data})

    def final_result(self, data=None):
        self._send({"type": "final_result", "data": data})

    def error(self, message, text):
        self._send({"type": "error", "message": message, "traceback": text})

    def _send(self, event):
        if os.getpid() != self._pid:
            raise RuntimeError("only the script's own process can send events")
        line = (json.dumps(event, allow_nan=False) + "\n").encode()
        if len(line) > Lines.most:
            raise ValueError(f"{event['type']}: {len(line)} bytes exceed the limit of {Lines.most} bytes for an event")
        sys.stdout.flush()
        sys.stderr.flush()
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._fd, rest):]


def exec_script(request, helpers):
    names = {"__name__": "__main__", "__builtins__": __builtins__, "inputs": request["inputs"], "mode": request["mode"],
             "log": helpers.log, "intermediate": helpers.intermediate, "final_result": helpers.final_result}
    sys.path.insert(0, os.getcwd())
    sys.argv = ["script.py"]
    try:
        for name, source in request["tools"].items():
            exec(compile(source, f"tool_{name}.py", "exec"), names)
            names[name] = callable_now(names[defined_in(source)])
        exec(compile(request["script"], "script.py", "exec"), names)
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return (leaving.code or 0) & 255
        print(leaving.code, file=sys.stderr)
        return 1
    except BaseException as error:
        kept = error.__traceback__
        while kept is not None and kept.tb_frame.f_code.co_filename not in own_files(request):
            kept = kept.tb_next
        text = "".join(traceback.format_exception(type(error), error, kept))
        helpers.error(f"{type(error).__name__}: {error}"[:LONGEST_LOG], text[-2 * LONGEST_LOG:])
        return 1
    return 0


def own_files(request):
    return {"script.py", *(f"tool_{name}.py" for name in request["tools"])}


def defined_in(source):
    import ast
    return ast.parse(source).body[0].name


def callable_now(fn):
    """Wrap an `async def` tool, so that scripts call it like any other."""
    import asyncio
    if not asyncio.iscoroutinefunction(fn):
        return fn

    def call(*args, **kwargs):
        return asyncio.run(fn(*args, **kwargs))
    call.__name__ = fn.__name__
    return call


def missing_of(requirements):
    import importlib.metadata
    import re
    missing = []
    for requirement in requirements:
        name, exactly = re.match(r"\s*([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(?:==\s*([^\s;,]+))?", requirement).groups()
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(requirement)
            continue
        if exactly is not None and version != exactly:
            missing.append(f"{requirement} (installed: {version})")
    return missing


def keep_out_of_reach():
    """Prevent the script from opening this process's descriptors or memory. Without ctypes, the script may spoil its
    own events and nothing else, because the service also reports how it ended.
    """
    try:
        import ctypes
        ctypes.CDLL(None).prctl(*NOT_DUMPABLE, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass


if __name__ == "__main__":
    main()
