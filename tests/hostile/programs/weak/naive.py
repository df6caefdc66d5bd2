"""A server as one would write it first, for programs that attack whoever runs them. `naive.py MODE PROGRAM ARGUMENT...` runs
the program the naive way and says HOLE when it was taken in, as Cloche must not be."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, "/attack")
from attack import held, hole

mode, argv = sys.argv[1], sys.argv[2:]
PIPE = subprocess.PIPE


def verdict(taken_in, what):
    hole(what) if taken_in else held(what)


def in_band():
    """Believes what the program's output says of its end."""
    ran = subprocess.run(argv, stdout=PIPE, stderr=PIPE)
    verdict(b'__RESULT__ {"exit_code": 0}' in ran.stdout and ran.returncode != 0, "an end that the program forged was believed")


def unbounded():
    """Collects all output, or a line of it, however long."""
    ran = subprocess.run(argv, stdout=PIPE, stderr=PIPE, pass_fds=())
    verdict(len(ran.stdout) > 64 << 20, f"{len(ran.stdout) >> 20} MB were collected")


def unbounded_events():
    """The same with a descriptor for events."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.dup2(writing, 3)
        os.execv(argv[0], argv)
    os.close(writing)
    total = 0
    while piece := os.read(reading, 1 << 20):
        total += len(piece)
    verdict(total > 64 << 20, f"{total >> 20} MB of events were collected")


def text():
    """Takes output for text."""
    try:
        subprocess.run(argv, stdout=PIPE, stderr=PIPE, text=True)
        held("decoded")
    except UnicodeDecodeError as error:
        hole(f"the reader failed: {error}")


def until_closed():
    """Takes the end of output for the end of the program."""
    with subprocess.Popen(argv, stdout=PIPE) as program:
        program.stdout.read()
        verdict(program.poll() is None, "the program lived when its output had ended")


def until_eof():
    """Waits for the end of output."""
    program = subprocess.Popen(argv, stdout=PIPE)
    program.wait()
    signal.alarm(3)
    signal.signal(signal.SIGALRM, lambda *_: (hole("the reader waits, and the program has ended"), os._exit(0)))
    program.stdout.read()
    held("read to the end")


def write_first():
    """Sends all input before it reads a byte."""
    program = subprocess.Popen(argv, stdin=PIPE, stdout=PIPE)
    signal.alarm(3)
    signal.signal(signal.SIGALRM, lambda *_: (hole("both wait for each other"), os._exit(0)))
    try:
        program.stdin.write(bytes(8 << 20))
        program.stdin.close()
    except BrokenPipeError:
        held("it read or ended")


def by_code():
    """Guesses how a program ended from its exit code, as a shell shows it, and from words on stderr."""
    ran = subprocess.run(argv, stdout=PIPE, stderr=PIPE)
    code = ran.returncode if ran.returncode >= 0 else 128 - ran.returncode
    guess = {137: "memory", 124: "time", 152: "cpu"}.get(code)
    if b"MemoryError" in ran.stderr or b"Killed" in ran.stderr:
        guess = "memory"
    verdict(guess is not None, f"taken for a limit: {guess}")


def asks_to_end():
    """Ends a program at its time limit by asking it to."""
    program = subprocess.Popen(argv, stdout=PIPE)
    time.sleep(0.5)
    program.terminate()
    try:
        program.wait(1)
        held("it ended")
    except subprocess.TimeoutExpired:
        hole("it lives after its time limit")
        program.kill()


def kills_once():
    """Kills those that it finds when it looks, once."""
    program = subprocess.Popen(argv, stdout=PIPE)
    program.wait()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as name:
                if name.read().strip() == "escapee":
                    time.sleep(0.005)
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
    held("killed")


def opens_by_name():
    """Looks at a name, then opens it: the program swaps it in between."""
    program = subprocess.Popen(argv, stdout=PIPE)
    program.stdout.readline()
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline:
        try:
            if os.path.islink("/workspace/race/file") or os.path.islink("/workspace/race"):
                continue
            with open("/workspace/race/file") as file:
                if file.read().startswith("outside"):
                    hole("a file outside was read")
                    break
        except OSError:
            pass
    program.kill()


def opens_all():
    """Opens all it finds."""
    subprocess.run(argv, stdout=PIPE)
    signal.alarm(3)
    signal.signal(signal.SIGALRM, lambda *_: (hole("the reader hangs"), os._exit(0)))
    for name in os.listdir("/workspace"):
        try:
            with open("/workspace/" + name, "rb") as file:
                file.read(1)
            if os.path.islink("/workspace/" + name):
                hole(f"a link was followed: {name}")
        except OSError as error:
            held(f"{name}: {error}")


def follows():
    """Opens links as if they were files."""
    subprocess.run(argv, stdout=PIPE)
    for name in os.listdir("/workspace/links"):
        try:
            with open("/workspace/links/" + name) as file:
                verdict(file.read().startswith("outside"), f"a file outside was read by {name}")
        except OSError as error:
            held(f"{name}: {error}")


def by_lines():
    """Lists a directory by lines."""
    subprocess.run(argv, stdout=PIPE)
    listed = subprocess.run(["/bin/sh", "-c", "ls -a /workspace/names"], stdout=PIPE).stdout
    said = {line for line in listed.split(b"\n") if line not in (b"", b".", b"..")}
    true = set(os.listdir(b"/workspace/names"))
    verdict(said != true, "names were taken for others")


def by_path():
    """Walks a tree by the whole path of each directory."""
    subprocess.run(argv, stdout=PIPE)
    path, depth = "/workspace/deep", 0
    try:
        while os.listdir(path):
            path, depth = path + "/" + os.listdir(path)[0], depth + 1
        held(f"{depth} levels")
    except OSError as error:
        hole(f"lost at {depth} levels: {error}")


def same_interpreter():
    """Runs one program after the other in this interpreter."""
    sys.path.insert(0, "/attack/leftovers")
    import marks

    marks.main("plant", argv[0])
    marks.main("look", argv[0])


globals()[mode]()
