"""Soft assignments, with gradients (extra `torch`): a padded batch of similarities in, a `SoftMatching` out.

Every method takes similarities (batch, n, m) with masks (batch, n), (batch, m), true where there is a token (None: no
padding), and returns selection weights of the same shape, which are 0 at padding.

    envelope           the exact assignment X, a constant: gradients reach S through X·S alone
    sinkhorn           entropic transport; the long side leaves |n - m| of its mass to a slack token
    straight-through   X + P - P.detach(), P by Sinkhorn: the exact assignment, with Sinkhorn's gradient
    gumbel-sinkhorn    Sinkhorn of S + noise * Gumbel: a random soft permutation
    recursive-softmax  LiSAScore's recursion, then softmax over the row of every short-side token
    recursive-gumbel   the same recursion plus Gumbel noise, one cell picked, gradient of the softmax
    recursive-topk     the same recursion, then a relaxed top-k of all cells, k = min(n, m)
    auction-topk       the recursion with factor 1, then a relaxed top-1 of every short-side token

The recursion is that of `evalign.matching.recursion`: on tensors its steps (where, take, abs, amax) have gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evalign.errors import InputError, MissingExtraError, SpecError
from evalign.matching.arrays import shorter, valid_cells
from evalign.matching.assignment import best_of_short_side
from evalign.matching.base import Matching
from evalign.matching.exact import Exact
from evalign.matching.recursion import AuctionTopk, Recursion, RecursiveArgmax, RecursiveTopk, sharpened
from evalign.matching.soft_topk import soft_topk
from evalign.matching.ties import displacement

try:
    import torch
    from torch import Tensor
    from torch.overrides import TorchFunctionMode
except ImportError as error:
    raise MissingExtraError("soft matching", "torch") from error

Masks = tuple[Tensor, Tensor]
FORBIDDEN = -1e30  # finite: a softmax over -inf alone has NaN gradients
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class SoftOptions:
    """Options of soft matchings.

    Attributes:
        temperature: Softness; towards 0 the selection becomes hard.
        noise: Scale of the Gumbel noise.
        tolerance: Maximum error of a token's mass (Sinkhorn).
        max_iterations: Maximum iterations of Sinkhorn.
        factor: Factor of the recursion; None: the paper's. Above 2 the gradient of every step is bounded.
        rounds: Rounds of the recursion; None: the paper's.
        generator: Source of the noise; None: torch's default.
    """

    temperature: float = 0.05
    noise: float = 0.1
    tolerance: float = 1e-4
    max_iterations: int = 1000
    factor: float | None = None
    rounds: int | None = None
    generator: torch.Generator | None = None

    def __post_init__(self) -> None:
        for name in ("temperature", "tolerance", "factor"):
            if getattr(self, name) is not None and not 0 < getattr(self, name) < math.inf:
                raise SpecError(f"{name}={getattr(self, name)}: expected a positive number")
        if not 0 <= self.noise < math.inf:
            raise SpecError(f"noise={self.noise}: expected 0 or a positive number")
        if self.max_iterations < 1 or (self.rounds is not None and self.rounds < 0):
            raise SpecError("max_iterations must be at least 1 and rounds not negative")


@dataclass(frozen=True, slots=True)
class SoftMatching:
    """Selection weights (batch, n, m), and whether Sinkhorn met its tolerance for each pair (batch,)."""

    weights: Tensor
    converged: Tensor


DEFAULTS = SoftOptions()


def checked_masks(masks: Masks | None, shape: tuple[int, ...], device: torch.device) -> Masks:
    """Return the masks of a batch of shape (batch, n, m), all true if None; raise unless both sides have tokens."""
    batch, rows, columns = shape
    if masks is None:
        masks = torch.ones(batch, rows, device=device).bool(), torch.ones(batch, columns, device=device).bool()
    if masks[0].shape != (batch, rows) or masks[1].shape != (batch, columns):
        shapes = " and ".join(str(tuple(mask.shape)) for mask in masks)
        raise InputError(f"masks have shapes {shapes}: expected {(batch, rows)} and {(batch, columns)}")
    if masks[0].dtype != torch.bool or masks[1].dtype != torch.bool:
        raise InputError("masks must be boolean: true where there is a token")
    if not bool((masks[0].any(1) & masks[1].any(1)).all()):
        raise InputError("a side of a pair has no tokens")
    return masks


def prepared(similarity: Tensor, masks: Masks | None) -> tuple[Tensor, Masks]:
    """Return 64-bit values, 0 at padding, and the masks; raise InputError if the input is invalid."""
    if similarity.ndim != 3:
        raise InputError(f"similarity has shape {tuple(similarity.shape)}: expected a batch (batch, n, m)")
    masks = checked_masks(masks, tuple(similarity.shape), similarity.device)
    values = torch.where(valid_cells(masks), similarity.double(), 0.0)
    if not bool(torch.isfinite(values.detach()).all()):
        raise InputError("the similarity matrix holds NaN or infinite values")
    return values, masks


COOLING = 0.6  # factor per iteration, from the span of the similarities down to the temperature
NEWTON_EVERY = 2  # at temperature .01, 5% of pairs of 30 tokens converge in 1000 steps without it, all in 50 with it
RIDGE = 1e-12  # the potentials are free up to a constant; this fixes it


class EntropicTransport(torch.autograd.Function):
    """Entropic transport plan with gradients: log-domain Sinkhorn, the long side's surplus left to a slack token.

    The gradient follows from the fixed marginals, independent of the iterations:
    dP = P·(dS + da + db) / temperature with all row and column sums of dP zero, which is one linear system.
    """

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, values: Tensor, masks: Masks, options: SoftOptions) -> object:
        """Return the plan (batch, n, m) without its slack, and whether each pair met the tolerance."""
        plan, temperature, converged = _plan(values, masks, options)
        ctx.save_for_backward(plan, temperature)
        ctx.mark_non_differentiable(converged)
        return plan[:, :-1, :-1].clone(), converged

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor, _: Tensor) -> object:
        """Return the gradient with respect to the values."""
        plan, temperature = ctx.saved_tensors  # type: ignore[attr-defined]
        upstream = torch.nn.functional.pad(gradient, (0, 1, 0, 1))  # nothing depends on the slack
        a, b = _potentials(plan, (plan * upstream).sum(2), (plan * upstream).sum(1))
        projected = plan * (upstream - a[:, :, None] - b[:, None, :])
        return projected[:, :-1, :-1] / temperature, None, None


def _potentials(plan: Tensor, by_row: Tensor, by_column: Tensor) -> tuple[Tensor, Tensor]:
    """Return a, b such that the rows of P·(a + b) sum to `by_row` and its columns to `by_column`."""
    rows, columns = plan.sum(2), plan.sum(1)
    inverse = torch.where(rows > 0, 1 / rows.clamp_min(TINY), 0.0)
    scaled = plan * inverse[:, :, None]
    system = torch.diag_embed(torch.where(columns > 0, columns, 1.0) + RIDGE) - plan.mT @ scaled
    with _one_thread():
        b = torch.linalg.solve(system, by_column - (scaled.mT @ by_row[:, :, None])[:, :, 0])
    return inverse * (by_row - (plan @ b[:, :, None])[:, :, 0]), b


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch with one thread inside this block.

    Some builds of MKL never return from a threaded LU decomposition; at 400 tokens one thread needs 3 ms.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _plan(values: Tensor, masks: Masks, options: SoftOptions) -> tuple[Tensor, Tensor, Tensor]:
    """Run log-domain Sinkhorn on the matrix with its slack row and column; converged pairs are frozen.

    Returns:
        The plan, its temperature (higher than asked for if the iterations ran out), and which pairs have converged.
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
        temperature = (span * COOLING**step).clamp_min(options.temperature)[:, None]
        next_f = _balanced(values, g, rows, temperature)
        error = _excess(rows, f, next_f, temperature)  # of the row sums; the columns' are exact
        active = active & ~(cold & (error <= options.tolerance))
        if not bool(active.any()):
            break
        if step % NEWTON_EVERY == NEWTON_EVERY - 1:
            next_g = _balanced(values.mT, next_f, columns, temperature)
            plan = torch.exp((values + next_f[:, :, None] + next_g[:, None, :]) / temperature[:, :, None])
            jump = next_f + temperature * _potentials(plan, rows - plan.sum(2), columns - plan.sum(1))[0]
            landed = _balanced(values.mT, jump, columns, temperature)
            better = _excess(rows, jump, _balanced(values, landed, rows, temperature), temperature) < error
            next_f = torch.where(better[:, None] & (rows > 0), jump, next_f)
        f = torch.where(active[:, None], next_f, f)
        g = torch.where(active[:, None], _balanced(values.mT, f, columns, temperature), g)
        cold = temperature[:, 0] <= options.temperature
    temperature = temperature[:, :, None]
    return torch.exp((values + f[:, :, None] + g[:, None, :]) / temperature), temperature, ~active


def _balanced(values: Tensor, column_potentials: Tensor, mass: Tensor, temperature: Tensor) -> Tensor:
    """Return the potentials that give every row its mass; `column_potentials` are those of the columns."""
    spread = torch.logsumexp((values + column_potentials[:, None, :]) / temperature[:, :, None], 2)
    return torch.where(mass > 0, temperature * (mass.clamp_min(TINY).log() - spread), 0.0)


def _excess(mass: Tensor, potentials: Tensor, balanced: Tensor, temperature: Tensor) -> Tensor:
    """Return the maximum difference between the mass of a row and its target."""
    return (mass * torch.expm1((potentials - balanced) / temperature)).abs().amax(1)


PAPER = "paper"  # preset with the default factor and rounds
SoftMethod = Callable[[Tensor, Masks | None, SoftOptions], SoftMatching]


def envelope(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Return X of the exact assignment; by the envelope theorem X is the gradient of its total with respect to S."""
    values, masks = prepared(similarity, masks)
    return _converged(_exact(values, masks), similarity)


def sinkhorn(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Maximise sum(S·P) + temperature * entropy: short-side tokens have mass 1, long-side tokens at most 1."""
    values, masks = prepared(similarity, masks)
    plan, converged = EntropicTransport.apply(values, masks, options)  # type: ignore[no-untyped-call]
    return SoftMatching(plan.to(similarity.dtype), converged)


def straight_through(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Return the exact assignment, with the gradient of Sinkhorn."""
    soft = sinkhorn(similarity, masks, options)
    hard = envelope(similarity, masks).weights
    return SoftMatching(hard + (soft.weights - soft.weights.detach()), soft.converged)


def gumbel_sinkhorn(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Run Sinkhorn on a matrix with noise; the draw depends on the generator and on the padded shape."""
    drawn = sinkhorn(similarity + options.noise * _gumbel(similarity, options.generator), masks, options)
    return SoftMatching(drawn.weights.to(similarity.dtype), drawn.converged)  # the noise has 64 bits


def recursive_softmax(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Spread mass 1 of each short-side token by softmax; several may choose the same long-side token."""
    sharp, masks = _sharpened(similarity, masks, options)
    return _converged(_row_softmax(sharp, masks, options.temperature), similarity)


def recursive_gumbel(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Draw one cell for each short-side token by Gumbel noise; noise=0 takes the cells of `recursive-argmax`."""
    sharp, masks = _sharpened(similarity, masks, options)
    sharp = sharp + options.noise * _gumbel(sharp, options.generator)
    soft = _row_softmax(sharp, masks, options.temperature)
    hard = best_of_short_side(sharp.detach(), displacement(masks), masks)
    return _converged(hard + (soft - soft.detach()), similarity)


def recursive_topk(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Select the k = min(n, m) largest cells by `soft_topk`; towards temperature 0 those of the hard method."""
    sharp, masks = _sharpened(similarity, masks, options, RecursiveTopk)
    weights = soft_topk(sharp.flatten(1), shorter(masks), valid_cells(masks).flatten(1), options.temperature)
    return _converged(weights.reshape(sharp.shape), similarity)


def auction_topk(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Select each short-side token's largest cell by `soft_topk`; towards temperature 0 as the hard method."""
    sharp, masks = _sharpened(similarity, masks, options, AuctionTopk)
    valid = valid_cells(masks)
    by_row = soft_topk(sharp, masks[0].long(), valid, options.temperature)
    by_column = soft_topk(sharp.mT, masks[1].long(), valid.mT, options.temperature).mT
    return _converged(torch.where(_rows_choose(masks), by_row, by_column), similarity)


SOFT_METHODS: dict[str, SoftMethod] = {
    "envelope": envelope,
    "sinkhorn": sinkhorn,
    "straight-through": straight_through,
    "gumbel-sinkhorn": gumbel_sinkhorn,
    "recursive-softmax": recursive_softmax,
    "recursive-gumbel": recursive_gumbel,
    "recursive-topk": recursive_topk,
    "auction-topk": auction_topk,
}


def _exact(values: Tensor, masks: Masks) -> Tensor:
    cells: Tensor = Exact().solve(values.detach(), masks=masks).cells
    return cells


def _sharpened(
    similarity: Tensor, masks: Masks | None, options: SoftOptions, method: type[Recursion] = RecursiveArgmax
) -> tuple[Tensor, Masks]:
    """Return the matrix after the recursion, with the options' factor and rounds or the method's paper preset."""
    values, masks = prepared(similarity, masks)
    factor, rounds = method.constants[PAPER]
    factor, rounds = options.factor or factor, rounds if options.rounds is None else options.rounds
    sharp = sharpened(values, masks, factor, torch.full((len(values),), rounds, device=values.device))
    return torch.where(valid_cells(masks), sharp, FORBIDDEN), masks


def _row_softmax(sharp: Tensor, masks: Masks, temperature: float) -> Tensor:
    """Apply softmax along the long side; along rows in a square matrix, as the recursion chooses."""
    logits = sharp / temperature
    return torch.where(valid_cells(masks), torch.where(_rows_choose(masks), logits.softmax(2), logits.softmax(1)), 0.0)


def _rows_choose(masks: Masks) -> Tensor:
    return (masks[0].sum(-1) <= masks[1].sum(-1))[:, None, None]


def _gumbel(example: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw standard Gumbel noise on the generator's device."""
    device = example.device if generator is None else generator.device
    draw = torch.empty(example.shape, dtype=torch.float64, device=device).exponential_(generator=generator)
    return -draw.clamp_min(TINY).log().to(example.device)


def _converged(weights: Tensor, similarity: Tensor) -> SoftMatching:
    """Return the result of a method without iterations."""
    all_converged = torch.ones(len(weights), dtype=torch.bool, device=weights.device)
    return SoftMatching(weights.to(similarity.dtype), all_converged)


PROBE_SHAPE = (2, 6, 9)
MIN_GRADIENT = 1e-12


@dataclass(frozen=True)
class Capability:
    """Behaviour on tensors: `on_device` if no array left torch; `gradient`: share of cells that have one."""

    on_device: bool
    gradient: float


def capability(matching: Matching) -> Capability:
    """Run the matching on tensors; its selection is that of the soft method of the same name, if there is one."""
    similarity = torch.rand(PROBE_SHAPE, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with _DeviceCheck() as check:
        cells = matching.solve(similarity).cells
    similarity.requires_grad_()
    soft_method = SOFT_METHODS.get(matching.key)
    selected = cells.double() if soft_method is None else soft_method(similarity, None, DEFAULTS).weights
    return Capability(not check.left, _gradient_share(selected, similarity))


def _gradient_share(selected: Tensor, similarity: Tensor) -> float:
    """Return the share of cells whose similarity changes some part of the selection."""
    if not selected.requires_grad:
        return 0.0
    prices = torch.rand(PROBE_SHAPE, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    (gradient,) = torch.autograd.grad((selected * prices).sum(), similarity)
    return float((gradient.abs() > MIN_GRADIENT).double().mean())


class _DeviceCheck(TorchFunctionMode):
    """Record whether an array leaves torch or its device."""

    def __init__(self) -> None:
        super().__init__()
        self.left = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self.left |= func in (Tensor.numpy, Tensor.cpu, Tensor.__array__)
        return func(*args, **(kwargs or {}))
