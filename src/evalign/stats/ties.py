"""Numbers that differ only in their last bits are equal: 2/3 by one way of computing it and by another.

Equal ROUGE fractions, or the means of equal scores, come out of different sums and quotients with different last bits.
Ranks and counts of ties would then depend on rounding, and on the processor.
"""

from __future__ import annotations

import numpy as np

from evalign.types import Floats

LAST_BITS = 2.0**-48  # of a value: 16 times the distance of neighbouring doubles


def merged(values: Floats) -> Floats:
    """The values, those next to each other along the last axis all made equal to the smallest of them."""
    if not values.shape[-1]:
        return values
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    size = np.maximum(np.abs(ordered[..., 1:]), np.abs(ordered[..., :-1]))
    with np.errstate(invalid="ignore"):  # equal infinities have no difference
        apart = np.diff(ordered) > LAST_BITS * np.where(np.isfinite(size), size, 0.0)
    places = np.arange(1, values.shape[-1])
    begins = np.zeros(order.shape, dtype=np.int64)
    begins[..., 1:] = np.maximum.accumulate(np.where(apart, places, 0), axis=-1)
    result = np.empty_like(ordered)
    np.put_along_axis(result, order, np.take_along_axis(ordered, begins, axis=-1), axis=-1)
    return result
