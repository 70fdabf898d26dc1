"""The corpus scores of ROUGE-1.5.5: its "average" is the mean of 1,000 bootstrap means, from drand48 seeded 0 to 999.

Scores of all rows come in; averages and confidence intervals come out, equal to the script's in every digit. That needs
its order of additions, which is kept: rows in the script's sorted order, each resample summed from first to last. All
resamples run side by side in numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from evalign.metrics.corpus import Corpus
from evalign.metrics.lexical.rouge.formula import f_measure, rounded
from evalign.types import Floats, Ints, Segment

FIELDS = ("recall", "precision", "f1")  # in the script's order
STEP, SHIFT, BITS = 0x5DEECE66D, 0xB, (1 << 48) - 1
BLOCK = 256  # random numbers per resample held at once


class Bootstrap(Corpus):
    """The script's options -c and -r, and -t 1 (`tokens`): the counts of all rows are summed, then divided."""

    def __init__(self, alpha: float = 0.5, confidence: float = 95, resamples: int = 1000, tokens: bool = False) -> None:
        self._alpha, self._confidence, self._resamples, self._tokens = alpha, confidence, resamples, tokens
        self._rows: list[tuple[str, tuple[float, ...]]] = []

    def add(self, segment: Segment) -> None:
        """Takes in one scored row."""
        values = segment.statistics if self._tokens else tuple(segment.scores[name] for name in FIELDS)
        self._rows.append((segment.id, values))
        self.__dict__.pop("_samples", None)

    def scores(self) -> dict[str, float]:
        """The script's Average_R, _P and _F."""
        sums = {name: float(np.add.accumulate(means)[-1]) for name, means in self._samples.items()}
        return {name: rounded(total / self._resamples) for name, total in sums.items()}

    def intervals(self) -> dict[str, tuple[float, float]]:
        """The interval that the script prints behind each average."""
        tail = self._resamples * ((100 - self._confidence) / 2.0) / 100.0
        upper, lower = int(self._resamples - tail - 1), int(tail)
        share = self._resamples - tail - 1 - upper
        return {
            name: (rounded(_between(means, lower, share)), rounded(_between(means, upper, share)))
            for name, means in self._samples.items()
        }

    @cached_property
    def _samples(self) -> dict[str, Floats]:
        """Field -> the means of the resamples, in ascending order; no field without rows."""
        if not self._rows:
            return {}
        # The script sorts "id.system" as bytes; equal ids are ordered by score, so that shards may come in any order.
        ordered = sorted(self._rows, key=lambda row: (f"{row[0]}.".encode("utf-8", "surrogatepass"), row[1]))
        sums = resampled_sums(np.array([values for _, values in ordered]).T, self._resamples)
        means = np.sort(self._ratios(sums) if self._tokens else sums / len(ordered), axis=1)
        return dict(zip(FIELDS, means, strict=True))

    def _ratios(self, sums: Floats) -> Floats:
        model, peer, hit = sums
        recall = np.divide(hit, model, out=np.zeros_like(hit), where=model > 0)
        precision = np.divide(hit, peer, out=np.zeros_like(hit), where=peer > 0)
        return np.array([recall, precision, f_measure(precision, recall, self._alpha)])


def resampled_sums(values: Floats, resamples: int) -> Floats:
    """(field, resample): sums of as many rows as there are, drawn with Perl's rand after srand(0), srand(1), ..."""
    fields, rows = values.shape
    sums = np.zeros((fields, resamples))
    state = (np.arange(resamples, dtype=np.uint64) << np.uint64(16)) + np.uint64(0x330E)
    for first in range(0, rows, BLOCK):
        count = min(BLOCK, rows - first)
        drawn, state = _draw(state, count, rows)
        # Reduction over the first axis adds one draw after the other, as the script does.
        sums = np.add.reduce(np.concatenate([sums[None], values[:, drawn].transpose(1, 0, 2)]), axis=0)
    return sums


def _draw(state: Ints, count: int, rows: int) -> tuple[Ints, Ints]:
    """(draw, resample): row numbers, and the state after them."""
    jumps, shifts = [1], [0]
    for _ in range(count):
        jumps.append(jumps[-1] * STEP & BITS)
        shifts.append((shifts[-1] * STEP + SHIFT) & BITS)
    with np.errstate(over="ignore"):  # modulo 2^64, of which 48 bits are kept
        states = np.array(jumps[1:], dtype=np.uint64)[:, None] * state + np.array(shifts[1:], dtype=np.uint64)[:, None]
    states &= np.uint64(BITS)
    return (np.ldexp(states.astype(np.float64), -48) * rows).astype(np.int64), states[-1]


def _between(values: Sequence[float] | Floats, place: int, share: float) -> float:
    return float(values[place] + (values[min(place + 1, len(values) - 1)] - values[place]) * share)
