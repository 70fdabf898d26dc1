"""All matchings on the command line: beside each other, and explained step by step."""

import json

import pytest

import evalign
from evalign.matching.registry import MATCHINGS, METHODS

PAIR = ("one two two three", "two three four")
SPEC = "bertscore(model=fake)"


def test_all_matchings_beside_each_other(run):
    shown = run("align", *PAIR, "-m", SPEC, "--matching", "all")
    assert shown.returncode == 0, shown.stderr
    header = shown.stdout.splitlines()[0]
    assert all(name in header for name in (*MATCHINGS, "transport"))
    greedy, exact = (
        evalign.metric(f"bertscore(model=fake, matching={name})").align(*PAIR) for name in ("greedy", "exact")
    )
    line = next(line for line in shown.stdout.splitlines() if line.startswith("f1"))
    assert line.split()[1:3] == [f"{greedy.scores['f1']:.4f}", f"{exact.scores['f1']:.4f}"]
    changed = int((greedy.candidate_partners != exact.candidate_partners)[1:-1].sum())
    assert f"exact: {changed}" in shown.stdout


def test_all_matchings_as_json(run):
    document = json.loads(run("align", *PAIR, "-m", SPEC, "--matching", "all", "--format", "json").stdout)
    found = {one["name"]: one for one in document["matchings"]}
    assert list(found) == [*MATCHINGS, "transport"]
    assert sum(found["transport"]["masses"]) == pytest.approx(1)
    alone = json.loads(run("align", *PAIR, "-m", SPEC, "--matching", "exact", "--format", "json").stdout)
    assert [one["cells"] for one in alone["matchings"]] == [found["exact"]["cells"]]


@pytest.mark.parametrize("method", METHODS)
def test_explain_tells_what_an_assignment_did(run, method):
    shown = run("explain", *PAIR, "-m", f"lisascore(model=fake, method={method})")
    assert shown.returncode == 0, shown.stderr
    alignment = evalign.metric(f"lisascore(model=fake, method={method})").align(*PAIR)
    assert f"2. {method}:" in shown.stdout
    assert f"{len(alignment.cells)} cells selected" in shown.stdout
    assert f"= {alignment.scores['f1']:.4f}" in shown.stdout


def test_explain_row_mask_names_the_leads(run):
    shown = run("explain", *PAIR, "-m", "lisascore(model=fake, method=row-mask)").stdout
    assert shown.count("(lead ") == 5, "one step per token of the short side, special tokens included"


def test_explain_shows_the_plan(run):
    shown = run("explain", *PAIR, "-m", "moverscore(model=fake)").stdout
    alignment = evalign.metric("moverscore(model=fake)").align(*PAIR)
    assert f"score = 1 / (1 + cost) = {alignment.scores['score']:.4f}" in shown
    assert shown.count("0.250") >= 1


def test_metrics_without_a_matching_say_so(run):
    result = run("align", *PAIR, "-m", "sbert(model=fake)")
    assert (result.returncode, "does not match tokens" in result.stderr) == (2, True)
