"""What all soft matchings share: their options, their result, and the checks of a padded batch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from evalign.errors import InputError, MissingExtraError, SpecError
from evalign.matching.arrays import valid_cells

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("soft matching", "torch") from error

Masks = tuple[Tensor, Tensor]
FORBIDDEN = -1e30  # finite, because a softmax over nothing but -inf has NaN gradients
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class SoftOptions:
    """How soft (`temperature`), how random (`noise`), how exact and how long (Sinkhorn), which recursion."""

    temperature: float = 0.05
    noise: float = 0.1
    tolerance: float = 1e-4  # largest error of a token's mass
    max_iterations: int = 1000
    factor: float | None = None  # None: the paper's; above 2 the gradient of every step of the recursion is bounded
    rounds: int | None = None  # None: the paper's
    generator: torch.Generator | None = None  # of the noise; None: torch's own

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
    """Selection weights (batch, n, m), and per pair whether Sinkhorn met its tolerance (batch,)."""

    weights: Tensor
    converged: Tensor


DEFAULTS = SoftOptions()


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


def prepared(similarity: Tensor, masks: Masks | None) -> tuple[Tensor, Masks]:
    """64-bit values that are 0 at padding, whatever it holds, and the masks; or an error that says what is wrong."""
    if similarity.ndim != 3:
        raise InputError(f"similarity has shape {tuple(similarity.shape)}: expected a batch (batch, n, m)")
    masks = checked_masks(masks, tuple(similarity.shape), similarity.device)
    values = torch.where(valid_cells(masks), similarity.double(), 0.0)
    if not bool(torch.isfinite(values.detach()).all()):
        raise InputError("the similarity matrix holds NaN or infinite values")
    return values, masks
