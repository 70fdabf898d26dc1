"""What a newcomer does first: the wheel in a new virtual environment, no network, every command of README and tutorial.

Blocks marked as needing the network are left out; what the others print is compared with what the page shows. The
notebook of examples/ is run again in the same place.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from command_blocks import agree, commands, python_blocks

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/tutorial.md")
CLOSED = "http://127.0.0.1:9"  # where nobody listens
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Newcomer:
    """A virtual environment with the wheel, and a way to run a command in it without a network."""

    venv: Path
    cache: Path

    def run(self, command, folder):
        path = f"{self.venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), CLOSED)
        environment = kept | proxies | {"PATH": path, "EVALIGN_CACHE": str(self.cache), "HF_HUB_OFFLINE": "1"}
        return subprocess.run(
            [*_without_network(), "bash", "-c", command],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        )  # fmt: skip


def _without_network():
    """What goes before a command to cut it off, where the system allows that; the proxies alone must do elsewhere."""
    isolate = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") and subprocess.run([*isolate, "true"], capture_output=True).returncode == 0:
        return isolate
    return []


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory, minilm):
    folder = tmp_path_factory.mktemp("newcomer")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder / "dist", source], check=True)
    [wheel] = (folder / "dist").glob("evalign-*.whl")
    subprocess.run([*pip, "install", wheel, "nbclient", "ipykernel"], check=True)
    shutil.copytree(minilm, folder / "cache" / "models" / "all-MiniLM-L6-v2")
    return Newcomer(folder / "venv", folder / "cache")


def test_there_is_no_network(newcomer, tmp_path):
    """Else nothing below would say anything about working offline."""
    asked = "import urllib.request as r; r.urlopen('https://example.org', timeout=20)"
    assert newcomer.run(f'python -c "{asked}"', tmp_path).returncode != 0


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_page_shows(newcomer, tmp_path, page):
    typed = [command for command in commands((ROOT / page).read_text("utf-8")) if not command.network]
    assert len(typed) >= 5
    assert sum(bool(command.shown) for command in typed) >= 2
    for command in typed:
        done = newcomer.run(command.typed, tmp_path)
        assert done.returncode == 0, f"{command.typed}\n{done.stdout}"
        assert agree(command.shown, done.stdout), f"{command.typed}\n{done.stdout}"


def test_python_of_the_readme_runs(newcomer, tmp_path):
    (tmp_path / "readme.py").write_text("\n".join(python_blocks((ROOT / "README.md").read_text("utf-8"), "python")))
    done = newcomer.run("python -W error readme.py", tmp_path)
    assert done.returncode == 0, done.stdout


def test_python_of_the_tutorial_runs(newcomer, tmp_path):
    shutil.copy(ROOT / "docs" / "tutorial.md", tmp_path)
    done = newcomer.run("python -m doctest tutorial.md", tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_notebook_runs_to_the_same_outputs(newcomer, tmp_path):
    notebook = ROOT / "examples" / "tutorial.ipynb"
    (tmp_path / "again.py").write_text(
        f"import nbformat; from nbclient import NotebookClient\n"
        f"book = nbformat.read({str(notebook)!r}, 4)\n"
        f"NotebookClient(book, timeout=600, kernel_name='python3', km=None).execute()\n"
        f"nbformat.write(book, 'again.ipynb')\n"
    )
    kernel_needs = "ip link set lo up; " if _without_network() else ""  # a kernel talks over the loopback device
    done = newcomer.run(f"{kernel_needs}python again.py", tmp_path)
    assert done.returncode == 0, done.stdout
    before, after = (_printed(json.loads(file.read_text("utf-8"))) for file in (notebook, tmp_path / "again.ipynb"))
    assert len(before) >= 6
    assert len(after) == len(before)
    for shown, printed in zip(before, after, strict=True):
        assert bool(shown) == bool(printed)
        assert agree(shown, printed), printed


def _printed(notebook):
    """Per cell what was printed, or the value where it is no picture; a picture is told by being one."""
    cells = []
    for cell in notebook["cells"]:
        parts = []
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            parts.append("picture" if "text/html" in data else "".join(output.get("text", data.get("text/plain", ""))))
        cells.append("".join(parts))
    return cells
