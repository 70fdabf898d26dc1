"""What an assignment did, step by step, for explanations: the method itself is run and watched."""

from __future__ import annotations

from collections.abc import Callable

from evalign.matching.arrays import Array
from evalign.matching.assignment.base import Assignment
from evalign.matching.base import Step, Weights


def watched_steps(
    matching: Assignment,
    similarity: Array,
    weights: Weights,
    run: Callable[..., Array],
    word: str,
    rows_take_if_square: bool,
) -> list[Step]:
    """The cells that `run(values, distance, masks, watch)` took in each round, each with its `word` and number."""
    rows, columns = similarity.shape
    by_rows = rows < columns or (rows == columns and rows_take_if_square)
    seen: list[Step] = []

    def watch(takers: Array, partners: Array, numbers: Array) -> None:
        taken = list(zip(takers.tolist(), partners.tolist(), strict=True))
        cells = tuple(cell if by_rows else cell[::-1] for cell in taken)
        seen.append(Step(cells, tuple(f"{word} {number:.3f}" for number in numbers.tolist())))

    batch = matching.prepared(similarity[None], (weights[0][None], weights[1][None]), None)
    run(batch.values, matching.positions(batch), batch.masks, watch)
    return seen
