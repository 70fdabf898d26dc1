"""Shards of a job: a `Task` (a step of a shard) in, its files on the disk and a `ManifestLine` out.

A worker keeps its models between shards. It scores blocks of `BLOCK_ROWS` records of the file, so that the batches
of a row depend on nothing but its position there. `encode` and `decode` are the format of the output files: scored
rows, and totals that merge to equal bits for any sharding.
"""

from __future__ import annotations

import base64
import io
import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalign.batch.inputs import Shard, ShardReader
from evalign.batch.job import SHARDS, TABLES, FileRecord, ManifestLine, Work
from evalign.core import Ints, Row, Segment
from evalign.core.metric import Metric
from evalign.core.scoring import Ready, ScoredBlock, StreamOptions, release_freed_memory, score_stream
from evalign.core.totals import Totals
from evalign.encoders.base import out_of_memory
from evalign.encoders.embedding_store import flush_vectors
from evalign.encoders.loading import clear_vector_caches, open_encoder
from evalign.errors import InputError, MissingExtraError
from evalign.matching.similarity import one_blas_thread
from evalign.metrics.weighting import corpus_texts, count_idf
from evalign.stats.bootstrap import Resampling
from evalign.stats.poisson_sums import PoissonSums, row_keys
from evalign.text.idf import IDFTable


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One row under one metric."""

    system: str
    metric: str
    segment: Segment

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"system": self.system, "metric": self.metric} | self.segment.to_dict()

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ScoredRow:
        """Restore what `to_dict` returned."""
        counts = plain.get("counts") or {}
        statistics = tuple(plain.get("statistics") or ())
        segment = Segment(plain["id"], plain["scores"], counts, plain.get("error"), statistics, plain.get("reference"))
        return cls(plain["system"], plain["metric"], segment)


def json_line(plain: dict[str, Any]) -> bytes:
    """Return one line of JSON; lone surrogates, which UTF-8 cannot hold, are replaced."""
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def check_format(output_format: str) -> None:
    """Raise before any work starts if Parquet cannot be written."""
    if output_format == "parquet":
        import_pyarrow("writing Parquet")


def encode(rows: Sequence[ScoredRow], output_format: str) -> bytes:
    """Return the content of a shard's file."""
    return ENCODERS[output_format](rows)


def decode(content: bytes, output_format: str) -> Iterator[ScoredRow]:
    """Yield the rows of a shard's file."""
    return map(ScoredRow.from_dict, DECODERS[output_format](content))


def _to_jsonl(rows: Sequence[ScoredRow]) -> bytes:
    return b"".join(json_line(row.to_dict()) for row in rows)


def _from_jsonl(content: bytes) -> Iterator[dict[str, Any]]:
    return map(json.loads, io.BytesIO(content))


def _to_parquet(rows: Sequence[ScoredRow]) -> bytes:
    """Write the columns system, metric, id, one per field, flags with counts, statistics, best reference, error."""
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


def _from_parquet(content: bytes) -> Iterator[dict[str, Any]]:
    for batch in import_pyarrow("reading Parquet").parquet.ParquetFile(io.BytesIO(content)).iter_batches():
        for line in batch.to_pylist():
            scores = {key.partition(".")[2]: line[key] for key in line if key.startswith("score.")}
            scores = {name: value for name, value in scores.items() if value is not None}
            yield line | {"scores": scores, "counts": dict(line["flags"])}


def import_pyarrow(what: str) -> Any:
    """Import pyarrow with its Parquet part; the error says what needs it and which extra installs it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(what, "data") from error
    return pyarrow


ENCODERS: dict[str, Callable[[Sequence[ScoredRow]], bytes]] = {"jsonl": _to_jsonl, "parquet": _to_parquet}
DECODERS: dict[str, Callable[[bytes], Iterator[dict[str, Any]]]] = {"jsonl": _from_jsonl, "parquet": _from_parquet}


@dataclass
class ResampledTotals:
    """Totals of one system under one metric, and their sums under bootstrap weights: of statistics if it pools."""

    totals: Totals = field(default_factory=Totals)
    resampled: PoissonSums | None = None

    def add(self, metric: Metric, segments: Sequence[Segment]) -> None:
        """Add rows."""
        for segment in segments:
            self.totals.add(segment)
        scored = [segment for segment in segments if segment.error is None]
        if scored:
            values = [_additive(metric, segment) for segment in scored]
            sums = self.resampled or PoissonSums.empty(len(values[0]))
            self.resampled = sums.add([segment.id for segment in scored], values)

    def merge(self, right: ResampledTotals) -> ResampledTotals:
        """Return the totals over the rows of both."""
        sums = [part.resampled for part in (self, right) if part.resampled is not None]
        merged = sums[0].merge(sums[1]) if len(sums) == 2 else next(iter(sums), None)
        return ResampledTotals(self.totals.merge(right.totals), merged)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        limbs = None if self.resampled is None else self.resampled.limbs
        packed = None if limbs is None else {"shape": list(limbs.shape), "packed": _pack(limbs, "<i8")}
        return self.totals.to_dict() | {"resampled": packed}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ResampledTotals:
        """Restore what `to_dict` returned."""
        resampled, packed = None, plain["resampled"]
        if packed is not None:
            limbs = _unpack(packed["packed"], "<i8").reshape(packed["shape"])
            resampled = PoissonSums(Resampling(samples=len(limbs) - 1), limbs)
        return cls(Totals.from_dict(plain), resampled)


@dataclass
class ShardTotals:
    """All totals of a shard, in order of appearance, and the hashed (system, id) of its rows."""

    by_result: dict[tuple[str, str], ResampledTotals] = field(default_factory=dict)  # (system, metric)
    keys: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))

    def to_bytes(self) -> bytes:
        """Return the content of the shard's totals file."""
        totals = [
            {"system": system, "metric": metric} | total.to_dict() for (system, metric), total in self.by_result.items()
        ]
        return json.dumps({"totals": totals, "keys": _pack(self.keys, "<u8")}).encode("ascii")

    @classmethod
    def from_bytes(cls, content: bytes) -> ShardTotals:
        """Restore what `to_bytes` returned."""
        plain = json.loads(content)
        totals = {(part["system"], part["metric"]): ResampledTotals.from_dict(part) for part in plain["totals"]}
        return cls(totals, _unpack(plain["keys"], "<u8"))


def id_keys(rows: Sequence[tuple[str, str]]) -> Any:
    """Hash each (system, id) to 64 bits, to detect rows that occur twice."""
    return row_keys([f"{len(system)}:{system}{name}" for system, name in rows])


def _additive(metric: Metric, segment: Segment) -> Sequence[float]:
    return segment.statistics if metric.pools else [segment.scores[name] for name in metric.fields]


def _pack(array: Any, dtype: str) -> str:
    return base64.b64encode(zlib.compress(np.asarray(array).astype(dtype).tobytes(), 1)).decode("ascii")


def _unpack(packed: str, dtype: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=dtype).astype(dtype[1:])


@dataclass(frozen=True)
class Task:
    """One step of one shard."""

    step: str  # a key of `Worker.steps`
    shard: Shard


def merged_table(metric_index: int) -> str:
    """Return the path of a metric's IDF table over all shards, relative to the job's folder."""
    return f"{TABLES}/metric-{metric_index}.json"


TOTALS, ERRORS = "totals.json", "errors.jsonl"  # endings of a shard's files besides that of its scored rows


def shard_file(shard: int, ending: str) -> str:
    """Return the path of one of a shard's files, relative to the job's folder."""
    return f"{SHARDS}/{shard:06}.{ending}"


def shard_table(shard: int, metric_index: int) -> str:
    """Return the path of a metric's IDF table over one shard, relative to the job's folder."""
    return f"{TABLES}/{shard:06}-{metric_index}.json"


@dataclass
class ShardScores:
    """The scored rows of a shard, their totals and their errors."""

    shard: Shard
    rows: list[ScoredRow] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)
    totals: ShardTotals = field(default_factory=ShardTotals)
    ids: list[tuple[str, str]] = field(default_factory=list)  # (system, id)
    scored: int = 0
    flagged: int = 0
    failed: int = 0

    def add(self, ready: list[Ready], block: ScoredBlock) -> None:
        """Add a block: each of its records is counted as scored, flagged or failed."""
        self.failed += len(block.bad)
        self.errors += [self._error(row.line, error=row.error) for row in block.bad]
        names = [str(metric) for metric, _ in ready]
        for row, parts in zip(block.rows, zip(*block.segments, strict=True), strict=True):
            self.ids.append((row.system, row.id))
            self.rows += [ScoredRow(row.system, name, part) for name, part in zip(names, parts, strict=True)]
            errors = [
                self._error(row.line, id=row.id, metric=name, error=part.error)
                for name, part in zip(names, parts, strict=True)
                if part.error is not None
            ]
            flagged = any(part.counts for part in parts)
            self.errors += errors
            self.failed += bool(errors)
            self.flagged += not errors and flagged
            self.scored += not errors and not flagged
        systems = [row.system for row in block.rows]
        for system in dict.fromkeys(systems):
            for (metric, _), segments in zip(ready, block.segments, strict=True):
                totals = self.totals.by_result.setdefault((system, str(metric)), ResampledTotals())
                totals.add(metric, [part for part, name in zip(segments, systems, strict=True) if name == system])

    def _error(self, line: int, **details: Any) -> bytes:
        return json_line({"file": self.shard.path, "line": line} | details)


class Worker:
    """Runs tasks one after the other; calls `block_done` after each block of rows."""

    def __init__(self, work: Work, block_done: Callable[[], None] = lambda: None) -> None:
        self.work, self.block_done = work, block_done
        self.steps: Mapping[str, Callable[[Shard], ManifestLine]] = {"idf": self._count, "score": self._score}
        self._reader = ShardReader()
        self._ready: list[Ready] = []

    def run(self, task: Task) -> ManifestLine:
        """Run the task; its files are on the disk when this returns."""
        try:
            with one_blas_thread():  # as many workers as cores leave none for more
                return self.steps[task.step](task.shard)
        except Exception as error:
            if not out_of_memory(error):
                raise
            raise InputError(
                f"{task.shard}: a worker needs more memory than it may take; run the same command with more "
                "`memory` or fewer `workers`: it resumes"
            ) from error

    def close(self) -> None:
        """Close the input."""
        self._reader.close()

    def _count(self, shard: Shard) -> ManifestLine:
        """Count the texts of the shard that contain each token, for each metric that needs IDF tables."""
        began, files = time.monotonic(), []
        rows = [row for row in self._reader.rows(shard, self.work.columns) if isinstance(row, Row)]
        for index, metric in self.work.counting():
            table = count_idf(open_encoder(metric.encoder_spec()).encoder, corpus_texts(rows, metric.idf))
            files.append(self._write(shard_table(shard.number, index), table.to_json().encode("ascii")))
        return ManifestLine("idf", shard.number, tuple(files), seconds=time.monotonic() - began)

    def _score(self, shard: Shard) -> ManifestLine:
        began, ready, scores = time.monotonic(), self._scorers(), ShardScores(shard)
        options = StreamOptions(
            check_first_block=shard.number == 0,
            before_block=clear_vector_caches,  # the texts that a block encodes must not depend on earlier blocks
        )
        for block in score_stream(ready, self._reader.rows(shard, self.work.columns), options):
            scores.add(ready, block)
            self.block_done()
        release_freed_memory()
        flush_vectors()
        scores.totals.keys = id_keys(scores.ids)
        return ManifestLine(
            "score", shard.number, self._write_scores(scores), scores.scored, scores.flagged, scores.failed,
            seconds=time.monotonic() - began,
            signatures={str(metric): str(scorer.signature) for metric, scorer in ready},
            notes=tuple(dict.fromkeys(scorer.note for _, scorer in ready if scorer.note)),
        )  # fmt: skip

    def _write_scores(self, scores: ShardScores) -> tuple[FileRecord, ...]:
        number, output_format = scores.shard.number, self.work.output_format
        files = [
            self._write(shard_file(number, output_format), encode(scores.rows, output_format)),
            self._write(shard_file(number, TOTALS), scores.totals.to_bytes()),
        ]
        if scores.errors:
            files.append(self._write(shard_file(number, ERRORS), b"".join(scores.errors)))
        return tuple(files)

    def _scorers(self) -> list[Ready]:
        if not self._ready:
            tables = {index: self._table(index) for index, _ in self.work.counting()}
            for index, metric in enumerate(self.work.metrics):
                options = {"weights": tables[index]} if index in tables else {}
                scorer = metric.scorer(iter(()), **options)
                scorer.settle()  # a job is long: its memory is taken at the start
                self._ready.append((metric, scorer))
        return self._ready

    def _table(self, metric_index: int) -> IDFTable:
        name = merged_table(metric_index)
        return IDFTable.parse(self.work.folder.path(name), self.work.folder.read(name).decode("ascii", "replace"))

    def _write(self, name: str, content: bytes) -> FileRecord:
        self.work.folder.write(name, content)
        return FileRecord.of(name, content)
