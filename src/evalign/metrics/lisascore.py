"""LiSAScore (Mander & Phillips): linear sum assignment instead of greedy matching.

a_i = S of candidate token i's selected cell or 0, b_j likewise; P = sum w_i a_i / sum w, R = sum v_j b_j / sum v.
No token is matched twice, so repeated and padded text gains nothing: P <= k/n and R <= k/m with k = min(n, m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from evalign.core.options import flag_or_text, number_within, option, whole_number_within
from evalign.errors import SpecError
from evalign.matching.base import Matching
from evalign.matching.recursion import FACTORS, MAX_ROUNDS
from evalign.matching.registry import METHODS, PRESETS, current_name, matching_class
from evalign.metrics.baseline import SCALES
from evalign.metrics.reduction import DENOMINATORS, PRF, MultiReference
from evalign.metrics.token_metric import RESCALE_HELP, SCALE_HELP, TokenMetric, TokenPipeline

OBJECTIVES = ("similarity", "weighted")


@dataclass(frozen=True)
class LiSAScore(TokenMetric):
    """Linear sum assignment of token vectors."""

    name: ClassVar[str] = "lisascore"
    about: ClassVar[str] = "linear sum assignment of contextual token vectors (Mander & Phillips)"
    rescales: ClassVar[bool] = True

    rescale: bool | str = option(False, RESCALE_HELP, parse=flag_or_text)
    scale: str = option("linear", SCALE_HELP, SCALES)
    method: str = option("exact", "how the assignment is found", METHODS, rename=current_name)
    preset: str = option("paper", "constants of the recursive methods", PRESETS)
    rounds: int | None = option(
        None, "of the recursive methods, instead of the preset's", parse=whole_number_within("rounds", 0, MAX_ROUNDS)
    )
    factor: float | None = option(
        None, "that rivals are divided by, instead of the preset's", parse=number_within("factor", *FACTORS)
    )
    strict: bool = option(False, "repair the results of methods that use a token twice")
    denominator: str = option("own", "divide by each side's own weight, or by the smaller or larger one", DENOMINATORS)
    objective: str = option("similarity", "maximise similarity, or similarity weighted by IDF", OBJECTIVES)
    eps: float = option(0.01, "smallest bid of method=auction")

    def pipeline(self) -> TokenPipeline:
        """Return the assignment reduced to precision, recall and F1."""
        matching = self._matching()
        name, weighted, _ = matching.name.partition(",weighted")
        denominator = "" if self.denominator == "own" else f",denominator={self.denominator}"
        return TokenPipeline(
            encoder=self.encoder_spec(),
            weighting=self.weighting(),
            matching=matching,
            reduction=PRF(self.denominator),
            match=f"{name}{denominator}{weighted}",
            rescaling=self.rescaling_of(self.rescale, self.scale),
            references=MultiReference(self.multiref),
        )

    def _matching(self) -> Matching:
        """Return the method with those of the options that it has."""
        method: Any = matching_class(self.method)
        setting_names = {setting.name for setting in fields(method)}
        for key, default in (("preset", "paper"), ("rounds", None), ("factor", None)):
            if (value := getattr(self, key)) != default and key not in setting_names:
                raise SpecError(f"{key}={value} does not apply to method={self.method}, which has no recursion")
        if not 0 < self.eps < math.inf:
            raise SpecError(f"eps={self.eps}: expected a positive number")
        options = {key: getattr(self, key) for key in ("preset", "rounds", "factor", "eps", "strict")}
        options["weighted"] = self.objective == "weighted"
        matching: Matching = method(**{key: value for key, value in options.items() if key in setting_names})
        return matching
