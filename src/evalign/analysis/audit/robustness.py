"""What each change of the text does: rows and their scores in, one `Robustness` per change out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from evalign.analysis.audit.changes import CHANGES, OTHER_TEXT, REFERENCE, Change
from evalign.analysis.audit.data_quality import item_of
from evalign.analysis.audit.trial import Trial
from evalign.analysis.audit.values import Robustness
from evalign.types import Floats, Row

SAME = 1e-5  # what the batch that a text was encoded in can move a score by
CHANGE_COUNT = len(CHANGES) + 2


def robustness(trial: Trial, rows: Sequence[Row], untouched: Floats) -> tuple[Robustness, ...]:
    """Every change of `CHANGES`, another row's candidate, and the reference, against the untouched scores."""
    found = []
    for name, change, changed in _changed(rows, "references" in trial.metric.needs):
        moved = trial.scores(changed) - untouched
        moved = moved[np.isfinite(moved)]
        if len(moved):
            found.append(_robustness(name, change, moved, untouched))
    return tuple(found)


def _changed(rows: Sequence[Row], compares: bool) -> Iterator[tuple[str, Change, list[Row]]]:
    for name, change in CHANGES.items():
        yield name, change, [replace(row, candidate=change.apply(row.candidate)) for row in rows]
    others = [_other(rows, place) for place in range(len(rows))]
    yield "other text", OTHER_TEXT, [replace(row, candidate=text) for row, text in zip(rows, others, strict=True)]
    if compares:
        yield "reference", REFERENCE, [replace(row, candidate=(*row.references, "")[0]) for row in rows]


def _other(rows: Sequence[Row], place: int) -> str:
    """The next candidate, going round, that was written for another item; the row's own if there is none."""
    own = item_of(rows[place])
    following = (rows[(place + step) % len(rows)] for step in range(1, len(rows)))
    return next((row.candidate for row in following if item_of(row) != own), rows[place].candidate)


def _robustness(name: str, change: Change, moved: Floats, untouched: Floats) -> Robustness:
    deviation = float(np.nanstd(untouched))
    return Robustness(
        name,
        change.about,
        change.expected,
        len(moved),
        float(moved.mean()),
        float(moved.mean()) / deviation if deviation > SAME else None,
        float((moved < -SAME).mean()),
        float((moved > SAME).mean()),
    )
