"""Which tokens of two texts met: one pair, its similarity matrix, the selected cells, and how it shows itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evalign.types.arrays import Floats, Ints
from evalign.types.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Alignment:
    """Who met whom: one pair of texts, their similarity matrix and the selected cells.

    `cells` are (candidate token, reference token) index pairs. A candidate token is worth the best
    of its cells, and so is a reference token; tokens without a cell are worth 0.
    """

    candidate: Tokens
    reference: Tokens
    similarity: Floats
    candidate_weights: Floats
    reference_weights: Floats
    cells: Ints
    matching: str
    scores: Mapping[str, float]
    signature: str
    counts: Mapping[str, int] = field(default_factory=dict)
    masses: Floats | None = None  # transport: how much each cell carries, of 1

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of what happened to the texts on the way."""
        return tuple(self.counts)

    @property
    def candidate_values(self) -> Floats:
        """What each candidate token is worth in precision."""
        return self._best_of_candidate[1]

    @property
    def reference_values(self) -> Floats:
        """What each reference token is worth in recall."""
        return self._best_of_reference[1]

    @property
    def candidate_partners(self) -> Ints:
        """The reference token that gives each candidate token its value, -1 if none."""
        return self._best_of_candidate[0]

    @property
    def reference_partners(self) -> Ints:
        """The candidate token that gives each reference token its value, -1 if none."""
        return self._best_of_reference[0]

    @property
    def precision_shares(self) -> Floats:
        """What each candidate token adds to raw precision; they sum to it."""
        return _shares(self.candidate_weights, self.candidate_values)

    @property
    def recall_shares(self) -> Floats:
        """What each reference token adds to raw recall; they sum to it."""
        return _shares(self.reference_weights, self.reference_values)

    @property
    def unmatched_candidate(self) -> tuple[int, ...]:
        """Candidate tokens that no reference token chose; in an assignment or a plan, those without a cell."""
        return self._never_chosen(len(self.candidate), self.reference_partners, self.cells[:, 0])

    @property
    def unmatched_reference(self) -> tuple[int, ...]:
        """Reference tokens that no candidate token chose; in an assignment or a plan, those without a cell."""
        return self._never_chosen(len(self.reference), self.candidate_partners, self.cells[:, 1])

    # The imports against the direction: a value can show itself, the drawing lives in render.

    def to_dict(self, packed: bool = False) -> dict[str, Any]:
        """Plain JSON values: the versioned alignment document; `packed` has its matrix in base64, much smaller."""
        from evalign.render.documents import alignment_document, matching_name

        return alignment_document({matching_name(self): self}, packed=packed)

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained interactive file that opens without any request; also written to `path` if given."""
        from evalign.render.export import write_html

        return write_html(self.to_dict(packed=True), path)

    def _repr_html_(self) -> str:
        from evalign.render.export import notebook_html
        from evalign.render.static_html import static_alignment

        return notebook_html(self.to_dict(packed=True), static_alignment(self))

    def __str__(self) -> str:
        from evalign.render.terminal import alignment_text

        return alignment_text(self)

    @cached_property
    def _best_of_candidate(self) -> tuple[Ints, Floats]:
        return self._best(0)

    @cached_property
    def _best_of_reference(self) -> tuple[Ints, Floats]:
        return self._best(1)

    def _best(self, axis: int) -> tuple[Ints, Floats]:
        """Partner and value of every token of one side, from its cells; ties as in `matching.ties`."""
        rows, columns = self.cells.T
        own, partner = (rows, columns) if axis == 0 else (columns, rows)
        in_cells = self.similarity[rows, columns]
        distance = np.abs(rows * len(self.reference) - columns * len(self.candidate))
        order = np.lexsort((partner, distance, -np.round(in_cells.astype(np.float64) * 2**20), own))
        tokens, first = np.unique(own[order], return_index=True)
        partners = np.full(self.similarity.shape[axis], -1)
        values = np.zeros(self.similarity.shape[axis])
        partners[tokens], values[tokens] = partner[order][first], in_cells[order][first]
        return partners, values

    def _never_chosen(self, count: int, partners: Ints, in_cells: Ints) -> tuple[int, ...]:
        chosen = {int(place) for place in (partners if self.matching == "greedy" else in_cells)}
        return tuple(index for index in range(count) if index not in chosen)


def _shares(weights: Floats, values: Floats) -> Floats:
    total = weights.sum()
    return np.asarray(weights * values / (total if total > 0 else 1))
