# tries: to trap who looks for artifacts: pipes that block, sockets, links out of the workspace, names that are no text, files
#        that cannot be read, files that claim much, and more of them than anybody wants
# must: be told of what is a plain file of its own, and keep nobody waiting
import os
import signal
import socket
import sys

sys.path.insert(0, "/attack")
from attack import done, held

os.chdir("/workspace")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
os.mkfifo("pipe")
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind("socket")
os.symlink("/etc/passwd", "passwd")
os.symlink("/proc/self/mem", "memory")
os.symlink("/dev/zero", "zero")
os.symlink("/", "root")
os.symlink("loop", "loop")
os.symlink("/proc/self/fd/0", "stdin")
for name in (b"new\nline", b"\xff\xfe", b"-rf", b"n" * 255, b" ", b"quote\"'", b"\x1b[2J"):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
os.close(os.open("closed", os.O_CREAT | os.O_WRONLY, 0))
try:
    with open("sparse", "wb") as file:
        file.truncate(9 << 20)
except OSError:
    pass
for number in range(300):
    os.close(os.open(f"many{number}", os.O_CREAT | os.O_WRONLY))
held("traps are laid")
done()
