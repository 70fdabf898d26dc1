"""A top-k with gradients: values in, weights between 0 and 1 that sum to k out.

    w = sigmoid((x - t) / temperature), t such that sum(w) = k

is the w in [0, 1] that maximises sum(w x) + temperature * sum of the binary entropies of w (the two-bin transport of
Xie et al. 2020, "Differentiable Top-k with Optimal Transport"). Towards temperature 0 it is the hard top-k.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from evalign.errors import InputError, SpecError

TOLERANCE = 1e-12  # largest error of the sum, as a share of k
MAX_STEPS = 100  # about 10 are needed: Newton's, or halving the bracket where Newton would leave it


def soft_topk(values: Tensor, k: int | Tensor, mask: Tensor | None = None, temperature: float = 0.05) -> Tensor:
    """Weights of the last axis that sum to k, near 1 for the k largest values (..., n) and 0 where `mask` is false.

    `k` is a number or one per vector (...). Equal values share equally, where the hard top-k takes the first.
    """
    if not 0 < temperature < math.inf:
        raise SpecError(f"temperature={temperature}: expected a positive number")
    if not values.is_floating_point() or values.ndim == 0 or values.shape[-1] == 0:
        raise InputError(f"expected floating-point values (..., n), n > 0, not {values.dtype} {tuple(values.shape)}")
    mask = torch.ones_like(values, dtype=torch.bool) if mask is None else mask
    if mask.shape != values.shape or mask.dtype != torch.bool:
        raise InputError(f"the mask must be boolean and of shape {tuple(values.shape)}: true where a value counts")
    real = torch.where(mask, values.double(), 0.0)
    if not bool(torch.isfinite(real.detach()).all()):
        raise InputError("the values hold NaN or infinite numbers; mask out those that do not count")
    wanted = _checked_k(k, mask)
    weights: Tensor = _TopK.apply(real, wanted, mask, temperature)  # type: ignore[no-untyped-call]
    return weights.to(values.dtype)


class _TopK(torch.autograd.Function):
    """The weights. Their sum is fixed, so that dw = s·(dx - mean of dx weighted by s), s = w(1 - w) / temperature."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, values: Tensor, k: Tensor, mask: Tensor, temperature: float
    ) -> object:
        some = (k > 0) & (k < mask.sum(-1))
        all_or_none = (mask & (k > 0)[..., None]).to(values.dtype)
        weights = torch.where(some[..., None], _weights(values, k, mask, temperature), all_or_none)
        ctx.save_for_backward(weights)
        ctx.temperature = temperature  # type: ignore[attr-defined]
        return weights

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> object:
        (weights,) = ctx.saved_tensors  # type: ignore[attr-defined]
        slope = weights * (1 - weights)
        total = slope.sum(-1, keepdim=True)
        mean = (slope * gradient).sum(-1, keepdim=True) / torch.where(total > 0, total, 1.0)
        return slope * (gradient - mean) / ctx.temperature, None, None, None  # type: ignore[attr-defined]


def _weights(values: Tensor, k: Tensor, mask: Tensor, temperature: float) -> Tensor:
    """Sigmoids above a threshold t, by Newton's method in a bracket; where 0 < k < n, otherwise anything finite.

    With t = x_(k+1) - temperature log k the k + 1 largest sum to at least k; with t = x_(k) + temperature log(n - k)
    all sum to at most k. Values are taken relative to x_(k), so that t is precise however low the temperature.
    """
    count, k = mask.sum(-1), k.clamp_min(1)
    falling = torch.where(mask, values, -torch.inf).sort(-1, descending=True)[0]
    last = count.clamp_min(1) - 1
    within = falling.gather(-1, torch.minimum(k - 1, last)[..., None])
    beyond = falling.gather(-1, torch.minimum(k, last)[..., None])
    within, beyond = (torch.where((count > 0)[..., None], edge, 0.0) for edge in (within, beyond))
    values = values - within
    low = beyond - within - temperature * k.double().log()[..., None]
    high = temperature * (count - k).clamp_min(1).double().log()[..., None]
    threshold = (low + high) / 2
    for _ in range(MAX_STEPS):
        weights = torch.where(mask, torch.sigmoid((values - threshold) / temperature), 0.0)
        excess = weights.sum(-1, keepdim=True) - k[..., None]
        unsettled = (excess.abs() > TOLERANCE * k[..., None]) & (count > k)[..., None]
        if not bool(unsettled.any()):
            break
        low, high = torch.where(excess > 0, threshold, low), torch.where(excess > 0, high, threshold)
        slope = (weights * (1 - weights)).sum(-1, keepdim=True)
        newton = threshold + temperature * excess / slope  # inf where all weights are 0 or 1
        step = torch.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        threshold = torch.where(unsettled, step, threshold)
    return weights


def _checked_k(k: int | Tensor, mask: Tensor) -> Tensor:
    """One k per vector, from 0 to how many values count."""
    count = mask.sum(-1)
    wanted = torch.as_tensor(k, device=mask.device)
    if wanted.is_floating_point() or wanted.dtype == torch.bool or wanted.shape not in ((), count.shape):
        raise InputError(f"k must be a whole number, or one per vector in shape {tuple(count.shape)}")
    wanted = wanted.expand(count.shape)
    if bool(((wanted < 0) | (wanted > count)).any()):
        raise InputError("k must lie between 0 and how many values the mask lets count")
    return wanted.long()
