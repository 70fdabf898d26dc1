"""rougeLsum and rougeMEAD by sentence: against sums written out here, rouge-score; signatures and flags."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

import evalign

ENGLISH = """The minister resigned|The storm closed two schools|A ship left the harbour at noon|Nobody was hurt
Two schools were closed by the storm|The harbour is closed until noon|The minister left without a word
At noon the ship was back|The police closed two streets|The storm was over at noon"""
GERMAN = """der minister trat zurück|der sturm schloss zwei schulen|ein schiff verließ mittags den hafen
niemand wurde verletzt|zwei schulen schloss der sturm|der hafen bleibt bis mittags zu|der minister ging ohne ein wort
mittags war das schiff zurück|die polizei schloss zwei straßen|am 3. oktober war der sturm vorbei"""


def summaries(text: str, seed: int) -> list[list[str]]:
    """Fifty summaries of one to five sentences."""
    chance, sentences = random.Random(seed), text.replace("\n", "|").split("|")
    return [chance.choices(sentences, k=chance.randrange(1, 6)) for _ in range(50)]


CANDIDATES = summaries(ENGLISH, 1) + summaries(GERMAN, 2)
REFERENCES = summaries(ENGLISH, 3) + summaries(GERMAN, 4)


def words(sentences: list[str]) -> list[list[str]]:
    return [sentence.lower().replace(".", "").split() for sentence in sentences]


def table(reference: list[str], candidate: list[str]) -> list[list[int]]:
    cells = [[0] * (len(candidate) + 1) for _ in range(len(reference) + 1)]
    for i, left in enumerate(reference):
        for j, right in enumerate(candidate):
            cells[i + 1][j + 1] = cells[i][j] + 1 if left == right else max(cells[i][j + 1], cells[i + 1][j])
    return cells


def on_path(reference: list[str], candidate: list[str]) -> set[int]:
    """The places in the reference on the LCS path; on a tie towards its beginning."""
    cells, i, j, places = table(reference, candidate), len(reference), len(candidate), set()
    while i and j:
        if reference[i - 1] == candidate[j - 1]:
            i, j = i - 1, j - 1
            places.add(i)
        elif cells[i - 1][j] >= cells[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return places


def shares(hits_of_candidate: int, hits_of_reference: int, candidate, reference) -> list[float]:
    p, r = hits_of_candidate / sum(map(len, candidate)), hits_of_reference / sum(map(len, reference))
    return [p, r, 2 * p * r / (p + r) if p and r else 0.0]


def union_lcs(candidate: list[list[str]], reference: list[list[str]]) -> list[float]:
    left = Counter(chain.from_iterable(candidate)) & Counter(chain.from_iterable(reference))
    hits = 0
    for sentence in reference:
        for place in sorted(set().union(*(on_path(sentence, other) for other in candidate))):
            if left[sentence[place]]:
                left[sentence[place]] -= 1
                hits += 1
    return shares(hits, hits, candidate, reference)


def mead(candidate: list[list[str]], reference: list[list[str]]) -> list[float]:
    best_of_candidate = [max(table(other, one)[-1][-1] for other in reference) for one in candidate]
    best_of_reference = [max(table(one, other)[-1][-1] for other in candidate) for one in reference]
    return shares(sum(best_of_candidate), sum(best_of_reference), candidate, reference)


@pytest.mark.parametrize("between", ["\n", " ", "\n\n"], ids=["lines", "one line", "blank lines"])
@pytest.mark.parametrize(("spec", "by_hand"), [("rougeLsum", union_lcs), ("rougeMEAD", mead)])
def test_sums_by_hand_on_a_hundred_summaries(spec: str, by_hand, between: str) -> None:
    def joined(side: list[list[str]]) -> list[str]:
        return [between.join(f"{sentence}." for sentence in sentences) for sentences in side]

    report = evalign.metric(spec).score(joined(CANDIDATES), joined(REFERENCES))
    expected = [by_hand(words(own), words(other)) for own, other in zip(CANDIDATES, REFERENCES, strict=True)]
    np.testing.assert_allclose(np.stack(list(report), axis=1), expected, atol=1e-12)
    alone = [len(own) == len(other) == 1 for own, other in zip(CANDIDATES, REFERENCES, strict=True)]
    assert [bool(segment.counts.get("one-sentence")) for segment in report.segments] == alone
    assert 0 < sum(alone) < 20
    as_one = evalign.metric("rougeL").score(joined(CANDIDATES), joined(REFERENCES))
    assert (as_one["f1"] != report["f1"]).sum() > 40


def test_rouge_scores_sentences_are_lines() -> None:
    candidates, references = (
        ["\n".join(sentences) if place % 2 else ". ".join(sentences) for place, sentences in enumerate(side)]
        for side in (CANDIDATES, REFERENCES)
    )
    ours = np.stack(list(evalign.metric("rougeLsum(tokens=ascii)").score(candidates, references)), axis=1)
    peer = RougeScorer(["rougeLsum"])
    theirs = [peer.score(other, own)["rougeLsum"] for own, other in zip(candidates, references, strict=True)]
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
    split = evalign.metric("rougeLsum(tokens=ascii, sentences=auto)").score(candidates, references)
    assert (split["f1"] != ours[:, 2]).any()


PAIR = ["w1 w2. w1 w3."], ["w1 w3. w2 w1."]


@pytest.mark.parametrize(
    ("spec", "used", "printed"),
    [
        ("rougeLsum", "auto", "rougeLsum"),
        ("rougeLsum(sentences=auto)", "auto", "rougeLsum"),
        ("rougeMEAD(tokens=unicode, sentences=lines)", "lines", "rougeMEAD(sentences=lines)"),
        ("rougeLsum(sentences=split)", "split", "rougeLsum(sentences=split)"),
        ("rougeLsum(tokens=ascii)", "lines", "rougeLsum(tokens=ascii)"),
        ("rougeMEAD(tokens=ascii, sentences=lines)", "lines", "rougeMEAD(tokens=ascii)"),
        ("rougeLsum(tokens=ascii, sentences=auto)", "auto", "rougeLsum(tokens=ascii, sentences=auto)"),
        ("rougeLsum(mode=rouge155, sentences=lines)", "lines", "rougeLsum(mode=rouge155)"),
    ],
)
def test_signatures_say_what_was_used(spec: str, used: str, printed: str) -> None:
    metric = evalign.metric(spec)
    report = metric.score(*PAIR)
    assert f"|sentences:{used}|" in report.signature
    assert str(metric) == printed
    assert evalign.metric(report.signature) == evalign.metric(printed) == metric
    assert report.flags == ({} if used != "lines" else {"one-sentence": 1})


def test_one_sentence_among_several_references() -> None:
    report = evalign.metric("rougeMEAD").score(
        ["a b", "a b", "a b", "?"], [["a b", "one bee. one cow."], ["a b", ""], ["a b"], ["a"]]
    )
    assert [sorted(segment.flags) for segment in report.segments] == [
        [], ["empty-reference", "one-sentence"], ["one-sentence"], ["empty"],
    ]  # fmt: skip
