"""One pair of texts under `bartscore`: the log-probabilities of all predicted tokens as a value that shows itself.

Made by `BARTScore.likelihoods`; its own methods turn it into the versioned document, an HTML file, a notebook's cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalign.encoders.likelihood.base import Likelihood


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """How likely a model found one text after the other: the score, and the tokens behind it.

    `directions` has one `Likelihood` per direction that the metric looks at, such as `reference-to-candidate`.
    """

    metric: str
    signature: str
    scores: Mapping[str, float]
    directions: Mapping[str, Likelihood]
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of what happened to the texts on the way."""
        return tuple(self.counts)

    # The imports against the direction, as in an Alignment: a value can show itself, the drawing lives in render.

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: the versioned likelihood document."""
        from evalign.render.likelihood_document import likelihood_document

        return likelihood_document(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained interactive file that opens without any request; also written to `path` if given."""
        from evalign.render.export import write_html

        return write_html(self.to_dict(), path)

    def _repr_html_(self) -> str:
        from evalign.render.export import notebook_html
        from evalign.render.static_html import static_likelihoods

        return notebook_html(self.to_dict(), static_likelihoods(self))
