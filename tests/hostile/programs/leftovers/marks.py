# tries: `plant KIND` leaves something for whoever comes next; `look KIND` is who comes next
# must: find nothing of it, once the sandbox was made clean in between
import ctypes
import fcntl
import mmap
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, "/attack")
from attack import done, held, hole

libc = ctypes.CDLL(None, use_errno=True)
HOME = os.environ.get("HOME", "/workspace")
PLACES = ("/workspace", "/tmp", "/dev/shm", "/var/tmp")


def write(path, text="planted"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def in_background(work):
    """A process that nobody waits for; returns once it has begun."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.environ.clear()
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        try:
            work(lambda: os.write(writing, b"x"))
        finally:
            os._exit(0)
    os.close(writing)
    os.wait()
    os.read(reading, 1)


def forever(ready):
    ready()
    while True:
        time.sleep(1)


def exists(path):
    return os.path.lexists(path)


class Files:
    def plant():
        for place in PLACES:
            if not os.access(place, os.W_OK):
                continue
            for name in ("mark", ".hidden-mark", "new\nline-mark", "-rf-mark", "\udcff-mark"):
                write(os.path.join(place, name))

    def look():
        return [os.path.join(place, name) for place in PLACES for name in os.listdir(place) if "mark" in name]


class ClosedTree:
    def plant():
        os.makedirs("/workspace/closed/inner", exist_ok=True)
        write("/workspace/closed/inner/mark")
        os.chmod("/workspace/closed/inner", 0)
        os.chmod("/workspace/closed", 0)

    def look():
        return exists("/workspace/closed")


class DeepTree:
    def plant():
        os.chdir("/tmp")
        for _ in range(300):
            os.mkdir("d" * 100)
            os.chdir("d" * 100)

    def look():
        return exists("/tmp/" + "d" * 100)


class FullDisk:
    def plant():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            for number in range(30):
                with open(f"/dev/shm/full{number}", "wb", buffering=0) as file:
                    for _ in range(8):
                        file.write(bytes(1 << 20))
        except OSError:
            pass

    def look():
        about = os.statvfs("/dev/shm")
        return about.f_bfree < about.f_blocks * 0.9 or exists("/dev/shm/full0")


class SystemV:
    def plant():
        libc.shmget(0x4711, 4096, 0o1666), libc.semget(0x4712, 1, 0o1666), libc.msgget(0x4713, 0o1666)

    def look():
        return [kind for kind, answer in (("shm", libc.shmget(0x4711, 0, 0)), ("sem", libc.semget(0x4712, 0, 0)), ("msg", libc.msgget(0x4713, 0))) if answer >= 0]


class MessageQueue:
    def plant():
        libc.mq_open(b"/mark", os.O_CREAT | os.O_RDWR, 0o666, None)

    def look():
        return libc.mq_open(b"/mark", os.O_RDONLY) >= 0 or exists("/dev/mqueue/mark")


class SharedMemory:
    def plant():
        write("/dev/shm/mark")
        write("/dev/shm/sem.mark")

    def look():
        return exists("/dev/shm/mark") or exists("/dev/shm/sem.mark")


class Process:
    def plant():
        in_background(forever)

    def look():
        pids = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid(), os.getppid())]
        return [pid for pid in pids if os.path.exists(f"/proc/{pid}") and os.stat(f"/proc/{pid}").st_uid == 1000]


class LateWriter:
    def plant():
        def work(ready):
            ready()
            time.sleep(0.4)
            while True:
                for place in PLACES:
                    try:
                        write(place + "/late")
                    except OSError:
                        pass
                time.sleep(0.05)

        in_background(work)

    def look():
        time.sleep(0.8)
        return [place for place in PLACES if exists(place + "/late")]


class Listener:
    def plant():
        def work(ready):
            listeners = [socket.create_server(("127.0.0.1", 4710)), socket.create_server(("::1", 4711), family=socket.AF_INET6)]
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            udp.bind(("127.0.0.1", 4712))
            ready()
            while listeners and udp:
                time.sleep(1)

        in_background(work)

    def look():
        found = []
        for port in (4710, 4712):
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM if port == 4710 else socket.SOCK_DGRAM) as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    found.append(port)
        return found


class AbstractSocket:
    def plant():
        def work(ready):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind("\0mark")
            listener.listen()
            ready()
            while listener:
                time.sleep(1)

        in_background(work)

    def look():
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect("\0mark")
                return True
            except OSError:
                return False


class Lock:
    def plant():
        def work(ready):
            file = os.open("/tmp", os.O_RDONLY)
            fcntl.flock(file, fcntl.LOCK_EX)
            forever(ready)

        in_background(work)

    def look():
        file = os.open("/tmp", os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except OSError:
            return True


class StartUp:
    def plant():
        write(f"{HOME}/.profile", "export CLOCHE_MARK=planted\n")
        write(f"{HOME}/.bashrc", "export CLOCHE_MARK=planted\n")
        write(f"{HOME}/.local/lib/python3.11/site-packages/usercustomize.py", "import builtins; builtins.cloche_mark = True\n")
        write(f"{HOME}/.pythonrc.py")

    def look():
        import builtins

        # A shell that reads them, and this interpreter, which has.
        said = subprocess.run(["/bin/sh", "-lc", 'echo "$CLOCHE_MARK"'], capture_output=True, text=True, cwd=HOME).stdout.strip()
        return said or hasattr(builtins, "cloche_mark") or exists(f"{HOME}/.profile")


class Schedule:
    def plant():
        for path in ("/var/spool/cron/crontabs/sandbox", "/etc/cron.d/mark", "/var/spool/at/mark", f"{HOME}/.config/systemd/user/mark.service",
                     f"{HOME}/.config/autostart/mark.desktop"):
            try:
                write(path)
            except OSError:
                pass

    def look():
        return [path for path in ("/var/spool/cron/crontabs/sandbox", "/etc/cron.d/mark", "/var/spool/at/mark", f"{HOME}/.config") if exists(path)]


class Priority:
    """Of processes that survive: a nice value is inherited by all that they start."""

    def plant():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) in (os.getpid(), os.getppid()):
                continue
            try:
                os.setpriority(os.PRIO_PROCESS, int(pid), 7)
                os.sched_setaffinity(int(pid), {0})
            except OSError:
                pass
        try:
            os.setpriority(os.PRIO_PROCESS, 1, 7)
        except OSError:
            pass

    def look():
        return os.nice(0) == 7 or os.getpriority(os.PRIO_PROCESS, 1) == 7


class Key:
    def plant():
        libc.syscall(248, b"user", b"cloche-mark", b"x", 1, -4)

    def look():
        key = libc.syscall(250, 10, -4, b"user", b"cloche-mark", 0)
        if key >= 0:
            # In a weak place the keyring is the host's.
            libc.syscall(250, 9, key, -4)
        return key >= 0


class ProjectIds:
    """A map of the user namespace that anybody may write, once."""

    def plant():
        try:
            write("/proc/self/projid_map", "4711 4711 1")
        except OSError:
            pass

    def look():
        try:
            with open("/proc/self/projid_map") as ids:
                return "4711" in ids.read()
        except OSError:  # a kernel without
            return False


class MountPoint:
    def plant():
        os.makedirs("/tmp/mounted", exist_ok=True)
        libc.mount(b"mark", b"/tmp/mounted", b"tmpfs", 0, b"")

    def look():
        with open("/proc/self/mountinfo") as table:
            return [line for line in table if " /tmp/mounted " in line] or exists("/tmp/mounted")


class Attributes:
    def plant():
        os.chmod("/workspace", 0o2777)
        for place in ("/workspace", "/tmp"):
            for name in ("user.mark", "security.selinux"):
                try:
                    os.setxattr(place, name, b"planted")
                except OSError:
                    pass

    def look():
        found = [place for place in ("/workspace", "/tmp") for name in os.listxattr(place) if b"planted" in os.getxattr(place, name)]
        return found or os.stat("/workspace").st_mode & 0o7777 == 0o2777


class Terminal:
    def plant():
        def work(ready):
            import pty

            pairs = [pty.openpty() for _ in range(3)]
            ready()
            while pairs:
                time.sleep(1)

        in_background(work)

    def look():
        return [name for name in os.listdir("/dev/pts") if name.isdigit()]


class Setuid:
    def plant():
        with open("/bin/sh", "rb") as source, open("/tmp/sh", "wb") as target:
            target.write(source.read())
        os.chmod("/tmp/sh", 0o6755)

    def look():
        return exists("/tmp/sh")


class Interpreter:
    """In runs forked from one zygote: what one does to its interpreter, the next must not find."""

    def plant():
        import atexit
        import builtins
        import json

        builtins.cloche_mark = True
        json.loads = lambda text: "planted"
        sys.modules["cloche_mark"] = json
        sys.path.insert(0, "/tmp/planted")
        os.environ["CLOCHE_MARK"] = "planted"
        os.umask(0)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        atexit.register(lambda: write("/tmp/at-exit"))
        sys.stdout.write("")

    def look():
        import builtins
        import json

        umask = os.umask(0o22)
        found = {"builtins": hasattr(builtins, "cloche_mark"), "json": json.loads("1") != 1, "modules": "cloche_mark" in sys.modules,
                 "path": "/tmp/planted" in sys.path, "environment": "CLOCHE_MARK" in os.environ, "umask": umask == 0,
                 "signal": signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN, "at exit": exists("/tmp/at-exit")}
        return [name for name, there in found.items() if there]


def main(what, kind):
    marks = globals()[kind]
    if what == "plant":
        marks.plant()
        # The control: who plants can see it, unless the walls refused it.
        held(f"planted {kind}")
    else:
        found = marks.look()
        hole(f"{kind}: {found}") if found else held(f"{kind}: nothing found")
    done()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
