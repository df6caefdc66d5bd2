"""Waiting for something to become true, with a deadline that is there for a hang only."""
import time

PATIENCE = 60.0


def eventually(condition, what, seconds=PATIENCE, pause=0.02):
    """What the condition gives once that is true. Fails, with its last answer, when it never is."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:g} s: {what}; the last look gave {found!r}")
        time.sleep(pause)


def seconds_until(condition, what, seconds=PATIENCE):
    """How long it took."""
    began = time.monotonic()
    eventually(condition, what, seconds)
    return time.monotonic() - began
