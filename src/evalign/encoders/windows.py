"""Over-long text: which stretches of its tokens a model reads, and which of each it keeps.

`window` reads overlapping stretches and takes every token from the one where it has most context;
`truncate` reads the first stretch; `error` refuses. A text that fits is one window in every policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from evalign.errors import TextTooLongError
from evalign.types import Ints, Tokens

POLICIES = ("window", "truncate", "error")


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens [start, stop) are read, [keep_start, keep_stop) are kept; special tokens not counted."""

    start: int
    stop: int
    keep_start: int
    keep_stop: int


def plan_windows(count: int, room: int, policy: str) -> list[Window]:
    """Windows for `count` tokens into a model with room for `room` of them, special tokens not counted."""
    if count <= room:
        return [Window(0, count, 0, count)]
    if policy == "truncate":
        return [Window(0, room, 0, room)]
    if policy == "error":
        raise TextTooLongError(
            f"a text has {count} tokens and the model reads {room}; shorten it, or use overlong=window or truncate"
        )
    stride = max(1, room // 2)
    starts = [*range(0, count - room, stride), count - room]
    # Between neighbours the border lies in the middle of their overlap: there a token is equally
    # far from the end of one window and from the start of the next.
    borders = [0, *((left + room + right) // 2 for left, right in pairwise(starts)), count]
    return [
        Window(start, start + room, keep_start, keep_stop)
        for start, keep_start, keep_stop in zip(starts, borders[:-1], borders[1:], strict=True)
    ]


def cut(tokens: Tokens, places: Sequence[int] | Ints) -> Tokens:
    """A text without the tokens at these places, which are counted as dropped."""
    stays = np.ones(len(tokens), dtype=bool)
    stays[places] = False
    return replace(tokens.keep(stays), dropped=len(places))
