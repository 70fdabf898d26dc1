"""mode=rouge155 against numbers that ROUGE-1.5.5.pl printed, and against the script itself where Perl is installed."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_sets import GOLDEN, OWN, RougeSet, golden_files, own_rouge_set, read, shared_parameter, shared_rouge_set
from original_programs import RougeScript

import evalign
from evalign.core import Row, Segment
from evalign.errors import MissingExtraError, TextTooLongError
from evalign.metrics.lexical.rouge import words as word_lists
from evalign.metrics.lexical.rouge.scoring import Bootstrap, resampled_sums
from evalign.metrics.lexical.rouge.words import ReadingOptions, lexicon, normaliser

FIELDS = {"R": "recall", "P": "precision", "F": "f1"}
EDGE = RougeSet(OWN, "edge")


def spec_of(metric: str, args: list[str]) -> str:
    """`ROUGE-SU4` and the script's arguments as a spec."""
    options = {"mode": "rouge155"}
    flags = {"-m": ("stem", "true"), "-s": ("stopwords", "true")}
    values = {"-p": "alpha", "-l": "words", "-b": "bytes"}
    remaining = iter(args)
    for arg in remaining:
        if arg in flags:
            options.update([flags[arg]])
        elif arg == "-f":
            options["multiref"] = {"A": "pooled", "B": "max-recall"}[next(remaining)]
        else:
            value = next(remaining)
            options |= {values[arg]: value} if arg in values else {}
    name, own = re.fullmatch(r"ROUGE-(\d|L|W|SU|S)-?(.*)", metric).groups()
    if name == "W":
        options["weight"] = own
    elif name in ("S", "SU"):
        options["skip"] = own.replace("*", "none")
    return f"rouge{name}({', '.join(f'{key}={value}' for key, value in options.items())})"


def segments(spec: str, evals: list[dict[str, Any]], peer: str) -> list[Segment]:
    """Rows alone, without the bootstrap over them."""
    references = [tuple("\n".join(text) for _, text in sorted(unit["models"].items())) for unit in evals]
    rows = [
        Row(unit["id"], "\n".join(unit["peers"][peer]), texts) for unit, texts in zip(evals, references, strict=True)
    ]
    return evalign.metric(spec).scorer().score(rows)


def values(segment: Segment) -> list[float]:
    return [segment.scores[name] for name in FIELDS.values()]


@pytest.mark.parametrize(
    "golden",
    [own_rouge_set("edge"), own_rouge_set("summaries"), shared_rouge_set("sl2003"), shared_rouge_set("summeval")],
)
def test_every_row(golden: RougeSet) -> None:
    evals = golden.evals()
    ids = {unit["id"]: unit for unit in evals}
    compared = 0
    for run in golden.runs():
        if "-t" in run["args"]:
            continue
        for peer, metric, expected in cases(golden.name, run, evals):
            rows = [ids[place] for place in expected]
            for segment in segments(spec_of(metric, run["args"]), rows, peer):
                wanted = expected[segment.id]
                if isinstance(wanted, str):
                    assert "crashes" in wanted
                    assert values(segment) == [0, 0, 0]
                    assert "empty" in segment.flags
                else:
                    assert values(segment) == wanted, (run["label"], metric, segment.id)
                    compared += 1
    assert compared > 900


def cases(name: str, run: dict[str, Any], evals: list[dict[str, Any]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(peer, metric, eval id -> expected), from either layout of the golden files."""
    if name != "edge":
        for peer, metrics in run["per_eval"].items():
            yield from ((peer, metric, expected) for metric, expected in metrics.items())
        return
    ids = {unit["name"]: unit["id"] for unit in evals}
    for metric in next(iter(run["per_eval"].values())):
        yield "X", metric, {ids[case]: scores[metric] for case, scores in run["per_eval"].items()}


@pytest.mark.parametrize(
    "golden",
    [own_rouge_set("summaries"), shared_rouge_set("sl2003"), shared_rouge_set("summeval")],
)
def test_averages_and_confidence_intervals(golden: RougeSet) -> None:
    evals = golden.evals()
    compared = 0
    for run in golden.runs():
        args = dict(zip(run["args"], run["args"][1:], strict=False))
        for peer, metrics in run["aggregate"].items():
            for metric, expected in metrics.items():
                spec = spec_of(metric, run["args"])
                scored = segments(spec, evals, peer)
                if "counts" in expected:
                    sums = [int(sum(column)) for column in zip(*(row.statistics for row in scored), strict=True)]
                    assert sums == list(expected["counts"].values()), (run["label"], peer, metric)
                    continue
                corpus = evalign.metric(spec).corpus()
                if {"-t", "-c", "-r"} & set(args):
                    corpus = Bootstrap(
                        confidence=float(args.get("-c", 95)), resamples=int(args.get("-r", 1000)), tokens="-t" in args
                    )
                for segment in scored:
                    corpus.add(segment)
                average, interval = corpus.scores(), corpus.intervals()
                for letter, field in FIELDS.items():
                    wanted = expected[letter]
                    assert [average[field], *interval[field]] == wanted, (run["label"], peer, metric, letter)
                    compared += 1
    assert compared > 700


def test_counts_per_token_of_the_edge_set() -> None:
    evals = EDGE.evals()
    for run in EDGE.runs():
        if "-t" not in run["args"]:
            continue
        for peer, metric, expected in cases("edge", run, evals):
            for segment in segments(spec_of(metric, run["args"]), evals, peer):
                wanted = expected[segment.id]
                if "2" in run["args"]:
                    assert [int(count) for count in segment.statistics] == list(wanted.values()), (metric, segment.id)
                else:
                    corpus = Bootstrap(tokens=True)
                    corpus.add(segment)
                    assert [corpus.scores()[field] for field in FIELDS.values()] == wanted, (metric, segment.id)


def test_a_report_has_the_scripts_averages() -> None:
    metric = evalign.metric("rouge1(mode=rouge155)")
    report = metric.score(["a b", "c d e", "f"], ["a c", "c d f", "g f"])
    corpus = metric.corpus()
    for segment in reversed(report.segments):  # whatever order shards come in
        corpus.add(segment)
    assert report.pooled == corpus.scores()
    assert report.intervals == corpus.intervals()
    assert report.intervals["f1"][0] <= report.corpus("f1") <= report.intervals["f1"][1]
    assert evalign.metric("rouge1").score(["a"], ["a"]).pooled == {}
    assert metric.score([], []).pooled == {}


def test_the_bootstrap_adds_in_the_scripts_order() -> None:
    chance = random.Random(5)
    numbers = [[chance.random() for _ in range(700)] for _ in range(3)]
    resampled = resampled_sums(np.array(numbers), 4)
    for seed in range(4):
        state, sums = (seed << 16) + 0x330E, [0.0, 0.0, 0.0]
        for _ in range(700):
            state = (state * 0x5DEECE66D + 0xB) % 2**48
            place = int(state / 2**48 * 700)
            sums = [total + column[place] for total, column in zip(sums, numbers, strict=True)]
        assert resampled[:, seed].tolist() == sums


def digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def test_word_lists_have_the_words_of_the_script() -> None:
    """Counts and digests of what Perl reads from the same files; a wheel with other lists changes scores."""
    assert (len(lexicon().stop_words), digest(sorted(lexicon().stop_words))) == (596, "126d010f4d4d9ea6")
    stems = [f"{word} {stem}" for word, stem in sorted(lexicon().stems.items())]
    assert (len(stems), digest(stems)) == (5930, "60481de138176c68")
    assert {"reuters", "'s", "zero"} <= lexicon().stop_words
    assert [lexicon().stems[word] for word in ("mice", "went", "better")] == ["mouse", "go", "well"]


LEXICON = GOLDEN / "rouge155" / "lexicon.json"


@pytest.mark.parametrize("file", [shared_parameter(LEXICON, LEXICON, "shared")])
def test_every_word_of_the_lists(file: Path) -> None:
    expected = read(file)
    assert lexicon().stop_words == set(expected["stopwords"])
    assert lexicon().stems == expected["stem_exceptions"]


@pytest.mark.parametrize("file", golden_files("stems.json", "rouge155/stems.json"))
def test_every_stem(file: Path) -> None:
    stem = normaliser(ReadingOptions(tokens="rouge155", stem="true"))
    expected = read(file)["stems"]
    assert len(expected) > 1000
    assert {word: stem(word) for word in expected} == expected


def test_without_the_wheel_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_lists, "WHEEL", "a-wheel-that-is-not-here")
    lexicon.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'evalign\[rouge155\]'"):
        evalign.metric("rouge1(mode=rouge155, stem=true)").scorer()
    assert evalign.metric("rouge1(mode=rouge155)").score(["a b"], ["a b"]).mean("f1") == 1  # needs no list
    monkeypatch.undo()
    lexicon.cache_clear()


# The script itself. Sentences of few words meet often; strange ones show how bytes are read.
WORDS = """
the a of police killed killing gunman argued arguments running ran better children replacement statement don't
state-of-the-art 3.14 1,000 U.S. Café naïve ﬁne the-the _x_ $5 Łódź 日本 . ... -
"""
VOCABULARY = [*WORDS.split(), "\u00a0"]
SKIPS = (-1, 0, 1, 4, 9)


def random_text(chance: random.Random) -> str:
    sentences = []
    for _ in range(chance.choice([1, 1, 2, 3, 5])):
        words = chance.choices(VOCABULARY, k=chance.choice([1, 3, 6, 12, 25]))
        sentences.append(chance.choice(["", "", " "]) + " ".join(words) + chance.choice(["", "", "  ", "\r"]))
    return "\n".join(sentences)


def random_options(chance: random.Random) -> list[str]:
    args: list[str] = []
    for flag in ("-m", "-s"):
        args += [flag] if chance.random() < 0.4 else []
    args += ["-f", "B"] if chance.random() < 0.4 else []
    args += ["-p", chance.choice(["0", "0.3", "0.5", "0.8", "1"])] if chance.random() < 0.5 else []
    limits = [["-l", chance.choice(["1", "7", "20"])], ["-b", chance.choice(["5", "40", "90"])]]
    return args + chance.choice([[], [], *limits])


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> RougeScript:
    if reason := RougeScript.missing():
        pytest.skip(reason)
    return RougeScript(tmp_path_factory.mktemp("rouge155") / "script")


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 20))])
def test_the_script_finds_no_difference(script: RougeScript, seed: int) -> None:
    """20 option sets of 10 rows each; -w is tried where no reference is without tokens (there the script crashes)."""
    chance = random.Random(seed)
    args, skip = random_options(chance), chance.choice(SKIPS)
    weight = chance.choice(["1", "1.2", "1.5", "2"])
    rows = [(random_text(chance), [random_text(chance) for _ in range(chance.choice([1, 1, 2, 4]))]) for _ in range(10)]
    candidates, references = [row[0] for row in rows], [row[1] for row in rows]
    probe = evalign.metric(spec_of(f"ROUGE-W-{weight}", args)).score(candidates, references)
    runs = ["-w", weight] if not {"empty", "empty-reference"} & set(probe.flags) else []
    expected = script.score(rows, ["-n", "9", "-2", str(skip), "-U", *runs, *args])
    assert len(expected.rows) == (13 if runs else 12)
    for metric, of_rows in expected.rows.items():
        report = evalign.metric(spec_of(metric, args)).score(candidates, references)
        for segment in report.segments:
            assert values(segment) == of_rows[segment.id], (args, metric, segment.id)
        for letter, field in FIELDS.items():
            average = [report.pooled[field], *report.intervals[field]]
            assert average == expected.averages[metric][letter], (args, metric, letter)


def test_weighted_runs_of_very_many_sentences_are_refused() -> None:
    text = "\n".join(["one two three"] * 300)
    with pytest.raises(TextTooLongError, match="pairs of sentences"):
        evalign.metric("rougeW(mode=rouge155)").score([text], [text])
