"""Short calls for the tests of assignment: `Assigner("auction", eps=0.1)(matrix, masks).cells`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from evalign.matching.base import Matching, MatchResult
from evalign.metrics.lisascore import LiSAScore


@dataclass(frozen=True)
class Solved:
    """A result with its notes by name."""

    matched: MatchResult

    @property
    def cells(self) -> Any:
        return self.matched.cells

    @property
    def violations(self) -> Any:
        return self.matched.notes["violations"]

    @property
    def unfinished(self) -> Any:
        return self.matched.notes.get("auction-unfinished", self.violations < 0)


class Assigner:
    """A method of lisascore with its settings; those that the method does not have change nothing."""

    def __init__(self, method: str = "exact", preset: str = "paper", strict: bool = False, **settings: Any) -> None:
        self.method, self.preset, self.strict = method, preset, strict
        metric = LiSAScore(method=method, preset=preset, strict=strict, eps=settings.pop("eps", 0.01))
        known = {setting.name for setting in dataclasses.fields(metric.pipeline().matching)}
        own = {name: value for name, value in settings.items() if name in known}
        self.matching: Matching = dataclasses.replace(metric.pipeline().matching, **own)

    def __call__(self, similarity: Any, masks: Any = None) -> Solved:
        return Solved(self.matching.solve(similarity, masks=masks))
