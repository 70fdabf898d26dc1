"""Which error formula the task used, guessed: scores of the baselines in, the formula nearest the paper's Table 4 out.

GermEval's organisers published no formula. Every formula here is tried on the five baselines, on the task's own data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from evalign.render.study.page import Numbers, Plate, StudyTable
from evalign.studies.german.agreement import Verdict
from evalign.studies.german.corpus import describe
from evalign.studies.german.data import JudgedRows
from evalign.studies.german.published import ROWS, SOURCE_TEXTS, TABLE4
from evalign.studies.german.systems import LEXICAL
from evalign.studies.ledger import UNTESTED
from evalign.types import Floats

NAME, TITLE = "error_formula", "Which error formula the task used"
Formula = Callable[[Floats, Floats], float]  # of predictions and ratings, both as shares


def _percent(predicted: Floats, rated: Floats) -> float:
    """The mean of |difference| / rating, over the rows whose rating is not 0."""
    above = rated > 0
    return float((np.abs(predicted - rated)[above] / rated[above]).mean())


FORMULAS: dict[str, Formula] = {
    "RMSE": lambda predicted, rated: float(np.sqrt(((predicted - rated) ** 2).mean())),
    "MAE": lambda predicted, rated: float(np.abs(predicted - rated).mean()),
    "mean percent of the rating": _percent,
    "RMSE in percent of the mean rating": lambda predicted, rated: float(
        np.sqrt(((predicted - rated) ** 2).mean()) / rated.mean()
    ),
}


@dataclass(frozen=True)
class Tried:
    """A formula on a scale: the errors of the baselines, and how far they are from the paper's on average."""

    formula: str
    scale: str
    errors: Mapping[str, float]

    @property
    def distance(self) -> float:
        """The mean absolute difference to Table 4."""
        return float(np.mean([abs(self.errors[name] - published) for name, published in TABLE4.items()]))


def scales(judged: JudgedRows) -> dict[str, Floats]:
    """The ratings as shares, by each way of reading their scale; ways that give the same shares once."""
    human, low, high = judged.human, judged.scale.low, judged.scale.high
    ways = {f"rating from {low:g} to {high:g}": judged.shares}
    if low != 0 and high > 0:
        ways[f"rating / {high:g}"] = human / high
    least, greatest = float(human.min()), float(human.max())
    if (least, greatest) != (low, high) and least < greatest:
        ways[f"rating from {least:g} to {greatest:g}, as found"] = (human - least) / (greatest - least)
    return ways


def try_formulas(verdict: Verdict, judged: JudgedRows) -> list[Tried]:
    """Every formula on every scale, the nearest first."""
    scores = {system.name: np.clip(system.scores, 0, 1) for system in verdict.systems if system.name in LEXICAL}
    if set(scores) != set(TABLE4):
        return []
    tried = [
        Tried(name, scale, {metric: 100 * formula(values, rated) for metric, values in scores.items()})
        for name, formula in FORMULAS.items()
        for scale, rated in scales(judged).items()
    ]
    return sorted(tried, key=lambda attempt: attempt.distance)


def formula_plate(verdict: Verdict, judged: JudgedRows) -> Plate:
    """The table of formulas if the data are the task's own; else it says that it cannot be tested."""
    columns = ("formula", "scale", *TABLE4, "mean distance")
    published = ("published", "–", *(f"{value:.4f}" for value in TABLE4.values()), "–")
    tried = try_formulas(verdict, judged) if describe(judged).of_the_task else []
    if not tried:
        why = (f"{UNTESTED.capitalize()}: the published baselines are about the task's own data ({ROWS} rows, "
               f"{SOURCE_TEXTS} sources), and these are others.")  # fmt: skip
        return Plate(NAME, TITLE, said=(why,))
    lines = [
        (attempt.formula, attempt.scale, *(f"{attempt.errors[name]:.4f}" for name in TABLE4), f"{attempt.distance:.4f}")
        for attempt in tried
    ]
    nearest = tried[0]
    said = (
        f"Nearest to the published errors of the five baselines: {nearest.formula}, {nearest.scale}, x 100; "
        f"{nearest.distance:.2f} away on average.",
        "Scores are clipped to 0 and 1. How the task's baselines cut words or stemmed them is not published either, so "
        "even the right formula need not give the same numbers.",
    )
    numbers = Numbers(
        columns,
        [(attempt.formula, attempt.scale, *(attempt.errors[name] for name in TABLE4), attempt.distance)
         for attempt in tried],
    )  # fmt: skip
    table = StudyTable("Errors x 100 of the baselines, by formula", columns, (published, *lines), names=2)
    return Plate(NAME, TITLE, said=said, tables=(table,), numbers=numbers)
