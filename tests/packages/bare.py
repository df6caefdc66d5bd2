"""A bare Debian 12: a root filesystem (layers of directories) with its own processes, mounts and network."""
import json
import pathlib
import shutil
import socket
import subprocess

PATIENCE = 60.0

# Process 1. It reaps what is left to it, and ends with its stdin. Only the mounts of this namespace change.
FIRST = r"""
set -euo pipefail
root=$1 layers=$2 changes=$3 packages=$4
mount -t overlay -o "lowerdir=$layers,upperdir=$changes/upper,workdir=$changes/work" overlay "$root"
mkdir -p "$root/packages"
mount --bind "$packages" "$root/packages"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir "$root/run/host" "$root/run/lock"
cd "$root"
pivot_root . run/host
umount -l /run/host
rmdir /run/host
echo ready
read -r _ || true
"""

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
               "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


class Bare:
    """`layers`: directories, the uppermost first. `place`: a new directory; its `upper` has what was changed."""

    def __init__(self, layers, place, packages):
        self.place = pathlib.Path(place)
        for name in ("upper", "work", "root"):
            (self.place / name).mkdir(parents=True)
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--propagation", "private", "bash", "-c",
             FIRST, "first", str(self.place / "root"), ":".join(map(str, layers)), str(self.place), str(packages)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
        assert self.process.stdout.readline() == b"ready\n", "the bare system did not start"
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        self.first = int(children.split()[0])
        subprocess.run(["nsenter", f"--net=/proc/{self.first}/ns/net", "ip", "link", "set", "lo", "up"], check=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def path(self, inside):
        """The same file, as this process sees it."""
        return pathlib.Path(f"/proc/{self.first}/root{inside}")

    def command(self, *arguments):
        return ["nsenter", "--target", str(self.first), "--mount", "--pid", "--net", "--", *arguments]

    def run(self, *arguments, check=True):
        """A finished command. With `check`, one that failed fails the test and shows its output."""
        ran = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=PATIENCE * 3,
                             stdin=subprocess.DEVNULL, env=ENVIRONMENT, check=False)
        assert not check or ran.returncode == 0, f"{arguments}: {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran

    def write(self, inside, text, mode=0o644):
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def install(self, *names):
        """From the files in /packages; dependencies come from apt's cache, since there is no network."""
        self.run("apt-get", "-q", "-y", "--no-install-recommends", "install", *(f"/packages/{name}" for name in names))

    def files(self):
        """All files except logs, caches and what dpkg and apt note about packages."""
        of_system = ["/packages", "/var/cache", "/var/log", "/var/lib/dpkg", "/var/lib/apt"]
        skipped = " -o ".join("-path " + path for path in of_system).split()
        return set(self.run("find", "/", "-xdev", "(", *skipped, ")", "-prune", "-o", "-print").stdout.splitlines())


class InstalledService:
    """The installed service, started by what the installed unit says, as far as no systemd is needed for it."""

    def __init__(self, bare):
        self.bare = bare
        self.unit = unit_settings(bare.path("/lib/systemd/system/cloche.service").read_text())
        self.process = None
        self.notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.notifications.settimeout(PATIENCE)
        self.notifications.bind(str(bare.path("/run/notify")))

    def start(self):
        taken = ",".join("-" + name.lower().removeprefix("cap_")
                         for name in self.unit["CapabilityBoundingSet"].removeprefix("~").split())
        assert self.unit["NoNewPrivileges"] == "yes" and self.unit["Type"] == "notify"
        self.process = subprocess.Popen(
            self.bare.command("env", "NOTIFY_SOCKET=/run/notify", "setpriv", "--no-new-privs", "--bounding-set", taken,
                              *self.unit["ExecStart"].split()),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT)
        while "READY=1" not in self.notifications.recv(4096).decode().splitlines():
            pass
        return self

    @property
    def pid(self):
        """In the bare system."""
        return self.bare.run("pgrep", "-x", "cloche").stdout.strip()

    def signal(self, name):
        self.bare.run("kill", "-s", name, self.pid)

    def finish(self):
        """Its exit code, once it has ended, and its log."""
        _, log = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, log.decode()

    def stop(self):
        self.signal("TERM")
        code, log = self.finish()
        assert code == 0, log

    def post(self, path, body):
        return self._call(path, "--json", json.dumps(body))

    def delete(self, path):
        return self._call(path, "-X", "DELETE")

    def _call(self, path, *options):
        ran = self.bare.run("curl", "-sS", "--max-time", "60", *options, "http://127.0.0.1:8080" + path)
        return json.loads(ran.stdout)

    def close(self):
        if self.process and self.process.poll() is None:
            self.signal("TERM")
            print(self.finish()[1])
        self.notifications.close()


def unit_settings(text):
    """The last value of each key of a unit without repeated keys."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


def with_version(package, version, into):
    """A copy of a package that says it is another version."""
    work = pathlib.Path(into) / "repack"
    subprocess.run(["dpkg-deb", "-R", str(package), str(work)], check=True)
    control = work / "DEBIAN/control"
    lines = control.read_text().splitlines(keepends=True)
    control.write_text("".join(f"Version: {version}\n" if line.startswith("Version:") else line for line in lines))
    made = pathlib.Path(into) / f"{package.stem}-renamed.deb"
    subprocess.run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", str(work), str(made)], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(work)
    return made
