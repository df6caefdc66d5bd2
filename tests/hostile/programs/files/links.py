# tries: links planted for who reads, writes, lists or removes in the workspace: absolute, relative, chains, by /proc, to files of others;
#        hard links to what it may not read
# must: get no hard link to files of others, and lead nobody out
import os
import sys

sys.path.insert(0, "/attack")
from attack import done, held, hole, must_fail

os.makedirs("/tmp/outside", exist_ok=True)
with open("/tmp/outside/file", "w") as file:
    file.write("outside\n")
os.makedirs("/workspace/links", exist_ok=True)
os.chdir("/workspace/links")
os.symlink("/tmp/outside/file", "absolute")
os.symlink("../../tmp/outside/file", "relative")
os.symlink("absolute", "chain")
os.symlink("/tmp/outside", "directory")
os.symlink("/proc/self/root/tmp/outside/file", "magic")
os.symlink("/proc/1/root/etc/passwd", "agent")
os.symlink("..", "up")
for source in ("/etc/passwd", "/usr/bin/env", "/proc/1/environ", "/.cloche/agent", "/attack/attack.py"):
    must_fail(f"hard link to {source}", os.link, source, "hard-" + source.replace("/", "-"))
try:
    os.link("/tmp/outside/file", "hard-across")
    hole("a hard link across places")
except OSError as error:
    held(f"a hard link across places: {error.strerror}")
done()
