"""`evalign.score`, the Report that it returns, and the help of metric classes."""

import math

import numpy as np
import pytest

import evalign
from evalign.core.options import option_fields
from evalign.core.registry import metric_class, metric_names

CANDIDATES, REFERENCES = ["a cat sat", "the dog"], ["the cat sat down", "a dog barked"]
FAKE = "bertscore(model=fake)"


def test_score_is_the_metrics_own_score():
    report = evalign.score(CANDIDATES, REFERENCES, metric=FAKE)
    expected = evalign.metric(FAKE).score(CANDIDATES, REFERENCES)
    assert isinstance(report, evalign.Report)
    assert report.to_dict() == expected.to_dict()
    assert evalign.score(CANDIDATES, REFERENCES, metric=evalign.metric(FAKE)).to_dict() == expected.to_dict()
    assert evalign.score(CANDIDATES, REFERENCES, metric=report.signature).to_dict() == expected.to_dict()


def test_the_default_metric_is_bertscore(minilm):
    assert evalign.score(CANDIDATES, REFERENCES).metric == "bertscore"


def test_a_report_unpacks_into_precision_recall_and_f1():
    report = evalign.score(CANDIDATES, REFERENCES, metric=FAKE)
    precision, recall, f1 = report
    for values, name in ((precision, "precision"), (recall, "recall"), (f1, "f1")):
        np.testing.assert_array_equal(values, report[name])
    assert report.score == report.mean("f1")
    assert (report.main, report.bounds) == ("f1", (-1.0, 1.0))


def test_a_report_with_one_field_says_how_to_read_it():
    report = evalign.score(CANDIDATES, REFERENCES, metric="bleu")
    with pytest.raises(evalign.InputError, match=r"bleu has one field: report\['score'\] .* report\.score"):
        _precision, _recall, _f1 = report
    assert report.score == report.corpus("score") != report.mean("score")
    assert report.bounds == (0.0, 100.0)


@pytest.mark.parametrize("spec", ["chrf", "ter", "rouge2", "fkgl", FAKE, "moverscore(model=fake)"])
def test_scores_lie_within_the_bounds(spec):
    low, high = (report := evalign.score(CANDIDATES, REFERENCES, metric=spec)).bounds
    assert low <= report.score <= high
    assert all(low <= value <= high for value in report[report.main])
    assert math.isfinite(low)


def test_sources_and_ids_are_passed_on():
    report = evalign.score(["a cat"], [["a cat", "the cat"]], metric="sari", sources=["the big cat"], ids=["first"])
    assert report.ids == ["first"]
    assert 0 <= report.score <= 100


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((["a"], ["b"], "bertscrore"), evalign.SpecError, "did you mean bertscore"),
        ((["a"], ["b", "c"], "chrf"), evalign.LengthMismatchError, "must run in parallel"),
        (("a", ["b"], "chrf"), evalign.InputError, "pass a list of strings"),
        ((["a"], None, "chrf"), evalign.LengthMismatchError, "needs references"),
    ],
)
def test_mistakes_are_one_sentence(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        evalign.score(*arguments)


@pytest.mark.parametrize("name", sorted(metric_names()))
def test_help_lists_every_option_with_its_default_and_meaning(name):
    lines = metric_class(name).__doc__.splitlines()
    for item in option_fields(metric_class(name)):
        (line,) = [line for line in lines if line.startswith(f"    {item.name} (")]
        assert item.metadata["about"] in line
        assert f"({item.default!r})" in line or (item.name == "layer" and "(tuned for the model)" in line)
    assert lines.count("Options:") == bool(option_fields(metric_class(name)))
