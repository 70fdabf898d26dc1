"""Losses on the cosines of rated pairs: cosine regression, and CoSENT, which is about their order alone.

In: cosines (batch,) with gradient and the similarities they should have (batch,). Out: one number to minimise.
"""

from __future__ import annotations

from collections.abc import Callable

from evalign.tuning.trainee import torch

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
SCALE = 20.0  # of the CoSENT authors: a difference of cosines of .05 counts as 1


def cosine_mse(cosines: torch.Tensor, similarities: torch.Tensor) -> torch.Tensor:
    """mean((cos - similarity)^2)."""
    return ((cosines - similarities) ** 2).mean()


def cosent(cosines: torch.Tensor, similarities: torch.Tensor) -> torch.Tensor:
    """log(1 + sum exp(20 (cos_i - cos_j))) over all i, j of which j should be the more similar pair (Su 2022)."""
    differences = SCALE * (cosines[:, None] - cosines[None, :])
    ordered = similarities[:, None] < similarities[None, :]
    return torch.logsumexp(torch.cat([differences.new_zeros(1), differences[ordered]]), dim=0)


LOSSES: dict[str, Loss] = {"cosine-mse": cosine_mse, "cosent": cosent}
