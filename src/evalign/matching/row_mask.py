"""Row-mask assignment: whoever would lose most by waiting chooses first.

Repeat: for each live column, best minus second best over live rows; the column with the largest gap
takes its best row, and both are masked. Columns are the short side, and choose in a square matrix.
"""

from __future__ import annotations

from functools import partial

from evalign.matching.arrays import Array, Watch, from_short_side, namespace, top_two, unwatched, where_true


def row_mask(similarity: Array, masks: tuple[Array, Array], watch: Watch = unwatched) -> Array:
    """Selected cells (batch, n, m); the masks (batch, n) and (batch, m) are true where a token is.

    `watch` is told of every step: which takers of the short side took which partners, by which lead.
    """
    return from_short_side(partial(_choose, watch=watch), similarity, masks, square="columns")


def _choose(values: Array, takers: Array, free: Array, watch: Watch) -> Array:
    """(batch, takers, free): every taker gets a partner of its own; there are at least as many of those."""
    xp = namespace(values)
    takers, free = takers & True, free & True  # own copies
    chosen = xp.zeros_like(values) > 0
    best, partner, second, rival = top_two(xp.where(free[:, None, :], values, -xp.inf))
    while True:
        (items,) = where_true(takers.any(-1))
        if not len(items):
            return chosen
        # One live partner left: second is -inf, the gap +inf. Who is done never wins.
        lead = xp.where(takers, best, 0.0) - xp.where(takers, second, 0.0)
        taker = xp.argmax(xp.where(takers, lead, -xp.inf), axis=-1)[items]
        taken = partner[items, taker]
        watch(taker, taken, lead[items, taker])
        chosen[items, taker, taken] = True
        takers[items, taker] = False
        free[items, taken] = False
        # Only those who counted on the partner just taken look again.
        counted = (partner[items] == taken[:, None]) | (rival[items] == taken[:, None])
        place, waiting = where_true(takers[items] & counted)
        again = items[place]
        if len(again):
            fresh = top_two(xp.where(free[again], values[again, waiting], -xp.inf))
            best[again, waiting], partner[again, waiting], second[again, waiting], rival[again, waiting] = fresh
