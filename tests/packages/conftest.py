"""The packages of the build that is tested, and a bare Debian 12 in which they are installed."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(HERE)]

from bare import Bare, InstalledService  # noqa: E402


def cannot_test(thing, why):
    if log := os.environ.get("CLOCHE_MISSING_LOG"):
        with open(log, "a", encoding="utf-8") as notes:
            notes.write(f"{thing}\ttests/packages\t{why}\n")
    pytest.skip(why)


@pytest.fixture(scope="session")
def scratch():
    if os.geteuid() != 0:
        cannot_test("packages", "a bare system is made as root")
    made = pathlib.Path(tempfile.mkdtemp(prefix="cloche."))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="session")
def packages(scratch):
    """The directory with all that scripts/package makes of the build."""
    place = scratch / "packages"
    preset = os.environ.get("CLOCHE_PRESET", "dev")
    subprocess.run([str(REPOSITORY / "scripts/package"), "--preset", preset, "--output", str(place)], check=True)
    return place


@pytest.fixture(scope="session")
def debian(packages):
    """The root filesystem, which is not to be changed."""
    made = subprocess.run([str(REPOSITORY / "scripts/package-root"), *map(str, packages.glob("*.deb"))],
                          stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode != 0:
        cannot_test("packages", "scripts/package-root failed; is the mirror reachable?")
    return pathlib.Path(made.stdout.strip())


@pytest.fixture
def bare(scratch, packages, debian, request):
    """Nothing is installed."""
    with Bare([debian], scratch / request.node.name, packages) as made:
        yield made


@pytest.fixture(scope="session")
def installation(scratch, packages, debian):
    """What the installation of all packages changed."""
    with Bare([debian], scratch / "installation", packages) as made:
        made.install(*(package.name for package in sorted(packages.glob("*.deb"))))
        return made.place / "upper"


@pytest.fixture
def installed(scratch, packages, debian, installation, request):
    """All packages are installed, and no other test is here."""
    with Bare([installation, debian], scratch / request.node.name, packages) as made:
        yield made


@pytest.fixture
def service(installed):
    """Not started."""
    made = InstalledService(installed)
    yield made
    made.close()
