# The zygote: forks interpreters, each for one run. Started by the agent with: control descriptor, agent's path, a
# harness's source (or nothing), the source of script_start.py, the descriptors of fork_run.c's library and of the watcher
# (or -1), imports.
#
# Forks are asked for before there is a run for them, so that a run finds one waiting. The parent only passes descriptors
# on. Each run has a supervisor, which is its parent, and a subreaper, so that all that descends from the run is its own.
# The run waits for its descriptors, drops to the user, and only then reads what to run, and behaves as `python3 script`
# would. Where there is a harness, its run() gets the run.
#
# One program in three files, put together in this order: run.py, what a fork does; hot_pages.py; and this one, which forks.
harness = harness_source = script_start = script_start_source = None
native = None  # fork_run.c, where it could be loaded
watcher_fd = -1
known_modules = 0  # how many the zygote has imported


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
            is_run = False  # no process can be created: the run is lost, and the agent sees the end of its control socket
        if is_run:
            os.close(fds[1])  # only the supervisor holds it, so its end is the supervisor's end
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
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # if it is not supported, the agent finds orphans by their mark
        run = os.fork()
        if run == 0:
            return True
        os.set_inheritable(supervisor, True)
        os.closerange(3, supervisor)
        os.closerange(supervisor + 1, 256)
        os.execv(agent_path, [agent_path, "supervise", str(supervisor), str(run)])
    except BaseException:
        os._exit(71)


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
