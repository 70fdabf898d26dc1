"""ROUGE (Lin 2004): rouge1 to rouge9, rougeL, rougeLsum, rougeMEAD, rougeW, rougeS, rougeSU.

`mode=paper` computes the paper's formulas on the words of any language; `mode=rouge155` is the program ROUGE-1.5.5,
its counting, rounding and bootstrap. Each class defines its counts; tokenisation, several references and F are shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evalign.core import Floats
from evalign.core.options import option
from evalign.metrics.lexical.rouge import counts as lcs
from evalign.metrics.lexical.rouge.counts import (
    Counts,
    RunWeight,
    common_grams,
    distinct_grams,
    option_value,
    pair_count,
    pair_hits,
    rounded_counts,
    run_weight,
    share,
    shares,
    weight_problems,
    worth,
)
from evalign.metrics.lexical.rouge.scoring import Problem, Rouge
from evalign.metrics.lexical.rouge.words import LetterText

SENTENCES = option(
    "default",
    "auto: lines where there are several, else split by rule; the default is auto, but lines with tokens=ascii and in "
    "mode=rouge155",
    ("default", "auto", "lines", "split"),
)
MAX_NGRAM = 9


@dataclass(frozen=True)
class RougeN(Rouge):
    """N-grams, each counted as often as it occurs in both texts. Specs write `n` in the name: rouge2 is RougeN(n=2)."""

    name: ClassVar[str] = "rougeN"
    about: ClassVar[str] = "overlap of n-grams (Lin 2004)"

    exclusive: bool = option(False, "count each n-gram once in a text, as pltrdy's exclusive=True does; mode=paper")
    n: int = field(kw_only=True, metadata={"parse": int})

    def __post_init__(self) -> None:
        n = int(self.n)
        self._set("name", f"rouge{n}")
        self._set("about", f"overlap of {'words' if n == 1 else f'{n}-grams'} (Lin 2004)")
        super().__post_init__()

    @classmethod
    def fields_in_name(cls, name: str) -> dict[str, Any]:
        """Return `n`, which ends the name."""
        return {"n": name.removeprefix("rouge")}

    def problems(self) -> list[Problem]:
        """Return invalid options: names exist for 1 to 9, and the script counts every n-gram as often as it occurs."""
        return [
            (not 1 <= self.n <= MAX_NGRAM, f"n={self.n}: expected 1 to {MAX_NGRAM}"),
            (self.exclusive and self.mode == "rouge155",
             "exclusive=true with mode=rouge155, which counts every n-gram as often as it occurs; leave one out"),
            *super().problems(),
        ]  # fmt: skip

    @property
    def shortest(self) -> int:
        """Words of one n-gram."""
        return self.n

    def units(self, reading: LetterText) -> int:
        """Return the number of n-grams."""
        if self.exclusive:
            return len(distinct_grams(reading.letters, self.n))
        return max(0, len(reading.letters) - self.n + 1)

    def pairs(self, candidates: Sequence[LetterText], references: Sequence[LetterText]) -> tuple[Floats, Floats]:
        """Count all pairs together, which is several times as fast as pair by pair."""
        if self.exclusive:
            return super().pairs(candidates, references)
        texts = _letters(candidates), _letters(references)
        return shares(common_grams(*texts, self.n), *texts, self.n - 1)

    def many_counts(self, candidates: Sequence[LetterText], references: Sequence[LetterText]) -> list[Counts]:
        """Count all pairs together for the script."""
        texts = _letters(candidates), _letters(references)
        peers, models = ([max(0, len(letters) - self.n + 1) for letters in side] for side in texts)
        return list(map(rounded_counts, models, peers, common_grams(*texts, self.n).tolist()))

    def counts(self, candidate: LetterText, reference: LetterText) -> Counts:
        """Return the n-grams of both sides."""
        if self.exclusive:
            peer, model = (distinct_grams(text.letters, self.n) for text in (candidate, reference))
            hit = len(peer & model)
            return Counts(len(model), len(peer), hit, hit / len(model) if model else 0.0)
        return self.many_counts([candidate], [reference])[0]


class UnionLCS:
    """Mixin that counts the words of reference sentences on an LCS with any candidate sentence, each used once."""

    def counts(self, candidate: LetterText, reference: LetterText) -> Counts:
        """Return the words of both sides, by sentences where these were cut differently."""
        model, hit = sum(map(len, reference.sentences)), sum(map(len, self.counted(candidate, reference)))
        return Counts(model, len(candidate.letters), hit, hit / model if model else 0.0)

    def counted(self, candidate: LetterText, reference: LetterText) -> list[list[int]]:
        """Return the counted positions of each reference sentence."""
        return counted_positions(candidate, reference, lcs.lcs_positions(reference.sentences, candidate.sentences))


class RougeL(UnionLCS, Rouge):
    """Longest common subsequence of both texts; in mode rouge155, of their sentences."""

    name: ClassVar[str] = "rougeL"
    about: ClassVar[str] = "longest common subsequence of words (Lin 2004)"

    def pairs(self, candidates: Sequence[LetterText], references: Sequence[LetterText]) -> tuple[Floats, Floats]:
        """Score pairs with each text as one sequence."""
        texts = _letters(candidates), _letters(references)
        return shares(lcs.lcs_lengths(*texts), *texts)


@dataclass(frozen=True)
class RougeLsum(UnionLCS, Rouge):
    """Union LCS over sentences."""

    name: ClassVar[str] = "rougeLsum"
    about: ClassVar[str] = "union of the LCS of each reference sentence with all candidate sentences (Lin 2004)"

    by_sentence: ClassVar[bool] = True

    sentences: str = SENTENCES

    def problems(self) -> list[Problem]:
        """Return invalid options: the script takes lines as sentences."""
        invalid = self.mode == "rouge155" and self.sentences not in ("default", "lines")
        advice = f"sentences={self.sentences} with mode=rouge155, where lines are sentences"
        return [*super().problems(), (invalid, advice)]


@dataclass(frozen=True)
class RougeMEAD(Rouge):
    """R = sum_i max_j LCS(r_i, c_j) / m, P = sum_j max_i LCS(r_i, c_j) / n."""

    name: ClassVar[str] = "rougeMEAD"
    about: ClassVar[str] = "best pairwise LCS of each sentence, as in the MEAD summariser"

    by_sentence: ClassVar[bool] = True

    sentences: str = SENTENCES

    def problems(self) -> list[Problem]:
        """Return invalid options: the script has no such metric."""
        invalid = self.mode == "rouge155"
        return [*super().problems(), (invalid, "ROUGE-1.5.5 has no MEAD; rougeL(mode=rouge155) is nearest")]

    def pair(self, candidate: LetterText, reference: LetterText) -> tuple[float, float]:
        """Score each sentence with its best partner."""
        for_reference, for_candidate = lcs.best_lengths(reference.sentences, candidate.sentences)
        return int(for_candidate.sum()) / len(candidate.letters), int(for_reference.sum()) / len(reference.letters)

    def counts(self, candidate: LetterText, reference: LetterText) -> Counts:
        """Return the words of both sides; the hits are those of the reference sentences."""
        hit = int(lcs.best_lengths(reference.sentences, candidate.sentences)[0].sum())
        return Counts(len(reference.letters), len(candidate.letters), hit, hit / max(1, len(reference.letters)))


@dataclass(frozen=True)
class RougeW(Rouge):
    """Common subsequence in which a run of k matches has the weight f(k) = k^weight or ak - b; R = f^-1(WLCS) / m."""

    name: ClassVar[str] = "rougeW"
    about: ClassVar[str] = "common subsequence weighted by the length of its runs (Lin 2004)"

    weight: float | str = option(
        1.2, "a run of k words is worth k to this power, and 1 is rougeL; or ak-b, such as 2k-1", parse=option_value
    )

    @property
    def run_weight(self) -> RunWeight:
        """Weight of a run."""
        return run_weight(self.weight)

    def problems(self) -> list[Problem]:
        """Return invalid options: the script has powers only, and weighted runs cannot be pooled."""
        script = self.mode == "rouge155"
        pooled = not script and self.multiref == "pooled"
        return [
            *super().problems(),
            *weight_problems(self.run_weight),
            (script and isinstance(self.weight, str), f"weight={self.weight} with mode=rouge155, which has k^weight"),
            (pooled, "multiref=pooled pools counts, and weighted runs are no counts; write mean, best or max-recall"),
        ]

    def pair(self, candidate: LetterText, reference: LetterText) -> tuple[float, float]:
        """Score a pair with each text as one sequence."""
        value = lcs.weighted_length(candidate.letters, reference.letters, self.run_weight)
        lengths = len(candidate.letters), len(reference.letters)
        precision, recall = (min(1.0, share(self.run_weight, value, length)) for length in lengths)
        return precision, recall

    def counts(self, candidate: LetterText, reference: LetterText) -> Counts:
        """Return the script's counts: it weights the sentences of the reference, and their sum once more."""
        base = sum(worth(self.run_weight, len(sentence)) for sentence in reference.sentences)
        hit = sum(map(self.run_value, reference.sentences, *self.runs(candidate, reference)))
        score = self.ratio(hit, base) if base else 0.0  # the script divides by zero here
        return Counts(base ** float(self.weight), worth(self.run_weight, len(candidate.letters)), hit, score)

    def runs(self, candidate: LetterText, reference: LetterText) -> tuple[list[list[int]], list[list[int]]]:
        """Return, per reference sentence, the positions on a path and those of them that are counted."""
        marked = lcs.weighted_positions(reference.sentences, candidate.sentences, self.run_weight)
        return marked, counted_positions(candidate, reference, marked)

    def run_value(self, sentence: str, marked: Sequence[int], counted: Sequence[int]) -> float:
        """Return the weight of the runs of a sentence.

        A run ends where the next position is unmarked. One whose last word is not counted continues, as in the script.
        """
        value, run, marked_positions = 0.0, 0, set(marked)
        for position in counted:
            run += 1
            if position + 1 == len(sentence) or position + 1 not in marked_positions:
                value += worth(self.run_weight, run)
                run = 0
        return value

    def ratio(self, hit: float, total: float) -> float:
        """Return f^-1 of the share."""
        return float((hit / total) ** (1 / float(self.weight)))


def counted_positions(candidate: LetterText, reference: LetterText, marked: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the counted positions per reference sentence: each uses one occurrence of its word in both texts."""
    left = Counter(reference.letters) & Counter(candidate.letters)
    counted: list[list[int]] = []
    for sentence, positions in zip(reference.sentences, marked, strict=True):
        counted.append([])
        for position in positions:
            if left[sentence[position]] > 0:
                left[sentence[position]] -= 1
                counted[-1].append(position)
    return counted


def _letters(readings: Sequence[LetterText]) -> list[str]:
    return [reading.letters for reading in readings]


class SkipBigrams:
    """Mixin that counts pairs of words in order, with at most `skip` words between them."""

    skip: str
    mode: str
    counts_words: ClassVar[bool] = False  # single words are units too; the script omits the last word of each text

    @property
    def shortest(self) -> int:
        """A pair of words; a single word is counted only in the paper's mode."""
        return 1 if self.counts_words and self.mode == "paper" else 2

    @property
    def gap(self) -> int | None:
        """`skip` as a number; None is unlimited."""
        return None if self.skip == "none" else int(self.skip)

    def units(self, reading: LetterText) -> int:
        """Return the number of pairs of words within the gap, plus words if they are counted."""
        words = len(reading.letters)
        return pair_count(words, self.gap) + (words if self.counts_words else 0)

    def counts(self, candidate: LetterText, reference: LetterText) -> Counts:
        """Return the script's counts of pairs, plus words if they are counted."""
        hit = pair_hits(candidate.letters, reference.letters, self.gap)
        model, peer = (pair_count(len(text.letters), self.gap) for text in (reference, candidate))
        if not self.counts_words:
            return rounded_counts(model, peer, hit)
        words = self.word_counts(candidate, reference)
        return rounded_counts(model + words.model, peer + words.peer, hit + words.hit)

    def word_counts(self, candidate: LetterText, reference: LetterText) -> Counts:
        """Return the counts of single words."""
        end = -1 if self.mode == "rouge155" else None
        peer, model = candidate.letters[:end], reference.letters[:end]
        return rounded_counts(len(model), len(peer), (Counter(peer) & Counter(model)).total())

    def skip_problem(self) -> Problem:
        """Return whether `skip` is invalid, and the advice."""
        invalid = self.skip != "none" and not self.skip.isdecimal()
        return invalid, f"skip={self.skip}: expected a whole number, or none"


SKIP = option("none", "maximum number of words between the two; none is no limit")


@dataclass(frozen=True)
class RougeS(SkipBigrams, Rouge):
    """Pairs of words in order, whatever is between them."""

    name: ClassVar[str] = "rougeS"
    about: ClassVar[str] = "pairs of words in order, with gaps (Lin 2004)"

    skip: str = SKIP

    def problems(self) -> list[Problem]:
        """Return invalid options, `skip` among them."""
        return [*super().problems(), self.skip_problem()]


@dataclass(frozen=True)
class RougeSU(SkipBigrams, Rouge):
    """Skip-bigrams and single words."""

    name: ClassVar[str] = "rougeSU"
    about: ClassVar[str] = "pairs of words in order, with gaps, and single words (Lin 2004)"
    counts_words: ClassVar[bool] = True

    skip: str = SKIP

    def problems(self) -> list[Problem]:
        """Return invalid options, `skip` among them."""
        return [*super().problems(), self.skip_problem()]
