"""One text of an alignment as terminal, HTML and notebook draw it: its tokens, their partners and how well they fit."""

from __future__ import annotations

from dataclasses import dataclass

from evalign.types import Alignment, Floats, Ints, Tokens


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
