"""Comparisons of systems: the numbers are sacrebleu's within Monte-Carlo error, and mean what they say."""

import dataclasses
import logging
import random
from itertools import combinations, pairwise

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from damaged_texts import damaged, references
from evalign.analysis.comparison import TIE, compare, compare_sources
from evalign.analysis.comparison_results import ComparisonPlan, PairedScores, RegressionLimits, regressions
from evalign.core import Row
from evalign.core.registry import metric
from evalign.errors import InputError, LengthMismatchError, SpecError
from evalign.io.rows import InMemory
from evalign.stats.bootstrap import Resampling

SAMPLES = 2000
FAKE = "bertscore(model=fake)"
REFERENCES = references(60)


GOOD, MIDDLE, BAD = damaged(REFERENCES, 0.1, 1), damaged(REFERENCES, 0.35, 2), damaged(REFERENCES, 0.7, 3)


def only(comparison):
    """Baseline and other system of the one metric."""
    [one] = comparison.metrics
    return one.systems


@pytest.fixture(scope="module")
def summaries(summary_rows):
    """Summaries of three systems that sacrebleu finds clearly, slightly and barely different."""
    rows = [row for row in summary_rows if row["system"] in ("M11", "M22", "M0")]
    by_system = {}
    for row in sorted(rows, key=lambda row: row["doc"]):
        by_system.setdefault(row["system"], []).append(row)
    references = [row["references"][0] for row in by_system["M11"]]
    return {name: [row["candidate"] for row in by_system[name]] for name in ("M11", "M22", "M0")}, references


@pytest.fixture(scope="module")
def ours(summaries):
    plan = ComparisonPlan(resampling=Resampling(samples=SAMPLES), examples=0)
    return compare(*summaries, ["bleu", "chrf"], plan=plan)


@pytest.mark.slow  # sacrebleu's own resampling
@pytest.mark.parametrize(("test", "kind"), [("bootstrap", "bs"), ("randomisation", "ar")])
def test_p_values_and_intervals_are_sacrebleus(test, kind, summaries, ours, monkeypatch):
    monkeypatch.setattr(logging.getLogger("sacrebleu"), "disabled", True)  # it warns of tokenised text
    systems, references = summaries
    metrics = {"BLEU": BLEU(), "chrF2": CHRF()}
    _, theirs = PairedTest(list(systems.items()), metrics, [references], test_type=kind, n_samples=SAMPLES)()
    for found, name in zip(ours.metrics, ("BLEU", "chrF2"), strict=True):
        for system, expected in zip(found.systems, theirs[name], strict=True):
            assert system.score == pytest.approx(expected.score, abs=1e-9)
            if system.versus is not None:
                p = expected.p_value
                error = np.sqrt(2 * p * (1 - p) / SAMPLES)
                assert system.versus.p_values[test] == pytest.approx(p, abs=4 * error + 1 / SAMPLES)
            if kind == "bs":
                # The end of a 95 % interval of 2,000 values has a standard error of .06 of its half width.
                assert (system.high - system.low) / 2 == pytest.approx(expected.ci, rel=0.15)


def test_clearly_different_systems_have_their_ranks(ours):
    bleu, chrf = ours.metrics
    assert [system.rank for system in bleu.systems] == [2, 1, 2]
    assert [system.rank for system in chrf.systems][1] == 1
    assert all(metric.systems[1].versus.p_value < 0.01 for metric in ours.metrics)


@pytest.mark.slow  # eleven comparisons
def test_no_two_systems_of_a_rank_differ_significantly():
    """Neighbours in a chain of small steps are not told apart, its ends are; p-values corrected by hand (Holm)."""
    systems = {f"{share:.2f}": damaged(REFERENCES, share, 9) for share in (0.1, 0.2, 0.3, 0.4, 0.5)}
    [found] = compare(systems, REFERENCES, ["rouge1"], plan=ComparisonPlan(examples=0)).metrics
    names = list(systems)
    pairs = list(combinations(names, 2))
    raw = [only(compare({a: systems[a], b: systems[b]}, REFERENCES, ["rouge1"]))[1].versus.p_value for a, b in pairs]
    corrected, largest = {}, 0.0
    for steps, place in enumerate(sorted(range(len(pairs)), key=raw.__getitem__)):
        largest = max(largest, raw[place] * (len(pairs) - steps))
        corrected[pairs[place]] = largest
    rank = {system.system: system.rank for system in found.systems}
    score = {system.system: system.score for system in found.systems}
    ordered = sorted(names, key=score.__getitem__, reverse=True)
    assert rank[ordered[0]] == 1
    assert 2 <= rank[ordered[-1]] < 5, "the chain is neither one rank nor five"
    for above, below in pairwise(ordered):
        present = [name for name in ordered[: ordered.index(below)] if rank[name] == rank[above]]
        told_apart = any(corrected[tuple(sorted((name, below)))] < 0.05 for name in present)
        assert rank[below] == rank[above] + told_apart


@pytest.mark.parametrize("spec", ["bleu", "chrf", "ter", "rouge1", FAKE])
def test_a_system_against_itself(spec):
    versus = only(compare({"A": MIDDLE, "B": MIDDLE}, REFERENCES, [spec]))[1].versus
    assert (versus.difference, versus.low, versus.high) == (0, 0, 0)
    assert set(versus.p_values.values()) == {1.0}
    assert (versus.wins, versus.losses, versus.ties) == (0, 0, 60)
    assert versus.examples == []


@pytest.mark.parametrize("spec", ["bleu", "rouge1", FAKE])
def test_one_changed_row_of_many_is_not_significant(spec):
    """Every swap has the same difference: sacrebleu prints p = 1 / (trials + 1)."""
    changed = [*MIDDLE[:-1], "nothing of it"]
    versus = only(compare({"A": MIDDLE, "B": changed}, REFERENCES, [spec]))[1].versus
    assert versus.difference < 0
    assert versus.p_values["randomisation"] == 1
    assert (versus.wins, versus.losses, versus.ties) == (0, 1, 59)


@pytest.mark.parametrize("spec", ["bleu", "chrf", "rouge1", FAKE])
def test_better_is_a_positive_difference(spec):
    baseline, system = only(compare({"bad": BAD, "good": GOOD}, REFERENCES, [spec]))
    assert baseline.versus is None
    assert system.score > baseline.score
    assert system.versus.difference == pytest.approx(system.score - baseline.score)
    assert system.versus.low > 0
    assert baseline.low < baseline.score < baseline.high
    assert system.versus.p_value < 0.01
    assert system.versus.wins > 50 > 5 > system.versus.losses


def test_lower_is_better_where_the_metric_says_so():
    comparison = compare({"bad": BAD, "good": GOOD, "middle": MIDDLE}, REFERENCES, ["ter"])
    [ter] = comparison.metrics
    _, good, _ = ter.systems
    assert not ter.higher_is_better
    assert good.versus.difference < 0
    assert good.versus.wins > 50
    assert [system.rank for system in ter.systems] == [3, 1, 2]
    assert regressions(comparison, RegressionLimits(0.0)) == []
    reverse = compare({"good": GOOD, "bad": BAD}, REFERENCES, ["ter"])
    [found] = regressions(reverse, RegressionLimits(0.01))
    assert found.significant
    assert found.worse_by == pytest.approx(-good.versus.difference)


@pytest.mark.parametrize("spec", ["bleu", "ter", "rouge1", FAKE])
def test_scores_are_those_of_the_metric_alone(spec):
    report = metric(spec).score(MIDDLE, REFERENCES)
    baseline, _ = only(compare({"A": MIDDLE, "B": BAD}, REFERENCES, [spec]))
    assert baseline.score == pytest.approx(report.corpus(report.fields[-1]), abs=1e-9)


def rows_of(**systems):
    return [
        Row(str(i), text, (REFERENCES[i],), None, name)
        for name, texts in systems.items()
        for i, text in enumerate(texts)
    ]


def numbers(comparison):
    """Everything but the order of systems."""
    plain = comparison.to_dict()
    return plain | {"results": [one | {"systems": by_name(one["systems"])} for one in plain["results"]]}


def by_name(systems):
    return sorted(systems, key=lambda system: system["system"])


def test_order_of_rows_and_systems_does_not_matter():
    metrics = [metric("bleu"), metric("rouge1")]
    rows = rows_of(good=GOOD, middle=MIDDLE, bad=BAD)
    plan = ComparisonPlan(baseline="middle", resampling=Resampling(samples=200))
    expected = numbers(compare_sources([InMemory(rows)], metrics, plan))
    for seed in range(3):
        mixed = random.Random(seed).sample(rows, len(rows))
        assert numbers(compare_sources([InMemory(mixed)], metrics, plan)) == expected


def test_noise_of_encoders_is_no_difference(monkeypatch):
    """A text may score otherwise by some 1e-7 in another batch."""
    noise = np.random.default_rng(0)
    original = PairedScores.add

    def add(self, system, place, segment):
        scores = {name: value + noise.uniform(0, 1e-6) * (system == "B") for name, value in segment.scores.items()}
        original(self, system, place, dataclasses.replace(segment, scores=scores))

    monkeypatch.setattr(PairedScores, "add", add)
    versus = only(compare({"A": MIDDLE, "B": MIDDLE}, REFERENCES, [FAKE]))[1].versus
    assert versus.difference > 0
    assert (versus.ties, versus.p_value, versus.examples) == (60, 1, [])


def test_equal_metrics_are_compared_once():
    assert len(compare({"A": MIDDLE, "B": BAD}, REFERENCES, ["rouge1", "rouge1()"]).metrics) == 1


def test_the_seed_decides():
    def found(seed):
        plan = ComparisonPlan(resampling=Resampling(seed=seed))
        return compare({"A": MIDDLE, "B": GOOD}, REFERENCES, ["rouge1"], plan=plan).to_dict()

    assert found(1) == found(1)
    assert found(1)["results"][0]["systems"][0]["low"] != found(2)["results"][0]["systems"][0]["low"]


def test_a_third_system_does_not_change_the_others():
    two = compare({"A": MIDDLE, "B": GOOD}, REFERENCES, ["rouge1"])
    three = compare({"A": MIDDLE, "B": GOOD, "C": BAD}, REFERENCES, ["rouge1"])
    for alone, among in zip(only(two), only(three), strict=False):
        versus = among.versus and dataclasses.replace(among.versus, corrected=None)
        assert dataclasses.replace(among, rank=None, versus=versus) == alone


def test_ranks_and_pairs_of_systems_say_the_same():
    systems = {"A": MIDDLE, "B": GOOD, "C": BAD, "D": [*GOOD[:5], *MIDDLE[5:]]}
    document = compare(systems, REFERENCES, ["rouge1"]).to_dict()
    (result,) = document["results"]
    ranks = {one["system"]: one["rank"] for one in result["systems"]}
    tested = [one | {"baseline": "A"} for one in result["systems"][1:]] + result["pairs"]
    assert {(one["baseline"], one["system"]) for one in tested} == set(combinations(systems, 2))
    scores = {one["system"]: one["score"] for one in result["systems"]}
    for one in tested:
        assert one["p_corrected"] >= max(one["p"].values())
        assert one["difference"] == pytest.approx(scores[one["system"]] - scores[one["baseline"]], abs=1e-9)
        clear = one["p_corrected"] < document["alpha"]
        first, second = ranks[one["baseline"]], ranks[one["system"]]
        if clear:  # never in one rank, and the better one stands above
            assert (first > second) if one["difference"] > 0 else (first < second)


def test_examples_are_the_most_different_rows():
    comparison = compare({"A": MIDDLE, "B": BAD}, REFERENCES, [FAKE], plan=ComparisonPlan(examples=4))
    examples = only(comparison)[1].versus.examples
    first, second = (metric(FAKE).score(texts, REFERENCES)["f1"] for texts in (MIDDLE, BAD))
    largest = sorted(np.abs(second - first), reverse=True)[:4]
    assert [abs(one.score - one.baseline_score) for one in examples] == pytest.approx(largest, abs=1e-6)
    for one in examples:
        place = int(one.id) - 1
        assert (one.baseline_candidate, one.candidate) == (MIDDLE[place], BAD[place])
        assert one.references == (REFERENCES[place],)


def test_wins_and_losses_need_more_than_rounding():
    versus = only(compare({"A": MIDDLE, "B": BAD}, REFERENCES, [FAKE]))[1].versus
    first, second = (metric(FAKE).score(texts, REFERENCES)["f1"] for texts in (MIDDLE, BAD))
    assert versus.wins == (second - first > TIE).sum()
    assert versus.losses == (first - second > TIE).sum()
    assert versus.wins + versus.losses + versus.ties == 60


def test_rows_that_fail_in_one_system_are_left_out_for_all():
    long = "word " * 20
    broken = [*BAD[:3], long, *BAD[4:]]
    spec = "ter(limit=10)"
    comparison = compare({"A": MIDDLE, "B": broken}, REFERENCES, [spec, "bleu"])
    ter, bleu = comparison.metrics
    assert (ter.n, ter.failed, bleu.n, bleu.failed) == (59, 1, 60, 0)
    assert "limit=10" in ter.first_error
    without = compare({"A": MIDDLE[:3] + MIDDLE[4:], "B": BAD[:3] + BAD[4:]}, REFERENCES[:3] + REFERENCES[4:], [spec])
    assert [system.score for system in ter.systems] == [system.score for system in only(without)]


def test_nothing_left_to_compare():
    with pytest.raises(InputError, match="no row was scored for all systems"):
        compare({"A": MIDDLE, "B": BAD}, REFERENCES, ["ter(limit=1)"])


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"candidates": {"A": MIDDLE}}, InputError, "only one system"),
        ({"candidates": {"A": MIDDLE, "B": BAD[:-1]}}, LengthMismatchError, "59 candidates but 60 references"),
        ({"plan": ComparisonPlan(baseline="C")}, SpecError, "no such system"),
        ({"metrics": []}, SpecError, "no metrics"),
    ],
)
def test_bad_input(change, error, said):
    given = {"candidates": {"A": MIDDLE, "B": BAD}, "references": REFERENCES, "metrics": ["bleu"]} | change
    with pytest.raises(error, match=said):
        compare(**given)


@pytest.mark.parametrize(
    "change", [{"tests": ("bootstap",)}, {"tests": ()}, {"alpha": 0}, {"correction": "x"}, {"examples": -1}]
)
def test_bad_plans(change):
    with pytest.raises(SpecError):
        ComparisonPlan(**change)


def test_limits_are_per_metric_and_need_significance():
    comparison = compare({"A": GOOD, "B": MIDDLE, "C": [*GOOD[:-1], "x"]}, REFERENCES, ["bleu", "rouge1"])
    found = regressions(comparison, RegressionLimits.parse(["0", "bleu=50"], [metric("bleu"), metric("rouge1")]))
    assert [(one.system, one.metric, one.significant) for one in found] == [
        ("B", "rouge1", True),
        ("C", "rouge1", False),
    ]
    assert regressions(comparison, RegressionLimits(1000.0)) == []
    only_bleu = RegressionLimits.parse(["bleu=0.01"], [metric("bleu"), metric("rouge1")])
    assert {one.metric for one in regressions(comparison, only_bleu)} == {"bleu"}


@pytest.mark.parametrize(
    ("text", "said"),
    [("x", "expected a number"), ("-1", "expected a number"), ("nan", "number"), ("blue=1", "did you mean bleu")],
)
def test_bad_limits(text, said):
    with pytest.raises(SpecError, match=said):
        RegressionLimits.parse([text], [metric("bleu")])
