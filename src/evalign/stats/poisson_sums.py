"""Mergeable bootstrap: sums over many resamples that are bit-equal for every split of the rows.

Each value is rounded once to a multiple of 2^-80 and summed as integers, as in `core/totals.py`. The number of times a
row is drawn in resample k, Poisson(1), follows from the seed, k and the row's id alone, so shards merge in any order.
In: ids and additive values of rows (scores, or the statistics that BLEU is computed from). Out: estimates with
intervals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evalign.core import Floats, Ints
from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling, with_interval
from evalign.stats.estimate import Estimate, parallel

LIMB_BITS, LIMBS, INTEGER_BITS = 24, 5, 40  # values are multiples of 2^-80, below 2^40: five digits of base 2^24
BLOCK_ROWS = 1024  # sums of limbs times counts of at most 8 over these rows stay far below 2^53: exact in any order
Score = Callable[[Floats, float], float]


@dataclass(frozen=True, eq=False)
class PoissonSums:
    """Exact sums of `width` values over rows, on all rows and on every resample.

    `limbs` (1 + samples, 1 + width, LIMBS) holds integers; row 0 is the sum over all rows, column 0 counts rows.
    """

    resampling: Resampling
    limbs: Ints

    @classmethod
    def empty(cls, width: int, resampling: Resampling | None = None) -> PoissonSums:
        """Return sums of no rows."""
        resampling = resampling or Resampling()
        return cls(resampling, np.zeros((1 + resampling.samples, 1 + width, LIMBS), dtype=np.int64))

    def add(self, ids: Sequence[object], values: npt.ArrayLike) -> PoissonSums:
        """Return the sums with rows added: values (n,) or (n, width). Rows of the same id are drawn together."""
        table = np.asarray(values, dtype=np.float64)
        table = table[:, None] if table.ndim == 1 else table
        parallel(ids, "ids", table, "values")
        if table.shape[1:] != (self.limbs.shape[1] - 1,):
            raise InputError(f"each row must have {self.limbs.shape[1] - 1} values, but the shape is {table.shape}")
        if not (np.abs(table) < 2.0**INTEGER_BITS).all():
            raise InputError(
                f"values must be finite and below 2^{INTEGER_BITS} in size, or they cannot be summed exactly"
            )
        keys = row_keys(ids)
        limbs = self.limbs.copy()
        for start in range(0, len(table), BLOCK_ROWS):
            part = table[start : start + BLOCK_ROWS]
            counted = np.concatenate([np.ones((len(part), 1)), part], axis=1)
            limbs += _weighted_limbs(counted, keys[start : start + BLOCK_ROWS], self.resampling)
        return replace(self, limbs=limbs)

    def merge(self, right: PoissonSums) -> PoissonSums:
        """Return the sums over the rows of both."""
        if self.resampling != right.resampling or self.limbs.shape != right.limbs.shape:
            raise InputError("only sums of the same width, seed and number of resamples can be merged")
        return replace(self, limbs=self.limbs + right.limbs)

    def totals(self) -> tuple[Floats, Floats]:
        """Return rows (1 + samples,) and sums (1 + samples, width), each rounded once; first those over all rows."""
        scale = 1 << (LIMBS * LIMB_BITS - INTEGER_BITS)
        exact = [[_joined(digits) / scale for digits in row] for row in self.limbs.tolist()]
        table = np.array(exact)
        return table[:, 0], table[:, 1:]

    def estimates(self) -> list[Estimate]:
        """Return the mean of each value."""
        width = self.limbs.shape[1] - 1
        return [self.estimate(lambda sums, rows, k=k: float(sums[k]) / rows) for k in range(width)]  # type: ignore[misc]

    def estimate(self, score: Score) -> Estimate:
        """Return the score computed from (sums, rows), such as corpus BLEU, and its interval over the resamples."""
        rows, sums = self.totals()
        if not rows[0]:
            raise UndefinedStatisticError("there are no rows, so there is no score")
        draws = [score(row, count) if count else np.nan for row, count in zip(sums[1:], rows[1:], strict=True)]
        estimate = Estimate(float(score(sums[0], rows[0])), int(rows[0]))
        return with_interval(estimate, np.array(draws), self.resampling.confidence)


def pearson_sums(scores: Floats, human: Floats) -> Floats:
    """Return additive sums for Pearson's r (n, 5). Shift scores far from 0 by a constant first."""
    return np.stack([scores, human, scores**2, human**2, scores * human], axis=1)


def pearson_from_sums(sums: Floats, rows: float) -> float:
    """Return Pearson's r of the rows with these `pearson_sums`; NaN if a column is constant."""
    x, y, xx, yy, xy = (float(value) / rows for value in sums)
    variances = max(xx - x * x, 0.0) * max(yy - y * y, 0.0)
    return float(np.clip((xy - x * y) / np.sqrt(variances), -1, 1)) if variances > 1e-26 * xx * yy else float("nan")


def row_keys(ids: Sequence[object]) -> npt.NDArray[np.uint64]:
    """Return 64 bits of each id; ids that are equal as text have equal keys on every machine."""
    digests = b"".join(
        hashlib.blake2b(str(label).encode("utf-8", "surrogatepass"), digest_size=8).digest() for label in ids
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def poisson_counts(keys: npt.NDArray[np.uint64], resampling: Resampling) -> npt.NDArray[np.uint8]:
    """Return each row's count in each resample (samples, rows): Poisson(1) in 16 bits with a mean of exactly 1."""
    # Each hash gives four counts: resamples 4k to 4k + 3 use its four 16-bit parts.
    salt = row_keys([f"{resampling.seed}/{resampling.stream}/{k}" for k in range(-(-resampling.samples // 4))])
    mixed = _mixed(keys[None, :] ^ salt[:, None])
    parts = [mixed >> np.uint64(shift) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
    return _COUNT_OF_PART[np.stack(parts, axis=1)].reshape(-1, len(keys))[: resampling.samples]


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix bits by the finaliser of SplitMix64 (Steele, Lea and Flood 2014).

    Every bit of the result depends on every bit of the input.
    """
    bits = bits * np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def _weighted_limbs(table: Floats, keys: npt.NDArray[np.uint64], resampling: Resampling) -> Ints:
    """Sum the digits of all values over all rows and under each set of weights (1 + samples, columns, LIMBS)."""
    digits = _digits(table)
    rows, columns, limbs = digits.shape
    flat = digits.reshape(rows, columns * limbs)
    used = np.flatnonzero(flat.any(axis=0))  # counts of words need one digit of five
    sums = np.zeros((1 + resampling.samples, columns * limbs))
    sums[0, used] = flat[:, used].sum(axis=0)
    sums[1:, used] = poisson_counts(keys, resampling).astype(np.float64) @ flat[:, used]
    return sums.astype(np.int64).reshape(1 + resampling.samples, columns, limbs)


def _digits(values: Floats) -> Floats:
    """Split each value into five whole numbers below 2^24, with its sign: exact down to 2^-80, the rest is cut off."""
    digits = np.empty((*values.shape, LIMBS))
    rest = np.ldexp(values, -INTEGER_BITS)
    for limb in range(LIMBS):
        rest = np.ldexp(rest, LIMB_BITS)
        digits[..., limb] = np.trunc(rest)
        rest = rest - digits[..., limb]
    return digits


def _joined(digits: list[int]) -> int:
    total = 0
    for digit in digits:
        total = (total << LIMB_BITS) + digit
    return total


def _count_of_part() -> npt.NDArray[np.uint8]:
    """Return 2^16 equally likely counts in the shares of Poisson(1).

    0 and 1 absorb the rounding, so that the mean is 1.
    """
    share, shares = np.exp(-1.0), []
    for count in range(9):
        shares.append(round(share * 2**16))
        share /= count + 1
    surplus = sum(count * n for count, n in enumerate(shares)) - 2**16
    shares[1] -= surplus
    shares[0] += 2**16 - sum(shares)
    return np.repeat(np.arange(9, dtype=np.uint8), shares)


_COUNT_OF_PART = _count_of_part()
