"""Where sentences end: English and German paragraphs written for this test, as they are and in lower case."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalign.text.sentences import lines_or_sentences, split_sentences

# A sentence per line, an empty line between paragraphs.
PARAGRAPHS = {
    language: Path(__file__).with_name(f"sentences_{language}.txt").read_text("utf-8").strip().split("\n\n")
    for language in ("en", "de")
}


def boundaries(sentences: list[str]) -> set[int]:
    """Characters, spaces aside, up to the end of every sentence but the last."""
    ends = [sum(len(sentence.replace(" ", "")) for sentence in sentences[:count]) for count in range(len(sentences))]
    return set(ends[1:])


def test_boundaries_are_found() -> None:
    assert sum(len(paragraph.split("\n")) for paragraphs in PARAGRAPHS.values() for paragraph in paragraphs) == 200
    shares = {}
    for language, paragraphs in PARAGRAPHS.items():
        for form in ("as written", "lower case"):
            texts = [paragraph if form == "as written" else paragraph.lower() for paragraph in paragraphs]
            right = [boundaries(text.split("\n")) for text in texts]
            split = [boundaries(split_sentences(text.replace("\n", " "))) for text in texts]
            hits = sum(len(one & other) for one, other in zip(right, split, strict=True))
            shares[language, form] = hits / sum(map(len, split)), hits / sum(map(len, right))
    for setting, (precision, recall) in shares.items():
        print(f"{' '.join(setting)}: precision {precision:.3f}, recall {recall:.3f}")
    assert min(map(min, shares.values())) >= 0.98, shares


@pytest.mark.parametrize(
    "text",
    [
        "w1 w2. | w1 w3.",
        "a b c. | a c d.",
        "the attack took place in the u.s. | the army was called.",
        "der 1. fc köln gewann. | der trainer jubelte.",
        "wir treffen uns am 24.12. um 18 uhr. | bitte pünktlich.",
        "er wohnt in der hauptstr. 5 in bonn. | seine frau arbeitet bei der bahn.",
        "i am 30. | susan is 20. | she said no. | no. 5 is hers.",
        "„bist du da?“ fragte er. | niemand antwortete.",
        "»das ist gut.« | »nein!« | »doch.«",
        "what?! | no way... | he left.",
        "Sie wurde 80. | Peter gratulierte.",
        "Er lebte von 44 v. Chr. bis 3 n. Chr. in Rom. | Dann starb er.",
        "She works for the F.B.I. | He does not.",
        "world war ii. | germany lost it.",
        "chelsea won . | the fans left . | nobody stayed .",
        "1. wash the rice. | 2. boil it.",
        "The year was 1999. | Nobody knew.",
        "the film (really!) won. | we slept.",
    ],
)
def test_splitting(text: str) -> None:
    sentences = text.split(" | ")
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("one line. and more.\nanother. one.", ["one line. and more.", "another. one."]),
        ("one line. and more.\n  \n\n", ["one line.", "and more."]),
        ("\none line", ["one line"]),
        ("", []),
    ],
)
def test_lines_where_there_are_several_else_sentences(text: str, sentences: list[str]) -> None:
    assert lines_or_sentences(text) == sentences


@pytest.mark.parametrize("part", [".", ". ", "e.g. ", '."', "a. ", '("'])
def test_time_grows_with_length(part: str) -> None:
    """Every part of a hostile text is looked at once; a second look at all of it would take minutes."""
    assert len("".join(split_sentences(part * 20_000))) >= 20_000
