# tries: to find the host's canary: by its path, below every mount, by the sources that the mount table names
# must: not find it
import os
import sys

sys.path.insert(0, "/attack")
from attack import done, held, hole, told

canary = told("CANARY_PATH")
candidates = [canary]
with open("/proc/self/mountinfo") as table:
    for line in table:
        fields = line.split()
        root, point = fields[3], fields[4]
        candidates += [point + canary, os.path.join(point, os.path.relpath(canary, root)), os.path.normpath(root + "/../canary/file"),
                       os.path.join(point, "..", "canary", "file")]
for prefix in ("/proc/1/root", "/proc/1/cwd", "/proc/self/root", "/host", "/mnt", "/rootfs", "/.cloche", "/oldroot", "/.pivot_root"):
    candidates.append(prefix + canary)
found = 0
for path in dict.fromkeys(candidates):
    try:
        with open(path) as file:
            if file.read().startswith("cloche canary"):
                hole(f"read the canary at {path}")
                found += 1
    except (OSError, ValueError):
        pass
if not found:
    held(f"{len(set(candidates))} ways, no canary")
done()
