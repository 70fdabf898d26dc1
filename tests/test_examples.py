"""Every script of examples/ runs offline and prints what it says it prints."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_blocks import agree

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


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
