"""Bertsekas' auction: tokens of the short side bid for partners until each has one.

A bid raises a price by the bidder's lead over its second choice plus eps, so the total is within k * eps of
the optimum. Partners without a bid keep price 0, which makes the rectangular case right as well. Of equal choices and
equal bids the nearest relative position wins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from evalign.errors import SpecError
from evalign.matching.arrays import (
    Array,
    StepRecorder,
    from_short_side,
    ignore_step,
    indices,
    namespace,
    order,
    shorter,
    where_true,
)
from evalign.matching.assignment import Assignment, PreparedBatch, recorded_steps
from evalign.matching.base import Masks, MatchingStep, Weights
from evalign.matching.ties import best_two


@dataclass(frozen=True)
class Auction(Assignment):
    """Bid until every short-side token has a partner, within k * eps of the best sum."""

    key: ClassVar[str] = "auction"
    about: ClassVar[str] = "tokens of the short side bid until each has a partner"

    eps: float = 1e-2
    max_rounds: int = 20_000

    def __post_init__(self) -> None:
        if not 0 < self.eps < math.inf:
            raise SpecError(f"eps={self.eps}: expected a positive number")
        if self.max_rounds < 1:
            raise SpecError(f"max_rounds={self.max_rounds}: expected at least 1")

    @property
    def tuning(self) -> list[str]:
        """The minimum bid."""
        return [f"eps={self.eps!r}"]

    @classmethod
    def option_of(cls, setting: str) -> dict[str, Any]:
        """Parse `eps=0.01`."""
        key, _, value = setting.partition("=")
        return {"eps": float(value)} if key == "eps" and value else super().option_of(setting)

    def select(self, batch: PreparedBatch) -> Array:
        """Select the cells; a matrix that needs more than `max_rounds` rounds is left with unassigned tokens."""
        return self.sold(batch.values, self.positions(batch), batch.masks)

    def unfinished(self, cells: Array, masks: Masks) -> Array | None:
        """Return where fewer cells were selected than the short side has tokens."""
        return cells.sum((1, 2)) < shorter(masks)

    def sold(self, values: Array, distance: Array, masks: Masks, record: StepRecorder = ignore_step) -> Array:
        """Return the selected cells.

        `record` is called after every round with the winning bidders, their partners and prices; both are numbered
        through the batch.
        """
        sell = partial(_sell, eps=self.eps, max_rounds=self.max_rounds, record=record)
        return from_short_side(sell, (values, distance), masks, square="rows")

    def steps(self, similarity: Array, weights: Weights) -> list[MatchingStep]:
        """Return the winning bids of each round with their prices."""
        return recorded_steps(self, similarity, weights, self.sold, "price", rows_take_if_square=True)


def _sell(
    values: Array, distance: Array, bidders: Array, partners: Array, eps: float, max_rounds: int, record: StepRecorder
) -> Array:
    """Run the auction: (batch, bidders, partners), both numbered through the batch so that a round is a few steps."""
    xp = namespace(values)
    batch, rows, count = values.shape
    table, far = values.reshape(-1, count), distance.reshape(-1, count)
    prices = xp.where(partners, values[:, 0] * 0, xp.inf)
    price = prices.reshape(-1)
    no_bidder = batch * rows  # holder of unsold partners; never bids
    holder = indices(values, batch * count) * 0 + no_bidder
    single = bool((partners.sum(-1) == 1).any())  # a single partner has no second choice
    waiting = xp.concatenate([bidders.reshape(-1), bidders[0, :1] & False])
    for _ in range(max_rounds):
        (bidder,) = where_true(waiting)
        if not len(bidder):
            break
        item = bidder // rows
        asked = prices[item] if batch > 1 else prices
        value, wanted, second, _ = best_two(table[bidder] - asked, far, bidder)
        lead = value - second
        if single:
            lead[lead == xp.inf] = 0.0
        lot = item * count + wanted
        offer = price[lot] + lead + eps
        if len(lot) > 1:
            won = _highest(lot, offer, far, bidder, wanted)
            bidder, lot, offer = bidder[won], lot[won], offer[won]
        waiting[holder[lot]] = True
        waiting[bidder] = waiting[no_bidder] = False
        holder[lot], price[lot] = bidder, offer
        record(bidder, lot, offer)
    (sold,) = where_true(holder < no_bidder)
    chosen = xp.zeros_like(table) > 0
    chosen[holder[sold], sold % count] = True
    return chosen.reshape(values.shape)


def _highest(lot: Array, offer: Array, far: Array, bidder: Array, wanted: Array) -> Array:
    """Return the winning bids by lot: the highest for each lot; of equal ones the nearest, then the first."""
    ranked = order(lot)
    lots = lot[ranked]
    if not namespace(lot).count_nonzero(lots[1:] == lots[:-1]):
        return ranked
    ranked = order(far[bidder, wanted])
    ranked = ranked[order(-offer[ranked])]
    ranked = ranked[order(lot[ranked])]
    lots = lot[ranked]
    leads = lots >= 0
    leads[1:] = lots[1:] != lots[:-1]
    return ranked[leads]
