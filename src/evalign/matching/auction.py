"""Bertsekas' auction: tokens of the short side bid for partners until everybody has one.

A bid raises a price by the bidder's lead over its second choice plus eps, so the total is within k * eps of
the optimum. Partners nobody bid for keep price 0, which makes the rectangular case right as well. Equal wishes and
equal bids go to the nearest relative position.
"""

from __future__ import annotations

from functools import partial

from evalign.matching.arrays import (
    Array,
    Watch,
    along,
    from_short_side,
    namespace,
    order,
    top_two,
    unwatched,
    where_true,
)
from evalign.matching.ties import best


def auction(
    tables: tuple[Array, Array], masks: tuple[Array, Array], eps: float, max_rounds: int, watch: Watch = unwatched
) -> Array:
    """Selected cells (batch, n, m). A matrix that needs more rounds is left with some tokens unassigned.

    `tables` are similarity and relative distance of the positions.

    `watch` is told of every round: which bidders of the short side won which partners, at which price.
    """
    sell = partial(_sell, eps=eps, max_rounds=max_rounds, watch=watch)
    return from_short_side(sell, tables, masks, square="rows")


def _sell(
    values: Array, distance: Array, bidders: Array, partners: Array, eps: float, max_rounds: int, watch: Watch
) -> Array:
    xp = namespace(values)
    count = values.shape[-1]
    prices = xp.where(partners, values[:, 0] * 0, xp.inf)
    chosen = xp.zeros_like(values) > 0
    for _ in range(max_rounds):
        items, bidder = where_true(bidders & ~chosen.any(-1))
        if not len(items):
            break
        worth, far = values[items, bidder] - prices[items], distance[items, bidder]
        value, wanted, second, _rival = top_two(worth, best(worth, far))
        lead = xp.where(second > -xp.inf, value - second, value * 0)  # a single partner has no second choice
        offer = prices[items, wanted] + lead + eps
        won = _highest(items * count + wanted, offer, along(far, wanted))
        items, bidder, wanted = items[won], bidder[won], wanted[won]
        chosen[items, :, wanted] = False
        chosen[items, bidder, wanted] = True
        prices[items, wanted] = offer[won]
        watch(bidder, wanted, offer[won])
    return chosen


def _highest(lot: Array, offer: Array, distance: Array) -> Array:
    """Which bids win: the highest for each lot; among equals the nearest one, then the first."""
    ranked = order(distance)
    ranked = ranked[order(-offer[ranked])]
    ranked = ranked[order(lot[ranked])]
    leads = lot[ranked] >= 0
    leads[1:] = lot[ranked][1:] != lot[ranked][:-1]
    return ranked[leads]
