"""The package as a stranger gets it: a new virtual environment, no torch, the cookbook's commands."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (  # of the cookbook's commands
    "mpnet",  # 438 MB, and the same path as minilm
    "./mine",  # a model of the reader's
    "report.html",  # needs the extra plots
    "serve",  # needs the extra web, and has no end
    "study",  # needs the extra plots
    "train",  # needs the extra train
)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fresh(tmp_path_factory, minilm):
    """A virtual environment with `pip install .`, and the default model where `evalign models get` puts it."""
    folder = tmp_path_factory.mktemp("fresh")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, source], check=True)
    shutil.copytree(minilm, folder / "cache" / "models" / "all-MiniLM-L6-v2")
    return folder


def run(folder, *command):
    path = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "EVALIGN_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8")


def test_base_install_has_no_torch_and_still_scores(fresh):
    listed = run(fresh, "python", "-m", "pip", "list").stdout.lower()
    assert "onnxruntime" in listed
    assert not re.search(r"^(torch|transformers|nvidia\S*|pandas|matplotlib) ", listed, re.MULTILINE)
    scored = run(fresh, "evalign", "align", "a cat sat", "the cat sat down")
    assert (scored.returncode, "precision" in scored.stdout) == (0, True), scored.stderr


def test_cookbook_commands(fresh):
    """Every `evalign` line of the cookbook, in order, on files with the names it uses."""
    for name in ("system.txt", "a.txt", "b.txt", "old.txt", "new.txt", "main.txt", "branch.txt"):
        (fresh / name).write_text("the cat sat\na dog barked\n")
    for name in ("reference.txt", "ref.txt", "ref1.txt", "ref2.txt", "news.txt", "corpus.txt"):
        (fresh / name).write_text("a cat was sitting\nthe dog barked\n")
    (fresh / "data.jsonl").write_text('{"candidate": "the cat sat", "references": ["a cat was sitting"]}\n')
    (fresh / "data").mkdir(exist_ok=True)
    (fresh / "data" / "rows.jsonl.gz").write_bytes(gzip.compress((fresh / "data.jsonl").read_bytes()))
    (fresh / "data.csv").write_text("output,gold\nthe cat sat,a cat was sitting\n")
    rated = [
        {"candidate": f"the {'cat ' * place}sat", "references": ["the cat sat"], "human": -place, "lp": "xy"[place % 2]}
        for place in range(12)
    ]
    (fresh / "rated.jsonl").write_text("\n".join(map(json.dumps, rated)))
    commands = re.findall(
        r"^\$ (evalign .+?)(?: {2,}#.*)?$", (ROOT / "docs/cookbook.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(commands) >= 30
    for command in commands:
        if any(word in command for word in LEFT_OUT):
            continue
        result = run(fresh, "bash", "-c", command)
        assert result.returncode == 0, f"{command}\n{result.stderr}"


def test_a_missing_extra_names_its_install_command(fresh):
    result = run(fresh, "evalign", "align", "a", "b", "-m", "bertscore(backend=torch)")
    assert result.returncode == 2
    assert "pip install 'evalign[torch]'" in result.stderr
    (fresh / "rows.parquet").write_bytes(b"PAR1")
    result = run(fresh, "evalign", "score", "rows.parquet")
    assert "pip install 'evalign[data]'" in result.stderr


def test_the_page_of_the_installed_wheel_in_a_browser(fresh):
    """The tests of the server's page, against the program of the fresh environment."""
    python = fresh / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{fresh / 'source'}[web]"], check=True)
    environment = os.environ | {
        "EVALIGN_PROGRAM": str(fresh / "venv" / "bin" / "evalign"),
        "EVALIGN_CACHE": str(fresh / "cache"),
        "HF_HUB_OFFLINE": "1",
    }
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(ROOT / "tests/page/test_server_page.py"),
    ]
    done = subprocess.run(tests, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    if "passed" not in done.stdout:
        pytest.skip("no browser here: " + done.stdout.strip().splitlines()[-1])
