"""Assignment that can be learned through (extra `torch`): selection weights with gradients.

Every form takes a padded batch of similarities (batch, n, m) with masks (batch, n), (batch, m) that say which tokens
are real (None: all), and gives a `SoftMatching` whose weights have the same shape and are 0 at padding.

    envelope           the exact assignment X, a constant: gradients reach S through X·S alone
    sinkhorn           entropic transport; the long side leaves |n - m| of its mass to a slack token
    straight-through   X + P - P.detach(), P by Sinkhorn: the exact assignment, with Sinkhorn's gradient
    gumbel-sinkhorn    Sinkhorn of S + noise * Gumbel: a random soft permutation
    recursive-softmax  LiSAScore's recursion, then every short-side token spreads over its row by softmax
    recursive-gumbel   the same recursion plus Gumbel noise, one cell picked, gradient of the softmax

The recursion is that of `evalign.matching.assignment` itself: on tensors its steps (where, take, abs, amax) have
gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evalign.errors import InputError, MissingExtraError, SpecError
from evalign.matching.assignment.exact import Exact
from evalign.matching.assignment.one_sided import best_of_short_side
from evalign.matching.assignment.recursion import sharpened
from evalign.matching.ties import displacement

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("soft matching", "torch") from error

Masks = tuple[Tensor, Tensor]
FORBIDDEN = -1e30  # finite, because a softmax over nothing but -inf has NaN gradients
COOLING = 0.6  # from the span of the similarities down to the temperature
NEWTON_EVERY = 2  # at temperature .01, 5% of pairs of 30 tokens converge in 1000 steps without it, all in 50 with it
TINY = 1e-300
RIDGE = 1e-12  # the potentials are free up to a constant; this fixes it


@dataclass(frozen=True, slots=True)
class SoftOptions:
    """How soft (`temperature`), how random (`noise`), how exact and how long (Sinkhorn), which recursion."""

    temperature: float = 0.05
    noise: float = 0.1
    tolerance: float = 1e-4  # largest error of a token's mass
    max_iterations: int = 1000
    factor: float = 3.0  # above 2 the gradient of every step of the recursion is bounded
    rounds: int = 7
    generator: torch.Generator | None = None  # of the noise; None: torch's own

    def __post_init__(self) -> None:
        for name in ("temperature", "tolerance", "factor"):
            if not 0 < getattr(self, name) < math.inf:
                raise SpecError(f"{name}={getattr(self, name)}: expected a positive number")
        if not 0 <= self.noise < math.inf:
            raise SpecError(f"noise={self.noise}: expected 0 or a positive number")
        if self.max_iterations < 1 or self.rounds < 0:
            raise SpecError("max_iterations must be at least 1 and rounds not negative")


@dataclass(frozen=True, slots=True)
class SoftMatching:
    """Selection weights (batch, n, m), and per pair whether Sinkhorn met its tolerance (batch,)."""

    weights: Tensor
    converged: Tensor


DEFAULTS = SoftOptions()
Form = Callable[[Tensor, Masks | None, SoftOptions], SoftMatching]


def envelope(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """X of the exact assignment. By the envelope theorem X alone is the gradient of its total with respect to S."""
    values, masks = _prepared(similarity, masks)
    return _done(_exact(values, masks), similarity)


def sinkhorn(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Maximises sum(S·P) + temperature * entropy: short-side tokens have mass 1, long-side tokens at most 1."""
    values, masks = _prepared(similarity, masks)
    plan, converged = _Transport.apply(values, masks, options)  # type: ignore[no-untyped-call]
    return SoftMatching(plan.to(similarity.dtype), converged)


def straight_through(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """The exact assignment going forward, Sinkhorn going back."""
    soft = sinkhorn(similarity, masks, options)
    hard = envelope(similarity, masks).weights
    return SoftMatching(hard + (soft.weights - soft.weights.detach()), soft.converged)


def gumbel_sinkhorn(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Sinkhorn of a disturbed matrix; the draw depends on the generator and on the padded shape."""
    drawn = sinkhorn(similarity + options.noise * _gumbel(similarity, options.generator), masks, options)
    return SoftMatching(drawn.weights.to(similarity.dtype), drawn.converged)  # the noise is of 64 bits


def recursive_softmax(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Short-side tokens have mass 1; several may spend it on the same token of the long side."""
    sharp, masks = _sharpened(similarity, masks, options)
    return _done(_spread(sharp, masks, options.temperature), similarity)


def recursive_gumbel(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """One cell for each short-side token, drawn by Gumbel noise; noise=0 takes the cells of `recursive-argmax`."""
    sharp, masks = _sharpened(similarity, masks, options)
    sharp = sharp + options.noise * _gumbel(sharp, options.generator)
    soft = _spread(sharp, masks, options.temperature)
    hard = best_of_short_side(sharp.detach(), displacement(masks), masks)
    return _done(hard + (soft - soft.detach()), similarity)


FORMS: dict[str, Form] = {
    "envelope": envelope,
    "sinkhorn": sinkhorn,
    "straight-through": straight_through,
    "gumbel-sinkhorn": gumbel_sinkhorn,
    "recursive-softmax": recursive_softmax,
    "recursive-gumbel": recursive_gumbel,
}


class _Transport(torch.autograd.Function):
    """The entropic plan. Its gradient follows from the marginals being fixed, not from the steps that led there:

    dP = P·(dS + da + db) / temperature with all row and column sums of dP zero, which is one linear system.
    """

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, values: Tensor, masks: Masks, options: SoftOptions) -> object:
        plan, heat, converged = _plan(values, masks, options)
        ctx.save_for_backward(plan, heat)
        ctx.mark_non_differentiable(converged)
        return plan[:, :-1, :-1].clone(), converged

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor, _: Tensor) -> object:
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
    valid = _valid(masks)
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


def checked_masks(masks: Masks | None, shape: tuple[int, ...], device: torch.device) -> Masks:
    """The masks of a batch of shape (batch, n, m), all true if None; an error unless both sides have tokens."""
    batch, rows, columns = shape
    if masks is None:
        masks = torch.ones(batch, rows, device=device).bool(), torch.ones(batch, columns, device=device).bool()
    if masks[0].shape != (batch, rows) or masks[1].shape != (batch, columns):
        given = " and ".join(str(tuple(mask.shape)) for mask in masks)
        raise InputError(f"masks have shapes {given}: expected {(batch, rows)} and {(batch, columns)}")
    if masks[0].dtype != torch.bool or masks[1].dtype != torch.bool:
        raise InputError("masks must be boolean: true where there is a token")
    if not bool((masks[0].any(1) & masks[1].any(1)).all()):
        raise InputError("a side of a pair has no tokens")
    return masks


def _prepared(similarity: Tensor, masks: Masks | None) -> tuple[Tensor, Masks]:
    """64-bit values that are 0 at padding, whatever it holds, and the masks; or an error that says what is wrong."""
    if similarity.ndim != 3:
        raise InputError(f"similarity has shape {tuple(similarity.shape)}: expected a batch (batch, n, m)")
    masks = checked_masks(masks, tuple(similarity.shape), similarity.device)
    values = torch.where(_valid(masks), similarity.double(), 0.0)
    if not bool(torch.isfinite(values.detach()).all()):
        raise InputError("the similarity matrix holds NaN or infinite values")
    return values, masks


def _exact(values: Tensor, masks: Masks) -> Tensor:
    cells: Tensor = Exact().solve(values.detach(), masks=masks).cells
    return cells


def _sharpened(similarity: Tensor, masks: Masks | None, options: SoftOptions) -> tuple[Tensor, Masks]:
    values, masks = _prepared(similarity, masks)
    rounds = torch.full((len(values),), options.rounds, device=values.device)
    sharp = sharpened(values, masks, options.factor, rounds)
    return torch.where(_valid(masks), sharp, FORBIDDEN), masks


def _spread(sharp: Tensor, masks: Masks, temperature: float) -> Tensor:
    """Softmax along the long side; rows spread in a square matrix, as they choose in the recursion."""
    by_rows = (masks[0].sum(-1) <= masks[1].sum(-1))[:, None, None]
    logits = sharp / temperature
    return torch.where(_valid(masks), torch.where(by_rows, logits.softmax(2), logits.softmax(1)), 0.0)


def _gumbel(example: Tensor, generator: torch.Generator | None) -> Tensor:
    """Standard Gumbel noise, drawn where the generator lives."""
    device = example.device if generator is None else generator.device
    draw = torch.empty(example.shape, dtype=torch.float64, device=device).exponential_(generator=generator)
    return -draw.clamp_min(TINY).log().to(example.device)


def _done(weights: Tensor, similarity: Tensor) -> SoftMatching:
    """The result of a form that needs no iteration."""
    everywhere = torch.ones(len(weights), dtype=torch.bool, device=weights.device)
    return SoftMatching(weights.to(similarity.dtype), everywhere)


def _valid(masks: Masks) -> Tensor:
    return masks[0][:, :, None] & masks[1][:, None, :]
