"""Numbers that differ only in their last bits are ties: in ranks, in tables, among ROUGE's references."""

import itertools

import numpy as np
import pytest
from scipy import stats

import evalign
from evalign.analysis.rated_tables import percentiles
from evalign.stats.correlation import correlate_rows, kendall, spearman
from evalign.stats.estimate import merged
from evalign.stats.significance import clusters

# The same F1 by two ways of computing it: many of the doubles differ.
FRACTIONS = [(hits, own, other) for own, other in itertools.product(range(3, 20), repeat=2) for hits in (1, 2, 3)]
BY_PARTS = np.array([2 * (h / a) * (h / b) / (h / a + h / b) for h, a, b in FRACTIONS])
AT_ONCE = np.array([2 * h / (a + b) for h, a, b in FRACTIONS])


def test_the_same_fraction_by_two_ways_is_one_number():
    assert (BY_PARTS != AT_ONCE).sum() > 20
    both = merged(np.concatenate([BY_PARTS, AT_ONCE]))
    assert (both[: len(AT_ONCE)] == both[len(AT_ONCE) :]).all()


def test_neighbours_become_the_smallest_of_them_wherever_they_stand():
    values = np.array([[0.3, 1.0, 0.1 + 0.2, 1.0 - 2**-53], [5.0, -0.3, 5.0, -(0.1 + 0.2)]])
    assert merged(values).tolist() == [[0.3, 1.0 - 2**-53, 0.3, 1.0 - 2**-53], [5.0, -(0.1 + 0.2), 5.0, -(0.1 + 0.2)]]


@pytest.mark.parametrize(
    "values",
    [[0.0, -0.0, 5e-324, 1e300, 1e-300], [], [2.5], [-np.inf, 1.0, -np.inf, np.inf], [0.3, 0.3 + 1e-13, 0.3 - 1e-13]],
)
def test_values_that_differ_by_more_stay_as_they_are(values):
    assert merged(np.array(values)).tolist() == values


@pytest.mark.parametrize(("ours", "theirs"), [(spearman, stats.spearmanr), (kendall, stats.kendalltau)])
def test_ranks_do_not_depend_on_how_a_fraction_was_computed(ours, theirs):
    human = np.random.default_rng(3).normal(size=len(FRACTIONS)) + AT_ONCE
    mixed = np.where(np.arange(len(FRACTIONS)) % 2, BY_PARTS, AT_ONCE)
    exact = [h * 10_000_000 // (a + b) for h, a, b in FRACTIONS]  # whole numbers in the same order
    assert ours(mixed, human) == ours(AT_ONCE, human) == pytest.approx(theirs(exact, human)[0], abs=1e-12)


@pytest.mark.parametrize("name", ["spearman", "kendall", "kendall-c"])
def test_rows_at_once_see_the_same_ties(name):
    human = np.random.default_rng(4).normal(size=len(FRACTIONS))
    values = correlate_rows(name, np.stack([BY_PARTS, AT_ONCE]), human)
    assert values[0] == values[1]


def test_percentiles_of_equal_scores_are_equal():
    assert percentiles(np.array([0.1 + 0.2, 0.3, 0.9])).tolist() == [25.0, 25.0, 100.0]


def test_clusters_keep_the_order_of_equal_values():
    p_values = np.array([[1, 0.01, 1], [0.9, 1, 0.9], [1, 0.01, 1]])
    assert clusters([0.1 + 0.2, 0.1, 0.3], p_values) == clusters([0.3, 0.1, 0.1 + 0.2], p_values) == [1, 2, 1]


def test_the_first_of_equally_good_references_is_taken():
    """F1 is 2/3 against both, but P and R are exchanged; which double is larger must not decide."""
    candidate, longer, shorter = "a b c d", "a b c d e f g h", "a b"
    rouge = evalign.metric("rouge1")
    first = rouge.score([candidate, candidate], [[longer, shorter], [shorter, longer]])
    assert first["f1"].tolist() == pytest.approx([2 / 3, 2 / 3])
    assert first["recall"].tolist() == [0.5, 1.0]
