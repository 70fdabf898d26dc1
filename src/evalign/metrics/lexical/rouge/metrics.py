"""ROUGE (Lin 2004): rouge1 to rouge9, rougeL, rougeLsum, rougeMEAD, rougeW; rougeS and rougeSU: `skip_bigrams.py`.

`mode=paper` computes the paper's formulas on the words of any language; `mode=rouge155` is the program ROUGE-1.5.5,
its counting, rounding and bootstrap. Each class says what it counts; reading, several references and F are shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from evalign.metrics.lexical.rouge import lcs
from evalign.metrics.lexical.rouge.formula import (
    Counts,
    RunWeight,
    option_value,
    rounded_counts,
    run_weight,
    share,
    shares,
    weight_problems,
    worth,
)
from evalign.metrics.lexical.rouge.ngrams import common_grams, distinct_grams
from evalign.metrics.lexical.rouge.options import Problem
from evalign.metrics.lexical.rouge.reading import Reading
from evalign.metrics.lexical.rouge.scoring import Rouge
from evalign.metrics.options import option
from evalign.types import Floats

SENTENCES = option(
    "default",
    "auto: lines where there are several, else split by rule; the default is auto, but lines with tokens=ascii and in "
    "mode=rouge155",
    ("default", "auto", "lines", "split"),
)
LONGEST_NGRAM = 9


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
        """`n`, which ends the name."""
        return {"n": name.removeprefix("rouge")}

    def problems(self) -> list[Problem]:
        """There are names for 1 to 9, and the script counts every n-gram as often as it occurs."""
        return [
            (not 1 <= self.n <= LONGEST_NGRAM, f"n={self.n}: expected 1 to {LONGEST_NGRAM}"),
            (self.exclusive and self.mode == "rouge155",
             "exclusive=true with mode=rouge155, which counts every n-gram as often as it occurs; leave one out"),
            *super().problems(),
        ]  # fmt: skip

    @property
    def shortest(self) -> int:
        """The words of one n-gram."""
        return self.n

    def units(self, reading: Reading) -> int:
        """N-grams."""
        if self.exclusive:
            return len(distinct_grams(reading.letters, self.n))
        return max(0, len(reading.letters) - self.n + 1)

    def pairs(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> tuple[Floats, Floats]:
        """Counted together: that is several times as fast as pair by pair."""
        if self.exclusive:
            return super().pairs(candidates, references)
        texts = _letters(candidates), _letters(references)
        return shares(common_grams(*texts, self.n), *texts, self.n - 1)

    def many_counts(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> list[Counts]:
        """The same for the script."""
        texts = _letters(candidates), _letters(references)
        peers, models = ([max(0, len(letters) - self.n + 1) for letters in side] for side in texts)
        return list(map(rounded_counts, models, peers, common_grams(*texts, self.n).tolist()))

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """N-grams of both sides."""
        if self.exclusive:
            peer, model = (distinct_grams(text.letters, self.n) for text in (candidate, reference))
            hit = len(peer & model)
            return Counts(len(model), len(peer), hit, hit / len(model) if model else 0.0)
        return self.many_counts([candidate], [reference])[0]


Rouge1, Rouge2, Rouge3, Rouge4, Rouge5, Rouge6, Rouge7, Rouge8, Rouge9 = (
    partial(RougeN, n=n) for n in range(1, LONGEST_NGRAM + 1)
)


class UnionLCS(Rouge):
    """The words of reference sentences on an LCS with any candidate sentence, each used once."""

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """Words of both sides; those of the sentences where these were cut differently."""
        model, hit = sum(map(len, reference.sentences)), sum(map(len, self.counted(candidate, reference)))
        return Counts(model, len(candidate.letters), hit, hit / model if model else 0.0)

    def counted(self, candidate: Reading, reference: Reading) -> list[list[int]]:
        """Per reference sentence the places that count."""
        return counted_places(candidate, reference, lcs.lcs_places(reference.sentences, candidate.sentences))


class RougeL(UnionLCS):
    """The longest common subsequence of both texts; in mode rouge155, of their sentences."""

    name: ClassVar[str] = "rougeL"
    about: ClassVar[str] = "longest common subsequence of words (Lin 2004)"

    def pairs(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> tuple[Floats, Floats]:
        """Each text is one sequence."""
        texts = _letters(candidates), _letters(references)
        return shares(lcs.lcs_lengths(*texts), *texts)


@dataclass(frozen=True)
class RougeLsum(UnionLCS):
    """Union LCS over sentences."""

    name: ClassVar[str] = "rougeLsum"
    about: ClassVar[str] = "union of the LCS of each reference sentence with all candidate sentences (Lin 2004)"

    by_sentence: ClassVar[bool] = True

    sentences: str = SENTENCES

    def problems(self) -> list[Problem]:
        """The script takes lines as sentences."""
        wrong = self.mode == "rouge155" and self.sentences not in ("default", "lines")
        advice = f"sentences={self.sentences} with mode=rouge155, where lines are sentences"
        return [*super().problems(), (wrong, advice)]


@dataclass(frozen=True)
class RougeMEAD(Rouge):
    """R = sum_i max_j LCS(r_i, c_j) / m, P = sum_j max_i LCS(r_i, c_j) / n."""

    name: ClassVar[str] = "rougeMEAD"
    about: ClassVar[str] = "best pairwise LCS of each sentence, as in the MEAD summariser"

    by_sentence: ClassVar[bool] = True

    sentences: str = SENTENCES

    def problems(self) -> list[Problem]:
        """The script has no such metric."""
        wrong = self.mode == "rouge155"
        return [*super().problems(), (wrong, "ROUGE-1.5.5 has no MEAD; rougeL(mode=rouge155) is nearest")]

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
    """A run of k matches on the common subsequence is worth f(k) = k^weight or ak - b; R = f^-1(WLCS) / m."""

    name: ClassVar[str] = "rougeW"
    about: ClassVar[str] = "common subsequence weighted by the length of its runs (Lin 2004)"

    weight: float | str = option(
        1.2, "a run of k words is worth k to this power, and 1 is rougeL; or ak-b, such as 2k-1", parse=option_value
    )

    @property
    def run_weight(self) -> RunWeight:
        """What a run is worth."""
        return run_weight(self.weight)

    def problems(self) -> list[Problem]:
        """The script knows powers only, and weighted runs are no counts that could be pooled."""
        script = self.mode == "rouge155"
        pooled = not script and self.multiref == "average"
        return [
            *super().problems(),
            *weight_problems(self.run_weight),
            (script and isinstance(self.weight, str), f"weight={self.weight} with mode=rouge155, which has k^weight"),
            (pooled, "multiref=average pools counts, and weighted runs are none; write mean, best or max-recall"),
        ]

    def pair(self, candidate: Reading, reference: Reading) -> tuple[float, float]:
        """Each text is one sequence."""
        value = lcs.weighted_length(candidate.letters, reference.letters, self.run_weight)
        lengths = len(candidate.letters), len(reference.letters)
        precision, recall = (min(1.0, share(self.run_weight, value, length)) for length in lengths)
        return precision, recall

    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """The script weights the sentences of the reference, and their sum once more."""
        base = sum(worth(self.run_weight, len(sentence)) for sentence in reference.sentences)
        hit = sum(map(self.run_value, reference.sentences, *self.runs(candidate, reference)))
        score = self.ratio(hit, base) if base else 0.0  # the script divides by zero here
        return Counts(base ** float(self.weight), worth(self.run_weight, len(candidate.letters)), hit, score)

    def runs(self, candidate: Reading, reference: Reading) -> tuple[list[list[int]], list[list[int]]]:
        """Per reference sentence the places on a path, and those of them that count."""
        marked = lcs.weighted_places(reference.sentences, candidate.sentences, self.run_weight)
        return marked, counted_places(candidate, reference, marked)

    def run_value(self, sentence: str, marked: Sequence[int], counted: Sequence[int]) -> float:
        """A run ends where the next place is unmarked. One whose last word does not count runs on, as in the script."""
        value, run, places = 0.0, 0, set(marked)
        for place in counted:
            run += 1
            if place + 1 == len(sentence) or place + 1 not in places:
                value += worth(self.run_weight, run)
                run = 0
        return value

    def ratio(self, hit: float, total: float) -> float:
        """f^-1 of the share."""
        return float((hit / total) ** (1 / float(self.weight)))


def counted_places(candidate: Reading, reference: Reading, marked: Sequence[Sequence[int]]) -> list[list[int]]:
    """The marked places per reference sentence that count: each uses up one occurrence of its word in both texts."""
    left = Counter(reference.letters) & Counter(candidate.letters)
    counted: list[list[int]] = []
    for sentence, places in zip(reference.sentences, marked, strict=True):
        counted.append([])
        for place in places:
            if left[sentence[place]] > 0:
                left[sentence[place]] -= 1
                counted[-1].append(place)
    return counted


def _letters(readings: Sequence[Reading]) -> list[str]:
    return [reading.letters for reading in readings]
