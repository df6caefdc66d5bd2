# A fork of the zygote becomes a run: it waits for its descriptors, drops to the user, reads what to run, takes on what
# `python3 script` would start with, and ends as that would. Before zygote.py.
import _signal, array, atexit, ctypes, fcntl, gc, importlib, io, os, resource, signal, socket, struct, sys

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 36, 38
EVENT_FD = 3  # what a run's events are written to, where it has any
libc = ctypes.CDLL(None)
own_streams = set()  # ids of what reopen_stdio() made


def prctl(option, value):
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(f"prctl {option}")


def receive(connection, most):
    """Waits for a message of one byte; that byte (nothing at the end), and the descriptors that came with it."""
    size = array.array("i").itemsize
    data, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(most * size), socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % size])
    return data, list(fds)


def read_request(fd):
    """A list of byte strings, each after its length."""
    raw = bytearray()
    while part := os.read(fd, 1 << 16):
        raw += part
    os.close(fd)
    parts, at = [], 0
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        parts.append(bytes(raw[at + 4 : at + 4 + size]))
        at += 4 + size
    return parts


def wait_for_run(waiting_fd):
    """Says who waits and who supervises; then the run's descriptors: request, stdin, stdout, stderr, events if asked for."""
    _signal.signal(signal.SIGCHLD, _signal.SIG_DFL)  # signal.signal() makes enumerations first
    os.setsid()
    score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    os.write(score, b"1000")
    os.close(score)
    if not hot_pages:
        rehearse()
    with socket.socket(fileno=waiting_fd) as waiting:
        waiting.send(struct.pack("<II", os.getpid(), os.getppid()))
        data, fds = receive(waiting, 5)
    if not data or len(fds) not in (4, 5):
        os._exit(0)  # the agent has no use for it any more
    return fds[0], fds[1:4], fds[4:]


def become_run(request_fd, stdio, events):
    request_fd = fcntl.fcntl(request_fd, fcntl.F_DUPFD_CLOEXEC, EVENT_FD + 1)
    for target, fd in enumerate(stdio):
        os.dup2(fd, target)
    for fd in events:
        os.dup2(fd, EVENT_FD)
        os.set_inheritable(EVENT_FD, False)  # the run's own programs have no business with it
    os.closerange(EVENT_FD + len(events), request_fd)
    os.closerange(request_fd + 1, 256)
    drop_rights(request_fd)
    prepare(read_request(request_fd), bool(events))


def drop_rights(request_fd):
    # Who to become is the agent's word, at the front; what to run is read afterwards.
    uid, gid, mark, umask, limit_count = struct.unpack("<IIIII", os.read(request_fd, 20))
    limits = os.read(request_fd, limit_count * 24)
    for which, soft, hard in struct.iter_unpack("<QQQ", limits):
        resource.setrlimit(which, (as_limit(soft), as_limit(hard)))
    os.umask(umask)
    if mark:
        os.setgroups([mark])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if uid == 0 or gid == 0 or os.getresuid() != (uid, uid, uid) or os.getresgid() != (gid, gid, gid):
        os._exit(70)
    prctl(PR_SET_DUMPABLE, 1)


def as_limit(number):
    return resource.RLIM_INFINITY if number == 2**64 - 1 else number


def prepare(request, has_events):
    argv, added_path = enter(request)
    if needs_own_interpreter(argv, added_path):
        if has_events:
            os.set_inheritable(EVENT_FD, True)
        command = []
        if harness:
            command = ["-c", harness_source + "\nrun()"]
        elif "CLOCHE_FIGURES" in os.environ:
            command = ["-c", script_start_source + "\nrun_script()"]
        os.execv(sys.executable, [sys.executable, *command, *argv])
    take_on(argv, added_path)


def enter(request):
    cwd, env_count, *rest = request
    env_count = int(env_count)
    set_environment(rest[:env_count])
    argv = [os.fsdecode(part) for part in rest[env_count:]]
    try:
        os.chdir(cwd or b"/")
    except OSError as error:
        fail(f"cannot enter {os.fsdecode(cwd)}: {error.strerror}")
    return argv, module_path()


def take_on(argv, added_path):
    sys.argv = argv
    sys.orig_argv = [sys.executable, *argv]
    sys.path[:] = dict.fromkeys(added_path + sys.path)
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    reopen_stdio()


def set_environment(entries):
    os.environ.clear()
    for entry in entries:
        key, _, value = entry.partition(b"=")
        if key:
            os.environb[key] = value


def module_path():
    """PYTHONPATH as the interpreter reads it: absolute, an empty part being the current directory."""
    given = os.environ.get("PYTHONPATH")
    return [os.path.abspath(part) for part in given.split(os.pathsep)] if given else []


def needs_own_interpreter(argv, added_path):
    """True where variables are set that the interpreter reads at its start and this one has not, and where a module that
    the run would find first has the name of one that was imported before the run was known."""
    honoured = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
    if any(key.startswith("PYTHON") and key not in honoured for key in os.environ):
        return True
    scripts = [] if harness or not argv else [os.path.dirname(os.path.realpath(argv[0]))]
    return any(has_known_module(directory) for directory in scripts + added_path)


def has_known_module(directory):
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    for name in names:
        stem, _, extension = name.partition(".")
        is_module = extension in ("", "py", "pyc") or extension.endswith("so")
        if is_module and (stem in sys.modules or stem in ("sitecustomize", "usercustomize")):
            return True
    return False


def reopen_stdio():
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    tty = os.isatty(1)
    sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    raw = open(1, "wb", buffering=0 if unbuffered else -1, closefd=False)
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(
        raw, encoding="utf-8", errors="surrogateescape", line_buffering=tty or unbuffered, write_through=unbuffered
    )
    raw = open(2, "wb", buffering=0 if unbuffered else -1, closefd=False)
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(
        raw, encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=unbuffered
    )
    sys.stdin.mode, sys.stdout.mode, sys.stderr.mode = "r", "w", "w"
    own_streams.clear()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        own_streams.update((id(stream), id(stream.buffer), id(getattr(stream.buffer, "raw", None))))


def fail(message):
    os.write(2, f"python3: {message}\n".encode(errors="replace"))
    os._exit(2)


def load_script():
    """Compiles sys.argv[0] and makes __main__ what it would be; returns the code and its globals."""
    script = sys.argv[0]
    path = os.path.join(os.getcwd(), script)
    try:
        with open(script, "rb") as file:
            source = file.read()
    except OSError as error:
        fail(f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}")
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    main = type(sys)("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__
    main.__loader__ = None
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    name = path if sys.version_info >= (3, 9) else script
    return compile(source, name, "exec", dont_inherit=True), main.__dict__


def leave(code):
    """Ends a run whose script has ended, as the interpreter would, but without taking apart what the zygote had made: each
    page of that would be copied first, which costs more than all of a short run. Returns where that does not close and
    finalize everything that the script has made; then the interpreter has to."""
    threading = sys.modules.get("threading")
    try:
        if threading:
            threading._shutdown()
            if threading.active_count() > 1:
                return
        atexit._run_exitfuncs()
    except BaseException:
        return
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    if gc.isenabled():
        gc.collect()  # also puts what is in a cycle with a file before the file, and a file before its buffer
    newest_first = reversed(sys.modules)
    for name in [next(newest_first) for _ in range(len(sys.modules) - known_modules)][::-1]:
        del sys.modules[name]
    sys.modules.pop("__main__", None)
    gc.collect()
    for made in gc.get_objects():
        if needs_finalizing(made):
            return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return
    libc.exit(code & 0xFF)


def needs_finalizing(made):
    try:
        return hasattr(type(made), "__del__") and id(made) not in own_streams
    except BaseException:
        return True
