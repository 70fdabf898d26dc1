"""A matching is a value with a name; a new one is one file and one registry line, and then everything has it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evalign.errors import SpecError
from evalign.matching.base import Matching
from evalign.matching.registry import MATCHINGS, all_matchings, matching_class, parse

NAMES = [
    "greedy",
    "exact",
    "exact,strict,weighted",
    "row-mask",
    "recursive-argmax,paper",
    "recursive-argmax,authors,strict",
    "recursive-topk,mean,weighted",
    "auction-topk,authors",
    "auction,eps=0.01",
    "auction,strict,eps=0.125",
    "transport=exact",
    "transport=partial,cost=cosine,fraction=0.5",
]
MATRIX = np.random.default_rng(0).uniform(-1, 1, size=(4, 6))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_parses_to_a_matching_that_prints_it(name):
    matching = parse(name)
    assert str(matching) == matching.name == name
    assert parse(name) == matching
    assert len({matching, parse(name)}) == 1


WRONG = (
    "gredy",
    "greedy,strict",
    "exact,paper",
    "row-mask,loose",
    "transport=exact,form=inverse",
    "transport=exact,fraction=x",
    "auction,eps=",
    "auction,eps=x",
    "auction,rounds=3",
    "auction,a=3",
    "recursive-argmax,mene",
)


@pytest.mark.parametrize("name", WRONG)
def test_a_name_that_nothing_prints_is_an_error(name):
    with pytest.raises(SpecError):
        parse(name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_one_pair_and_a_padded_batch_are_solved_alike(name, library):
    wrap = (
        pytest.importorskip("torch", reason="pip install 'evalign[torch]'").from_numpy
        if library == "torch"
        else np.asarray
    )
    matching, random = parse(name), np.random.default_rng(1)
    shapes = [(3, 5), (4, 4), (1, 6), (5, 2)]
    matrices = [random.uniform(-1, 1, size=shape) for shape in shapes]
    weights = [tuple(random.uniform(0.1, 2, size=count) for count in shape) for shape in shapes]
    batch, masks = np.full((4, 5, 6), 7.0), (np.zeros((4, 5), bool), np.zeros((4, 6), bool))
    padded = np.zeros((4, 5)), np.zeros((4, 6))
    for place, (rows, columns) in enumerate(shapes):
        batch[place, :rows, :columns] = matrices[place]
        for side, count in enumerate((rows, columns)):
            masks[side][place, :count], padded[side][place, :count] = True, weights[place][side]
    together = matching.solve(wrap(batch), tuple(map(wrap, padded)), tuple(map(wrap, masks)))
    for place, matrix in enumerate(matrices):
        alone = matching.solve(matrix, weights[place])
        inside = together.pair(place, *shapes[place])
        assert np.asarray(inside.cells).tolist() == alone.cells.tolist()
        np.testing.assert_allclose(inside.candidate_values, alone.candidate_values, atol=1e-12)
        np.testing.assert_allclose(inside.reference_values, alone.reference_values, atol=1e-12)
        assert inside.counts == alone.counts
        if alone.masses is not None:
            np.testing.assert_allclose(inside.masses, alone.masses, atol=1e-9)
            assert float(inside.cost) == pytest.approx(alone.cost)


def test_all_matchings_leads_to_its_class():
    for name in all_matchings():
        kind = matching_class(name)
        assert issubclass(kind, Matching)
        assert kind.key == name
        assert kind.about


def test_listing_matchings_loads_no_solver():
    code = "import evalign.matching.registry, sys; print({'scipy', 'ot', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


TOY = '''
from dataclasses import dataclass
from typing import ClassVar
from evalign.matching.arrays import indices
from evalign.matching.base import MatchResult, Matching, cell_values

@dataclass(frozen=True)
class Diagonal(Matching):
    """The i-th token meets the i-th token."""
    key: ClassVar[str] = "diagonal"
    about: ClassVar[str] = "the i-th token meets the i-th token"

    def solve(self, similarity, weights=None, masks=None):
        rows, columns = similarity.shape[-2:]
        cells = (indices(similarity, rows)[:, None] == indices(similarity, columns)) & (similarity < 2)
        return MatchResult(similarity, *cell_values(similarity, cells), lambda: cells)
'''
RUNNER = """
import contextlib, io, json, sys
sys.path[:0] = json.loads(sys.argv[1])
from evalign.matching import registry
registry.MATCHINGS["diagonal"] = "toy:Diagonal"  # the registry line
for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(json.loads(line), {})
        except SystemExit as ended:
            assert not ended.code, ended.code
    print(json.dumps(out.getvalue()), flush=True)
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """What Python code prints in a process with one more matching in the registry; its file lies beside."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy.py").write_text(TOY, "utf-8")
    benchmarks = Path(__file__).resolve().parents[2] / "benchmarks"
    paths = json.dumps([str(folder), str(benchmarks), *sys.path])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", RUNNER, paths], cwd=folder, **pipes) as process:

        def run(code: str) -> str:
            process.stdin.write(json.dumps(code) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        run.folder = folder
        yield run


TEXTS = ("the cat sat on the mat", "a cat was sitting there")
COMMAND = "from evalign.cli.main import main\nmain({})"


def test_a_new_matching_scores_and_signs(toy):
    code = f"""
import json, evalign
metric = evalign.metric("bertscore(model=fake, matching=diagonal)")
report = metric.score([{TEXTS[0]!r}] * 3, [{TEXTS[1]!r}] * 3)
again = evalign.metric(report.signature)
print(json.dumps([str(metric), report.signature, again.matching, report["f1"].tolist()]))"""
    spec, signature, matching, scores = json.loads(toy(code))
    assert spec == "bertscore(model=fake, matching=diagonal)"
    assert "|match:diagonal|" in signature
    assert matching == "diagonal"
    assert 0 < scores[0] < 1


def test_a_new_matching_is_among_all_matchings(toy):
    arguments = ["align", *TEXTS, "-m", "bertscore(model=fake)", "--matching", "all", "--format", "json"]
    document = json.loads(toy(COMMAND.format(arguments)))
    assert [entry["name"] for entry in document["matchings"]] == [*MATCHINGS, "diagonal", "transport"]
    arguments = ["align", *TEXTS, "-m", "bertscore(model=fake)", "--matching", "diagonal"]
    assert "match:diagonal" in toy(COMMAND.format(arguments))


def test_a_new_matching_is_on_the_page(toy):
    arguments = ["align", *TEXTS, "-m", "bertscore(model=fake)", "--html", "page.html"]
    toy(COMMAND.format(arguments))
    page = (toy.folder / "page.html").read_text("utf-8")
    assert re.search(r'"name": ?"diagonal"', page)


def test_a_new_matching_is_explained(toy):
    arguments = ["explain", *TEXTS, "-m", "bertscore(model=fake, matching=diagonal)"]
    told = toy(COMMAND.format(arguments))
    assert "diagonal: the i-th token meets the i-th token" in told
    assert "F1 = 2" in told


def test_a_new_matching_is_in_the_table_of_attacks(toy):
    code = f"""
import json, attacks
print(json.dumps(attacks.table([{TEXTS[0]!r}] * 2, [{TEXTS[1]!r}] * 2, "model=fake")["none"]))"""
    assert "diagonal" in json.loads(toy(code))


def test_a_new_matching_is_put_before_the_laws(toy):
    code = """
import evalign
from evalign.testing import check_metric
check_metric(evalign.metric("bertscore(model=fake, matching=diagonal)"), skip=("identity", "whole-text", "bounds"))
print("obeys")"""
    assert "obeys" in toy(code)
