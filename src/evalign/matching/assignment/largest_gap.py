"""Whoever would lose most by waiting chooses first.

Repeat: for each live column, best minus second best over live rows; the column with the largest gap
takes its best row, and both are masked. Columns are the short side, and choose in a square matrix. Equal rows, and
equal gaps, go to the nearest relative position.
"""

from __future__ import annotations

from functools import partial

from evalign.matching.arrays import Array, Watch, along, from_short_side, namespace, top_two, unwatched, where_true
from evalign.matching.ties import best


def by_gaps(similarity: Array, distance: Array, masks: tuple[Array, Array], watch: Watch = unwatched) -> Array:
    """Selected cells (batch, n, m); the masks (batch, n) and (batch, m) are true where a token is.

    `distance` is the relative distance of the positions, which breaks ties. `watch` is told of every step: which takers
    of the short side took which partners, by which lead.
    """
    return from_short_side(partial(_choose, watch=watch), (similarity, distance), masks, square="columns")


def _choose(values: Array, distance: Array, takers: Array, free: Array, watch: Watch) -> Array:
    """(batch, takers, free): every taker gets a partner of its own; there are at least as many of those."""
    xp = namespace(values)
    free = free & True  # its own copy
    chosen = xp.zeros_like(values) > 0
    live = xp.where(free[:, None, :], values, -xp.inf)
    value, partner, second, rival = top_two(live, best(live, distance))
    near = along(distance, partner)
    # One live partner left: second is -inf, the gap +inf. Who is no taker, or is done, never wins.
    lead = xp.where(takers, xp.where(takers, value, 0.0) - xp.where(takers, second, 0.0), -xp.inf)
    left = takers.sum(-1)
    (items,) = where_true(left > 0)
    for step in range(int(left.max()) if len(left) else 0):
        if bool((left[items] == step).any()):
            (items,) = where_true(left > step)
        taker = best(lead[items], near[items])
        taken = partner[items, taker]
        watch(taker, taken, lead[items, taker])
        chosen[items, taker, taken] = True
        lead[items, taker] = -xp.inf
        free[items, taken] = False
        # Only those who counted on the partner just taken look again.
        counted = (partner[items] == taken[:, None]) | (rival[items] == taken[:, None])
        place, waiting = where_true(counted & (lead[items] > -xp.inf))
        again = items[place]
        if len(again):
            offers, far = xp.where(free[again], values[again, waiting], -xp.inf), distance[again, waiting]
            value, first, second, next_best = top_two(offers, best(offers, far))
            partner[again, waiting], rival[again, waiting] = first, next_best
            lead[again, waiting], near[again, waiting] = value - second, along(far, first)
    return chosen
