"""N-grams of a simplification, its source and its references, and what SARI counts in them.

In: words. Out: for each operation and order, the n-grams that were done right, done, and wanted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

ORDERS = (1, 2, 3, 4)


def sari_counts(
    source: Sequence[str], candidate: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[float, ...]:
    """Right, done and wanted of every order for adding, then keeping, then deleting: 36 numbers.

    With r references all counts of source and candidate are taken r times, to be compared with the references' sums;
    adding looks at distinct n-grams only.
    """
    add, keep, delete = [], [], []
    for order in ORDERS:
        own, origin = ngram_counts(candidate, order), ngram_counts(source, order)
        wanted = sum((ngram_counts(text, order) for text in references), Counter[Any]())
        added = set(own) - set(origin)
        add += [len(added & set(wanted)), len(added), len(set(wanted) - set(origin))]
        own, origin = repeated(own, len(references)), repeated(origin, len(references))
        in_both = own & origin
        keep += [(in_both & wanted).total(), in_both.total(), (origin & wanted).total()]
        deleted, superfluous = origin - own, origin - wanted
        delete += [(deleted & superfluous).total(), deleted.total(), superfluous.total()]
    return tuple(map(float, (*add, *keep, *delete)))


def ngram_counts(words: Sequence[str], order: int) -> Counter[Any]:
    """How often each n-gram occurs."""
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def repeated(counts: Counter[Any], factor: int) -> Counter[Any]:
    """Every count so many times."""
    return Counter({ngram: count * factor for ngram, count in counts.items()})


def harmonic(precision: float, recall: float) -> float:
    """F1; 0 of nothing."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
