"""Scores that another program computed, joined to rows.

Three layouts, told apart by what is in them: one value per line, in row order; `id<TAB>value`; and mt-metrics-eval's
`.seg.score`, `system<TAB>value`, where the k-th line of a system belongs to its k-th row. JSON lines with `id`, `score`
(or `scores`, as `evalign score` writes segments) and possibly `system` are read too, and the folder of a finished
batch job, whose shards hold such lines. `None` and empty mean no score.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from evalign.core import Row
from evalign.errors import FileFormatError, LengthMismatchError
from evalign.io.folders import is_folder, open_folder
from evalign.io.records import parse_json, read_lines
from evalign.io.streams import shown

SUMMARY = "summary.json"  # of a finished batch job
MISSING = ("", "none", "nan", "null")
MAX_METRICS = 1000  # of one file
Line = tuple[int, str]  # its number, its text


def read_scores(path: str, rows: Sequence[Row], name: str = "") -> dict[int, float]:
    """Return index of a row -> score; rows without a score are missing. `name` selects a metric of JSON lines.

    Lines are read one by one: memory is that of the rows, however long the file is.
    """
    lines: Iterator[Line] = enumerate((line for file in _files(path) for line in read_lines(file)), 1)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        raise FileFormatError(f"{shown(path)}: empty, expected one score per row")
    lines = chain([first], lines)
    if first[1].lstrip().startswith("{"):
        scores = _json_scores(path, lines, rows, name)
    elif "\t" in first[1]:
        scores = _named_scores(path, lines, rows)
    else:
        scores = _scores_in_order(path, lines, len(rows))
    return {index: value for index, value in scores.items() if value is not None}


def _scores_in_order(path: str, lines: Iterator[Line], rows: int) -> dict[int, float | None]:
    """Read one value per line; here an empty line is a row without a score."""
    scores: dict[int, float | None] = {}
    headed = number = last = 0  # lines of the header, lines so far, the last of them that is not empty
    for number, text in lines:
        if not text.strip():
            continue
        if "\t" in text:
            raise _mixed(path)
        last = number
        if number == 1 and text.strip().lower() not in MISSING and _number_or_none(text) is None:
            headed = 1
        elif number - headed <= rows:
            scores[number - headed - 1] = _number(path, number, text)
    count = rows if number - headed == rows else last - headed  # empty lines at the end may be just that
    if count != rows:
        raise LengthMismatchError(
            f"{shown(path)} has {count} scores for {rows} rows; name the rows (id<TAB>value) if some have none"
        )
    return scores


def _named_scores(path: str, lines: Iterator[Line], rows: Sequence[Row]) -> dict[int, float | None]:
    """Read lines of a name and a value."""
    index, named = _RowIndex(path, rows), _NamedScores()
    for number, line in lines:
        if line.strip():
            if line.count("\t") != 1:
                raise _mixed(path)
            name, _, value = line.partition("\t")
            named.add(index, number, name, value)
    return named.scores(index)


def _json_scores(path: str, lines: Iterator[Line], rows: Sequence[Row], name: str) -> dict[int, float | None]:
    """Read lines of JSON, whose metrics may be several."""
    index, by_metric = _RowIndex(path, rows), dict[str, _NamedScores]()
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = parse_json(line)
            scores = [record["score"]] if "score" in record else [*record["scores"].values()]  # none if the row failed
            metric, row = str(record.get("metric", "")), str(record["id"])
            system = record.get("system")
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise FileFormatError(f"{shown(path)}:{number}: expected JSON with id and score ({error})") from error
        if len(by_metric) == MAX_METRICS and metric not in by_metric:
            raise FileFormatError(f"{shown(path)}:{number}: has scores of more than {MAX_METRICS} metrics")
        by_metric.setdefault(metric, _NamedScores()).add(index, number, row, scores[-1] if scores else None, system)
    chosen = [metric for metric in by_metric if len(by_metric) == 1 or name in (metric, metric.partition("(")[0])]
    if len(chosen) != 1:
        raise FileFormatError(
            f"{shown(path)}: has scores of {', '.join(by_metric):.200}; name one of them, as in chrf={path}"
        )
    return by_metric[chosen[0]].scores(index)


class _RowIndex:
    """Rows by id, by system and id, and by system; by ids only if they name one row each."""

    def __init__(self, path: str, rows: Sequence[Row]) -> None:
        self.path = path
        self.by_id = {row.id: position for position, row in enumerate(rows)}
        self.by_system_and_id = {(row.system, row.id): position for position, row in enumerate(rows)}
        self.by_system: dict[str, list[int]] = defaultdict(list)
        for position, row in enumerate(rows):
            self.by_system[row.system].append(position)
        self.why_no_id = "no line names the id of a row"
        if len(self.by_id) < len(rows):
            twice = next(name for name, count in Counter(row.id for row in rows).items() if count > 1)
            self.by_id, self.why_no_id = {}, f"the id {twice!r:.80} occurs twice in the data"
        if len(self.by_system_and_id) < len(rows):
            self.by_system_and_id = {}

    def find(self, name: str, system: Any) -> int | None:
        """Return the position of the row with an id, of a system if the line names one; None if there is none."""
        row = self.by_id.get(name)
        return row if row is not None else self.by_system_and_id.get((str(system or ""), name))


class _NamedScores:
    """Values with the names of rows or of systems, of which only those that fit a row are stored."""

    def __init__(self) -> None:
        self._by_row: dict[int, float | None] = {}
        self._by_system: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        self._counts: Counter[str] = Counter()  # of the lines of each system
        self._first = ""
        self._lines = self._unknown = 0  # lines that name no row, but for the first, which may be a header
        self._unknown_name = self._repeated = ""

    def add(self, index: _RowIndex, number: int, name: str, value: Any, system: Any = None) -> None:
        """Add a line."""
        self._lines += 1
        self._first = name if self._lines == 1 else self._first
        row = index.find(name, system)
        if row is not None:
            self._repeated = self._repeated or (name if row in self._by_row else "")
            self._by_row[row] = _number(index.path, number, value)
        elif self._lines > 1:
            self._unknown_name = self._unknown_name if self._unknown else name
            self._unknown += 1
        if name in index.by_system:
            self._counts[name] += 1
            if self._counts[name] <= len(index.by_system[name]):
                self._by_system[name].append((number, value))

    def scores(self, index: _RowIndex) -> dict[int, float | None]:
        """Return the score of each row; raise FileFormatError if the lines do not fit the rows."""
        if not self._by_row:
            return self._scores_by_system(index)
        if self._unknown:
            raise FileFormatError(
                f"{shown(index.path)}: {self._unknown} lines name rows that the data does not have, the first "
                f"{self._unknown_name!r:.80}"
            )
        if self._repeated:
            raise FileFormatError(f"{shown(index.path)}: {self._repeated!r:.80} has two scores")
        return self._by_row

    def _scores_by_system(self, index: _RowIndex) -> dict[int, float | None]:
        if not self._counts:
            raise FileFormatError(
                f"{shown(index.path)}: {index.why_no_id}, nor a system; its first line names {self._first!r:.80}"
            )
        for name, count in self._counts.items():
            if count != len(index.by_system[name]):
                raise LengthMismatchError(
                    f"{shown(index.path)} has {count} scores of system {name!r:.80}, the data "
                    f"{len(index.by_system[name])} rows"
                )
        return {
            row: _number(index.path, number, value)
            for name, lines in self._by_system.items()
            for row, (number, value) in zip(index.by_system[name], lines, strict=True)
        }


def _mixed(path: str) -> FileFormatError:
    return FileFormatError(f"{shown(path)}: expected one value, or id<TAB>value, on every line")


def _files(path: str) -> list[str]:
    """Return the file itself, or the scored rows of a finished batch job, shard by shard."""
    if not is_folder(path, SUMMARY):
        return [path]
    folder = open_folder(path)
    shards = [name for name in folder.names("shards") if re.fullmatch(r"\d+\.jsonl", name)]
    if not shards or not folder.sizes([SUMMARY]):
        raise FileFormatError(f"{path}: expected a file, or the folder of a finished batch job with JSON lines")
    return [folder.path(f"shards/{name}") for name in shards]


def _number(path: str, number: int, value: Any) -> float | None:
    if value is None or str(value).strip().lower() in MISSING:
        return None
    score = _number_or_none(value)
    if score is None:
        raise FileFormatError(f"{shown(path)}:{number}: {str(value)[:40]!r} is not a number")
    return score


def _number_or_none(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
