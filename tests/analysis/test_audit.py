"""Audits against numbers that scipy, numpy or counting by hand give."""

import dataclasses
import random

import numpy as np
import pytest
from scipy import stats

import evalign
from damaged_texts import damaged, references
from evalign.analysis.audit_measurements import (
    CHANGES,
    LENGTH_FACTORS,
    first_half,
    misspelt,
    without_punctuation,
    without_stop_words,
)
from evalign.core import Row, Segment
from evalign.core.metric import Scorer
from evalign.core.spec import Signature
from evalign.errors import InputError, SpecError
from evalign.stats.bootstrap import Resampling

PLAN = evalign.AuditPlan(resampling=Resampling(samples=50))
SPECS = ["bertscore(model=fake)", "rouge1", "ter"]


def rated_rows(count=20):
    """Four systems of falling quality over the same references; people see the quality, with noise."""
    texts, draw = references(count), random.Random(1)
    return [
        Row(f"{system}{place}", text, (texts[place],), system=system, human=-share + draw.gauss(0, 0.1))
        for system, share in (("A", 0.1), ("B", 0.3), ("C", 0.5), ("D", 0.8))
        for place, text in enumerate(damaged(texts, share, int(share * 10)))
    ]


ROWS = rated_rows()


@pytest.fixture(scope="module")
def audited():
    return evalign.audit(ROWS, SPECS, PLAN)


@pytest.mark.parametrize("spec", SPECS)
def test_correlations_are_scipys(audited, spec):
    metric = evalign.metric(spec)
    scores = metric.score([row.candidate for row in ROWS], [row.references for row in ROWS])[metric.main]
    scores = (scores if metric.higher_is_better else -scores).round(9)  # the last bits depend on the batch
    human = np.array([row.human for row in ROWS])
    levels = {one.metric: one for one in audited.metrics}[spec].agreement["human"]
    assert levels["segment"]["pearson"].value == pytest.approx(stats.pearsonr(scores, human)[0], abs=1e-6)
    assert levels["segment"]["kendall"].value == pytest.approx(stats.kendalltau(scores, human)[0], abs=1e-6)
    means = [values.reshape(4, -1).mean(axis=1) for values in (scores, human)]
    assert levels["system"]["spearman"].value == pytest.approx(stats.spearmanr(*means)[0], abs=1e-6)
    assert levels["system"]["pearson"].n == 4
    assert levels["segment"]["pearson"].low < levels["segment"]["pearson"].value < levels["segment"]["pearson"].high


def test_changes_are_scored_as_the_metric_scores_them(audited):
    found = {one.change: one for one in audited.metrics[1].robustness}  # rouge1
    metric = evalign.metric("rouge1")

    def scores(change):
        return metric.score([change(row.candidate) for row in ROWS], [row.references for row in ROWS])["f1"]

    untouched = scores(str)
    for name, change in CHANGES.items():
        moved = scores(change.apply) - untouched
        assert found[name].mean == pytest.approx(moved.mean(), abs=1e-9)
        assert found[name].deviations == pytest.approx(moved.mean() / untouched.std(), abs=1e-9)
        assert found[name].fell == pytest.approx((moved < -1e-5).mean())
        assert found[name].rose == pytest.approx((moved > 1e-5).mean())
    assert found["shuffling"].mean == 0, "unigrams have no order"
    assert found["repetition"].fell > 0.9
    assert found["reference"].mean == pytest.approx(1 - untouched.mean())
    assert found["other text"].expected == "fall"
    assert {one.change for one in audited.metrics[1].robustness} == {*CHANGES, "other text", "reference"}


def test_a_metric_where_lower_is_better_is_turned_round(audited):
    ter = {one.change: one for one in audited.metrics[2].robustness}
    assert ter["repetition"].mean < 0 < ter["reference"].mean


def test_halves_and_flags(audited):
    for one in audited.metrics:
        apart = one.reliability.half_difference["human"]
        assert 0 <= apart.value <= apart.high < 0.5
        assert one.reliability.half_ranking.value > 0.8, "the systems are far apart"
        assert one.reliability.reordered < 1e-5
        assert (one.reliability.failed, one.reliability.scored) == (0, len(ROWS))


def test_cost_has_every_length(audited):
    for one in audited.metrics:
        assert [length.times for length in one.cost.lengths] == list(LENGTH_FACTORS)
        words = [length.words for length in one.cost.lengths]
        assert words == pytest.approx([words[0], 2 * words[0], 4 * words[0]])
        assert all(0 < length.milliseconds.low <= length.milliseconds.high for length in one.cost.lengths)
        assert one.cost.exponent.low <= one.cost.exponent.value <= one.cost.exponent.high


def test_data_quality_by_hand():
    rows = [
        Row("1", "a b c", ("a b", "c"), system="x", human=[1, 2]),
        Row("2", "a b c", ("a b", "c"), system="y", human=[2, 2]),
        Row("3", "", ("a b c d",), system="y", human=[4, 5]),
        Row("4", "a b c d", ("a b c d",), system="x", human=[5]),
        Row("5", "z", ("",), system="x", human=None),
    ]
    data = evalign.audit(rows, ["rouge1"], PLAN).data
    assert (data.rows, data.unrated, data.systems, data.items) == (5, 1, 2, 3)
    assert dataclasses.astuple(data.references) == (1, 1, 2)
    assert dataclasses.astuple(data.candidate_words) == (0, 3, 4)
    assert (data.empty_candidates, data.empty_references, data.duplicates, data.copies) == (1, 1, 1, 1)
    ratings = data.ratings["human"]
    assert (ratings.rows, ratings.low, ratings.high, ratings.distinct, ratings.raters) == (4, 1.5, 5, 4, 2)
    assert ratings.raters_per_row == pytest.approx(7 / 4)
    # units 1,2 | 2,2 | 4,5: Do = (1 + 0 + 1) * 2 / 6, De over all 30 ordered pairs of 1 2 2 2 4 5
    pairs = [(a - b) ** 2 for a in (1, 2, 2, 2, 4, 5) for b in (1, 2, 2, 2, 4, 5)]
    assert ratings.alpha.value == pytest.approx(1 - (4 / 6) / (sum(pairs) / 30))


def test_ties_are_pairs_of_rows():
    rows = [Row(str(place), "a b", ("a b c",), human=human) for place, human in enumerate([1, 1, 1, 2])]
    assert evalign.audit(rows, ["rouge1"], PLAN).data.ratings["human"].tied == pytest.approx(3 / 6)


def test_raters_in_fields_of_their_own():
    rows = [dataclasses.replace(row, human=None, extra={"anna": row.human, "ben": row.human + 0.1}) for row in ROWS]
    found = evalign.audit(rows, ["rouge1"], PLAN, rater_fields=["anna", "ben"])
    plain = evalign.audit(ROWS, ["rouge1"], PLAN)
    assert found.data.ratings["human"].raters == 2
    assert 0.8 < found.data.ratings["human"].alpha.value < 1
    ours, theirs = (one.metrics[0].agreement["human"]["segment"]["pearson"].value for one in (found, plain))
    assert ours == pytest.approx(theirs)


def test_a_sample_keeps_items_together():
    found = evalign.audit(ROWS, ["rouge1"], dataclasses.replace(PLAN, sample_rows=10))
    assert found.sampled == 12, "three items of four systems"
    assert found.data.rows == len(ROWS)
    assert found.metrics[0].agreement["human"]["system"]["pearson"].n == 4


def test_aspects_are_judged_one_by_one():
    rows = [dataclasses.replace(row, human={"fluency": row.human, "length": len(row.candidate)}) for row in ROWS]
    (one,) = evalign.audit(rows, ["rouge1"], PLAN).metrics
    assert set(one.agreement) == set(one.reliability.half_difference) == {"fluency", "length"}


@dataclasses.dataclass(frozen=True)
class Unsteady(evalign.Metric):
    """A metric whose score depends on how many rows come together."""

    name = "unsteady"
    about = "breaks the rule that neighbours do not matter"
    fields = ("score",)
    bounds = (0.0, 100.0)
    worst = 0.0

    def scorer(self, rows=None):
        return UnsteadyScorer()


class UnsteadyScorer(Scorer):
    signature = Signature("unsteady", {"v": "1"})

    def score(self, rows):
        return [Segment(row.id, {"score": len(row.candidate) + len(rows)}, {"odd": 1}) for row in rows]


def test_a_metric_that_depends_on_its_neighbours_is_found_out():
    (one,) = evalign.audit(ROWS, [Unsteady()], PLAN).metrics
    assert one.reliability.reordered == len(ROWS) - 1
    assert (one.reliability.flagged, one.reliability.flags) == (len(ROWS), {"odd": len(ROWS)})


@pytest.mark.parametrize(
    ("change", "text", "changed"),
    [
        (first_half, "a b c d e", "a b"),
        (first_half, "a", "a"),
        (misspelt, "where are seven green birds now", "wehre are seven green birds now"),
        (misspelt, "a b", "a b"),
        (without_punctuation, "Well, no: it's “over”.", "Well no its over"),
        (without_punctuation, "?!", "?!"),
        (without_stop_words, "The cat is on the mat", "cat mat"),
        (without_stop_words, "it is", "it is"),
    ],
)
def test_changes(change, text, changed):
    assert change(text) == changed


@pytest.mark.parametrize(
    ("rows", "specs", "error", "said"),
    [
        ([], ["rouge1"], InputError, "the input is empty"),
        (ROWS, [], SpecError, "no metrics"),
        (ROWS[:1], ["rouge1"], InputError, "at least 3 rows"),
        ([dataclasses.replace(row, human=2) for row in ROWS], ["rouge1"], InputError, "constant"),
        ([dataclasses.replace(row, human=None) for row in ROWS], ["rouge1"], InputError, "no row has a human score"),
        ([dataclasses.replace(row, human=["good"]) for row in ROWS], ["rouge1"], InputError, "expected a number"),
        ([dataclasses.replace(row, references=()) for row in ROWS], ["rouge1"], InputError, "needs references"),
    ],
)
def test_bad_input(rows, specs, error, said):
    with pytest.raises(error, match=said):
        evalign.audit(rows, specs, PLAN)


def test_bad_plans():
    with pytest.raises(SpecError, match="sample_rows=2"):
        evalign.AuditPlan(sample_rows=2)
