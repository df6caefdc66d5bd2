# tries: from one run, to reach the zygote from which the next runs are forked: signals, tracing, memory, descriptors
# must: be refused: the zygote is another user's
import ctypes
import os
import signal
import sys

sys.path.insert(0, "/attack")
from attack import done, held, hole, must_fail

libc = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def trace(pid):
    call(libc.ptrace, 16, pid, 0, 0)
    # Let go of, where it works: a weak place ends with its process 1.
    os.waitpid(pid, 0x40000000)
    libc.ptrace(17, pid, 0, 0)


def look(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    about = os.fstat(fd)
    os.close(fd)
    # Some kernels open a link of /proc by its name; /dev/null is everybody's.
    if about.st_rdev == os.makedev(1, 3):
        raise OSError(0, "/dev/null")


for pid in (os.getppid(), 1):
    for number in (signal.SIGSTOP, signal.SIGUSR1, signal.SIGINT):
        must_fail(f"signal {number} to {pid}", os.kill, pid, number)
    must_fail(f"trace {pid}", trace, pid)
    for name in ("mem", "environ", "fd/0", "fd/1", "fd/3", "fd/4", "cwd", "root"):
        must_fail(f"/proc/{pid}/{name}", look, f"/proc/{pid}/{name}")
strays = [fd for fd in range(3, 1024) if os.path.exists(f"/proc/self/fd/{fd}")]
strays = [fd for fd in strays if "/proc/" not in os.readlink(f"/proc/self/fd/{fd}")]
hole(f"descriptors {strays}") if strays else held("no descriptor of the zygote's")
done()
