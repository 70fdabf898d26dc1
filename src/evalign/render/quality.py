"""Levels of quality: from which similarity, and from which probability, a token is marked how.

Terminal, static HTML, notebook and page mark by the same levels; documents carry the bounds to the page. Similarities
of two models do not compare, so an alignment's levels divide the way from what unrelated text reaches with its model
to 1 into three equal parts; what does not even reach that is a weak match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalign.errors import SpecError
from evalign.metrics.baseline import shipped
from evalign.metrics.signature import Signature
from evalign.types import Alignment, Floats

PROBABILITY_BOUNDS = (
    0.5,
    0.1,
    0.01,
    0.001,
)  # the least of each class, best first; powers of ten are easily kept
LEVELS = 3  # above the weak one
OWN_SHARE = 0.9  # of the cells that are nobody's best: what these stay below, unrelated tokens reach
FITTED = "what unrelated sentences reach with this model and layer"
OWN = "what 9 in 10 of this pair's cells stay below that are nobody's best match; no baseline is fitted for this model"


@dataclass(frozen=True)
class Levels:
    """`bounds` has the least similarity of each level, best first; the last is `weak`, which unrelated text reaches."""

    bounds: tuple[float, ...]
    source: str

    @property
    def weak(self) -> float:
        """A match below this says little."""
        return self.bounds[-1]


def levels_of(alignment: Alignment) -> Levels:
    """From the model's fitted baseline, else from the quantiles of the pair's own matrix."""
    fitted = _fitted(signature_settings(alignment))
    weak = _own(alignment.similarity) if fitted is None else fitted
    steps = (weak + (1 - weak) * step / LEVELS for step in reversed(range(LEVELS)))
    return Levels(tuple(round(bound, 6) for bound in steps), OWN if fitted is None else FITTED)


def class_of(value: float, bounds: Sequence[float]) -> int:
    """The number of the class that a value belongs to: 0 for the best, `len(bounds)` for the last."""
    return next((number for number, bound in enumerate(bounds) if value >= bound), len(bounds))


def signature_settings(alignment: Alignment) -> Mapping[str, str]:
    """What the signature says; nothing if it is none of ours."""
    try:
        return Signature.parse(alignment.signature).settings
    except SpecError:
        return {}


def _fitted(settings: Mapping[str, str]) -> float | None:
    fitted = shipped().get((settings.get("model", ""), "greedy", settings.get("specials", "keep")))
    layer = settings.get("layer", "")
    return fitted.by_layer[layer][2] if fitted is not None and layer in fitted.by_layer else None


def _own(similarity: Floats) -> float:
    """A quantile of the cells that are the best neither of their row nor of their column; 0 where there are none."""
    best = (similarity == similarity.max(0, initial=-np.inf)) | (similarity.max(1, initial=-np.inf) == similarity.T).T
    others = similarity[~best]
    return min(float(np.quantile(others, OWN_SHARE)), 1.0) if others.size else 0.0
