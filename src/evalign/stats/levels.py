"""Agreement with people at the level of segments, systems or documents, for all rows or group by group.

In: scores and ratings of the same rows, with the document and the system of each row where a level needs them. Out: an
`Estimate`, with an interval over documents (over rows where there are none) if there is a resampling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling, resampled, with_interval
from evalign.stats.correlation import correlation
from evalign.stats.estimate import FEWEST_ROWS, Estimate, Labels, codes, lookup, paired, parallel, rows_by_code
from evalign.stats.row_correlations import correlate_rows
from evalign.stats.weighted import Weighted, mean_of_defined, ratio, weighted, weighted_mean
from evalign.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Rated:
    """Scores and ratings of the same rows. Documents are what the bootstrap draws; systems are what is ranked."""

    scores: npt.ArrayLike
    human: npt.ArrayLike
    documents: Labels | None = None
    systems: Labels | None = None


@dataclass(frozen=True, eq=False)
class Grouped:
    """One estimate per group, undefined ones flagged, and their mean."""

    groups: dict[str, Estimate]
    mean: Estimate


def agreement(
    rated: Rated, statistic: str = "pearson", level: str = "segment", resampling: Resampling | None = None
) -> Estimate:
    """The named correlation (`correlation.CORRELATIONS`) at one of `LEVELS`."""
    prepared = _prepared(rated, statistic, level)
    if resampling is None:
        return prepared.estimate
    return with_interval(prepared.estimate, prepared.draws(resampling), resampling.confidence)


def agreement_draws(rated: Rated, statistic: str, level: str, resampling: Resampling) -> Floats:
    """Its value on each resample, NaN where undefined; paired between metrics on the same rows and seed."""
    return _prepared(rated, statistic, level).draws(resampling)


def agreement_by(
    rated: Rated, by: Labels, statistic: str = "pearson", level: str = "segment", resampling: Resampling | None = None
) -> Grouped:
    """The agreement within each group of rows, such as language pairs, and the mean over the groups that have one.

    Groups are resampled independently; the interval is that of the mean over the groups defined on each resample.
    """
    scores, human = paired(rated.scores, rated.human)
    group_of_row, names = codes(by, "groups", len(scores))
    estimates: dict[str, Estimate] = {}
    draws: list[Floats] = []
    rated = replace(rated, scores=scores, human=human)
    for code, name in enumerate(names):
        rows = np.flatnonzero(group_of_row == code)
        try:
            prepared = _prepared(_part(rated, rows), statistic, level)
        except UndefinedStatisticError as error:
            estimates[name] = Estimate(None, len(rows), flags=(str(error),))
            continue
        estimates[name] = prepared.estimate
        if resampling is not None:
            draws.append(prepared.draws(resampling.independent(resampling.stream + code)))
            estimates[name] = with_interval(prepared.estimate, draws[-1], resampling.confidence)
    values = [estimate.value for estimate in estimates.values() if estimate.value is not None]
    left_out = len(estimates) - len(values)
    flags = (f"left out: {left_out} groups without a value",) if left_out else ()
    mean = Estimate(float(np.mean(values)) if values else None, len(values), flags=flags)
    if resampling is not None and values:
        mean = with_interval(mean, mean_of_defined(np.array(draws)), resampling.confidence)
    return Grouped(estimates, mean)


def level_function(rated: Rated, statistic: str, level: str) -> Callable[[Floats], Floats]:
    """A function from other scores of the same rows, (r, n), to their agreement (r,): for permutation tests."""
    _, human = paired(rated.scores, rated.human)
    correlation(statistic)
    if level == "segment":
        all_rows = np.ones((1, len(human)))
        return lambda scores: np.array([weighted(statistic)(row, human)(all_rows)[0] for row in scores])
    if level == "system":
        sums = _indicators(_labels(rated.systems, "systems", level, len(human))[0])
        sums = sums / sums.sum(axis=0)
        return lambda scores: correlate_rows(statistic, scores @ sums, human @ sums)
    lookup(_PREPARED, level, "level")
    documents = rows_by_code(_labels(rated.documents, "documents", level, len(human))[0])
    return lambda scores: mean_of_defined(
        np.stack([correlate_rows(statistic, scores[:, rows], human[rows]) for rows in documents])
    )


@dataclass(frozen=True, eq=False)
class _Prepared:
    """An estimate and what is needed to compute it again on resamples of `units`."""

    estimate: Estimate
    statistic: Weighted
    units: int
    unit_of_row: Ints | None = None

    def draws(self, resampling: Resampling) -> Floats:
        return resampled([self.statistic], self.units, resampling, self.unit_of_row)[:, 0]


def _prepared(rated: Rated, statistic: str, level: str) -> _Prepared:
    scores, human = paired(rated.scores, rated.human)
    correlation(statistic)
    return lookup(_PREPARED, level, "level")(rated, scores, human, statistic)


def _segment(rated: Rated, scores: Floats, human: Floats, statistic: str) -> _Prepared:
    estimate = Estimate(correlation(statistic)(scores, human), len(scores))
    compute = weighted(statistic)(scores, human)
    if rated.documents is None:
        return _Prepared(estimate, compute, len(scores))
    document, names = codes(rated.documents, "documents", len(scores))
    return _Prepared(_flagged_if_alone(estimate, names), compute, len(names), document)


def _system(rated: Rated, scores: Floats, human: Floats, statistic: str) -> _Prepared:
    system, names = _labels(rated.systems, "systems", "system", len(scores))
    if len(names) < FEWEST_ROWS:
        raise UndefinedStatisticError(
            f"system-level agreement needs at least {FEWEST_ROWS} systems, but there are {len(names)}"
        )
    belongs = _indicators(system)
    sums = np.concatenate([belongs * scores[:, None], belongs * human[:, None], belongs], axis=1)
    means = sums.sum(axis=0).reshape(3, -1)
    estimate = Estimate(correlation(statistic)(means[0] / means[2], means[1] / means[2]), len(names))
    if rated.documents is not None:
        document, documents = codes(rated.documents, "documents", len(scores))
        sums = _indicators(document).T @ sums
        estimate = _flagged_if_alone(estimate, documents)

    def value(weights: Floats) -> Floats:
        score_sums, human_sums, rows = np.split(weights @ sums, 3, axis=1)
        return correlate_rows(statistic, ratio(score_sums, rows), ratio(human_sums, rows))

    return _Prepared(estimate, value, len(sums))


def _summary(rated: Rated, scores: Floats, human: Floats, statistic: str) -> _Prepared:
    document, _ = _labels(rated.documents, "documents", "summary", len(scores))
    values, small, constant = [], 0, 0
    for rows in rows_by_code(document):
        if len(rows) < FEWEST_ROWS:
            small += 1
            continue
        try:
            values.append(correlation(statistic)(scores[rows], human[rows]))
        except UndefinedStatisticError:
            constant += 1
    flags = tuple(
        f"left out: {count} documents {why}"
        for count, why in ((small, f"of fewer than {FEWEST_ROWS} rows"), (constant, "with constant scores"))
        if count
    )
    if not values:
        raise UndefinedStatisticError(
            f"no document has a correlation ({'; '.join(flags)}); summary level needs several rows in each"
        )
    estimate = Estimate(float(np.mean(values)), len(values), flags=flags)
    return _Prepared(estimate, weighted_mean(np.array(values)), len(values))


_PREPARED: dict[str, Callable[[Rated, Floats, Floats, str], _Prepared]] = {
    "segment": _segment,
    "system": _system,
    "summary": _summary,
}
LEVELS = tuple(_PREPARED)


def _flagged_if_alone(estimate: Estimate, documents: list[str]) -> Estimate:
    alone = "one document only: its interval has no width"
    return replace(estimate, flags=(*estimate.flags, alone)) if len(documents) == 1 else estimate


def _part(rated: Rated, rows: Ints) -> Rated:
    """Some of the rows."""
    columns = {name: values for name, values in vars(rated).items() if values is not None}
    for name, values in columns.items():
        parallel(values, name, columns["scores"], "scores")
    return Rated(**{name: [values[row] for row in rows] for name, values in columns.items()})


def _labels(labels: Labels | None, name: str, level: str, rows: int) -> tuple[Ints, list[str]]:
    if labels is None:
        raise InputError(f"{level}-level agreement needs to know the {name}: one label per row")
    return codes(labels, name, rows)


def _indicators(code_of_row: Ints) -> Floats:
    belongs: Floats = (code_of_row[:, None] == np.arange(code_of_row.max() + 1)).astype(np.float64)
    return belongs
