"""The forms of soft assignment: a padded batch of similarities in, a `SoftMatching` out."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from evalign.matching.arrays import shorter, valid_cells
from evalign.matching.assignment.exact import Exact
from evalign.matching.assignment.one_sided import best_of_short_side
from evalign.matching.assignment.recursion import AuctionTopk, Recursion, RecursiveArgmax, RecursiveTopk, sharpened
from evalign.matching.soft.base import DEFAULTS, FORBIDDEN, TINY, Masks, SoftMatching, SoftOptions, prepared
from evalign.matching.soft.sinkhorn import Transport
from evalign.matching.soft.topk import soft_topk
from evalign.matching.ties import displacement

PAPER = "paper"  # the preset that a form's factor and rounds are taken from
Form = Callable[[Tensor, Masks | None, SoftOptions], SoftMatching]


def envelope(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """X of the exact assignment. By the envelope theorem X alone is the gradient of its total with respect to S."""
    values, masks = prepared(similarity, masks)
    return _done(_exact(values, masks), similarity)


def sinkhorn(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """Maximises sum(S·P) + temperature * entropy: short-side tokens have mass 1, long-side tokens at most 1."""
    values, masks = prepared(similarity, masks)
    plan, converged = Transport.apply(values, masks, options)  # type: ignore[no-untyped-call]
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


def recursive_topk(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """The k = min(n, m) largest cells of all, by `soft_topk`; towards temperature 0 those of the hard method."""
    sharp, masks = _sharpened(similarity, masks, options, RecursiveTopk)
    weights = soft_topk(sharp.flatten(1), shorter(masks), valid_cells(masks).flatten(1), options.temperature)
    return _done(weights.reshape(sharp.shape), similarity)


def auction_topk(similarity: Tensor, masks: Masks | None = None, options: SoftOptions = DEFAULTS) -> SoftMatching:
    """The largest cell of every short-side token, by `soft_topk`; towards temperature 0 those of the hard method."""
    sharp, masks = _sharpened(similarity, masks, options, AuctionTopk)
    valid = valid_cells(masks)
    by_row = soft_topk(sharp, masks[0].long(), valid, options.temperature)
    by_column = soft_topk(sharp.mT, masks[1].long(), valid.mT, options.temperature).mT
    return _done(torch.where(_rows_choose(masks), by_row, by_column), similarity)


FORMS: dict[str, Form] = {
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
    """The matrix after the recursion, with the options' factor and rounds, or the paper's of the method."""
    values, masks = prepared(similarity, masks)
    factor, rounds = method.constants[PAPER]
    factor, rounds = options.factor or factor, rounds if options.rounds is None else options.rounds
    sharp = sharpened(values, masks, factor, torch.full((len(values),), rounds, device=values.device))
    return torch.where(valid_cells(masks), sharp, FORBIDDEN), masks


def _spread(sharp: Tensor, masks: Masks, temperature: float) -> Tensor:
    """Softmax along the long side; rows spread in a square matrix, as they choose in the recursion."""
    logits = sharp / temperature
    return torch.where(valid_cells(masks), torch.where(_rows_choose(masks), logits.softmax(2), logits.softmax(1)), 0.0)


def _rows_choose(masks: Masks) -> Tensor:
    return (masks[0].sum(-1) <= masks[1].sum(-1))[:, None, None]


def _gumbel(example: Tensor, generator: torch.Generator | None) -> Tensor:
    """Standard Gumbel noise, drawn where the generator lives."""
    device = example.device if generator is None else generator.device
    draw = torch.empty(example.shape, dtype=torch.float64, device=device).exponential_(generator=generator)
    return -draw.clamp_min(TINY).log().to(example.device)


def _done(weights: Tensor, similarity: Tensor) -> SoftMatching:
    """The result of a form that needs no iteration."""
    everywhere = torch.ones(len(weights), dtype=torch.bool, device=weights.device)
    return SoftMatching(weights.to(similarity.dtype), everywhere)
