"""Top-k with gradients: values in, weights between 0 and 1 that sum to k out.

    w = sigmoid((x - t) / temperature), t such that sum(w) = k

is the w in [0, 1] that maximises sum(w x) + temperature * sum of the binary entropies of w (the two-bin transport of
Xie et al. 2020, "Differentiable Top-k with Optimal Transport"). Towards temperature 0 it becomes the hard top-k.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from evalign.errors import InputError, SpecError

TOLERANCE = 1e-12  # maximum error of the sum, as a share of k
MAX_STEPS = 100  # about 10 are needed: Newton's, or bisection where Newton would leave the bracket


def soft_topk(values: Tensor, k: int | Tensor, mask: Tensor | None = None, temperature: float = 0.05) -> Tensor:
    """Return weights of the last axis that sum to k, near 1 for the k largest values.

    Equal values share equally, where the hard top-k takes the first.

    Args:
        values: Floating-point values (..., n).
        k: A whole number, or one per vector (...).
        mask: True where a value takes part; the weight is 0 elsewhere.
        temperature: Softness; towards 0 the weights become 0 and 1.
    """
    if not 0 < temperature < math.inf:
        raise SpecError(f"temperature={temperature}: expected a positive number")
    if not values.is_floating_point() or values.ndim == 0 or values.shape[-1] == 0:
        raise InputError(f"expected floating-point values (..., n), n > 0, not {values.dtype} {tuple(values.shape)}")
    mask = torch.ones_like(values, dtype=torch.bool) if mask is None else mask
    if mask.shape != values.shape or mask.dtype != torch.bool:
        raise InputError(f"the mask must be boolean and of shape {tuple(values.shape)}: true where a value takes part")
    masked_values = torch.where(mask, values.double(), 0.0)
    if not bool(torch.isfinite(masked_values.detach()).all()):
        raise InputError("the values hold NaN or infinite numbers; mask them out")
    checked_k = _checked_k(k, mask)
    weights: Tensor = _TopK.apply(masked_values, checked_k, mask, temperature)  # type: ignore[no-untyped-call]
    return weights.to(values.dtype)


class _TopK(torch.autograd.Function):
    """Autograd function of the weights.

    Their sum is fixed, so dw = s·(dx - mean of dx weighted by s), s = w(1 - w) / temperature.
    """

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, values: Tensor, k: Tensor, mask: Tensor, temperature: float
    ) -> object:
        partly = (k > 0) & (k < mask.sum(-1))
        all_or_none = (mask & (k > 0)[..., None]).to(values.dtype)
        weights = torch.where(partly[..., None], _weights(values, k, mask, temperature), all_or_none)
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
    """Return sigmoids above a threshold t, found by Newton's method in a bracket; valid where 0 < k < n.

    With t = x_(k+1) - temperature log k the k + 1 largest sum to at least k; with t = x_(k) + temperature log(n - k)
    all sum to at most k. Values are taken relative to x_(k), so that t is precise at any temperature.
    """
    count, k = mask.sum(-1), k.clamp_min(1)
    descending = torch.where(mask, values, -torch.inf).sort(-1, descending=True)[0]
    last = count.clamp_min(1) - 1
    within = descending.gather(-1, torch.minimum(k - 1, last)[..., None])
    beyond = descending.gather(-1, torch.minimum(k, last)[..., None])
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
    """Return one k per vector, from 0 to the number of values that take part."""
    count = mask.sum(-1)
    ks = torch.as_tensor(k, device=mask.device)
    if ks.is_floating_point() or ks.dtype == torch.bool or ks.shape not in ((), count.shape):
        raise InputError(f"k must be a whole number, or one per vector in shape {tuple(count.shape)}")
    ks = ks.expand(count.shape)
    if bool(((ks < 0) | (ks > count)).any()):
        raise InputError("k must lie between 0 and the number of values that the mask selects")
    return ks.long()
