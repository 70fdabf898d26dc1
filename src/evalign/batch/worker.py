"""What one worker does: a `Task` (a step of a shard) in, its files on the disk and a manifest `Entry` out.

A worker keeps its models between shards. It scores blocks of `BLOCK_ROWS` records of the file, so that the batches
a row meets depend on nothing but its place there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalign.batch.inputs import Shard, ShardReader
from evalign.batch.manifest import Entry, FileRecord
from evalign.batch.outputs import ScoredRow, encode, json_line
from evalign.batch.records import Record, fields_of
from evalign.batch.totals import ShardTotals, Totals, id_keys
from evalign.batch.writing import write_durably
from evalign.data.rows import Columns, make_row
from evalign.encoders.batching import out_of_memory
from evalign.encoders.loading import open_encoder
from evalign.encoders.pack_folder import flush_vectors
from evalign.encoders.vector_cache import forget_vectors
from evalign.errors import InputError
from evalign.malloc_trim import release_freed_memory
from evalign.metrics.base import Metric, Ready, blocks, score_block
from evalign.metrics.blas import one_blas_thread
from evalign.metrics.corpus_idf import corpus_texts, count_idf
from evalign.metrics.token_metric import TokenMetric
from evalign.text.idf import IDFTable
from evalign.types import Row

SHARDS, TABLES = "shards", "idf"


@dataclass(frozen=True)
class Work:
    """What every worker of a job needs to know."""

    folder: Path
    metrics: tuple[Metric, ...]
    columns: Columns
    form: str

    def counting(self) -> list[tuple[int, TokenMetric]]:
        """The metrics that need all rows before the first, with their places."""
        return [
            (place, metric)
            for place, metric in enumerate(self.metrics)
            if isinstance(metric, TokenMetric) and metric.needs_corpus
        ]


@dataclass(frozen=True)
class Task:
    """One step of one shard."""

    step: str  # a key of `Worker.steps`
    shard: Shard


def read_rows(reader: ShardReader, shard: Shard, columns: Columns) -> Iterator[tuple[Row | str, Record]]:
    """Every record of a shard with its row, or with what is wrong with it."""
    for number, record in enumerate(reader.read(shard), shard.first + 1):
        place = f"{shard.path}:{record.line}"
        try:
            yield make_row(fields_of(record), columns, place, f"{shard.prefix}{number}"), record
        except InputError as error:
            yield str(error).removeprefix(f"{place}: "), record


def merged_table(folder: Path, place: int) -> Path:
    """Where the IDF table of the metric at that place is, once all shards are counted."""
    return folder / TABLES / f"metric-{place}.json"


def shard_table(shard: int, place: int) -> str:
    """The same of one shard, below the job's folder."""
    return f"{TABLES}/{shard:06}-{place}.json"


@dataclass
class _Scored:
    """What a shard's rows came to."""

    rows: list[ScoredRow] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)
    totals: ShardTotals = field(default_factory=ShardTotals)
    ids: list[tuple[str, str]] = field(default_factory=list)  # (system, id)
    scored: int = 0
    flagged: int = 0
    failed: int = 0


class Worker:
    """Runs tasks one after the other."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.steps: Mapping[str, Callable[[Shard], Entry]] = {"idf": self._count, "score": self._score}
        self._reader = ShardReader()
        self._ready: list[Ready] = []

    def run(self, task: Task) -> Entry:
        """Does the task; its files are on the disk when this returns."""
        try:
            with one_blas_thread():  # as many workers as cores leave none for more
                return self.steps[task.step](task.shard)
        except Exception as error:
            if not out_of_memory(error):
                raise
            raise InputError(
                f"{task.shard}: a worker needs more memory than it may take; run the same command with more "
                "--memory or fewer --workers: it goes on from here"
            ) from error

    def close(self) -> None:
        """Closes the input."""
        self._reader.close()

    def _count(self, shard: Shard) -> Entry:
        """Counts in how many texts of the shard each token occurs, for each metric that asks."""
        began, files = time.monotonic(), []
        rows = [row for row, _ in self._rows(shard) if isinstance(row, Row)]
        for place, metric in self.work.counting():
            table = count_idf(open_encoder(metric.choice()).encoder, corpus_texts(rows, metric.idf))
            files.append(self._write(shard_table(shard.number, place), table.to_json().encode("ascii")))
        return Entry("idf", shard.number, tuple(files), seconds=time.monotonic() - began)

    def _score(self, shard: Shard) -> Entry:
        began, scored = time.monotonic(), _Scored()
        for number, block in enumerate(blocks(self._rows(shard))):
            self._score_block(shard, number, block, scored)
            release_freed_memory()
        flush_vectors()
        scored.totals.keys = id_keys(scored.ids)
        name = f"{SHARDS}/{shard.number:06}"
        files = [
            self._write(f"{name}.{self.work.form}", encode(scored.rows, self.work.form)),
            self._write(f"{name}.totals.json", scored.totals.to_bytes()),
        ]
        if scored.errors:
            files.append(self._write(f"{name}.errors.jsonl", b"".join(scored.errors)))
        ready = self._scorers()
        return Entry(
            "score", shard.number, tuple(files), scored.scored, scored.flagged, scored.failed,
            seconds=time.monotonic() - began,
            signatures={str(metric): str(scorer.signature) for metric, scorer in ready},
            notes=tuple(dict.fromkeys(scorer.note for _, scorer in ready if scorer.note)),
        )  # fmt: skip

    def _score_block(
        self, shard: Shard, number: int, block: Sequence[tuple[Row | str, Record]], scored: _Scored
    ) -> None:
        """Scores one block with every metric, and sorts its rows into scored, flagged and failed."""
        for problem, record in block:
            if isinstance(problem, str):
                scored.failed += 1
                scored.errors.append(_error(shard, record, error=problem))
        good = [(row, record) for row, record in block if isinstance(row, Row)]
        rows = [row for row, _ in good]
        if not rows:
            return
        segments = []
        forget_vectors()  # texts that a block encodes, and so the last bits, must not depend on earlier blocks
        for metric, scorer in self._scorers():
            if shard.number == 0 and number == 0 and all(map(metric.lacks, rows)):
                metric.check_needs(rows)  # nobody has it: a wrong file, not a bad row
            segments.append(score_block(metric, scorer, rows))
            if number == 0:
                scorer.settle()
        for (row, record), own in zip(good, zip(*segments, strict=True), strict=True):
            scored.ids.append((row.system, row.id))
            scored.rows += [
                ScoredRow(row.system, str(metric), part) for metric, part in zip(self.work.metrics, own, strict=True)
            ]
            problems = [
                _error(shard, record, id=row.id, metric=str(metric), error=part.error)
                for metric, part in zip(self.work.metrics, own, strict=True)
                if part.error is not None
            ]
            scored.errors += problems
            scored.failed += bool(problems)
            scored.flagged += not problems and any(part.counts for part in own)
            scored.scored += not problems and not any(part.counts for part in own)
        systems = [row.system for row in rows]
        for system in dict.fromkeys(systems):
            for metric, parts in zip(self.work.metrics, segments, strict=True):
                totals = scored.totals.by_result.setdefault((system, str(metric)), Totals())
                totals.add(metric, [part for part, name in zip(parts, systems, strict=True) if name == system])

    def _rows(self, shard: Shard) -> Iterator[tuple[Row | str, Record]]:
        return read_rows(self._reader, shard, self.work.columns)

    def _scorers(self) -> list[Ready]:
        if not self._ready:
            tables = {place: IDFTable.load(merged_table(self.work.folder, place)) for place, _ in self.work.counting()}
            for place, metric in enumerate(self.work.metrics):
                given = {"weights": tables[place]} if place in tables else {}
                self._ready.append((metric, metric.scorer(iter(()), **given)))
        return self._ready

    def _write(self, name: str, content: bytes) -> FileRecord:
        write_durably(self.work.folder / name, content)
        return FileRecord.of(name, content)


def _error(shard: Shard, record: Record, **said: Any) -> bytes:
    return json_line({"file": shard.path, "line": record.line} | said)
