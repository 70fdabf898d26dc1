"""ROUGE with a tokenizer that a user registers, and with n-grams that count once in a text (pltrdy's exclusive)."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import evalign
from evalign.errors import InputError, SpecError

CHANCE = random.Random(11)


def text() -> str:
    return " ".join(CHANCE.choices(["a", "b", "c", "d", "E.", "f-g"], k=CHANCE.randrange(1, 15)))


CANDIDATES, REFERENCES = ([text() for _ in range(300)] for _ in range(2))


def pltrdy_words(line: str) -> list[str]:
    """As the package `rouge` reads a text: sentences end at a full stop, words stand between spaces."""
    return [word for sentence in line.split(".") for word in sentence.split()]


evalign.register_tokenizer("full-stops", pltrdy_words)
evalign.register_tokenizer("broken", lambda line: len(line))  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_each_ngram_counts_once(n: int) -> None:
    """rouge 1.0.1 with exclusive=True: sets of n-grams. Its F has 1e-8 in the denominator, ours has not."""
    report = evalign.metric(f"rouge{n}(tokens=full-stops, exclusive=true)").score(CANDIDATES, REFERENCES)
    for row, (candidate, reference) in enumerate(zip(CANDIDATES, REFERENCES, strict=True)):
        own, other = (
            {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}
            for words in (pltrdy_words(candidate), pltrdy_words(reference))
        )
        p, r = (len(own & other) / len(side) if side else 0.0 for side in (own, other))
        f = 2 * p * r / (p + r + 1e-8)
        found = [report[field][row] for field in ("precision", "recall", "f1")]
        assert found == pytest.approx([p, r, f], abs=1e-7)


def test_a_registered_tokenizer_is_part_of_spec_and_signature() -> None:
    metric = evalign.metric("rougeL(tokens=full-stops)")
    assert str(metric) == "rougeL(tokens=full-stops)"
    signature = str(metric.scorer().signature)
    assert "tokens:full-stops" in signature
    assert evalign.metric(signature) == metric
    cased = metric.score(["A B"], ["a b"])["f1"]
    assert cased[0] == 0  # the words are compared as the tokenizer gives them
    assert np.all(metric.score(CANDIDATES, CANDIDATES)["f1"][:5] == 1)


def test_registering_the_same_again_is_no_error() -> None:
    evalign.register_tokenizer("full-stops", pltrdy_words)
    with pytest.raises(SpecError, match="another tokenizer already"):
        evalign.register_tokenizer("full-stops", str.split)


@pytest.mark.parametrize("name", ["unicode", "auto", "rouge155", "My Words", "", "a,b"])
def test_names_that_cannot_be_taken(name: str) -> None:
    with pytest.raises(SpecError, match="cannot be the name"):
        evalign.register_tokenizer(name, str.split)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rouge1(tokens=ful-stops)", r"full-stops.*evalign\.register_tokenizer"),
        ("rouge1(tokens=full-stops, mode=rouge155)", "leave tokens out"),
        ("rouge2(exclusive=true, mode=rouge155)", "leave one out"),
        ("rougeL(exclusive=true)", "exclusive"),
    ],
)
def test_bad_options(spec: str, message: str) -> None:
    with pytest.raises(SpecError, match=re.compile(message)):
        evalign.metric(spec)


def test_a_tokenizer_that_gives_no_words_is_said() -> None:
    with pytest.raises(InputError, match="must give a list of words, but gave int"):
        evalign.metric("rouge1(tokens=broken)").score(["a"], ["b"])
    with pytest.raises(SpecError, match="needs a function"):
        evalign.register_tokenizer("nothing", None)  # type: ignore[arg-type]
