"""What every attack program in Python shares: it says of each thing that it tried whether the wall held."""
import os

# These programs are for a sandbox, or for a weak place that a test made for them.
if "CLOCHE_HOSTILE" not in os.environ or not os.path.exists("/attack/attack.py"):
    raise SystemExit("not run outside of a sandbox")


def _say(line):
    os.write(1, line.encode(errors="backslashreplace") + b"\n")


def held(what):
    _say(f"HELD {what}")


def hole(what):
    _say(f"HOLE {what}")


def done():
    _say("DONE")


def must_fail(what, function, *arguments):
    """A call that must raise OSError."""
    try:
        function(*arguments)
    except OSError as error:
        held(f"{what}: {error.strerror or error}")
    else:
        hole(what)


def told(name):
    return os.environ.get(name, "")
