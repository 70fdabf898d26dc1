"""The similarity matrix of one pair as a figure, as bert_score draws it: an `Alignment` in, a Figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evalign.render.figures import colour_map, grid, in_style
from evalign.render.labels import showable
from evalign.types import Alignment, Ints, Tokens

if TYPE_CHECKING:
    from evalign.render.figures import Figure

DARK = 0.5  # cells above are written in white


@in_style
def similarity_plot(alignment: Alignment, title: str = "Similarity Matrix") -> Figure:
    """Candidate tokens down, reference tokens across, special ones left out, the value in every cell."""
    rows, columns = (np.flatnonzero(~side.special) for side in (alignment.candidate, alignment.reference))
    values = alignment.similarity[np.ix_(rows, columns)]
    size = (1.6 + 0.75 * max(1, len(columns)), 1.2 + 0.55 * max(1, len(rows)))
    figure, (axes,) = grid(1, 1, size)
    image = axes.imshow(values, cmap=colour_map("Blues"), vmin=0, vmax=1, aspect="auto")
    axes.grid(visible=False)
    axes.set_xticks(range(len(columns)), _labels(alignment.reference, columns), rotation=45)
    axes.set_yticks(range(len(rows)), _labels(alignment.candidate, rows))
    axes.set(xlabel="Reference (tokenized)", ylabel="Candidate (tokenized)", title=title)
    for row, column in np.ndindex(values.shape):
        colour = "white" if values[row, column] > DARK else "black"
        axes.text(column, row, f"{values[row, column]:.3f}", ha="center", va="center", color=colour)
    figure.colorbar(image, ax=axes)
    return figure


def _labels(tokens: Tokens, places: Ints) -> list[str]:
    return [showable(tokens.surface(int(place))) for place in places]
