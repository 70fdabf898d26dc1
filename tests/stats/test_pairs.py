"""Pairwise accuracy, daRR and soft pairwise accuracy: worked examples, and brute force from the definitions."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

from evalign.errors import InputError, LengthMismatchError, UndefinedStatisticError
from evalign.stats import pairs
from evalign.stats.bootstrap import Resampling
from evalign.stats.pairs import darr, soft_pairwise_accuracy, system_p_values, tie_calibrated_accuracy

# (scores, human, best accuracy, its threshold), worked by hand: six pairs each; the first two are also the examples in
# the tests of mt-metrics-eval.
WORKED = [
    ([0, 2, 6, 8], [1, 2, 3, 4], 6 / 6, 0),
    ([0, 2, 6, 8], [1, 1, 1, 4], 4 / 6, 4),
    ([0, 0, 6, 8], [1, 1, 3, 3], 6 / 6, 2),
    ([8, 6, 2, 0], [1, 2, 3, 4], 0 / 6, 0),
    ([5, 5, 5, 5], [2, 2, 2, 2], 6 / 6, 0),
]


@pytest.mark.parametrize(("scores", "human", "accuracy", "epsilon"), WORKED)
def test_tie_calibration_worked_by_hand(scores, human, accuracy, epsilon):
    found = tie_calibrated_accuracy(scores, human)
    assert found.accuracy.value == pytest.approx(accuracy)
    assert (found.epsilon, found.pairs) == (epsilon, 6)


def brute_force(scores, human, items) -> tuple[float, float]:
    """The definition: every threshold, every pair, the mean over items; the first best."""
    by_item = defaultdict(list)
    for i, j in itertools.combinations(range(len(scores)), 2):
        if items is None or items[i] == items[j]:
            by_item[None if items is None else items[i]].append((i, j))
    best = (-1.0, 0.0)
    for epsilon in sorted({0.0} | {abs(scores[i] - scores[j]) for found in by_item.values() for i, j in found}):
        accuracies = []
        for found in by_item.values():
            right = 0
            for i, j in found:
                metric = 0 if abs(scores[i] - scores[j]) <= epsilon else np.sign(scores[i] - scores[j])
                right += metric == np.sign(human[i] - human[j])
            accuracies.append(right / len(found))
        if np.mean(accuracies) > best[0] + 1e-12:
            best = (float(np.mean(accuracies)), epsilon)
    return best


@pytest.mark.parametrize(("block", "cases"), [(1, 8), (40, 20), (10**6, 150)])
def test_tie_calibration_is_the_brute_force_one(block, cases, monkeypatch):
    """Small blocks, so that the search in two passes is what runs."""
    monkeypatch.setattr(pairs, "BLOCK_PAIRS", block)
    rng = np.random.default_rng(block)
    for case in range(cases):
        n = int(rng.integers(4, 24))
        scores = rng.normal(size=n) if case % 3 else rng.integers(0, 6, size=n).astype(float)
        human = np.round(scores * rng.normal() + rng.normal(size=n))
        items = [0, 0, *rng.integers(0, 4, size=n - 2)] if case % 2 else None
        found = tie_calibrated_accuracy(scores, human, items)
        assert (found.accuracy.value, found.epsilon) == pytest.approx(brute_force(scores, human, items), abs=1e-12)


def test_items_of_one_row_are_left_out_and_counted():
    estimate = tie_calibrated_accuracy([1, 2, 3], [1, 2, 3], items=["a", "a", "b"]).accuracy
    assert (estimate.value, estimate.n, estimate.flags) == (1.0, 1, ("left out: 1 items of one row",))
    with pytest.raises(UndefinedStatisticError, match="no item has two rows"):
        tie_calibrated_accuracy([1, 2, 3], [1, 2, 3], items=["a", "b", "c"])


def test_accuracy_interval_is_one_over_items():
    rng = np.random.default_rng(5)
    human = rng.normal(size=400)
    found = tie_calibrated_accuracy(human + rng.normal(size=400), human, np.repeat(np.arange(50), 8), Resampling(500))
    assert found.accuracy.low < found.accuracy.value < found.accuracy.high < found.accuracy.low + 0.1
    with pytest.raises(InputError, match="over items"):
        tie_calibrated_accuracy(human, human, resampling=Resampling(10))


def test_darr_worked_by_hand():
    """Five pairs: three right, one wrong, one tie that counts as wrong: (3 - 2) / 5."""
    assert darr([0.9, 0.8, 0.7, 0.2, 0.5], [0.1, 0.2, 0.3, 0.4, 0.5]).value == pytest.approx(1 / 5)
    estimate = darr(np.arange(300) % 3, np.zeros(300), Resampling(200))
    assert estimate.value == pytest.approx(1 / 3)
    assert estimate.low < 1 / 3 < estimate.high
    with pytest.raises(UndefinedStatisticError, match="at least one pair"):
        darr([], [])
    with pytest.raises(LengthMismatchError, match="2 and 1"):
        darr([1, 2], [1])
    with pytest.raises(InputError, match="worse has 1 of 2"):
        darr([1, 2], [1, float("nan")])


def exact_p(first: np.ndarray, second: np.ndarray) -> float:
    """All 2^n sign flips."""
    difference = first - second
    flips = np.array(list(itertools.product((1, -1), repeat=len(first)))) @ difference
    return float((flips >= difference.sum() - 1e-9).mean())


def test_soft_pairwise_accuracy_from_its_definition():
    rng = np.random.default_rng(7)
    systems, items = 4, 10
    human = rng.normal(size=(items, systems)) + np.arange(systems) / 4
    scores = human + rng.normal(size=(items, systems))
    expected = np.mean([
        1 - abs(exact_p(human[:, i], human[:, j]) - exact_p(scores[:, i], scores[:, j]))
        for i, j in itertools.combinations(range(systems), 2)
    ])  # fmt: skip
    item, system = (grid.ravel() for grid in np.mgrid[:items, :systems])
    ask = Resampling(samples=8_000)
    assert soft_pairwise_accuracy(scores.ravel(), human.ravel(), item, system, ask).value == pytest.approx(
        expected, abs=0.015
    )
    same = soft_pairwise_accuracy(human.ravel(), human.ravel(), item, system)
    assert (same.value, same.n) == (1.0, 6)
    shuffled = rng.permutation(items * systems)
    again = soft_pairwise_accuracy(*(column.ravel()[shuffled] for column in (scores, human, item, system)), ask)
    assert again == soft_pairwise_accuracy(scores.ravel(), human.ravel(), item, system, ask)


def test_system_p_values_against_all_permutations():
    """The second table has tenths, where many permutations give exactly what was observed."""
    rng = np.random.default_rng(8)
    for table in (rng.normal([0, 0.3, 0.8], size=(9, 3)), rng.integers(0, 3, size=(9, 3)) / 10):
        found = system_p_values(table, Resampling(samples=20_000))
        for i, j in itertools.permutations(range(3), 2):
            assert found[i, j] == pytest.approx(exact_p(table[:, i], table[:, j]), abs=4 * 0.5 / 20_000**0.5)


def test_soft_pairwise_accuracy_says_what_it_cannot_use():
    flags = soft_pairwise_accuracy([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [0, 0, 1, 1, 2], "ababa").flags
    assert flags == ("left out: 1 items that some system lacks",)
    for message, rows in {
        "at least 2 systems": ([1, 2], [1, 2], [0, 1], "aa"),
        "several rows of system 'a'": ([1, 2, 3], [1, 2, 3], [0, 0, 0], "aab"),
        "scored for every system": ([1, 2], [1, 2], [0, 1], "ab"),
    }.items():
        with pytest.raises(InputError, match=message):
            soft_pairwise_accuracy(*rows)
