"""What happened: calls and errors, counted. An error that no fault explains is kept, and fails the soak."""
import collections
import threading

MOST_KEPT = 50


class Ledger:
    def __init__(self):
        self._lock = threading.Lock()
        self.done = collections.Counter()      # by what was done
        self.expected = collections.Counter()  # errors, by what was done, what came of it, and the fault that explains it
        self.unexpected = []
        self.faults = collections.Counter()

    def did(self, what):
        with self._lock:
            self.done[what] += 1

    def struck(self, fault):
        with self._lock:
            self.faults[fault] += 1

    def failed(self, what, how, because):
        """`because` is the name of the fault that explains it, or None."""
        with self._lock:
            if because:
                self.expected[(what, how, because)] += 1
            elif len(self.unexpected) < MOST_KEPT:
                self.unexpected.append(f"{what}: {how}")

    def calls(self):
        with self._lock:
            return sum(self.done.values())

    def errors(self):
        with self._lock:
            return sum(self.expected.values()) + len(self.unexpected)
