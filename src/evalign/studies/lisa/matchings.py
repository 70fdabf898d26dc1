"""The matchings of the LiSAScore study under one name each: greedy, and every assignment with every preset it has."""

from __future__ import annotations

from evalign.matching.assignment.recursion import Recursion
from evalign.matching.base import Matching
from evalign.matching.registry import METHODS, matching_class

GREEDY = "greedy"
RECURSIVE = "recursive-argmax, paper"
PUBLISHED = "recursive-argmax, authors-as-published"
EXACT = "exact"


def _presets(method: str) -> dict[str, Matching]:
    kind = matching_class(method)
    if not issubclass(kind, Recursion):
        return {method: kind()}
    return {f"{method}, {preset}": kind(preset=preset) for preset in kind.constants}


ALGORITHMS: dict[str, Matching] = {GREEDY: matching_class(GREEDY)()}
ALGORITHMS |= {name: matching for method in METHODS for name, matching in _presets(method).items()}
NAMES = tuple(ALGORITHMS)
