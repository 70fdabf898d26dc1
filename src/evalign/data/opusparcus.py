"""Rated pairs to train on from a table: with a header, or as Opusparcus has them, four columns without one.

    id, text, text, rating

Opusparcus's tab-separated files quote nothing, so a quotation mark in them is a part of the text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evalign.data.rows import DELIMITERS, REFERENCE_FIELDS, Columns, TableFile
from evalign.data.text_lines import STDIN, read_lines, shown
from evalign.errors import FileFormatError
from evalign.types import Row

FIELDS = ("id", "text", "text", "rating")


@dataclass(frozen=True)
class HeaderlessPairs:
    """A file of four columns without a header."""

    path: str
    delimiter: str

    def __iter__(self) -> Iterator[Row]:
        for number, values in enumerate(_records(self.path, self.delimiter), 1):
            if len(values) != len(FIELDS) or not _is_number(values[-1]):
                raise FileFormatError(
                    f"{shown(self.path)}, record {number}: expected {', '.join(FIELDS)} as in the first, found "
                    f"{len(values)} fields" + (f", the last {values[-1][:40]!r}" if values else "")
                )
            name, first, second, rating = values
            yield Row(name or str(number), first, (second,), human=float(rating))


def training_rows(path: str, columns: Columns, input_format: str | None = None) -> Iterable[Row]:
    """The rows of a table to train on; four columns of which the last is a number need no header."""
    table = TableFile(path, columns, input_format)
    kind = table.kind()
    if path == STDIN or kind not in DELIMITERS:
        return table
    first = next(_records(path, DELIMITERS[kind]), [])
    if len(first) == len(FIELDS) and _is_number(first[-1]):
        return HeaderlessPairs(path, DELIMITERS[kind])
    wanted = columns.references or REFERENCE_FIELDS
    header = {field.strip('"') for field in first}
    if first and (columns.candidate not in header or not set(wanted) & header):
        raise FileFormatError(
            f"{shown(path)}: expected a header with {columns.candidate}, {wanted[-1]} and {columns.human}, or four "
            f"columns without a header ({', '.join(FIELDS)}); its first line has {len(first)} fields"
        )
    return table


def _records(path: str, delimiter: str) -> Iterator[list[str]]:
    """The fields of every line that is not empty."""
    csv.field_size_limit(2**31 - 1)
    lines = (f"{line}\n" for line in read_lines(path))
    plain = delimiter == "\t"
    reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL)
    try:
        yield from filter(None, reader)
    except csv.Error as error:
        raise FileFormatError(f"{shown(path)}: not {delimiter!r}-separated ({error})") from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
