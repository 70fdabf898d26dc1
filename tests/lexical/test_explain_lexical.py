"""Each explanation ends at exactly the metric's number, with the signature below it."""

from __future__ import annotations

import io
import math
import re

import pytest
from rich.console import Console, RenderableType

import evalign
from evalign.render.explain.lexical import explain_bleu, explain_chrf, explain_readability, explain_sari, explain_ter

PAIRS = [
    ("The cat sat on the mat the cat .", "The cat is on the mat."),
    ("a cat", "a cat is"),
    ("x y", "a cat is here"),
    ("the the the the", "the cat"),
    ("same words in the same order", "same words in the same order"),
    ("control \x1b[31m", "lone \ud800 surrogate"),
]
EXPLAINERS = {"bleu": explain_bleu, "chrf": explain_chrf, "ter": explain_ter}
SPECS = [
    "bleu",
    "bleu(smooth_method=add-k)",
    "bleu(smooth_method=floor)",
    "bleu(smooth_method=none, effective_order=false)",
    "bleu(max_ngram_order=2, lowercase=true)",
    "bleu(effective_order=true, tokenize=char)",
    "chrf",
    "chrf(word_order=2)",
    "chrf(eps_smoothing=true)",
    "ter",
    "ter(normalized=true)",
]


def shown(what: RenderableType) -> str:
    stream = io.StringIO()
    Console(width=400, file=stream).print(what)
    return stream.getvalue()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("candidate", "reference"), PAIRS)
def test_ends_at_the_number(spec: str, candidate: str, reference: str) -> None:
    metric = evalign.metric(spec)
    report = metric.score([candidate], [reference])
    text = shown(EXPLAINERS[metric.name](metric, candidate, reference))
    *_, last, signature = [line for line in text.splitlines() if line.strip()]
    assert last.rstrip().endswith(f"= {report['score'][0]:.4f}")
    assert signature.strip() == report.signature
    assert "\x1b[31m" not in text


def test_the_product_is_the_number() -> None:
    """What is printed can be computed with."""
    text = shown(explain_bleu(evalign.metric("bleu"), *PAIRS[0]))
    penalty, product, order, score = re.findall(r"([\d.]+) · \((.+)\)\^\(1/(\d)\) = ([\d.]+)", text)[0]
    factors = [float(factor) for factor in product.split(" · ")]
    assert float(penalty) * math.prod(factors) ** (1 / int(order)) == pytest.approx(float(score), abs=1e-3)
    assert "cat (1 of 2)" in text


def test_sari_and_readability() -> None:
    for spec in ("sari", "sari(formula=paper, deletion=precision)"):
        metric = evalign.metric(spec)
        report = metric.score(["a b e"], ["a b f"], ["a b c d"])
        text = shown(explain_sari(metric, "a b e", "a b f", "a b c d"))
        assert f"/ 3 = {report['score'][0]:.4f}" in text
        assert report.signature in text
    for name in ("fkgl", "smog"):
        report = evalign.metric(name).score(["The committee postponed its decision."])
        text = shown(explain_readability(evalign.metric(name), "The committee postponed its decision."))
        assert "committee·3" in text
        assert f"= {report['score'][0]:.4f}" in text
        assert report.signature in text


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_empty_text(name: str) -> None:
    metric = evalign.metric(name)
    assert f"scores {metric.worst:g}, the worst" in shown(EXPLAINERS[name](metric, "", "a b"))


def test_other_empty_text() -> None:
    assert "scores 0, the worst" in shown(explain_sari(evalign.metric("sari"), "", "a", "b"))
    assert "scores 100, the worst" in shown(explain_readability(evalign.metric("smog"), " "))
