"""Views of an `Alignment` for drawings and documents: tokens with partners, quality levels, clause values, rounds of a
recursive matching, and a warning if the model does not know the script of the texts.

Terminal, static HTML, notebook and page use the same levels; documents carry the bounds to the page. Similarities of
different models are not comparable, so the levels divide the range from the similarity of unrelated text (with the same
model) to 1 into three equal parts; lower values are weak matches.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalign.core import Alignment, Floats, Ints, Tokens
from evalign.core.alignment import Opposite
from evalign.core.spec import Signature
from evalign.encoders.weights import KNOWN, LANGUAGE_MODELS, OTHER_LANGUAGES
from evalign.errors import SpecError
from evalign.matching.recursion import SHORTER, Recursion
from evalign.matching.registry import parse
from evalign.metrics.baseline import shipped
from evalign.text.sentences import clause_of_tokens
from evalign.text.words import UNSPACED

PROBABILITY_BOUNDS = (0.5, 0.1, 0.01, 0.001)  # lower bound of each class, best first
LEVELS = 3  # above the weak level
UNRELATED_QUANTILE = 0.9  # of the cells that are no token's best match; estimates the similarity of unrelated tokens
FITTED = "similarity of unrelated sentences with this model and layer"
ESTIMATED = "90 % of this pair's cells that are no token's best match are lower; no baseline is fitted for this model"
MAX_ROUND_CELLS = 20_000  # of a matrix whose rounds the page shows: about 140 x 140 tokens
MAX_ROUNDS = 30
ENGLISH = {model.label for model in KNOWN.values()}
LATIN = "Latin"
MAX_UNKNOWN_SHARE = 0.5
SPELLED_TOKENS_PER_LETTER = {False: 0.75, True: 1.4}  # of scripts with and without spaces: more means unknown
NAMES = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}


@dataclass(frozen=True, eq=False)
class MatchedText:
    """One side of an alignment: weight, value and partner (index in `partner_tokens`, -1: none) of each token."""

    name: str
    tokens: Tokens
    weights: Floats
    values: Floats
    partners: Ints
    partner_tokens: Tokens

    @property
    def shown(self) -> list[int]:
        """Return the indices of the tokens to draw: special tokens have no weight, but can be partners."""
        return [index for index in range(len(self.tokens)) if not self.tokens.special[index]]

    def partner(self, index: int) -> str | None:
        """Return the text of a token's partner, or None."""
        return self.partner_tokens.surface(int(self.partners[index])) if self.partners[index] >= 0 else None


def matched_texts(alignment: Alignment) -> tuple[MatchedText, MatchedText]:
    """Return both sides of an alignment: values of the candidate give precision, of the reference recall."""
    candidate, reference = alignment.candidate, alignment.reference
    return (
        MatchedText("candidate", candidate, alignment.candidate_weights, alignment.candidate_values,
                    alignment.candidate_partners, reference),
        MatchedText("reference", reference, alignment.reference_weights, alignment.reference_values,
                    alignment.reference_partners, candidate),
    )  # fmt: skip


@dataclass(frozen=True)
class Levels:
    """Lower bounds of the quality levels, best first; the last, `weak`, is the similarity of unrelated text."""

    bounds: tuple[float, ...]
    source: str

    @property
    def weak(self) -> float:
        """Return the bound below which a match is weak."""
        return self.bounds[-1]


def levels_of(alignment: Alignment) -> Levels:
    """Return the levels by the model's fitted baseline, else by a quantile of the pair's matrix."""
    fitted = _fitted(signature_settings(alignment))
    weak = _unrelated_similarity(alignment.similarity) if fitted is None else fitted
    steps = (weak + (1 - weak) * step / LEVELS for step in reversed(range(LEVELS)))
    return Levels(tuple(round(bound, 6) for bound in steps), ESTIMATED if fitted is None else FITTED)


def class_of(value: float, bounds: Sequence[float]) -> int:
    """Return the class of a value: 0 for the best, `len(bounds)` for the last."""
    return next((number for number, bound in enumerate(bounds) if value >= bound), len(bounds))


def signature_settings(alignment: Alignment) -> Mapping[str, str]:
    """Return the settings of the signature; empty if it cannot be parsed."""
    try:
        return Signature.parse(alignment.signature).settings
    except SpecError:
        return {}


def _fitted(settings: Mapping[str, str]) -> float | None:
    fitted = shipped().get((settings.get("model", ""), "greedy", settings.get("specials", "keep")))
    layer = settings.get("layer", "")
    return fitted.by_layer[layer][2] if fitted is not None and layer in fitted.by_layer else None


def _unrelated_similarity(similarity: Floats) -> float:
    """Return a quantile of the cells that are not the best of their row or column; 0 if there are none."""
    best = (similarity == similarity.max(0, initial=-np.inf)) | (similarity.max(1, initial=-np.inf) == similarity.T).T
    cells = similarity[~best]
    return min(float(np.quantile(cells, UNRELATED_QUANTILE)), 1.0) if cells.size else 0.0


def opposite_sentences(alignment: Alignment) -> list[str]:
    """Return a clause about each opposite of the texts, such as `"not" is only in the candidate`."""
    return [
        opposite_sentence(opposite, alignment.candidate.text, alignment.reference.text)
        for opposite in alignment.opposites
    ]


def opposite_sentence(opposite: Opposite, candidate: str, reference: str) -> str:
    """Return a clause about an opposite of two texts."""
    words = [
        f'"{text[slice(*span)]}"'
        for text, span in ((candidate, opposite.candidate), (reference, opposite.reference))
        if span
    ]
    if len(words) == 2:
        return f"{words[0]} is the opposite of {words[1]}"
    return f"{words[0]} is only in the {'reference' if opposite.candidate is None else 'candidate'}"


def clause_values(alignment: Alignment, members: Mapping[str, Sequence[Ints]]) -> dict[str, list[float | None]]:
    """Return the value of every clause by side; None if no token of the clause has a weight.

    Args:
        alignment: The pair under one matching.
        members: Token indices of every clause by side, the same for all matchings of a pair.
    """
    values: dict[str, list[float | None]] = {}
    for side in matched_texts(alignment):
        products = side.weights * side.values
        values[side.name] = []
        for clause in members[side.name]:
            weight, total = float(side.weights[clause].sum()), float(products[clause].sum())
            values[side.name].append(round(total / weight, 8) if weight > 0 else None)
    return values


def clause_members(tokens: Tokens, spans: list[tuple[int, int]]) -> list[Ints]:
    """Return the indices of the tokens of every clause."""
    numbers = np.array(clause_of_tokens(tokens, spans))
    return [np.flatnonzero(numbers == number) for number in range(len(spans))]


def rounds_of(alignment: Alignment) -> list[list[list[int]]]:
    """Return the cells (candidate token, reference token) after each round; the last are those of the alignment.

    Empty if the matching has no rounds or too many, or if the result was repaired after them.
    """
    settings = [part for part in alignment.matching.split(",") if not part.startswith("denominator=")]
    try:
        matching = parse(",".join(settings))
    except SpecError:  # a matching of another package
        return []
    size = alignment.similarity.size
    if not isinstance(matching, Recursion) or matching.strict or not 0 < size <= MAX_ROUND_CELLS:
        return []
    rounds = matching.effective_constants[1]
    rounds = min(alignment.similarity.shape) if rounds == SHORTER else rounds
    if not 0 < rounds <= MAX_ROUNDS:
        return []
    weights = alignment.candidate_weights, alignment.reference_weights
    return [
        np.argwhere(matched.cells).tolist() for matched in matching.by_rounds(alignment.similarity, rounds, weights)
    ]


def foreign_text(alignment: Alignment) -> str:
    """Return a warning if the model cannot read the texts, with a model that can; empty if it can."""
    model = signature_settings(alignment).get("model", "").partition("@")[0]
    for name, tokens in (("candidate", alignment.candidate), ("reference", alignment.reference)):
        script, why = _script(tokens.text), ""
        count = int((~tokens.special).sum())
        if count and len(tokens.unknown) >= MAX_UNKNOWN_SHARE * count:
            why = f"{len(tokens.unknown)} of the {count} tokens of the {name} are unknown to {model or 'the model'}"
        elif script not in ("", LATIN) and (model in ENGLISH or _spelled_out(tokens, count)):
            why = f"the {name} is written in {script}, which {model or 'the model'} does not know"
        if why:
            return f"{why[0].upper()}{why[1:]}: the score is meaningless with this model; use {_better(script)}."
    return ""


def _script(text: str) -> str:
    """Return the script of most letters, such as `Arabic`; empty for a text without letters."""
    scripts: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if unicodedata.category(char)[0] == "L":
            first = unicodedata.name(char, "").partition(" ")[0]
            scripts[NAMES.get(first, first.title())] += count
    return "Japanese" if scripts["Japanese"] else max(scripts, key=scripts.__getitem__, default="")


def _spelled_out(tokens: Tokens, count: int) -> bool:
    letters = sum(unicodedata.category(char)[0] == "L" for char in tokens.text)
    unspaced = any(first <= ord(char) <= last for char in tokens.text for first, last in UNSPACED)
    return count >= SPELLED_TOKENS_PER_LETTER[unspaced] * letters


def _better(script: str) -> str:
    return f"model={LANGUAGE_MODELS['zh'] if script == 'Chinese' else OTHER_LANGUAGES}"
