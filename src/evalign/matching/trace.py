"""What an assignment method did, step by step, for explanations: the method itself is run and watched."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evalign.matching.arrays import Array
from evalign.matching.assignment import RECURSIONS, Assigner, Assignment
from evalign.matching.auction import auction
from evalign.matching.row_mask import row_mask
from evalign.matching.ties import displacement, on_grid
from evalign.types import Floats

BY_ROWS = {"row-mask": False, "auction": True}  # who takes in a square matrix


@dataclass(frozen=True, slots=True)
class Step:
    """One round: (candidate token, reference token, lead or price) of whoever took somebody."""

    taken: tuple[tuple[int, int, float], ...]


def steps(assigner: Assigner, similarity: Floats) -> list[Step]:
    """The rounds of row-mask and auction."""
    rows, columns = similarity.shape
    by_rows = rows < columns or (rows == columns and BY_ROWS[assigner.method])
    seen: list[Step] = []

    def watch(who: Array, whom: Array, how_much: Array) -> None:
        pairs = zip(who.tolist(), whom.tolist(), how_much.tolist(), strict=True)
        seen.append(Step(tuple((a, b, value) if by_rows else (b, a, value) for a, b, value in pairs)))

    masks = np.ones((1, rows), dtype=bool), np.ones((1, columns), dtype=bool)
    values, distance = on_grid(similarity[None].astype(np.float64)), displacement(masks)
    if assigner.method == "row-mask":
        row_mask(values, distance, masks, watch)
    else:
        auction((values, distance), masks, assigner.eps, assigner.max_rounds, watch)
    return seen


def rounds(assigner: Assigner, similarity: Floats) -> list[Assignment]:
    """What a recursive method would select after 0, 1, 2, ... rounds."""
    count = RECURSIONS[assigner.method, assigner.preset][1] if assigner.rounds is None else assigner.rounds
    count = min(similarity.shape) if count < 0 else count
    return [replace(assigner, rounds=number, strict=False)(similarity) for number in range(count + 1)]
