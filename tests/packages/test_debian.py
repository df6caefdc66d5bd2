"""The Debian packages, installed in a bare Debian 12: all that they bring works there, an upgrade keeps sessions, and a
purge leaves nothing."""
import gzip
import re
import shutil
import subprocess
import tarfile

from bare import with_version

PROGRAM = """
#include <cloche/sandbox.hpp>
#include <cloche/version.hpp>
#include <iostream>
int main() { std::cout << cloche::version(); }
"""

# Stands in for systemctl: notes how it was called, finds the service active, and sends signals to it.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/run/systemctl.log
case "$*" in
  *--signal=USR1*) pkill -USR1 -x cloche ;;
esac
"""


def test_release__has_packages_sources_and_their_checksums(packages):
    subprocess.run(["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"], cwd=packages, check=True)
    listed = {line.split()[1] for line in (packages / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in packages.iterdir()} - {"SHA256SUMS"}
    names = {re.match(r"[^_]+?(?=_|-\d)", name).group() for name in listed}
    assert {"cloche", "libcloche0.1", "libcloche-dev"} <= names
    for tarball in packages.glob("*.tar.gz"):
        with tarfile.open(tarball) as sources:
            members = sources.getnames()
        assert tarball.name.removesuffix(".tar.gz") + "/CMakeLists.txt" in members
        assert not [name for name in members if "/build/" in name]


def test_installed__has_program_manual_completions_and_copyright(installed):
    version = installed.run("cloche", "--version").stdout
    assert installed.run("dpkg-query", "-W", "-f", "${Version}", "cloche").stdout in version
    page = installed.run("man", "-w", "cloche").stdout.strip()
    assert page == "/usr/share/man/man1/cloche.1.gz"
    assert b"cloche" in gzip.decompress(installed.path(page).read_bytes())
    for place in ("/usr/share/bash-completion/completions/cloche", "/usr/share/zsh/site-functions/_cloche",
                  "/usr/share/fish/vendor_completions.d/cloche.fish"):
        assert "cloche" in installed.path(place).read_text()
    for package in installed.run("dpkg-query", "-W", "-f", "${Package}\n", "*cloche*").stdout.split():
        assert "Apache-2.0" in installed.path(f"/usr/share/doc/{package}/copyright").read_text()
        assert gzip.decompress(installed.path(f"/usr/share/doc/{package}/changelog.gz").read_bytes())
    assert installed.run("cloche-agent", check=False).returncode != 0  # not in PATH
    assert installed.path("/usr/libexec/cloche/cloche-agent").stat().st_mode & 0o111


def test_installed__doctor_finds_the_runtime(installed):
    report = installed.run("cloche", "doctor", "--backend", "oci", check=False)
    assert re.search(r"ok  runtime auto +crun\n", report.stdout), report.stdout + report.stderr
    installed.write("/tmp/program.py", "print(6 * 7)\n")
    ran = installed.run("cloche", "run", "--runtime", "crun", "/tmp/program.py", check=False)
    assert (ran.returncode, ran.stdout) == (0, "42\n"), ran.stderr


def test_library__is_found_by_pkg_config_and_linked(installed):
    installed.write("/tmp/program.cpp", PROGRAM)
    installed.run("sh", "-c", "c++ -std=c++20 /tmp/program.cpp -o /tmp/program $(pkg-config --cflags --libs cloche)")
    assert installed.run("/tmp/program").stdout in installed.run("cloche", "--version").stdout
    assert "libcloche.so.0.1 =>" in installed.run("ldd", "/tmp/program").stdout.replace(".0.1.0", ".0.1")


def test_service_of_the_unit__runs_a_program(service):
    service.start()
    answer = service.post("/execute", {"session_id": "s", "code": "print(6 * 7)"})
    assert answer["stdout"] == "42\n", answer
    service.delete("/sessions/default/s?mode=cut")
    service.stop()
    assert not list(service.bare.path("/run/cloche").glob("*/sandboxes/*"))


def test_upgraded_while_a_session_is_open__keeps_state_and_session(installed, service, packages):
    # The service manager of this system: dpkg calls the packages' scripts, and these call it.
    installed.write("/usr/bin/systemctl", SYSTEMCTL, 0o755)
    installed.path("/run/systemd/system").mkdir(parents=True)
    installed.write("/etc/cloche/cloche.yml", installed.path("/etc/cloche/cloche.yml").read_text() + "# mine\n")
    service.start()
    assert "error" not in service.post("/write", {"session_id": "s", "path": "file", "content": "kept"})
    run = service.post("/bash", {"session_id": "s", "command": "exec sleep 1000", "background": True})
    before = service.pid
    identity = installed.path("/var/lib/cloche/instances/oci/default/identity").read_text()

    newer = with_version(next(packages.glob("cloche_*.deb")), "0.1.0+next1", packages.parent)
    shutil.copy(newer, installed.path("/tmp/newer.deb"))
    newer.unlink()
    installed.run("dpkg", "--force-confdef", "--force-confold", "-i", "/tmp/newer.deb")
    calls = installed.path("/run/systemctl.log").read_text()
    assert "kill --kill-who=main --signal=USR1 cloche.service" in calls and "stop" not in calls, calls
    code, log = service.finish()
    assert code == 0, log
    assert installed.run("dpkg-query", "-W", "-f", "${Version}", "cloche").stdout == "0.1.0+next1"

    service.start()  # as systemd does, by Restart=always
    assert service.unit["Restart"] == "always" and service.pid != before
    assert service.post("/read", {"session_id": "s", "path": "file"})["content"] == "kept"
    answer = service.post("/bash", {"session_id": "s", "command": "pgrep -cx sleep"})
    assert answer["stdout"] == "1\n", (run, answer)
    service.delete("/sessions/default/s?mode=cut")
    assert installed.path("/var/lib/cloche/instances/oci/default/identity").read_text() == identity
    assert installed.path("/etc/cloche/cloche.yml").read_text().endswith("# mine\n")
    service.stop()


def test_removed_and_purged__leaves_nothing(bare, packages):
    before = bare.files()
    bare.install(*(package.name for package in packages.glob("*.deb")))
    bare.write("/var/lib/cloche/tokens.json", "{}")
    bare.write("/run/cloche/owners/some", "")
    apt = ("apt-get", "-q", "-y", "--autoremove")
    own = ("cloche", "libcloche-dev", "libcloche0.1")
    bare.run(*apt, "remove", *own)
    assert bare.path("/var/lib/cloche/tokens.json").exists() and bare.path("/etc/cloche/cloche.yml").exists()
    assert not bare.path("/usr/bin/cloche").exists()
    bare.run(*apt, "purge", "cloche")  # the others have no configuration
    assert bare.files() - before == set()
    assert not bare.path("/run/cloche").exists()
