"""BLEU, chrF and TER are sacrebleu's: golden runs, live comparison on real and random rows, bad input, signatures."""

from __future__ import annotations

import inspect
import random
import re
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from golden_sets import golden_files, read
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.base import Metric as PeerMetric

import evalign
from evalign.analysis.scoring import score_source
from evalign.core import Row
from evalign.core.metric import Metric
from evalign.errors import InputError, SpecError, TextTooLongError
from evalign.metrics.lexical.sacrebleu_metrics import BY_LANGUAGE, TOKENISERS, SacrebleuScoring

GOLDEN = golden_files("sacrebleu.json", "sacrebleu/sacrebleu.json")

# spec -> the sacrebleu object that users would write, for sentences and for the corpus
PEERS: dict[str, tuple[PeerMetric, PeerMetric]] = {}


def add_peer(spec: str, kind: type[PeerMetric], **options: Any) -> None:
    """BLEU's two levels differ by default, as sacrebleu recommends."""
    if kind is sacrebleu.BLEU and "effective_order" not in options:
        PEERS[spec] = kind(effective_order=True, **options), kind(**options)
    else:
        PEERS[spec] = kind(**options), kind(**options)


add_peer("bleu", sacrebleu.BLEU)
add_peer("bleu(lowercase=true)", sacrebleu.BLEU, lowercase=True)
add_peer("bleu(tokenize=intl)", sacrebleu.BLEU, tokenize="intl")
add_peer("bleu(tokenize=char)", sacrebleu.BLEU, tokenize="char")
add_peer("bleu(tokenize=none)", sacrebleu.BLEU, tokenize="none")
add_peer("bleu(tokenize=zh)", sacrebleu.BLEU, tokenize="zh")
add_peer("bleu(smooth_method=none)", sacrebleu.BLEU, smooth_method="none")
add_peer("bleu(smooth_method=floor)", sacrebleu.BLEU, smooth_method="floor")
add_peer("bleu(smooth_method=floor, smooth_value=0.375)", sacrebleu.BLEU, smooth_method="floor", smooth_value=0.375)
add_peer("bleu(smooth_method=add-k)", sacrebleu.BLEU, smooth_method="add-k")
add_peer("bleu(smooth_method=add-k, smooth_value=2.0)", sacrebleu.BLEU, smooth_method="add-k", smooth_value=2)
add_peer("bleu(max_ngram_order=2)", sacrebleu.BLEU, max_ngram_order=2)
add_peer("bleu(max_ngram_order=6)", sacrebleu.BLEU, max_ngram_order=6)
add_peer("bleu(effective_order=true)", sacrebleu.BLEU, effective_order=True)
add_peer("bleu(effective_order=false)", sacrebleu.BLEU, effective_order=False)
add_peer("chrf", sacrebleu.CHRF)
add_peer("chrf(word_order=2)", sacrebleu.CHRF, word_order=2)
add_peer("chrf(char_order=3, beta=1)", sacrebleu.CHRF, char_order=3, beta=1)
add_peer("chrf(beta=3, lowercase=true)", sacrebleu.CHRF, beta=3, lowercase=True)
add_peer("chrf(whitespace=true)", sacrebleu.CHRF, whitespace=True)
add_peer("chrf(eps_smoothing=true)", sacrebleu.CHRF, eps_smoothing=True)
add_peer("chrf(char_order=0, word_order=2)", sacrebleu.CHRF, char_order=0, word_order=2)
add_peer("ter", sacrebleu.TER)
add_peer("ter(normalized=true)", sacrebleu.TER, normalized=True)
add_peer("ter(no_punct=true)", sacrebleu.TER, no_punct=True)
add_peer("ter(case_sensitive=true)", sacrebleu.TER, case_sensitive=True)
add_peer("ter(normalized=true, asian_support=true)", sacrebleu.TER, normalized=True, asian_support=True)
add_peer("ter(no_punct=true, asian_support=true)", sacrebleu.TER, no_punct=True, asian_support=True)
PRIVATE = {  # what the adapter calls, and with which arguments
    "_preprocess_segment": ["self", "sent"],
    "_cache_references": ["self", "references"],
    "_compute_segment_statistics": ["self", "hypothesis", "ref_kwargs"],
    "_compute_score_from_stats": ["self", "stats"],
}


def peer_corpus(peer: PeerMetric, candidates: list[str], references: list[list[str]]) -> float:
    """sacrebleu takes one list per reference place, with None where a row has fewer."""
    most = max(map(len, references))
    columns = [[group[place] if place < len(group) else None for group in references] for place in range(most)]
    return float(peer.corpus_score(candidates, columns).score)


def assert_same_corpus(report: evalign.Report, expected: float) -> None:
    """Equal; but TER's mean reference lengths can be fractions, whose sum sacrebleu rounds at every row."""
    fractions = any(value != int(value) for segment in report.segments for value in segment.statistics)
    assert report.corpus("score") == (pytest.approx(expected, rel=1e-15) if fractions else expected), report.metric


def assert_same(spec: str, candidates: list[str], references: list[list[str]]) -> None:
    sentence, corpus = PEERS[spec]
    metric = evalign.metric(spec)
    report = metric.score(candidates, references)
    for segment, candidate, group in zip(report.segments, candidates, references, strict=True):
        expected = metric.worst if "empty" in segment.flags else sentence.sentence_score(candidate, group).score
        assert segment.scores["score"] == expected, (spec, candidate, group)
    assert_same_corpus(report, peer_corpus(corpus, candidates, references))
    counts = set(map(len, references))
    signature = dict(part.split(":") for part in str(corpus.get_signature()).split("|"))
    assert signature["nrefs"] == (str(counts.pop()) if len(counts) == 1 else "var")
    ours = evalign.Signature.parse(report.signature)
    assert {key: ours.settings[key] for key in signature} == signature
    assert evalign.metric(report.signature) == metric


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("kind", [sacrebleu.BLEU, sacrebleu.CHRF, sacrebleu.TER])
def test_private_methods_are_as_the_adapter_expects(kind: type[PeerMetric], name: str) -> None:
    method = getattr(kind, name, None)
    assert method is not None, f"sacrebleu {sacrebleu.__version__} has no {kind.__name__}.{name}: see sacrebleu_adapter"
    assert list(inspect.signature(method).parameters) == PRIVATE[name], "sacrebleu_adapter calls it differently"


def golden_metric(run: dict[str, Any]) -> Metric:
    """The metric of a run, from sacrebleu's signature; chrF's beta stands in the run's label."""
    pinned = dict(entry.split(":", 1) for entry in run["signature"].split("|"))
    name = re.match("[A-Za-z]+", run["metric"])
    assert name
    if name[0] == "BLEU":
        method, _, value = pinned["smooth"].rstrip("]").partition("[")
        return evalign.BLEU(
            tokenize=next(known for known in TOKENISERS if pinned["tok"].startswith(known)),
            lowercase=pinned["case"] == "lc",
            smooth_method=method,
            smooth_value=value or None,
            effective_order=pinned["eff"] == "yes",
        )
    if name[0] == "TER":
        return evalign.TER(
            normalized=pinned["norm"] == "yes",
            no_punct=pinned["punct"] == "no",
            asian_support=pinned["asian"] == "yes",
            case_sensitive=pinned["case"] == "mixed",
        )
    return evalign.ChrF(
        char_order=int(pinned["nc"]),
        word_order=int(pinned["nw"]),
        beta=3 if "beta3" in run["metric"] else 2,
        lowercase=pinned["case"] == "lc",
        whitespace=pinned["space"] == "yes",
        eps_smoothing=pinned["eff"] == "no",
    )


@pytest.mark.parametrize("file", GOLDEN)
def test_golden_runs(file: Path) -> None:
    golden = read(file)
    assert len(golden["runs"]) >= 94
    for run in golden["runs"]:
        texts = golden["inputs"][run["set"]]
        report = golden_metric(run).score(texts["hyp"], list(zip(*texts["refs"], strict=True)))
        assert_same_corpus(report, run["score"])
        for segment, expected in zip(report.segments, run.get("sentence", report["score"]), strict=True):
            if "empty" in segment.flags:  # 1.7e-15 with chrF's eps_smoothing
                assert segment.scores["score"] == pytest.approx(expected, abs=1e-14)
            else:
                assert segment.scores["score"] == expected, (run["metric"], run["signature"])
        for entry in run["signature"].split("|"):
            assert evalign.Signature.parse(report.signature).settings[entry.partition(":")[0]] == (
                entry.partition(":")[2] if not entry.startswith("version") else sacrebleu.__version__
            )


@pytest.mark.parametrize("file", GOLDEN)
def test_golden_multi_bleu(file: Path) -> None:
    """multi-bleu.perl prints two digits of BLEU over tokens at spaces."""
    golden = read(file)
    assert len(golden["multi_bleu"]) == 4
    for run in golden["multi_bleu"]:
        texts = golden["inputs"][run["set"]]
        lower = "true" if "-lc" in run["args"] else "false"
        metric = evalign.metric(f"bleu(tokenize=none, smooth_method=none, lowercase={lower})")
        report = metric.score(texts["hyp"], list(zip(*texts["refs"], strict=True)))
        assert report.corpus("score") == run["sacrebleu_none_same"]
        assert f"BLEU = {report.corpus('score'):.2f}," in run["output"]


@pytest.mark.parametrize("spec", [spec for spec in PEERS if not spec.startswith("ter")])
def test_real_rows(summary_rows, real_pairs, spec: str) -> None:
    """Several references, a different number for each row; summaries and translations."""
    rows = summary_rows[::80]
    groups = [row["references"][: 1 + place % 5] for place, row in enumerate(rows)]
    assert_same(spec, [row["candidate"] for row in rows], groups)
    pairs = real_pairs[::10]
    assert_same(spec, [candidate for candidate, _ in pairs], [[reference] for _, reference in pairs])


@pytest.mark.parametrize("spec", [spec for spec in PEERS if spec.startswith("ter")])
def test_real_rows_ter(summary_rows, real_pairs, spec: str) -> None:
    """Fewer rows, as sacrebleu is slow here."""
    pairs = real_pairs[::64]
    assert_same(spec, [candidate for candidate, _ in pairs], [[reference] for _, reference in pairs])
    rows = summary_rows[:16:8]
    groups = [row["references"][: 1 + place] for place, row in enumerate(rows)]
    assert_same(spec, [row["candidate"] for row in rows], groups)


words = st.lists(
    st.sampled_from(["the", "The", "cat", "sat", ".", "mat!", "1,234.5", "don't", "日本", "&amp;"]), max_size=9
)
anything = st.text(st.characters(exclude_categories=()), max_size=12)
texts = st.one_of(words.map(" ".join), anything, st.tuples(words.map(" ".join), anything).map(" ".join))
rows = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=4)), min_size=1, max_size=6)


@settings(deadline=None, max_examples=200, database=None)
@given(st.sampled_from(sorted(PEERS)), rows)
def test_random_rows(spec: str, rows: list[tuple[str, list[str]]]) -> None:
    assert_same(spec, [row[0] for row in rows], [row[1] for row in rows])


def test_many_random_rows() -> None:
    """Every option on 60 rows of words from a small vocabulary, one to four references each."""
    chance = random.Random(5)

    def text() -> str:
        return " ".join(chance.choices(["a", "b", "c", "D", "d.", ",", "e-f", "7"], k=chance.randrange(1, 15)))

    candidates = [text() for _ in range(60)]
    references = [[text() for _ in range(chance.randrange(1, 5))] for _ in candidates]
    for spec in PEERS:
        assert_same(spec, candidates, references)


def test_effective_order_is_for_sentences() -> None:
    """Three words have no 4-gram: sentence BLEU leaves that order out, corpus BLEU is 0, as sacrebleu prints both."""
    scores = {}
    for order in ("sentence", "true", "false"):
        report = evalign.metric(f"bleu(effective_order={order})").score(["one two three"], ["one two three"])
        scores[order] = round(report["score"][0], 6), round(report.corpus("score"), 6)
    assert scores == {"sentence": (100, 0), "true": (100, 100), "false": (0, 0)}


def test_statistics_add_up() -> None:
    """hyp_len, ref_len, 4 matched, 4 counted; TER: edits, mean reference length."""
    bleu = evalign.metric("bleu").score(["the cat sat"], [["the cat is here", "a cat"]])
    assert bleu.segments[0].statistics == (3, 2, 2, 1, 0, 0, 3, 2, 1, 0)
    ter = evalign.metric("ter").score(["the cat sat"], [["the cat is here", "a cat"]])
    assert ter.segments[0].statistics == (2, 3)
    assert ter["score"][0] == pytest.approx(200 / 3)


def test_empty_rows_are_worst_but_enter_the_corpus_as_in_sacrebleu() -> None:
    candidates, references = ["", "a cat", "a dog", " "], [["a b", "c d e f"], [""], ["a dog"], [""]]
    for spec in ("bleu(effective_order=true)", "chrf", "ter"):
        metric = evalign.metric(spec)
        report = metric.score(candidates, references)
        assert [segment.flags for segment in report.segments] == [("empty",), ("empty",), (), ("empty",)]
        assert report["score"][[0, 1, 3]].tolist() == [metric.worst] * 3
        assert report.corpus("score") == peer_corpus(PEERS[spec][1], candidates, references)


def test_candidates_that_look_tokenised_are_flagged() -> None:
    candidates = ["It works .", "It works."]
    assert evalign.metric("bleu").score(candidates, candidates).flags == {"tokenized": 1}
    assert evalign.metric("bleu(force=true)").score(candidates, candidates).flags == {}


LONG = " ".join(f"word{place % 997}" for place in range(100_000))


@pytest.mark.parametrize("spec", ["bleu", "chrf"])
@pytest.mark.parametrize(
    "text",
    [
        "?!... ---",
        "one",
        "a \ud800 lone\udfff",
        "zero\x00byte",
        LONG[:40_000],
        pytest.param(LONG, marks=pytest.mark.slow),
    ],
    ids=lambda text: f"{text[:9]!a}, {len(text)} characters",
)
def test_strange_text(spec: str, text: str) -> None:
    report = evalign.metric(spec).score([text, text], [["a cat sat", "on a mat"], [text]])
    assert 0 <= report["score"][0] <= report["score"][1] <= 100.001
    assert report.flags.get("empty", 0) == 0


def test_ter_refuses_a_row_alone() -> None:
    class Rows(list[Row]):
        rereadable = True

    rows = [Row("1", "a cat", ("a dog",)), Row("2", LONG, ("a dog",)), Row("3", "a", (LONG,)), Row("4", "a", ("a",))]
    emitted = []
    (result,) = score_source(Rows(rows), [evalign.metric("ter")], lambda _result, segment: emitted.append(segment))
    assert result.failed == 2
    assert [segment.scores.get("score") for segment in emitted] == [50, None, None, 0]
    assert result.pooled == {"score": pytest.approx(100 / 3)}
    assert "100000 words" in str(emitted[1].error)
    assert "limit=600" in str(emitted[2].error)
    with pytest.raises(TextTooLongError, match="row 1: its candidate has 3 words"):
        evalign.metric("ter(limit=2)").score(["a b c"], ["a"])
    assert issubclass(TextTooLongError, InputError)
    assert evalign.metric("ter(limit=601)").score(["a " * 601], ["a " * 601])["score"] == [0]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bleu(tokenize=13b)", "13a"),
        ("bleu(smooth_value=1)", "exp takes none"),
        ("bleu(smooth_method=floor, smooth_value=x)", "expected a number"),
        ("bleu(smooth_method=floor, smooth_value=1.5)", "0 to 1"),
        ("bleu(smooth_method=add-k, smooth_value=nan)", "0 or more"),
        ("bleu(smooth_method=add-k, smooth_value=inf)", "0 or more"),
        ("bleu(max_ngram_order=0)", "at least 1"),
        ("bleu(smooth=floor)", "smooth_method"),
        ("chrf(char_order=0)", "nothing to compare"),
        ("chrf(beta=-1)", "at least 0"),
        ("ter(limit=0)", "at least 1"),
        ("bleu(trg_lang=Chinese)", "code of a language"),
        ("bleu(trg_lang=zh, tokenize=intl)", "stands for tokenize=zh; give one"),
        ("bleu|case:lc", "'spec' is missing"),
        ("ter|case:lc", "'spec' is missing"),
    ],
)
def test_bad_options(spec: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        evalign.metric(spec)


def test_a_language_chooses_the_tokeniser_as_in_sacrebleu() -> None:
    assert BY_LANGUAGE == sacrebleu.BLEU._TOKENIZER_MAP
    assert str(evalign.metric("bleu(trg_lang=zh)")) == "bleu(tokenize=zh)"
    assert evalign.metric("bleu(trg_lang=de)") == evalign.metric("bleu")
    chance = random.Random(5)
    texts = ["".join(chance.choices("猫坐在垫子上狗跑了 ab,.。", k=chance.randrange(4, 25))) for _ in range(400)]
    candidates, references = texts[:200], [[text] for text in texts[200:]]
    for language in ("zh", "de"):
        peer = sacrebleu.BLEU(trg_lang=language, effective_order=True)
        report = evalign.metric(f"bleu(trg_lang={language})").score(candidates, references)
        expected = [peer.sentence_score(*pair).score for pair in zip(candidates, references, strict=True)]
        assert report["score"] == pytest.approx(expected, abs=1e-9)


def test_a_tokeniser_that_is_not_installed_says_how_to_get_it() -> None:
    try:
        import MeCab  # noqa: F401
    except ImportError:
        with pytest.raises(SpecError, match=r"pip install sacrebleu\[ja\]"):
            evalign.metric("bleu(tokenize=ja-mecab)").scorer()


def test_references_are_counted_once_per_block(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = evalign.metric("bleu(max_ngram_order=5)")
    assert isinstance(metric, SacrebleuScoring)
    scorer: Any = metric.scorer()
    calls = []
    monkeypatch.setattr(
        scorer.engine, "references", lambda texts, own=scorer.engine.references: calls.append(texts) or own(texts)
    )
    scorer.score([Row(str(place), "a b", ("a c", "b")) for place in range(9)])
    assert calls == [("a c", "b")]
