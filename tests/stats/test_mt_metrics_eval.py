"""The values that mt-metrics-eval's own tests assert, from evalign's statistics: one test for each value.

From `stats_test.py`, `tau_optimization_test.py` and `pce_test.py` of https://github.com/google-research/mt-metrics-eval
(commits 38882cc, 0b82d96, 1b47eab), which is on no package index. What the peer gives to scipy is given to scipy here.
Scores are packed system by system, as there. Ids name the peer's test; `benchmarks/peer_suites.py` counts them.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr

from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import kendall, kendall_c, pearson
from evalign.stats.levels import Averaging, Rated, agreement, agreement_by, level_function
from evalign.stats.pairs import (
    accuracy_of_rows,
    darr,
    pair_outcomes,
    pair_swap_test,
    system_p_values,
    tie_calibrated_accuracy,
)
from evalign.stats.significance import permutation_test, williams, williams_from_correlations

TWO, MICRO_TWO, ZEROS_TWO = Averaging(fewest=2), Averaging(micro=True, fewest=2), Averaging(fewest=2, zeros=True)
SYSTEM, ITEM = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]  # two systems of three items
GOLD, METRIC = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 3, 7]
WILD = [2, 1, 8, 3, 5, 6]
TIED, TIED_METRIC = [1, 2, 2, 3, 4], [2, 1, 1.5, 5, 3]
LONG, LONG_METRIC = [1, 1, 1, 2, 2, 3, 4], [1, 1, 2, 2, 4, 3, 3]
RANKS, RANKS_METRIC = [10, 11, 100, 150], [2, 1, 4, 3]
SEVEN, SEVEN_METRIC = [7, 1, 2, 7, 4, 3, 2], [4, 1, 3, 6, 1, 5, 6]
SIX, SIX_METRIC = [1, 2, 2, 3, 3, 4], [2, 1, 1.5, 5, 3, 2]
PERMUTED, FIRST, SECOND = [1, 2, 3, 4, 5, 5, 7, 8], [1, 2, 3, 3, 7, 3, 5, 5], [2, 1, 2, 6, 8, 8, 7, 6]
OF_FOUR, OF_TWO = np.repeat(range(4), 2), np.tile(range(2), 4)  # four systems of two items
PAIRED, PAIRED_FIRST, PAIRED_SECOND = [1, 3, 3, 3, 1, 2, 1, 2], [2, 4, 6, 6, 2, 6, 3, 7], [1, 5, 4, 4, 4, 3, 2, 1]
MATRIX = [[0, 5, 2, 3, 2], [None, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1]]
MATRIX_GOLD = [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, None, 3, 2]]
CELLS = [
    (score, rating, item)
    for item, row in enumerate(zip(MATRIX, MATRIX_GOLD, strict=True))
    for score, rating in zip(*row, strict=True)
    if None not in (score, rating)
]
RESAMPLING = Resampling(samples=1000)


def averaged(statistic, gold, metric, by=None, averaging=TWO):
    if by is None:
        return agreement(Rated(metric, gold), statistic).value
    return agreement_by(Rated(metric, gold), by, statistic, averaging=averaging).mean.value


def acc23(gold, metric, epsilon=0.0):
    return accuracy_of_rows(np.array([metric], dtype=float), np.array([gold], dtype=float), epsilon)[0]


def tau23(gold, metric, epsilon=0.0):
    return 2 * acc23(gold, metric, epsilon) - 1


def relative_ranks(gold, metric, least=25):
    """WMT's Kendall-like statistic over the pairs whose ratings are at least so far apart."""
    pairs = [(j, i) for i, j in itertools.permutations(range(len(gold)), 2) if gold[j] - gold[i] >= least]
    better, worse = zip(*pairs, strict=True)
    return darr([metric[i] for i in better], [metric[i] for i in worse]).value


def by_item(statistic, gold, metric, items):
    """The mean over items of a statistic of the rows of one."""
    rows = [np.flatnonzero(np.equal(items, item)) for item in dict.fromkeys(items)]
    return np.mean([statistic(np.take(gold, part), np.take(metric, part)) for part in rows])


def calibrated(gold, metric, items=None):
    """The calibrated accuracy, and the accuracy at the threshold that it names."""
    found = tie_calibrated_accuracy(metric, gold, items)
    if items is None:
        return found.accuracy.value, acc23(gold, metric, found.epsilon)
    return found.accuracy.value, by_item(lambda g, m: acc23(g, m, found.epsilon), gold, metric, items)


def permuted(statistic, level_of=None, averaging=TWO):
    """The difference that the permutation test reports, from the peer's two metrics; its p-value is above 0."""
    rated = Rated(FIRST, PERMUTED, documents=level_of)
    function = level_function(rated, statistic, "segment" if level_of is None else "summary", averaging)
    found = permutation_test(SECOND, FIRST, PERMUTED, function, RESAMPLING)
    assert 0 < found.p_value <= 1
    assert found.swaps <= 1000
    return found.difference


def swapped(first, second, gold, tuned):
    found = pair_swap_test([(pair_outcomes(second, first, gold, OF_TWO, tuned), 1.0)], 8, RESAMPLING)
    assert 0 < found.p_value <= 1
    return found.difference


def means_apart(statistic, gold, first, second, groups, zeros=False):
    """The difference of scipy's statistic averaged over groups; those with constant scores have none, or 0."""
    values = []
    for metric in (second, first):
        parts = [np.flatnonzero(np.equal(groups, group)) for group in dict.fromkeys(groups)]
        rows = [(np.take(gold, part), np.take(metric, part)) for part in parts]
        defined = [statistic(*row)[0] for row in rows if all(np.ptp(column) for column in row)]
        values.append(np.sum(defined) / (len(rows) if zeros else len(defined)))
    return values[0] - values[1]


def williams_by_item():
    """Three systems of two items; the second rating is missing."""
    gold, first, second = [1, 3, 4, 5, 6], [1, 2, 3, 3, 7, 3], [2, 1, 2, 6, 8, 8]
    rows, items = [0, 2, 3, 4, 5], [0, 0, 1, 0, 1]
    ours, theirs = (averaged("pearson", gold, [scores[row] for row in rows], items) for scores in (first, second))
    between = averaged("pearson", first, second, [0, 1] * 3)
    return williams_from_correlations(ours, theirs, between, 6).p_value, ours, theirs


WILLIAMS = [1, 2, 3, 4, 5], [1.1, 2, 3.1, 4, 5.1], [1.5, 2, 3.1, 4, 5.5]
THREE_PLACES = 5e-4
VALUES = [  # id, value here, value there, tolerance
    ("CorrelationTest.testPearson-none", lambda: averaged("pearson", GOLD, METRIC), 0.776, THREE_PLACES),
    ("CorrelationTest.testPearson-sys", lambda: averaged("pearson", GOLD, METRIC, SYSTEM), 0.760, THREE_PLACES),
    ("CorrelationTest.testPearson-item", lambda: averaged("pearson", GOLD, METRIC, ITEM), 1.0, THREE_PLACES),
    ("CorrelationTest.testKendall-none", lambda: averaged("kendall", GOLD, METRIC), 0.552, THREE_PLACES),
    ("CorrelationTest.testKendall-sys", lambda: averaged("kendall", GOLD, METRIC, SYSTEM), 0.575, THREE_PLACES),
    ("CorrelationTest.testKendall-item", lambda: averaged("kendall", GOLD, METRIC, ITEM), 1.0, THREE_PLACES),
    ("CorrelationTest.testKendallC-none", lambda: averaged("kendall-c", GOLD, METRIC), 0.556, THREE_PLACES),
    ("CorrelationTest.testKendallC-sys", lambda: averaged("kendall-c", GOLD, METRIC, SYSTEM), 0.611, THREE_PLACES),
    ("CorrelationTest.testKendallC-item", lambda: averaged("kendall-c", GOLD, METRIC, ITEM), 1.0, THREE_PLACES),
    ("CorrelationTest.testKendallLike-none", lambda: relative_ranks([10, 100, 150], [2, 4, 3], 1), 1 / 3, 0),
    ("CorrelationTest.testKendallLike-item", lambda: by_item(lambda g, m: relative_ranks(g, m, 1), RANKS, RANKS_METRIC,
                                                             [0, 1, 0, 1]), 1, 0),
    ("CorrelationTest.testKendallLike-missing", lambda: relative_ranks([10, 100], [2, 4], 1), 1, 0),
    ("CorrelationTest.testKendallVariants-b", lambda: averaged("kendall", TIED, TIED_METRIC), 0.316227766, 1e-7),
    ("CorrelationTest.testKendallVariants-c", lambda: averaged("kendall-c", TIED, TIED_METRIC), 0.32, 1e-12),
    ("CorrelationTest.testKendallVariants-23", lambda: tau23(TIED, TIED_METRIC), 0.2, 1e-12),
    ("CorrelationTest.testKendallVariants-acc23", lambda: acc23(TIED, TIED_METRIC), 0.6, 1e-12),
    ("CorrelationTest.testKendallVariants-epsilon", lambda: acc23(TIED, TIED_METRIC, 2), 0.4, 1e-12),
    ("CorrelationTest.testKendallWithTiesOpt", lambda: calibrated(TIED, TIED_METRIC)[0], 0.7, 1e-12),
    ("AverageCorrelationTest.testAverageByNone", lambda: averaged("pearson", GOLD, [2, 1, 4, 3, 5, 6]),
     pearsonr(GOLD, [2, 1, 4, 3, 5, 6])[0], 1e-12),
    ("AverageCorrelationTest.testAverageByNoneNoFiltering", lambda: pearson([2, 1, 4, 3, 5, 6], GOLD),
     pearsonr(GOLD, [2, 1, 4, 3, 5, 6])[0], 1e-12),
    ("AverageCorrelationTest.testMissingEntries", lambda: averaged("pearson", [1, 3, 4, 5, 6], [2, 4, 3, 5, 6]),
     pearsonr([1, 3, 4, 5, 6], [2, 4, 3, 5, 6])[0], 1e-12),
    ("AverageCorrelationTest.testAverageBySystem", lambda: averaged("pearson", GOLD, WILD, SYSTEM),
     (pearsonr([1, 2, 3], [2, 1, 8])[0] + pearsonr([4, 5, 6], [3, 5, 6])[0]) / 2, 1e-12),
    ("AverageCorrelationTest.testAverageByItem", lambda: averaged("pearson", GOLD, WILD, ITEM), (1 + 1 - 1) / 3, 1e-9),
    ("AverageCorrelationTest.testAverageByItemWithMissingEntries",
     lambda: averaged("pearson", [1, 3, 4, 5, 6], [2, 8, 3, 5, 6], [0, 2, 0, 1, 2]), (1 - 1) / 2, 1e-9),
    ("AverageCorrelationTest.testNaNHandling", lambda: averaged("pearson", GOLD, [2, 2, 2, 4, 5, 6], SYSTEM), 1, 1e-7),
    ("AverageCorrelationTest.testNaNHandlingWithZeros",
     lambda: averaged("pearson", GOLD, [2, 2, 2, 4, 5, 6], SYSTEM, ZEROS_TWO), 0.5, 1e-7),
    ("AverageCorrelationTest.testMicroAveraging",
     lambda: averaged("pearson", [1, 3, 4, 5, 6], [2, 8, 3, 5, 6], [0, 0, 1, 1, 1], MICRO_TWO),
     (2 * pearsonr([1, 3], [2, 8])[0] + 3 * pearsonr([4, 5, 6], [3, 5, 6])[0]) / 5, 1e-12),
    ("AverageCorrelationTest.testCorrFcnArgs-b", lambda: averaged("kendall", GOLD, WILD), kendalltau(GOLD, WILD)[0],
     1e-12),
    ("AverageCorrelationTest.testCorrFcnArgs-c", lambda: averaged("kendall-c", GOLD, WILD),
     kendalltau(GOLD, WILD, variant="c")[0], 1e-12),
    ("AverageCorrelationTest.testKendallWithTiesOpt",
     lambda: agreement(Rated([2, 1, 8, 3, 6], [1, 2, 3, 4, 6], items=[0, 0, 0, 1, 1]), "acc-eq").value,
     calibrated([1, 2, 3, 4, 6], [2, 1, 8, 3, 6], [0, 0, 0, 1, 1])[1], 1e-12),
    ("CorrelationFunctionsTest.testKendallLike", lambda: relative_ranks(RANKS, RANKS_METRIC), 3 / 5, 0),
    ("CorrelationFunctionsTest.testKendallLike-thresh", lambda: relative_ranks(RANKS, RANKS_METRIC, 1), 2 / 6, 1e-12),
    ("CorrelationFunctionsTest.testAgreement", lambda: acc23([1, 2, 3, 3, 4], [1, 1, 2, 1, 2]), 5 / 10, 0),
    ("CorrelationFunctionsTest.testKendallVariants_b_and_c-b", lambda: kendall(SEVEN_METRIC, SEVEN),
     kendalltau(SEVEN, SEVEN_METRIC)[0], 1e-12),
    ("CorrelationFunctionsTest.testKendallVariants_b_and_c-c", lambda: kendall_c(SEVEN_METRIC, SEVEN),
     kendalltau(SEVEN, SEVEN_METRIC, variant="c")[0], 1e-12),
    ("CorrelationFunctionsTest.testKendallVariants_23-tau", lambda: tau23(LONG, LONG_METRIC), (14 - 7) / 21, 1e-12),
    ("CorrelationFunctionsTest.testKendallVariants_23-acc", lambda: acc23(LONG, LONG_METRIC), 14 / 21, 1e-12),
    ("CorrelationFunctionsTest.testKendallVariantsWithPositiveEpsilon-0", lambda: tau23(LONG, LONG_METRIC, 0.0),
     (14 - 7) / 21, 1e-12),
    ("CorrelationFunctionsTest.testKendallVariantsWithPositiveEpsilon-0.1", lambda: tau23(LONG, LONG_METRIC, 0.1),
     (14 - 7) / 21, 1e-12),
    ("CorrelationFunctionsTest.testKendallVariantsWithPositiveEpsilon-1", lambda: tau23(LONG, LONG_METRIC, 1.0),
     (7 + 3 - 1 - 10) / 21, 1e-12),
    *((f"CorrelationFunctionsTest.testKendallWithTiesOpt-{name}",
       lambda items=items: calibrated(SIX, SIX_METRIC, items)[0], calibrated(SIX, SIX_METRIC, items)[1], 1e-12)
      for name, items in (("none", None), ("sys", SYSTEM), ("item", ITEM))),
    ("PermutationSigDiffTest.testPearsonNoAvgNoEarlyStop", lambda: permuted("pearson"),
     pearsonr(SECOND, PERMUTED)[0] - pearsonr(FIRST, PERMUTED)[0], 1e-9),
    ("PermutationSigDiffTest.testPearsonSysNoEarlyStop", lambda: permuted("pearson", OF_FOUR),
     means_apart(pearsonr, PERMUTED, FIRST, SECOND, OF_FOUR), 1e-7),
    ("PermutationSigDiffTest.testPearsonSysNoEarlyStopNan0", lambda: permuted("pearson", OF_FOUR, ZEROS_TWO),
     means_apart(pearsonr, PERMUTED, FIRST, SECOND, OF_FOUR, zeros=True), 1e-7),
    ("PermutationSigDiffTest.testPearsonItemNoEarlyStop", lambda: permuted("pearson", OF_TWO),
     means_apart(pearsonr, PERMUTED, FIRST, SECOND, OF_TWO), 1e-9),
    ("PermutationSigDiffTest.testKendallItemWithEarlyStop", lambda: permuted("kendall", OF_TWO),
     means_apart(kendalltau, PERMUTED, FIRST, SECOND, OF_TWO), 1e-9),
    ("PermutationSigDiffTest.testKendallC", lambda: permuted("kendall-c", OF_TWO),
     means_apart(lambda g, m: kendalltau(g, m, variant="c"), PERMUTED, FIRST, SECOND, OF_TWO), 1e-9),
    ("PermutationSigDiffTest.testKendallVariants23", lambda: 2 * swapped(FIRST, SECOND, PERMUTED, False),
     by_item(tau23, PERMUTED, SECOND, OF_TWO) - by_item(tau23, PERMUTED, FIRST, OF_TWO), 1e-12),
    ("PermutationSigDiffTest.testKendallVariantsAcc23", lambda: swapped(FIRST, SECOND, PERMUTED, False),
     by_item(acc23, PERMUTED, SECOND, OF_TWO) - by_item(acc23, PERMUTED, FIRST, OF_TWO), 1e-12),
    ("PermutationSigDiffTest.testTauOptimization", lambda: swapped(FIRST, SECOND, PERMUTED, True),
     calibrated(PERMUTED, SECOND, OF_TWO)[1] - calibrated(PERMUTED, FIRST, OF_TWO)[1], 1e-12),
    ("PairwisePermutationSigDiffTest.testKendallVariantsAcc23",
     lambda: swapped(PAIRED_FIRST, PAIRED_SECOND, PAIRED, True),
     calibrated(PAIRED, PAIRED_SECOND, OF_TWO)[1] - calibrated(PAIRED, PAIRED_FIRST, OF_TWO)[1], 1e-12),
    ("WilliamsSigDiffTest.testSigDiff-p", lambda: williams(WILLIAMS[1], WILLIAMS[2], WILLIAMS[0]).p_value, 0.019,
     THREE_PLACES),
    ("WilliamsSigDiffTest.testSigDiff-r1", lambda: pearson(WILLIAMS[1], WILLIAMS[0]), 0.999, THREE_PLACES),
    ("WilliamsSigDiffTest.testSigDiff-r2", lambda: pearson(WILLIAMS[2], WILLIAMS[0]), 0.987, THREE_PLACES),
    *((f"WilliamsSigDiffTest.testSigDiffWithAvgAndNones-{name}", lambda place=place: williams_by_item()[place], value,
       THREE_PLACES) for place, (name, value) in enumerate((("p", 0.121), ("r1", 0.982), ("r2", 0.933)))),
    *((f"TauOptimizationTest.test_zero_threshold_is_best-{2 * step}",
       lambda step=step: acc23([1, 2, 3, 4], [0, 2, 6, 8], 2 * step), right / 6, 1e-12)
      for step, right in enumerate((6, 4, 3, 1, 0))),
    ("TauOptimizationTest.test_zero_threshold_is_best-threshold",
     lambda: tie_calibrated_accuracy([0, 2, 6, 8], [1, 2, 3, 4]).epsilon, 0, 0),
    ("TauOptimizationTest.test_zero_threshold_is_best-tau", lambda: calibrated([1, 2, 3, 4], [0, 2, 6, 8])[0], 1, 0),
    *((f"TauOptimizationTest.test_nonzero_threshold_is_best-{2 * step}",
       lambda step=step: acc23([1, 1, 1, 4], [0, 2, 6, 8], 2 * step), right / 6, 1e-12)
      for step, right in enumerate((3, 3, 4, 4, 3))),
    ("TauOptimizationTest.test_nonzero_threshold_is_best-threshold",
     lambda: tie_calibrated_accuracy([0, 2, 6, 8], [1, 1, 1, 4]).epsilon, 4, 0),
    ("TauOptimizationTest.test_nonzero_threshold_is_best-tau",
     lambda: calibrated([1, 1, 1, 4], [0, 2, 6, 8])[0], 4 / 6, 1e-12),
    *((f"TauOptimizationTest.test_regression_example-{epsilon}",
       lambda epsilon=epsilon: by_item(lambda g, m: acc23(g, m, epsilon), *cells()), value, 1e-12)
      for epsilon, value in enumerate((0.4666666666666667, 0.4916666666666668, 0.38333333333333347, 0.29166666666666674,
                                       0.2666666666666667, 0.2, 0.15833333333333335, 0.15833333333333335,
                                       0.1166666666666667))),
    ("TauOptimizationTest.test_regression_example-threshold",
     lambda: tie_calibrated_accuracy(cells()[1], cells()[0], cells()[2]).epsilon, 1, 0),
    ("TauOptimizationTest.test_regression_example-tau", lambda: calibrated(*cells())[0], 0.4916666666666668, 1e-12),
]  # fmt: skip


def cells():
    """Ratings, scores and items of the peer's matrix example, without its missing cells."""
    scores, ratings, items = zip(*CELLS, strict=True)
    return ratings, scores, items


@pytest.mark.parametrize(
    ("value", "expected", "tolerance"), [case[1:] for case in VALUES], ids=[case[0] for case in VALUES]
)
def test_value(value, expected, tolerance):
    assert value() == pytest.approx(expected, rel=0, abs=max(tolerance, 1e-12))


def test_p_values_are_deterministic():
    """PCETest.test_pairwise_p_values_are_deterministic."""
    scores = np.random.default_rng(0).random((100, 10))
    np.testing.assert_array_equal(system_p_values(scores, Resampling()), system_p_values(scores, Resampling()))
