"""SARI: tables worked by hand, an independent implementation from the formulas, corpus pooling, bad input."""

from __future__ import annotations

import random

import pytest

import evalign
from evalign.errors import LengthMismatchError, SpecError
from evalign.metrics.lexical.sari import operations, sari_counts

# Source a b c d, candidate a b e, references a b f and a e; right/done/wanted by order.
#   adding, distinct n-grams not in the source
#     1: candidate {e}, references {f, e}: e is right                                  1/1/2
#     2: candidate {be}, references {bf, ae}                                           0/1/2
#     3: candidate {abe}, references {abf}                                             0/1/1
#     4: nothing                                                                       0/0/0
#   keeping, source and candidate counted twice as there are two references: a2 b2 c2 d2 and a2 b2 e2; references
#   a2 b1 e1 f1
#     1: kept a2 b2; of those in references a2 b1; source in references a2 b1          3/4/3
#     2: kept ab2; references ab1; source in references ab1                            1/2/1
#     3, 4: kept nothing, and abc is in no reference                                   0/0/0
#   deleting
#     1: deleted c2 d2, none in references; source without references b1 c2 d2         4/4/5
#     2: source ab2 bc2 cd2, deleted bc2 cd2; source without references ab1 bc2 cd2    4/4/5
#     3: source abc2 bcd2, all deleted, none in references                             4/4/4
#     4: source abcd2                                                                  2/2/2
HAND = {
    "add": [(1, 1, 2), (0, 1, 2), (0, 1, 1), (0, 0, 0)],
    "keep": [(3, 4, 3), (1, 2, 1), (0, 0, 0), (0, 0, 0)],
    "delete": [(4, 4, 5), (4, 4, 5), (4, 4, 4), (2, 2, 2)],
}
# F1 by order: add 2/3 0 0 0; keep 6/7 2/3 0 0; delete 8/9 8/9 1 1
MACRO = 100 / 3 * (1 / 6 + (6 / 7 + 2 / 3) / 4 + (8 / 9 + 8 / 9 + 2) / 4)
# mean P and R: add 1/4 1/8; keep 5/16 1/2; delete 1 and .9; the paper scores deleting by precision
PAPER = 100 / 3 * (2 / 4 / 8 / (3 / 8) + 2 * 5 / 16 / 2 / (13 / 16) + 1)
PAPER_F1 = 100 / 3 * (2 / 4 / 8 / (3 / 8) + 2 * 5 / 16 / 2 / (13 / 16) + 1.8 / 1.9)


def sari(spec: str, source: str, candidate: str, *references: str) -> float:
    return float(evalign.metric(spec).score([candidate], [references], [source])["score"][0])


def test_hand_table() -> None:
    counts = sari_counts(list("abcd"), list("abe"), [list("abf"), list("ae")])
    assert {name: list(map(tuple, orders)) for name, orders in operations(counts).items()} == HAND
    texts = ("a b c d", "a b e", "a b f", "a e")
    assert sari("sari", *texts) == pytest.approx(MACRO, abs=1e-12)
    assert sari("sari(formula=paper, deletion=precision)", *texts) == pytest.approx(PAPER, abs=1e-12)
    assert sari("sari(formula=paper)", *texts) == pytest.approx(PAPER_F1, abs=1e-12)
    assert sari("sari(deletion=precision)", *texts) == pytest.approx(MACRO + 100 / 3 * (2 / 9) / 4, abs=1e-12)


@pytest.mark.parametrize(
    ("source", "candidate", "references", "expected"),
    [
        # All of it rewritten as wanted: adding 1 and deleting 1, but there was nothing to keep, which EASSE scores 0.
        ("p q r s", "w x y z", ["w x y z"], 200 / 3),
        # Copied, and copying was right: nothing to add or to delete, so keeping alone counts.
        ("p q r s", "p q r s", ["p q r s"], 100 / 3),
        # Copied, but q should have become x: keep P 3/4, R 1 for words; no 2-gram but "r s" of three is right.
        ("p q r s", "p q r s", ["p x r s"], 100 / 3 * (2 * 0.75 / 1.75 + 2 * (1 / 3) / (4 / 3)) / 4),
        # A word that occurs twice and should stay once, as it does: kept right, and deleted right, as is "p p".
        ("p p", "p", ["p"], 100 / 3 * (1 + 2) / 4),
    ],
)
def test_hand_cases(source: str, candidate: str, references: list[str], expected: float) -> None:
    assert sari("sari", source, candidate, *references) == pytest.approx(expected, abs=1e-12)


def by_the_formulas(rows: list[tuple[str, str, list[str]]], formula: str, deletion: str) -> float:
    """From the definitions, n-gram by n-gram; knows nothing of counters, tuples of counts or this project."""
    scores = {"add": [], "keep": [], "del": []}
    for n in (1, 2, 3, 4):
        sums = {name: [0, 0, 0] for name in scores}
        for source, candidate, references in rows:
            grams = [
                [" ".join(text.split()[i : i + n]) for i in range(len(text.split()) - n + 1)]
                for text in (source, candidate, *references)
            ]
            k = len(references)
            for gram in {gram for text in grams for gram in text}:
                o, s = k * grams[0].count(gram), k * grams[1].count(gram)
                r = sum(text.count(gram) for text in grams[2:])
                if not o:
                    sums["add"] = [a + b for a, b in zip(sums["add"], [s > 0 and r > 0, s > 0, r > 0], strict=True)]
                keep = [min(o, s, r), min(o, s), min(o, r)]
                gone = [min(max(o - s, 0), max(o - r, 0)), max(o - s, 0), max(o - r, 0)]
                sums["keep"] = [a + b for a, b in zip(sums["keep"], keep, strict=True)]
                sums["del"] = [a + b for a, b in zip(sums["del"], gone, strict=True)]
        for name, (right, done, wanted) in sums.items():
            scores[name].append((right / done if done else 0, right / wanted if wanted else 0))

    def f1(p: float, r: float) -> float:
        return 2 * p * r / (p + r) if p + r else 0

    total = 0.0
    for name, pairs in scores.items():
        p, r = (sum(values) / 4 for values in zip(*pairs, strict=True))
        if name == "del" and deletion == "precision":
            total += p
        else:
            total += sum(f1(*pair) for pair in pairs) / 4 if formula == "macro" else f1(p, r)
    return 100 * total / 3


@pytest.mark.parametrize("deletion", ["f1", "precision"])
@pytest.mark.parametrize("formula", ["macro", "paper"])
def test_against_the_formulas(formula: str, deletion: str) -> None:
    """120 random rows with one to four references: every row, and the corpus of all."""
    chance = random.Random(3)

    def text() -> str:
        return " ".join(chance.choices("abcde", k=chance.randrange(1, 12)))

    rows = [(text(), text(), [text() for _ in range(chance.randrange(1, 5))]) for _ in range(120)]
    metric = evalign.metric(f"sari(formula={formula}, deletion={deletion})")
    report = metric.score([row[1] for row in rows], [row[2] for row in rows], [row[0] for row in rows])
    expected = [by_the_formulas([row], formula, deletion) for row in rows]
    assert report["score"] == pytest.approx(expected, abs=1e-12)
    assert report.corpus("score") == pytest.approx(by_the_formulas(rows, formula, deletion), abs=1e-12)
    assert abs(report.corpus("score") - report.mean("score")) > 0.1  # pooled counts are not the mean


def by_the_script(source: str, candidate: str, references: list[str]) -> float:
    """Xu's script with tensor2tensor's corrections, n-gram by n-gram: means of ratios, 0 / 0 = 1."""
    scores, k = [], len(references)
    for n in (1, 2, 3, 4):
        grams = [
            [" ".join(text.split()[i : i + n]) for i in range(len(text.split()) - n + 1)]
            for text in (source, candidate, *references)
        ]
        o, s, r = {}, {}, {}
        for gram in {gram for text in grams for gram in text}:
            o[gram], s[gram] = k * grams[0].count(gram), k * grams[1].count(gram)
            r[gram] = sum(text.count(gram) for text in grams[2:])
        kept, keep = [gram for gram in o if min(o[gram], s[gram])], [gram for gram in o if min(o[gram], r[gram])]
        shares = [min(o[gram], s[gram], r[gram]) / min(o[gram], s[gram]) for gram in kept]
        p = sum(shares) / len(kept) if kept else 1
        wanted = sum(min(o[gram], r[gram]) for gram in keep)
        q = sum(min(o[gram], s[gram], r[gram]) for gram in keep) / wanted if keep else 1
        gone = [gram for gram in o if o[gram] > s[gram]]
        right = [max(0, o[gram] - s[gram] - r[gram]) / (o[gram] - s[gram]) for gram in gone]
        new = [gram for gram in o if s[gram] and not o[gram]]
        due = [gram for gram in o if r[gram] and not o[gram]]
        both = len(set(new) & set(due))
        a, b = both / len(new) if new else 1, both / len(due) if due else 1
        scores.append(2 * p * q / (p + q) if p + q else 0)
        scores.append(sum(right) / len(gone) if gone else 1)
        scores.append(2 * a * b / (a + b) if a + b else 0)
    return 100 * sum(scores) / 12


def test_as_in_the_authors_script() -> None:
    """The example in the documentation of `evaluate`'s SARI, and 300 random rows; the corpus is the mean of rows."""
    texts = ("About 95 species are currently accepted .", "About 95 you now get in .",
             "About 95 species are currently known .", "About 95 species are now accepted .",
             "95 species are now accepted .")  # fmt: skip
    assert sari("sari(formula=script)", *texts) == pytest.approx(26.953601953601954, abs=1e-9)
    chance = random.Random(4)

    def text() -> str:
        return " ".join(chance.choices("abcde", k=chance.randrange(1, 12)))

    rows = [(text(), text(), [text() for _ in range(chance.randrange(1, 5))]) for _ in range(300)]
    report = evalign.metric("sari(formula=script)").score(
        [row[1] for row in rows], [row[2] for row in rows], [row[0] for row in rows]
    )
    assert report["score"] == pytest.approx([by_the_script(*row) for row in rows], abs=1e-9)
    assert report.corpus("score") == pytest.approx(report.mean("score"), abs=1e-9)


def test_the_source_of_older_results_is_not_tokenised() -> None:
    """EASSE's legacy: only candidate and references pass the tokeniser."""
    texts = ("Old, grey cats.", "old , cats .", "old cats .")
    split = sari("sari(tokenize=none, lowercase=false)", *texts)
    assert sari("sari(legacy=true)", *texts) == pytest.approx(split, abs=1e-12)
    assert sari("sari", *texts) != pytest.approx(split)


def test_moses_words_come_from_sacremoses() -> None:
    try:
        import sacremoses
    except ImportError:
        with pytest.raises(SpecError, match="pip install sacremoses"):
            evalign.metric("sari(tokenize=moses)").scorer()
    else:
        text = "Don't split 3.5 (or so), he said."
        cut = sacremoses.MosesTokenizer().tokenize(text.lower(), return_str=True, escape=False)
        assert evalign.SARI(tokenize="moses").tokens(text) == cut.split()


def test_tokens_and_case() -> None:
    assert sari("sari", "Old, grey cats sleep.", "old grey cats .", "OLD grey cats.") == sari(
        "sari(tokenize=none, lowercase=false)", "old , grey cats sleep .", "old grey cats .", "old grey cats ."
    )
    assert sari("sari(lowercase=false)", "a b", "A b", "a b") < sari("sari", "a b", "A b", "a b")


@pytest.mark.parametrize("text", ["?!... ---", "one", "a \ud800 lone\udfff", "zero\x00byte", "x y " * 50_000])
def test_strange_text(text: str) -> None:
    report = evalign.metric("sari").score([text, "a b", "a b"], [["a b", text], [text], ["a"]], ["a b", "a b", text])
    assert all(0 <= value <= 100 for value in report["score"])
    assert report.flags == {}


def test_empty_text() -> None:
    report = evalign.metric("sari").score(
        ["", "a", "a", "a"], [["a"], ["", " "], ["", "a"], ["a"]], ["a", "a", "b", " "]
    )
    assert [segment.flags for segment in report.segments] == [("empty",), ("empty",), (), ("empty-source",)]
    assert report["score"][:2].tolist() == [0, 0]


def test_sources_are_needed() -> None:
    with pytest.raises(LengthMismatchError, match="needs a source"):
        evalign.metric("sari").score(["a"], ["a"])


def test_signature() -> None:
    for spec in (
        "sari",
        "sari(formula=paper, deletion=precision, tokenize=char, lowercase=false)",
        "sari(formula=script, deletion=precision, legacy=true)",
    ):
        assert str(evalign.metric(str(evalign.metric(spec).scorer().signature))) == spec
    with pytest.raises(SpecError, match="'spec' is missing"):
        evalign.metric("sari|v:0.1.0")
