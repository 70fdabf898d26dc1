"""Estimates and checked input of statistics: a value with its interval, and columns of finite numbers.

A statistic that cannot be computed is an error if it is the only one, and an `Estimate` without a value, flagged with
the reason, if it is one of many, such as that of a group of one row. No function returns NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from evalign.core import Floats, Ints
from evalign.errors import InputError, LengthMismatchError, UndefinedStatisticError, nearest

Labels = Sequence[Any] | npt.NDArray[Any]  # one name per row, of any type that prints
MIN_ROWS = 3
T = TypeVar("T")
ROUNDING_SHARE = 2.0**-48  # of a value: 16 times the distance of neighbouring doubles


@dataclass(frozen=True)
class Estimate:
    """A number, its interval if there is one, and flags with what a reader must know about it.

    `n` counts the rows, systems or documents that were averaged or correlated. `value` is None exactly if a flag says
    why.
    """

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    flags: tuple[str, ...] = ()

    def text(self, digits: int = 3, missing: str = "-") -> str:
        """Format as 0.643 [0.621, 0.664]; the value alone without an interval, `missing` without a value."""
        if self.value is None or self.low is None or self.high is None:
            return missing if self.value is None else f"{self.value:.{digits}f}"
        return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def column(values: npt.ArrayLike, name: str) -> Floats:
    """Return one-dimensional float64 without NaN or infinity; an error names the column and the first bad row.

    Values that differ only in their last bits become equal, so that ranks and ties do not depend on rounding.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, one per row: {error}; leave out the rows without a value") from error
    if array.ndim != 1:
        raise InputError(f"{name} must be one number per row, but has shape {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InputError(
            f"{name} has {len(bad)} of {len(array)} rows that are not finite numbers, the first at row {bad[0]} "
            f"({array[bad[0]]}); leave out the rows without a value"
        )
    return merged(array)


def paired(scores: npt.ArrayLike, human: npt.ArrayLike, min_rows: int = MIN_ROWS) -> tuple[Floats, Floats]:
    """Check two columns: of equal length, with at least `min_rows` rows."""
    score_column, human_column = column(scores, "scores"), column(human, "human scores")
    parallel(score_column, "scores", human_column, "human scores")
    if len(score_column) < min_rows:
        raise UndefinedStatisticError(f"agreement needs at least {min_rows} rows, but there are {len(score_column)}")
    return score_column, human_column


def varied(scores: Floats, human: Floats) -> None:
    """Raise UndefinedStatisticError if one of two columns is constant."""
    for values, name in ((scores, "scores"), (human, "human scores")):
        if values.min() == values.max():
            raise UndefinedStatisticError(
                f"{name} are constant ({values[0]:g} in all {len(values)} rows), so nothing can agree with them"
            )


def parallel(first: Sequence[Any] | Floats, first_name: str, second: Sequence[Any] | Floats, second_name: str) -> None:
    """Raise LengthMismatchError if two columns differ in length."""
    if len(first) != len(second):
        raise LengthMismatchError(
            f"{first_name} and {second_name} must have one value per row each, but have {len(first)} and {len(second)}"
        )


def lookup(table: Mapping[str, T], name: str, category: str = "correlation") -> T:
    """Return the table's entry of that name; an error lists similar names."""
    if name not in table:
        raise InputError(f"unknown {category} {name!r}; {nearest(name, table)}")
    return table[name]


def codes(labels: Labels, name: str, rows: int) -> tuple[Ints, list[str]]:
    """Return labels as integers from 0, and the label of each integer; sorted, independent of the row order."""
    parallel(labels, name, range(rows), "scores")
    text = [str(label) for label in labels]
    names = sorted(set(text))
    index = {label: code for code, label in enumerate(names)}
    return np.array([index[label] for label in text], dtype=np.int64), names


def rows_by_code(code_of_row: Ints) -> list[Ints]:
    """Return the rows of each code, in the order of the codes."""
    order = np.argsort(code_of_row, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(code_of_row[order])) + 1)


def merged(values: Floats) -> Floats:
    """Set values that differ only by rounding, along the last axis, to the smallest of them."""
    if not values.shape[-1]:
        return values
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    size = np.maximum(np.abs(ordered[..., 1:]), np.abs(ordered[..., :-1]))
    with np.errstate(invalid="ignore"):  # equal infinities have no difference
        apart = np.diff(ordered) > ROUNDING_SHARE * np.where(np.isfinite(size), size, 0.0)
    positions = np.arange(1, values.shape[-1])
    begins = np.zeros(order.shape, dtype=np.int64)
    begins[..., 1:] = np.maximum.accumulate(np.where(apart, positions, 0), axis=-1)
    result = np.empty_like(ordered)
    np.put_along_axis(result, order, np.take_along_axis(ordered, begins, axis=-1), axis=-1)
    return result
