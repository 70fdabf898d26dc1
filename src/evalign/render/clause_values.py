"""What each clause is worth: recall of every reference clause, precision of every candidate clause.

A clause's value is the weighted mean of what its tokens are worth, so the clauses' values, weighted, make up the score:
a low recall is something lost, a low precision something extra.
"""

from __future__ import annotations

import numpy as np

from evalign.render.matched_text import matched_texts
from evalign.text.clauses import clause_of_tokens, clauses
from evalign.types import Alignment


def clause_values(alignment: Alignment) -> dict[str, list[float | None]]:
    """By side, the value of every clause in the order of `clauses`; null where no token of it has a weight."""
    values: dict[str, list[float | None]] = {}
    for side in matched_texts(alignment):
        spans = clauses(side.tokens)
        places = np.array(clause_of_tokens(side.tokens, spans))
        values[side.name] = []
        for number in range(len(spans)):
            own = places == number
            weight = float(side.weights[own].sum())
            worth = float((side.weights * side.values)[own].sum())
            values[side.name].append(round(worth / weight, 8) if weight > 0 else None)
    return values
