"""Krippendorff's alpha against the paper's own example, and against its definition over all pairs."""

from itertools import permutations

import numpy as np
import pytest

from evalign.errors import UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.raters import krippendorff_alpha

# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section C: 4 observers, 12 units; interval: .849
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)
UNITS = [[value for value in unit if value is not None] for unit in zip(*OBSERVERS, strict=True)]


def by_pairs(units):
    """1 - Do / De, pair by pair."""
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    observed = sum(sum((a - b) ** 2 for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    expected = sum((a - b) ** 2 for a, b in permutations(values, 2)) / (len(values) - 1)
    return 1 - observed / expected


def test_the_papers_example():
    alpha = krippendorff_alpha(UNITS)
    assert alpha.value == pytest.approx(0.849, abs=5e-4)
    assert alpha.n == 11  # one unit has a single value


def test_against_the_definition():
    draw = np.random.default_rng(3)
    units = [
        list(draw.normal(1000 + place % 5, 1, size=size)) for place, size in enumerate(draw.integers(1, 6, size=40))
    ]
    assert krippendorff_alpha(units).value == pytest.approx(by_pairs(units), abs=1e-9)


def test_raters_who_agree_and_raters_who_do_not():
    draw = np.random.default_rng(0)
    assert krippendorff_alpha([[place, place] for place in range(9)]).value == pytest.approx(1)
    noise = krippendorff_alpha(draw.normal(size=(400, 3)).tolist(), Resampling(samples=200))
    assert noise.low < 0 < noise.high


def test_the_interval_holds_the_value():
    alpha = krippendorff_alpha(UNITS, Resampling(samples=200))
    assert alpha.low < alpha.value <= alpha.high <= 1


@pytest.mark.parametrize("units", [[[1.0], [2.0]], [[1.0, 2.0]], [[3, 3], [3, 3]]])
def test_without_a_value(units):
    with pytest.raises(UndefinedStatisticError):
        krippendorff_alpha(units)
