"""Faults, one after the other, at moments and upon victims that a seed decides."""
import os
import random
import signal
import threading
import time

from harness import host
from waiting import eventually

# Between two faults, in seconds: enough for callers to be back at work.
PAUSE = (0.5, 4.0)
# A reset or a health check that finds an agent silent for so long leaves it alone.
SHORT_SILENCE = 2.0
# A pool's health check has found a silent agent by then.
LONG_SILENCE = 25.0


class Storm(threading.Thread):
    """Over one server. `calm` has it leave the server's process alone from now on, so that its memory can be watched."""

    def __init__(self, server, weather, ledger, seed, gate=None, disk=None):
        super().__init__(daemon=True, name="storm-" + server.target.name)
        self.server = server
        self.weather = weather
        self.ledger = ledger
        self.chance = random.Random(seed)
        self.gate = gate
        self.disk = disk
        self.stopped = threading.Event()
        self.calm = threading.Event()
        self.trouble = None
        self.silent = []  # (until when, process 1, the fault)

    def run(self):
        try:
            while not self.stopped.wait(self.chance.uniform(*PAUSE)):
                fault = self.choose()
                self.ledger.struck(f"{fault.__name__} ({self.server.target.name})")
                fault()
                self.end_silence(time.monotonic())
        except BaseException as error:  # told at the end: a storm that broke down has proved nothing
            self.trouble = error
        finally:
            self.end_silence(float("inf"))

    def choose(self):
        faults = [(self.kill_agent, 5), (self.pause_agent, 4), (self.silence_agent, 1)]
        if self.disk:
            faults.append((self.fill_disk, 2))
        if self.gate:
            faults.append((self.cut_engine, 1))
        if not self.calm.is_set():
            faults.append((self.kill_server, 2))
        return self.chance.choices([each for each, _ in faults], [weight for _, weight in faults])[0]

    def victim(self):
        """(id, process 1) of some sandbox, lent or not."""
        sandboxes = sorted(self.server.sandboxes("session") + self.server.sandboxes("python"))
        if not sandboxes:
            return None, None
        sandbox = self.chance.choice(sandboxes)
        return sandbox, host.first_process_of(self.server.target, sandbox)

    def kill_agent(self):
        sandbox, first = self.victim()
        if first:
            self.weather.end(self.weather.begin("killed agent", [sandbox]))
            first.send(signal.SIGKILL)

    def pause_agent(self):
        """Nobody may notice more than a delay."""
        _, first = self.victim()
        if first and first.send(signal.SIGSTOP):
            time.sleep(self.chance.uniform(0.1, SHORT_SILENCE))
            first.send(signal.SIGCONT)

    def silence_agent(self):
        """For good: a pool's health check, a failed reset or its caller's patience ends it."""
        sandbox, first = self.victim()
        if not first:
            return
        fault = self.weather.begin("silent agent", [sandbox])
        if first.send(signal.SIGSTOP):
            self.silent.append((time.monotonic() + LONG_SILENCE, first, fault))
        else:
            self.weather.end(fault)

    def end_silence(self, now):
        for each in [each for each in self.silent if each[0] <= now]:
            self.silent.remove(each)
            each[1].send(signal.SIGKILL)
            self.weather.end(each[2])

    def kill_server(self):
        fault = self.weather.begin("killed server")
        self.server.kill()
        time.sleep(self.chance.uniform(0, 0.5))
        self.server.start()
        assert self.server.is_running(), "the server did not come back:\n" + self.server.log()
        self.weather.end(fault)

    def cut_engine(self):
        fault = self.weather.begin("engine cut")
        self.gate.behave("refuse")
        self.gate.cut()
        time.sleep(self.chance.uniform(0.5, 8.0))
        self.gate.behave("open")
        eventually(self.server.is_ready, "the server is ready again")
        self.weather.end(fault)

    def fill_disk(self):
        fault = self.weather.begin("full disk")
        filler = self.disk / "filler"
        try:
            with open(filler, "wb", buffering=0) as file:
                while file.write(bytes(65536)) == 65536:
                    pass
        except OSError:
            pass
        time.sleep(self.chance.uniform(0.5, 2.0))
        os.unlink(filler)
        self.weather.end(fault)
