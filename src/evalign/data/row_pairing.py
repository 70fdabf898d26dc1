"""Which rows of several systems answer the same input.

In: row sources, read once. Out: a `Pairing`, the place of every row of every system in one common order. That order
follows from the references and sources, so that resamples, and with them all results, are the same however the rows
or the systems were ordered in the files.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from evalign.data.rows import RowSource
from evalign.errors import InputError
from evalign.types import Ints, Row

TEXT = "text"  # pairs rows whose references and source are equal; repeated ones in order
ID = "id"
ADVICE = (
    "give rows of the same input the same id and leave out rows that only some systems have, "
    "or name a field that tells the input: --pair-by FIELD"
)


@dataclass(frozen=True, eq=False)
class Pairing:
    """`places[system][i]` is where the i-th row of that system stands in the common order."""

    by: str
    rows: int
    places: Mapping[str, Ints]

    @property
    def systems(self) -> list[str]:
        """In order of appearance."""
        return list(self.places)


def pair_rows(sources: Iterable[RowSource], by: str | None = None) -> Pairing:
    """Pairs by a field of the rows, by `id`, by `text`; if not told, by id where all systems have the same, else text.

    Raises InputError if systems do not have the same rows, or two rows of one system are the same.
    """
    systems: dict[str, _System] = {}
    known: dict[str, str] = {}  # systems share their keys: each is held once
    for source in sources:
        for row in source:
            systems.setdefault(row.system, _System(row.system)).add(row, by, known)
    _check_count(systems)
    first, *others = systems.values()
    if by is None:
        by = _found_out(first, others)
    if by == TEXT:
        for system in systems.values():
            system.pair_by_text()
    else:
        first.check_distinct(by)
    for other in others:
        other.check_distinct(by)
        if why := first.lacks(other, by) or other.lacks(first, by):
            raise InputError(f"systems can be compared only on the same rows, paired by {by}: {why}")
    return Pairing(by, len(first.keys), _common_order(list(systems.values())))


@dataclass
class _System:
    """The rows of one system, as what they are paired and ordered by."""

    name: str
    keys: list[str] = field(default_factory=list)
    inputs: array[int] = field(default_factory=lambda: array("Q"))  # digests of references and source
    candidates: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, row: Row, by: str | None, known: dict[str, str]) -> None:
        key = row.id if by is None or by not in row.extra else row.extra[by]
        if key is None:
            raise InputError(f"row {row.id} of {_shown(self.name)} has no value in the field {by!r} to be paired by")
        self.keys.append(known.setdefault(str(key), str(key)))
        self.inputs.append(_input(row.references, row.source))
        self.candidates.append(_digest(self.name, row.candidate))

    def pair_by_text(self) -> None:
        """Keys from digests: the n-th row with an input meets the n-th such row of the others."""
        seen: Counter[int] = Counter()
        for place, digest in enumerate(self.inputs):
            self.keys[place] = f"{digest}#{seen[digest]}"
            seen[digest] += 1

    def check_distinct(self, by: str) -> None:
        """Raises if a key stands for two rows."""
        if len(set(self.keys)) < len(self.keys):
            key, times = Counter(self.keys).most_common(1)[0]
            raise InputError(
                f"{_shown(self.name)} has {times} rows with {by} {key!r}, so it is not clear which one to compare; "
                f"give each row of a system an id of its own, or pair by another field or by text (--pair-by {TEXT})"
            )

    def lacks(self, other: _System, by: str) -> str:
        """A sentence about the first row of the other system that this one has not; empty if there is none."""
        mine = set(self.keys)
        place = next((place for place, key in enumerate(other.keys) if key not in mine), None)
        if place is None:
            return ""
        counts = f"rows: {len(self.keys)} in {_shown(self.name)}, {len(other.keys)} in {_shown(other.name)}"
        what = f"the input of row number {place + 1}" if by == TEXT else f"{by} {other.keys[place]!r}"
        return f"{what} of {_shown(other.name)} is not in {_shown(self.name)} ({counts}); {ADVICE}"


def _check_count(systems: Mapping[str, _System]) -> None:
    if not systems:
        raise InputError("no rows to compare: the input is empty")
    if len(systems) == 1:
        name = next(iter(systems))
        raise InputError(
            f"there is only one system ({_shown(name)}), and nothing to compare it with; give two or more -c files, "
            "or DATA whose field `system` (--system-field) names them"
        )


def _found_out(first: _System, others: list[_System]) -> str:
    """Ids, if they mean the same input everywhere; else the texts."""
    first.check_distinct(ID)
    same_ids = True
    for other in others:
        other.check_distinct(ID)
        same_ids = same_ids and set(first.keys) == set(other.keys)
    if same_ids and all(_by_key(first) == _by_key(other) for other in others):
        return ID
    told = any(digest != NO_INPUT for digest in first.inputs)
    if told and all(Counter(first.inputs) == Counter(other.inputs) for other in others):
        return TEXT
    if same_ids:
        raise InputError(
            "rows with the same id have other references or another source in another system, so their scores are not "
            f"comparable; {ADVICE}; or, if that is meant, --pair-by {ID}"
        )
    why = next(why for other in others if (why := first.lacks(other, ID) or other.lacks(first, ID)))
    raise InputError(f"neither ids nor references and sources tell which rows belong together: {why}")


def _by_key(system: _System) -> dict[str, int]:
    return dict(zip(system.keys, system.inputs, strict=True))


def _common_order(systems: list[_System]) -> dict[str, Ints]:
    """By input; rows of equal inputs by what all systems answered, whose sum does not depend on the systems' order."""
    index = {key: place for place, key in enumerate(systems[0].keys)}
    met = {system.name: np.array([index[key] for key in system.keys]) for system in systems}
    answered = np.zeros(len(index), dtype=np.uint64)
    for system in systems:
        answered[met[system.name]] += np.array(system.candidates, dtype=np.uint64)  # wraps around, as it may
    order = np.lexsort((answered, np.array(systems[0].inputs, dtype=np.uint64)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return {name: rank[places] for name, places in met.items()}


def _input(references: Iterable[str], source: str | None) -> int:
    return _digest(*references, "", source or "")


def _digest(*texts: str) -> int:
    state = blake2b(digest_size=8)
    for text in texts:
        part = text.encode("utf-8", "surrogatepass")
        state.update(len(part).to_bytes(8, "little") + part)
    return int.from_bytes(state.digest(), "little")


def _shown(system: str) -> str:
    return repr(system) if system else "the system without a name"


NO_INPUT = _input((), None)
