"""Results of a batch job: summary.json, a row source over its stored scores, and the document of its HTML page.

The summary does not depend on shards, workers or times: any sharding of the same input gives the same bytes. Rows come
from the job's input, which must not have changed; scores come from its shards, for which the input is not needed.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from evalign.analysis.scoring import Emit
from evalign.batch.inputs import InputFile, Shard, ShardReader
from evalign.batch.job import JOB, MANIFEST, Manifest, ManifestLine, StoredJob
from evalign.batch.shards import (
    DECODERS,
    ERRORS,
    TOTALS,
    ResampledTotals,
    ScoredRow,
    ShardTotals,
    decode,
    id_keys,
    shard_file,
)
from evalign.core import Row
from evalign.core.metric import Metric
from evalign.core.report import BadRow
from evalign.core.spec import common_signature
from evalign.core.totals import Intervals, Result
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.io.folders import Folder
from evalign.io.records import BadRecord, Record
from evalign.io.rows import Columns, row_of
from evalign.render.documents import scores_document
from evalign.version import __version__

SUMMARY, FORMAT, VERSION = "summary.json", "evalign.batch.summary", 1
WORST_SHARE = 0.01  # of --sample-rows, added for each metric: too few to distort the distributions on the page
MAX_PROBLEMS = 1000  # on a page


@dataclass(frozen=True)
class Summary:
    """Totals of a finished job: counts of rows, one result per system and metric, and an example of a repeated id."""

    files: Sequence[InputFile]
    scored: int
    flagged: int
    failed: int
    results: Sequence[Result]
    intervals: Sequence[Intervals]  # 95 %, of each result
    duplicate_ids: int = 0
    duplicate: str | None = None
    changes: Sequence[str] = ()  # of files, libraries and processor between its runs, accepted

    @property
    def rows(self) -> int:
        """Number of input rows."""
        return self.scored + self.flagged + self.failed

    def to_json(self) -> str:
        """Return the content of summary.json."""
        counts = {"in": self.rows, "scored": self.scored, "flagged": self.flagged, "failed": self.failed}
        results = [
            result.to_dict() | {"bootstrap": {name: list(ends) for name, ends in intervals.items()}}
            for result, intervals in zip(self.results, self.intervals, strict=True)
        ]
        plain = {"format": FORMAT, "version": VERSION, "evalign": __version__, "rows": counts}
        plain |= {"duplicate_ids": self.duplicate_ids, "input": [asdict(file) for file in self.files]}
        plain |= {"changes": list(self.changes)} if self.changes else {}
        return json.dumps(plain | {"results": results}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


@dataclass(frozen=True)
class FinishedJob:
    """A job whose shards are all finished, with their lines of the manifest; what it reads is checked against them."""

    job: StoredJob
    entries: Mapping[int, ManifestLine]

    @classmethod
    def open(cls, folder: Folder) -> FinishedJob:
        """Open the job of a folder; raise InputError if it is not finished."""
        job, manifest = StoredJob.open(folder), Manifest(folder)
        done = manifest.done("score")
        if not set(range(min(job.shards, len(done) + 1))) <= set(done):
            damaged = f" ({' and '.join(manifest.damaged[:3])} damaged)" if manifest.damaged else ""
            raise InputError(f"{folder}: not finished, {state(job)}{damaged}; run the job's command again first")
        if job.shards < 1 or job.output_format not in DECODERS:
            raise FileFormatError(
                f"{folder.path(JOB)}: {job.shards} shards as {job.output_format!r} are no finished job"
            )
        return cls(job, done)

    @property
    def notes(self) -> list[str]:
        """Notes of the metrics, and accepted changes."""
        changes = [f"scores are mixed: {change} (accepted)" for change in self.job.changes or ()]
        return [*changes, *dict.fromkeys(note for entry in self.entries.values() for note in entry.notes)]

    def totals(self) -> Iterator[ShardTotals]:
        """Yield the totals of each shard."""
        return map(ShardTotals.from_bytes, self._files(TOTALS))

    def rows(self) -> Iterator[ScoredRow]:
        """Yield one ScoredRow per input row and metric, in input order; the metrics of a row are consecutive."""
        for content in self.shard_contents():
            yield from decode(content, self.job.output_format)

    def shard_contents(self) -> Iterator[bytes]:
        """Yield the content of each shard's file of scored rows."""
        return self._files(self.job.output_format)

    def error_lines(self) -> Iterator[bytes]:
        """Yield the rows that failed, in input order, as lines of JSON."""
        for content in self._files(ERRORS):
            yield from content.splitlines(keepends=True)

    def signature(self, metric: str) -> str:
        """Return the signature of a metric's scores in all shards."""
        if not all(metric in entry.signatures for entry in self.entries.values()):
            raise self.other_job(f"no signature of {metric}")
        signatures = [entry.signatures[metric] for entry in self.entries.values()]
        return common_signature(signatures, may_differ=self.job.changes is not None)

    def other_job(self, reason: str) -> FileFormatError:
        """Return the error of a manifest whose shards are not those of the job."""
        return FileFormatError(
            f"{self.job.folder}: {reason}: {MANIFEST} is of another job; remove it and run the job's command again, "
            "which scores all rows"
        )

    def _files(self, ending: str) -> Iterator[bytes]:
        for number in range(self.job.shards):
            content = self.entries[number].read(self.job.folder, shard_file(number, ending))
            if content is not None:
                yield content


def summarise(finished: FinishedJob) -> Summary:
    """Merge the totals of all shards."""
    job, entries = finished.job, finished.entries
    merged: dict[tuple[str, str], ResampledTotals] = {}
    keys = []
    for shard in finished.totals():
        keys.append(shard.keys)
        for key, totals in shard.by_result.items():
            merged[key] = merged[key].merge(totals) if key in merged else totals
    systems = list(dict.fromkeys(system for system, _ in merged))
    if set(merged) != {(system, str(metric)) for system in systems for metric in job.metrics} or not keys:
        raise finished.other_job("no totals of its metrics in shards")
    results, intervals = [], []
    for system in systems:
        for metric in job.metrics:
            totals = merged[system, str(metric)]
            results.append(_result(finished, system, metric, totals))
            intervals.append(_intervals(metric, totals))
    duplicates = _duplicates(np.concatenate(keys))
    counts = [sum(getattr(entry, name) for entry in entries.values()) for name in ("scored", "flagged", "failed")]
    example = _duplicate_example(finished, duplicates) if len(duplicates) else None
    summary = Summary(
        job.files, counts[0], counts[1], counts[2], results, intervals, len(duplicates), example, job.changes or ()
    )
    if summary.rows != job.rows:
        raise finished.other_job(f"{summary.rows} rows in shards, {job.rows} in the input")
    return summary


def write_summary(finished: FinishedJob, summary: Summary) -> None:
    """Write summary.json and errors.jsonl, unless they are there: the folder of a finished job may be read-only."""
    contents = {ERRORS: b"".join(finished.error_lines()), SUMMARY: summary.to_json().encode("utf-8", "replace")}
    for name, content in contents.items():
        folder = finished.job.folder
        if not folder.sizes([name]) or folder.read(name) != content:
            folder.write(name, content)


def state(job: StoredJob) -> str:
    """Describe the progress of a job."""
    manifest = Manifest(job.folder)
    done, counted = manifest.done("score"), manifest.done("idf")
    totals = {name: sum(getattr(entry, name) for entry in done.values()) for name in ("scored", "flagged", "failed")}
    rows = sum(totals.values())
    text = f"{len(done)} of {job.shards} shards done, {rows} of {job.rows} rows"
    text += f" ({totals['scored']} scored, {totals['flagged']} flagged, {totals['failed']} failed)" if rows else ""
    return text + (f"; IDF counted on {len(counted)}" if counted and len(done) < job.shards else "")


@dataclass(frozen=True)
class JobRows:
    """The readable rows of a finished job, in input order, with the fields that `columns` names."""

    finished: FinishedJob
    columns: Columns
    rereadable: bool = True

    @classmethod
    def open(cls, folder: Folder, extra: tuple[str, ...] = (), human: str = "human") -> JobRows:
        """Open the job of a folder; `extra` and `human` are fields that the job itself did not read."""
        finished = FinishedJob.open(folder)
        return cls(finished, finished.job.columns_with(extra, human))

    @property
    def job(self) -> StoredJob:
        """The job."""
        return self.finished.job

    def __iter__(self) -> Iterator[Row]:
        with closing(ShardReader()) as reader:
            for shard in self._shards:
                for number, record in enumerate(reader.read(shard), shard.first + 1):
                    row = row_of(record, self.columns, f"{shard.prefix}{number}")
                    if isinstance(row, Row):
                        yield row
                    elif self._job_could_read(record):
                        raise FileFormatError(f"{shard.path}:{row.line}: {row.error}")

    def count(self) -> int | None:
        """Return the number of input rows."""
        return self.job.rows

    def metrics(self, asked: Sequence[str]) -> list[Metric]:
        """Return the job's metrics that `asked` names by spec or by name; all if it is empty."""
        chosen = []
        for name in asked:
            fitting = [metric for metric in self.job.metrics if name in (str(metric), metric.name)]
            if len(fitting) != 1:
                have = ", ".join(map(str, self.job.metrics))
                raise SpecError(f"`specs={name}`: {self.job.folder} has scores of {have}; name one of them")
            chosen += fitting
        return list(dict.fromkeys(chosen)) or self.job.metrics

    def score(self, metrics: Sequence[Metric], emit: Emit) -> list[Result]:
        """Pass every stored segment to `emit` and return the results, as `score_source` does when it scores rows."""
        by_name = {str(metric): metric for metric in metrics}
        signatures = {name: self.finished.signature(name) for name in by_name}
        notes = self.finished.notes
        if failed := sum(entry.failed for entry in self.finished.entries.values()):
            notes.append(f"{failed} rows of the job failed; {self.job.folder.path(ERRORS)} says why")
        note = "; ".join(notes)
        results: dict[tuple[str, str], Result] = {}
        for row in self.finished.rows():
            if (metric := by_name.get(row.metric)) is None:
                continue
            key = row.system, row.metric
            if key not in results:
                results[key] = metric.result(signatures[row.metric], row.system, note=note)
            results[key].add(row.segment)
            emit(results[key], row.segment)
        if not results:
            raise InputError(f"{self.job.folder}: no row could be read; errors.jsonl there says why")
        systems = list(dict.fromkeys(system for system, _ in results))
        return [results[system, name] for name in by_name for system in systems if (system, name) in results]

    def _job_could_read(self, record: Record | BadRecord) -> bool:
        """Return whether the job itself could read a record: an error now comes from a field added since."""
        return not isinstance(row_of(record, self.job.columns, ""), BadRow)

    @cached_property
    def _shards(self) -> Sequence[Shard]:
        return self.job.planned_shards()


def job_document(source: JobRows, summary: Summary, limit: int) -> tuple[dict[str, Any], int]:
    """Return the corpus document of a job, and the number of rows that it shows."""
    job = source.job
    chosen = _page_rows(source.finished, limit)
    rows, segments = [], [[] for _ in job.metrics]  # type: ignore[var-annotated]
    for index, (row, scored_metrics) in enumerate(zip_longest(source, _by_row(source.finished))):
        if row is None or scored_metrics is None:
            raise source.finished.other_job("another number of rows in shards than in the input")
        if index in chosen:
            rows.append(row)
            for column, scored in zip(segments, scored_metrics, strict=True):
                column.append(scored.segment)
    document = scores_document(job.metrics, [result.to_dict() for result in summary.results], rows, segments)
    unreadable = _unreadable(source.finished)
    problems = [{"place": f"{line['file']}:{line['line']}", "message": line["error"]} for line in unreadable]
    if len(rows) < summary.rows - len(problems):
        part = f"{len(rows)} of {summary.rows} rows: an even sample plus the worst rows of each metric"
        problems.insert(0, {"place": "this page", "message": f"shows {part}; the totals are over all rows"})
    document["problems"] = problems[:MAX_PROBLEMS]
    return document, len(rows)


def _result(finished: FinishedJob, system: str, metric: Metric, part: ResampledTotals) -> Result:
    flags = part.totals.flags
    totals = replace(part.totals, flags=Counter({name: flags[name] for name in sorted(flags)}))
    result = metric.result(finished.signature(str(metric)), system, totals)
    if result.corpus is not None:  # ROUGE-1.5.5 resamples rows ordered by id: sums do not suffice, add every row
        for row in finished.rows():
            if (row.system, row.metric) == (system, str(metric)) and row.segment.error is None:
                result.corpus.add(row.segment)
    return result


def _intervals(metric: Metric, part: ResampledTotals) -> Intervals:
    """Return 95 % intervals of each field's corpus score, from the sums under bootstrap weights."""
    sums = part.resampled
    if sums is None:
        return {}
    if metric.pools:
        estimates = {
            name: sums.estimate(lambda drawn, rows, name=name: metric.from_totals(drawn.tolist(), int(rows))[name])  # type: ignore[misc]
            for name in part.totals.corpus_scores(metric.from_totals)
        }
    else:
        estimates = dict(zip(metric.fields, sums.estimates(), strict=True))
    return {
        name: (estimate.low, estimate.high)
        for name, estimate in estimates.items()
        if estimate.low is not None and estimate.high is not None
    }


def _duplicates(keys: Any) -> Any:
    values, counts = np.unique(keys, return_counts=True)
    return values[counts > 1]


def _duplicate_example(finished: FinishedJob, duplicates: Any) -> str:
    """Return an id that occurs twice."""
    wanted, first = set(duplicates.tolist()), str(finished.job.metrics[0])
    rows = (row for row in finished.rows() if row.metric == first)
    return next(row.segment.id for row in rows if int(id_keys([(row.system, row.segment.id)])[0]) in wanted)


def _page_rows(finished: FinishedJob, limit: int) -> set[int]:
    """Return the indices of the rows to show: an even sample, and the worst of each metric."""
    metrics = finished.job.metrics
    worst: list[list[tuple[float, int]]] = [[] for _ in metrics]
    worst_rows = max(1, round(limit * WORST_SHARE))
    count = 0
    for count, row in enumerate(_by_row(finished), 1):
        for metric, heap, scored in zip(metrics, worst, row, strict=True):
            value = scored.segment.scores.get(metric.main)
            if value is not None:
                heapq.heappush(heap, (-value if metric.higher_is_better else value, -count))
                if len(heap) > worst_rows:
                    heapq.heappop(heap)
    even = set(range(0, count, max(1, -(-count // limit))))
    return even | {-negative - 1 for heap in worst for _, negative in heap}


def _by_row(finished: FinishedJob) -> Iterator[list[ScoredRow]]:
    """Yield the segments of each row, one per metric; raise FileFormatError if the shards have other metrics."""
    metrics = [str(metric) for metric in finished.job.metrics]
    for row in zip_longest(*[finished.rows()] * len(metrics)):
        if [scored and scored.metric for scored in row] != metrics:
            raise finished.other_job("scores of other metrics in shards")
        yield list(row)


def _unreadable(finished: FinishedJob) -> Iterator[dict[str, Any]]:
    return (line for line in map(json.loads, finished.error_lines()) if "id" not in line)
