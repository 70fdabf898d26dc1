"""Pooled references, the reference of highest recall, runs worth ak - b, and LCSR: formulas written out here."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import evalign
from evalign.metrics.lexical.rouge.counts import LineWeight, run_weight, share, worth

CHANCE = random.Random(7)
CANDIDATES = [" ".join(CHANCE.choices("abc", k=CHANCE.randrange(3, 12))) for _ in range(40)]
REFERENCES = [
    [" ".join(CHANCE.choices("abcd", k=CHANCE.randrange(1, 14))) for _ in range(CHANCE.randrange(1, 5))]
    for _ in range(40)
]


def grams(text: str, n: int) -> Counter[tuple[str, ...]]:
    words = text.split()
    return Counter(tuple(words[place : place + n]) for place in range(len(words) - n + 1))


def f1(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0.0


def pooled(candidate: str, references: list[str], n: int) -> list[float]:
    """R = sum over references of hits / sum over references of n-grams; the candidate counts once for each."""
    own = grams(candidate, n)
    hits = sum((own & grams(text, n)).total() for text in references)
    total = sum(grams(text, n).total() for text in references)
    p, r = hits / (len(references) * own.total()), hits / total if total else 0.0
    return [p, r, f1(p, r)]


def highest_recall(candidate: str, references: list[str], n: int) -> list[float]:
    return max((pooled(candidate, [text], n) for text in references), key=lambda scores: scores[1])


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(("rule", "by_hand"), [("pooled", pooled), ("max-recall", highest_recall)])
def test_several_references(rule: str, by_hand, n: int) -> None:
    report = evalign.metric(f"rouge{n}(multiref={rule})").score(CANDIDATES, REFERENCES)
    expected = [by_hand(text, references, n) for text, references in zip(CANDIDATES, REFERENCES, strict=True)]
    np.testing.assert_allclose(np.stack(list(report), axis=1), expected, atol=1e-12)
    if n == 1:
        assert (evalign.metric("rouge1").score(CANDIDATES, REFERENCES)["f1"] != report["f1"]).any()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # Hits 2 and 3 of 2 and 5 reference words; the candidate's 4 words count twice.
        ("rouge1(multiref=pooled)", [5 / 8, 5 / 7, 2 / 3]),
        ("rouge1(multiref=max-recall)", [2 / 4, 2 / 2, 2 / 3]),
        ("rouge1(multiref=best)", [2 / 4, 2 / 2, 2 / 3]),
        ("rougeL(multiref=pooled)", [5 / 8, 5 / 7, 2 / 3]),
        # Pairs of words: 1 of 1 and 3 of 10, of 6 each time; with single words 3 of 3 and 6 of 15, of 10.
        ("rougeS(multiref=pooled)", [4 / 12, 4 / 11, f1(4 / 12, 4 / 11)]),
        ("rougeSU(multiref=pooled)", [9 / 20, 9 / 18, f1(9 / 20, 9 / 18)]),
        ("rougeMEAD(multiref=pooled)", [5 / 8, 5 / 7, 2 / 3]),
        ("rougeMEAD(multiref=max-recall)", [2 / 4, 2 / 2, 2 / 3]),
    ],
)
def test_tables_of_two_references(spec: str, expected: list[float]) -> None:
    report = evalign.metric(spec).score(["a b c d"], [["a b", "b c d x y"]])
    assert [values[0] for values in report] == pytest.approx(expected, abs=1e-12)


def test_an_empty_reference_adds_nothing_to_pooled_recall() -> None:
    report = evalign.metric("rouge1(multiref=pooled)").score(["a b"], [["a c", "?"]])
    assert [values[0] for values in report] == pytest.approx([1 / 4, 1 / 2, 1 / 3])


@pytest.mark.parametrize(
    ("weight", "candidate", "reference", "recall"),
    [
        # One run of 4 in 7 words: as many words as rougeL. Four runs of 1: three of them cost b/a words each.
        ("2k-1", "a b c d h i k", "a b c d e f g", 4 / 7),
        ("2k-1", "a h b k c i d", "a b c d e f g", (4 - 3 / 2) / 7),
        ("k-0.25", "a h b k c i d", "a b c d e f g", (4 - 3 / 4) / 7),
        ("3k-2", "a b x c", "a b c", (3 - 2 / 3) / 3),
        ("2k-1", "a b c", "a b c", 1),
        ("2k-1", "a b c", "d e f", 0),
    ],
)
def test_runs_on_a_line(weight: str, candidate: str, reference: str, recall: float) -> None:
    report = evalign.metric(f"rougeW(weight={weight})").score([candidate], [reference])
    assert report["recall"][0] == pytest.approx(recall, abs=1e-12)
    assert report["precision"][0] == pytest.approx(recall * len(reference.split()) / len(candidate.split()), abs=1e-12)


@pytest.mark.parametrize("weight", ["2k-1", "k-0.5", "1.5", "3"])
def test_a_run_is_worth_more_than_its_parts(weight: str) -> None:
    value = run_weight(weight)
    for x in range(1, 9):
        for y in range(1, 9):
            assert worth(value, x + y) > worth(value, x) + worth(value, y)
        assert share(value, worth(value, x), 10) == pytest.approx(x / 10)  # the inverse


def test_a_line_has_one_form() -> None:
    assert str(evalign.metric("rougeW(weight=1.0k-0.50)")) == "rougeW(weight=k-0.5)"
    assert evalign.RougeW(weight="02k-1") == evalign.metric("rougeW(weight=2k-1)")
    assert run_weight("2k-0.00001") == LineWeight(2.0, 0.00001)
    assert evalign.RougeW(weight=2) == evalign.metric("rougeW(weight=2.0)")


def common(one: list[str], other: list[str]) -> int:
    """The length of a longest common subsequence, by definition."""
    if not one or not other:
        return 0
    if one[-1] == other[-1]:
        return common(one[:-1], other[:-1]) + 1
    return max(common(one[:-1], other), common(one, other[:-1]))


def test_lcsr_is_the_definition() -> None:
    candidates, references = [text[:15] for text in CANDIDATES], [[text[:15] for text in row] for row in REFERENCES]
    ratios = [
        [common(text.split(), other.split()) / max(len(text.split()), len(other.split())) for other in row]
        for text, row in zip(candidates, references, strict=True)
    ]
    best = evalign.metric("lcsr").score(candidates, references)
    assert best["score"].tolist() == pytest.approx([max(row) for row in ratios], abs=1e-12)
    mean = evalign.metric("lcsr(multiref=mean)").score(candidates, references)
    assert mean["score"].tolist() == pytest.approx([sum(row) / len(row) for row in ratios], abs=1e-12)
    first = [row[0] for row in references]
    precision, recall, _ = evalign.metric("rougeL").score(candidates, first)
    assert evalign.metric("lcsr").score(candidates, first)["score"].tolist() == np.minimum(precision, recall).tolist()


@pytest.mark.parametrize("spec", ["lcsr", "lcsr(tokens=ascii, stem=true)", "lcsr(stopwords=true, multiref=mean)"])
def test_lcsr_is_rebuilt_from_its_signature(spec: str) -> None:
    metric = evalign.metric(spec)
    signature = metric.score(["running a"], ["runs a"]).signature
    assert evalign.metric(signature) == metric == evalign.metric(str(metric))
    with pytest.raises(evalign.SpecError):
        evalign.metric(signature.replace("tokens:", "words:"))


def test_lcsr_flags_texts_without_words() -> None:
    report = evalign.metric("lcsr").score(["a b", "?", "a b"], [["", "a b"], ["a"], ["!"]])
    assert [dict(segment.counts) for segment in report.segments] == [{"empty-reference": 1}, {"empty": 1}, {"empty": 1}]
    assert report["score"].tolist() == [1, 0, 0]
