# tries: every device node that it can see, and the ones that lead to the host by their names
# must: find the harmless ones alone
import os
import stat
import sys

sys.path.insert(0, "/attack")
from attack import done, held, hole

# By number: null zero full random urandom, tty ptmx, terminals of its own, and fuse's and others' are not among them.
HARMLESS = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 1), (5, 2)}
for root, directories, files in os.walk("/dev"):
    for name in files:
        path = os.path.join(root, name)
        about = os.lstat(path)
        if not (stat.S_ISCHR(about.st_mode) or stat.S_ISBLK(about.st_mode)):
            continue
        number = (os.major(about.st_rdev), os.minor(about.st_rdev))
        if stat.S_ISBLK(about.st_mode) or number not in HARMLESS and number[0] != 136:
            hole(f"{path} is device {number}")
        else:
            held(path)
for name in ("mem", "kmem", "port", "kmsg", "fuse", "kvm", "loop-control", "loop0", "sda", "vda", "nvme0n1", "net/tun", "vhost-net",
             "vhost-vsock", "vsock", "snapshot", "hwrng", "uinput", "dri/card0", "mapper/control", "userfaultfd", "cuse", "btrfs-control"):
    path = "/dev/" + name
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        hole(f"opened {path}")
    except OSError as error:
        held(f"{path}: {error.strerror}")
done()
