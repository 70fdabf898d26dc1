"""Whoever would lose most by waiting chooses first.

Repeat: for each live column, best minus second best over live rows; the column with the largest gap
takes its best row, and both are masked. Columns are the short side, and choose in a square matrix. Equal rows, and
equal gaps, go to the nearest relative position.
"""

from __future__ import annotations

from functools import partial

from evalign.matching.arrays import Array, Watch, along, from_short_side, namespace, unwatched, where_true
from evalign.matching.ties import best, best_two


def by_gaps(similarity: Array, distance: Array, masks: tuple[Array, Array], watch: Watch = unwatched) -> Array:
    """Selected cells (batch, n, m); the masks (batch, n) and (batch, m) are true where a token is.

    `distance` is the relative distance of the positions, which breaks ties. `watch` is told of every step: which takers
    of the short side took which partners, by which lead.
    """
    return from_short_side(partial(_choose, watch=watch), (similarity, distance), masks, square="columns")


def _choose(values: Array, distance: Array, takers: Array, free: Array, watch: Watch) -> Array:
    """(batch, takers, free): every taker gets a partner of its own; there are at least as many of those."""
    xp = namespace(values)
    chosen = xp.zeros_like(values) > 0
    live = xp.where(free[:, None, :], values, -xp.inf)
    value, partner, second, rival = best_two(live, distance)
    near = along(distance, partner)
    # One live partner left: second is -inf, the gap +inf. Who is no taker, or is done, never wins.
    lead = xp.where(takers, xp.where(takers, value, 0.0) - xp.where(takers, second, 0.0), -xp.inf)
    left = takers.sum(-1)
    done_after = set(left.tolist())
    for step in range(max(done_after, default=0)):
        if step == 0 or step in done_after:
            (items,) = where_true(left > step)
        waiting = lead[items]
        taker = best(waiting, near[items])
        taken = partner[items, taker]
        watch(taker, taken, lead[items, taker])
        chosen[items, taker, taken] = True
        lead[items, taker] = -xp.inf
        live[items, :, taken] = -xp.inf
        # Only those who counted on the partner just taken look again.
        gone = taken[:, None]
        counted = ((partner[items] == gone) | (rival[items] == gone)) & (lead[items] > -xp.inf)
        place, looking = where_true(counted)
        if len(place):
            again = items[place]
            value, first, second, next_best = best_two(live[again, looking], distance, (again, looking))
            partner[again, looking], rival[again, looking] = first, next_best
            lead[again, looking], near[again, looking] = value - second, distance[again, looking, first]
    return chosen
