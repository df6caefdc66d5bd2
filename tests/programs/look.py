# The looking program of the pools' tests: states all that can be seen from inside a sandbox of what somebody else has
# done here, one fact a line, as a JSON list on one line. It changes nothing. Facts of a used and reset sandbox must be
# those of a fresh one; plant.py states what it planted in the same words.
#
# Its argument: `everywhere` walks the whole tree for places that can be written to, `mounts` only what is mounted
# writable (where a walk takes minutes).
import builtins, ctypes, errno, fcntl, glob, json, os, resource, signal, socket, stat, struct, subprocess, sys, time

libc = ctypes.CDLL(None, use_errno=True)
FIRST_KEY, FIRST_PORT, NAME = 0x4711, 4710, "cloche-mark"
FS_IOC_GETFLAGS = 0x80086601
facts = set()


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="surrogateescape")
    except OSError:
        return ""


def mounts():
    found = {}
    for line in read("/proc/self/mountinfo").splitlines():
        fields = line.split(" ")
        kind = fields[fields.index("-") + 1]
        path = fields[4].encode("latin-1", "surrogateescape").decode("unicode_escape")
        found[path] = kind
    return found


def writable_places(how):
    """Every directory that this user may write to, or owns, and that was there before anybody used the sandbox."""
    mounted = mounts()
    places = set()
    roots = ["/"] if how == "everywhere" else [path for path in mounted if mounted[path] not in ("proc", "sysfs")]
    for root in roots:
        for directory, names, _ in os.walk(root):
            if directory == "/":
                names[:] = [name for name in names if name not in ("proc", "sys")]
            try:
                owned = os.stat(directory).st_uid == os.getuid()
            except OSError:
                continue
            if owned or os.access(directory, os.W_OK):
                places.add(directory)
                names[:] = [name for name in names if os.path.join(directory, name) in mounted]
            elif how != "everywhere":
                names.clear()
    return sorted(places), mounted


def look_at_place(place, mounted):
    about = os.stat(place)
    facts.add(f"place {place} mode {oct(about.st_mode)} owner {about.st_uid}:{about.st_gid}")
    try:
        facts.update(f"xattr {place} {name} {os.getxattr(place, name)!r}" for name in os.listxattr(place))
    except OSError:
        pass
    try:
        fd = os.open(place, os.O_RDONLY)
        try:
            flags = struct.unpack("l", fcntl.ioctl(fd, FS_IOC_GETFLAGS, bytes(8)))[0]
            facts.add(f"flags {place} {flags:#x}")
        except OSError:
            pass
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            facts.add(f"lock {place}")
        os.close(fd)
    except OSError as error:
        facts.add(f"closed {place} {errno.errorcode[error.errno]}")
    if about.st_atime < 1e9 or about.st_mtime < 1e9:
        facts.add(f"times {place}")
    if place in mounted:  # elsewhere it is the whole file system's
        room = os.statvfs(place)
        facts.add(f"room {place} {room.f_blocks - room.f_bfree} blocks {room.f_files - room.f_ffree} inodes")
    script = os.path.join(os.environ.get("HOME", "/"), sys.argv[0])
    try:
        for name in os.listdir(place):
            path = os.path.join(place, name)
            if path not in mounted and path != script:
                facts.add(f"entry {path!r}")
    except OSError:
        pass


def look_at_processes():
    # Several times: some are never in the table for long.
    for _ in range(8):
        for entry in glob.glob("/proc/[0-9]*"):
            status = read(entry + "/status")
            if not status or int(entry[6:]) in (os.getpid(), os.getppid()):
                continue
            uid = [line.split()[1] for line in status.splitlines() if line.startswith("Uid:")]
            if uid == [str(os.getuid())]:
                facts.add("process " + read(entry + "/comm").strip())
        time.sleep(0.01)


def look_at_ipc():
    for kind in ("shm", "sem", "msg"):
        for line in read("/proc/sysvipc/" + kind).splitlines()[1:]:
            facts.add(f"sysv {kind} {int(line.split()[0]) & 0xffffffff:#x}")
    # Where the kernel has no list.
    for kind, answer in (
        ("shm", libc.shmget(FIRST_KEY, 0, 0)),
        ("sem", libc.semget(FIRST_KEY + 1, 0, 0)),
        ("msg", libc.msgget(FIRST_KEY + 2, 0)),
    ):
        if answer >= 0:
            facts.add(f"sysv {kind} {FIRST_KEY + ('shm', 'sem', 'msg').index(kind):#x}")
    try:
        if libc.mq_open(f"/{NAME}".encode(), os.O_RDONLY) >= 0:
            facts.add("mq")
    except AttributeError:
        pass
    # Of this user: the user's keyring, -4, outlives its processes.
    SYS_KEYCTL, KEYCTL_SEARCH = {"x86_64": (250, 10), "aarch64": (219, 10)}[os.uname().machine]
    if libc.syscall(SYS_KEYCTL, KEYCTL_SEARCH, -4, b"user", NAME.encode(), 0) >= 0:
        facts.add("key")


def look_at_network():
    for kind in ("tcp", "tcp6", "udp", "udp6", "udplite", "raw", "icmp"):
        for line in read("/proc/net/" + kind).splitlines()[1:]:
            fields = line.split()
            if kind.startswith("tcp"):
                facts.add(f"socket {kind} {int(fields[1].rpartition(':')[2], 16)} state {fields[3]}")
            else:
                facts.add(f"socket {kind} {int(fields[1].rpartition(':')[2], 16)}")
    for line in read("/proc/net/unix").splitlines()[1:]:
        path = line.split(maxsplit=7)[7:]
        if path:
            facts.add("socket unix " + path[0])
    for port in range(FIRST_PORT, FIRST_PORT + 10):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(socket.AF_INET, kind) as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    facts.add(f"port {port} {'tcp' if kind == socket.SOCK_STREAM else 'udp'} taken")
    for name in (NAME, NAME + "-hidden"):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect("\0" + name)
                facts.add("socket unix @" + name)
            except OSError:
                pass
    own = os.ttyname(0).rpartition("/")[2] if os.isatty(0) else ""  # some kernels give each a new number
    facts.update(f"pty {name}" for name in os.listdir("/dev/pts") if name.isdigit() and name != own)


def look_at_start_up():
    for module in ("usercustomize", "sitecustomize"):
        if getattr(sys.modules.get(module), "cloche_mark", None):
            facts.add("started " + module)
    import colorsys

    if not colorsys.__file__.startswith("/usr/lib"):
        facts.add("started colorsys")
    for name, command in (("profile", ["bash", "-lc"]), ("bashrc", ["bash", "-ic"]), ("sh", ["sh", "-lc"])):
        try:
            shell = subprocess.run([*command, 'echo "${CLOCHE_MARK-}"'], capture_output=True, text=True, timeout=30,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if shell.stdout.strip():
            facts.add("started " + name)


def look_at_self():
    """What this very process was given."""
    umask = os.umask(0o77)
    os.umask(umask)
    facts.add(f"self umask {umask:o}")
    for name in dir(resource):
        if name.startswith("RLIMIT_"):
            try:
                facts.add(f"self {name} {resource.getrlimit(getattr(resource, name))}")
            except (OSError, ValueError):
                pass
    for name, value in os.environ.items():
        if name not in ("_", "LC_CTYPE"):
            facts.add(f"self env {name}={value}")
    try:
        facts.add("self cwd " + os.getcwd())
    except OSError:
        facts.add("self cwd none")
    facts.add(f"self nice {os.nice(0)}")
    # On gVisor each program has a group of its own, by which its orphans are known.
    groups = [group for group in os.getgroups() if not 62000 <= group <= 64999]
    facts.add(f"self groups {os.getresuid()} {os.getresgid()} {groups}")
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    facts.add(f"self blocked {sorted(map(int, blocked))}")
    for line in read("/proc/self/status").splitlines():
        if line.startswith(("SigIgn", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp:", "Cpus_allowed:")):
            facts.add("self " + " ".join(line.split()))
    for knob in ("oom_score_adj", "coredump_filter", "timerslack_ns", "personality"):
        facts.add(f"self {knob} {read('/proc/self/' + knob).strip()}")
    facts.add(f"self comm {read('/proc/self/comm').strip()}")
    facts.add(f"self builtins {hasattr(builtins, 'cloche_mark')}")
    for fd in range(256):
        try:
            about = os.fstat(fd)
            facts.add(f"self fd {fd} {stat.S_IFMT(about.st_mode):o}")
        except OSError:
            pass


def look(how):
    look_at_self()  # first, while no descriptor of the others is open
    places, mounted = writable_places(how)
    for place in places:
        look_at_place(place, mounted)
    look_at_processes()
    look_at_ipc()
    look_at_network()
    look_at_start_up()
    return sorted(facts)


if __name__ == "__main__":
    print(json.dumps(look(sys.argv[1])), flush=True)
