"""Limits of settings and data, by hand: what is just allowed, what is just refused, and what is said about it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats import bootstrap
from evalign.stats.bootstrap import Resampling, bootstrap_mean, with_interval
from evalign.stats.effect import (
    DENSITY_POINTS,
    eta_squared,
    peaks,
    points_for_peaks,
    separation,
    silverman,
)
from evalign.stats.estimate import Estimate, codes, column, merged, rows_by_code
from evalign.stats.levels import Averaging, Rated, agreement, agreement_by, level_function, soft_agreement, system_means
from evalign.stats.pairs import pair_outcomes, pair_swap_test, soft_pairwise_accuracy, tie_calibrated_accuracy
from evalign.stats.poisson_sums import PoissonSums
from evalign.stats.raters import krippendorff_alpha
from evalign.stats.significance import Comparison, adjusted, clusters, compare_all, williams, williams_from_correlations
from evalign.stats.weighted import mean_of_defined, weighted_mean


def test_settings_of_a_resampling():
    least = Resampling(samples=1, seed=0, confidence=1e-9)
    assert (least.samples, least.seed) == (1, 0)
    assert Resampling() == Resampling(1000, 12345, 0.95, 0)
    for bad in ({"samples": 0}, {"seed": -1}, {"confidence": 0}, {"confidence": 1}):
        with pytest.raises(InputError, match="samples >= 1, seed >= 0 and 0 < confidence < 1"):
            Resampling(**bad)


def test_blocks_of_resamples_are_within_the_limit(monkeypatch):
    monkeypatch.setattr(bootstrap, "BLOCK_WEIGHTS", 40)
    resampling = Resampling(samples=10)
    assert list(resampling.blocks(10)) == [range(0, 4), range(4, 8), range(8, 10)]
    assert list(resampling.blocks(41)) == [range(k, k + 1) for k in range(10)]
    assert list(resampling.blocks(0)) == [range(0, 10)]
    assert list(resampling.blocks(1)) == [range(0, 10)]


def test_an_interval_is_between_quantiles_of_what_is_defined():
    values = np.arange(101.0)
    estimate = with_interval(Estimate(50.0, 7), values, 0.9)
    assert (estimate.low, estimate.high, estimate.n, estimate.flags) == (pytest.approx(5), pytest.approx(95), 7, ())
    half = with_interval(Estimate(0.0, 7), np.array([1.0, 2.0, np.nan, np.nan]), 0.9)
    assert (half.low, half.flags) == (None, ("undefined on 2 of 4 resamples", "no interval"))
    more = with_interval(Estimate(0.0, 7), np.array([1.0, 1.0, np.nan]), 0.9)
    assert (more.low, more.high, more.flags) == (1, 1, ("undefined on 1 of 3 resamples",))


def test_a_mean_over_groups_draws_whole_groups():
    """Two groups, each drawn 0, 1 or 2 times: a resample is 1, 3 or their mean by rows, 2."""
    groups = np.array([0, 1, 0, 1])
    estimate = bootstrap_mean(np.array([1.0, 3, 1, 3]), Resampling(samples=200, confidence=0.9999), groups)
    assert (estimate.value, estimate.n, estimate.low, estimate.high) == (2, 4, 1, 3)
    alone = bootstrap_mean(np.array([1.0, 3.0]), Resampling(samples=20), np.array([0, 0]))
    assert (alone.low, alone.high) == (2, 2)


def test_estimates_print_with_their_interval():
    assert Estimate(0.64321, 3, 0.621, 0.664).text() == "0.643 [0.621, 0.664]"
    assert Estimate(0.64321, 3, 0.621).text(2) == "0.64"
    assert Estimate(None, 3, 0.1, 0.2).text(missing="none") == "none"


def test_the_first_of_several_bad_rows_is_named():
    with pytest.raises(InputError, match=r"x has 2 of 4 rows that .*the first at row 1 \(inf\)"):
        column([1, np.inf, 2, np.nan], "x")


def test_labels_are_sorted_texts():
    code, names = codes([2, "10", 2, "b"], "groups", 4)
    assert (code.tolist(), names) == ([1, 0, 1, 2], ["10", "2", "b"])
    assert [rows.tolist() for rows in rows_by_code(np.array([1, 0, 1, 2, 0]))] == [[1, 4], [0, 2], [3]]


def test_values_that_differ_by_rounding_are_equal_in_every_row():
    near, apart = 1 + 2.0**-50, 1 + 2.0**-46
    table = np.array([[apart, near, 1.0], [1.0, 2.0, 1.0]])
    assert merged(table).tolist() == [[apart, 1.0, 1.0], [1.0, 2.0, 1.0]]
    assert merged(table[0]).tolist() == [apart, 1.0, 1.0]
    infinite = np.array([np.inf, 1.0, np.inf, -np.inf])
    assert merged(infinite).tolist() == infinite.tolist()
    assert merged(np.zeros((2, 0))).shape == (2, 0)


def test_separation_by_hand():
    """Means 4 and 1, sums of squares 8 and 2 over 3 + 2 - 2 degrees of freedom; 6 of 6 pairs in order."""
    found = separation([2, 4, 6], [0, 2])
    assert (found.difference, found.ratio) == (3, 4)
    assert found.cohens_d == pytest.approx(3 / (10 / 3) ** 0.5)
    assert (found.auc, found.overlap) == (pytest.approx(5.5 / 6), pytest.approx(1 / 3))
    assert found.flags == ()
    zero = separation([2, 4], [-1, 1])
    assert (zero.ratio, zero.flags) == (None, ("no ratio: the mean of the negatives is not positive",))
    below = separation([2, 4], [-1, -2])
    assert (below.ratio, below.flags) == (None, ("no ratio: the mean of the negatives is not positive",))
    half = separation([1, 1], [1, 2])
    assert (half.cohens_d is None, half.flags) == (False, ())


def test_the_bandwidth_at_its_edges():
    assert silverman([3]) == silverman([3, 3, 3]) == 1e-4
    spread = 2**0.5  # of 0 and 2; the middle half is 1 / 1.34
    assert silverman([0, 2]) == pytest.approx(0.9 * min(spread, 1 / 1.34) * 2**-0.2)
    assert silverman([0, 1, 1, 1, 1, 1, 5]) == pytest.approx(0.9 * np.std([0, 1, 1, 1, 1, 1, 5], ddof=1) * 7**-0.2)


def test_a_peak_is_at_least_a_twentieth_of_the_highest():
    assert peaks([0.0] * 19 + [1.0], 0.05) == 2
    assert peaks([0.0] * 21 + [1.0], 0.05) == 1
    assert points_for_peaks(np.array([0.0, 1.0]), 0.01) == 848
    assert points_for_peaks(np.array([0.0, 1.0]), 1.0) == DENSITY_POINTS


def test_the_share_between_groups():
    assert eta_squared([[0, 2], [4, 6]]) == pytest.approx(16 / 20)
    assert eta_squared([[1, 2]]) is None
    assert eta_squared([[1, 1], [1]]) is None


def test_a_group_that_counts_as_zero_must_be_large_enough():
    """Group b has two rows and group c three, both constant: only c counts where three rows are needed."""
    rated = Rated([1, 2, 3, 1, 1, 1, 1, 1, 5, 5, 5, 5], [1, 2, 3, 1, 2, 1, 2, 3, 1, 2, 3, 4])
    by = list("aaabbcccdddd")
    found = agreement_by(rated, by, resampling=Resampling(samples=5), averaging=Averaging(zeros=True))
    assert [(name, estimate.value) for name, estimate in found.groups.items()] == [
        ("a", pytest.approx(1)), ("b", None), ("c", 0), ("d", 0)
    ]  # fmt: skip
    assert (found.mean.value, found.mean.n) == (pytest.approx(1 / 3), 3)
    assert found.mean.flags[0] == "left out: 1 groups without a value"
    micro = agreement_by(rated, by, averaging=Averaging(micro=True, zeros=True))
    assert micro.mean.value == pytest.approx(3 / 10)


def test_every_group_has_draws_of_its_own():
    x, y = np.random.default_rng(8).normal(size=(2, 20))
    three = Rated(np.tile(x, 3), np.tile(y, 3))
    for stream in (0, 1, 2):
        found = agreement_by(three, np.repeat(list("abc"), 20), resampling=Resampling(samples=50, stream=stream))
        assert len({(estimate.low, estimate.high) for estimate in found.groups.values()}) == 3


def soft_table():
    """Three groups of items, the first of which has only one system."""
    rows = [("none", "i0", "A", 1.0, 1.0)]
    for group, swap in (("same", False), ("turned", True)):
        for item in range(8):
            for system, human in (("A", 0.0), ("B", 1.0 + item)):
                score = -human if swap else human
                rows.append((group, f"i{item}", system, score, human))
    return zip(*rows, strict=True)


def test_soft_accuracy_of_groups_leaves_out_those_without_one():
    by, items, systems, scores, human = map(list, soft_table())
    found = soft_agreement(Rated(scores, human, None, systems, items), by, Resampling(samples=400))
    assert found.groups["none"].value is None
    assert found.groups["same"].value == 1
    assert found.groups["turned"].value < 0.05
    assert found.mean.value == pytest.approx((found.groups["same"].value + found.groups["turned"].value) / 2)
    assert (found.mean.n, found.mean.flags) == (2, ("left out: 1 groups without a value",))
    nothing = soft_agreement(Rated([1, 2], [1, 2], None, list("AA"), list("ij")), "xx", Resampling(samples=5))
    assert (nothing.mean.value, nothing.mean.flags) == (None, ("no group has a value",))


def test_a_repeated_cell_is_named_with_its_item_and_system():
    with pytest.raises(InputError, match=re.escape("item 'j' has several rows of system 'B'")):
        soft_pairwise_accuracy([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], list("ijjjj"), list("ABBBA"))
    with pytest.raises(InputError, match=re.escape("item 'k' has several rows of system 'A'")):
        soft_pairwise_accuracy([1, 2, 3], [1, 2, 3], list("ikk"), list("BAA"))
    with pytest.raises(UndefinedStatisticError, match="at least 2 systems, but there are 1"):
        soft_pairwise_accuracy([1], [1], "i", "A")


def test_functions_of_levels_by_hand():
    rated = Rated([1, 2, 3, 4], [1, 2, 4, 3], None, list("aabb"), list("iijj"))
    assert level_function(rated, "pdp", "segment")(np.array([[1.0, 2, 4, 3]]))[0] == pytest.approx(1)
    assert level_function(rated, "spearman", "segment")(np.array([[1.0, 2, 3, 4]]))[0] == pytest.approx(0.8)
    for statistic in ("kendall", "pdp", "pearson", "spearman"):
        values = level_function(rated, statistic, "system")(np.array([[1.0, 1, 2, 2], [2.0, 2, 1, 1]]))
        assert values == pytest.approx([1, -1])
    assert [means.tolist() for means in system_means([np.array([1.0, 2, 3, 5])], list("aabb"))] == [[1.5, 4.0]]


def test_items_of_two_rows_make_a_pair():
    found = tie_calibrated_accuracy([1, 2, 5], [1, 3, 2], list("iij"))
    assert (found.accuracy.value, found.pairs, found.epsilon) == (1, 1, 0)
    assert found.accuracy.flags == ("left out: 1 items of one row",)
    with pytest.raises(InputError, match="is over items"):
        tie_calibrated_accuracy([1, 2, 5], [1, 3, 2], resampling=Resampling(samples=5))
    assert tie_calibrated_accuracy([1, 2, 5], [1, 3, 2], "iii", Resampling(samples=5)).pairs == 3


def test_outcomes_of_pairs_by_hand():
    """Of three rows whose ratings rise, the first metric has all three pairs right, the second one, or two as ties."""
    outcomes = pair_outcomes([1, 2, 3], [2, 1, 1.5], [1, 2, 3], None, calibrated=False)
    assert (outcomes.unlike.tolist(), outcomes.gained.tolist(), outcomes.weights.tolist()) == ([2], [2], [1 / 3])
    back = pair_outcomes([2, 1, 1.5], [1, 2, 3], [1, 2, 3], None, calibrated=False)
    assert (back.unlike.tolist(), back.gained.tolist()) == ([2], [-2])
    test = pair_swap_test([(outcomes, 1.0)], 3, Resampling(samples=4000))
    assert (test.difference, test.n, test.swaps) == (pytest.approx(2 / 3), 3, 4000)
    assert test.p_value == pytest.approx(1 / 4, abs=0.03)  # two random signs: +2 in a quarter of the swaps
    assert test.p_two_sided == pytest.approx(1 / 2, abs=0.03)


def test_the_largest_values_that_are_summed():
    sums = PoissonSums.empty(1, Resampling(samples=4))
    assert sums.add("a", [2.0**40 - 1]).totals()[1][0].tolist() == [2.0**40 - 1]
    for value in (2.0**40, -(2.0**40), np.nan):
        with pytest.raises(InputError, match=r"below 2\^40"):
            sums.add("a", [value])


def test_alpha_by_hand():
    """Ratings 1, 2 and 3, 3: observed 0.5, expected over all 12 ordered pairs (1 + 4 + 4 + 1 + 1) * 2 / 12."""
    found = krippendorff_alpha([[1, 2], [3, 3], [9]])
    assert (found.value, found.n) == (pytest.approx(1 - 0.5 / (22 / 12)), 2)
    shifted = krippendorff_alpha([[1e6 + 1, 1e6 + 2], [1e6 + 3, 1e6 + 3]])
    assert shifted.value == pytest.approx(found.value, abs=1e-9)
    with pytest.raises(UndefinedStatisticError, match="all ratings are equal"):
        krippendorff_alpha([[2, 2], [2, 2]])


def test_p_values_count_swaps_as_extreme():
    swapped = np.array([0.5, 0.5 - 1e-13, -0.5, 0.1, -0.6])
    found = Comparison.of_swaps(0.5, swapped, 9)
    assert (found.p_value, found.p_reverse, found.p_two_sided) == (3 / 6, 6 / 6, 5 / 6)
    assert (found.difference, found.n, found.swaps) == (0.5, 9, 5)
    negative = Comparison.of_swaps(-0.5, swapped, 9)
    assert (negative.p_value, negative.p_reverse) == (5 / 6, 3 / 6)


def test_williams_needs_four_rows():
    with pytest.raises(UndefinedStatisticError, match="at least 4 rows, but there are 3"):
        williams([1, 2, 3], [1, 3, 2], [2, 1, 3])
    with pytest.raises(UndefinedStatisticError, match="at least 4 rows, but there are 3"):
        williams_from_correlations(0.5, 0.4, 0.3, 3)
    assert 0 < williams_from_correlations(0.5, 0.4, 0.3, 4).p_value < 0.5
    assert williams_from_correlations(0.4, 0.4, 0.3, 4).p_two_sided == 1


def test_no_metrics_and_one_metric():
    with pytest.raises(InputError, match="there are no metrics"):
        compare_all([], [1, 2, 3, 4], williams)
    assert compare_all([[1, 2, 3, 4]], [1, 2, 3, 4], williams).tolist() == [[1.0]]


def test_corrections_and_ranks_by_hand():
    assert adjusted([0.04, 0.01, 0.5], "holm") == pytest.approx([0.08, 0.03, 0.5])
    assert adjusted([0.04, 0.01, 0.5], "bh") == pytest.approx([0.06, 0.03, 0.5])
    assert adjusted([0.0, 1.0], "none").tolist() == [0, 1]
    for bad in (-0.1, 1.1):
        with pytest.raises(InputError, match=f"there is {bad:g}"):
            adjusted([0.5, bad])
    p = np.ones((3, 3))
    p[1, 0] = p[1, 2] = 0.01
    assert clusters([1, 3, 2], p) == [2, 1, 2]
    assert clusters([1, 3, 2], p, rule="visited") == [2, 1, 2]
    assert clusters([1, 3, 2], np.where(p < 1, 0.05, 1.0)) == [1, 1, 1], "below the level, not at it"


def test_means_weighted_by_size():
    draws = np.array([[1.0, 1, 1], [2.0, 0, 1], [0.0, 0, 0]])
    found = weighted_mean(np.array([0.5, 1.0, 4.0]), np.array([4.0, 2.0, 1.0]))(draws)
    assert found[:2] == pytest.approx([8 / 7, 8 / 9])
    assert np.isnan(found[2])
    assert weighted_mean(np.array([0.5, 1.0, 4.0]))(draws)[:2] == pytest.approx([5.5 / 3, 5 / 3])
    table = np.array([[1.0, np.nan, np.nan], [4.0, 3.0, np.nan]])
    for sizes, expected in ((None, [2.5, 3]), (np.array([2.0, 1.0]), [2, 3])):
        found = mean_of_defined(table, sizes)
        assert found[:2] == pytest.approx(expected)
        assert np.isnan(found[2])


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "pdp"])
def test_a_level_function_keeps_its_statistic(statistic):
    """Means of systems 0, 1 and 2 against 0, 0.5 and 4.5: the order is the same, the distances are not."""
    rated = Rated([0, 1, 2], [0, 0.5, 4.5], None, list("abc"))
    expected = np.corrcoef([0, 1, 2], [0, 0.5, 4.5])[0, 1]
    assert 0.9 < expected < 0.95
    found = level_function(rated, statistic, "system")(np.array([[0.0, 1.0, 2.0]]))[0]
    assert found == pytest.approx(1 if statistic == "spearman" else expected)


@pytest.mark.parametrize("ratings", [(0.1, 0.7), (1.1, 2.3), (0.3, 9.1), (1 / 3, 1e3)])
def test_resamples_of_equal_ratings_have_no_alpha(ratings):
    """Three units, two of them alike: of the equal ones alone nothing varies, but for rounding."""
    first, second = ratings
    units, resampling = [[first] * 2, [first] * 3, [second] * 2], Resampling(samples=200)
    drawn = [set(resampling.generator(k).integers(3, size=3)) for k in range(200)]
    undefined = sum(units <= {0, 1} or units == {2} for units in drawn)
    found = krippendorff_alpha(units, resampling)
    assert found.flags == (f"undefined on {undefined} of 200 resamples",)
    assert (found.value, found.low, found.high) == (1, 1, 1)


@pytest.mark.parametrize(("items", "flags"), [("aaa", ("one item only: its interval has no width",)), ("aabb", ())])
def test_one_item_only_is_flagged(items, flags):
    found = agreement(
        Rated([1, 2, 3, 4][: len(items)], [1, 3, 2, 4][: len(items)], None, None, list(items)), "accuracy"
    )
    assert (found.value, found.flags) == (pytest.approx(2 / 3 if items == "aaa" else 1), flags)
