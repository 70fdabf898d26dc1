"""Resampling: intervals cover what they promise, memory stays flat, shards of any number give the same bits."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from evalign.core.totals import ExactSum
from evalign.errors import InputError, LengthMismatchError, UndefinedStatisticError
from evalign.stats import bootstrap, poisson_sums
from evalign.stats.bootstrap import Resampling, bootstrap_mean, resample_weights, resampled, with_interval
from evalign.stats.estimate import Estimate
from evalign.stats.levels import Rated, agreement
from evalign.stats.poisson_sums import PoissonSums, pearson_from_sums, pearson_sums, poisson_counts, row_keys
from evalign.stats.weighted import weighted, weighted_mean


def test_resample_k_depends_on_seed_and_k_only(monkeypatch):
    whole = np.concatenate(list(resample_weights(50, Resampling(samples=40))))
    monkeypatch.setattr(bootstrap, "BLOCK_WEIGHTS", 150)
    parts = list(resample_weights(50, Resampling(samples=40)))
    assert len(parts) > 10
    assert np.array_equal(np.concatenate(parts), whole)
    assert (whole.sum(axis=1) == 50).all()
    assert not np.array_equal(whole, np.concatenate(list(resample_weights(50, Resampling(samples=40, seed=1)))))
    assert not np.array_equal(whole, np.concatenate(list(resample_weights(50, Resampling(samples=40).independent(1)))))


COVERAGE = {
    # statistic -> its true value for normal columns with correlation 0.6
    "pearson": 0.6,
    "spearman": 6 / np.pi * np.arcsin(0.6 / 2),
    "kendall": 2 / np.pi * np.arcsin(0.6),
}


@pytest.mark.parametrize(
    "name", ["pearson", *(pytest.param(name, marks=pytest.mark.slow) for name in ("spearman", "kendall"))]
)
def test_intervals_cover_the_truth(name):
    """300 simulated data sets of 200 rows: 95% intervals must hold the true value about 95 times of 100."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(300):
        x, noise = rng.normal(size=(2, 200))
        rated = Rated(x, 0.6 * x + 0.8 * noise)
        estimate = agreement(rated, name, resampling=Resampling(samples=200))
        held += estimate.low <= COVERAGE[name] <= estimate.high
    assert 0.91 <= held / 300 <= 0.98


@pytest.mark.slow
def test_drawing_documents_covers_where_drawing_rows_does_not():
    """Rows of a document share an error; only the bootstrap over documents knows."""
    rng = np.random.default_rng(12)
    held = {"documents": 0, "rows": 0}
    document = np.repeat(np.arange(40), 10)
    for _ in range(200):
        values = rng.normal(size=40)[document] + 0.5 * rng.normal(size=400)
        for name, groups in (("documents", document), ("rows", None)):
            estimate = bootstrap_mean(values, Resampling(samples=200), groups)
            held[name] += estimate.low <= 0 <= estimate.high
    assert 0.90 <= held["documents"] / 200 <= 0.98
    assert held["rows"] / 200 < 0.6


def test_undefined_resamples_are_left_out_and_flagged():
    estimate = Estimate(0.5, 10, flags=("before",))
    some = with_interval(estimate, np.array([0.4, 0.5, np.nan, 0.6]), 0.95)
    assert some.flags == ("before", "undefined on 1 of 4 resamples")
    assert 0.4 <= some.low < some.high <= 0.6
    most = with_interval(estimate, np.array([0.4, np.nan, np.nan, 0.6]), 0.95)
    assert (most.low, most.flags[-1]) == (None, "no interval")
    tiny = agreement(Rated([1, 2, 3], [1, 3, 2]), "kendall", resampling=Resampling(samples=200))
    assert any("undefined on" in flag for flag in tiny.flags)  # a draw of one row three times has no order
    assert tiny.low is not None


def test_there_is_no_mean_of_no_rows():
    with pytest.raises(InputError, match="at least one row"):
        bootstrap_mean(np.array([]), Resampling())


def test_memory_does_not_grow_with_resamples():
    x, y = np.random.default_rng(13).normal(size=(2, 3000))
    statistics = [weighted("kendall")(x, y), weighted("spearman")(x, y), weighted_mean(x)]
    peaks = []
    for samples in (110, 1100):
        tracemalloc.start()
        resampled(statistics, 3000, Resampling(samples=samples))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 1e5 < 40e6


def rows(n: int = 2000) -> tuple[list[str], np.ndarray]:
    """Ids, and values of very different sizes and signs, as scores and word counts are."""
    rng = np.random.default_rng(14)
    values = np.stack([rng.random(n), rng.normal(size=n) * 1e-9, rng.integers(0, 90, n), -1e9 * rng.random(n)], axis=1)
    return [f"wmt.{k}" for k in range(n)], values


@pytest.mark.parametrize("shards", [3, 17, 256])
def test_shards_give_the_same_bits(shards):
    ids, values = rows()
    resampling = Resampling(samples=99)
    whole = PoissonSums.empty(4, resampling).add(ids, values)
    order = np.random.default_rng(shards).permutation(len(ids))  # any row in any shard
    merged = PoissonSums.empty(4, resampling)
    for part in reversed(np.array_split(order, shards)):
        merged = merged.merge(PoissonSums.empty(4, resampling).add([ids[k] for k in part], values[part]))
    assert np.array_equal(whole.limbs, merged.limbs)
    for first, second in zip(whole.totals(), merged.totals(), strict=True):
        assert first.tobytes() == second.tobytes()
    assert whole.estimates() == merged.estimates()


def test_poisson_sums_are_exact():
    ids, values = rows(500)
    resampling = Resampling(samples=10)
    counts, sums = PoissonSums.empty(4, resampling).add(ids, values).totals()
    weights = poisson_counts(row_keys(ids), resampling)
    assert counts.tolist() == [500, *weights.sum(axis=1, dtype=int).tolist()]
    for column in range(4):
        exact = ExactSum()
        for value in values[:, column].tolist():
            exact.add(value)
        assert sums[0, column] == pytest.approx(exact.value, rel=1e-15)
        assert sums[1:, column] == pytest.approx(weights.astype(float) @ values[:, column], rel=1e-9)
    halves = [0.5, -0.25, 3.0, 2.0**-80, -(2.0**39)]
    total = PoissonSums.empty(1, resampling).add(range(5), halves).totals()[1][0, 0]
    assert total == 3.25 + 2.0**-80 - 2.0**39
    tiny = PoissonSums.empty(1, resampling).add(range(3), [2.0**-80, 2.0**-79, 2.0**-82]).totals()[1][0, 0]
    assert tiny == 3 * 2.0**-80  # what is smaller is cut off


def test_poisson_counts_are_poisson():
    counts = poisson_counts(row_keys(range(4000)), Resampling(samples=101))
    assert counts.shape == (101, 4000)
    expected = np.exp(-1) / np.array([1, 1, 2, 6, 24, 120])
    for axis in (counts, counts[:, :40], counts[:4]):  # all, few rows, few resamples
        shares = [(axis == k).mean() for k in range(6)]
        assert shares == pytest.approx(expected, abs=5 * 0.5 / axis.size**0.5)
    assert np.abs(np.corrcoef(counts[:30]) - np.eye(30)).max() < 5 / 4000**0.5
    assert np.abs(np.corrcoef(counts[:, :30].T) - np.eye(30)).max() < 5 / 101**0.5
    assert not np.array_equal(counts, poisson_counts(row_keys(range(4000)), Resampling(samples=101, seed=1)))


def test_the_counts_of_all_parts_are_one_on_average():
    counts = poisson_sums._COUNT_OF_PART
    assert (len(counts), int(counts.sum()), int(counts.max())) == (2**16, 2**16, 8)
    for count in range(2):
        assert (counts == count).mean() == pytest.approx(np.exp(-1), abs=5 / 2**16)


def test_poisson_counts_stay_what_they_are():
    """Shards of one job may run on several machines and versions."""
    found = poisson_counts(row_keys(["a", "b", 3]), Resampling(samples=6, seed=7)).tolist()
    assert found == [[2, 2, 0], [2, 0, 0], [1, 1, 0], [0, 3, 1], [3, 0, 0], [0, 0, 1]]


def test_poisson_interval_is_that_of_the_bootstrap():
    ids, values = rows()
    poisson = PoissonSums.empty(4, Resampling(samples=2000)).add(ids, values).estimates()[0]
    plain = bootstrap_mean(values[:, 0], Resampling(samples=2000))
    assert poisson.value == pytest.approx(plain.value)
    assert (poisson.low, poisson.high) == pytest.approx((plain.low, plain.high), abs=0.1 * (plain.high - plain.low))


def test_rows_of_one_id_are_drawn_together():
    weights = poisson_counts(row_keys(["d1", "d1", "d2"]), Resampling(samples=50))
    assert np.array_equal(weights[:, 0], weights[:, 1])
    assert not np.array_equal(weights[:, 0], weights[:, 2])


def test_pearson_from_shards():
    x, noise = np.random.default_rng(15).normal(size=(2, 1000))
    sums = PoissonSums.empty(5, Resampling(samples=300)).add(range(1000), pearson_sums(x, x + noise))
    estimate = sums.estimate(pearson_from_sums)
    assert estimate.value == pytest.approx(np.corrcoef(x, x + noise)[0, 1], abs=1e-12)
    assert estimate.low < estimate.value < estimate.high < estimate.low + 0.1
    assert np.isnan(pearson_from_sums(pearson_sums(np.full(4, 0.1), np.arange(4.0)).sum(axis=0), 4))


def test_bad_poisson_rows():
    sums = PoissonSums.empty(2, Resampling(samples=3))
    for message, ids, values in (
        ("finite", [1], [[float("nan"), 1]]),
        ("below 2.40", [1], [[2.0**40, 1]]),
        ("must have 2 values", [1], [[1, 2, 3]]),
    ):
        with pytest.raises(InputError, match=message):
            sums.add(ids, values)
    with pytest.raises(LengthMismatchError):
        sums.add([1, 2], [[1, 2]])
    for other in (PoissonSums.empty(1, Resampling(samples=3)), PoissonSums.empty(2, Resampling(samples=3, seed=1))):
        with pytest.raises(InputError, match="same width, seed"):
            sums.merge(other)
    with pytest.raises(UndefinedStatisticError, match="no rows"):
        sums.estimates()
