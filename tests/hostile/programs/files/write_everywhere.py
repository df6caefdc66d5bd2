# tries: to make a file in every directory it can see, and to open every file of others for writing
# must: succeed only in the places that are its own
import os
import stat
import sys

sys.path.insert(0, "/attack")
from attack import done, held, hole

OWN = ("/workspace", "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/proc/self", "/proc/thread-self", "/proc/%d" % os.getpid())
HARMLESS = {"/dev/" + name for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "stdin", "stdout", "stderr", "pts/ptmx")}
tried = 0
for root, directories, files in os.walk("/"):
    if root.startswith(("/usr/", "/proc/", "/sys/")) and root.count("/") > 2:
        directories[:] = []
    if root.startswith(OWN) or root == "/dev/pts":
        directories[:] = []
        continue
    tried += 1
    path = os.path.join(root, "planted")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL))
        os.unlink(path)
        hole(f"made {path}")
    except OSError:
        pass
    for name in files[:60]:
        path = os.path.join(root, name)
        if path in HARMLESS or root.startswith("/proc/") and root.split("/")[2].isdigit():
            continue
        # What is masked is /dev/null in its place.
        if not os.path.islink(path) and os.access(path, os.W_OK) and not stat.S_ISCHR(os.stat(path).st_mode):
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                hole(f"opened {path} for writing")
            except OSError:
                pass
held(f"{tried} directories")
done()
