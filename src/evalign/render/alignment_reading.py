"""What drawings and documents read from an `Alignment`: its two texts token by token, levels of quality, the values of
clauses, the rounds of a recursive matching, and whether the model could read the texts at all.

Terminal, static HTML, notebook and page mark by the same levels; documents carry the bounds to the page. Similarities
of two models do not compare, so an alignment's levels divide the way from what unrelated text reaches with its model
to 1 into three equal parts; what does not even reach that is a weak match.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalign.encoders.pinned_models import KNOWN, LANGUAGE_MODELS, OTHER_LANGUAGES
from evalign.errors import SpecError
from evalign.matching.assignment.recursion import SHORTER, Recursion
from evalign.matching.registry import parse
from evalign.metrics.baseline import shipped
from evalign.metrics.signature import Signature
from evalign.text.clauses import clause_of_tokens
from evalign.text.words import UNSPACED
from evalign.types import Alignment, Floats, Ints, Tokens

PROBABILITY_BOUNDS = (0.5, 0.1, 0.01, 0.001)  # the least of each class, best first
LEVELS = 3  # above the weak one
OWN_SHARE = 0.9  # of the cells that are nobody's best: what these stay below, unrelated tokens reach
FITTED = "what unrelated sentences reach with this model and layer"
OWN = "what 9 in 10 of this pair's cells stay below that are nobody's best match; no baseline is fitted for this model"
FOLLOWED_CELLS = 20_000  # of the largest matrix whose rounds a page can show: some 140 x 140 tokens
FOLLOWED_ROUNDS = 30
ENGLISH = {model.label for model in KNOWN.values()}
LATIN = "Latin"
MOST_UNKNOWN = 0.5
SPELLED = {False: 0.75, True: 1.4}  # tokens per letter, of scripts with spaces and without: not known, only spelled out
NAMES = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}


@dataclass(frozen=True, eq=False)
class MatchedText:
    """Per token its weight, the similarity it counts with, and its partner's place in `other` (-1: none)."""

    name: str
    tokens: Tokens
    weights: Floats
    values: Floats
    partners: Ints
    other: Tokens

    @property
    def shown(self) -> list[int]:
        """Places of the tokens that are drawn: special ones weigh nothing, though they can be partners."""
        return [place for place in range(len(self.tokens)) if not self.tokens.special[place]]

    def partner(self, place: int) -> str | None:
        """The partner's text."""
        return self.other.surface(int(self.partners[place])) if self.partners[place] >= 0 else None


def matched_texts(alignment: Alignment) -> tuple[MatchedText, MatchedText]:
    """The candidate, whose values make up precision, and the reference, whose values make up recall."""
    candidate, reference = alignment.candidate, alignment.reference
    return (
        MatchedText("candidate", candidate, alignment.candidate_weights, alignment.candidate_values,
                    alignment.candidate_partners, reference),
        MatchedText("reference", reference, alignment.reference_weights, alignment.reference_values,
                    alignment.reference_partners, candidate),
    )  # fmt: skip


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


def clause_values(alignment: Alignment, members: Mapping[str, Sequence[Ints]]) -> dict[str, list[float | None]]:
    """By side, the value of every clause; null where no token of it has a weight.

    `members` has the places of the tokens of every clause by side: they are the same for all matchings of a pair.
    """
    values: dict[str, list[float | None]] = {}
    for side in matched_texts(alignment):
        worths = side.weights * side.values
        values[side.name] = []
        for own in members[side.name]:
            weight, worth = float(side.weights[own].sum()), float(worths[own].sum())
            values[side.name].append(round(worth / weight, 8) if weight > 0 else None)
    return values


def clause_members(tokens: Tokens, spans: list[tuple[int, int]]) -> list[Ints]:
    """For every clause, the places of the tokens that stand in it."""
    numbers = np.array(clause_of_tokens(tokens, spans))
    return [np.flatnonzero(numbers == number) for number in range(len(spans))]


def rounds_of(alignment: Alignment) -> list[list[list[int]]]:
    """By round, cells (candidate token, reference token), the last being the alignment's own.

    Nothing where there are no rounds, too many, or where the result was repaired after them.
    """
    settings = [part for part in alignment.matching.split(",") if not part.startswith("denominator=")]
    try:
        matching = parse(",".join(settings))
    except SpecError:  # a matching of somebody's own
        return []
    size = alignment.similarity.size
    if not isinstance(matching, Recursion) or matching.strict or not 0 < size <= FOLLOWED_CELLS:
        return []
    rounds = matching.own_constants[1]
    rounds = min(alignment.similarity.shape) if rounds == SHORTER else rounds
    if not 0 < rounds <= FOLLOWED_ROUNDS:
        return []
    weights = alignment.candidate_weights, alignment.reference_weights
    return [
        np.argwhere(matched.cells).tolist() for matched in matching.by_rounds(alignment.similarity, rounds, weights)
    ]


def foreign_text(alignment: Alignment) -> str:
    """Why the scores mean nothing with this model, and which to take; empty where they mean something."""
    model = signature_settings(alignment).get("model", "").partition("@")[0]
    for name, tokens in (("candidate", alignment.candidate), ("reference", alignment.reference)):
        script, why = _script(tokens.text), ""
        own = int((~tokens.special).sum())
        if own and len(tokens.unknown) >= MOST_UNKNOWN * own:
            why = f"{len(tokens.unknown)} of the {own} tokens of the {name} are unknown to {model or 'the model'}"
        elif script not in ("", LATIN) and (model in ENGLISH or _spelled_out(tokens, own)):
            why = f"the {name} is written in {script}, which {model or 'the model'} does not know"
        if why:
            return f"{why[0].upper()}{why[1:]}: the score means nothing with this model; take {_better(script)}."
    return ""


def _script(text: str) -> str:
    """The script of most letters, as in `Arabic`; empty for a text without letters."""
    scripts: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if unicodedata.category(char)[0] == "L":
            first = unicodedata.name(char, "").partition(" ")[0]
            scripts[NAMES.get(first, first.title())] += count
    return "Japanese" if scripts["Japanese"] else max(scripts, key=scripts.__getitem__, default="")


def _spelled_out(tokens: Tokens, own: int) -> bool:
    letters = sum(unicodedata.category(char)[0] == "L" for char in tokens.text)
    unspaced = any(first <= ord(char) <= last for char in tokens.text for first, last in UNSPACED)
    return own >= SPELLED[unspaced] * letters


def _better(script: str) -> str:
    return f"model={LANGUAGE_MODELS['zh'] if script == 'Chinese' else OTHER_LANGUAGES}"
