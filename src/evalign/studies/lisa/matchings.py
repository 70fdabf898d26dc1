"""The matchings of the LiSAScore study under one name each: greedy, and every assignment with every preset it has."""

from __future__ import annotations

from evalign.matching.assignment.recursion import Recursion
from evalign.matching.base import Matching
from evalign.matching.registry import METHODS, matching_class

GREEDY = "greedy"
RECURSIVE = "recursive-argmax, paper"
PUBLISHED = "recursive-argmax, authors-as-published"
EXACT = "exact"
ROW_MASK = "row-mask"
FEW = (GREEDY, EXACT, RECURSIVE, PUBLISHED)  # for what is asked of some matchings only
SLOW = ("auction-topk, authors", "auction")  # 0.5 to 2 seconds for 384 x 384 tokens, where others take 0.1 at most


def _presets(method: str) -> dict[str, Matching]:
    kind = matching_class(method)
    if not issubclass(kind, Recursion):
        return {method: kind()}
    return {f"{method}, {preset}": kind(preset=preset) for preset in kind.constants}


ALGORITHMS: dict[str, Matching] = {GREEDY: matching_class(GREEDY)()}
ALGORITHMS |= {name: matching for method in METHODS for name, matching in _presets(method).items()}
NAMES = tuple(ALGORITHMS)
RECURSIONS: dict[str, Recursion] = {
    name: matching
    for name, matching in ALGORITHMS.items()
    if isinstance(matching, Recursion) and name not in (*SLOW, PUBLISHED, "recursive-topk, mean")
}  # whose number of rounds is varied
