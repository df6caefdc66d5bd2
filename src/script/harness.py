# The script harness: runs one script in a fork of the zygote that loaded it, and reports it to the server by events.
#
# The request is one JSON object on stdin. Events go to the descriptor that CLOCHE_EVENT_FD names, a JSON object a line;
# the server decides what they mean and when the script is over. What the script prints goes to stdout and stderr as
# ever. All that is here is in the script's own process: a script that meddles with it spoils its own events and nothing
# else.
import json, linecache, os, re, sys, threading, traceback

LEVELS = ("debug", "info", "warning", "error")
LONGEST_LABEL = 200
LONGEST_LOG = 16 * 1024
LONGEST_TRACEBACK = 32 * 1024

_fd = None
_plan = True
_most_bytes = 1024 * 1024
_most_depth = 64
_lock = threading.Lock()
_strings = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_brackets = re.compile(r"[\[\]{}]")
_dumps, _write, _leave_now = json.dumps, os.write, os._exit


class DataError(TypeError):
    """The data of an event cannot be sent as JSON."""


def log(message, level="info"):
    """Sends a message to the caller; `level` is debug, info, warning or error."""
    if level not in LEVELS:
        raise ValueError(f"no level of a log: {level!r}; there are {', '.join(LEVELS)}")
    _send({"type": "log", "level": level, "message": _cut(str(message), min(LONGEST_LOG, _most_bytes // 8))})


def intermediate(label, data=None):
    """Sends data to the caller while the script continues."""
    _send({"type": "intermediate", "label": _cut(str(label), LONGEST_LABEL)}, _to_json("intermediate", data))


def final_result(data=None):
    """Sends the result to the caller. A PLAN ends with it; an INTERACTIVE script continues."""
    _send({"type": "final_result"}, _to_json("final_result", data))
    if _plan:
        _leave(0)


def run():
    """Runs the script that stdin holds. Returns, or raises SystemExit, when it has ended."""
    global _fd, _plan, _most_bytes, _most_depth
    _fd = int(os.environ.pop("CLOCHE_EVENT_FD"))
    os.set_inheritable(_fd, False)
    os.register_at_fork(after_in_child=_forget_events)
    with open(0, "rb", closefd=False) as stream:
        request = json.loads(stream.read())
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    _plan = request["mode"] == "plan"
    _most_bytes, _most_depth = request["most_bytes"], request["most_depth"]
    name, source = request["name"], request["source"]

    sys.argv = [name]
    sys.path.insert(0, os.getcwd())
    sys.stdout.reconfigure(line_buffering=True)
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    main = type(sys)("__main__")
    main.__builtins__ = __builtins__
    main.inputs = json.loads(request["inputs"])
    main.mode = request["mode"]
    main.log, main.intermediate, main.final_result = log, intermediate, final_result
    sys.modules.setdefault("cloche_script", sys.modules[__name__])  # where no zygote has done it
    sys.modules["__main__"] = main
    del request
    _send({"type": "ready"})
    try:
        exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _tell_error(error)
        if _plan:
            _leave(1)
        sys.exit(1)


def _tell_error(error):
    text = _traceback_of(error)
    kind = "data" if isinstance(error, DataError) else "exception"
    try:
        message = f"{type(error).__qualname__}: {error}"
    except BaseException:
        message = type(error).__qualname__
    try:
        most = min(LONGEST_TRACEBACK, _most_bytes // 16)
        _send({"type": "error", "kind": kind, "message": _cut(message, most), "traceback": _cut(text, most)})
    except BaseException:
        sys.__stderr__.write(text)  # the script closed its own event descriptor


def _traceback_of(error):
    """As Python would print it, without the frames that are the harness's own."""
    try:
        shown = traceback.TracebackException(type(error), error, error.__traceback__)
        pending, seen = [shown], set()
        while pending:
            part = pending.pop()
            if part is None or id(part) in seen:
                continue
            seen.add(id(part))
            part.stack[:] = [frame for frame in part.stack if frame.filename != run.__code__.co_filename]
            pending += [part.__cause__, part.__context__, *(getattr(part, "exceptions", None) or ())]
        return "".join(shown.format())
    except BaseException:
        return ""


def _to_json(what, data):
    try:
        text = _dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{what}: the data cannot be sent as JSON: {error}") from None
    # An event is an object around its data.
    if text.count("[") + text.count("{") >= _most_depth and _depth_of(text) >= _most_depth:
        raise DataError(f"{what}: the data is nested deeper than {_most_depth - 1} levels")
    return text


def _depth_of(text):
    deepest = depth = 0
    for mark in _brackets.findall(_strings.sub("", text)):
        depth += 1 if mark in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _send(event, data=None):
    text = _dumps(event, ensure_ascii=False)
    if data is not None:
        text = f'{text[:-1]}, "data": {data}}}'
    try:
        line = text.encode()
    except UnicodeEncodeError:  # halves of surrogate pairs: no text, and no JSON either
        line = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
    if len(line) > _most_bytes:
        raise DataError(f"{event['type']}: {len(line)} bytes are more than the {_most_bytes} that an event may have")
    _flush()  # what was printed before comes before
    with _lock:
        if _fd is None:
            raise RuntimeError("events can be sent by the script's own process only, not by one it forked")
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[_write(_fd, rest) :]


def _cut(text, most):
    return text if len(text) <= most else f"{text[: most // 4]} [...] {text[len(text) - most // 2 :]}"


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def _leave(code):
    _flush()
    _leave_now(code)


def _forget_events():
    """In a process that the script forked: two writers would tear each other's lines."""
    global _fd, _lock
    fd, _fd, _lock = _fd, None, threading.Lock()
    try:
        os.close(fd)
    except (OSError, TypeError):
        pass
