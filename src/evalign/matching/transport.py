"""Optimal transport (MoverScore): a matching that moves the weight of one side to the other at minimum total cost.

    exact        all mass moves; the earth mover's distance              network simplex (POT)
    sinkhorn     all mass moves; smoothed by an entropy term             log domain (POT)
    partial      only a fraction of the mass moves, the cheapest         network simplex, one dummy token per side
    unbalanced   mass may stay unmatched, at a price per unit            network simplex, one dummy token per side

The cost of a cell falls as its similarity grows. Of several plans of the same cost, the one that moves mass the
shortest relative distance is chosen: see `ties.py`. The solvers normalise the masses of each side to 1; tokens without
mass neither send nor receive.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np

from evalign.core import Floats, Ints
from evalign.errors import InputError, SpecError, nearest
from evalign.matching.arrays import Array, block, full_masks, like, to_numpy
from evalign.matching.base import Masks, Matching, MatchResult, Weights, cell_values
from evalign.matching.ties import displacement, on_grid

SOLVERS = ("exact", "sinkhorn", "partial", "unbalanced")
SCORE_FORMS = ("inverse", "one-minus")
MAX_CELLS = 16_000_000
MAX_PIVOTS = 10_000_000  # of the simplex; 3,000 x 3,000 tokens need fewer than 100,000
MAX_ROUNDS = 2_000  # of Sinkhorn
TOLERANCE = 1e-6  # of Sinkhorn's marginals, which are repaired anyway; equal texts take 20,000 rounds to reach 1e-9
MIN_UNMATCHED = 1e-12  # of a total mass of 1: less is rounding
MIN_FLOW = 1e-15  # of one cell of the simplex's plan: less is rounding, and must not show as a matched pair
MIN_SHARPNESS = 1e-8  # of Sinkhorn's regularization relative to the largest cost: below, exponents lose all digits


@dataclass(frozen=True)
class Transport(Matching):
    """Optimal transport of token weights; a token's value is the best similarity among the tokens it sends mass to."""

    key: ClassVar[str] = "transport"
    about: ClassVar[str] = "the weight of each text is moved to the other at minimum cost"
    max_cells: ClassVar[int | None] = MAX_CELLS
    verb: ClassVar[str] = "transport"

    solver: str = "exact"
    cost: str = "euclidean"
    regularization: float = 0.05  # smoothing of solver=sinkhorn
    fraction: float = 0.9  # share of the mass that solver=partial moves
    penalty: float = 0.5  # price per unit of mass that solver=unbalanced leaves unmatched

    def __post_init__(self) -> None:
        for name, allowed in (("solver", SOLVERS), ("cost", COSTS)):
            if getattr(self, name) not in allowed:
                raise SpecError(f"unknown {name} {getattr(self, name)!r}; {nearest(getattr(self, name), allowed)}")

    @property
    def name(self) -> str:
        """Solver, and the settings that differ from the default: `transport=partial,fraction=0.5`."""
        settings = [setting for setting in fields(self) if setting.name != "solver"]
        changed = [(setting.name, getattr(self, setting.name)) for setting in settings]
        parts = [f"{key}={value}" for key, value in changed if value != getattr(type(self), key)]
        return ",".join([f"{self.key}={self.solver}", *parts])

    @classmethod
    def from_settings(cls, settings: list[str]) -> Self:
        """Create a transport from the parts of a name, the solver among them."""
        options: dict[str, Any] = {}
        types: dict[str, Any] = {setting.name: type(setting.default) for setting in fields(cls)}
        for setting in settings:
            key, equals, value = setting.partition("=")
            key = "solver" if key == cls.key else key
            if not equals or key not in types:
                raise SpecError(f"{cls.key} has no setting {setting!r}; {nearest(key, types)}")
            options[key] = types[key](value)
        return cls(**options)

    def solve(self, similarity: Array, weights: Weights | None = None, masks: Masks | None = None) -> MatchResult:
        """Compute the plan of each matrix in turn: the solvers are compiled."""
        batch = similarity if similarity.ndim == 3 else similarity[None]
        rows, columns = (to_numpy(mask) != 0 for mask in masks or full_masks(batch))
        row_masses, column_masses = (rows * 1.0, columns * 1.0) if weights is None else map(to_numpy, weights)
        row_masses, column_masses = row_masses.reshape(rows.shape), column_masses.reshape(columns.shape)
        table = np.where(rows[:, :, None] & columns[:, None, :], to_numpy(batch), 0.0)
        masses, plans = np.zeros(table.shape), []
        for index, matrix in enumerate(table):
            tokens = block(np.flatnonzero(rows[index]), np.flatnonzero(columns[index]))
            plans.append(
                self.plan(matrix[tokens], row_masses[index, rows[index]], column_masses[index, columns[index]])
            )
            masses[index][tokens] = plans[-1].plan
        candidate_values, reference_values = cell_values(table, masses > 0)
        matched = MatchResult(
            batch,
            like(candidate_values, batch),
            like(reference_values, batch),
            lambda: like(masses > 0, batch),
            like(masses, batch),
            like(np.array([plan.total for plan in plans]), batch),
            {"transport-unfinished": np.array([not plan.converged for plan in plans])},
        )
        return matched if similarity.ndim == 3 else matched.pair(0, *similarity.shape)

    def plan(self, similarity: Floats, candidate_masses: Floats, reference_masses: Floats) -> TransportPlan:
        """Return the plan for one matrix of cosines and the masses of both sides."""
        cost = cost_matrix(similarity, self.cost)
        if self.solver == "sinkhorn":  # smooth: there are no ties to break
            return sinkhorn_plan(cost, candidate_masses, reference_masses, self.regularization)
        deciding = deciding_cost(similarity, self.cost)
        if self.solver == "partial":
            plan = partial_plan(deciding, candidate_masses, reference_masses, self.fraction)
        elif self.solver == "unbalanced":
            plan = unbalanced_plan(deciding, candidate_masses, reference_masses, self.penalty)
        else:
            plan = exact_plan(deciding, candidate_masses, reference_masses)
        return plan.priced(cost)


def euclidean_cost(similarity: Floats) -> Floats:
    """Return sqrt(2 - 2 cos), the distance of L2-normalised vectors.

    Expects cosines in 64 bits: near 1 the root turns a 32-bit rounding of 1e-7 into a distance of 5e-4.
    """
    return np.asarray(np.sqrt(2 * cosine_cost(similarity)))


def cosine_cost(similarity: Floats) -> Floats:
    """Return 1 - cos, at least 0."""
    cosines = numbers("similarity", similarity)
    if cosines.size and np.abs(cosines).max() > 1 + 1e-3:
        raise InputError("similarity: expected cosines, between -1 and 1")
    return np.asarray(np.clip(1 - cosines, 0, 2))


COSTS: dict[str, Callable[[Floats], Floats]] = {"euclidean": euclidean_cost, "cosine": cosine_cost}


def cost_matrix(similarity: Floats, name: str) -> Floats:
    """Return the cost called `name` of a matrix of cosines."""
    if name not in COSTS:
        raise SpecError(f"unknown cost {name!r}; {nearest(name, COSTS)}")
    return COSTS[name](similarity)


def deciding_cost(similarity: Floats, name: str) -> Floats:
    """Return the cost that decides between plans: of similarities on the grid of `ties.py`, plus a small distance.

    The distance of positions adds less than a quarter of a grid step, so it decides between equal costs only.
    """
    rows, columns = (np.ones((1, count), dtype=bool) for count in similarity.shape)
    relative = displacement((rows, columns))[0] / max(1, similarity.size)
    return np.asarray(cost_matrix(on_grid(similarity), name) + relative * 2.0**-22)


def mover_score(total: float, form: str = "inverse") -> float:
    """Return 1 / (1 + total) for `inverse`, as in moverscore_v2; 1 - total for `one-minus`, the paper's first code."""
    if form not in SCORE_FORMS:
        raise SpecError(f"unknown form {form!r}; {nearest(form, SCORE_FORMS)}")
    if not 0 <= total < np.inf:
        raise InputError(f"total={total}: expected a finite cost that is not negative")
    return float(1 / (1 + total) if form == "inverse" else 1 - total)


@dataclass(frozen=True, eq=False)
class TransportPlan:
    """Mass that moves between each candidate and reference token, and the mass that stays unmatched.

    plan.sum(1) + unmatched_candidate are the candidate's masses, plan.sum(0) + unmatched_reference the reference's,
    each of total 1. `total` is sum(plan * cost) plus `penalties`, the price of the unmatched mass. If not `converged`,
    the solver hit its bound: the plan is valid, but may not be the cheapest.
    """

    plan: Floats
    total: float
    unmatched_candidate: Floats
    unmatched_reference: Floats
    converged: bool = True
    penalties: float = 0.0

    @property
    def moved(self) -> float:
        """Share of the mass that is matched."""
        return float(self.plan.sum())

    def priced(self, cost: Floats) -> TransportPlan:
        """Return the same plan with its total at these costs."""
        return replace(self, total=float((self.plan * cost).sum()) + self.penalties)


def exact_plan(cost: Floats, candidate_masses: Floats, reference_masses: Floats) -> TransportPlan:
    """Minimise sum(P * C) with P 1 = a and P' 1 = b: the earth mover's distance."""
    problem = _problem(cost, candidate_masses, reference_masses)
    return problem.finished(*_simplex(problem.candidate, problem.reference, problem.scaled))


def sinkhorn_plan(
    cost: Floats,
    candidate_masses: Floats,
    reference_masses: Floats,
    regularization: float,
    max_rounds: int = MAX_ROUNDS,
) -> TransportPlan:
    """Minimise sum(P * C) + regularization * sum(P log P) with P 1 = a and P' 1 = b; `total` excludes the entropy.

    Errors of the marginals are repaired (Altschuler et al. 2017, algorithm 2), so the plan moves all mass even if the
    bound was hit, and never costs less than the exact one.
    """
    _check_positive("regularization", regularization)
    if max_rounds < 1:
        raise SpecError(f"max_rounds={max_rounds}: expected at least 1")
    problem = _problem(cost, candidate_masses, reference_masses)
    sharpness = regularization / problem.scale
    if sharpness < MIN_SHARPNESS:
        raise SpecError(f"regularization={regularization} is too small for costs up to {problem.scale:g}; use exact")
    a, b = problem.candidate, problem.reference
    with _silence():
        options = {"numItermax": max_rounds, "stopThr": TOLERANCE, "warn": False, "log": True}
        flow, log = _pot().bregman.sinkhorn_log(a, b, problem.scaled, min(sharpness, 1e300), **options)
    return problem.finished(_with_marginals(flow, a, b), bool(log["err"][-1] < TOLERANCE))


def partial_plan(cost: Floats, candidate_masses: Floats, reference_masses: Floats, fraction: float) -> TransportPlan:
    """Minimise sum(P * C) with P 1 <= a, P' 1 <= b and sum(P) = fraction: unmatched mass has no price."""
    if not 0 < fraction <= 1:
        raise SpecError(f"fraction={fraction}: expected a share of the mass above 0 and at most 1")
    if fraction == 1:
        return exact_plan(cost, candidate_masses, reference_masses)
    problem = _problem(cost, candidate_masses, reference_masses)
    flow, converged = _with_dummies(problem, rest=1 - fraction, leaving=0.0)
    moved = flow.sum()  # where costs are 0 too much may move through the dummies: ot.partial does not correct it
    return problem.finished(flow * (fraction / moved) if moved > fraction else flow, converged)


def unbalanced_plan(cost: Floats, candidate_masses: Floats, reference_masses: Floats, penalty: float) -> TransportPlan:
    """Minimise sum(P * C) + penalty * (sum(a - P 1) + sum(b - P' 1)) with P 1 <= a and P' 1 <= b.

    Each unit of unmatched mass of either side costs `penalty`: two tokens are matched only if their cost is at most
    2 * penalty (total variation; Piccoli and Rossi 2014).
    """
    _check_positive("penalty", penalty)
    problem = _problem(cost, candidate_masses, reference_masses)
    leaving = min(penalty / problem.scale, 1.0) if problem.scale > penalty else 1.0  # above 1/2 no mass stays unmatched
    return problem.finished(*_with_dummies(problem, rest=1.0, leaving=leaving), penalty=penalty)


@dataclass(frozen=True, eq=False)
class _Problem:
    """A checked problem: masses that sum to 1, without the tokens of mass 0, and costs scaled to at most 1."""

    cost: Floats
    masses: tuple[Floats, Floats]
    rows: Ints
    columns: Ints
    scale: float

    @property
    def candidate(self) -> Floats:
        return np.asarray(self.masses[0][self.rows])

    @property
    def reference(self) -> Floats:
        return np.asarray(self.masses[1][self.columns])

    @property
    def scaled(self) -> Floats:
        return np.ascontiguousarray(self.live / self.scale)

    @property
    def live(self) -> Floats:
        """Costs between the tokens that have mass."""
        return np.asarray(self.cost[block(self.rows, self.columns)])

    def finished(self, flow: Floats, converged: bool, penalty: float = 0.0) -> TransportPlan:
        """Return the plan of all tokens from the flow between those with mass."""
        plan = np.zeros(self.cost.shape)
        plan[block(self.rows, self.columns)] = flow
        left = _without_rounding(self.masses[0] - plan.sum(1))
        missing = _without_rounding(self.masses[1] - plan.sum(0))
        penalties = penalty * float(left.sum() + missing.sum())
        total = float((plan * self.cost).sum()) + penalties
        return TransportPlan(plan, total, left, missing, converged, penalties)


def _problem(cost: Floats, candidate_masses: Floats, reference_masses: Floats) -> _Problem:
    table = numbers("cost", cost)
    if table.ndim != 2:
        raise InputError(f"cost: expected a matrix (candidate tokens, reference tokens), got shape {table.shape}")
    if not table.size:
        raise InputError(f"cost: a side without tokens cannot be transported, got shape {table.shape}")
    if table.min() < 0:
        raise InputError(f"cost: expected no negative costs, got {table.min():g}")
    a = _normalised("candidate_masses", candidate_masses, table.shape[0])
    b = _normalised("reference_masses", reference_masses, table.shape[1])
    rows, columns = np.flatnonzero(a), np.flatnonzero(b)
    return _Problem(table, (a, b), rows, columns, float(table[block(rows, columns)].max()) or 1.0)


def _normalised(name: str, masses: Floats, count: int) -> Floats:
    values = numbers(name, masses)
    if values.shape != (count,):
        raise InputError(f"{name}: expected one mass per token, shape ({count},), got {values.shape}")
    if values.min() < 0:
        raise InputError(f"{name}: expected no negative masses, got {values.min():g}")
    if not values.any():
        raise InputError(f"{name}: all masses are zero, so there is nothing to transport; give equal masses instead")
    values = values / values.max()  # so that the sum cannot overflow
    return np.asarray(values / values.sum())


def numbers(name: str, array: Floats) -> Floats:
    """Return a finite array of 64-bit numbers; an error names the argument."""
    try:
        values = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected an array of numbers ({error})") from None
    if not np.isfinite(values).all():
        raise InputError(f"{name}: holds NaN or infinite values")
    return values


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise SpecError(f"{name}={value}: expected a positive number")


def _with_dummies(problem: _Problem, rest: float, leaving: float) -> tuple[Floats, bool]:
    """Solve with a dummy token per side that takes up to `rest` of unmatched mass, at the price `leaving` per unit.

    Mass between the two dummies costs nothing.
    """
    cost = np.pad(problem.scaled, ((0, 1), (0, 1)), constant_values=leaving)
    cost[-1, -1] = 0.0
    flow, converged = _simplex(np.append(problem.candidate, rest), np.append(problem.reference, rest), cost)
    return flow[:-1, :-1], converged


def _simplex(a: Floats, b: Floats, cost: Floats) -> tuple[Floats, bool]:
    with _silence():
        options = {"numItermax": MAX_PIVOTS, "center_dual": False, "check_marginals": False, "log": True}
        flow, log = _pot().emd(a, b, cost, **options)
    converged = log["warning"] is None
    # The plan of a solver that was stopped lacks mass, and would look too cheap.
    flow = flow if converged else _with_marginals(np.maximum(flow, 0.0), a, b)
    return np.where(flow > MIN_FLOW, flow, 0.0), converged


def _with_marginals(flow: Floats, a: Floats, b: Floats) -> Floats:
    """Scale down rows that carry too much, then columns; the missing mass is spread evenly."""
    flow = flow * _at_most_one(a, flow.sum(1))[:, None]
    flow = flow * _at_most_one(b, flow.sum(0))
    rows, columns = np.maximum(a - flow.sum(1), 0), np.maximum(b - flow.sum(0), 0)
    missing = columns.sum()
    return np.asarray(flow + np.outer(rows, columns / missing) if missing > 0 else flow)


def _at_most_one(target: Floats, actual: Floats) -> Floats:
    return np.where(actual > target, target / np.where(actual > target, actual, 1.0), 1.0)


def _without_rounding(unmatched: Floats) -> Floats:
    return np.where(unmatched > MIN_UNMATCHED, unmatched, 0.0)


@cache
def _pot() -> Any:
    """Return POT: the copy that the program has loaded, else a private one without optional backends.

    `import ot` imports torch, jax, cupy, tensorflow, scikit-learn and networkx where they are installed: two seconds,
    for functions that are not used here. Its example data alone import scipy.stats: 0.3 s. The private copy is removed
    from `sys.modules`, so that a program which imports POT later gets all of it.
    """
    if "ot" in sys.modules:
        return sys.modules["ot"]
    backends = {"PYTORCH": "torch", "JAX": "jax", "CUPY": "cupy", "TENSORFLOW": "tensorflow"}
    switches = [f"POT_BACKEND_DISABLE_{key}" for key, module in backends.items() if module not in sys.modules]
    added = [name for name in switches if name not in os.environ]
    hidden = [name for name in ("sklearn", "networkx") if name not in sys.modules]
    os.environ.update(dict.fromkeys(added, "1"))
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] # None: an import fails, as if not installed
    sys.modules["ot.datasets"] = ModuleType("ot.datasets")
    try:
        import ot
    finally:
        for name in added:
            os.environ.pop(name, None)
        for name in [*hidden, *(name for name in sys.modules if name.partition(".")[0] == "ot")]:
            sys.modules.pop(name, None)
    return ot


_LOCK = threading.RLock()


@contextmanager
def _silence() -> Iterator[None]:
    """Suppress warnings: the result reports failures. The filters are global to the process, hence the lock."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
