"""A loss that trains encoders for matching (extra `torch`): 1 - F1 of aligned token vectors, or F1 against ratings.

    loss = AlignmentLoss("straight-through")
    loss(candidates, references, masks).backward()                    # texts that should agree
    loss(candidates, references, masks, ratings=ratings).backward()   # pairs that people rated between 0 and 1

Candidates (batch, n, d) and references (batch, m, d) are padded token vectors; masks (batch, n), (batch, m) are true
where there is a token. In the forms that pick cells, F1 is that of the metric: `lisascore`, or `bertscore` for greedy.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from evalign.errors import InputError, MissingExtraError, SpecError, nearest

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("evalign.losses", "torch") from error

from evalign.matching.soft import DEFAULTS, FORMS, Masks, SoftMatching, SoftOptions, checked_masks

GREEDY = "greedy"
RULE_BREAKING = ("recursive-softmax", "recursive-gumbel")  # a long-side token may be picked twice
REDUCTIONS = ("mean", "none")


@dataclass(frozen=True, slots=True)
class SoftScores:
    """Per pair: precision, recall, F1, and whether the matching met its tolerance; each (batch,)."""

    precision: Tensor
    recall: Tensor
    f1: Tensor
    converged: Tensor


class AlignmentLoss(torch.nn.Module):
    """1 - F1 of the matched token vectors; with ratings, the squared difference of F1 and rating.

    `matching` is "greedy" or a form of `evalign.matching.soft`, which `options` set. A pair whose precision or recall
    is not positive has F1 = 0, as in the metric, and no gradient.
    """

    def __init__(
        self, matching: str = "straight-through", options: SoftOptions = DEFAULTS, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if matching != GREEDY and matching not in FORMS:
            raise SpecError(f"unknown matching {matching!r}; {nearest(matching, (GREEDY, *FORMS))}")
        if reduction not in REDUCTIONS:
            raise SpecError(f"unknown reduction {reduction!r}; {nearest(reduction, REDUCTIONS)}")
        self.matching, self.options, self.reduction = matching, options, reduction

    def forward(
        self,
        candidates: Tensor,
        references: Tensor,
        masks: Masks | None = None,
        weights: Masks | None = None,
        ratings: Tensor | None = None,
    ) -> Tensor:
        """The loss: one number, or one per pair with reduction="none"."""
        scores = self.scores(candidates, references, masks, weights)
        if not bool(scores.converged.all()):
            stopped = int((~scores.converged).sum())
            limit = f"max_iterations={self.options.max_iterations}"
            warnings.warn(f"Sinkhorn stopped at {limit} in {stopped} pairs; raise the temperature", stacklevel=2)
        if ratings is None:
            losses = 1 - scores.f1
        else:
            _check_ratings(ratings, scores.f1)
            losses = (scores.f1 - ratings) ** 2
        return losses.mean() if self.reduction == "mean" else losses

    def scores(
        self, candidates: Tensor, references: Tensor, masks: Masks | None = None, weights: Masks | None = None
    ) -> SoftScores:
        """Precision, recall and F1 of every pair; `weights` (batch, n), (batch, m) are those of tokens, as IDF."""
        masks = _checked(candidates, references, masks)
        sides = [_unit(vectors, mask) for vectors, mask in zip((candidates, references), masks, strict=True)]
        similarity = sides[0] @ sides[1].mT
        if self.matching == GREEDY:
            rows, columns = _greedy_values(similarity, masks)
            converged = masks[0].any(1)
        else:
            matched = FORMS[self.matching](similarity, masks, self.options)
            rows, columns = _values(similarity, matched, masks, self.matching in RULE_BREAKING)
            converged = matched.converged
        of_rows, of_columns = (None, None) if weights is None else weights
        precision, recall = _mean(rows, masks[0], of_rows), _mean(columns, masks[1], of_columns)
        return SoftScores(precision, recall, _f1(precision, recall), converged)


def _unit(vectors: Tensor, mask: Tensor) -> Tensor:
    """Rows of length 1; padding, whatever it holds, and zero vectors become 0 and keep finite gradients."""
    vectors = vectors.float() if vectors.dtype in (torch.float16, torch.bfloat16) else vectors
    real = torch.where(mask[:, :, None], vectors, 0.0)
    if not bool(torch.isfinite(real.detach()).all()):
        raise InputError("the token vectors hold NaN or infinite values")
    # The cosine does not depend on the scale, so that a constant scale is exact; squares would overflow without it.
    largest = real.detach().abs().amax(2, keepdim=True)
    real = real / torch.where(largest > 0, largest, 1.0)
    squares = (real * real).sum(2, keepdim=True)
    return real * torch.where(squares > 0, squares, 1.0).rsqrt()


def _greedy_values(similarity: Tensor, masks: Masks) -> tuple[Tensor, Tensor]:
    """Every token is worth its best partner."""
    allowed = torch.where(masks[0][:, :, None] & masks[1][:, None, :], similarity, -torch.inf)
    return torch.where(masks[0], allowed.amax(2), 0.0), torch.where(masks[1], allowed.amax(1), 0.0)


def _values(similarity: Tensor, matched: SoftMatching, masks: Masks, rule_breaking: bool) -> tuple[Tensor, Tensor]:
    """What each token is worth: its share of each cell; where several may claim it, its best one, never the sum."""
    worth = matched.weights * similarity
    rows, columns = worth.sum(2), worth.sum(1)
    if not rule_breaking:
        return rows, columns
    claimed = matched.weights > 0
    claims = torch.where(claimed, worth, -torch.inf)
    by_rows = (masks[0].sum(1) <= masks[1].sum(1))[:, None]
    best_rows = torch.where(claimed.any(2), claims.amax(2), 0.0)
    best_columns = torch.where(claimed.any(1), claims.amax(1), 0.0)
    return torch.where(by_rows, rows, best_rows), torch.where(by_rows, best_columns, columns)


def _mean(values: Tensor, mask: Tensor, weights: Tensor | None) -> Tensor:
    """sum(w x) / sum(w) over real tokens; equal weights where all are 0, as in the metric."""
    equal = mask.to(values.dtype)
    if weights is None:
        return (values * equal).sum(1) / equal.sum(1)
    if weights.shape != mask.shape:
        raise InputError(f"token weights have shape {tuple(weights.shape)}: expected {tuple(mask.shape)}")
    real = torch.where(mask, weights, 0.0).to(values.dtype)
    if not bool((torch.isfinite(real) & (real >= 0)).all()):
        raise InputError("token weights must be finite and not negative")
    real = torch.where(real.sum(1, keepdim=True) > 0, real, equal)
    return (values * real).sum(1) / real.sum(1)


def _f1(precision: Tensor, recall: Tensor) -> Tensor:
    both = (precision > 0) & (recall > 0)
    return torch.where(both, 2 * precision * recall / torch.where(both, precision + recall, 1.0), 0.0)


def _checked(candidates: Tensor, references: Tensor, masks: Masks | None) -> Masks:
    shapes = tuple(candidates.shape), tuple(references.shape)
    if candidates.ndim != 3 or references.ndim != 3 or shapes[0][::2] != shapes[1][::2] or 0 in shapes[0][::2]:
        raise InputError(f"expected candidates (batch, n, d) and references (batch, m, d), not {shapes}")
    return checked_masks(masks, (*shapes[0][:2], shapes[1][1]), candidates.device)


def _check_ratings(ratings: Tensor, f1: Tensor) -> None:
    if ratings.shape != f1.shape or not bool(torch.isfinite(ratings).all()):
        raise InputError(f"expected {len(f1)} finite ratings, one per pair, got shape {tuple(ratings.shape)}")
