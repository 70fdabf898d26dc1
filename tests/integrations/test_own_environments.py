"""The heavy libraries, each installed into an environment of its own on top of this one, and its tests run in there."""

import os
import re
import site
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("extra", ["mlflow", "deepeval", "lm-eval"])
def test_in_an_environment_of_its_own(extra, tmp_path):
    if os.environ.get("EVALIGN_LIBRARIES") == "none":
        pytest.skip(f"EVALIGN_LIBRARIES=none leaves {extra} out")
    subprocess.run([sys.executable, "-m", "venv", tmp_path], check=True)
    python = tmp_path / "bin" / "python"
    packages = next((tmp_path / "lib").glob("python*")) / "site-packages"
    (packages / "evalign_tests.pth").write_text("\n".join(site.getsitepackages()))
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt"]
    installed = subprocess.run([*pip, *EXTRAS[extra]], capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"{extra} could not be installed: {installed.stderr.strip().splitlines()[-1]}")
    tests = ROOT / "tests" / "integrations" / f"test_{extra.replace('-', '_')}.py"
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert not re.search(r"\d+ skipped", done.stdout), done.stdout
