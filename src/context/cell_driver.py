# The cell driver: runs one cell after the other in one interpreter, so that variables are kept, and reports to the
# server how each ended.
#
# Requests come on stdin: a line of JSON, then as many bytes of input for the cell as it says. Records go to the
# descriptor that CLOCHE_EVENT_FD names, each with a NUL at its end: `ready PID`, `begin ID`, `end ID REPORT`. Both
# descriptors are moved away before the first cell and no program that a cell starts has them. What a cell prints goes
# to stdout and stderr as ever. All that is here shares its process with the cells: one that meddles with it harms its
# own context and nothing else. Behind figures.py.
import ast, collections, fcntl, json, linecache, signal, threading, time, traceback

MOST_VALUE = 64 * 1024
MOST_MESSAGE = 8 * 1024
MOST_TRACEBACK = 32 * 1024
SOURCES_KEPT = 500  # of cells, for tracebacks
FIRST_OWN_FD = 100
SETPIPE_SIZE = 1031
CO_COROUTINE = 0x80

_dumps, _loads, _read, _write, _getpid, _leave_now = json.dumps, json.loads, os.read, os.write, os.getpid, os._exit
_pid = None
_requests = _events = _out = _err = _feeding = None
_buffer = b""
_running = False
_interrupts = 0
_stdin = None
_event_loop = None
_cells = collections.deque()
_figures = None


def run():
    """Serves cells until the server goes away."""
    global _pid
    _pid = _getpid()
    _connect()
    _set_up_matplotlib()
    sys.argv = [""]
    if "" not in sys.path:
        sys.path.insert(0, "")
    main = type(sys)("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    os.register_at_fork(after_in_child=_forget)
    if "matplotlib.pyplot" not in sys.modules:
        sys.meta_path.insert(0, _ImportListener("matplotlib.pyplot", _save_where_shown))
    signal.signal(signal.SIGINT, _on_interrupt)
    _send(f"ready {_pid}")
    number = 0
    while True:
        try:
            request = _next_request()
            if request is None:
                _leave_now(0)
            number += 1
            _serve(request, number, main)
        except KeyboardInterrupt:
            pass  # created by a thread or a handler of the caller; no cell is running, so there is no receiver


def _save_where_shown(pyplot):
    _take_over_show(pyplot, lambda: _figures)


def _connect():
    global _requests, _events, _out, _err
    events = int(os.environ.pop("CLOCHE_EVENT_FD"))
    _requests, _events, _out, _err = (_out_of_the_way(fd) for fd in (0, events, 1, 2))
    os.close(events)
    _give_stdin(b"")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)


def _out_of_the_way(fd):
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_OWN_FD)
    except OSError:  # as many open files are not allowed
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)


def _on_interrupt(number, frame):
    global _interrupts
    _interrupts += 1
    if _running:
        raise KeyboardInterrupt


def _take(size=None):
    """So many bytes of what the server sent, or a line; None at its end."""
    global _buffer
    while True:
        end = _buffer.find(b"\n") + 1 if size is None else size
        if 0 < end <= len(_buffer) or size == 0:
            taken, _buffer = _buffer[:end], _buffer[end:]
            return taken
        more = _read(_requests, 1 << 16)
        if not more:
            return None
        _buffer += more


def _next_request():
    line = _take()
    if line is None:
        return None
    request = _loads(line)
    size = request.get("input")
    request["input"] = _take(size) if size is not None else b""
    return request if request["input"] is not None else None


def _send(record):
    rest = memoryview(record.encode() + b"\0")
    while rest:
        rest = rest[_write(_events, rest) :]


def _serve(request, number, main):
    global _running, _figures, _interrupts
    # An interrupt meant for an earlier cell must not reach this one: it is waited for.
    patience = time.monotonic() + 0.5
    while _interrupts < request["interrupts"] and time.monotonic() < patience:
        time.sleep(0.002)
    _interrupts = request["interrupts"]
    signal.signal(signal.SIGINT, _on_interrupt)
    _open_streams(request["input"])
    _figures = _new_figures(request)
    _send(f"begin {request['id']}")
    report = {}
    environment = _set_environment(request.get("env", {}))
    try:
        try:
            _running = True
            _run_cell(request["code"], f"<cell {number}>", main, report)
        finally:
            _running = False
    except BaseException as error:  # raised while the cell's own exception was being reported
        report["error"] = {"type": type(error).__name__, "message": "", "traceback": ""}
    _running = False
    _set_environment(environment)
    if _getpid() != _pid:
        _leave_as_child(report)
    _flush()
    report["figures"], report["figures_left_out"] = _figures.saved, _figures.left_out
    _send(f"end {request['id']} {_clean(_dumps(report, ensure_ascii=False))}")


def _run_cell(source, name, main, report):
    try:
        value = _evaluate(_prepared(source), name, main.__dict__)
        if value is not None and not source.rstrip().endswith(";"):
            main._ = value
            _report_value(value, report)
    except SystemExit as error:
        report["exit_code"] = _exit_code(error)
    except BaseException as error:
        report["error"] = _describe(error)
        if isinstance(error, KeyboardInterrupt):
            return  # its time is over
    try:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None and hasattr(pyplot, "get_fignums"):
            _save_where_shown(pyplot)
            _figures.save_all(pyplot)
            _figures.tell_of_left_out()
    except BaseException as error:
        report.setdefault("error", _describe(error))


# What follows is replaced where results are rich: see rich_results.py.


def _new_figures(request):
    return _Figures(request["figures"], request["most_figures"])


def _prepared(source):
    return source


def _report_value(value, report):
    text = repr(value)
    report["value"], report["value_cut"] = _cut(text, MOST_VALUE), len(text) > MOST_VALUE


def _set_environment(variables):
    """Sets variables, and removes those with the value None. Returns what undoes it."""
    former = {name: os.environ.get(name) for name in variables}
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return former


def _describe(error):
    return {
        "type": type(error).__name__,
        "message": _cut(_text_of(error), MOST_MESSAGE),
        "traceback": _cut(_traceback_of(error), MOST_TRACEBACK),
    }


def _evaluate(source, name, space):
    """Runs the cell; the value of its last statement where that is an expression."""
    _remember(name, source)
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(source, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if tree.body:
        _finish(compile(tree, name, "exec", flags, dont_inherit=True), space)
    if last is None:
        return None
    return _finish(compile(ast.Expression(last.value), name, "eval", flags, dont_inherit=True), space)


def _finish(code, space):
    value = eval(code, space)
    return _await(value) if code.co_flags & CO_COROUTINE else value


def _await(coroutine):
    global _event_loop
    import asyncio

    if _event_loop is None or _event_loop.is_closed():
        _event_loop = asyncio.new_event_loop()
    asyncio.set_event_loop(_event_loop)
    task = _event_loop.create_task(coroutine)
    try:
        return _event_loop.run_until_complete(task)
    except BaseException:
        task.cancel()
        if not task.done():
            _event_loop.run_until_complete(asyncio.sleep(0))
        raise


def _remember(name, source):
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    _cells.append(name)
    if len(_cells) > SOURCES_KEPT:
        linecache.cache.pop(_cells.popleft(), None)


def _exit_code(error):
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _text_of(error):
    try:
        return str(error)
    except Exception:
        return "<the message is not available>"


def _traceback_of(error):
    """As Python would print it, without the frames that are the driver's own."""
    own = run.__code__.co_filename
    try:
        shown = traceback.TracebackException(type(error), error, error.__traceback__)
        pending, seen = [shown], set()
        while pending:
            part = pending.pop()
            if part is None or id(part) in seen:
                continue
            seen.add(id(part))
            part.stack[:] = [frame for frame in part.stack if frame.filename != own]
            pending += [part.__cause__, part.__context__, *(getattr(part, "exceptions", None) or ())]
        return "".join(shown.format())
    except Exception:
        return ""


def _cut(text, most):
    return text if len(text) <= most else f"{text[: most // 2]} [...] {text[len(text) - most // 4 :]}"


def _clean(text):
    """Halves of surrogate pairs are neither valid text nor valid JSON."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def _open_streams(data):
    """What an earlier cell closed is open again; what it put elsewhere stays there."""
    for fd, original in ((1, _out), (2, _err)):
        try:
            os.fstat(fd)
        except OSError:
            os.dup2(original, fd)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name, None)
        if stream is None or getattr(stream, "closed", False):
            errors = "strict" if fd == 1 else "backslashreplace"
            stream = open(fd, "w", buffering=1, encoding="utf-8", errors=errors, closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    _give_stdin(data)


def _give_stdin(data):
    """Makes these bytes, and then the end, the cell's standard input: for it and for the programs it starts."""
    global _stdin, _feeding
    if _feeding is not None:
        _close_feed()
    if data:
        reading, writing = os.pipe()
        try:
            fcntl.fcntl(writing, SETPIPE_SIZE, min(len(data), 1 << 20))
        except OSError:
            pass
        os.set_blocking(writing, False)
        rest = data[_write(writing, data) :]
        os.set_blocking(writing, True)
        if rest:
            _feeding = writing
            threading.Thread(target=_feed, args=(writing, rest), daemon=True).start()
        else:
            os.close(writing)
    else:
        reading = os.open(os.devnull, os.O_RDONLY)
    os.dup2(reading, 0)
    if reading != 0:
        os.close(reading)
    if _stdin is None or sys.stdin is _stdin or getattr(sys.stdin, "closed", True):
        _stdin = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
        sys.stdin = sys.__stdin__ = _stdin


def _feed(fd, data):
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[_write(fd, rest) :]
    except OSError:
        pass  # it is not read to the end
    if _feeding == fd:
        _close_feed()


def _close_feed():
    global _feeding
    fd, _feeding = _feeding, None
    try:
        os.close(fd)
    except (OSError, TypeError):
        pass


def _forget():
    """In a process that a cell forked: requests and records are its parent's."""
    global _requests, _events, _out, _err
    fds, _requests, _events, _out, _err = (_requests, _events, _out, _err), None, None, None, None
    for fd in fds:
        try:
            os.close(fd)
        except (OSError, TypeError):
            pass
    if _feeding is not None:
        _close_feed()


def _leave_as_child(report):
    """A process that a cell forked came to the cell's end: it ends as it would at the end of a script."""
    error = report.get("error")
    if error:
        try:
            sys.stderr.write(error["traceback"] or error["type"] + "\n")
        except Exception:
            pass
    _flush()
    _leave_now(1 if error else report.get("exit_code", 0))
