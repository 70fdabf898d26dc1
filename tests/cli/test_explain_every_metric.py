"""`evalign explain` of the metrics that match no tokens: the numbers it writes out end in the metric's own score."""

import re

import numpy as np
import pytest

import evalign
from evalign.core.plugins import EXPLANATIONS_GROUP, plugins
from evalign.core.registry import metric_class, metric_names
from evalign.core.rows import make_rows
from evalign.render.explain import explain
from evalign.render.explain.parts import Explanation
from evalign.research.learned.features import FeatureScorer, parse_features
from evalign.research.learned.metric import LearnedFile, Term

PAIR = ("The storm closed two schools.", "Two schools were shut because of the storm.")
VECTORS = ["sbert", "sbert(pooling=max)", "sbert(pooling=cls, layer=4+6)", "endtoken", "endtoken(token=cls)"]


def numbers(text):
    return [float(found) for found in re.findall(r"-?\d+\.\d{4}", text)]


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_can_be_explained(name):
    if name in plugins(EXPLANATIONS_GROUP):
        assert isinstance(plugins(EXPLANATIONS_GROUP)[name].load(), Explanation)
    else:
        assert explain.dispatch(metric_class(name)) is not explain.dispatch(object)


@pytest.mark.parametrize("spec", VECTORS)
def test_tokens_give_the_whole_vector(spec):
    metric = evalign.metric(spec)
    scorer = metric.scorer()
    text = scorer.weigher.weigh_tokens(scorer.cache.encode([PAIR[0]])[PAIR[0]])
    pooling = scorer.pipeline.weighting.pooling
    np.testing.assert_allclose(pooling.parts(text, False).sum(axis=1), pooling.vector(text, False), atol=1e-12)


def test_weighted_tokens_give_the_whole_vector():
    metric = evalign.metric("sbert(idf=references)")
    scorer = metric.scorer(make_rows(PAIR, [PAIR[1], "the storm"]))
    text = scorer.weigher.weigh_tokens(scorer.cache.encode([PAIR[0]])[PAIR[0]])
    pooling = scorer.pipeline.weighting.pooling
    weighted = pooling.vector(text, True)
    assert not np.allclose(weighted, pooling.vector(text, False))
    np.testing.assert_allclose(pooling.parts(text, True).sum(axis=1), weighted, atol=1e-12)


@pytest.mark.parametrize("spec", VECTORS)
def test_the_cosine_and_both_sums_are_the_score(run, spec):
    shown = run("explain", *PAIR, "-m", spec).stdout
    score = evalign.metric(spec).score([PAIR[0]], [PAIR[1]])["score"][0]
    sums = [numbers(line)[0] for line in shown.splitlines() if line.startswith("sum")]
    assert sums == pytest.approx([score, score], abs=6e-5)
    assert "one vector" in shown


def test_a_learned_metric_is_written_out(run, tmp_path):
    specs = ["rouge1.recall", "chrf", "length-ratio"]
    parts = FeatureScorer([one for spec in specs for one in parse_features(spec)])
    terms = [Term(spec, said, 0.5, 0.25, 0.1) for spec, said in zip(specs, parts.signatures, strict=True)]
    LearnedFile(tuple(terms), 0.4, 0.0, 100.0).save(tmp_path / "learned.json")
    spec = f'learned(file="{tmp_path / "learned.json"}")'
    shown = run("explain", *PAIR, "-m", spec).stdout
    *_, last = [line for line in shown.splitlines() if numbers(line) and "|" not in line]
    assert numbers(last)[-1] == pytest.approx(evalign.metric(spec).score([PAIR[0]], [PAIR[1]])["score"][0], abs=6e-5)
    assert all(spec in shown for spec in specs)


def test_empty_text_is_said(run):
    assert "flagged empty" in run("explain", "", "a cat", "-m", "sbert").stdout
