#!/usr/bin/env python3
"""Measures E2B's JavaScript package against this service: `CLOCHE_PROGRAM=build/cloche tests/dialect/e2b/bench/run.py`.

Two figures: how long a client waits until a command has started, for its first output and for its end, beside `/bash`
over the same HTTP client; and what 200 open streams cost the server. Installs the packages that test_sdk.py uses.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "hostile/service")]
import house  # noqa: E402
import test_sdk  # noqa: E402

PROFILE = ("  base: {runtime: crun, user: user, work_dir: /home/user, pool: {pool_size: 6, scale_limit: 12},"
           " limits: {memory: 1g, pids: 256, file_size: 64m, cpus: 1}}")
QUIET_SECONDS = 20
GOAL = 1.5


def packages():
    place = test_sdk.CACHE / test_sdk.hashlib.sha256((test_sdk.SDK / "package-lock.json").read_bytes()).hexdigest()[:16]
    if not (place / "node_modules").is_dir():
        test_sdk.install(place)
    for source in [*test_sdk.SDK.iterdir(), *HERE.glob("*.mjs")]:
        shutil.copy(source, place)
    return place


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_while_quiet(pid):
    """Milliseconds of processor time in a second in which no client asks for anything."""
    before = cpu_seconds(pid)
    time.sleep(QUIET_SECONDS)
    return 1000 * (cpu_seconds(pid) - before) / QUIET_SECONDS


def main():
    place = packages()
    node = test_sdk.node_of(place)
    with house.House(profiles=PROFILE, log="warn") as server:
        environment = test_sdk.client_environment(server)
        ran = subprocess.run([node, "first_event.mjs"], cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        times = json.loads(ran.stdout)
        idle = cpu_while_quiet(server.process.pid)
        with subprocess.Popen([node, "open_streams.mjs"], cwd=place, env=environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as streams:
            opened = streams.stdout.readline()
            assert opened == "open\n", opened
            resident = server.rss()
            with_streams = cpu_while_quiet(server.process.pid)
            ended = streams.communicate("end\n")[0].strip()
    for name, figures in times.items():
        print(f"{name:22} p50 {figures['p50']:7.2f} ms   p90 {figures['p90']:7.2f} ms   p99 {figures['p99']:7.2f} ms")
    for what in ("started", "first output", "whole run"):
        ratio = times[f"{what}, SDK"]["p50"] / times[f"{what}, /bash"]["p50"]
        print(f"{what}, SDK to /bash: {ratio:.2f} times (goal: at most {GOAL})")
    print(f"200 open streams: {ended}; server: {with_streams:.1f} ms of cpu a second with them, {idle:.1f} without;"
          f" {resident:.0f} MiB")


if __name__ == "__main__":
    main()
