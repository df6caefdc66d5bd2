# The planting program of the pools' tests: leaves a mark wherever it can, states what it planted in the words of look.py
# (a JSON object on one line), and stays. Arguments: as look.py's, its source, and `keys` where there are keyrings to try.
import ctypes, fcntl, json, os, pty, resource, signal, socket, struct, subprocess, sys, threading, time

look = {"__name__": "look"}
exec(sys.argv[2], look)
libc, NAME, FIRST_KEY, FIRST_PORT = (look[name] for name in ("libc", "NAME", "FIRST_KEY", "FIRST_PORT"))
HOME = os.environ["HOME"]
FS_IOC_SETFLAGS, FS_NODUMP, FS_IMMUTABLE = 0x40086602, 0x40, 0x10
planted, refused, inheritable = [], [], []


def attempt(what, *facts):
    """Does it, and states the facts when it worked."""
    try:
        what()
    except (OSError, ValueError) as error:
        refused.append(f"{facts}: {error}")
        return False
    planted.extend(facts)
    return True


def checked(answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def write(path, text="planted"):
    with open(path, "w") as file:
        file.write(text)


def plant_files(place):
    if place == "/dev/mqueue":
        return  # see plant_ipc(): there are no other files

    def entry(name, what):
        path = os.path.join(place, name)
        return attempt(lambda: what(path), f"entry {path!r}")

    def full(path):
        os.mkdir(path)
        os.mkdir(path + "/inner")
        write(path + "/inner/mark")

    def closed(path):
        full(path)
        os.chmod(path + "/inner", 0)
        os.chmod(path, 0)

    def read_only(path):
        full(path)
        os.chmod(path + "/inner", 0o555)
        os.chmod(path, 0o555)

    def sticky(path):
        full(path)
        os.chmod(path, 0o7000)

    def deep(path):
        home = os.open(".", os.O_RDONLY)
        os.mkdir(path)
        os.chdir(path)
        for _ in range(100):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        write("bottom")
        os.fchdir(home)
        os.close(home)

    def many(path):
        os.mkdir(path)
        for number in range(1000):
            os.close(os.open(f"{path}/{number}", os.O_CREAT | os.O_WRONLY))

    def sparse(path):
        write(path)
        os.truncate(path, 9 << 20)

    def privileged(path):
        write(path)
        os.chmod(path, 0o6777)

    def socket_file(path):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)

    if entry("mark", write):
        entry("hard-link", lambda path: os.link(os.path.join(place, "mark"), path))
    for name in (".hidden", "new\nline", "-rf", "\udcff\udcfe", "n" * 255, ".cloche-wipe-1-0"):
        entry(name, write)
    entry("dead-end", lambda path: os.symlink("/nowhere", path))
    entry("to-passwd", lambda path: os.symlink("/etc/passwd", path))
    entry("to-itself", lambda path: os.symlink("to-itself", path))
    entry("to-directory", lambda path: os.symlink(place, path))
    entry("empty", os.mkdir)
    entry("fifo", os.mkfifo)
    for name, what in (("full", full), ("closed", closed), ("read-only", read_only), ("sticky", sticky),
                       ("sparse", sparse), ("privileged", privileged), ("socket", socket_file)):
        entry(name, what)
    if place in (HOME, "/tmp"):
        entry("deep", deep)
        entry("many", many)


def plant_on_place(place):
    """On the place itself, which is not removed with what is in it."""
    fd = os.open(place, os.O_RDONLY)

    def set_flags():
        flags = struct.unpack("l", fcntl.ioctl(fd, look["FS_IOC_GETFLAGS"], bytes(8)))[0] | FS_NODUMP
        fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("l", flags))
        planted.append(f"flags {place} {flags:#x}")

    def make_immutable():
        fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("l", FS_IMMUTABLE))

    attempt(lambda: os.setxattr(place, "user.cloche", b"planted"), f"xattr {place} user.cloche b'planted'")
    # For whatever is made in here.
    entries = ((1, 7, 0xFFFFFFFF), (2, 7, os.getuid()), (4, 5, 0xFFFFFFFF), (16, 7, 0xFFFFFFFF), (32, 5, 0xFFFFFFFF))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    attempt(lambda: os.setxattr(place, "system.posix_acl_default", acl), f"xattr {place} system.posix_acl_default {acl!r}")
    attempt(set_flags)
    attempt(make_immutable, f"immutable {place}")
    if attempt(lambda: os.chmod(place, 0o3751)):
        about = os.stat(place)
        planted.append(f"place {place} mode {oct(about.st_mode)} owner {about.st_uid}:{about.st_gid}")
    attempt(lambda: os.utime(place, (1, 1)), f"times {place}")
    os.close(fd)


def plant_start_up():
    for name, fact in ((".profile", "sh"), (".bash_profile", "profile"), (".bashrc", "bashrc")):
        attempt(lambda: write(f"{HOME}/{name}", "export CLOCHE_MARK=planted\n"), f"started {fact}")
    packages = f"{HOME}/.local/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    os.makedirs(packages + "/__pycache__")
    attempt(lambda: write(packages + "/usercustomize.py", "cloche_mark = True\n"), "started usercustomize")
    attempt(lambda: write(packages + "/sitecustomize.py", "cloche_mark = True\n"))
    attempt(lambda: write(packages + "/mark.pth", "import builtins; builtins.cloche_mark = 1\n"), "self builtins True")
    attempt(lambda: write(f"{HOME}/colorsys.py", "cloche_mark = True\n"), "started colorsys")
    for name in (".pythonrc", ".pam_environment", ".ssh/authorized_keys", ".config/autostart/mark.desktop",
                 ".config/systemd/user/mark.service", ".gitconfig", ".inputrc", "__pycache__/main.cpython-311.pyc"):
        os.makedirs(os.path.dirname(f"{HOME}/{name}"), exist_ok=True)
        attempt(lambda: write(f"{HOME}/{name}"), f"entry {os.path.join(HOME, name.split('/')[0])!r}")
    # What would outlive the sandbox's programs, or rule them; the walls refuse it.
    for path in ("/etc/cron.d/mark", "/var/spool/cron/crontabs/mark", "/var/spool/cron/atjobs/mark", "/etc/profile.d/mark.sh",
                 "/etc/environment", "/etc/ld.so.preload", "/etc/bash.bashrc", "/root/.profile", "/run/mark", "/etc/passwd",
                 "/usr/lib/python3/dist-packages/mark.pth", "/.cloche/mark", "/var/lib/mark", "/proc/sys/kernel/hostname",
                 "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/1/oom_score_adj", "/proc/1/comm",
                 "/proc/sys/net/ipv4/ip_default_ttl", "/dev/mark", "/sys/fs/cgroup/mark"):
        attempt(lambda: write(path), f"wrote {path}")
    for command, line in ((["crontab", "-"], "* * * * * true\n"), (["at", "now"], "true\n"), (["batch"], "true\n")):
        attempt(lambda: subprocess.run(command, input=line, text=True, check=True, capture_output=True)
                if any(os.access(f"{path}/{command[0]}", os.X_OK) for path in ("/usr/bin", "/bin"))
                else checked(-1), f"wrote {command[0]}")


def plant_ipc(has_keys):
    CREATE = 0o1000
    attempt(lambda: checked(libc.shmget(FIRST_KEY, 4096, CREATE)), f"sysv shm {FIRST_KEY:#x}")
    attempt(lambda: checked(libc.semget(FIRST_KEY + 1, 3, CREATE | 0o600)), f"sysv sem {FIRST_KEY + 1:#x}")
    attempt(lambda: checked(libc.msgget(FIRST_KEY + 2, CREATE | 0o666)), f"sysv msg {FIRST_KEY + 2:#x}")
    for _ in range(20):  # without a key
        attempt(lambda: checked(libc.shmget(0, 4096, CREATE | 0o600)))
        attempt(lambda: checked(libc.semget(0, 1, CREATE)))
        attempt(lambda: checked(libc.msgget(0, CREATE | 0o600)))
    queue = f"/{NAME}".encode()
    attempt(lambda: checked(libc.mq_send(checked(libc.mq_open(queue, os.O_CREAT | os.O_RDWR, 0o600, None)), b"x", 1, 0)), "mq")
    libc.sem_open.restype = ctypes.c_void_p
    if libc.sem_open(f"/{NAME}".encode(), os.O_CREAT, 0o600, 1):
        planted.append(f"entry {'/dev/shm/sem.' + NAME!r}")
    add_key = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
    if has_keys:
        attempt(lambda: checked(libc.syscall(add_key, b"user", NAME.encode(), b"x", 1, -4)), "key")


def daemon(name, work):
    """Double-forked, a session of its own, deaf to all signals; `work` is done in it, then it stays."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(1, signal.NSIG):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError):
                    pass
            planted.clear()
            refused.clear()
            try:
                work()
                libc.prctl(15, name.encode(), 0, 0, 0)
                planted.append("process " + name)
            except OSError as error:
                refused.append(f"{name}: {error}")
            os.write(writer, json.dumps([planted, refused]).encode() + b"\n")
            os.close(writer)
            os.close(reader)
            if name == "mark-stopped":
                os.kill(os.getpid(), signal.SIGSTOP)
            if name == "mark-headless":  # its first thread ends, another goes on
                threading.Thread(target=time.sleep, args=(1000,)).start()
                libc.syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
            while name == "mark-hopper":  # a new process every few milliseconds
                time.sleep(0.005)
                if os.fork() != 0:
                    os._exit(0)
            while True:
                time.sleep(1000)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        line = stream.readline()
    os.wait()
    told = json.loads(line) if line else [[], [f"{name}: lost"]]
    planted.extend(told[0])
    refused.extend(told[1])


kept = []  # open until the process ends


def listen(kind, family, address, *facts):
    def work():
        server = socket.socket(family, kind)
        server.bind(address)
        if kind == socket.SOCK_STREAM:
            server.listen()
        kept.append(server)

    attempt(work, *facts)


def hold_things():
    port = FIRST_PORT
    listen(socket.SOCK_STREAM, socket.AF_INET, ("127.0.0.1", port), f"socket tcp {port} state 0A", f"port {port} tcp taken")
    listen(socket.SOCK_STREAM, socket.AF_INET6, ("::", port + 1), f"socket tcp6 {port + 1} state 0A", f"port {port + 1} tcp taken")
    listen(socket.SOCK_DGRAM, socket.AF_INET, ("0.0.0.0", port + 2), f"socket udp {port + 2}", f"port {port + 2} udp taken")
    listen(socket.SOCK_STREAM, socket.AF_UNIX, f"\0{NAME}", f"socket unix @{NAME}")
    for place in (HOME, "/tmp"):
        kept.append(open(f"{place}/held", "w+"))
        kept[-1].write("held")
        os.unlink(f"{place}/held")
        fd = os.open(place, os.O_RDONLY)
        attempt(lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB), f"lock {place}")
    attempt(lambda: os.write(os.memfd_create("mark"), b"planted"))
    master, slave = pty.openpty()
    planted.append("pty " + os.ttyname(slave).rpartition("/")[2])
    attempt(lambda: checked(libc.inotify_add_watch(checked(libc.inotify_init()), b"/tmp", 0xFFF)))
    attempt(lambda: signal.setitimer(signal.ITIMER_REAL, 1, 1))
    libc.shmat.restype = ctypes.c_void_p
    removed = libc.shmget(0, 4096, 0o1600)
    libc.shmat(removed, None, 0)
    libc.shmctl(removed, 0, None)
    if os.fork() == 0:
        os._exit(0)  # a zombie


def plant_on_self():
    """What a child inherits; the looking program is then run as such a child."""
    def on_self(what, fact):
        try:
            what()
            inheritable.append(fact)
        except (OSError, ValueError) as error:
            refused.append(f"{fact}: {error}")

    on_self(lambda: os.umask(0), "self umask 0")
    on_self(lambda: os.dup2(1, 200, inheritable=True), f"self fd 200 {os.fstat(1).st_mode & 0o170000:o}")
    on_self(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (77, 77)), "self RLIMIT_NOFILE (77, 77)")
    on_self(lambda: resource.setrlimit(resource.RLIMIT_CPU, (77, 78)), "self RLIMIT_CPU (77, 78)")
    on_self(lambda: os.environ.update(CLOCHE_MARK="planted", LD_LIBRARY_PATH=HOME), "self env CLOCHE_MARK=planted")
    on_self(lambda: os.nice(3), "self nice 3")
    on_self(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]), f"self blocked [{int(signal.SIGUSR2)}]")
    on_self(lambda: write("/proc/self/coredump_filter", "0x7f"), "self coredump_filter 0000007f")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.run([sys.executable, "-c", sys.argv[2], sys.argv[1]], capture_output=True, text=True, close_fds=False)
    return json.loads(child.stdout or "[]"), child.stderr


def enter_removed_directory():
    os.mkdir("/tmp/gone")
    os.chdir("/tmp/gone")
    os.rmdir("/tmp/gone")
    inheritable.append("self cwd none")


places, _ = look["writable_places"](sys.argv[1])
plant_ipc("keys" in sys.argv[3:])
for place in places:
    plant_files(place)
plant_start_up()
daemon("mark-daemon", hold_things)
daemon("cloche-agent", lambda: None)
daemon("mark-stopped", lambda: None)
daemon("mark-headless", lambda: None)
daemon("mark-hopper", lambda: None)
enter_removed_directory()
for place in places:
    plant_on_place(place)
seen_by_child, errors = plant_on_self()
print(json.dumps({"planted": planted, "refused": refused, "inheritable": inheritable, "inherited": seen_by_child,
                  "errors": errors}), flush=True)
while True:
    time.sleep(1000)
