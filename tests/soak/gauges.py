"""Memory and descriptors of a server's process, over time."""
import statistics
import threading
import time

from harness import host

PERIOD = 2.0
# Caches, arenas and the log of what was counted by label fill up first.
WARM_UP = 0.2
# From the first third of what follows to the last, memory may grow by so much and no more.
GROWTH_KIB = 8 * 1024
GROWTH_SHARE = 0.15


class Gauges(threading.Thread):
    """Samples one process until it is stopped."""

    def __init__(self, name, pid):
        super().__init__(daemon=True, name="gauges")
        self.server_name = name
        self.pid = pid
        self.samples = []  # (seconds, KiB, descriptors)
        self.stopped = threading.Event()
        self.began = time.monotonic()

    def run(self):
        while True:
            if kib := host.resident_kib(self.pid):
                self.samples.append((time.monotonic() - self.began, kib, host.open_descriptors(self.pid)))
            if self.stopped.wait(PERIOD):
                return

    def verdict(self):
        """(good, a line that says what was measured)."""
        kept = self.samples[int(len(self.samples) * WARM_UP):]
        if len(kept) < 6:
            return True, f"{self.server_name}: too short to tell whether memory is flat ({len(kept)} samples)"
        third = len(kept) // 3
        first = statistics.median(kib for _, kib, _ in kept[:third])
        last = statistics.median(kib for _, kib, _ in kept[-third:])
        bound = first + max(GROWTH_KIB, first * GROWTH_SHARE)
        descriptors = [count for _, _, count in kept]
        line = (f"{self.server_name}: memory {first / 1024:.1f} MiB in the first third, {last / 1024:.1f} MiB in the last, "
                f"bound {bound / 1024:.1f} MiB ({len(kept)} samples over {kept[-1][0] - kept[0][0]:.0f} s); "
                f"descriptors {min(descriptors)} to {max(descriptors)}")
        return last <= bound, line
