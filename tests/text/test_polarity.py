"""Negations, antonyms and answers that only one of two texts has: found on matched words, flagged, no score changed."""

import csv
import html
import io
from pathlib import Path

import numpy as np
import pytest

import evalign
from evalign.core import Alignment
from evalign.render.console import EscapingConsole
from evalign.render.explain import explain
from evalign.text.polarity import read

TRIPLES = Path(__file__).parents[2] / "benchmarks" / "negations.tsv"
TOKEN_METRICS = ("bertscore", "lisascore", "moverscore", "evalign", "sbert", "endtoken")


@pytest.fixture(scope="module")
def align():
    metric = evalign.BERTScore()
    return lambda candidate, reference: metric.align(candidate, reference)


def found(alignment: Alignment) -> list[tuple]:
    """Kind and words of every opposite."""
    return [
        (
            one.kind,
            one.candidate and alignment.candidate.text[slice(*one.candidate)],
            one.reference and alignment.reference.text[slice(*one.reference)],
        )
        for one in alignment.opposites
    ]


@pytest.mark.parametrize(
    ("candidate", "reference", "expected"),
    [
        ("The talks did not fail.", "The talks failed.", [("negation", "not", None)]),
        ("She came.", "She didn't come.", [("negation", None, "didn't")]),
        ("He can leave.", "He cannot leave.", [("negation", None, "cannot")]),
        ("Nobody was hurt.", "Someone was hurt.", [("negation", "Nobody", None)]),
        ("Prices rose in May.", "Prices fell in May.", [("antonym", "rose", "fell")]),
        ("The fish is alive.", "The fish is dead.", [("antonym", "alive", "dead")]),
        ("It was unfair.", "It was fair.", [("antonym", "unfair", "fair")]),
        ("A careless driver.", "A careful driver.", [("antonym", "careless", "careful")]),
        ("Yes.", "No.", [("answer", "Yes", "No")]),
        ("Yes, it works.", "No, it fails.", [("answer", "Yes", "No"), ("antonym", "works", "fails")][:1]),
        ("No.", "It works.", [("answer", "No", None)]),
        ("Die Preise sind gestiegen.", "Die Preise sind gefallen.", [("antonym", "gestiegen", "gefallen")]),
        ("Er hat keine Zeit.", "Er hat Zeit.", [("negation", "keine", None)]),
        ("Sie ist nicht gekommen.", "Sie ist gekommen.", [("negation", "nicht", None)]),
        ("Ja, das stimmt.", "Nein, das stimmt nicht.", [("answer", "Ja", "Nein"), ("negation", None, "nicht")]),
        ("Das ist möglich.", "Das ist unmöglich.", [("antonym", "möglich", "unmöglich")]),
    ],
)
def test_opposites_are_found_at_their_words(align, candidate, reference, expected):
    assert found(align(candidate, reference)) == expected
    turned = [(kind, right, left) for kind, left, right in expected]
    assert sorted(found(align(reference, candidate)), key=str) == sorted(turned, key=str)


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        ("No, we never met.", "No, we have not met."),
        ("He isn't happy.", "He is unhappy."),
        ("The door was not open.", "The door was closed."),
        ("They didn't lose the match.", "They won the match."),
        ("She left without paying.", "She did not pay when she left."),
        ("Not only the price rose.", "The price rose, too."),
        ("There is no doubt that it works.", "It certainly works."),
        ("Prices rose and then fell.", "Prices fell after they rose."),
        ("See no. 5 on the list.", "See number 5 on the list."),
        ("Yes, she does.", "She does."),
        ("No.", "Not at all."),
        ("Neither came.", "None of them came."),
        ("Er ist nicht glücklich.", "Er ist unglücklich."),
        ("Nicht nur der Preis stieg.", "Auch der Preis stieg."),
        ("In der Not hilft er.", "Er hilft, wenn es nötig ist."),
        ("The cat sat on the mat.", "A cat was sitting on a mat."),
        ("", "Not a word."),
        ("12.5 %", "!!!"),
    ],
)
def test_the_same_in_other_words_is_no_opposite(align, candidate, reference):
    assert found(align(candidate, reference)) == []
    assert found(align(reference, candidate)) == []


def test_all_negations_of_the_benchmark_are_found():
    """50 sentences, each with a paraphrase and its negation, which were written before the rules."""
    with TRIPLES.open(encoding="utf-8") as stream:
        triples = list(csv.DictReader(stream, delimiter="\t"))
    references = [triple["reference"] for triple in triples]
    flagged = [
        evalign.score([triple[name] for triple in triples], references).flags.get("polarity", 0)
        for name in ("opposite", "paraphrase")
    ]
    assert flagged == [50, 1]  # "The king was away." and "The king was not at home."


@pytest.mark.parametrize("name", TOKEN_METRICS)
def test_every_token_metric_flags_and_no_score_changes(name, monkeypatch):
    texts = (
        ["The bridge is not open.", "The bridge is open.", "Prices rose."],
        ["The bridge is open."] * 2 + ["Prices fell."],
    )
    report = evalign.score(*texts, name)
    assert [segment.counts.get("polarity") for segment in report.segments] == [1, None, 1]
    assert report.flags == {"polarity": 2}
    monkeypatch.setattr("evalign.metrics.token_metric.opposites", lambda *_: ())
    silent = evalign.score(*texts, name)
    assert silent.flags == {}
    np.testing.assert_array_equal(silent[report.main], report[report.main])


def test_of_several_references_the_one_that_counts_decides():
    references = [["She did not come.", "She came."]]
    assert evalign.score(["She came."], references).flags == {}
    assert evalign.score(["She came."], references, "bertscore(multiref=mean)").flags == {}
    assert evalign.score(["She came."], [["She did not come.", "She never came."]]).flags == {"polarity": 1}


def test_what_was_cut_off_is_no_opposite():
    long = "The bridge is open " + "and so on " * 300 + "but it is not safe."
    assert evalign.score([long], ["The bridge is open."], "bertscore(overlong=truncate)").flags == {"truncated": 1}
    assert "polarity" in evalign.score([long], ["The bridge is open."]).flags


def test_texts_too_large_for_one_matrix_are_compared_as_a_whole(monkeypatch):
    monkeypatch.setattr("evalign.metrics.token_metric.BAND_CELLS", 20)
    monkeypatch.setattr("evalign.matching.similarity.BAND_CELLS", 20)
    metric = evalign.BERTScore(model="fake")
    pairs = [
        ("The bridge is not open now", "The bridge is open now"),
        ("Prices rose", "Prices fell in May again and again"),
    ]
    left, right = metric.scorer().weigh([text for pair in pairs for text in pair])
    for candidate, reference in pairs:
        result = metric.scorer()._solve_pair(left[candidate], right[reference])
        assert len(metric.scorer()._opposites(left[candidate], right[reference], result)) == 1


def test_most_texts_have_no_word_to_look_at():
    plain, polar = read("the cat sat on the mat"), read("nothing rose")
    assert not plain.differs(read("a dog ran"))
    assert polar.differs(plain)
    assert plain.differs(polar)


def test_pictures_explanations_and_documents_name_the_words(align, run_explain):
    alignment = align("Prices did not rise.", "Prices rose.")
    sentence = '"not" is only in the candidate'
    assert f"polarity: {sentence}" in str(alignment)
    assert html.escape(sentence) in alignment._repr_html_()
    for spec in ("bertscore", "lisascore", "moverscore", "evalign", "sbert"):
        assert f"Polarity (no part of the score): {sentence}" in run_explain(spec)
    (entry,) = alignment.to_dict()["matchings"][0]["opposites"]
    assert entry == {"kind": "negation", "candidate": [11, 14], "reference": None, "text": sentence}


@pytest.fixture
def run_explain():
    """What `explain` prints of one pair under a metric."""

    def printed(spec: str) -> str:
        out = io.StringIO()
        EscapingConsole(file=out, width=200).print(
            explain(evalign.metric(spec), "Prices did not rise.", "Prices rose.")
        )
        return out.getvalue()

    return printed


@pytest.mark.parametrize("word", ["not", "unhappy", "rose"])
@pytest.mark.parametrize("spec", ["bertscore(model=fake)", "sbert(model=fake)"])
def test_long_texts_of_polar_words_take_time_by_their_length(word, spec):
    """With work or memory by the square of the length this test would not end."""
    report = evalign.score([f"{word} " * 20_000], ["happy fell " * 4], spec)
    assert ("polarity" in report.flags) >= spec.startswith("sbert")  # random vectors match other words


def test_a_word_that_is_repeated_is_one_antonym_of_whole_texts():
    report = evalign.score(["It rose and rose."], ["It fell and fell."], "sbert(model=fake)")
    assert report.flags == {"polarity": 1}
    assert report.segments[0].counts == {"polarity": 1}
