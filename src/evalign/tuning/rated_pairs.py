"""Rated pairs: rows with a human score and a mapping of ratings in, `RatedPairs` in the same order out; their split.

Pairs that share a text stay on one side of the split into train and dev, or the dev score would be too high.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from evalign.data.rows import RowSource
from evalign.errors import FileFormatError, InputError, UndefinedStatisticError
from evalign.stats.estimate import FEWEST_ROWS
from evalign.tuning.mappings import parse_mapping
from evalign.types import Floats, Ints, Row

DEFAULT_MAPPING = "linear"
SPLIT_STREAM = 1  # of the seed; batches are drawn from another


@dataclass(frozen=True, slots=True)
class RatedPair:
    """Two texts and how similar they should be; only adapters learn from what follows the row."""

    first: str
    second: str
    similarity: float
    row: str  # the id of the row it came from
    others: tuple[str, ...] = ()  # further references; the best counts
    worse: str = ""  # a text that people found worse than the first, instead of a rating
    weight: float = 1.0
    file: int = 0  # the number of its file; each has its own zero

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of the pair."""
        return (self.first, self.second, *self.others, *((self.worse,) if self.worse else ()))

    @property
    def references(self) -> tuple[str, ...]:
        """The texts that the first is compared with."""
        return (self.second, *self.others)


@dataclass(frozen=True)
class RatedPairs:
    """The pairs, how ratings became similarities, and which rows were left out."""

    pairs: Sequence[RatedPair]
    mapping: str
    left_out: Mapping[str, int]


def read_pairs(source: RowSource, mapping: str = DEFAULT_MAPPING, aspect: str | None = None) -> RatedPairs:
    """One pair per reference of every rated row; a rating outside the mapping is an error that names its row."""
    left_out: Counter[str] = Counter()
    rated: list[tuple[Row, float]] = []
    names: dict[Any, None] = {}
    for row in source:
        rating = rating_of(row, aspect)
        if rating is None:
            left_out["no human score"] += 1
        elif not row.references:
            raise InputError(f"row {row.id} has no reference: training compares the candidate with it")
        else:
            rated.append((row, rating))
            left_out["empty text"] += len(row.references) - len(_compared(row))
        names |= dict.fromkeys(row.human) if isinstance(row.human, Mapping) else {}
    if not rated:
        rather = f" named {aspect}, only {', '.join(map(str, names))}" if aspect and names else ""
        raise InputError(f"there are no ratings{rather}: the human field must hold numbers (--human-field, --aspect)")
    if (count := sum(len(_compared(row)) for row, _ in rated)) < 2:
        raise InputError(f"training needs at least two rated pairs of texts, found {count}")
    similarity_of = parse_mapping(mapping, (rating for _, rating in rated))
    pairs = []
    for row, rating in rated:
        try:
            similarity = similarity_of(rating)
        except InputError as error:
            raise InputError(f"row {row.id}: {error}") from None
        pairs += [RatedPair(row.candidate, reference, similarity, row.id) for reference in _compared(row)]
    if len({pair.similarity for pair in pairs}) == 1:
        raise InputError("all ratings are worth the same similarity: nothing can be learned from constant ratings")
    return RatedPairs(tuple(pairs), str(similarity_of), dict(+left_out))


def split(pairs: Sequence[RatedPair], share: float, seed: int) -> tuple[list[RatedPair], list[RatedPair]]:
    """Train and dev; dev is drawn by the seed, group by group, until it has its share of the pairs."""
    if share == 0:
        return list(pairs), []
    groups = text_groups(pairs)
    wanted = max(FEWEST_ROWS, round(share * len(pairs)))
    sizes = np.bincount(groups)
    chosen, size = set(), 0
    for group in np.random.default_rng([seed, SPLIT_STREAM]).permutation(len(sizes)):
        if size + sizes[group] <= wanted:
            chosen.add(group)
            size += sizes[group]
    dev = [pair for pair, group in zip(pairs, groups, strict=True) if group in chosen]
    train = [pair for pair, group in zip(pairs, groups, strict=True) if group not in chosen]
    if len(dev) < FEWEST_ROWS or len(train) < 2:
        raise InputError(
            f"{len(pairs)} rated pairs cannot be split: {len(train)} to train on, {len(dev)} for dev, which needs "
            f"{FEWEST_ROWS} that share no text with the others; give more pairs, or --dev 0 to train without"
        )
    if any(len({pair.similarity for pair in side}) == 1 and not side[0].worse for side in (dev, train)):
        raise UndefinedStatisticError("all ratings on one side of the split are equal: try another --seed or --dev")
    return train, dev


def text_groups(pairs: Sequence[RatedPair]) -> Ints:
    """A number per pair; pairs that share a text, or are joined by pairs that do, have the same one."""
    place: dict[str, int] = {}
    for pair in pairs:
        for text in pair.texts:
            place.setdefault(text, len(place))
    joined = np.array([(place[pair.first], place[text]) for pair in pairs for text in pair.texts[1:]])
    graph = sparse.coo_matrix((np.ones(len(joined)), joined.T), shape=(len(place), len(place)))
    _, groups = sparse.csgraph.connected_components(graph, directed=False)
    return np.asarray(groups[[place[pair.first] for pair in pairs]], dtype=np.int64)


def targets(pairs: Sequence[RatedPair]) -> Floats:
    """The similarities as a column."""
    return np.array([pair.similarity for pair in pairs], dtype=np.float64)


def rating_of(row: Row, aspect: str | None) -> float | None:
    """The row's human score as a number; None if it has none, or not of this `aspect`, or NaN."""
    value = row.human
    named = isinstance(value, Mapping)
    if isinstance(value, Mapping):
        if value and aspect is None:
            raise InputError(
                f"row {row.id} has ratings named {', '.join(map(str, value))}: choose one of them with --aspect"
            )
        value = value.get(aspect)
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise FileFormatError(f"row {row.id}: the human score is {str(value)[:40]!r}, expected a number") from None
    if np.isnan(number):  # how tables write a missing number
        return None
    if aspect is not None and not named:
        raise InputError(f"--aspect {aspect}: row {row.id} has one rating without a name")
    if np.isinf(number):
        raise FileFormatError(f"row {row.id}: the human score is {number}, expected a finite number")
    return number


def digest(pairs: Sequence[RatedPair]) -> str:
    """sha256 of everything that training sees."""
    plain = RatedPair("", "", 0.0, "")
    contents = [
        [pair.first, pair.second, pair.similarity]
        + [
            value
            for name in ("others", "worse", "weight", "file")
            if (value := getattr(pair, name)) != getattr(plain, name)
        ]
        for pair in pairs
    ]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


def _compared(row: Row) -> list[str]:
    """The references that can be compared with the candidate."""
    return [reference for reference in row.references if row.candidate.strip() and reference.strip()]
