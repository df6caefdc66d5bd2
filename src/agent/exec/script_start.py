# Scripts whose figures are saved without a word of theirs: those that they show, and at their end those left open.
# CLOCHE_FIGURES is the beginning of a figure's path; where it is not set nothing is done. Behind figures.py.
import atexit

MOST_FIGURES = 20


def save_figures():
    prefix = os.environ.pop("CLOCHE_FIGURES", "")
    if not prefix:
        return
    figures, pid = _Figures(prefix, MOST_FIGURES), os.getpid()

    def save_what_is_open(pyplot):
        if os.getpid() == pid:  # a forked child's figures are its parent's
            figures.save_all(pyplot)
            figures.tell_of_left_out()

    def on_pyplot(pyplot):
        _take_over_show(pyplot, lambda: figures)
        # After matplotlib's own: what is registered last is called first, and its own closes all figures.
        atexit.register(save_what_is_open, pyplot)

    _set_up_matplotlib()
    if "matplotlib.pyplot" in sys.modules:
        on_pyplot(sys.modules["matplotlib.pyplot"])
    else:
        sys.meta_path.insert(0, _ImportListener("matplotlib.pyplot", on_pyplot))


def run_script():
    """In an interpreter started with -c: runs the script that is its first argument as `python3 script` would."""
    del sys.argv[0]
    sys.orig_argv = [sys.executable, *sys.argv]
    save_figures()
    try:
        exec(*_load(sys.argv[0]))
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        # As the interpreter would report it: without the frames above the script's own.
        own = error.__traceback__.tb_next
        if own is not None and own.tb_frame.f_code is _load.__code__:
            own = None
        sys.excepthook(type(error), error.with_traceback(own), own)
        sys.exit(1)


def _load(script):
    """Compiles the script and makes __main__ what it would be; the code and its globals."""
    path = os.path.join(os.getcwd(), script)
    try:
        with open(script, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"python3: can't open file {path!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        sys.exit(2)
    if sys.path and sys.path[0] == "":  # it is not there with PYTHONSAFEPATH
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    main = type(sys)("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    return compile(source, path, "exec", dont_inherit=True), main.__dict__
