"""Scored rows as bytes of a shard's file, and back: JSON lines as of `evalign score --segments`, or Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalign.errors import MissingExtraError
from evalign.types import Segment


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One row under one metric."""

    system: str
    metric: str
    segment: Segment

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"system": self.system, "metric": self.metric} | self.segment.to_dict()

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ScoredRow:
        """What `to_dict` gave."""
        counts = plain.get("counts") or {}
        statistics = tuple(plain.get("statistics") or ())
        segment = Segment(plain["id"], plain["scores"], counts, plain.get("error"), statistics, plain.get("reference"))
        return cls(plain["system"], plain["metric"], segment)


def json_line(plain: dict[str, Any]) -> bytes:
    """One line of JSON; lone surrogates, which UTF-8 cannot hold, are replaced."""
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def check_format(form: str) -> None:
    """Raises now if Parquet cannot be written here."""
    if form == "parquet":
        import_pyarrow("writing Parquet")


def encode(rows: Sequence[ScoredRow], form: str) -> bytes:
    """The content of a shard's file."""
    return ENCODERS[form](rows)


def decode(path: Path) -> Iterator[ScoredRow]:
    """The rows of a shard's file, by its ending."""
    return map(ScoredRow.from_dict, DECODERS[path.suffix.removeprefix(".")](path))


def _to_jsonl(rows: Sequence[ScoredRow]) -> bytes:
    return b"".join(json_line(row.to_dict()) for row in rows)


def _from_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as stream:
        yield from map(json.loads, stream)


def _to_parquet(rows: Sequence[ScoredRow]) -> bytes:
    """Columns system, metric, id, one per field, flags with their counts, statistics, the best reference, error."""
    arrow = import_pyarrow("writing Parquet")
    fields = sorted({name for row in rows for name in row.segment.scores})
    names = arrow.string()
    schema = arrow.schema(
        [(name, names) for name in ("system", "metric", "id")]
        + [(f"score.{name}", arrow.float64()) for name in fields]
        + [("flags", arrow.map_(names, arrow.int64())), ("statistics", arrow.list_(arrow.float64()))]
        + [("reference", arrow.int64()), ("error", names)]
    )
    lines = [
        {"system": row.system, "metric": row.metric, "id": row.segment.id, "error": row.segment.error}
        | {f"score.{name}": row.segment.scores.get(name) for name in fields}
        | {"flags": list(row.segment.counts.items()), "statistics": list(row.segment.statistics)}
        | {"reference": row.segment.reference}
        for row in rows
    ]
    buffer = io.BytesIO()
    arrow.parquet.write_table(arrow.Table.from_pylist(lines, schema), buffer)
    return buffer.getvalue()


def _from_parquet(path: Path) -> Iterator[dict[str, Any]]:
    for batch in import_pyarrow("reading Parquet").parquet.ParquetFile(path).iter_batches():
        for line in batch.to_pylist():
            scores = {key.partition(".")[2]: line[key] for key in line if key.startswith("score.")}
            scores = {name: value for name, value in scores.items() if value is not None}
            yield line | {"scores": scores, "counts": dict(line["flags"])}


def import_pyarrow(what: str) -> Any:
    """The module with its Parquet part; an error that names the extra that `what` needs if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(what, "data") from error
    return pyarrow


ENCODERS: dict[str, Callable[[Sequence[ScoredRow]], bytes]] = {"jsonl": _to_jsonl, "parquet": _to_parquet}
DECODERS: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {"jsonl": _from_jsonl, "parquet": _from_parquet}
