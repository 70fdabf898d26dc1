"""The Python of README and docs passes a user's `mypy --strict`, and metrics have the types that they show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import evalign

ROOT = Path(__file__).parent.parent
NAMES = """
import evalign
candidates: list[str] = []
better: list[str] = []
references: list[str] = []
rated_rows: list[evalign.Row] = []
"""
CAPABILITIES = """
import evalign
from typing import reveal_type

reveal_type(evalign.BERTScore(layer=5).layer)
reveal_type(evalign.metric("bertscore").align("a", "b"))
reveal_type(evalign.metric("lisascore").pairwise(["a"], ["b"]))
reveal_type(evalign.metric("moverscore(ngram=2)", evalign.MoverScore).align("a", "b"))
evalign.metric("chrf").align("a", "b")
"""


def strict(tmp_path: Path, code: str) -> str:
    """What mypy says of a user's file."""
    file = tmp_path / "user.py"
    file.write_text(code, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file", "", str(file)]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout


@pytest.mark.slow  # mypy reads all of evalign, half a minute
def test_python_of_the_readme(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
    assert blocks
    assert strict(tmp_path, NAMES + "".join(blocks)) == ""


@pytest.mark.slow
def test_what_a_metric_can_do_is_known_to_type_checkers(tmp_path):
    said = strict(tmp_path, CAPABILITIES)
    assert 'Revealed type is "int | str | None"' in said.replace("builtins.", "").replace(
        "Union[int, str, None]", "int | str | None"
    )
    assert len(re.findall(r'Revealed type is "evalign[.\w]*\.Alignment"', said)) == 2
    assert '"Metric" has no attribute "align"' in said


def test_options_have_the_types_that_they_were_given():
    metric = evalign.BERTScore(layer=5, rescale=True)
    assert metric.layer == 5
    assert isinstance(metric.layer, int)
    assert metric.rescale is True
    assert evalign.metric("bertscore(layer=5, rescale=true)") == metric
    assert evalign.BERTScore(layer="4+6").layer == "4+6"


def test_how_a_metric_is_run_is_no_part_of_what_it_is():
    plain = evalign.BERTScore(layer=5)
    for options in ({"threads": 2}, {"device": "cuda"}, {"token_budget": 64}, {"backend": "torch"}):
        run = evalign.BERTScore(layer=5, **options)
        assert run == plain
        assert hash(run) == hash(plain)
        assert str(run) == "bertscore(layer=5)"
        (name, value), *_ = options.items()
        assert getattr(run, name) == value
    assert evalign.metric("bertscore(layer=5, threads=2)").threads == 2
    assert evalign.BERTScore(arithmetic="int8") != evalign.BERTScore()
