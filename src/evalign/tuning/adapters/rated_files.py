"""Rated pairs from several files, each with its own scale and weight: paths in, `RatedPairs` out.

Ratings are standardised per file (mean 0, deviation 1, held within 3), so that z-scores, MQM and similarities from 0 to
5 can be mixed. A file with the fields `better` and `worse` instead of a candidate and a rating gives ordered pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from evalign.data.opusparcus import training_rows
from evalign.data.rows import READERS, Columns, TableFile
from evalign.data.text_lines import read_lines, rereadable, shown
from evalign.errors import InputError, SpecError
from evalign.tuning.rated_pairs import RatedPair, RatedPairs, digest, rating_of
from evalign.types import Row

FARTHEST = 3.0  # deviations: single ratings of one person are noisy, and MQM has a long tail
ORDERED = ("better", "worse")


def read_files(
    paths: Sequence[str], weights: Sequence[float], columns: Columns, input_format: str | None, aspect: str | None
) -> RatedPairs:
    """The pairs of all files; without weights each counts 1."""
    weights = list(weights) or [1.0] * len(paths)
    if len(weights) != len(paths) or not all(0 < weight < np.inf for weight in weights):
        raise SpecError(f"--weights: expected {len(paths)} positive numbers, one per file, got {len(weights)}")
    pairs: list[RatedPair] = []
    told, left_out = [], Counter[str]()
    for number, (path, weight) in enumerate(zip(paths, weights, strict=True)):
        read = _ordered if _is_ordered(path, columns, input_format) else _rated
        own, scale = read(path, columns, input_format, aspect, left_out)
        pairs += [replace(pair, weight=weight, file=number) for pair in own]
        told.append(f"{shown(path)}: {len(own)} pairs, {scale}, weight {weight:g}, sha256 {digest(own)[:8]}")
    if len(pairs) < 2:
        raise InputError(f"training needs at least two rated pairs of texts, found {len(pairs)}")
    return RatedPairs(tuple(pairs), "; ".join(told), dict(+left_out))


def read_anchors(path: str | None) -> list[str]:
    """The texts of a file, one per line; empty lines are left out."""
    texts = [line for line in read_lines(path) if line.strip()] if path else []
    if path and not texts:
        raise InputError(f"{shown(path)}: there is no text to anchor, expected one per line")
    return texts


def _is_ordered(path: str, columns: Columns, input_format: str | None) -> bool:
    """Whether the first record has the fields of an ordered pair."""
    table = TableFile(path, columns, input_format)
    if not rereadable(path):
        return False
    _, record = next(READERS[table.kind()](path, columns), ("", {}))
    return set(ORDERED) <= set(record)


def _ordered(
    path: str, columns: Columns, input_format: str | None, _: str | None, left_out: Counter[str]
) -> tuple[list[RatedPair], str]:
    better, worse = ORDERED
    pairs = []
    for row in TableFile(path, replace(columns, candidate=better, extra=(worse,)), input_format):
        references, other = _compared(row, left_out), str(row.extra[worse])
        if not other.strip():
            left_out["empty text"] += 1
        elif references and other != row.candidate:
            pairs.append(RatedPair(row.candidate, references[0], 1.0, row.id, references[1:], other))
    return pairs, "better and worse"


def _rated(
    path: str, columns: Columns, input_format: str | None, aspect: str | None, left_out: Counter[str]
) -> tuple[list[RatedPair], str]:
    rated = [(row, rating, references) for row, rating in _ratings(training_rows(path, columns, input_format), aspect,
                                                                  left_out)
             if (references := _compared(row, left_out))]  # fmt: skip
    values = np.array([rating for _, rating, _ in rated])
    if not len(values):
        raise InputError(
            f"{shown(path)}: there are no ratings; the human field must hold numbers (--human-field, --aspect), or the "
            "file the fields better and worse"
        )
    mean, deviation = float(values.mean()), float(values.std())
    if not deviation > 1e-9 * max(1.0, abs(mean)):
        raise InputError(f"{shown(path)}: all ratings are {mean:g}: nothing can be learned from constant ratings")
    standard = np.clip((values - mean) / deviation, -FARTHEST, FARTHEST).tolist()
    pairs = [
        RatedPair(row.candidate, references[0], score, row.id, references[1:])
        for (row, _, references), score in zip(rated, standard, strict=True)
    ]
    return pairs, f"mean {mean:.6g}, deviation {deviation:.6g}"


def _ratings(rows: Iterable[Row], aspect: str | None, left_out: Counter[str]) -> Iterable[tuple[Row, float]]:
    """Rows that were rated; an aspect chooses among named ratings, in the files that have them."""
    for row in rows:
        rating = rating_of(row, aspect if isinstance(row.human, Mapping) else None)
        if rating is None:
            left_out["no human score"] += 1
        else:
            yield row, rating


def _compared(row: Row, left_out: Counter[str]) -> tuple[str, ...]:
    """The references that can be compared with the candidate."""
    if not row.references:
        raise InputError(f"row {row.id} has no reference: training compares the candidate with it")
    references = tuple(text for text in row.references if row.candidate.strip() and text.strip())
    left_out["empty text"] += not references
    return references
