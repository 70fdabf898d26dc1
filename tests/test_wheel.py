"""Wheel and sdist: both build, and the wheel works on every Python from 3.11 to 3.13 that is found."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from evalign.version import __version__

ROOT = Path(__file__).resolve().parents[1]
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
pytestmark = pytest.mark.slow


def new_environment(folder: Path, python: str = sys.executable) -> Path:
    subprocess.run([python, "-m", "venv", folder], check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with wheel and sdist; the wheel is made from the sdist, as installers make it."""
    folder = tmp_path_factory.mktemp("built")
    python = new_environment(folder / "venv")
    subprocess.run([python, *PIP, "hatchling"], check=True)
    build = [python, "-m", "hatchling", "build", "-d", folder]
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True)
    with tarfile.open(folder / f"evalign-{__version__}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    subprocess.run([*build, "-t", "wheel"], cwd=folder / f"evalign-{__version__}", check=True)
    return folder


def test_what_is_in_them(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    source = ROOT / "src"
    files = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    wanted = files or [str(path.relative_to(ROOT)) for path in source.rglob("*") if "__pycache__" not in path.parts]
    assert {name.removeprefix("src/") for name in wanted if (ROOT / name).is_file()} <= names
    others = {name.split("/")[0] for name in names}
    assert others == {"evalign", f"evalign-{__version__}.dist-info"}


def interpreter(version: str) -> str:
    """A Python of this version on the PATH or among pyenv's, else the test is skipped."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for program in (shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))):
        if program and subprocess.run([program, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0:
            return str(program)
    pytest.skip(f"Python {version} is not on this machine: the wheel is untested there")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_wheel_works_in_a_clean_environment(built, version, tmp_path, minilm):
    python = new_environment(tmp_path / "venv", interpreter(version))
    subprocess.run([python, *PIP, next(built.glob("*.whl"))], check=True)
    (tmp_path / "cache" / "models").mkdir(parents=True)
    (tmp_path / "cache" / "models" / "all-MiniLM-L6-v2").symlink_to(minilm)
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = clean | {"EVALIGN_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}

    def said(*command):
        done = subprocess.run([python, "-m", "evalign", *command], cwd=tmp_path, env=environment, capture_output=True,
                              encoding="utf-8")  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert said("--version").startswith(f"evalign, version {__version__} (numpy ")
    told = said("doctor")
    assert f"Python {version}." in told
    assert len(re.findall(r" right\b", told)) == 5
    (tmp_path / "a.txt").write_text("the cat sat\na dog barked\n")
    (tmp_path / "b.txt").write_text("a cat was sitting\nthe dog barked\n")
    assert "0." in said("score", "-c", "a.txt", "-r", "b.txt", "-m", "bertscore", "-m", "rougeL", "--format", "tsv")
    assert "precision" in said("align", "a cat sat", "the cat sat down")
