"""Transport (MoverScore): a matching that carries the weight of one side to the other at the least total cost.

The cost of a cell falls as its similarity grows. Where several plans cost the same, the one that carries mass the
shortest relative way is taken: see `ties.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from evalign.errors import InputError, SpecError, nearest
from evalign.matching import transport_plans
from evalign.matching.arrays import Array, block, full_masks, like, to_numpy
from evalign.matching.base import Masks, Matched, Matching, Weights, cell_values
from evalign.matching.ties import displacement, on_grid
from evalign.matching.transport_plans import TransportPlan, numbers
from evalign.types import Floats

SOLVERS = ("exact", "sinkhorn", "partial", "unbalanced")
FORMS = ("inverse", "one-minus")
MATRIX_CELLS = 16_000_000


@dataclass(frozen=True)
class Transport(Matching):
    """Optimal transport of the tokens' weights; a token's value is the best similarity it sends mass to."""

    kind: ClassVar[str] = "transport"
    about: ClassVar[str] = "the weight of each text is carried to the other at the least cost"
    max_cells: ClassVar[int | None] = MATRIX_CELLS
    verb: ClassVar[str] = "transport"

    solver: str = "exact"
    cost: str = "euclidean"
    regularization: float = 0.05  # smoothing of solver=sinkhorn
    fraction: float = 0.9  # share of the mass that solver=partial carries
    penalty: float = 0.5  # price of a unit of mass that solver=unbalanced leaves

    def __post_init__(self) -> None:
        for name, known in (("solver", SOLVERS), ("cost", COSTS)):
            if getattr(self, name) not in known:
                raise SpecError(f"unknown {name} {getattr(self, name)!r}; {nearest(getattr(self, name), known)}")

    @property
    def name(self) -> str:
        """The solver, and the settings that differ from the default: `transport=partial,fraction=0.5`."""
        own = [setting for setting in fields(self) if setting.name != "solver"]
        changed = [(setting.name, getattr(self, setting.name)) for setting in own]
        parts = [f"{key}={value}" for key, value in changed if value != getattr(type(self), key)]
        return ",".join([f"{self.kind}={self.solver}", *parts])

    @classmethod
    def from_settings(cls, settings: list[str]) -> Self:
        """From the parts of a name, the solver among them."""
        options: dict[str, Any] = {}
        known: dict[str, Any] = {setting.name: type(setting.default) for setting in fields(cls)}
        for setting in settings:
            key, equals, value = setting.partition("=")
            key = "solver" if key == cls.kind else key
            if not equals or key not in known:
                raise SpecError(f"{cls.kind} has no setting {setting!r}; {nearest(key, known)}")
            options[key] = known[key](value)
        return cls(**options)

    def solve(self, similarity: Array, weights: Weights | None = None, masks: Masks | None = None) -> Matched:
        """Plans, one matrix after another: the solvers are compiled."""
        batch = similarity if similarity.ndim == 3 else similarity[None]
        rows, columns = (to_numpy(mask) != 0 for mask in masks or full_masks(batch))
        own, other = (rows * 1.0, columns * 1.0) if weights is None else map(to_numpy, weights)
        own, other = own.reshape(rows.shape), other.reshape(columns.shape)
        table = np.where(rows[:, :, None] & columns[:, None, :], to_numpy(batch), 0.0)
        masses, moved = np.zeros(table.shape), []
        for place, matrix in enumerate(table):
            inside = block(np.flatnonzero(rows[place]), np.flatnonzero(columns[place]))
            moved.append(self.plan(matrix[inside], own[place, rows[place]], other[place, columns[place]]))
            masses[place][inside] = moved[-1].plan
        candidate_values, reference_values = cell_values(table, masses > 0)
        matched = Matched(
            like(candidate_values, batch),
            like(reference_values, batch),
            lambda: like(masses > 0, batch),
            like(masses, batch),
            like(np.array([plan.total for plan in moved]), batch),
            {"transport-unfinished": np.array([not plan.converged for plan in moved])},
        )
        return matched if similarity.ndim == 3 else matched.pair(0, *similarity.shape)

    def plan(self, similarity: Floats, own: Floats, other: Floats) -> TransportPlan:
        """The plan for one matrix of cosines and the masses of both sides."""
        cost = cost_matrix(similarity, self.cost)
        if self.solver == "sinkhorn":  # smooth: nothing is chosen
            return transport_plans.sinkhorn(cost, own, other, self.regularization)
        deciding = deciding_cost(similarity, self.cost)
        if self.solver == "partial":
            plan = transport_plans.partial(deciding, own, other, self.fraction)
        elif self.solver == "unbalanced":
            plan = transport_plans.unbalanced(deciding, own, other, self.penalty)
        else:
            plan = transport_plans.exact(deciding, own, other)
        return plan.priced(cost)


def euclidean_cost(similarity: Floats) -> Floats:
    """sqrt(2 - 2 cos), the distance of L2-normalised vectors.

    Give it cosines in 64 bits: near 1 the root turns a 32-bit rounding of 1e-7 into a distance of 5e-4.
    """
    return np.asarray(np.sqrt(2 * cosine_cost(similarity)))


def cosine_cost(similarity: Floats) -> Floats:
    """1 - cos, and never below 0."""
    cosines = numbers("similarity", similarity)
    if cosines.size and np.abs(cosines).max() > 1 + 1e-3:
        raise InputError("similarity: expected cosines, between -1 and 1")
    return np.asarray(np.clip(1 - cosines, 0, 2))


COSTS: dict[str, Callable[[Floats], Floats]] = {"euclidean": euclidean_cost, "cosine": cosine_cost}


def cost_matrix(similarity: Floats, name: str) -> Floats:
    """The cost called `name` of a matrix of cosines."""
    if name not in COSTS:
        raise SpecError(f"unknown cost {name!r}; {nearest(name, COSTS)}")
    return COSTS[name](similarity)


def deciding_cost(similarity: Floats, name: str) -> Floats:
    """The cost that a plan is chosen by: of similarities on the grid of `ties.py`, the nearest of equal cells cheapest.

    The distance of positions adds less than a quarter of a step, so that it decides between equal costs only.
    """
    rows, columns = (np.ones((1, count), dtype=bool) for count in similarity.shape)
    relative = displacement((rows, columns))[0] / max(1, similarity.size)
    return np.asarray(cost_matrix(on_grid(similarity), name) + relative * 2.0**-22)


def mover_score(total: float, form: str = "inverse") -> float:
    """`inverse`: 1 / (1 + total), as in moverscore_v2; `one-minus`: 1 - total, as in the paper's first program."""
    if form not in FORMS:
        raise SpecError(f"unknown form {form!r}; {nearest(form, FORMS)}")
    if not 0 <= total < np.inf:
        raise InputError(f"total={total}: expected a finite cost that is not negative")
    return float(1 / (1 + total) if form == "inverse" else 1 - total)
