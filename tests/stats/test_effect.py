"""Derangements, effect sizes and rating errors: from their definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.effect import derangement, rating_residuals, separation


def test_derangements_move_everything_and_are_equally_likely():
    for n in (2, 3, 10, 1000):
        order = derangement(n, seed=n)
        assert sorted(order) == list(range(n))
        assert (order != np.arange(n)).all()
    assert np.array_equal(derangement(50), derangement(50))
    counts = Counter(tuple(derangement(4, seed).tolist()) for seed in range(1800))
    assert len(counts) == 9  # all derangements of four
    assert stats.chisquare(list(counts.values())).pvalue > 0.001
    with pytest.raises(InputError, match="at least 2 rows"):
        derangement(1)


def test_separation_from_the_definitions():
    rng = np.random.default_rng(1)
    for ties in (1, 20):
        good, bad = np.round(rng.normal(1, 0.5, 40) * ties) / ties, np.round(rng.normal(0.6, 0.5, 55) * ties) / ties
        found = separation(good, bad)
        assert found.difference == pytest.approx(good.mean() - bad.mean())
        assert found.ratio == pytest.approx(good.mean() / bad.mean())
        pooled = np.sqrt((39 * good.var(ddof=1) + 54 * bad.var(ddof=1)) / 93)
        assert found.cohens_d == pytest.approx(found.difference / pooled)
        assert found.auc == pytest.approx(np.mean([(g > b) + 0.5 * (g == b) for g in good for b in bad]))
        thresholds = [-np.inf, *good, *bad]
        assert found.overlap == pytest.approx(min(np.mean(good <= t) + np.mean(bad > t) for t in thresholds))


def test_overlap_is_the_common_area_of_two_normals():
    """Two unit normals at distance d share 2 Phi(-d / 2)."""
    rng = np.random.default_rng(2)
    found = separation(rng.normal(1, 1, 20_000), rng.normal(0, 1, 20_000))
    assert found.overlap == pytest.approx(2 * stats.norm.cdf(-0.5), abs=0.015)
    assert separation([3, 4], [1, 2]).overlap == 0
    assert separation([1, 2], [3, 4]).overlap == 1


def test_what_does_not_exist_is_flagged():
    found = separation([0.1, 0.1, 0.1], [-0.2, -0.2])
    assert (found.ratio, found.cohens_d) == (None, None)
    assert [flag.split(":")[0] for flag in found.flags] == ["no Cohen's d", "no ratio"]
    assert separation([1, 2], [0, 0]).cohens_d is not None
    for message, good, bad in (
        ("at least 2 positives", [1], [1, 2]),
        ("at least 2 negatives", [1, 2], []),
        ("scores of negatives has 1 of 2", [1, 2], [1, float("nan")]),
    ):
        with pytest.raises(InputError, match=message):
            separation(good, bad)


def test_raw_scores_are_clipped_before_they_are_compared():
    raw, _ = rating_residuals([0.6, 0.3, 1.4, 0.5], [0.5, 0.5, 1.0, 0.0])
    assert raw == pytest.approx([0.1, -0.2, 0, 0.5])


def test_calibration_never_sees_the_row_it_predicts():
    rng = np.random.default_rng(3)
    ratings = rng.uniform(0.2, 0.8, size=300)
    raw, calibrated = rating_residuals(0.25 * ratings + 0.8, ratings)
    assert np.abs(calibrated).max() == pytest.approx(0, abs=1e-9)
    assert np.sqrt((raw**2).mean()) > 0.2
    _, noise = rating_residuals(rng.random(12), np.arange(12) % 2)
    assert np.sqrt((noise**2).mean()) > 0.5  # the mean of the rows it was fitted on; fitted to all 12 it could reach .5
    scores, ratings = [0.1, 0.5, 0.9, 0.2], [0.2, 0.4, 0.4, 0.8]
    expected = []
    for k in range(4):
        line = np.polyfit(np.delete(scores, k), np.delete(ratings, k), 1)
        expected.append(np.clip(np.polyval(line, scores[k]), 0, 1) - ratings[k])
    assert rating_residuals(scores, ratings)[1] == pytest.approx(expected)
    assert np.abs(rating_residuals([0.5, 0.5, 0.5], [0.1, 0.2, 0.3])[1]).max() > 0  # constant scores predict the mean


def test_errors_need_three_rows():
    with pytest.raises(UndefinedStatisticError, match="at least 3 rows"):
        rating_residuals([1, 2], [1, 2])
