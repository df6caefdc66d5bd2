"""The package as it is installed, without anything from the network."""
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]


def test_package_installs_alone_and_is_complete(tmp_path):
    # Beside the sources nothing is written.
    shutil.copytree(SOURCE, tmp_path / "source", ignore=shutil.ignore_patterns("tests", "__pycache__"))
    environment = {**os.environ, "HOME": str(tmp_path), "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation",
                    "--no-deps", "--root-user-action", "ignore", "--target", tmp_path / "installed",
                    tmp_path / "source"], check=True, env=environment, stdout=subprocess.DEVNULL)
    installed = tmp_path / "installed" / "cloche"
    wanted = {str(path.relative_to(SOURCE / "cloche")) for path in (SOURCE / "cloche").rglob("*.py")} | {"py.typed"}
    assert wanted <= {str(path.relative_to(installed)) for path in installed.rglob("*")}
    look = "import cloche, cloche.aio; print(cloche.__file__, cloche.__version__)"
    told = subprocess.run([sys.executable, "-c", look], env={**environment, "PYTHONPATH": str(tmp_path / "installed")},
                          cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    assert told[0] == str(installed / "__init__.py") and told[1].count(".") == 2
