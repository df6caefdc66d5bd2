# The zygote: forks interpreters, each for one run. Started by the agent with: control descriptor, agent's path, a
# harness's source (or nothing), the source of script_start.py, the descriptors of fork_run.c's library and of the watcher
# (or -1), imports.
#
# Forks are asked for before there is a run for them, so that a run finds one waiting. The parent only passes descriptors
# on. Each run has a supervisor, which is its parent, and a subreaper, so that all that descends from the run is its own.
# The run waits for its descriptors, drops to the user, and only then reads what to run, and behaves as `python3 script`
# would. Where there is a harness, its run() gets the run.
import _signal, array, atexit, ctypes, fcntl, gc, importlib, io, os, resource, signal, socket, struct, sys

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 36, 38
EVENT_FD = 3  # what a run's events are written to, where it has any
libc = ctypes.CDLL(None)
harness = harness_source = script_start = script_start_source = None
native = None  # fork_run.c, where it could be loaded
watcher_fd = -1
hot_pages = array.array("Q")  # what a run writes to before it runs anything of its own: addresses and lengths
known_modules = 0  # how many the zygote has imported
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
    uid, gid, umask, limit_count = struct.unpack("<IIII", os.read(request_fd, 16))
    limits = os.read(request_fd, limit_count * 24)
    for which, soft, hard in struct.iter_unpack("<QQQ", limits):
        resource.setrlimit(which, (as_limit(soft), as_limit(hard)))
    os.umask(umask)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if uid == 0 or os.getresuid() != (uid, uid, uid):
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


def rehearse():
    """Does what a run does, with nothing: each page that it writes to is copied now, and not while somebody waits."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(b"f")
        receive(theirs, 5)
    reading, writing = os.pipe()
    request = [b"/", b"8", *[b"NAME%d=value" % i for i in range(8)], b"rehearsal"]
    os.write(writing, b"".join(struct.pack("<I", len(part)) + part for part in request))
    os.close(writing)
    struct.unpack("<IIII", bytes(16))
    given = enter(read_request(reading))
    needs_own_interpreter(*given)
    take_on(*given)
    main = type(sys)("__main__")
    main.__builtins__ = __builtins__
    exec(compile("print(sum(range(10)))", "rehearsal", "exec", dont_inherit=True), main.__dict__)
    sys.stdout.flush()
    gc.collect()
    for made in gc.get_objects():
        needs_finalizing(made)


def learn_hot_pages():
    """Lets a fork rehearse, and finds the pages that it got by that. None where the kernel does not tell, or cannot give
    them to others in one go."""
    size, areas = resource.getpagesize(), writable_areas()
    reading, writing = os.pipe()
    try:
        is_scout = os.fork() == 0
    except OSError:
        is_scout = False  # no process to be had now
    if is_scout:
        try:
            pagemap = os.open("/proc/self/pagemap", os.O_RDONLY)
            rehearse()
            for begin, end in areas:
                os.write(writing, os.pread(pagemap, (end - begin) // size * 8, begin // size * 8))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        flags = array.array("Q", told.read())
    addresses = [at for begin, end in areas for at in range(begin, end, size)]
    is_its_own = 1 << 63 | 1 << 56  # present, and in no other process
    for at, flag in zip(addresses, flags if len(flags) == len(addresses) else ()):
        if flag & is_its_own != is_its_own:
            continue
        if hot_pages and hot_pages[-2] + hot_pages[-1] == at:
            hot_pages[-1] += size
        else:
            hot_pages.extend((at, size))
    if native.own_pages(*pages_to_own()) != 0:
        del hot_pages[:]


def pages_to_own():
    return hot_pages.buffer_info()[0], len(hot_pages) // 2


def writable_areas():
    with open("/proc/self/maps") as maps:
        lines = [line.split() for line in maps]
    areas = [line[0].split("-") for line in lines if line[1] == "rw-p"]
    return [(int(begin, 16), int(end, 16)) for begin, end in areas]


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


def serve(control, agent_path):
    """Forks whenever it is asked to. Returns only in a run: the descriptor that it waits at."""
    if native:
        return serve_natively(control, agent_path)
    while True:
        data, fds = receive(control, 2)
        if not data:
            os._exit(0)  # the agent is gone
        try:
            is_run = len(fds) == 2 and os.fork() == 0 and fork_as_supervisor(fds[1], agent_path)
        except OSError:
            is_run = False  # no process to be had: the run is lost, and the agent sees it by its control's end
        if is_run:
            os.close(fds[1])  # its end is the supervisor's end, and nobody else's
            return fds[0]
        for fd in fds:
            os.close(fd)
        control.send(b"f")  # this fork is no longer on its way


def serve_natively(control, agent_path):
    ctypes.pythonapi.PyOS_BeforeFork()
    waiting = native.serve(control.fileno(), watcher_fd, agent_path, *pages_to_own())
    if waiting < 0:
        os._exit(0)  # the agent is gone
    ctypes.pythonapi.PyOS_AfterFork_Child()
    return waiting


def fork_as_supervisor(supervisor, agent_path):
    """True in the run; the caller becomes its supervisor."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # where there is none, the agent finds orphans by their mark
        run = os.fork()
        if run == 0:
            return True
        os.set_inheritable(supervisor, True)
        os.closerange(3, supervisor)
        os.closerange(supervisor + 1, 256)
        os.execv(agent_path, [agent_path, "supervise", str(supervisor), str(run)])
    except BaseException:
        os._exit(71)


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


def load_harness(source):
    """A module of its own name, so that what is imported next, and a script, may import it."""
    module = type(sys)("cloche_script")
    sys.modules[module.__name__] = module
    exec(compile(source, "<cloche_script>", "exec", dont_inherit=True), module.__dict__)
    return module


def load_native(library_fd):
    """fork_run.c; nothing where it cannot be had. Then Python does the same, more slowly."""
    if library_fd < 0:
        return None
    try:
        library = ctypes.PyDLL(f"/proc/self/fd/{library_fd}")
        os.close(library_fd)
        library.serve.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
        library.own_pages.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        for name in ("PyOS_BeforeFork", "PyOS_AfterFork_Child"):
            getattr(ctypes.pythonapi, name).restype = None
        return library
    except (OSError, AttributeError):
        return None


def drop_what_no_run_has():
    """What is the same for all runs is done once, before they are forked."""
    os.setgroups([])
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, 32, 33):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def start():
    global harness, harness_source, script_start, script_start_source, native, watcher_fd, known_modules
    control = socket.socket(fileno=int(sys.argv[1]))
    agent_path = os.fsencode(sys.argv[2])
    harness_source = sys.argv[3]
    script_start_source = sys.argv[4]
    watcher_fd = int(sys.argv[6])
    if watcher_fd >= 0:
        os.set_inheritable(watcher_fd, False)
        native = load_native(int(sys.argv[5]))
    if harness_source:
        harness = load_harness(harness_source)
    else:
        script_start = {}
        exec(compile(script_start_source, "<cloche_start>", "exec", dont_inherit=True), script_start)
    for name in sys.argv[7:]:
        importlib.import_module(name)
    known_modules = len(sys.modules)
    drop_what_no_run_has()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    if native:
        learn_hot_pages()
    control.send(b"r")
    waiting = serve(control, agent_path)
    try:
        control.close()
        become_run(*wait_for_run(waiting))
    except BaseException:
        os._exit(71)


sys.path[:] = [entry for entry in sys.path if entry]
start()
code = 0
try:
    if harness:
        harness.run()
    else:
        script_start["save_figures"]()
        exec(*load_script())
except SystemExit as end:
    if end.code is not None and type(end.code) is not int:
        raise
    code = end.code or 0
except KeyboardInterrupt:
    raise
except BaseException as error:
    # As the interpreter would report it: without the frames above the script's own.
    own = error.__traceback__.tb_next
    if own is not None and own.tb_frame.f_code.co_name == "load_script":
        own = None
    sys.excepthook(type(error), error.with_traceback(own), own)
    sys.exit(1)
leave(code)
sys.exit(code)
