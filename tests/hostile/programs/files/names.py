# tries: names that are taken for others: line ends, blanks, dots, bytes that are no text, the longest there is
# must: be listed as they are, and be removed as they are
import os
import sys

sys.path.insert(0, "/attack")
from attack import done, held

os.mkdir("/workspace/names")
for name in (b"a\nb", b"\xff\xfe\xfd", b" ", b"...", b"-rf", b"*", b"n" * 255, b"\x01\x02", b"tab\there", b"\xe2\x80\xae.txt"):
    os.close(os.open(b"/workspace/names/" + name, os.O_CREAT | os.O_WRONLY))
held("ten names")
done()
