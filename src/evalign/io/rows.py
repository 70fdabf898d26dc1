"""Rows from records (`io/records.py`): which fields of a table hold what, and parallel text files; one row at a time.

A `RowSource` can be read repeatedly unless it is standard input.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import zip_longest
from typing import Any, Protocol

import numpy as np

from evalign.core import Ints, Row
from evalign.core.report import BadRow
from evalign.errors import FileFormatError, InputError, LengthMismatchError, excerpt, nearest
from evalign.io.records import (
    BadRecord,
    Record,
    Records,
    format_of,
    has_format,
    location,
    open_records,
    read_lines,
    read_records,
)
from evalign.io.streams import STDIN, check_readable, count_lines, rereadable, shown

REFERENCE_FIELDS = ("references", "reference")  # read unless others are named


class RowSource(Protocol):
    """An iterable of rows."""

    @property
    def rereadable(self) -> bool:
        """True if the rows can be read a second time."""

    def __iter__(self) -> Iterator[Row]: ...

    def count(self) -> int | None:
        """Return the number of rows, or None if it is expensive to count."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the fields of a table; several reference fields give several references."""

    candidate: str = "candidate"
    references: tuple[str, ...] = ()  # () means `references`, or `reference`
    source: str = "source"
    id: str = "id"
    system: str = "system"
    human: str = "human"
    extra: tuple[str, ...] = ()  # copied to `Row.extra`, such as the language pair

    @property
    def names(self) -> frozenset[str]:
        """All fields that are read."""
        references = self.references or REFERENCE_FIELDS
        return frozenset((self.candidate, *references, self.source, self.id, self.system, self.human, *self.extra))


@dataclass(frozen=True)
class InMemory:
    """Rows in memory as a source."""

    rows: Sequence[Row]
    rereadable: bool = True

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def count(self) -> int | None:
        """Return the number of rows."""
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class TextFiles:
    """Line i of the candidate file against line i of every reference file."""

    candidates: str
    references: tuple[str, ...]
    sources: str | None
    system: str

    def __post_init__(self) -> None:
        for path in self._paths:
            check_readable(path)
        if self._paths.count(STDIN) > 1:
            raise FileFormatError("standard input can be only one of the files")

    @property
    def _paths(self) -> tuple[str, ...]:
        return (self.candidates, *self.references, *([self.sources] if self.sources else []))

    @property
    def rereadable(self) -> bool:
        """True if all files can be read twice."""
        return all(map(rereadable, self._paths))

    def count(self) -> int | None:
        """Return the number of lines of the candidate file."""
        return count_lines(self.candidates)

    def __iter__(self) -> Iterator[Row]:
        columns = [read_lines(path) for path in self._paths]
        number = 0
        for number, lines in enumerate(zip_longest(*columns), 1):
            if None in lines:
                raise self._unequal(number - 1, lines, columns)
            references = lines[1 : 1 + len(self.references)]
            source = lines[-1] if self.sources else None
            yield Row(str(number), lines[0], references, source, self.system, line=number)

    def _unequal(self, common: int, lines: tuple[str | None, ...], columns: list[Iterator[str]]) -> Exception:
        counts = [
            common if line is None else common + 1 + sum(1 for _ in rest)
            for line, rest in zip(lines, columns, strict=True)
        ]
        sizes = ", ".join(f"{shown(path)} has {count} lines" for path, count in zip(self._paths, counts, strict=True))
        return LengthMismatchError(f"the files do not run in parallel: {sizes}")


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table: a file with one row per record."""

    path: str
    columns: Columns
    format: str | None = None  # None: by the file's name; standard input is JSONL

    def __post_init__(self) -> None:
        check_readable(self.path)
        self.file_format()

    @property
    def rereadable(self) -> bool:
        """True if the file can be read twice."""
        return rereadable(self.path)

    def count(self) -> int | None:
        """Return the number of lines, which is near enough for a progress bar."""
        return count_lines(self.path)

    def __iter__(self) -> Iterator[Row]:
        file_format = self.file_format()
        with open_records(self.path, file_format) as records:
            check_fields(self.path, records, self.columns)
            for number, record in enumerate(records, 1):
                row = row_of(record, self.columns, str(number))
                if isinstance(row, BadRow):
                    raise FileFormatError(f"{location(self.path, row.line, file_format)}: {row.error}")
                yield row

    def file_format(self) -> str:
        """Return the format: the option, else by the file's name."""
        return format_of(self.path, self.format)


def read_texts(path: str) -> Iterator[str]:
    """Yield the references of a table, or the lines of any other file; an error names the file and the line."""
    if path == STDIN or not has_format(path):
        yield from read_lines(path)
        return
    file_format, columns = format_of(path), Columns()
    for record in read_records(path, file_format):
        try:
            if isinstance(record, BadRecord):
                raise FileFormatError(record.error)
            if not any(name in record.fields for name in REFERENCE_FIELDS):
                _field(record.fields, REFERENCE_FIELDS[0])
            yield from _references(record.fields, columns)
        except FileFormatError as error:
            raise FileFormatError(f"{location(path, record.line, file_format)}: {error}") from error


def check_fields(path: str, records: Records, columns: Columns) -> None:
    """Raise if the header names a field twice that is read."""
    names = records.field_names
    if repeated := sorted(name for name in columns.names if names.count(name) > 1):
        raise FileFormatError(
            f"{shown(path)}: the header has {names.count(repeated[0])} fields {repeated[0]!r}: rename all but one"
        )


def row_of(record: Record | BadRecord, columns: Columns, name: str) -> Row | BadRow:
    """Return the row of a record, or the reason why it is none; `name` is its id if the record has no id."""
    if isinstance(record, BadRecord):
        return BadRow(record.line, record.error)
    fields = record.fields
    source = fields.get(columns.source)
    try:
        return Row(
            id=name if fields.get(columns.id) is None else str(fields[columns.id]),
            candidate=_text(_field(fields, columns.candidate), columns.candidate),
            references=tuple(_references(fields, columns)),
            source=None if source is None else _text(source, columns.source),
            system="" if fields.get(columns.system) is None else str(fields[columns.system]),
            human=fields.get(columns.human),
            extra={extra: _field(fields, extra) for extra in columns.extra},
            line=record.line,
        )
    except FileFormatError as error:
        return BadRow(record.line, str(error))


def _references(fields: Mapping[str, Any], columns: Columns) -> Iterator[str]:
    names: Iterable[str] = columns.references or [name for name in REFERENCE_FIELDS if name in fields]
    for name in names:
        value = _field(fields, name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (_text(item, name) for item in value)
        else:
            raise FileFormatError(f"{name} must be a text or a list of texts, found {type(value).__name__}")


def _field(fields: Mapping[str, Any], name: str) -> Any:
    if name not in fields:
        raise FileFormatError(f"no field {name!r}; {nearest(name, map(excerpt, fields)):.500}")
    return fields[name]


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise FileFormatError(f"{name} must be a text, found {type(value).__name__}")
    return value


TEXT = "text"  # pairs rows whose references and source are equal; repeated ones in order
ID = "id"
ADVICE = (
    "give rows of the same input the same id and leave out rows that only some systems have, "
    "or name a field that identifies the input with `pair_by`"
)


@dataclass(frozen=True, eq=False)
class Pairing:
    """`positions[system][i]` is the position of that system's i-th row in the common order."""

    by: str
    rows: int
    positions: Mapping[str, Ints]

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in order of appearance."""
        return list(self.positions)


def pair_rows(sources: Iterable[RowSource], by: str | None = None) -> Pairing:
    """Pair rows by a field, by `id` or by `text`; by default by id where all systems have the same ids, else by text.

    Raise InputError if systems do not have the same rows, or two rows of one system are the same.
    """
    systems: dict[str, _System] = {}
    interned: dict[str, str] = {}  # systems share their keys: each is stored once
    for source in sources:
        for row in source:
            systems.setdefault(row.system, _System(row.system)).add(row, by, interned)
    _check_count(systems)
    first, *rest = systems.values()
    if by is None:
        by = _detect_key(first, rest)
    if by == TEXT:
        for system in systems.values():
            system.pair_by_text()
    else:
        first.check_distinct(by)
    for system in rest:
        system.check_distinct(by)
        if reason := first.lacks(system, by) or system.lacks(first, by):
            raise InputError(f"systems can be compared only on the same rows, paired by {by}: {reason}")
    return Pairing(by, len(first.keys), _common_order(list(systems.values())))


@dataclass
class _System:
    """The rows of one system: the keys to pair and order them by."""

    name: str
    keys: list[str] = field(default_factory=list)
    inputs: array[int] = field(default_factory=lambda: array("Q"))  # digests of references and source
    candidates: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, row: Row, by: str | None, interned: dict[str, str]) -> None:
        key = row.id if by is None or by not in row.extra else row.extra[by]
        if key is None:
            raise InputError(f"row {row.id} of {_shown(self.name)} has no value in the field {by!r} to be paired by")
        self.keys.append(interned.setdefault(str(key), str(key)))
        self.inputs.append(_input(row.references, row.source))
        self.candidates.append(_digest(self.name, row.candidate))

    def pair_by_text(self) -> None:
        """Make keys from digests: the n-th row with an input is paired with the n-th such row of each system."""
        seen: Counter[int] = Counter()
        for index, digest in enumerate(self.inputs):
            self.keys[index] = f"{digest}#{seen[digest]}"
            seen[digest] += 1

    def check_distinct(self, by: str) -> None:
        """Raise if two rows have the same key."""
        if len(set(self.keys)) < len(self.keys):
            key, times = Counter(self.keys).most_common(1)[0]
            raise InputError(
                f"{_shown(self.name)} has {times} rows with {by} {key!r}, so it is not clear which one to compare; "
                f"give each row of a system an id of its own, or pair by another field or by text (`pair_by` {TEXT})"
            )

    def lacks(self, right: _System, by: str) -> str:
        """Describe the first row of the right system that this one does not have; empty if it has all."""
        keys = set(self.keys)
        index = next((index for index, key in enumerate(right.keys) if key not in keys), None)
        if index is None:
            return ""
        counts = f"rows: {len(self.keys)} in {_shown(self.name)}, {len(right.keys)} in {_shown(right.name)}"
        what = f"the input of row number {index + 1}" if by == TEXT else f"{by} {right.keys[index]!r}"
        return f"{what} of {_shown(right.name)} is not in {_shown(self.name)} ({counts}); {ADVICE}"


def _check_count(systems: Mapping[str, _System]) -> None:
    if not systems:
        raise InputError("no rows to compare: the input is empty")
    if len(systems) == 1:
        name = next(iter(systems))
        raise InputError(
            f"there is only one system ({_shown(name)}), and nothing to compare it with; give several `candidates`, "
            "or DATA whose field `system` (`system_field`) names them"
        )


def _detect_key(first: _System, rest: list[_System]) -> str:
    """Return `id` if ids have the same input in all systems, else `text`."""
    first.check_distinct(ID)
    same_ids = True
    for system in rest:
        system.check_distinct(ID)
        same_ids = same_ids and set(first.keys) == set(system.keys)
    if same_ids and all(_by_key(first) == _by_key(system) for system in rest):
        return ID
    has_input = any(digest != NO_INPUT for digest in first.inputs)
    if has_input and all(Counter(first.inputs) == Counter(system.inputs) for system in rest):
        return TEXT
    if same_ids:
        raise InputError(
            "rows with the same id have other references or another source in another system, so their scores are not "
            f"comparable; {ADVICE}; or, if that is meant, `pair_by` {ID}"
        )
    reason = next(reason for system in rest if (reason := first.lacks(system, ID) or system.lacks(first, ID)))
    raise InputError(f"neither ids nor references and sources tell which rows belong together: {reason}")


def _by_key(system: _System) -> dict[str, int]:
    return dict(zip(system.keys, system.inputs, strict=True))


def _common_order(systems: list[_System]) -> dict[str, Ints]:
    """Order by input; equal inputs by the sum of all systems' answers, which does not depend on their order."""
    index = {key: position for position, key in enumerate(systems[0].keys)}
    paired = {system.name: np.array([index[key] for key in system.keys]) for system in systems}
    answered = np.zeros(len(index), dtype=np.uint64)
    for system in systems:
        answered[paired[system.name]] += np.array(system.candidates, dtype=np.uint64)  # wraps around, as it may
    order = np.lexsort((answered, np.array(systems[0].inputs, dtype=np.uint64)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return {name: rank[positions] for name, positions in paired.items()}


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
