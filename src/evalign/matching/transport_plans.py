"""Plans of optimal transport: the mass of one side is carried to the other at the least total cost.

In: a cost matrix (candidate tokens, reference tokens) and the masses of both sides, of any total; each side is
normalised to 1, and tokens without mass neither send nor receive. Out: a `TransportPlan`.

    exact        all mass moves; the earth mover's distance              network simplex (POT)
    sinkhorn     all mass moves; smoothed by an entropy term             log domain (POT)
    partial      only a fraction of the mass moves, the cheapest         network simplex, one dummy token per side
    unbalanced   mass may stay at home or appear, at a price per unit    network simplex, one dummy token per side
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from evalign.errors import InputError, SpecError
from evalign.matching.arrays import block
from evalign.types import Floats, Ints

MAX_PIVOTS = 10_000_000  # of the simplex; 3,000 x 3,000 tokens need fewer than 100,000
MAX_ROUNDS = 2_000  # of Sinkhorn
TOLERANCE = 1e-6  # of Sinkhorn's marginals, which are put right anyway; equal texts take 20,000 rounds to reach 1e-9
DUST = 1e-12  # of a total mass of 1: rounding, not unmatched mass
CRUMB = 1e-15  # the same in one cell of the simplex's plan: who met whom must not show it
SHARPEST = 1e-8  # Sinkhorn's regularization, relative to the largest cost, below which its exponents lose all digits


@dataclass(frozen=True, eq=False)
class TransportPlan:
    """How much of each candidate token goes to each reference token, and what stays unmatched.

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
        """How much mass found a partner, of 1."""
        return float(self.plan.sum())

    def priced(self, cost: Floats) -> TransportPlan:
        """The same plan with its total at these costs."""
        return replace(self, total=float((self.plan * cost).sum()) + self.penalties)


def exact(cost: Floats, candidate_masses: Floats, reference_masses: Floats) -> TransportPlan:
    """min sum(P * C) with P 1 = a and P' 1 = b: the earth mover's distance."""
    problem = _problem(cost, candidate_masses, reference_masses)
    return problem.finished(*_simplex(problem.candidate, problem.reference, problem.scaled))


def sinkhorn(
    cost: Floats,
    candidate_masses: Floats,
    reference_masses: Floats,
    regularization: float,
    max_rounds: int = MAX_ROUNDS,
) -> TransportPlan:
    """min sum(P * C) + regularization * sum(P log P) under the same marginals; `total` is without the entropy.

    What the iteration leaves of the marginals is put right (Altschuler et al. 2017, algorithm 2), so the plan moves
    all mass even where the bound was hit, and never costs less than the exact one.
    """
    _check_positive("regularization", regularization)
    if max_rounds < 1:
        raise SpecError(f"max_rounds={max_rounds}: expected at least 1")
    problem = _problem(cost, candidate_masses, reference_masses)
    sharpness = regularization / problem.scale
    if sharpness < SHARPEST:
        raise SpecError(f"regularization={regularization} is too small for costs up to {problem.scale:g}; use exact")
    a, b = problem.candidate, problem.reference
    with _silence():
        options = {"numItermax": max_rounds, "stopThr": TOLERANCE, "warn": False, "log": True}
        flow, log = _pot().bregman.sinkhorn_log(a, b, problem.scaled, min(sharpness, 1e300), **options)
    return problem.finished(_with_marginals(flow, a, b), bool(log["err"][-1] < TOLERANCE))


def partial(cost: Floats, candidate_masses: Floats, reference_masses: Floats, fraction: float) -> TransportPlan:
    """min sum(P * C) with P 1 <= a, P' 1 <= b and sum(P) = fraction: the rest stays unmatched, at no price."""
    if not 0 < fraction <= 1:
        raise SpecError(f"fraction={fraction}: expected a share of the mass above 0 and at most 1")
    if fraction == 1:
        return exact(cost, candidate_masses, reference_masses)
    problem = _problem(cost, candidate_masses, reference_masses)
    flow, converged = _with_dummies(problem, rest=1 - fraction, leaving=0.0)
    moved = flow.sum()  # where moving is free the dummies may trade, and too much moves: ot.partial leaves it so
    return problem.finished(flow * (fraction / moved) if moved > fraction else flow, converged)


def unbalanced(cost: Floats, candidate_masses: Floats, reference_masses: Floats, penalty: float) -> TransportPlan:
    """min sum(P * C) + penalty * (sum(a - P 1) + sum(b - P' 1)) with P 1 <= a and P' 1 <= b.

    Each unit of candidate mass left at home, and each unit of reference mass that appears from nowhere, costs
    `penalty`: two tokens meet only if that is no dearer than 2 * penalty (total variation; Piccoli and Rossi 2014).
    """
    _check_positive("penalty", penalty)
    problem = _problem(cost, candidate_masses, reference_masses)
    leaving = min(penalty / problem.scale, 1.0) if problem.scale > penalty else 1.0  # above 1/2 nobody stays
    return problem.finished(*_with_dummies(problem, rest=1.0, leaving=leaving), penalty=penalty)


@dataclass(frozen=True, eq=False)
class _Problem:
    """A checked problem: masses that sum to 1, without the tokens that have none, and costs scaled to at most 1."""

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
        """The costs between the tokens that have mass."""
        return np.asarray(self.cost[block(self.rows, self.columns)])

    def finished(self, flow: Floats, converged: bool, penalty: float = 0.0) -> TransportPlan:
        """The flow between the live tokens, put back among all tokens."""
        plan = np.zeros(self.cost.shape)
        plan[block(self.rows, self.columns)] = flow
        left = _without_dust(self.masses[0] - plan.sum(1))
        missing = _without_dust(self.masses[1] - plan.sum(0))
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


def numbers(name: str, given: Floats) -> Floats:
    """A finite array of 64-bit numbers, or an error that names the argument."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected an array of numbers ({error})") from None
    if not np.isfinite(values).all():
        raise InputError(f"{name}: holds NaN or infinite values")
    return values


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise SpecError(f"{name}={value}: expected a positive number")


def _with_dummies(problem: _Problem, rest: float, leaving: float) -> tuple[Floats, bool]:
    """One more token per side that takes what stays unmatched: `rest` at most, `leaving` per unit.

    What the two dummies exchange is no mass at all, and costs nothing.
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
    # A solver that was stopped hands out a plan with mass missing, which would look cheap.
    flow = flow if converged else _with_marginals(np.maximum(flow, 0.0), a, b)
    return np.where(flow > CRUMB, flow, 0.0), converged


def _with_marginals(flow: Floats, a: Floats, b: Floats) -> Floats:
    """The flow with rows that carry too much scaled down, then columns; what is then missing is spread evenly."""
    flow = flow * _at_most_one(a, flow.sum(1))[:, None]
    flow = flow * _at_most_one(b, flow.sum(0))
    rows, columns = np.maximum(a - flow.sum(1), 0), np.maximum(b - flow.sum(0), 0)
    missing = columns.sum()
    return np.asarray(flow + np.outer(rows, columns / missing) if missing > 0 else flow)


def _at_most_one(wanted: Floats, found: Floats) -> Floats:
    return np.where(found > wanted, wanted / np.where(found > wanted, found, 1.0), 1.0)


def _without_dust(unmatched: Floats) -> Floats:
    return np.where(unmatched > DUST, unmatched, 0.0)


@cache
def _pot() -> Any:
    """POT as the program has loaded it; else a private copy without what POT would load only because it is installed.

    `import ot` imports torch, jax, cupy, tensorflow, scikit-learn and networkx where they are: two seconds, for arrays
    and functions that are not used here. Its example data alone import scipy.stats: 0.3 s. The copy leaves
    `sys.modules` again, so that a program which imports POT later gets the whole of it.
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
    """No warnings: what went wrong is in the result. Filters belong to the whole process, hence the lock."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
