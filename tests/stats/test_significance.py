"""Tests between metrics: published figures, all permutations by brute force, and the level under the null."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import stats

from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats import weighted as weighted_correlations
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import CORRELATIONS, pearson
from evalign.stats.levels import Rated, level_function
from evalign.stats.significance import (
    adjusted,
    clusters,
    compare_all,
    permutation_test,
    swap_difference,
    williams,
    williams_from_correlations,
)


def three(n: int, seed: int, better: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two metrics of the same ratings, the first with less noise if `better` > 0; half of the seeds with ties."""
    rng = np.random.default_rng(seed)
    human = rng.normal(size=n)
    first, second = human + rng.normal(size=n) * (1 - better), human + rng.normal(size=n)
    return (first, second, human) if seed % 2 else (np.round(first), np.round(second, 1), np.round(human))


def test_williams_as_published():
    """The example in the documentation of R's psych::r.test that gives its p-value to seven digits."""
    found = williams_from_correlations(0.693458895410494, 0.695966022434845, 0.988475791500198, 5105)
    assert found.p_two_sided == pytest.approx(0.1000759, abs=5e-8)
    assert found.p_value + found.p_reverse == pytest.approx(1)
    assert found.p_reverse < found.p_value


def test_williams_from_the_determinant():
    """The formula written another way: |R| of the three correlations, in terms of the mean correlation."""
    for seed in range(20):
        x, z, y = three(40, seed)
        r = np.corrcoef([x, y, z])
        mean = (r[0, 1] + r[1, 2]) / 2
        t = (r[0, 1] - r[1, 2]) * (39 * (1 + r[0, 2]) / (2 * 39 / 37 * np.linalg.det(r) + mean**2 * (1 - r[0, 2]) ** 3)) ** 0.5  # fmt: skip  # noqa: E501
        found = williams(x, z, y)
        assert found.p_value == pytest.approx(stats.t.sf(t, 37), abs=1e-9)
        assert found.difference == pytest.approx(r[0, 1] - r[1, 2])


def test_williams_at_its_edges():
    x, _, y = three(20, 1)
    same = williams(x, x, y)
    assert (same.difference, same.p_value, same.p_two_sided) == (0, 0.5, 1)
    assert williams(y, x, y).p_value < 1e-6
    with pytest.raises(UndefinedStatisticError, match="at least 4 rows"):
        williams([1, 2, 3], [1, 3, 2], [1, 2, 3])
    with pytest.raises(UndefinedStatisticError, match="at least 4 rows"):
        williams_from_correlations(0.1, 0.2, 0.3, 3)


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("bucket", [8, 128])
def test_swaps_are_correlations_of_swapped_scores(name, bucket, monkeypatch):
    """Small buckets, so that short columns too go through the grid of buckets."""
    monkeypatch.setattr(weighted_correlations, "MIN_BUCKETED_ROWS", bucket)
    for seed in range(30):
        first, second, human = three(30, seed)
        kept = np.random.default_rng(seed).integers(2, size=(4, 30))
        found = swap_difference(name, first, second, human)(kept.astype(np.float32))
        for mask, value in zip(kept, found, strict=True):
            chosen, other = np.where(mask, first, second), np.where(mask, second, first)
            expected = CORRELATIONS[name](chosen, human) - CORRELATIONS[name](other, human)
            assert value == pytest.approx(expected, abs=1e-11), seed


@pytest.mark.parametrize("name", CORRELATIONS)
def test_permutation_p_is_that_of_all_permutations(name):
    for seed in (1, 2):
        first, second, human = three(8, seed, better=0.6)
        x, z = stats.zscore(first), stats.zscore(second)
        observed = CORRELATIONS[name](x, human) - CORRELATIONS[name](z, human)
        null = []
        for mask in itertools.product((True, False), repeat=8):
            chosen, other = np.where(mask, x, z), np.where(mask, z, x)
            if np.ptp(chosen) and np.ptp(other):
                null.append(CORRELATIONS[name](chosen, human) - CORRELATIONS[name](other, human))
        exact = np.mean(np.array(null) >= observed - 1e-9)
        found = permutation_test(first, second, human, name, Resampling(samples=4000))
        assert found.difference == pytest.approx(observed)
        assert found.p_value == pytest.approx(exact, abs=4 * 0.5 / 4000**0.5)
        assert found.p_two_sided == pytest.approx(np.mean(np.abs(null) >= abs(observed) - 1e-9), abs=0.032)


def test_permutation_with_a_function_is_that_with_a_name():
    first, second, human = three(60, 3, better=0.4)
    named = permutation_test(first, second, human, "kendall", Resampling(samples=200))
    function = level_function(Rated(first, human), "kendall", "segment")
    found = permutation_test(first, second, human, function, Resampling(samples=200))
    assert dataclasses.astuple(found) == pytest.approx(dataclasses.astuple(named))


@pytest.mark.parametrize("level", ["system", "summary"])
def test_permutation_at_other_levels(level):
    rng = np.random.default_rng(4)
    human = rng.normal(size=(30, 6)) + np.arange(6) / 2
    documents, systems = (grid.ravel() for grid in np.mgrid[:30, :6])
    good, poor = (human + rng.normal(size=(30, 6)) * noise for noise in (0.3, 3))
    function = level_function(Rated(good.ravel(), human.ravel(), documents, systems), "pearson", level)
    found = permutation_test(good.ravel(), poor.ravel(), human.ravel(), function, Resampling(samples=300))
    assert found.p_value < 0.1 < 0.5 < found.p_reverse
    together = permutation_test(good.ravel(), poor.ravel(), human.ravel(), function, Resampling(samples=300), documents)
    assert together.difference == pytest.approx(found.difference)


def test_equal_metrics_are_rarely_told_apart():
    """The level holds: of 300 pairs of equally good metrics about 5% come out below 0.05."""
    tests = {
        "williams": williams,
        "permutation": lambda *rows: permutation_test(*rows, "pearson", Resampling(samples=199)),
        "kendall": lambda *rows: permutation_test(*rows, "kendall", Resampling(samples=199)),
    }
    for name, test in tests.items():
        found = np.mean([test(*three(60, 2 * seed + 1)).p_value < 0.05 for seed in range(300)])
        assert 0.02 <= found <= 0.085, name


def test_permutation_refuses_what_cannot_be_tested():
    first, second, human = three(10, 1)
    for message, rows in {
        "human scores are constant": (first, second, np.ones(10)),
        "^scores are constant": (first, np.ones(10), human),
        "at least 3 rows": (first[:2], second[:2], human[:2]),
        "10 and 9": (first, second, human[:9]),
    }.items():
        with pytest.raises(InputError, match=message):
            permutation_test(*rows)
    with pytest.raises(UndefinedStatisticError, match="nothing to test"):
        permutation_test(first, second, human, lambda scores: np.full(len(scores), np.nan), Resampling(samples=5))
    assert permutation_test(first, first, human, "spearman", Resampling(samples=50)).p_value == 1


def test_compare_all_and_clusters_of_metrics():
    rng = np.random.default_rng(6)
    human = rng.normal(size=500)
    metrics = [human + rng.normal(size=500) * noise for noise in (4, 0.3, 4.1, 0.31)]
    p = compare_all(metrics, human, williams)
    values = [CORRELATIONS["pearson"](metric, human) for metric in metrics]
    assert (p.diagonal() == 1).all()
    assert (p[1, [0, 2]] < 1e-6).all()
    assert (p[[0, 2], 1] == 1).all()
    assert clusters(values, p) == clusters(values, p, rule="visited") == [2, 1, 2, 1]
    assert (p >= compare_all(metrics, human, williams, "none")).all()
    with pytest.raises(InputError, match="no metrics"):
        compare_all([], human, williams)


# Worked by hand from the step-down and step-up rules.
ADJUSTED = [
    ("holm", [0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
    ("bh", [0.01, 0.04, 0.03, 0.005], [0.02, 0.04, 0.04, 0.02]),
    ("holm", [0.5, 0.9], [1.0, 1.0]),
    ("bh", [0.5, 0.9], [0.9, 0.9]),
    ("none", [0.5, 0.9], [0.5, 0.9]),
    ("holm", [], []),
]


@pytest.mark.parametrize(("method", "p", "expected"), ADJUSTED)
def test_corrections(method, p, expected):
    assert adjusted(p, method) == pytest.approx(expected)


def test_benjamini_hochberg_is_scipys():
    p = np.random.default_rng(7).random(50) ** 3
    assert adjusted(p, "bh") == pytest.approx(stats.false_discovery_control(p))


def test_cluster_rules_differ_where_one_is_apart_from_some_only():
    """A beats C, nothing else is significant: no gap separates all above from all below, but C is visited and lower."""
    p = np.ones((3, 3))
    p[0, 2] = 0.01
    assert clusters([3, 2, 1], p) == [1, 1, 1]
    assert clusters([3, 2, 1], p, rule="visited") == [1, 1, 2]
    p[1, 2] = 0.01
    assert clusters([3, 2, 1], p) == [1, 1, 2]
    assert clusters([1, 2, 3], p[::-1, ::-1]) == [2, 1, 1]


def test_bad_p_values():
    for message, ask in {
        "between 0 and 1": lambda: adjusted([0.5, 1.5]),
        "unknown correction": lambda: adjusted([0.5], "bonferoni"),
        "unknown rule": lambda: clusters([1, 2], np.ones((2, 2)), rule="x"),
        "2 x 2": lambda: clusters([1, 2], np.ones((3, 3))),
        "not finite": lambda: clusters([1, float("nan")], np.ones((2, 2))),
    }.items():
        with pytest.raises(InputError, match=message):
            ask()


def test_groups_give_what_recomputing_gives():
    """The fast way over groups against the slow one, on the same swaps."""
    random = np.random.default_rng(8)
    human = random.normal(size=60)
    first, second = (human + noise * random.normal(size=60) for noise in (0.5, 1.0))
    groups = np.array(["a", "b", "b"] * 20)

    def slow(scores):
        parts = [[pearson(row[groups == name], human[groups == name]) for row in scores] for name in "ab"]
        return np.mean(parts, axis=0)

    resampling = Resampling(samples=100)
    fast = permutation_test(first, second, human, "pearson", resampling, by=groups)
    other = permutation_test(first, second, human, slow, resampling)
    assert (fast.p_value, fast.p_reverse, fast.p_two_sided) == (other.p_value, other.p_reverse, other.p_two_sided)
    assert fast.difference == pytest.approx(other.difference)


def test_groups_without_a_correlation():
    with pytest.raises(UndefinedStatisticError, match="no group has a correlation"):
        permutation_test([1, 2, 3, 4], [2, 1, 4, 3], [1, 2, 3, 5], by=["a", "a", "b", "b"])
