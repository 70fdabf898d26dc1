"""Correlations against scipy: one by one, under weights (rows repeated), and row by row of a matrix; and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evalign.errors import InputError, LengthMismatchError, UndefinedStatisticError
from evalign.stats import weighted as weighted_correlations
from evalign.stats.correlation import CORRELATIONS, correlate_rows, correlation
from evalign.stats.weighted import weighted

SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y)[0],
    "spearman": lambda x, y: stats.spearmanr(x, y)[0],
    "kendall": lambda x, y: stats.kendalltau(x, y)[0],
    "kendall-c": lambda x, y: stats.kendalltau(x, y, variant="c")[0],
}


def columns(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Related columns of 3 to 400 rows; two thirds of them with ties, from a few to almost only ties."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 12)) if seed % 2 else int(rng.integers(12, 400))
    x = rng.normal(size=n)
    y = rng.normal(size=n) + rng.normal() * x
    if seed % 3:
        x = np.round(x * rng.integers(1, 6))
    if seed % 5:
        y = np.round(y * rng.integers(1, 4)) / 3
    x[0], x[1], y[0], y[1] = 0.25, 0.5, 0.25, 0.75  # never constant
    return x, y


@pytest.mark.parametrize("name", CORRELATIONS)
def test_equal_to_scipy(name):
    for seed in range(300):
        x, y = columns(seed)
        assert CORRELATIONS[name](x, y) == pytest.approx(SCIPY[name](x, y), abs=1e-12), seed


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("bucket", [8, 128])
def test_weights_mean_repeated_rows(name, bucket, monkeypatch):
    """Small buckets, so that short columns too go through the grid of buckets."""
    monkeypatch.setattr(weighted_correlations, "MIN_BUCKETED_ROWS", bucket)
    for seed in range(120):
        x, y = columns(seed)
        weights = np.random.default_rng(seed).poisson(1.0, size=(3, len(x)))
        for row, value in zip(weights, weighted(name)(x, y)(weights.astype(np.float32)), strict=True):
            first, second = np.repeat(x, row), np.repeat(y, row)
            if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
                assert np.isnan(value), seed
            else:
                assert value == pytest.approx(SCIPY[name](first, second), abs=1e-11), seed


def test_weights_on_many_rows():
    """As many rows as wmt19 has: sums far beyond what float32 holds, with cells of thousands of equal values."""
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(size=9728), 3)
    x[:4000] = 0
    y = np.round(x + rng.normal(size=9728))
    y[:5000] = 0
    weights = rng.multinomial(9728, np.full(9728, 1 / 9728), size=2)
    for name in CORRELATIONS:
        for row, value in zip(weights, weighted(name)(x, y)(weights.astype(np.float32)), strict=True):
            assert value == pytest.approx(SCIPY[name](np.repeat(x, row), np.repeat(y, row)), abs=1e-12), name


@pytest.mark.parametrize("name", CORRELATIONS)
def test_rows_of_a_matrix(name):
    rng = np.random.default_rng(2)
    scores, human = rng.integers(0, 5, size=(2, 200, 7)).astype(float)
    scores[3] = 2.0
    human[4, 2] = np.nan
    values = correlate_rows(name, scores, human)
    assert np.isnan(values[[3, 4]]).all()
    for k in set(range(200)) - {3, 4}:
        assert values[k] == pytest.approx(SCIPY[name](scores[k], human[k]), abs=1e-12)


def test_the_one_row_of_ratings_is_shared():
    scores = np.random.default_rng(3).normal(size=(4, 9))
    shared = correlate_rows("kendall", scores, np.arange(9.0))
    assert shared == pytest.approx([stats.kendalltau(row, np.arange(9))[0] for row in scores])


BAD = {
    "constant scores": ([1, 1, 1, 1], [1, 2, 3, 4], UndefinedStatisticError, "^scores are constant"),
    "constant human": ([1, 2, 3, 4], [5, 5, 5, 5], UndefinedStatisticError, "human scores are constant"),
    "NaN scores": ([1, float("nan"), 3], [1, 2, 3], InputError, "scores has 1 of 3 rows .* row 1"),
    "missing human": ([1, 2, 3], [1, 2, None], InputError, "human scores has 1 of 3 rows .* row 2"),
    "infinite": ([1, 2, 3], [1, float("inf"), 2], InputError, "not finite"),
    "words": ([1, 2, 3], ["good", "bad", "ugly"], InputError, "must be numbers"),
    "two rows": ([1, 2], [1, 2], UndefinedStatisticError, "at least 3 rows, but there are 2"),
    "no rows": ([], [], UndefinedStatisticError, "at least 3 rows, but there are 0"),
    "other length": ([1, 2, 3, 4], [1, 2, 3], LengthMismatchError, "4 and 3"),
    "a matrix": ([[1, 2, 3]], [1, 2, 3], InputError, "shape"),
    "constant but for rounding": ([1e8, 1e8, 1e8, 1e8 + 1.5e-8], [1, 2, 3, 4], UndefinedStatisticError, "constant"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_says_which(case):
    scores, human, error, message = BAD[case]
    with pytest.raises(error, match=message):
        correlation("pearson")(scores, human)


def test_unknown_names_are_told():
    for ask in (correlation, weighted, lambda name: correlate_rows(name, np.ones((1, 3)), np.ones(3))):
        with pytest.raises(InputError, match="did you mean spearman"):
            ask("spearmann")
