"""Which faults there were, when, and whom they struck: tells whether an error is explained."""
import threading
import time

# Errors come a little later than what brought them about.
AFTERMATH = 8.0


class Fault:
    """`kind` over a server. `sandboxes`: those it strikes alone; None: the whole server."""

    def __init__(self, kind, sandboxes=None):
        self.kind = kind
        self.sandboxes = sandboxes
        self.began = time.monotonic()
        self.ended = None

    def overlaps(self, began, ended):
        return self.began <= ended and (self.ended is None or began <= self.ended + AFTERMATH)


class Weather:
    """Of one server."""

    def __init__(self):
        self._lock = threading.Lock()
        self._faults = []
        self._dead = {}  # sandboxes that a fault has ended, and which

    def begin(self, kind, sandboxes=None):
        fault = Fault(kind, sandboxes)
        with self._lock:
            self._faults.append(fault)
            for sandbox in sandboxes or ():
                self._dead[sandbox] = kind
        return fault

    @staticmethod
    def end(fault):
        fault.ended = time.monotonic()

    def kinds(self, began, ended=None):
        """Those of the whole server that may explain what went wrong between the two."""
        ended = ended if ended is not None else time.monotonic()
        with self._lock:
            return {fault.kind for fault in self._faults if fault.overlaps(began, ended)}

    def end_of(self, sandbox):
        """The fault that ended this very sandbox, or None."""
        with self._lock:
            return self._dead.get(sandbox)

    def latest_end(self, kind):
        """When the last of a kind was over; 0 when there was none, infinity while one lasts."""
        with self._lock:
            ends = [fault.ended for fault in self._faults if fault.kind == kind]
        return max((float("inf") if end is None else end for end in ends), default=0.0)
