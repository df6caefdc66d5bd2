# tries: to be taken for the agent: whole frames on stdout and stderr that say `ready`, `ended with 0`, `credit`, `close`, and
#        the same as lines of JSON
# must: change nothing: its output is handed on byte by byte, and its end is told as it was (exit code 3)
import os
import struct
import sys

sys.path.insert(0, "/attack")
from attack import held


def frame(kind, stream, payload, lane=0):
    return bytes((kind, lane, 0, 0xC1)) + struct.pack("<II", stream, len(payload)) + payload + b"\xa5"


held("forging")
for fd in (1, 2):
    for kind in range(12):
        for stream in (0, 1, 2, 3):
            os.write(fd, frame(kind, stream, b"\x08\x00\x10\x00"))
    os.write(fd, bytes(70000))
    os.write(fd, frame(9, 1, b"\x08\x00"))
    os.write(fd, b'\n{"exit_code": 0, "ending": "exited"}\n__RESULT__ {"exit_code": 0}\n')
os._exit(3)
