"""Segment, system and summary level, and groups: against plain loops over scipy; what is undefined is flagged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evalign.errors import InputError, LengthMismatchError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import Rated, agreement, agreement_by, agreement_draws, level_function

SYSTEMS, DOCUMENTS = 6, 40
BY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.fixture
def table() -> Rated:
    rng = np.random.default_rng(0)
    quality = np.linspace(-1, 1, SYSTEMS) + rng.normal(size=(DOCUMENTS, SYSTEMS))
    noisy = np.round(quality + rng.normal(size=quality.shape), 1)
    return Rated(noisy.ravel(), quality.ravel(), *labels())


def labels() -> tuple[list[str], list[str]]:
    """Document and system of each row, in the order of their names."""
    return [f"d{d:02}" for d in range(DOCUMENTS) for _ in range(SYSTEMS)], [*"uvwxyz"] * DOCUMENTS


@pytest.mark.parametrize("name", BY)
def test_levels_against_loops(table, name):
    scores, human = (column.reshape(DOCUMENTS, SYSTEMS) for column in (table.scores, table.human))
    assert agreement(table, name).value == pytest.approx(BY[name](table.scores, table.human)[0])
    assert agreement(table, name, "system").value == pytest.approx(BY[name](scores.mean(0), human.mean(0))[0])
    per_document = [BY[name](*pair)[0] for pair in zip(scores, human, strict=True)]
    summary = agreement(table, name, "summary")
    assert summary.value == pytest.approx(np.mean(per_document))
    assert [agreement(table, name, level).n for level in ("segment", "system", "summary")] == [240, 6, 40]


@pytest.mark.parametrize("level", ["segment", "system", "summary"])
@pytest.mark.parametrize("name", [*BY, "kendall-c"])
def test_draws_are_the_statistic_on_drawn_documents(table, name, level):
    """Documents that are drawn twice are two documents."""
    resampling = Resampling(samples=20, seed=3)
    draws = agreement_draws(table, name, level, resampling)
    scores, human = (column.reshape(DOCUMENTS, SYSTEMS) for column in (table.scores, table.human))
    for k in range(20):
        drawn = resampling.generator(k).integers(DOCUMENTS, size=DOCUMENTS)
        again = Rated(scores[drawn].ravel(), human[drawn].ravel(), *labels())
        assert draws[k] == pytest.approx(agreement(again, name, level).value, abs=1e-10)


def test_intervals_hold_the_value_and_rows_are_drawn_where_there_are_no_documents(table):
    for level in ("segment", "system", "summary"):
        estimate = agreement(table, "spearman", level, Resampling(samples=300))
        assert estimate.low < estimate.value <= estimate.high
    rows = agreement(Rated(table.scores, table.human), "spearman", resampling=Resampling(samples=300))
    assert rows.low < rows.value < rows.high
    by_system = Rated(table.scores, table.human, systems=table.systems)
    assert agreement(by_system, "pearson", "system", Resampling(samples=50)).low is not None


def test_the_order_of_rows_does_not_matter(table):
    shuffled = np.random.default_rng(9).permutation(SYSTEMS * DOCUMENTS)
    other = Rated(*(np.asarray(c)[shuffled] for c in (table.scores, table.human, table.documents, table.systems)))
    for level in ("segment", "system", "summary"):
        first, second = (agreement(rated, "kendall", level, Resampling(samples=50)) for rated in (table, other))
        assert (first.value, first.low, first.high) == pytest.approx((second.value, second.low, second.high), abs=1e-12)


def test_level_function_gives_many_agreements_at_once(table):
    others = np.random.default_rng(4).normal(size=(5, SYSTEMS * DOCUMENTS))
    for level in ("segment", "system", "summary"):
        values = level_function(table, "kendall", level)(others)
        expected = [agreement(Rated(row, table.human, table.documents, table.systems), "kendall", level).value
                    for row in others]  # fmt: skip
        assert values == pytest.approx(expected)


def test_documents_without_a_correlation_are_flagged_and_counted():
    scores = [1, 2, 3, 5, 5, 5, 1, 2, 4, 4, 1]
    human = [1, 2, 3, 1, 2, 3, 3, 2, 1, 1, 1]
    documents = [*"aaabbbccc", "d", "d"]
    estimate = agreement(Rated(scores, human, documents), "spearman", "summary", Resampling(samples=50))
    assert (estimate.value, estimate.n) == (pytest.approx(0.0), 2)
    assert estimate.flags == (
        "left out: 1 documents of fewer than 3 rows",
        "left out: 1 documents with constant scores",
    )
    with pytest.raises(UndefinedStatisticError, match="no document has a correlation"):
        agreement(Rated([1, 2, 3], [1, 2, 3], "abc"), "pearson", "summary")


def test_groups_are_flagged_not_silent():
    rng = np.random.default_rng(6)
    human = rng.normal(size=66)
    scores = human + rng.normal(size=66)
    by = ["de-en"] * 30 + ["cs-en"] * 30 + ["one-row"] + ["flat"] * 5
    human[61:] = 0.5
    grouped = agreement_by(Rated(scores, human), by, "pearson", resampling=Resampling(samples=200))
    assert list(grouped.groups) == ["cs-en", "de-en", "flat", "one-row"]
    assert grouped.groups["de-en"].value == pytest.approx(stats.pearsonr(scores[:30], human[:30])[0])
    for name, why in {"one-row": "at least 3 rows, but there are 1", "flat": "human scores are constant"}.items():
        estimate = grouped.groups[name]
        assert estimate.value is estimate.low is estimate.high is None
        assert why in estimate.flags[0]
    assert grouped.mean.value == pytest.approx(np.mean([grouped.groups[lp].value for lp in ("cs-en", "de-en")]))
    assert grouped.mean.flags == ("left out: 2 groups without a value",)
    assert grouped.mean.low < grouped.mean.value < grouped.mean.high
    nothing = agreement_by(Rated([1, 2, 3], [1, 2, 3]), "abc", resampling=Resampling(samples=5))
    assert (nothing.mean.value, nothing.mean.n) == (None, 0)


def test_groups_are_drawn_independently():
    """The same data twice: the mean of two independent groups has an interval narrower by the root of two."""
    x, y = np.random.default_rng(8).normal(size=(2, 50))
    twice = Rated(np.tile(x, 2), np.tile(y, 2))
    grouped = agreement_by(twice, ["a"] * 50 + ["b"] * 50, resampling=Resampling(samples=2000))
    mean, one = (estimate.high - estimate.low for estimate in (grouped.mean, grouped.groups["a"]))
    assert mean == pytest.approx(one / 2**0.5, rel=0.1)


def test_groups_keep_their_documents_and_systems(table):
    half = np.arange(len(table.documents)) // SYSTEMS % 2
    grouped = agreement_by(table, half, "kendall", "summary")
    assert [estimate.n for estimate in grouped.groups.values()] == [20, 20]
    assert agreement_by(table, half, "kendall", "system").groups["1"].n == SYSTEMS


def test_bad_tables(table):
    for message, ask in {
        "needs to know the systems": lambda: agreement(Rated([1, 2, 3], [1, 2, 3]), "pearson", "system"),
        "needs to know the documents": lambda: agreement(Rated([1, 2, 3], [1, 2, 3]), "pearson", "summary"),
        "at least 3 systems": lambda: agreement(Rated([1, 2, 3], [1, 2, 3], None, "aab"), "pearson", "system"),
        "unknown level 'row'": lambda: agreement(table, "pearson", "row"),
        "unknown level 'rows'": lambda: level_function(table, "pearson", "rows"),
        "unknown correlation": lambda: agreement(table, "tau", "system"),
        "samples=0": lambda: Resampling(samples=0),
        "confidence=95": lambda: Resampling(confidence=95),
    }.items():
        with pytest.raises(InputError, match=message):
            ask()
    for labels in ({"documents": "ab"}, {"systems": "ab"}):
        with pytest.raises(LengthMismatchError):
            agreement_by(Rated([1, 2, 3], [1, 2, 3], **labels), [0, 0, 0])
    with pytest.raises(LengthMismatchError, match="groups"):
        agreement_by(Rated([1, 2, 3], [1, 2, 3]), [0, 0])


def test_one_document_only_is_flagged():
    estimate = agreement(Rated([1, 2, 4, 3], [1, 2, 3, 4], "aaaa"), "pearson", resampling=Resampling(samples=10))
    assert estimate.flags == ("one document only: its interval has no width",)
    assert estimate.low == pytest.approx(estimate.high)


def test_small_groups_leave_the_mean_its_interval():
    random = np.random.default_rng(3)
    human = random.normal(size=60)
    rated = Rated(human + random.normal(size=60), human)
    mean = agreement_by(rated, np.arange(60) // 3, resampling=Resampling(samples=50)).mean
    assert mean.low is not None
    assert mean.low < mean.value < mean.high
