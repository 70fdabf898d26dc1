"""One text ready to be matched, and what was flagged on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalign.types import Embedded, Floats, Tokens


@dataclass(frozen=True, eq=False)
class Side:
    """One text ready to be matched: vectors and weights of the tokens that take part."""

    embedded: Embedded
    weights: Floats
    empty: bool
    counts: dict[str, int]

    @property
    def tokens(self) -> Tokens:
        """The tokens that take part."""
        return self.embedded.tokens


def total_counts(*sides: Side) -> dict[str, int]:
    """What was flagged on any side; a text that stands on several is counted once."""
    return add_counts(*(side.counts for side in {id(side): side for side in sides}.values()))


def add_counts(*counts: Mapping[str, int]) -> dict[str, int]:
    """Flags of several origins together."""
    names = dict.fromkeys(name for origin in counts for name in origin)
    return {name: sum(origin.get(name, 0) for origin in counts) for name in names}
