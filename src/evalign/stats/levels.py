"""Agreement with people at the level of segments, systems or documents, for all rows or group by group.

In: scores and ratings of the same rows, with the document and the system of each row where a level needs them. Out: an
`Estimate`, with an interval over documents (over rows where there are none) if there is a resampling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from evalign.core import Floats, Ints
from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.bootstrap import ResampledStatistic, Resampling, with_interval
from evalign.stats.correlation import CORRELATIONS, correlate_rows, correlation
from evalign.stats.estimate import (
    MIN_ROWS,
    Estimate,
    Labels,
    codes,
    lookup,
    paired,
    parallel,
    rows_by_code,
    varied,
)
from evalign.stats.pairs import PAIR_STATISTICS, pairs_of_items, pairs_of_systems, pdp_function, soft_pairwise_accuracy
from evalign.stats.weighted import mean_of_defined, ratio, weighted, weighted_mean


@dataclass(frozen=True, eq=False)
class Rated:
    """Scores and ratings of the same rows. The bootstrap draws documents; system level ranks systems."""

    scores: npt.ArrayLike
    human: npt.ArrayLike
    documents: Labels | None = None
    systems: Labels | None = None
    items: Labels | None = None  # statistics of pairs compare rows of the same item, usually of one source text


@dataclass(frozen=True)
class Averaging:
    """Averaging over groups and documents: `micro` weighs by rows; smaller groups than `fewest` are left out.

    mt-metrics-eval leaves out groups of one row only (`fewest=2`), where each correlation is 1 or -1. `zeros` counts a
    group in which scores or ratings are constant as 0, as its replace_nans_with_zeros; else it is left out.
    """

    micro: bool = False
    fewest: int = MIN_ROWS
    zeros: bool = False

    def sizes(self, rows: Sequence[int]) -> Floats | None:
        """Return the weight of each group from its number of rows; None if all weigh the same."""
        return np.array(rows, dtype=np.float64) if self.micro else None

    def filled(self, values: Floats) -> Floats:
        """Return the values of groups, NaN replaced by 0 if constant groups count as 0."""
        return np.nan_to_num(values) if self.zeros else values


MACRO = Averaging()


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """Estimates per group, undefined ones flagged, and their mean."""

    groups: dict[str, Estimate]
    mean: Estimate


def agreement(
    rated: Rated,
    statistic: str = "pearson",
    level: str = "segment",
    resampling: Resampling | None = None,
    averaging: Averaging = MACRO,
) -> Estimate:
    """Compute a correlation (`correlation.CORRELATIONS`) or a statistic of pairs (`PAIR_STATISTICS`) at a level."""
    prepared = _prepared(rated, statistic, level, averaging)
    if resampling is None:
        return prepared.estimate
    return with_interval(prepared.estimate, prepared.draws(resampling), resampling.confidence)


def agreement_draws(rated: Rated, statistic: str, level: str, resampling: Resampling) -> Floats:
    """Return the agreement on each resample, NaN where undefined; paired between metrics on the same rows."""
    return _prepared(rated, statistic, level, MACRO).draws(resampling)


def agreement_by(
    rated: Rated,
    by: Labels,
    statistic: str = "pearson",
    level: str = "segment",
    resampling: Resampling | None = None,
    averaging: Averaging = MACRO,
) -> GroupEstimates:
    """Compute the agreement within each group of rows, such as language pairs, and the mean over groups that have one.

    Groups are resampled independently; the interval is that of the mean over the groups defined on each resample.
    """
    scores, human = paired(rated.scores, rated.human, averaging.fewest)
    group_of_row, names = codes(by, "groups", len(scores))
    estimates: dict[str, Estimate] = {}
    draws: list[Floats] = []
    sizes: list[int] = []
    rated = replace(rated, scores=scores, human=human)
    for code, name in enumerate(names):
        rows = np.flatnonzero(group_of_row == code)
        try:
            prepared = _prepared(_selected(rated, rows), statistic, level, averaging)
        except UndefinedStatisticError as error:
            counted = averaging.zeros and len(rows) >= averaging.fewest
            estimates[name] = Estimate(0.0 if counted else None, len(rows), flags=(str(error),))
            sizes += [len(rows)] if counted else []
            draws += [np.zeros(resampling.samples)] if counted and resampling is not None else []
            continue
        estimates[name] = prepared.estimate
        sizes.append(len(rows))
        if resampling is not None:
            draws.append(averaging.filled(prepared.draws(resampling.independent(resampling.stream + code))))
            estimates[name] = with_interval(prepared.estimate, draws[-1], resampling.confidence)
    values = [estimate.value for estimate in estimates.values() if estimate.value is not None]
    left_out = len(estimates) - len(values)
    flags = (f"left out: {left_out} groups without a value",) if left_out else ()
    weights = averaging.sizes(sizes)
    mean = Estimate(float(np.average(values, weights=weights)) if values else None, len(values), flags=flags)
    if resampling is not None and values:
        mean = with_interval(mean, mean_of_defined(np.array(draws), weights), resampling.confidence)
    return GroupEstimates(estimates, mean)


def soft_agreement(
    rated: Rated, by: Labels | None, resampling: Resampling, averaging: Averaging = MACRO
) -> GroupEstimates:
    """Compute soft pairwise accuracy within each group of rows and its mean; of all rows without groups."""
    if rated.items is None or rated.systems is None:
        raise InputError("soft pairwise accuracy needs to know the item and the system of each row")
    scores, human, items, systems = map(np.asarray, (rated.scores, rated.human, rated.items, rated.systems))
    if by is None:
        return GroupEstimates({}, soft_pairwise_accuracy(scores, human, items, systems, resampling))
    group_of_row, names = codes(by, "groups", len(scores))
    groups: dict[str, Estimate] = {}
    values, sizes = [], []
    for code, name in enumerate(names):
        rows = np.flatnonzero(group_of_row == code)
        try:
            groups[name] = soft_pairwise_accuracy(scores[rows], human[rows], items[rows], systems[rows], resampling)
        except UndefinedStatisticError as error:
            groups[name] = Estimate(None, len(rows), flags=(str(error),))
            continue
        values.append(groups[name].value)
        sizes.append(len(rows))
    if not values:
        return GroupEstimates(groups, Estimate(None, 0, flags=("no group has a value",)))
    mean = float(np.average(np.array(values, dtype=np.float64), weights=averaging.sizes(sizes)))
    left_out = len(names) - len(values)
    flags = (f"left out: {left_out} groups without a value",) if left_out else ()
    return GroupEstimates(groups, Estimate(mean, len(values), flags=flags))


def level_function(
    rated: Rated, statistic: str, level: str, averaging: Averaging = MACRO
) -> Callable[[Floats], Floats]:
    """Return a function from scores (r, n) of the same rows to their agreement (r,), for permutation tests."""
    _, human = paired(rated.scores, rated.human, averaging.fewest)
    if statistic == "pdp" and level == "segment":
        return pdp_function(human, rated.items)
    statistic = "pearson" if statistic == "pdp" else statistic  # the same on systems' means
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
    documents = [rows for rows in documents if len(rows) >= averaging.fewest]
    if not documents:
        raise UndefinedStatisticError(f"no document has {averaging.fewest} rows, so there is nothing to correlate")
    weights = averaging.sizes([len(rows) for rows in documents])
    return lambda scores: mean_of_defined(
        averaging.filled(np.stack([correlate_rows(statistic, scores[:, rows], human[rows]) for rows in documents])),
        weights,
    )


def _prepared(rated: Rated, statistic: str, level: str, averaging: Averaging) -> ResampledStatistic:
    scores, human = paired(rated.scores, rated.human, averaging.fewest)
    lookup({**CORRELATIONS, **PAIR_STATISTICS}, statistic)
    return lookup(_PREPARED, level, "level")(rated, scores, human, statistic, averaging)


def _segment(rated: Rated, scores: Floats, human: Floats, statistic: str, _: Averaging) -> ResampledStatistic:
    if statistic in PAIR_STATISTICS:
        return pairs_of_items(statistic, scores, human, rated.items, rated.documents)
    estimate = Estimate(_correlated(statistic, scores, human), len(scores))
    compute = weighted(statistic)(scores, human)
    if rated.documents is None:
        return ResampledStatistic(estimate, compute, len(scores))
    document, names = codes(rated.documents, "documents", len(scores))
    return ResampledStatistic(_flagged_if_alone(estimate, names), compute, len(names), document)


def _system(rated: Rated, scores: Floats, human: Floats, statistic: str, averaging: Averaging) -> ResampledStatistic:
    system, names = _labels(rated.systems, "systems", "system", len(scores))
    fewest = min(averaging.fewest, 2) if statistic in PAIR_STATISTICS else averaging.fewest
    if len(names) < fewest:
        raise UndefinedStatisticError(
            f"system-level agreement needs at least {fewest} systems, but there are {len(names)}"
        )
    belongs = _indicators(system)
    sums = np.concatenate([belongs * scores[:, None], belongs * human[:, None], belongs], axis=1)
    totals = sums.sum(axis=0).reshape(3, -1)
    means = totals[:2] / totals[2]
    if statistic in PAIR_STATISTICS:
        observed, of_rows = pairs_of_systems(statistic, *means)
    else:
        observed, of_rows = _correlated(statistic, *means), partial(correlate_rows, statistic)
    estimate = Estimate(observed, len(names))
    if rated.documents is not None:
        document, documents = codes(rated.documents, "documents", len(scores))
        sums = np.stack([np.bincount(document, column, len(documents)) for column in sums.T], axis=1)
        estimate = _flagged_if_alone(estimate, documents)

    def value(weights: Floats) -> Floats:
        score_sums, human_sums, rows = np.split(weights @ sums, 3, axis=1)
        return of_rows(ratio(score_sums, rows), ratio(human_sums, rows))

    return ResampledStatistic(estimate, value, len(sums))


def _correlated(statistic: str, scores: Floats, human: Floats) -> float:
    """Return the named correlation; of two rows it is 1 or -1."""
    if len(scores) >= MIN_ROWS:
        return correlation(statistic)(scores, human)
    varied(scores, human)
    return float(correlate_rows(statistic, scores[None], human[None])[0])


def _summary(rated: Rated, scores: Floats, human: Floats, statistic: str, averaging: Averaging) -> ResampledStatistic:
    if statistic in PAIR_STATISTICS:
        raise InputError(f"{statistic} compares the rows of one item already: it has a segment and a system level")
    document, _ = _labels(rated.documents, "documents", "summary", len(scores))
    values: list[float] = []
    rows_of_value: list[int] = []
    small, constant = 0, 0
    for rows in rows_by_code(document):
        if len(rows) < averaging.fewest:
            small += 1
            continue
        try:
            value: float | None = _correlated(statistic, scores[rows], human[rows])
        except UndefinedStatisticError:
            value = 0.0 if averaging.zeros else None
            constant += 1
        if value is not None:
            values.append(value)
            rows_of_value.append(len(rows))
    flags = tuple(
        f"{action}: {count} documents {reason}"
        for action, count, reason in (
            ("left out", small, f"of fewer than {averaging.fewest} rows"),
            ("counted as 0" if averaging.zeros else "left out", constant, "with constant scores"),
        )
        if count
    )
    if not values:
        raise UndefinedStatisticError(
            f"no document has a correlation ({'; '.join(flags)}); summary level needs several rows in each"
        )
    sizes = averaging.sizes(rows_of_value)
    estimate = Estimate(float(np.average(values, weights=sizes)), len(values), flags=flags)
    return ResampledStatistic(estimate, weighted_mean(np.array(values), sizes), len(values))


_PREPARED: dict[str, Callable[[Rated, Floats, Floats, str, Averaging], ResampledStatistic]] = {
    "segment": _segment,
    "system": _system,
    "summary": _summary,
}
LEVELS = tuple(_PREPARED)


def system_means(columns: Sequence[Floats], systems: Labels | None) -> list[Floats]:
    """Return each column's mean for every system."""
    belongs = _indicators(_labels(systems, "systems", "system", len(columns[0]))[0])
    return [(column @ belongs) / belongs.sum(axis=0) for column in columns]


def _flagged_if_alone(estimate: Estimate, documents: list[str]) -> Estimate:
    alone = "one document only: its interval has no width"
    return replace(estimate, flags=(*estimate.flags, alone)) if len(documents) == 1 else estimate


def _selected(rated: Rated, rows: Ints) -> Rated:
    """Select rows."""
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
