"""Entropic transport with gradients: Sinkhorn in the log domain, the long side's surplus left to a slack token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from evalign.matching.arrays import valid_cells
from evalign.matching.soft.base import FORBIDDEN, TINY, Masks, SoftOptions

COOLING = 0.6  # from the span of the similarities down to the temperature
NEWTON_EVERY = 2  # at temperature .01, 5% of pairs of 30 tokens converge in 1000 steps without it, all in 50 with it
RIDGE = 1e-12  # the potentials are free up to a constant; this fixes it


class Transport(torch.autograd.Function):
    """The entropic plan. Its gradient follows from the marginals being fixed, not from the steps that led there:

    dP = P·(dS + da + db) / temperature with all row and column sums of dP zero, which is one linear system.
    """

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, values: Tensor, masks: Masks, options: SoftOptions) -> object:
        """The plan (batch, n, m) without its slack, and per pair whether it met the tolerance."""
        plan, heat, converged = _plan(values, masks, options)
        ctx.save_for_backward(plan, heat)
        ctx.mark_non_differentiable(converged)
        return plan[:, :-1, :-1].clone(), converged

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor, _: Tensor) -> object:
        """The gradient with respect to the values."""
        plan, heat = ctx.saved_tensors  # type: ignore[attr-defined]
        upstream = torch.nn.functional.pad(gradient, (0, 1, 0, 1))  # nothing depends on the slack
        a, b = _potentials(plan, (plan * upstream).sum(2), (plan * upstream).sum(1))
        projected = plan * (upstream - a[:, :, None] - b[:, None, :])
        return projected[:, :-1, :-1] / heat, None, None


def _potentials(plan: Tensor, by_row: Tensor, by_column: Tensor) -> tuple[Tensor, Tensor]:
    """a, b such that the rows of P·(a + b) sum to `by_row` and its columns to `by_column`."""
    rows, columns = plan.sum(2), plan.sum(1)
    inverse = torch.where(rows > 0, 1 / rows.clamp_min(TINY), 0.0)
    scaled = plan * inverse[:, :, None]
    system = torch.diag_embed(torch.where(columns > 0, columns, 1.0) + RIDGE) - plan.mT @ scaled
    with _one_thread():
        b = torch.linalg.solve(system, by_column - (scaled.mT @ by_row[:, :, None])[:, :, 0])
    return inverse * (by_row - (plan @ b[:, :, None])[:, :, 0]), b


@contextmanager
def _one_thread() -> Iterator[None]:
    """Some builds of MKL never return from a threaded LU decomposition; at 400 tokens one thread needs 3 ms."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _plan(values: Tensor, masks: Masks, options: SoftOptions) -> tuple[Tensor, Tensor, Tensor]:
    """Log-domain Sinkhorn on the matrix with its slack row and column; a pair that has converged stands still.

    Gives the plan, the temperature it belongs to (a higher one if the iterations ran out), and who has converged.
    """
    surplus = masks[1].sum(-1) - masks[0].sum(-1)
    rows = torch.cat([masks[0], surplus.clamp_min(0)[:, None]], 1).double()
    columns = torch.cat([masks[1], (-surplus).clamp_min(0)[:, None]], 1).double()
    valid = valid_cells(masks)
    span = torch.where(valid, values, -torch.inf).amax((1, 2)) - torch.where(valid, values, torch.inf).amin((1, 2))
    allowed = (rows > 0)[:, :, None] & (columns > 0)[:, None, :]
    values = torch.where(allowed, torch.nn.functional.pad(values, (0, 1, 0, 1)), FORBIDDEN)
    f, g = torch.zeros_like(rows), torch.zeros_like(columns)
    active, cold = span >= 0, span < 0
    for step in range(options.max_iterations):
        heat = (span * COOLING**step).clamp_min(options.temperature)[:, None]
        next_f = _balanced(values, g, rows, heat)
        error = _excess(rows, f, next_f, heat)  # of the row sums; the columns' are exact
        active = active & ~(cold & (error <= options.tolerance))
        if not bool(active.any()):
            break
        if step % NEWTON_EVERY == NEWTON_EVERY - 1:
            next_g = _balanced(values.mT, next_f, columns, heat)
            plan = torch.exp((values + next_f[:, :, None] + next_g[:, None, :]) / heat[:, :, None])
            jump = next_f + heat * _potentials(plan, rows - plan.sum(2), columns - plan.sum(1))[0]
            landed = _balanced(values.mT, jump, columns, heat)
            better = _excess(rows, jump, _balanced(values, landed, rows, heat), heat) < error
            next_f = torch.where(better[:, None] & (rows > 0), jump, next_f)
        f = torch.where(active[:, None], next_f, f)
        g = torch.where(active[:, None], _balanced(values.mT, f, columns, heat), g)
        cold = heat[:, 0] <= options.temperature
    heat = heat[:, :, None]
    return torch.exp((values + f[:, :, None] + g[:, None, :]) / heat), heat, ~active


def _balanced(values: Tensor, others: Tensor, mass: Tensor, heat: Tensor) -> Tensor:
    """The potentials that give every row its mass, those of the columns being `others`."""
    spread = torch.logsumexp((values + others[:, None, :]) / heat[:, :, None], 2)
    return torch.where(mass > 0, heat * (mass.clamp_min(TINY).log() - spread), 0.0)


def _excess(mass: Tensor, potentials: Tensor, balanced: Tensor, heat: Tensor) -> Tensor:
    """How far the mass of a row is from what it should be, at most."""
    return (mass * torch.expm1((potentials - balanced) / heat)).abs().amax(1)
