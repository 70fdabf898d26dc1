"""The versioned JSON documents that the page, the exported file and the notebook draw; schemas in `schema/`.

    alignments of one pair  --alignment_document-->  evalign.alignment, version 1
    reports, rows           --corpus_document-->     evalign.corpus, version 1      (others: likelihood_document.py,
                                                                                   lstm_document.py)

Only plain JSON values come out: finite numbers, and texts without lone surrogates, so that every reader takes them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from evalign.analysis.comparison.run import TIE
from evalign.encoders.tokenizer import utf8
from evalign.metrics.base import Metric
from evalign.metrics.registry import METRICS, metric_class
from evalign.metrics.signature import Signature
from evalign.render.alignment_reading import (
    Levels,
    clause_members,
    clause_values,
    foreign_text,
    levels_of,
    rounds_of,
    signature_settings,
)
from evalign.text.clauses import clauses
from evalign.text.word_numbers import word_numbers
from evalign.types import Alignment, Floats, Ints, Report, Row, Segment, Tokens, corpus_entries
from evalign.version import __version__

ALIGNMENT = "evalign.alignment"
CORPUS = "evalign.corpus"
VERSION = 1
STEPS = 65535


def alignment_document(
    alignments: Mapping[str, Alignment],
    skipped: Mapping[str, str] | None = None,
    metric: str = "",
    packed: bool = False,
) -> dict[str, Any]:
    """One pair under one or several matchings of the same matrix, the first being the one that was asked for.

    `packed` writes the matrix as 16-bit numbers in base64, a third of the size and precise to five digits.
    """
    name, first = next(iter(alignments.items()))
    levels = levels_of(first)
    texts = {"candidate": first.candidate, "reference": first.reference}
    spans = {side: clauses(tokens) for side, tokens in texts.items()}
    members = {side: clause_members(tokens, spans[side]) for side, tokens in texts.items()}
    return {
        "format": ALIGNMENT,
        "version": VERSION,
        "evalign": __version__,
        "metric": metric or Signature.parse(first.signature).name,
        "signature": first.signature,
        "matching": name,
        "scores": _scores(first),
        "candidate": _side(first.candidate, first.candidate_weights, spans["candidate"]),
        "reference": _side(first.reference, first.reference_weights, spans["reference"]),
        "similarity": _packed(first.similarity) if packed else _plain(first.similarity, 6),
        "matchings": [_matching(key, alignment, members) for key, alignment in alignments.items()],
        "skipped": [{"name": key, "reason": utf8(reason)} for key, reason in (skipped or {}).items()],
        "baseline": _baseline(levels),
        "similarity_bounds": list(levels.bounds),
        "weighting": "idf" if signature_settings(first).get("idf", "no") != "no" else "uniform",
        "flags": dict(first.counts),
        "meaningless": foreign_text(first) or None,
    }


def matching_name(alignment: Alignment) -> str:
    """`transport=exact` and `recursive-argmax,paper` without their settings, which the signature has."""
    return alignment.matching.partition(",")[0].partition("=")[0]


def metric_entry(metric: Metric, signature: str) -> dict[str, Any]:
    """How a corpus document describes a metric."""
    return _metric_entry(type(metric), str(metric), signature, metric.fields)


def _metric_entry(kind: type[Metric], spec: str, signature: str, fields: Sequence[str]) -> dict[str, Any]:
    """A metric of this class; a bound that is infinite is null."""
    return {
        "metric": spec,
        "signature": signature,
        "fields": list(fields),
        "main": fields[-1],
        "higher_is_better": kind.higher_is_better,
        "bounds": [float(end) if np.isfinite(end) else None for end in getattr(kind, "bounds", (-np.inf, np.inf))],
        "aligns": kind.aligns,
    }


def corpus_document(
    metrics: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
    problems: Sequence[Mapping[str, str]] = (),
    comparison: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Scores of many rows: `metrics` by `metric_entry`, `results` as `evalign score` has them, rows by `row_entry`."""
    return {
        "format": CORPUS,
        "version": VERSION,
        "evalign": __version__,
        "metrics": list(metrics),
        "systems": list(dict.fromkeys(str(result["system"]) for result in results)),
        "results": list(results),
        "rows": list(rows),
        "problems": list(problems),
        "comparison": comparison,
        "tie": TIE,
    }


def scores_document(
    metrics: Sequence[Metric],
    results: Sequence[Mapping[str, Any]],
    rows: Iterable[Row],
    segments: Sequence[Sequence[Segment]],
    comparison: Mapping[str, Any] | None = None,
    texts: bool = True,
) -> dict[str, Any]:
    """Rows under several metrics: for each of them the segments in the order of the rows; with the texts or without."""
    signatures = {result["metric"]: result["signature"] for result in results}
    entries = [metric_entry(metric, signatures[str(metric)]) for metric in metrics]
    scored = [row_entry(row, some, texts) for row, some in zip(rows, zip(*segments, strict=True), strict=True)]
    return corpus_document(entries, results, scored, comparison=comparison)


def row_entry(row: Row, segments: Sequence[Segment], texts: bool = True) -> dict[str, Any]:
    """One row with its segments, one per metric in the document's order."""
    entry: dict[str, Any] = {"id": utf8(row.id), "system": utf8(row.system)}
    if texts:
        entry |= {"candidate": utf8(row.candidate), "references": [utf8(text) for text in row.references]}
        entry |= {"source": utf8(row.source)} if row.source is not None else {}
        entry |= {"human": row.human} if _rating(row.human) else {}
    entry |= {
        "scores": [dict(segment.scores) if segment.error is None else None for segment in segments],
        "flags": [list(segment.flags) for segment in segments],
        "errors": [segment.error and utf8(segment.error) for segment in segments],
    }
    if any(segment.reference is not None for segment in segments):
        entry["best_reference"] = [segment.reference for segment in segments]
    pooled = any(segment.statistics for segment in segments)
    return entry | ({"statistics": [list(segment.statistics) or None for segment in segments]} if pooled else {})


def report_document(report: Report) -> dict[str, Any]:
    """A report in memory; its texts are there if the metric's own `score` made it."""
    about = _metric_entry(metric_kind(report.metric), report.metric, report.signature, report.fields)
    rows = report.rows or [Row(segment.id, "") for segment in report.segments]
    result = {"system": "", "metric": report.metric, "signature": report.signature, "n": len(report)}
    means = {name: report.mean(name) for name in report.fields} if len(report) else {}
    result |= {"scores": means, **corpus_entries(report.pooled, report.intervals), "flags": report.flags}
    entries = [
        row_entry(row, [segment], texts=bool(report.rows)) for row, segment in zip(rows, report.segments, strict=True)
    ]
    return corpus_document([about], [result], entries)


def metric_kind(spec: str) -> type[Metric]:
    """The class behind a spec; of somebody's own metric nothing is known but that higher is better."""
    name = spec.partition("(")[0]
    return metric_class(name) if name in METRICS else Metric


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of `alignment`, `corpus`, `likelihood` or `lstm` documents."""
    file = resources.files("evalign.render").joinpath("schema", f"{name}.v{VERSION}.json")
    read: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return read


def _rating(human: Any) -> bool:
    """Whether a rating is one number or word that JSON can hold."""
    return isinstance(human, str) or (isinstance(human, int | float) and bool(np.isfinite(human)))


def _matching(name: str, alignment: Alignment, members: Mapping[str, Sequence[Ints]]) -> dict[str, Any]:
    cells, rounds = alignment.cells, rounds_of(alignment)
    return {
        "name": name,
        "signature": alignment.signature,
        "scores": _scores(alignment),
        "cells": cells.tolist(),
        "cell_values": _plain(alignment.similarity[cells[:, 0], cells[:, 1]]),
        "masses": None if alignment.masses is None else _plain(alignment.masses, 9),
        "candidate_partners": alignment.candidate_partners.tolist(),
        "candidate_values": _plain(alignment.candidate_values),
        "reference_partners": alignment.reference_partners.tolist(),
        "reference_values": _plain(alignment.reference_values),
        "never_chosen": {
            "candidate": list(alignment.unmatched_candidate),
            "reference": list(alignment.unmatched_reference),
        },
        "clause_values": clause_values(alignment, members),
        "flags": dict(alignment.counts),
    } | ({"rounds": rounds} if rounds else {})


def tokens_document(tokens: Tokens) -> dict[str, Any]:
    """A text and its tokens, as every document of a pair has them."""
    return {
        "text": utf8(tokens.text),
        "pieces": [utf8(piece) for piece in tokens.pieces],
        "offsets": tokens.offsets.tolist(),
        "special": tokens.special.tolist(),
        "unknown": list(tokens.unknown),
        "dropped": tokens.dropped,
        "flags": tokens.counts,
    }


def _side(tokens: Tokens, weights: Floats, spans: Sequence[tuple[int, int]]) -> dict[str, Any]:
    own = {"words": word_numbers(tokens), "weights": _plain(weights), "windows": list(tokens.borders)}
    own |= {"clauses": [list(span) for span in spans]}
    return tokens_document(tokens) | own


def _scores(alignment: Alignment) -> dict[str, float]:
    return {name: float(value) for name, value in alignment.scores.items()}


def _plain(numbers: Floats, digits: int = 8) -> list[Any]:
    plain: list[Any] = np.round(np.asarray(numbers, dtype=np.float64), digits).tolist()
    return plain


def _packed(matrix: Floats) -> dict[str, Any]:
    low, high = (float(matrix.min()), float(matrix.max())) if matrix.size else (0.0, 0.0)
    steps = np.round((matrix.astype(np.float64) - low) / ((high - low) or 1.0) * STEPS).astype("<u2")
    rows, columns = matrix.shape
    packed = {"rows": rows, "columns": columns, "low": low, "high": high}
    return packed | {"uint16": base64.b64encode(steps.tobytes()).decode("ascii")}


def _baseline(levels: Levels) -> dict[str, Any]:
    """What unrelated text reaches: a match below it says little."""
    return {"value": levels.weak, "from": levels.source}
