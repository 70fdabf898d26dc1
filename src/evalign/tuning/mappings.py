"""From a rating to the similarity that a pair of texts should get: a straight line, or a table.

In: the text of `--mapping`: `opusparcus`, `linear(1,5)`, `linear`, `1=0.1,2=0.4,3=0.9`, or a file with such a table.
Out: a `RatingMapping`, a function that raises for ratings outside it and prints as it is written.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evalign.errors import FileFormatError, InputError, SpecError

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
LINEAR = re.compile(rf"linear\(\s*({NUMBER})\s*,\s*({NUMBER})\s*\)")
ENTRY = re.compile(rf"({NUMBER})\s*=\s*({NUMBER})")
FORMS = "opusparcus, linear, linear(low,high), a table as in 1=0.1,2=0.4,3=0.9, or a file with such a table"


@dataclass(frozen=True, slots=True)
class Linear:
    """`low` is similarity 0, `high` is 1; low may be the larger number where low ratings are good."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low == self.high or not math.isfinite(self.high - self.low):
            raise SpecError(f"{self}: low and high must be two different numbers")

    def __call__(self, rating: float) -> float:
        """(rating - low) / (high - low)."""
        if not min(self.low, self.high) <= rating <= max(self.low, self.high):
            raise InputError(f"rating {rating:g} lies outside {self}")
        return (rating - self.low) / (self.high - self.low)

    def __str__(self) -> str:
        return f"linear({self.low:g},{self.high:g})"


@dataclass(frozen=True, slots=True)
class Table:
    """The ratings there are, and what each is worth."""

    entries: tuple[tuple[float, float], ...]
    name: str = ""

    def __post_init__(self) -> None:
        ratings = [rating for rating, _ in self.entries]
        if len(ratings) < 2 or len(set(ratings)) < len(ratings):
            raise SpecError(f"mapping {self}: a table needs at least two ratings, each named once")
        if any(not -1 <= similarity <= 1 for _, similarity in self.entries):
            raise SpecError(f"mapping {self}: similarities must lie between -1 and 1, as cosines do")

    def __call__(self, rating: float) -> float:
        """What the table says; nothing is interpolated."""
        for known, similarity in self.entries:
            if rating == known:
                return similarity
        known_ratings = ", ".join(f"{known:g}" for known, _ in self.entries)
        raise InputError(f"rating {rating:g} is not in the mapping, which has {known_ratings}")

    def __str__(self) -> str:
        return self.name or ",".join(f"{rating:g}={similarity:g}" for rating, similarity in self.entries)


# Paraphrase ratings of Opusparcus, as the German summaries study maps them.
OPUSPARCUS = Table(((1, 0.05), (1.5, 0.1), (2, 0.2), (2.5, 0.3), (3, 0.5), (3.5, 0.7), (4, 0.85)), "opusparcus")
RatingMapping = Linear | Table


def parse_mapping(text: str, ratings: Iterable[float]) -> RatingMapping:
    """The mapping that `text` describes; `linear` alone runs from the lowest to the highest of the `ratings`."""
    text = text.strip()
    if text == OPUSPARCUS.name:
        return OPUSPARCUS
    if text == "linear":
        values = list(ratings)
        if not values:
            raise InputError("mapping linear: there are no ratings to take its ends from")
        if min(values) == max(values):
            raise InputError(f"all ratings are {values[0]:g}: nothing can be learned from constant ratings")
        return Linear(min(values), max(values))
    if line := LINEAR.fullmatch(text):
        return Linear(float(line[1]), float(line[2]))
    if "=" not in text and os.path.isfile(text):  # Path.is_file fails on what is too long for a name
        try:
            entries = Path(text).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{text}: cannot be read as a table of ratings ({error})") from error
    else:
        entries = text
    parts = [part.strip() for part in re.split(r"[,\n]", entries) if part.strip()]
    matched = [ENTRY.fullmatch(part) for part in parts]
    if not parts or None in matched:
        raise SpecError(f"mapping {text[:60]!r}: expected {FORMS}")
    return Table(tuple((float(entry[1]), float(entry[2])) for entry in matched if entry))
