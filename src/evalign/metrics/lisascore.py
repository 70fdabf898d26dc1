"""LiSAScore (Mander & Phillips): linear sum assignment instead of greedy matching.

a_i = S of candidate token i's selected cell or 0, b_j likewise; P = sum w_i a_i / sum w, R = sum v_j b_j / sum v.
No token is matched twice, so repeated and padded text gains nothing: P <= k/n and R <= k/m with k = min(n, m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from evalign.errors import SpecError
from evalign.matching.assignment.recursion import FACTORS, MOST_ROUNDS
from evalign.matching.base import Matched, Matching
from evalign.matching.registry import METHODS, PRESETS, matching_class, named
from evalign.metrics.matching_metric import PRFMetric, prf
from evalign.metrics.options import number_within, option, whole_number_within
from evalign.metrics.token_side import Side
from evalign.types import Floats

DENOMINATORS = ("own", "min", "max")
OBJECTIVES = ("similarity", "weighted")


@dataclass(frozen=True)
class LiSAScore(PRFMetric):
    """Linear sum assignment of token vectors."""

    name: ClassVar[str] = "lisascore"
    about: ClassVar[str] = "linear sum assignment of contextual token vectors (Mander & Phillips)"

    method: str = option("exact", "how the assignment is found", METHODS, rename=named)
    preset: str = option("paper", "constants of the recursive methods", PRESETS)
    rounds: int | None = option(
        None, "of the recursive methods, instead of the preset's", parse=whole_number_within("rounds", 0, MOST_ROUNDS)
    )
    factor: float | None = option(
        None, "that rivals are divided by, instead of the preset's", parse=number_within("factor", *FACTORS)
    )
    strict: bool = option(False, "repair the results of methods that use a token twice")
    denominator: str = option("own", "divide by each side's own weight, or by the smaller or larger one", DENOMINATORS)
    objective: str = option("similarity", "maximise similarity, or similarity weighted by IDF", OBJECTIVES)
    eps: float = option(0.01, "smallest bid of method=auction")

    @property
    def matcher(self) -> Matching:
        """The method with those of the options that it has."""
        method: Any = matching_class(self.method)
        known = {setting.name for setting in fields(method)}
        for key, default in (("preset", "paper"), ("rounds", None), ("factor", None)):
            if (value := getattr(self, key)) != default and key not in known:
                raise SpecError(f"{key}={value} says nothing about method={self.method}: it has no recursion")
        if not 0 < self.eps < math.inf:
            raise SpecError(f"eps={self.eps}: expected a positive number")
        own = ("preset", "rounds", "factor", "eps", "strict")
        options = {key: getattr(self, key) for key in own} | {"weighted": self.objective == "weighted"}
        matching: Matching = method(**{key: value for key, value in options.items() if key in known})
        return matching

    @property
    def match(self) -> str:
        """The matching, with the denominator where it is not the default."""
        if self.denominator == "own":
            return self.matcher.name
        name, weighted, _ = self.matcher.name.partition(",weighted")
        return f"{name},denominator={self.denominator}{weighted}"

    @classmethod
    def match_options(cls, match: str) -> dict[str, str]:
        """The options behind a signature's `match`."""
        method, *rest = match.split(",")
        options = {"method": method}
        for part in rest:
            key, equals, value = part.partition("=")
            named = {"strict": ("strict", "true"), "weighted": ("objective", "weighted")}
            options |= {key: value} if equals else dict([named.get(part, ("preset", part))])
        return options

    def fields_of(self, matched: Matched, candidate: Side, reference: Side) -> Floats:
        """Sums of values over the chosen denominators."""
        sums = candidate.weights @ matched.candidate_values, reference.weights @ matched.reference_values
        totals = self.divisor(candidate.weights, reference.weights), self.divisor(reference.weights, candidate.weights)
        return prf(np.asarray(float(sums[0]) / totals[0]), np.asarray(float(sums[1]) / totals[1]))

    def divisor(self, weights: Floats, others: Floats) -> float:
        """The side's own weight; for `min` of as many of its heaviest tokens as can be matched; `max`: the larger."""
        own, theirs = float(weights.sum()), float(others.sum())
        if self.denominator == "max":
            return max(own, theirs)
        if self.denominator == "min":
            counted = int((others > 0).sum())
            return float(np.sort(weights)[::-1][:counted].sum())
        return own
