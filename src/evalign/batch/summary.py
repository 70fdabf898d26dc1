"""The summary of a finished job: the totals of all shards in, results per system and metric out, as summary.json.

It says nothing about shards, workers or times: any sharding of the same input gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evalign.analysis.scoring import Result
from evalign.batch.inputs import InputFile
from evalign.batch.job import StoredJob
from evalign.batch.manifest import Entry
from evalign.batch.outputs import ScoredRow, decode
from evalign.batch.totals import ShardTotals, Totals, id_keys
from evalign.batch.worker import SHARDS
from evalign.batch.writing import write_durably
from evalign.errors import FileFormatError
from evalign.metrics.base import Metric
from evalign.metrics.corpus import Pooled
from evalign.metrics.signature import common_signature
from evalign.version import __version__

SUMMARY, ERRORS, FORMAT, VERSION = "summary.json", "errors.jsonl", "evalign.batch.summary", 1


@dataclass(frozen=True)
class Summary:
    """A finished job: rows in = scored + flagged + failed, results, and an id that occurs twice, if one does."""

    files: Sequence[InputFile]
    scored: int
    flagged: int
    failed: int
    results: Sequence[Result]
    intervals: Sequence[Mapping[str, tuple[float, float]]]  # 95 %, of each result's fields
    duplicate_ids: int = 0
    duplicate: str | None = None

    @property
    def rows(self) -> int:
        """Rows that went in."""
        return self.scored + self.flagged + self.failed

    def to_json(self) -> str:
        """The content of summary.json."""
        counts = {"in": self.rows, "scored": self.scored, "flagged": self.flagged, "failed": self.failed}
        results = [
            result.to_dict() | {"bootstrap": {name: list(ends) for name, ends in own.items()}}
            for result, own in zip(self.results, self.intervals, strict=True)
        ]
        plain = {"format": FORMAT, "version": VERSION, "evalign": __version__, "rows": counts}
        plain |= {"duplicate_ids": self.duplicate_ids, "input": [asdict(file) for file in self.files]}
        return json.dumps(plain | {"results": results}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def summarise(job: StoredJob, entries: Mapping[int, Entry]) -> Summary:
    """Merges all shards."""
    merged: dict[tuple[str, str], Totals] = {}
    keys = []
    for number in range(job.shards):
        shard = ShardTotals.from_bytes((job.folder / SHARDS / f"{number:06}.totals.json").read_bytes())
        keys.append(shard.keys)
        for key, totals in shard.by_result.items():
            merged[key] = merged[key].merge(totals) if key in merged else totals
    systems = list(dict.fromkeys(system for system, _ in merged))
    results, intervals = [], []
    for system in systems:
        for metric in job.metrics:
            totals = merged[system, str(metric)]
            signature = common_signature([entry.signatures[str(metric)] for entry in entries.values()])
            results.append(_result(job, system, metric, signature, totals))
            intervals.append(_intervals(metric, totals))
    twice = _duplicates(np.concatenate(keys))
    counts = [sum(getattr(entry, name) for entry in entries.values()) for name in ("scored", "flagged", "failed")]
    example = _example(job, twice) if len(twice) else None
    summary = Summary(job.files, counts[0], counts[1], counts[2], results, intervals, len(twice), example)
    if summary.rows != job.rows:
        raise FileFormatError(
            f"{job.folder}: {summary.rows} rows are accounted for, the input has {job.rows}; run it anew"
        )
    return summary


def write_summary(job: StoredJob, summary: Summary) -> None:
    """Writes summary.json and errors.jsonl."""
    write_durably(job.folder / ERRORS, b"".join(error_lines(job)))
    write_durably(job.folder / SUMMARY, summary.to_json().encode("utf-8", "replace"))


def shard_file(job: StoredJob, number: int) -> Path:
    """The output of one shard."""
    return job.folder / SHARDS / f"{number:06}.{job.form}"


def scored_rows(job: StoredJob) -> Iterator[ScoredRow]:
    """All rows in input order, under one metric after the other."""
    for number in range(job.shards):
        yield from decode(shard_file(job, number))


def error_lines(job: StoredJob) -> Iterator[bytes]:
    """The rows that failed, in input order, as lines of JSON."""
    for number in range(job.shards):
        path = job.folder / SHARDS / f"{number:06}.errors.jsonl"
        if path.exists():
            yield from path.read_bytes().splitlines(keepends=True)


def _result(job: StoredJob, system: str, metric: Metric, signature: str, totals: Totals) -> Result:
    corpus = metric.corpus()
    if corpus is not None and metric.pools:
        corpus = Pooled(metric, totals.statistics, totals.rows)
    elif corpus is not None:  # no function of sums: ROUGE-1.5.5 draws rows in the order of their ids
        for row in scored_rows(job):
            if (row.system, row.metric) == (system, str(metric)) and row.segment.error is None:
                corpus.add(row.segment)
    flags = {name: totals.flags[name] for name in sorted(totals.flags)}
    result = Result(system, str(metric), signature, metric.fields, corpus, sums=totals.sums, failed=totals.failed)
    result.flags.update(flags)
    return result


def _intervals(metric: Metric, totals: Totals) -> dict[str, tuple[float, float]]:
    """95 % of each field's corpus score, from the sums under bootstrap weights."""
    sums = totals.resampled
    if sums is None:
        return {}
    if metric.pools:
        estimates = {
            name: sums.estimate(lambda own, rows, name=name: metric.from_totals(own.tolist(), int(rows))[name])  # type: ignore[misc]
            for name in metric.from_totals([total.value for total in totals.statistics], totals.rows)
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


def _example(job: StoredJob, twice: Any) -> str:
    """An id that occurs twice."""
    wanted, first = set(twice.tolist()), str(job.metrics[0])
    rows = (row for row in scored_rows(job) if row.metric == first)
    return next(row.segment.id for row in rows if int(id_keys([(row.system, row.segment.id)])[0]) in wanted)
