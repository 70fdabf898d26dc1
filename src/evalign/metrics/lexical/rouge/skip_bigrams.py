"""ROUGE-S and ROUGE-SU (Lin 2004): pairs of words in order, whatever stands between them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from evalign.metrics.lexical.rouge.formula import Counts, rounded_counts
from evalign.metrics.lexical.rouge.ngrams import pair_count, pair_hits
from evalign.metrics.lexical.rouge.options import Problem
from evalign.metrics.lexical.rouge.reading import Reading
from evalign.metrics.lexical.rouge.scoring import Rouge
from evalign.metrics.options import option


@dataclass(frozen=True)
class RougeS(Rouge):
    """Pairs of words in order, whatever is between them."""

    name: ClassVar[str] = "rougeS"
    about: ClassVar[str] = "pairs of words in order, with gaps (Lin 2004)"

    skip: str = option("none", "at most so many words between the two; none is no limit")

    def problems(self) -> list[Problem]:
        """Whole numbers only."""
        wrong = self.skip != "none" and not self.skip.isdecimal()
        return [*super().problems(), (wrong, f"skip={self.skip}: expected a whole number, or none")]

    @property
    def shortest(self) -> int:
        """A pair of words."""
        return 2

    def units(self, reading: Reading) -> int:
        """Pairs of words within the gap."""
        return pair_count(len(reading.letters), self.gap)

    @property
    def gap(self) -> int | None:
        """`skip` as a number."""
        return None if self.skip == "none" else int(self.skip)

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """Pairs of both sides with at most `skip` words between them."""
        hit = pair_hits(candidate.letters, reference.letters, self.gap)
        model, peer = (pair_count(len(text.letters), self.gap) for text in (reference, candidate))
        return rounded_counts(model, peer, hit)


class RougeSU(RougeS):
    """Skip-bigrams and words; the script forgets the last word of each text."""

    name: ClassVar[str] = "rougeSU"
    about: ClassVar[str] = "pairs of words in order, with gaps, and single words (Lin 2004)"

    @property
    def shortest(self) -> int:
        """A single word counts in the paper only."""
        return 2 if self.mode == "rouge155" else 1

    def units(self, reading: Reading) -> int:
        """Pairs and words."""
        return super().units(reading) + len(reading.letters)

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """Pairs and words of both sides."""
        pairs, words = super().counts(candidate, reference), self.word_counts(candidate, reference)
        return rounded_counts(pairs.model + words.model, pairs.peer + words.peer, pairs.hit + words.hit)

    def word_counts(self, candidate: Reading, reference: Reading) -> Counts:
        """The single words that count."""
        end = -1 if self.mode == "rouge155" else None
        peer, model = candidate.letters[:end], reference.letters[:end]
        return rounded_counts(len(model), len(peer), (Counter(peer) & Counter(model)).total())
