"""What the cases of the contract have in common."""
import time

SESSION = {"tenant": "default", "session": "s1"}
NO_SESSION = {"tenant": "default", "session": "nobody"}


def until(holds, what):
    """Asks again until it holds."""
    deadline = time.monotonic() + 60
    while not (found := holds()):
        assert time.monotonic() < deadline, f"in a minute: {what}"
        time.sleep(0.02)
    return found
