"""Assignment that can be learned through (extra `torch`): selection weights with gradients.

Every form takes a padded batch of similarities (batch, n, m) with masks (batch, n), (batch, m) that say which tokens
are real (None: all), and gives a `SoftMatching` whose weights have the same shape and are 0 at padding.

    envelope           the exact assignment X, a constant: gradients reach S through X·S alone
    sinkhorn           entropic transport; the long side leaves |n - m| of its mass to a slack token
    straight-through   X + P - P.detach(), P by Sinkhorn: the exact assignment, with Sinkhorn's gradient
    gumbel-sinkhorn    Sinkhorn of S + noise * Gumbel: a random soft permutation
    recursive-softmax  LiSAScore's recursion, then every short-side token spreads over its row by softmax
    recursive-gumbel   the same recursion plus Gumbel noise, one cell picked, gradient of the softmax
    recursive-topk     the same recursion, then a relaxed top-k of all cells, k = min(n, m)
    auction-topk       the recursion with factor 1, then a relaxed top-1 of every short-side token

The recursion is that of `evalign.matching.assignment` itself: on tensors its steps (where, take, abs, amax) have
gradients.
"""

from evalign.matching.soft.base import DEFAULTS, Masks, SoftMatching, SoftOptions, checked_masks
from evalign.matching.soft.forms import (
    FORMS,
    auction_topk,
    envelope,
    gumbel_sinkhorn,
    recursive_gumbel,
    recursive_softmax,
    recursive_topk,
    sinkhorn,
    straight_through,
)
from evalign.matching.soft.topk import soft_topk

__all__ = [
    "DEFAULTS",
    "FORMS",
    "Masks",
    "SoftMatching",
    "SoftOptions",
    "auction_topk",
    "checked_masks",
    "envelope",
    "gumbel_sinkhorn",
    "recursive_gumbel",
    "recursive_softmax",
    "recursive_topk",
    "sinkhorn",
    "soft_topk",
    "straight_through",
]
