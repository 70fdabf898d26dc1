"""Scores that another program computed, joined to our rows.

Three layouts, told apart by what is in them: one value per line, in row order; `id<TAB>value`; and mt-metrics-eval's
`.seg.score`, `system<TAB>value`, where the k-th line of a system belongs to its k-th row. JSON lines with `id` and
`score` (or `scores` with one field, as `evalign score --segments` writes them) too, and the folder of a finished batch
job, whose shards hold such lines. `None` and empty mean no score.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evalign.data.text_lines import read_lines, shown
from evalign.errors import FileFormatError, LengthMismatchError
from evalign.types import Row

NOTHING = ("", "none", "nan", "null")


def read_scores(path: str, rows: Sequence[Row], name: str = "") -> dict[int, float]:
    """Place of a row -> its score; rows without one are missing. `name` chooses among the metrics of JSON lines."""
    everything = list(enumerate((line for file in _files(path) for line in read_lines(file)), 1))
    lines = [(number, line) for number, line in everything if line.strip()]
    if not lines:
        raise FileFormatError(f"{shown(path)}: empty, expected one score per row")
    if lines[0][1].lstrip().startswith("{"):
        return _by_name(path, _json_lines(path, lines, name), rows)
    if not any("\t" in line for _, line in lines):  # here an empty line is a row without a score
        last = len(rows) if len(everything) == len(rows) else lines[-1][0]  # empty ones at the end may be just that
        return _in_order(path, everything[:last], len(rows))
    split = [(number, line.split("\t")) for number, line in lines]
    if {len(parts) for _, parts in split} != {2}:
        raise FileFormatError(f"{shown(path)}: expected one value, or id<TAB>value, on every line")
    return _by_name(path, [(number, parts[0], parts[1]) for number, parts in split], rows)


def _in_order(path: str, lines: list[tuple[int, str]], rows: int) -> dict[int, float]:
    headed = lines[0][1].strip().lower() not in NOTHING and _number_or_none(lines[0][1]) is None
    values = [_number(path, number, text) for number, text in lines[headed:]]
    if len(values) != rows:
        raise LengthMismatchError(
            f"{shown(path)} has {len(values)} scores for {rows} rows; name the rows (id<TAB>value) if some have none"
        )
    return {place: value for place, value in enumerate(values) if value is not None}


def _by_name(path: str, lines: Iterable[tuple[int, str, Any]], rows: Sequence[Row]) -> dict[int, float]:
    named = list(lines)
    by_id = {row.id: place for place, row in enumerate(rows)}
    if len(by_id) < len(rows):
        twice = next(name for name, count in Counter(row.id for row in rows).items() if count > 1)
        by_id = {}
        unique = f"the id {twice!r} occurs twice in the data"
    else:
        unique = "no line names the id of a row"
    scores = {by_id[name]: _number(path, number, value) for number, name, value in named if name in by_id}
    if not scores:
        scores = _by_system(path, named, rows, unique)
    elif unknown := [name for _, name, _ in named[1:] if name not in by_id]:
        raise FileFormatError(
            f"{shown(path)}: {len(unknown)} lines name rows that the data does not have, the first {unknown[0]!r}"
        )
    elif len(scores) < sum(name in by_id for _, name, _ in named):
        twice = next(name for name, count in Counter(name for _, name, _ in named).items() if count > 1)
        raise FileFormatError(f"{shown(path)}: {twice!r} has two scores")
    return {place: value for place, value in scores.items() if value is not None}


def _by_system(path: str, named: list[tuple[int, str, Any]], rows: Sequence[Row], why: str) -> dict[int, float | None]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        places[row.system].append(place)
    theirs: dict[str, list[float | None]] = defaultdict(list)
    for number, name, value in named:
        if name in places:
            theirs[name].append(_number(path, number, value))
    if not theirs:
        raise FileFormatError(f"{shown(path)}: {why}, nor a system; its first line names {named[0][1]!r}")
    for name, values in theirs.items():
        if len(values) != len(places[name]):
            raise LengthMismatchError(
                f"{shown(path)} has {len(values)} scores of system {name!r}, the data {len(places[name])} rows"
            )
    return {place: value for name, values in theirs.items() for place, value in zip(places[name], values, strict=True)}


def _files(path: str) -> list[str]:
    """The file itself, or the scored rows of a finished batch job, shard by shard."""
    if not Path(path).is_dir():
        return [path]
    shards = sorted(map(str, Path(path, "shards").glob("*[0-9].jsonl")))
    if not shards or not Path(path, "summary.json").exists():
        raise FileFormatError(f"{path}: expected a file, or the folder of a finished batch job with JSON lines")
    return shards


def _json_lines(path: str, lines: list[tuple[int, str]], name: str) -> Iterable[tuple[int, str, Any]]:
    scored: dict[str, list[tuple[int, str, Any]]] = defaultdict(list)
    for number, line in lines:
        try:
            record = json.loads(line)
            scores = [record["score"]] if "score" in record else [*record["scores"].values()]  # none if the row failed
            value = scores[-1] if scores else None
            scored[str(record.get("metric", ""))].append((number, str(record["id"]), value))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise FileFormatError(f"{shown(path)}:{number}: expected JSON with id and score ({error})") from error
    chosen = [metric for metric in scored if len(scored) == 1 or name in (metric, metric.partition("(")[0])]
    if len(chosen) != 1:
        raise FileFormatError(f"{shown(path)}: has scores of {', '.join(scored)}; name one of them, as in chrf={path}")
    return scored[chosen[0]]


def _number(path: str, number: int, value: Any) -> float | None:
    if value is None or str(value).strip().lower() in NOTHING:
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
