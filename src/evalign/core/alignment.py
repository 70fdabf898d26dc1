"""`Alignment`: the matched tokens of one pair, its similarity matrix and scores, and ways to show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evalign.core.tokens import Floats, Ints, Tokens

Span = tuple[int, int]  # first character, and the one behind the last


@dataclass(frozen=True, slots=True)
class Opposite:
    """A negation, an antonym or an answer that only one text has, with its word in each text, None without one."""

    kind: str  # negation, antonym, answer
    candidate: Span | None
    reference: Span | None


@dataclass(frozen=True, eq=False)
class Alignment:
    """Matched tokens of one pair of texts, with the similarity matrix and the scores.

    `cells` are (candidate token, reference token) index pairs. The value of a token is the similarity of its partner, 0
    without one; precision and recall are the weighted means of the values.
    """

    candidate: Tokens
    reference: Tokens
    similarity: Floats
    candidate_weights: Floats
    reference_weights: Floats
    candidate_values: Floats
    reference_values: Floats
    candidate_partners: Ints  # index of each candidate token's partner, -1 without one
    reference_partners: Ints
    cells: Ints
    matching: str
    scores: Mapping[str, float]
    signature: str
    counts: Mapping[str, int] = field(default_factory=dict)
    masses: Floats | None = None  # transport: how much each cell carries, of 1
    opposites: tuple[Opposite, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the flags that were raised for the texts or the matching."""
        return tuple(self.counts)

    @property
    def precision_shares(self) -> Floats:
        """Contribution of each candidate token to precision before rescaling; they sum to it."""
        return _shares(self.candidate_weights, self.candidate_values)

    @property
    def recall_shares(self) -> Floats:
        """Contribution of each reference token to recall before rescaling; they sum to it."""
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
        """Return the versioned alignment document as plain JSON values; `packed` has its matrix in base64."""
        from evalign.render.documents import alignment_document, matching_name

        return alignment_document({matching_name(self): self}, packed=packed)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained interactive HTML file; also written to `path` if given."""
        from evalign.render.export import write_html

        return write_html(self.to_dict(packed=True), path)

    def _repr_html_(self) -> str:
        from evalign.render.export import notebook_html
        from evalign.render.static_html import static_alignment

        return notebook_html(self.to_dict(packed=True), static_alignment(self))

    def __str__(self) -> str:
        from evalign.render.terminal import alignment_text

        return alignment_text(self)

    def _never_chosen(self, count: int, partners: Ints, in_cells: Ints) -> tuple[int, ...]:
        chosen = {int(index) for index in (partners if self.matching == "greedy" else in_cells)}
        return tuple(index for index in range(count) if index not in chosen)


def _shares(weights: Floats, values: Floats) -> Floats:
    total = weights.sum()
    return np.asarray(weights * values / (total if total > 0 else 1))
