"""ROUGE (Lin 2004): rouge1 to rouge9, rougeL, rougeLsum, rougeMEAD, rougeW, rougeS, rougeSU.

`mode=paper` computes the paper's formulas on the words of any language; `mode=rouge155` is the program ROUGE-1.5.5,
its counting, rounding and bootstrap. Each class says what it counts; reading, several references and F are shared.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evalign.metrics.base import option
from evalign.metrics.corpus import Corpus
from evalign.metrics.lexical.rouge import lcs
from evalign.metrics.lexical.rouge.bootstrap import Bootstrap, rounded
from evalign.metrics.lexical.rouge.ngrams import common_grams
from evalign.metrics.lexical.rouge.options import RougeOptions
from evalign.metrics.lexical.rouge.reading import Reading
from evalign.metrics.lexical.rouge.scoring import Counts, RougeScorer
from evalign.metrics.lexical.rouge.skip_bigrams import pair_count, pair_hits
from evalign.types import Floats, Ints, Row

SENTENCES = option("lines", "lines are sentences, or split them by rule", ("lines", "split"))
HEAVIEST = 5.0  # a power of 100,000 words must stay a number


@dataclass(frozen=True)
class Rouge(RougeOptions):
    """A ROUGE metric: what it counts in a pair of texts."""

    shortest: ClassVar[int] = 1

    def scorer(self, corpus: Iterable[Row] | None = None) -> RougeScorer:
        """Ready at once; word lists are read if the options need them."""
        return RougeScorer(self, self)

    def corpus(self) -> Corpus | None:
        """The script resamples; the paper's corpus score is the mean."""
        return Bootstrap(self.alpha) if self.mode == "rouge155" else None

    def pairs(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> tuple[Floats, Floats]:
        """Precision and recall of many pairs in the paper's way; 0 where a text is empty."""
        found = [
            self.pair(candidate, reference) if candidate.letters and reference.letters else (0.0, 0.0)
            for candidate, reference in zip(candidates, references, strict=True)
        ]
        precision, recall = np.array(found).reshape(-1, 2).T
        return precision, recall

    def pair(self, candidate: Reading, reference: Reading) -> tuple[float, float]:
        """Precision and recall of texts that are not empty."""
        model, peer, hit, _ = self.counts(candidate, reference)
        return hit / peer if peer else 0.0, hit / model if model else 0.0

    def many_counts(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> list[Counts]:
        """The script's counts of many pairs."""
        return list(map(self.counts, candidates, references))

    @abstractmethod
    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """Units in the reference, in the candidate, and in both."""

    def ratio(self, hit: float, total: float) -> float:
        """Hits of a total."""
        return hit / total


class RougeN(Rouge):
    """N-grams, each counted as often as it occurs in both texts."""

    order: ClassVar[int]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.name, cls.shortest = f"rouge{cls.order}", cls.order
        cls.about = f"overlap of {'words' if cls.order == 1 else f'{cls.order}-grams'} (Lin 2004)"

    def pairs(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> tuple[Floats, Floats]:
        """Counted together: that is several times as fast as pair by pair."""
        own, other = ([reading.letters for reading in side] for side in (candidates, references))
        return shares(common_grams(own, other, self.order), own, other, self.order - 1)

    def many_counts(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> list[Counts]:
        """The same for the script."""
        own, other = ([reading.letters for reading in side] for side in (candidates, references))
        hits = common_grams(own, other, self.order).tolist()
        return [self._counts(hit, len(left), len(right)) for hit, left, right in zip(hits, own, other, strict=True)]

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """N-grams of both sides."""
        return self.many_counts([candidate], [reference])[0]

    def _counts(self, hit: int, peer_words: int, model_words: int) -> Counts:
        model, peer = (max(0, words - self.order + 1) for words in (model_words, peer_words))
        return Counts(model, peer, hit, rounded(hit / model) if model else 0.0)


class Rouge1(RougeN):
    """Words."""

    order = 1


class Rouge2(RougeN):
    """Pairs of neighbouring words."""

    order = 2


class Rouge3(RougeN):
    """Runs of three words."""

    order = 3


class Rouge4(RougeN):
    """Runs of four words."""

    order = 4


class Rouge5(RougeN):
    """Runs of five words."""

    order = 5


class Rouge6(RougeN):
    """Runs of six words."""

    order = 6


class Rouge7(RougeN):
    """Runs of seven words."""

    order = 7


class Rouge8(RougeN):
    """Runs of eight words."""

    order = 8


class Rouge9(RougeN):
    """Runs of nine words."""

    order = 9


class UnionLCS(Rouge):
    """The words of reference sentences on an LCS with any candidate sentence, each used once."""

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """Words of both sides; those of the sentences where these were cut differently."""
        model, hit = sum(map(len, reference.sentences)), sum(map(len, self.marked(candidate, reference)))
        return Counts(model, len(candidate.letters), hit, hit / model if model else 0.0)

    def marked(self, candidate: Reading, reference: Reading) -> list[list[int]]:
        """Per reference sentence the places that count."""
        found = lcs.union_hits(reference.sentences, candidate.sentences)
        return lcs.clipped(reference.sentences, found, lcs.common_words(reference.letters, candidate.letters))


class RougeL(UnionLCS):
    """The longest common subsequence of both texts; in mode rouge155, of their sentences."""

    name: ClassVar[str] = "rougeL"
    about: ClassVar[str] = "longest common subsequence of words (Lin 2004)"

    def pairs(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> tuple[Floats, Floats]:
        """Each text is one sequence."""
        own, other = ([reading.letters for reading in side] for side in (candidates, references))
        return shares(lcs.lcs_lengths(own, other), own, other)


@dataclass(frozen=True)
class RougeLsum(UnionLCS):
    """Union LCS over sentences."""

    name: ClassVar[str] = "rougeLsum"
    about: ClassVar[str] = "union of the LCS of each reference sentence with all candidate sentences (Lin 2004)"

    sentences: str = SENTENCES

    def problems(self) -> list[str]:
        """The script has one idea of a sentence."""
        wrong = self.mode == "rouge155" and self.sentences != "lines"
        return [*super().problems(), "sentences=split with mode=rouge155, where lines are sentences" if wrong else ""]


@dataclass(frozen=True)
class RougeMEAD(Rouge):
    """R = sum_i max_j LCS(r_i, c_j) / m, P = sum_j max_i LCS(r_i, c_j) / n."""

    name: ClassVar[str] = "rougeMEAD"
    about: ClassVar[str] = "best pairwise LCS of each sentence, as in the MEAD summariser"

    sentences: str = SENTENCES

    def problems(self) -> list[str]:
        """The script has no such metric."""
        wrong = self.mode == "rouge155"
        return [*super().problems(), "ROUGE-1.5.5 has no MEAD; rougeL(mode=rouge155) is nearest" if wrong else ""]

    def pair(self, candidate: Reading, reference: Reading) -> tuple[float, float]:
        """Each sentence with its best partner."""
        for_reference, for_candidate = lcs.best_lengths(reference.sentences, candidate.sentences)
        return int(for_candidate.sum()) / len(candidate.letters), int(for_reference.sum()) / len(reference.letters)

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """Words of both sides; the hits are those of the reference sentences."""
        hit = int(lcs.best_lengths(reference.sentences, candidate.sentences)[0].sum())
        return Counts(len(reference.letters), len(candidate.letters), hit, hit / max(1, len(reference.letters)))


@dataclass(frozen=True)
class RougeW(Rouge):
    """A run of k matches on the common subsequence is worth f(k) = k^weight; R = f^-1(WLCS / f(m))."""

    name: ClassVar[str] = "rougeW"
    about: ClassVar[str] = "common subsequence weighted by the length of its runs (Lin 2004)"

    weight: float = option(1.2, "a run of k words is worth k to this power; 1 is rougeL")

    def problems(self) -> list[str]:
        """Below 1, scattered words would be worth more than runs, and scores leave their range."""
        wrong = not 1 <= self.weight <= HEAVIEST
        return [*super().problems(), f"weight={self.weight:g}: expected 1 to {HEAVIEST:g}" if wrong else ""]

    def pair(self, candidate: Reading, reference: Reading) -> tuple[float, float]:
        """Each text is one sequence."""
        value = lcs.weighted_length(candidate.letters, reference.letters, self.weight)
        lengths = len(candidate.letters), len(reference.letters)
        precision, recall = (min(1.0, self.ratio(value, float(length) ** self.weight)) for length in lengths)
        return precision, recall

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """The script weights the sentences of the reference, and their sum once more."""
        base = sum(float(len(sentence)) ** self.weight for sentence in reference.sentences)
        hit = sum(map(self.run_value, reference.sentences, *self.runs(candidate, reference)))
        score = self.ratio(hit, base) if base else 0.0  # the script divides by zero here
        return Counts(base**self.weight, float(len(candidate.letters)) ** self.weight, hit, score)

    def runs(self, candidate: Reading, reference: Reading) -> tuple[list[set[int]], list[list[int]]]:
        """Per reference sentence the places on a path, and those of them that count."""
        lcs.check_weighted_pairs(len(reference.sentences) * len(candidate.sentences))
        found = []
        for sentence in reference.sentences:
            paths = (lcs.weighted_path(sentence, other, self.weight) for other in candidate.sentences)
            found.append(set().union(*paths))
        left = lcs.common_words(reference.letters, candidate.letters)
        return found, lcs.clipped(reference.sentences, [sorted(places) for places in found], left)

    def run_value(self, sentence: str, marked: set[int], counted: list[int]) -> float:
        """A run ends where the next place is unmarked. One whose last word does not count runs on, as in the script."""
        value, run = 0.0, 0
        for place in counted:
            run += 1
            if place + 1 == len(sentence) or place + 1 not in marked:
                value += float(run) ** self.weight
                run = 0
        return value

    def ratio(self, hit: float, total: float) -> float:
        """f^-1 of the share."""
        return float((hit / total) ** (1 / self.weight))


@dataclass(frozen=True)
class RougeS(Rouge):
    """Pairs of words in order, whatever is between them."""

    name: ClassVar[str] = "rougeS"
    about: ClassVar[str] = "pairs of words in order, with gaps (Lin 2004)"
    shortest: ClassVar[int] = 2

    skip: str = option("none", "at most so many words between the two; none is no limit")

    def problems(self) -> list[str]:
        """Whole numbers only."""
        wrong = self.skip != "none" and not self.skip.isdecimal()
        return [*super().problems(), f"skip={self.skip}: expected a whole number, or none" if wrong else ""]

    @property
    def gap(self) -> int | None:
        """`skip` as a number."""
        return None if self.skip == "none" else int(self.skip)

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """Pairs inside the window."""
        hit = pair_hits(candidate.letters, reference.letters, self.gap)
        model, peer = (pair_count(len(text.letters), self.gap) for text in (reference, candidate))
        return Counts(model, peer, hit, rounded(hit / model) if model else 0.0)


class RougeSU(RougeS):
    """Skip-bigrams and words; the script forgets the last word of each text."""

    name: ClassVar[str] = "rougeSU"
    about: ClassVar[str] = "pairs of words in order, with gaps, and single words (Lin 2004)"

    @property
    def shortest(self) -> int:  # type: ignore[override]
        """A single word counts in the paper only."""
        return 2 if self.mode == "rouge155" else 1

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """Pairs and words of both sides."""
        pairs = super().counts(candidate, reference)
        words, model_words, peer_words = self.word_counts(candidate, reference)
        model, hit = pairs.model + model_words, pairs.hit + words
        return Counts(model, pairs.peer + peer_words, hit, rounded(hit / model) if model else 0.0)

    def word_counts(self, candidate: Reading, reference: Reading) -> tuple[int, int, int]:
        """Words in common, in the reference, in the candidate."""
        if self.mode != "rouge155":
            own, other = reference.letters, candidate.letters
        else:
            own, other = reference.letters[:-1], candidate.letters[:-1]
        return lcs.common_words(own, other).total(), len(own), len(other)


def shares(hits: Ints, own: Sequence[str], other: Sequence[str], fewer: int = 0) -> tuple[Floats, Floats]:
    """Hits of all units on either side, which are the words but so many; 0 of none."""
    precision, recall = (
        hits / np.maximum(1, np.fromiter(map(len, texts), dtype=np.int64, count=len(hits)) - fewer)
        for texts in (own, other)
    )
    return precision, recall
