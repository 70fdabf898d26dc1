"""Scripts of examples/ run offline and print what they say; the Python of how-tos and migration pages runs."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_blocks import agree, python_blocks

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
DOCS = EXAMPLES.parent / "docs"
PAGES = [page for folder in ("howto", "migrating") for page in sorted((DOCS / folder).glob("*.md"))]


def test_every_kind_of_text_has_an_example():
    kinds = {"translation", "summarisation", "simplification", "captions", "german", "rag"}
    assert {script.stem for script in SCRIPTS} == kinds


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_an_example_prints_what_it_says(script, minilm):
    said = ast.get_docstring(ast.parse(script.read_text("utf-8")), clean=True).partition("Prints:\n\n")[2]
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, script], env=offline, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    shown = "\n".join(line.removeprefix("    ") for line in said.splitlines())
    assert shown.strip()
    assert agree(shown, done.stdout), done.stdout


@pytest.mark.slow
def test_python_of_the_pages_runs(minilm, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code = {page.name: "\n".join(python_blocks(page.read_text("utf-8"), "python")) for page in PAGES}
    assert sum(map(bool, code.values())) >= 6
    for name, block in code.items():
        file = tmp_path / f"{name}.py"
        file.write_text(block, "utf-8")
        done = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, f"{name}\n{done.stderr}"
