"""SARI of one sentence as in the authors' script with the corrections of tensor2tensor, which `evaluate` computes.

In: words of source, candidate and references. Out: scores between 0 and 1 of adding, keeping and deleting, order by
order. Against `counts.py`: ratios are averaged over distinct n-grams (but for the recall of keeping, a ratio of
sums), deleting is scored by precision, and 0 / 0 is 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from evalign.metrics.lexical.sari.counts import ORDERS, harmonic, ngram_counts, repeated


def script_scores(
    source: Sequence[str], candidate: Sequence[str], references: Sequence[Sequence[str]]
) -> list[tuple[float, float, float]]:
    """Add, keep and delete of each order."""
    return [_order_scores(source, candidate, references, order) for order in ORDERS]


def _order_scores(
    source: Sequence[str], candidate: Sequence[str], references: Sequence[Sequence[str]], order: int
) -> tuple[float, float, float]:
    times = len(references)
    wanted = sum((ngram_counts(words, order) for words in references), Counter[Any]())
    origin, own = (repeated(ngram_counts(words, order), times) for words in (source, candidate))
    in_both, to_keep = origin & own, origin & wanted
    kept = in_both & wanted
    keep = harmonic(_mean_share(kept, in_both), kept.total() / to_keep.total() if to_keep else 1.0)
    deleted = origin - own
    delete = _mean_share(deleted - wanted, deleted)
    added, to_add = set(own) - set(origin), set(wanted) - set(origin)
    right = len(added & to_add)
    add = harmonic(right / len(added) if added else 1.0, right / len(to_add) if to_add else 1.0)
    return add, keep, delete


def _mean_share(right: Counter[Any], done: Counter[Any]) -> float:
    """The mean over distinct n-grams of how much of each was right."""
    return sum(right[ngram] / count for ngram, count in done.items()) / len(done) if done else 1.0
