"""Whoever would lose most by waiting chooses first.

Repeat: for each live column, best minus second best over live rows; the column with the largest gap
takes its best row, and both are masked. Columns are the short side, and choose in a square matrix. Equal rows, and
equal gaps, go to the nearest relative position.
"""

from __future__ import annotations

from functools import partial

from evalign.matching.arrays import Array, Watch, from_short_side, indices, namespace, unwatched, where_true
from evalign.matching.ties import best, best_two


def by_gaps(similarity: Array, distance: Array, masks: tuple[Array, Array], watch: Watch = unwatched) -> Array:
    """Selected cells (batch, n, m); the masks (batch, n) and (batch, m) are true where a token is.

    `distance` is the relative distance of the positions, which breaks ties. `watch` is told of every step: which takers
    of the short side, numbered through the batch, took which partners, by which lead.
    """
    return from_short_side(partial(_choose, watch=watch), (similarity, distance), masks, square="columns")


def _choose(values: Array, distance: Array, takers: Array, free: Array, watch: Watch) -> Array:
    """(batch, takers, free): every taker gets a partner of its own; there are at least as many of those."""
    xp = namespace(values)
    batch, rows, columns = values.shape
    item, first_row = indices(values, batch), indices(values, batch) * rows
    table, far = xp.where(free[:, None, :], values, -xp.inf), distance.reshape(-1, columns)
    live = table.reshape(-1, columns)
    every = indices(values, len(far))
    value, partner, second, rival = best_two(live + 0.0, far, every)
    near = far[every, partner]
    # One live partner left: second is -inf, the gap +inf. Who is no taker, or is done, never wins.
    takes = takers.reshape(-1)
    lead = xp.where(takes, xp.where(takes, value, 0.0) - xp.where(takes, second, 0.0), -xp.inf)
    leads, nears, partners, rivals = (array.reshape(batch, rows) for array in (lead, near, partner, rival))  # views
    turned = xp.swapaxes(table, 1, 2)
    left = takers.sum(-1)
    steps = []
    for _ in range(int(left.max()) if batch else 0):  # matrices that are done go along: nothing of theirs changes
        own = first_row + best(leads, nears)
        taken = partner[own]
        watch(own, taken, lead[own])
        steps.append((own, taken))
        lead[own] = -xp.inf
        turned[item, taken] = -xp.inf
        # Only those who counted on the partner just taken look again.
        gone = taken[:, None]
        (again,) = where_true((((partners == gone) | (rivals == gone)) & (leads > -xp.inf)).reshape(-1))
        if len(again):
            value, partner[again], second, rival[again] = best_two(live[again], far, again)
            lead[again], near[again] = value - second, far[again, partner[again]]
    return _marked(steps, left, values)


def _marked(steps: list[tuple[Array, Array]], left: Array, like: Array) -> Array:
    """The cells of the steps that each matrix had left to do."""
    xp = namespace(like)
    chosen = xp.zeros_like(like) > 0
    if steps:
        own, taken = (xp.stack(part) for part in zip(*steps, strict=True))
        real = indices(like, len(steps))[:, None] < left
        chosen.reshape(-1, like.shape[-1])[own[real], taken[real]] = True
    return chosen
