"""Losses that train encoders for matching (extra `torch`): token vectors of pairs in, one number out.

    loss = AlignmentLoss("straight-through")
    loss(candidates, references, masks).backward()                    # texts that should agree
    loss(candidates, references, masks, ratings=ratings).backward()   # pairs that people rated between 0 and 1
    loss = ContrastiveAlignmentLoss("greedy")
    loss(candidates, references, masks).backward()                    # each pair against the other pairs of its batch

Candidates (batch, n, d) and references (batch, m, d) are padded token vectors; masks (batch, n), (batch, m) are true
where there is a token. In the forms that pick cells, F1 is that of the metric: `lisascore`, or `bertscore` for greedy.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields

from evalign.errors import InputError, MissingExtraError, SpecError, nearest

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("evalign.training.losses", "torch") from error

from evalign.matching.soft import DEFAULTS, SOFT_METHODS, Masks, SoftOptions, checked_masks

GREEDY = "greedy"
REDUCTIONS = ("mean", "none")
FIELDS = ("f1", "precision", "recall")
MIN_TEMPERATURE = 1e-6  # scores divided by a lower temperature overflow


@dataclass(frozen=True, slots=True)
class SoftScores:
    """Per pair: precision, recall, F1, and whether the matching met its tolerance; each (batch,) or (batch, batch)."""

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
        _check_named("matching", matching, (GREEDY, *SOFT_METHODS))
        _check_named("reduction", reduction, REDUCTIONS)
        self.matching, self.options, self.reduction = matching, options, reduction

    def forward(
        self,
        candidates: Tensor,
        references: Tensor,
        masks: Masks | None = None,
        weights: Masks | None = None,
        ratings: Tensor | None = None,
    ) -> Tensor:
        """Return the loss: one number, or one per pair with reduction="none"."""
        scores = self.scores(candidates, references, masks, weights)
        _warn_unconverged(scores, self.options)
        if ratings is None:
            losses = 1 - scores.f1
        else:
            _check_ratings(ratings, scores.f1)
            losses = (scores.f1 - ratings) ** 2
        return losses.mean() if self.reduction == "mean" else losses

    def scores(
        self, candidates: Tensor, references: Tensor, masks: Masks | None = None, weights: Masks | None = None
    ) -> SoftScores:
        """Return precision, recall and F1 per pair; `weights` (batch, n), (batch, m) are token weights, such as IDF."""
        masks = _checked(candidates, references, masks, weights)
        sides = [_unit(vectors, mask) for vectors, mask in zip((candidates, references), masks, strict=True)]
        return self.scores_of(sides[0] @ sides[1].mT, masks, weights)

    def scores_of(self, similarity: Tensor, masks: Masks, weights: Masks | None) -> SoftScores:
        """Return the scores of a batch of similarity matrices (batch, n, m)."""
        if self.matching == GREEDY:
            rows, columns = _greedy_values(similarity, masks)
            converged = masks[0].any(1)
        else:
            matched = SOFT_METHODS[self.matching](similarity, masks, self.options)
            rows, columns = _values(similarity, matched.weights, masks, self.matching)
            converged = matched.converged
        of_rows, of_columns = (None, None) if weights is None else weights
        precision, recall = _mean(rows, masks[0], of_rows), _mean(columns, masks[1], of_columns)
        return SoftScores(precision, recall, _f1(precision, recall), converged)


class ContrastiveAlignmentLoss(torch.nn.Module):
    """InfoNCE of alignment scores: every candidate is compared with all references of the batch.

    With scores S (batch, batch), loss_i = -log(exp(S_ii / temperature) / sum_j exp(S_ij / temperature)); `symmetric`
    averages it with that of the columns, where references find candidates. `temperature` is that of this softmax, the
    one in `options` that of the matching. `score` says which field S holds; precision and recall have a gradient where
    they are negative, too.
    """

    def __init__(
        self,
        matching: str = GREEDY,
        options: SoftOptions = DEFAULTS,
        reduction: str = "mean",
        temperature: float = 0.05,
        score: str = "f1",
        symmetric: bool = True,
    ) -> None:
        super().__init__()
        self.alignment = AlignmentLoss(matching, options, reduction)
        _check_named("score", score, FIELDS)
        if not MIN_TEMPERATURE <= temperature < math.inf:
            raise SpecError(f"temperature={temperature}: expected {MIN_TEMPERATURE:g} or more")
        self.temperature, self.score, self.symmetric = temperature, score, symmetric

    def forward(
        self,
        candidates: Tensor,
        references: Tensor,
        masks: Masks | None = None,
        weights: Masks | None = None,
        groups: Tensor | None = None,
    ) -> Tensor:
        """Return the loss: one number, or one per pair with reduction="none".

        Pairs of the same number in `groups` (batch,) are no negatives of each other, such as several translations of
        one sentence.
        """
        scores = self.scores(candidates, references, masks, weights)
        _warn_unconverged(scores, self.alignment.options)
        matrix: Tensor = getattr(scores, self.score)
        compared = _compared(groups, matrix)
        losses = _info_nce(matrix, compared, self.temperature)
        if self.symmetric:
            losses = (losses + _info_nce(matrix.mT, compared, self.temperature)) / 2
        return losses.mean() if self.alignment.reduction == "mean" else losses

    def scores(
        self, candidates: Tensor, references: Tensor, masks: Masks | None = None, weights: Masks | None = None
    ) -> SoftScores:
        """Return precision, recall and F1 of each candidate (row) with each reference (column), each (batch, batch)."""
        masks = _checked(candidates, references, masks, weights)
        count = len(candidates)
        if count < 2:
            raise InputError(
                "a contrastive loss needs at least 2 pairs in a batch, since the other pairs are the negatives; "
                "raise the batch size, or use AlignmentLoss"
            )
        left, right = (_unit(vectors, mask) for vectors, mask in zip((candidates, references), masks, strict=True))
        similarity = torch.einsum("ind,jmd->ijnm", left, right).flatten(0, 1)
        crossed = None if weights is None else _crossed(*weights, count)
        pairs = self.alignment.scores_of(similarity, _crossed(*masks, count), crossed)
        return SoftScores(*(getattr(pairs, item.name).reshape(count, count) for item in fields(SoftScores)))


def _crossed(of_rows: Tensor, of_columns: Tensor, count: int) -> Masks:
    """Repeat rows for candidate i and columns for reference j, for every pair (i, j) in row-major order."""
    return of_rows.repeat_interleave(count, 0), of_columns.repeat(count, 1)


def _info_nce(scores: Tensor, compared: Tensor, temperature: float) -> Tensor:
    """Return -log softmax of the diagonal in its row, relative to it, so that low temperatures lose no digits."""
    logits = (scores - scores.diagonal()[:, None]) / temperature
    return torch.where(compared, logits, -torch.inf).logsumexp(1)


def _compared(groups: Tensor | None, scores: Tensor) -> Tensor:
    """Return a symmetric mask (batch, batch) of the compared pairs: the diagonal, and pairs of different groups."""
    if groups is None:
        return torch.ones_like(scores, dtype=torch.bool)
    if groups.shape != scores.shape[:1] or groups.is_floating_point():
        raise InputError(f"expected {len(scores)} groups, one whole number per pair, got shape {tuple(groups.shape)}")
    negatives = groups[:, None] != groups[None, :]
    if not bool(negatives.any(1).all()):
        raise InputError("all pairs of the batch are in the same group, so there are no negatives; mix the groups")
    return negatives | torch.eye(len(scores), dtype=torch.bool, device=scores.device)


def _unit(vectors: Tensor, mask: Tensor) -> Tensor:
    """Normalise rows to length 1; padding (with any values) and zero vectors become 0 with finite gradients."""
    vectors = vectors.float() if vectors.dtype in (torch.float16, torch.bfloat16) else vectors
    real = torch.where(mask[:, :, None], vectors, 0.0)
    if not bool(torch.isfinite(real.detach()).all()):
        raise InputError("the token vectors have NaN or infinite values")
    # The cosine does not depend on the scale, so that a constant scale is exact; squares would overflow without it.
    largest = real.detach().abs().amax(2, keepdim=True)
    real = real / torch.where(largest > 0, largest, 1.0)
    squares = (real * real).sum(2, keepdim=True)
    return real * torch.where(squares > 0, squares, 1.0).rsqrt()


def _greedy_values(similarity: Tensor, masks: Masks) -> tuple[Tensor, Tensor]:
    """Return the value of each token: the similarity of its best partner."""
    allowed = torch.where(masks[0][:, :, None] & masks[1][:, None, :], similarity, -torch.inf)
    return torch.where(masks[0], allowed.amax(2), 0.0), torch.where(masks[1], allowed.amax(1), 0.0)


def _values(similarity: Tensor, weights: Tensor, masks: Masks, matching: str) -> tuple[Tensor, Tensor]:
    """Return the value of each token: the sum of its weighted cells, or its best cell if it may be selected twice."""
    products = weights * similarity
    rows, columns = products.sum(2), products.sum(1)
    if matching not in BEST_CELL:
        return rows, columns
    best_rows, best_columns = BEST_CELL[matching](similarity, weights), BEST_CELL[matching](similarity.mT, weights.mT)
    if matching == "recursive-topk":
        return best_rows, best_columns
    by_rows = (masks[0].sum(1) <= masks[1].sum(1))[:, None]
    return torch.where(by_rows, rows, best_rows), torch.where(by_rows, best_columns, columns)


def _best_claim(similarity: Tensor, weights: Tensor) -> Tensor:
    """Return the largest weight times similarity of each row, among cells with positive weight."""
    claimed = weights > 0
    return torch.where(claimed.any(2), torch.where(claimed, weights * similarity, -torch.inf).amax(2), 0.0)


def _expected_best(similarity: Tensor, weights: Tensor) -> Tensor:
    """Return the expected best selected cell of each row, if every cell is selected with its weight as probability."""
    falling, order = similarity.sort(2, descending=True)
    selected = weights.gather(2, order)
    none_before = torch.nn.functional.pad((1 - selected).cumprod(2)[:, :, :-1], (1, 0), value=1.0)
    return (falling * selected * none_before).sum(2)


# Matchings that may select tokens twice (`recursive-topk` tokens of both sides, the others of the longer side).
BEST_CELL: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "recursive-softmax": _best_claim,
    "recursive-gumbel": _best_claim,
    "recursive-topk": _expected_best,
    "auction-topk": _expected_best,
}


def _mean(values: Tensor, mask: Tensor, weights: Tensor | None) -> Tensor:
    """Return sum(w x) / sum(w) over real tokens; equal weights if all are 0, as in the metric."""
    equal = mask.to(values.dtype)
    if weights is None:
        return (values * equal).sum(1) / equal.sum(1)
    real = torch.where(mask, weights, 0.0).to(values.dtype)
    if not bool((torch.isfinite(real) & (real >= 0)).all()):
        raise InputError("token weights must be finite and not negative")
    real = torch.where(real.sum(1, keepdim=True) > 0, real, equal)
    return (values * real).sum(1) / real.sum(1)


def _f1(precision: Tensor, recall: Tensor) -> Tensor:
    both = (precision > 0) & (recall > 0)
    return torch.where(both, 2 * precision * recall / torch.where(both, precision + recall, 1.0), 0.0)


def _checked(candidates: Tensor, references: Tensor, masks: Masks | None, weights: Masks | None) -> Masks:
    shapes = tuple(candidates.shape), tuple(references.shape)
    if candidates.ndim != 3 or references.ndim != 3 or shapes[0][::2] != shapes[1][::2] or 0 in shapes[0][::2]:
        raise InputError(f"expected candidates (batch, n, d) and references (batch, m, d), not {shapes}")
    masks = checked_masks(masks, (*shapes[0][:2], shapes[1][1]), candidates.device)
    for of_tokens, mask in zip(weights or (), masks, strict=weights is not None):
        if of_tokens.shape != mask.shape:
            raise InputError(f"token weights have shape {tuple(of_tokens.shape)}: expected {tuple(mask.shape)}")
    return masks


def _check_ratings(ratings: Tensor, f1: Tensor) -> None:
    if ratings.shape != f1.shape or not bool(torch.isfinite(ratings).all()):
        raise InputError(f"expected {len(f1)} finite ratings, one per pair, got shape {tuple(ratings.shape)}")


def _check_named(option: str, name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise SpecError(f"unknown {option} {name!r}; {nearest(name, names)}")


def _warn_unconverged(scores: SoftScores, options: SoftOptions) -> None:
    stopped = int((~scores.converged).sum())
    if stopped:
        limit = f"max_iterations={options.max_iterations}"
        warnings.warn(f"Sinkhorn stopped at {limit} in {stopped} pairs; raise the temperature", stacklevel=3)
