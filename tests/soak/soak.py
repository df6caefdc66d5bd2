"""The soak: callers of several tenants at work, faults at random moments, and an audit at the end.

  soak.py --minutes 30 [--seed N] [--backends oci,docker]

Nothing that was confirmed may be lost, no error may come that no fault explains, nothing may be left on the host, and
memory and descriptors of the servers must stay where they are. The first half of the time servers are killed as well; in
the second they live on, and their memory is watched. The exit code is 1 when anything of it does not hold.
"""
import argparse
import contextlib
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "faults"), str(HERE.parent / "support"), str(HERE.parents[1] / "sdk/python")]

from harness import host  # noqa: E402
from harness.engine_gate import EngineGate  # noqa: E402
from harness.served import Served, program  # noqa: E402
from harness.target import CRUN, DOCKER, engine_socket, lack_of  # noqa: E402
from waiting import eventually  # noqa: E402

from gauges import Gauges  # noqa: E402
from ledger import Ledger  # noqa: E402
from load import Caller  # noqa: E402
from storm import Storm  # noqa: E402
from weather import Weather  # noqa: E402

TENANTS = ("red", "green", "blue")
CALLERS = {"oci": 8, "docker": 5}
DISK = "96m"
SKIPPED = 77  # ctest's SKIP_RETURN_CODE


class Field:
    """One server with all that goes on around it."""

    def __init__(self, scratch, target, ledger, seed, cleanup):
        self.target = target
        self.ledger = ledger
        self.weather = Weather()
        self.gate = None
        options = {}
        disk = scratch / (target.backend + "-state")
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "tmpfs", str(disk)], check=True)
        cleanup.callback(subprocess.run, ["umount", "-l", str(disk)], check=False)
        if target.is_docker:
            self.gate = cleanup.enter_context(EngineGate(scratch / "gate", engine_socket()))
            options["docker_host"] = self.gate.host
        settings = {"drain_timeout": "5s", "profiles": {
            "session": {"pool": {"pool_size": 2, "health_interval": "3s"}},
            "python": {"pool": {"pool_size": 2, "scale_limit": 8, "health_interval": "3s"}}}}
        self.server = Served(scratch, target, settings, name=target.backend, state_dir=disk, **options)
        cleanup.callback(self.server.clean_up)
        self.tokens = {tenant: self.token(tenant, "user") for tenant in TENANTS}
        self.server.token = self.token("default", "admin")
        self.server.start()
        assert self.server.is_running(), self.server.log()
        self.server.wait_until_ready()
        chance = random.Random(seed)
        self.callers = []
        for number in range(CALLERS[target.backend]):
            tenant = TENANTS[number % len(TENANTS)]
            self.callers.append(Caller(number, self.server, tenant, self.tokens[tenant], self.weather, ledger,
                                       chance.random()))
        self.storm = Storm(self.server, self.weather, ledger, chance.random(), self.gate, disk)
        self.gauges = None

    def token(self, tenant, role):
        made = subprocess.run([program(), "token", "create", "--tenant", tenant, "--role", role, "--state-dir",
                               str(self.server.state_dir), "--config", str(self.server.config)],
                              check=True, capture_output=True, text=True)
        return made.stdout.strip()

    def begin(self):
        for each in (*self.callers, self.storm):
            each.start()

    def calm_down(self):
        self.storm.calm.set()

    def watch(self):
        """Of the process that will be there to the end."""
        if self.gauges is None and self.storm.calm.is_set() and self.weather.latest_end("killed server") < float("inf"):
            self.gauges = Gauges(self.target.name, self.server.pid)
            self.gauges.start()

    def state(self):
        return f"{self.target.name} {host.resident_kib(self.server.pid) / 1024:.0f} MiB, " \
               f"{host.open_descriptors(self.server.pid)} fds, {len(self.server.sandboxes())} sandboxes"

    def end(self):
        """Whatever does not hold, as a list of lines."""
        wrong = []
        self.storm.stopped.set()
        self.storm.join(120)
        if self.storm.trouble or self.storm.is_alive():
            wrong.append(f"{self.target.name}: the storm broke down: {self.storm.trouble!r}")
        for caller in self.callers:
            caller.stopped.set()
        for caller in self.callers:
            caller.join(180)
            if caller.is_alive():
                wrong.append(f"{self.target.name}: {caller.name} hangs")
        if self.gauges:
            self.gauges.stopped.set()
            self.gauges.join()
            good, line = self.gauges.verdict()
            print(line)
            if not good:
                wrong.append("memory grows: " + line)
        return wrong + self.audit()

    def audit(self):
        """With nobody there, the server must hold no session and lend nothing, and the host must have what it knows of."""
        wrong = []
        server = self.server
        left = server.call("GET", "/sessions")
        for session in (left.body or {}).get("sessions", []):
            # Made for a caller who never heard of it.
            server.call("DELETE", f"/sessions/{session['tenant_id']}/{session['session_id']}")
        try:
            for profile in ("session", "python"):
                eventually(lambda p=profile: server.stats(p).get("active") == 0, f"nothing of {profile} is lent", 150, 0.5)
                eventually(lambda p=profile: sorted(server.sandboxes(p)) and
                           len(server.sandboxes(p)) == server.stats(p).get("total"),
                           f"the host has as many sandboxes as the pool of {profile}", 60, 0.5)
        except AssertionError as error:
            wrong.append(f"{self.target.name}: {error}; {server.stats('session')}, {server.stats('python')}, "
                         f"{server.sandboxes('session')}, {server.sandboxes('python')}")
        print(f"{self.target.name}: quiet, with {host.open_descriptors(server.pid)} descriptors and "
              f"{host.resident_kib(server.pid) / 1024:.1f} MiB")
        code = server.terminate()
        if code != 0:
            wrong.append(f"{self.target.name}: exit code {code} after SIGTERM\n{server.log()}")
        try:
            eventually(lambda: not server.traces(), "nothing is left on the host")
        except AssertionError as error:
            wrong.append(f"{self.target.name}: {error}: {server.traces()}")
        return wrong


def targets(wanted):
    chosen = []
    for target in (CRUN, DOCKER):
        if target.backend not in wanted:
            continue
        if lack := lack_of(target):
            print(f"not on {target.name}: {lack[1]}")
        else:
            chosen.append(target)
    return chosen


def go_on(fields, ledger, seconds):
    began = time.monotonic()
    minute = 0
    while (passed := time.monotonic() - began) < seconds:
        if passed > seconds / 2:
            for field in fields:
                field.calm_down()
                field.watch()
        if passed >= (minute + 1) * 60:
            minute += 1
            print(f"minute {minute}: {ledger.calls()} done, {sum(ledger.faults.values())} faults, {ledger.errors()} errors, "
                  f"{len(ledger.unexpected)} unexpected; " + "; ".join(field.state() for field in fields), flush=True)
        time.sleep(0.5)


def report(ledger, wrong):
    print("\ndone:")
    for what, count in sorted(ledger.done.items()):
        print(f"  {count:7} {what}")
    print("faults:")
    for fault, count in sorted(ledger.faults.items()):
        print(f"  {count:7} {fault}")
    print("errors that a fault explains:")
    for (what, how, because), count in sorted(ledger.expected.items()):
        print(f"  {count:7} {what}: {how} ({because})")
    print(f"unexpected: {len(ledger.unexpected)}")
    for line in ledger.unexpected:
        print("  " + line)
    for line in wrong:
        print("WRONG: " + line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--backends", default="oci,docker")
    parser.add_argument("--keep-logs", metavar="DIRECTORY", help="where the servers' logs are kept when it fails")
    arguments = parser.parse_args()
    chosen = targets(arguments.backends.split(","))
    if not chosen:
        return SKIPPED
    print(f"soak: {arguments.minutes:g} minutes on {', '.join(target.name for target in chosen)}, "
          f"seed {arguments.seed}", flush=True)
    ledger = Ledger()
    wrong = []
    with contextlib.ExitStack() as cleanup:
        scratch = pathlib.Path(tempfile.mkdtemp(prefix="cloche."))
        cleanup.callback(shutil.rmtree, scratch, ignore_errors=True)
        scratch.chmod(0o755)
        chance = random.Random(arguments.seed)
        fields = [Field(scratch, target, ledger, chance.random(), cleanup) for target in chosen]
        for field in fields:
            field.begin()
        go_on(fields, ledger, arguments.minutes * 60)
        for field in fields:
            wrong += field.end()
        if arguments.keep_logs and (wrong or ledger.unexpected):
            for field in fields:
                shutil.copy(field.server.log_file, arguments.keep_logs)
    report(ledger, wrong)
    good = not wrong and not ledger.unexpected
    print("soak: " + ("passed" if good else f"FAILED (seed {arguments.seed})"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
