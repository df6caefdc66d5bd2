# tries: to break who decodes: every byte there is, characters cut in two, escape sequences, NUL, on both streams in small pieces
# must: come back byte by byte
import os
import sys

sys.path.insert(0, "/attack")
from attack import held

held("bytes")
pieces = [bytes(range(256)), "é".encode()[:1], "é".encode()[1:], b"\xf0\x9f", b"\x98\x80", b"\xff\xfe", b"\xed\xa0\x80", b"\0",
          b"\x1b]0;title\x07\x1b[2J\x1b[31m\x1bP+q\x1b\\", b"\r\n\r", b"\xe2\x80\xae", b"END"]
for piece in pieces:
    for number in range(len(piece)):
        os.write(1, piece[number:number + 1])
    os.write(2, piece)
