"""Versioned JSON documents for the page, exported files and notebooks; their schemas are in `schema/`.

    alignments of one pair  --alignment_document-->  evalign.alignment, version 1
    reports, rows           --corpus_document-->     evalign.corpus, version 1
    likelihoods             --likelihood_document--> evalign.likelihood, version 1

The values are plain JSON: finite numbers, and texts without lone surrogates, so that all JSON readers accept them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from evalign.analysis.comparison import TIE
from evalign.core import Alignment, Floats, Ints, Report, Row, Segment, Tokens
from evalign.core.metric import Metric
from evalign.core.registry import metric_class, metric_names
from evalign.core.scoring import blocks
from evalign.core.spec import Signature
from evalign.encoders.likelihood import MIN_LOG_PROB, Likelihood
from evalign.encoders.tokenizer import utf8
from evalign.errors import EvalignError, TextTooLongError
from evalign.io.files import whole_file
from evalign.io.rows import RowSource
from evalign.metrics.bartscore import Likelihoods
from evalign.metrics.token_metric import TokenScorer, aligning_metric
from evalign.render.alignment_reading import (
    PROBABILITY_BOUNDS,
    Levels,
    clause_members,
    clause_values,
    foreign_text,
    levels_of,
    opposite_sentences,
    rounds_of,
    signature_settings,
)
from evalign.text.sentences import clauses
from evalign.text.words import word_numbers
from evalign.version import __version__

ALIGNMENT = "evalign.alignment"
CORPUS = "evalign.corpus"
VERSION = 1
UINT16_STEPS = 65535


def alignment_document(
    alignments: Mapping[str, Alignment],
    skipped: Mapping[str, str] | None = None,
    metric: str = "",
    packed: bool = False,
) -> dict[str, Any]:
    """Return the document of one pair.

    Args:
        alignments: Alignments by matching, of the same matrix; the first is that of the metric.
        skipped: Reasons why other matchings are missing.
        metric: Spec of the metric; by default the name in the signature.
        packed: Whether to write the matrix as 16-bit numbers in base64, a third of the size, with five digits.
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
    """Return the name of a matching without its settings, which the signature has: `transport`, `recursive-argmax`."""
    return alignment.matching.partition(",")[0].partition("=")[0]


def metric_entry(metric: Metric, signature: str) -> dict[str, Any]:
    """Return the entry of a metric in a corpus document."""
    return _metric_entry(type(metric), str(metric), signature, metric.fields)


def _metric_entry(metric_type: type[Metric], spec: str, signature: str, fields: Sequence[str]) -> dict[str, Any]:
    """Return the entry of a metric of this class; infinite bounds are null."""
    return {
        "metric": spec,
        "signature": signature,
        "fields": list(fields),
        "main": fields[-1],
        "higher_is_better": metric_type.higher_is_better,
        "bounds": [
            float(end) if np.isfinite(end) else None for end in getattr(metric_type, "bounds", (-np.inf, np.inf))
        ],
        "aligns": metric_type.aligns,
    }


def corpus_document(
    metrics: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
    problems: Sequence[Mapping[str, str]] = (),
    comparison: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the document of the scores of many rows.

    Args:
        metrics: Entries by `metric_entry`.
        results: Entries as in the JSON of `evalign score`.
        rows: Entries by `row_entry`.
        problems: Messages on rows or files that were left out.
        comparison: Entry of a `SystemComparison`.
    """
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
    """Return the corpus document of scored rows.

    Args:
        metrics: Metrics in the order of the document.
        results: Entries of the results.
        rows: Scored rows.
        segments: For each metric the segments in the order of the rows.
        comparison: Entry of a `SystemComparison`.
        texts: Whether the rows include their texts.
    """
    signatures = {result["metric"]: result["signature"] for result in results}
    entries = [metric_entry(metric, signatures[str(metric)]) for metric in metrics]
    scored = [
        row_entry(row, entries_of_row, texts)
        for row, entries_of_row in zip(rows, zip(*segments, strict=True), strict=True)
    ]
    return corpus_document(entries, results, scored, comparison=comparison)


def row_entry(row: Row, segments: Sequence[Segment], texts: bool = True) -> dict[str, Any]:
    """Return the entry of a row with its segments, one per metric in the order of the document."""
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
    """Return the document of a report; it has texts if the report came from `Metric.score`."""
    about = _metric_entry(metric_kind(report.metric), report.metric, report.signature, report.fields)
    rows = report.rows or [Row(segment.id, "") for segment in report.segments]
    entries = [
        row_entry(row, [segment], texts=bool(report.rows)) for row, segment in zip(rows, report.segments, strict=True)
    ]
    return corpus_document([about], [{"system": ""} | report.result_entry()], entries)


def write_text(text: str, path: str | Path) -> None:
    """Write a document to a file, whole or not at all."""
    with whole_file(Path(path)) as stream:
        stream.write(text)


def metric_kind(spec: str) -> type[Metric]:
    """Return the class of a spec; `Metric` itself for unregistered metrics."""
    name = spec.partition("(")[0]
    return metric_class(name) if name in metric_names() else Metric


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a type of document: `alignment`, `corpus`, `likelihood`, or that of a plugged view."""
    from evalign.render.export import find_view  # which needs no schema

    file = resources.files(find_view(name).package).joinpath("schema", f"{name}.v{VERSION}.json")
    read: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return read


def _rating(human: Any) -> bool:
    """Return whether a rating is a single number or word that JSON can represent."""
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
        "opposites": [
            {
                "kind": opposite.kind,
                "candidate": opposite.candidate and list(opposite.candidate),
                "reference": opposite.reference and list(opposite.reference),
                "text": utf8(sentence),
            }
            for opposite, sentence in zip(alignment.opposites, opposite_sentences(alignment), strict=True)
        ],
    } | ({"rounds": rounds} if rounds else {})


def tokens_document(tokens: Tokens) -> dict[str, Any]:
    """Return the entry of a text and its tokens in documents of a pair."""
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
    entry = {"words": word_numbers(tokens), "weights": _plain(weights), "windows": list(tokens.window_starts)}
    entry |= {"clauses": [list(span) for span in spans]}
    return tokens_document(tokens) | entry


def _scores(alignment: Alignment) -> dict[str, float]:
    return {name: float(value) for name, value in alignment.scores.items()}


def _plain(numbers: Floats, digits: int = 8) -> list[Any]:
    plain: list[Any] = np.round(np.asarray(numbers, dtype=np.float64), digits).tolist()
    return plain


def _packed(matrix: Floats) -> dict[str, Any]:
    low, high = (float(matrix.min()), float(matrix.max())) if matrix.size else (0.0, 0.0)
    steps = np.round((matrix.astype(np.float64) - low) / ((high - low) or 1.0) * UINT16_STEPS).astype("<u2")
    rows, columns = matrix.shape
    packed = {"rows": rows, "columns": columns, "low": low, "high": high}
    return packed | {"uint16": base64.b64encode(steps.tobytes()).decode("ascii")}


def _baseline(levels: Levels) -> dict[str, Any]:
    """Return the similarity of unrelated text: lower matches are weak."""
    return {"value": levels.weak, "from": levels.source}


LIKELIHOOD = "evalign.likelihood"
DIGITS = 8  # of log-probabilities and of the lowest possible one, so that they can be compared


def likelihood_document(likelihoods: Likelihoods) -> dict[str, Any]:
    """Return the document of every direction: the text read, the predicted tokens, and their log-probabilities."""
    return {
        "format": LIKELIHOOD,
        "version": VERSION,
        "evalign": __version__,
        "metric": utf8(likelihoods.metric),
        "signature": utf8(likelihoods.signature),
        "scores": {name: float(value) for name, value in likelihoods.scores.items()},
        "lowest": round(MIN_LOG_PROB, DIGITS),
        "probability_bounds": list(PROBABILITY_BOUNDS),
        "directions": [_direction(name, likelihood) for name, likelihood in likelihoods.directions.items()],
        "flags": dict(likelihoods.counts),
    }


def _direction(name: str, likelihood: Likelihood) -> dict[str, Any]:
    source, target = name.split("-to-")
    return {
        "name": name,
        "mean": likelihood.score,
        "read": {"of": source, **_likelihood_side(likelihood.source)},
        "predicted": {"of": target, **_likelihood_side(likelihood.target)},
        "log_probs": np.round(likelihood.log_probs.astype(np.float64), DIGITS).tolist(),
        "flags": likelihood.counts,
    }


def _likelihood_side(tokens: Tokens) -> dict[str, Any]:
    return tokens_document(tokens) | {"cut": _cut(tokens) if tokens.dropped else None}


def _cut(tokens: Tokens) -> list[int]:
    """Return the widest span that no token covers: the part that was cut. A prompt after it is kept."""
    end = len(tokens.text.rstrip())
    spans = [(start, stop) for start, stop in tokens.offsets[~tokens.special].tolist() if start < stop]
    covered, widest = 0, [0, 0]
    for start, stop in [*spans, (end, end)]:
        if start - covered > widest[1] - widest[0]:
            widest = [covered, start]
        covered = max(covered, stop)
    return widest


MAX_ALIGNMENT_BYTES = 6_000_000  # in one file: about a thousand pairs of sentences
ROWS_PER_BLOCK = 64  # rows that are encoded together
Watch = Callable[[str, int | None], AbstractContextManager[Callable[[], object]]]
Scored = tuple[int, int, Row, int]  # index of the row, index of the metric, the row, index of its best reference


def row_alignments(
    metrics: Sequence[Metric],
    sources: Sequence[tuple[RowSource, Sequence[Row]]],
    segments: Sequence[Sequence[Segment]],
    max_bytes: int = MAX_ALIGNMENT_BYTES,
    watch: Watch = lambda _what, _total: nullcontext(lambda: None),
) -> dict[str, Any]:
    """Return alignment documents by index of row and metric (`rows`), and a sentence on which rows have one (`about`).

    Args:
        metrics: All metrics of the corpus document.
        sources: Row sources and their rows.
        segments: For each metric the segments in the order of the rows.
        max_bytes: Maximum size of all alignments.
        watch: Opens a progress bar with a title and a total.
    """
    aligning = [index for index, metric in enumerate(metrics) if metric.aligns]
    if not aligning:
        return {"rows": [], "about": "None of these metrics matches tokens, so no row has an alignment to show."}
    source_of_row = [number for number, (_, rows) in enumerate(sources) for _ in rows]
    texts = [row for _, rows in sources for row in rows]
    aligned_rows = _wanted(metrics, aligning, texts, segments)
    scorers: dict[tuple[int, int], TokenScorer] = {}
    entries: list[dict[str, Any]] = []
    left = max_bytes
    try:
        with watch("aligning", len(aligned_rows)) as advance:
            for block in blocks(aligned_rows, ROWS_PER_BLOCK):
                for key in dict.fromkeys((source_of_row[row], which) for row, which, _, _ in block):
                    if key not in scorers:
                        scorers[key] = _scorer(metrics[key[1]], sources[key[0]][0])
                    group = [scored for scored in block if (source_of_row[scored[0]], scored[1]) == key]
                    for entry in _aligned(scorers[key], str(metrics[key[1]]), group):
                        left -= len(json.dumps(entry, ensure_ascii=False).encode())
                        if left < 0:
                            return {"rows": entries, "about": _about(entries, aligned_rows, max_bytes)}
                        entries.append(entry)
                        advance()
    except EvalignError as error:  # rows scored on another machine, whose model is not available here
        return {"rows": [], "about": f"This file has no alignments: {error}"}
    return {"rows": entries, "about": _about(entries, aligned_rows, max_bytes)}


def _wanted(
    metrics: Sequence[Metric], aligning: Sequence[int], rows: Sequence[Row], segments: Sequence[Sequence[Segment]]
) -> list[Scored]:
    """Return all rows and metrics that can be aligned, rows with the worst rank under any metric first."""
    worst = np.full(len(rows), len(rows))
    for index in aligning:
        metric = metrics[index]
        sign = 1 if metric.higher_is_better else -1
        values = np.array([sign * segment.scores.get(metric.main, np.inf) for segment in segments[index]])
        worst = np.minimum(worst, np.argsort(np.argsort(values, kind="stable"), kind="stable"))
    return [
        (int(row), index, rows[row], segments[index][row].reference or 0)
        for row in np.argsort(worst, kind="stable")
        for index in aligning
        if segments[index][row].error is None and "empty" not in segments[index][row].counts and rows[row].references
    ]


def _scorer(metric: Metric, source: RowSource) -> TokenScorer:
    return aligning_metric(metric).scorer(source)


def _aligned(scorer: TokenScorer, spec: str, scored: Sequence[Scored]) -> Iterator[dict[str, Any]]:
    texts = [text for _, _, row, best in scored for text in (row.candidate, row.references[best])]
    candidates, references = scorer.weigh(texts)
    for row_index, metric_index, row, best in scored:
        try:
            alignment = scorer.align_texts(candidates[row.candidate], references[row.references[best]])
        except TextTooLongError:
            continue
        document = alignment_document({matching_name(alignment): alignment}, metric=spec, packed=True)
        yield {"row": row_index, "metric": metric_index, "alignment": document}


def _about(entries: Sequence[dict[str, Any]], wanted: Sequence[Scored], max_bytes: int) -> str:
    included = len({entry["row"] for entry in entries})
    total = len({row for row, *_ in wanted})
    if len(entries) == len(wanted):
        return f"This file has the alignments of all rows that can be aligned: {included:,} rows."
    return (
        f"This file has the alignments of the {included:,} worst of {total:,} rows, because it is limited to "
        f"{max_bytes / 1_000_000:g} MB of alignments; evalign serve and evalign align show the other rows."
    )
