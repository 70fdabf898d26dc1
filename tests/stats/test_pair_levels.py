"""Statistics of pairs at every level: the definitions by brute force, averages over groups, what has no value."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr

from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats import pairs as pair_statistics
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import Averaging, Rated, agreement, agreement_by, level_function
from evalign.stats.pairs import pair_outcomes, pair_swap_test

TWO = Averaging(fewest=2)
MICRO_TWO = Averaging(micro=True, fewest=2)
FEW = Resampling(samples=200)


@pytest.mark.parametrize("statistic", ["pearson", "kendall", "kendall-c"])
def test_the_summary_level_is_the_mean_over_documents(statistic):
    gold, metric, item = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 3, 7], [0, 1, 2, 0, 1, 2]
    expected = agreement_by(Rated(metric, gold), item, statistic, averaging=TWO).mean.value
    assert agreement(Rated(metric, gold, item), statistic, "summary", None, TWO).value == pytest.approx(expected)


def test_micro_averaging():
    """Two systems; the second cell of the first one is missing."""
    gold, metric, system, item = [1, 3, 4, 5, 6], [2, 8, 3, 5, 6], [0, 0, 1, 1, 1], [0, 2, 0, 1, 2]
    first, second = pearsonr([1, 3], [2, 8])[0], pearsonr([4, 5, 6], [3, 5, 6])[0]
    found = agreement_by(Rated(metric, gold), system, averaging=MICRO_TWO)
    assert found.mean.value == pytest.approx((2 * first + 3 * second) / 5)
    assert agreement(Rated(metric, gold, system), "pearson", "summary", FEW, MICRO_TWO).value == pytest.approx(
        found.mean.value
    )
    assert agreement_by(Rated(metric, gold), system, averaging=TWO).mean.value == pytest.approx((first + second) / 2)
    by_item = agreement_by(Rated(metric, gold), item, averaging=TWO)
    assert by_item.mean.value == pytest.approx((1 - 1) / 2)  # items 0 and 2; item 1 has one row
    assert by_item.mean.flags == ("left out: 1 groups without a value",)


def test_constant_groups_count_as_zero_where_asked():
    """Three groups: one agrees fully, in one the scores are constant, in one the ratings."""
    scores, human = [1, 2, 3, 5, 5, 5, 1, 2, 3], [1, 2, 3, 1, 2, 3, 4, 4, 4]
    groups = np.repeat(["all", "scores", "ratings"], 3)
    zeros = Averaging(zeros=True)
    left_out = agreement_by(Rated(scores, human), groups).mean
    assert (left_out.value, left_out.n) == (pytest.approx(1), 1)
    found = agreement_by(Rated(scores, human), groups, resampling=FEW, averaging=zeros)
    assert (found.mean.value, found.mean.n) == (pytest.approx(1 / 3), 3)
    assert found.mean.high == pytest.approx(1 / 3)  # on every resample two of three groups are 0
    assert found.groups["scores"].flags
    summary = agreement(Rated(scores, human, groups), "pearson", "summary", FEW, zeros)
    assert summary.value == pytest.approx(1 / 3)
    assert summary.flags == ("counted as 0: 2 documents with constant scores",)
    compute = level_function(Rated(scores, human, groups), "pearson", "summary", zeros)
    assert compute(np.array([scores], dtype=float)) == pytest.approx([1 / 3])


def test_calibrated_accuracy_of_systems():
    """As of rows, where each mean is that of one row."""
    gold, metric = [1, 2, 2, 3, 4], [2, 1, 1.5, 5, 3]
    assert agreement(Rated(metric, gold), "acc-eq").value == pytest.approx(0.7)
    systems = Rated(metric, gold, systems=range(5))
    assert agreement(systems, "acc-eq", "system").value == pytest.approx(0.7)
    assert agreement(systems, "accuracy", "system").value == pytest.approx(0.6)


def test_swapped_pairs_against_all_swaps():
    """Every assignment of signs to the outcomes of pairs, by brute force."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        gold, first, second = rng.integers(0, 4, size=(3, 9)).astype(float)
        item = [0, 0, 0, 0, 1, 1, 1, 2, 2]
        outcomes = pair_outcomes(first, second, gold, item, calibrated=False)
        weighed = []
        for code, pairs in ((0, 6), (1, 3), (2, 1)):
            rows = [row for row in range(9) if item[row] == code]
            for i, j in itertools.combinations(rows, 2):
                right, other = (np.sign(x[i] - x[j]) == np.sign(gold[i] - gold[j]) for x in (first, second))
                weighed.append((int(right) - int(other)) / pairs / 3)
        observed = sum(weighed)
        signs = np.array(list(itertools.product((1, -1), repeat=10)))
        expected = (signs @ np.array(weighed) >= observed - 1e-9).mean()
        found = pair_swap_test([(outcomes, 1.0)], 9, Resampling(samples=4000))
        assert found.difference == pytest.approx(observed)
        assert found.p_value == pytest.approx(expected, abs=0.03)


def test_a_group_of_one_row_has_no_pairs_to_swap():
    with pytest.raises(UndefinedStatisticError, match="two rows"):
        pair_outcomes([1.0], [2.0], [1.0], None)


def brute_pdp(scores, human, items):
    """Pearson over the differences of all ordered pairs of rows of the same item."""
    pairs = [(i, j) for i, j in itertools.permutations(range(len(scores)), 2) if items[i] == items[j]]
    return pearsonr(*([x[i] - x[j] for i, j in pairs] for x in (scores, human)))[0]


def test_pairwise_difference_pearson_is_the_brute_force_one():
    rng = np.random.default_rng(9)
    for case in range(200):
        n = int(rng.integers(4, 30))
        items = [0, 0, *rng.integers(0, 5, size=n - 2)]
        human = rng.normal(size=n) if case % 2 else rng.integers(0, 4, size=n) + np.arange(n) / 100
        scores = human * rng.normal() + rng.normal(size=n)
        expected = brute_pdp(scores, human, items)
        rated = Rated(scores, human, items=items)
        assert agreement(rated, "pdp").value == pytest.approx(expected, abs=1e-9)
        assert level_function(rated, "pdp", "segment")(scores[None]) == pytest.approx(expected, abs=1e-9)
    shifted = scores + 10 * np.array(items)  # what an item adds to all its rows does not count
    assert agreement(Rated(shifted, human, items=items), "pdp").value == pytest.approx(expected)
    interval = agreement(rated, "pdp", resampling=FEW)
    assert interval.low < interval.value < interval.high


def test_memory_of_pairwise_differences_does_not_grow_with_the_items(monkeypatch):
    """20,000 rows of 10,000 items: a matrix of rows and items would take 1.6 GB."""
    rng = np.random.default_rng(5)
    items = rng.permutation(np.repeat(np.arange(10_000), 2))
    human, scores = rng.normal(size=20_000), rng.normal(size=(30, 20_000))
    rated = Rated(scores[0], human, items=items)
    whole = level_function(rated, "pdp", "segment")(scores)
    tracemalloc.start()
    monkeypatch.setattr(pair_statistics, "BLOCK_CELLS", 50_000)
    blocks = level_function(rated, "pdp", "segment")(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=1e-12)
    assert whole[0] == pytest.approx(agreement(rated, "pdp").value, abs=1e-12)
    assert peak < 20e6


def test_statistics_of_pairs_at_system_level():
    rng = np.random.default_rng(2)
    human, systems, documents = rng.normal(size=60), np.arange(60) % 6, np.arange(60) // 6
    scores = human + rng.normal(size=60)
    means = [[column[systems == system].mean() for system in range(6)] for column in (scores, human)]
    rated = Rated(scores, human, documents, systems)
    assert agreement(rated, "pdp", "system").value == pytest.approx(pearsonr(*means)[0])
    right = (kendalltau(*means)[0] + 1) / 2  # without ties
    found = agreement(rated, "accuracy", "system", FEW)
    assert found.value == pytest.approx(right)
    assert found.low <= found.value <= found.high
    assert agreement(Rated([1, 2, 3], [1, 2, 3], systems="aab"), "accuracy", "system").value == 1


def test_documents_are_resampled_where_each_holds_whole_items():
    rng = np.random.default_rng(4)
    human, items = rng.normal(size=120), np.repeat(np.arange(40), 3)
    scores = human + rng.normal(size=120)
    by_item = agreement(Rated(scores, human, items=items), "accuracy", resampling=FEW)
    by_document = agreement(Rated(scores, human, items // 4, items=items), "accuracy", resampling=FEW)
    assert by_item.value == by_document.value
    assert (by_item.low, by_item.high) != (by_document.low, by_document.high)


@pytest.mark.parametrize(
    ("rated", "statistic", "level", "averaging", "error", "said"),
    [
        (Rated([1, 1, 2, 2], [1, 2, 3, 4], items="aabb"), "pdp", "segment", TWO, UndefinedStatisticError, "every item"),
        (Rated([1, 2, 3], [1, 2, 3], items="abc"), "accuracy", "segment", TWO, UndefinedStatisticError, "two rows"),
        (Rated([1, 2, 3], [1, 2, 3], "aab"), "acc-eq", "summary", TWO, InputError, "already"),
        (Rated([1], [1]), "pearson", "segment", TWO, UndefinedStatisticError, "at least 2 rows"),
        (Rated([1, 2, 3], [1, 2, 3]), "accuraci", "segment", TWO, InputError, "accuracy"),
        (Rated([1, 2, 3], [1, 2, 3], systems="aaa"), "accuracy", "system", TWO, UndefinedStatisticError, "2 systems"),
    ],
)
def test_what_has_no_value(rated, statistic, level, averaging, error, said):
    with pytest.raises(error, match=said):
        agreement(rated, statistic, level, None, averaging)
