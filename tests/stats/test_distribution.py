"""Densities, peaks and eta squared, against scipy and sums written out."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from evalign.stats.effect import density, eta_squared, peaks, silverman

TWO = np.concatenate([np.linspace(0.1, 0.2, 40), np.linspace(0.7, 0.8, 40)])


def test_density_is_scipys():
    sample = np.random.default_rng(0).normal(size=50)
    places, heights = density(sample, 0.3)
    theirs = gaussian_kde(sample, bw_method=0.3 / sample.std(ddof=1))
    np.testing.assert_allclose(heights, theirs(places), rtol=1e-9)


@pytest.mark.parametrize(
    ("values", "bandwidth", "expected"),
    [(TWO, 0.05, 2), (TWO, 0.5, 1), (np.full(9, 0.3), 0.01, 1), ([0.0, 0.5, 1.0], 0.05, 3), ([*TWO, 5.0], 0.05, 2)],
)
def test_peaks_depend_on_the_bandwidth(values, bandwidth, expected):
    assert peaks(values, bandwidth) == expected


def test_silverman_is_the_formula():
    sample = np.random.default_rng(1).normal(size=200)
    quarter, three_quarters = np.quantile(sample, [0.25, 0.75])
    expected = 0.9 * min(sample.std(ddof=1), (three_quarters - quarter) / 1.34) * 200**-0.2
    assert silverman(sample) == pytest.approx(expected)
    assert silverman(np.full(5, 0.3)) > 0


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([[0.0, 2.0], [10.0, 12.0]], 100 / 104),  # by hand: between 4 * 25, total 36 + 16 + 16 + 36
        ([[0.0, 1.0], [0.0, 1.0]], 0.0),
        ([[0.0, 0.0], [1.0, 1.0]], 1.0),
        ([[0.0, 1.0]], None),
        ([[1.0, 1.0], [1.0, 1.0]], None),
    ],
)
def test_eta_squared(groups, expected):
    found = eta_squared(groups)
    assert found is None if expected is None else found == pytest.approx(expected)
