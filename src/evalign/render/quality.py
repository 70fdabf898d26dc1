"""Classes of quality: from which similarity, and from which probability, a token is coloured how.

Terminal, static HTML, notebook and page colour by the same classes; documents carry the bounds to the page.
"""

from __future__ import annotations

from collections.abc import Sequence

SIMILARITY_BOUNDS = (0.85, 0.65, 0.45)  # the least similarity of each class, best first; what is less is the last class
PROBABILITY_BOUNDS = (0.5, 0.1, 0.01, 0.001)  # the same for probabilities; powers of ten can be kept in mind


def class_of(value: float, bounds: Sequence[float]) -> int:
    """The number of the class that a value belongs to: 0 for the best, `len(bounds)` for the last."""
    return next((number for number, bound in enumerate(bounds) if value >= bound), len(bounds))
