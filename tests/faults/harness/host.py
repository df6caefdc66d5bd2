"""Sandboxes as the host sees them: their processes, and every trace that a server has left."""
import glob
import os
import pathlib
import select
import signal
import subprocess

from .target import engine_host

UIDS = pathlib.Path("/run/cloche/uids")
OWNERS = pathlib.Path("/run/cloche/owners")


def _text(path):
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _status(pid, field):
    for line in _text(f"/proc/{pid}/status").splitlines():
        if line.startswith(field + ":"):
            return line.partition(":")[2].strip()
    return ""


def docker(*arguments):
    """What the engine's command line prints."""
    ran = subprocess.run(["docker", "-H", engine_host(), *arguments], capture_output=True, text=True, timeout=60,
                         check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def container_of(sandbox_id):
    return docker("ps", "-aq", "--no-trunc", "--filter", f"label=cloche.sandbox={sandbox_id}").strip()


def containers_of(owner):
    return docker("ps", "-aq", "--filter", f"label=cloche.owner={owner}").split()


class Process:
    """One process, by a descriptor: whatever is sent to it can reach no other that has got its number meanwhile."""

    def __init__(self, pid):
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    def __del__(self):
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)

    def send(self, number):
        """False when it has ended."""
        try:
            signal.pidfd_send_signal(self._descriptor, number)
        except ProcessLookupError:
            return False
        return True

    def is_alive(self):
        return not select.select([self._descriptor], [], [], 0)[0]

    def read(self, file):
        return _text(f"/proc/{self.pid}/{file}")

    @property
    def name(self):
        return self.read("comm").strip()


def _open(pid, cgroup):
    """A process of this cgroup, or None: looked at again once there is a descriptor, which cannot change its process."""
    try:
        process = Process(pid)
    except ProcessLookupError:
        return None
    return process if cgroup in process.read("cgroup") and process.is_alive() else None


def processes_in(cgroup):
    """All whose cgroup has this in its name."""
    pids = [int(entry[len("/proc/"):]) for entry in glob.glob("/proc/[0-9]*") if cgroup in _text(entry + "/cgroup")]
    return [process for pid in pids if (process := _open(pid, cgroup))]


def processes_of(target, sandbox_id):
    cgroup = container_of(sandbox_id) if target.is_docker else sandbox_id
    return processes_in(cgroup) if cgroup else []


def first_process_of(target, sandbox_id):
    """Process 1, the agent; on gVisor the kernel in which it lives. None when it is gone."""
    for process in processes_of(target, sandbox_id):
        if target.runtime == "runsc":
            if process.read("cmdline").startswith("runsc-sandbox"):
                return process
        elif len(numbers := _status(process.pid, "NSpid").split()) > 1 and numbers[-1] == "1":
            return process
    return None


def signal_first(target, sandbox_id, number):
    process = first_process_of(target, sandbox_id)
    assert process and process.send(number), f"sandbox {sandbox_id} has no process 1"
    return process


def supervisors_of(target, sandbox_id):
    """Of the execs that run. On gVisor the host does not see them."""
    return [process for process in processes_of(target, sandbox_id) if process.name == "cloche-super"]


def traces_of(owner, run_dir, backend):
    """Whatever there is of an owner on this host; nothing after a server that ended in order."""
    found = []
    if not owner:
        return found
    if os.path.exists(os.path.join(run_dir, owner)):
        found += sorted(glob.glob(os.path.join(run_dir, owner, "sandboxes", "*"))) or [f"{run_dir}/{owner}"]
    for place in ["/sys/fs/cgroup/cloche/" + owner, *glob.glob(f"/sys/fs/cgroup/*/cloche/{owner}")]:
        if os.path.exists(place):
            found.append(place)
    found += [f"process {process.pid}" for process in processes_in("/cloche/" + owner + "/")]
    if UIDS.is_dir():
        found += [f"uid range {claim.name}" for claim in UIDS.iterdir() if _text(claim).startswith(owner + " ")]
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:
        found += ["mount " + line.split()[4] for line in lines if f"{run_dir}/" in line.split()[4]]
    if (OWNERS / owner).exists():
        found.append(f"registration {OWNERS / owner}")
    if backend == "docker":
        found += [f"container {name}" for name in containers_of(owner)]
    return found


def resident_kib(pid):
    return int((_status(pid, "VmRSS") or "0 kB").split()[0])


def open_descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0
