"""GLEU against NLTK's gleu_score: its own examples, random words, several references, corpora; bad options."""

from __future__ import annotations

import random

import pytest
from nltk.translate.gleu_score import corpus_gleu, sentence_gleu

import evalign
from evalign.errors import SpecError

GUIDE = "It is a guide to action that ensures that the military will forever heed Party commands"
FIRST = "It is a guide to action which ensures that the military always obeys the commands of the party"
SECOND = "It is to insure the troops forever hearing the activity guidebook that party direct"


@pytest.mark.parametrize(
    ("candidate", "reference", "options", "expected"),
    [  # the examples in NLTK's documentation
        (FIRST, GUIDE, "", 0.4393), (SECOND, GUIDE, "", 0.1206),
        ("the the the the the the the", "the cat is on the mat", "", 0.0909),
        ("the cat", "the cat", "", 1.0),
        ("a b", "c d", "", 0.0),
    ],
)  # fmt: skip
def test_published_examples(candidate, reference, options, expected):
    metric = evalign.metric(f"gleu(tokenize=none{options})")
    assert metric.score([candidate], [reference])["score"][0] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("lengths", [(1, 4), (2, 3), (3, 6)])
def test_equals_nltk_on_random_words(lengths):
    generator = random.Random(4)
    rows = []
    for _ in range(60):
        words = [generator.choices("abcdefgh", k=generator.randint(0, 12)) for _ in range(generator.randint(2, 4))]
        rows.append((words[0], words[1:]))
    metric = evalign.GLEU(tokenize="none", min_len=lengths[0], max_len=lengths[1])
    report = metric.score([" ".join(words) for words, _ in rows], [[*map(" ".join, texts)] for _, texts in rows])
    theirs = [sentence_gleu(references, candidate, *lengths) for candidate, references in rows]
    assert list(report["score"]) == theirs
    corpus = corpus_gleu([references for _, references in rows], [candidate for candidate, _ in rows], *lengths)
    assert report.corpus("score") == corpus
    assert evalign.metric(report.signature) == metric


def test_words_are_sacrebleus():
    plain, split = (evalign.metric(f"gleu(tokenize={name})").score(["A cat."], ["A cat ."]) for name in ("none", "13a"))
    assert (plain["score"][0], split["score"][0]) == (pytest.approx(1 / 6), 1.0)
    assert evalign.metric("gleu(lowercase=true)").score(["A CAT"], ["a cat"])["score"][0] == 1


def test_flags():
    report = evalign.metric("gleu(min_len=3)").score(["", "a b", "a b c"], ["a", "a b", "a b c"])
    assert [segment.flags for segment in report.segments] == [("empty",), ("too-short",), ()]
    assert list(report["score"]) == [0, 0, 1]


def test_lengths_that_make_no_sense():
    with pytest.raises(SpecError, match="at most max_len=4"):
        evalign.metric("gleu(min_len=5)")
    with pytest.raises(SpecError, match="min_len"):
        evalign.metric("gleu(min_len=0)")
