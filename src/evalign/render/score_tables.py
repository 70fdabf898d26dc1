"""Tables of the results of `evalign score`: terminal, JSON, TSV, LaTeX and Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.core import Segment
from evalign.core.totals import Result
from evalign.metrics.baseline import Baseline
from evalign.render.tables import (
    TextTable,
    Writers,
    interval_text,
    latex_tabular,
    markdown_notes,
    markdown_table,
    metric_label,
    score_digits,
    score_text,
    signature_line,
    terminal_table,
    tsv,
)
from evalign.version import __version__

FIELD_ORDER = ("precision", "recall", "f1", "score")
ScoredRow = tuple[Result, Segment]


def results_table(results: Sequence[Result]) -> RenderableType:
    """Return a terminal table with means and flags, and the signatures to quote them with."""
    fields, pooled = field_names(results), any(result.pooled for result in results)
    columns = ["system", "metric", *fields, *(["corpus"] if pooled else []), "rows", "flags"]
    lines = []
    for result in results:
        means = [_mean(result, name) for name in fields]
        flags = [f"{name}: {count}" for name, count in result.flags.items()]
        flags += [f"failed: {result.failed}"] if result.failed else []
        cells = [*means, *([_pooled(result)] if pooled else []), str(result.n), ", ".join(flags)]
        lines.append([result.system or "-", result.metric, *cells])
    table = terminal_table(columns, "ff" + "n" * (len(columns) - 3) + "f", lines)
    return Group(table, Text(), *map(signature_line, _signatures(results)))


def results_json(results: Sequence[Result]) -> str:
    """Return the JSON document of all results."""
    return _json([result.to_dict() for result in results])


def results_tsv(results: Sequence[Result]) -> str:
    """Return TSV with one line per system and metric."""
    fields, lines = _columns(results), []
    for result in results:
        values = {name: score_text(value, result.metric, more=2) for name, value in _values(result).items()}
        cells = map(values.get, fields)
        lines.append((result.system, result.metric, *cells, result.n, result.failed, result.signature))
    return tsv(["system", "metric", *fields, "n", "failed", "signature"], lines)


def results_latex(results: Sequence[Result]) -> str:
    """Return a LaTeX tabular (booktabs), with the signatures as comments."""
    columns, lines = _text_cells(results)
    return latex_tabular(columns, "ll" + "r" * (len(columns) - 2), [lines], _signatures(results))


def results_markdown(results: Sequence[Result]) -> str:
    """Return a Markdown table, with the signatures as a list below it."""
    columns, lines = _text_cells(results)
    content = TextTable("", tuple(columns), tuple(map(tuple, lines)), 2)
    return markdown_table(content) + "\n" + markdown_notes(_signatures(results))


def segments_json(results: Sequence[Result], segments: Sequence[ScoredRow]) -> str:
    """Return the JSON document of all results, each with the scores of its rows."""
    return _json([
        result.to_dict() | {"segments": [segment.to_dict() for owner, segment in segments if owner is result]}
        for result in results
    ])  # fmt: skip


def segments_tsv(results: Sequence[Result], segments: Sequence[ScoredRow]) -> str:
    """Return TSV with one line per row, system and metric."""
    fields, lines = field_names(results), []
    digits = {result.metric: score_digits(result.metric) + 2 for result in results}  # not of each of many rows
    for result, segment in segments:
        scores = {name: f"{value:.{digits[result.metric]}f}" for name, value in segment.scores.items()}
        cells = map(scores.get, fields)
        lines.append((result.system, result.metric, segment.id, *cells, " ".join(segment.flags), segment.error))
    return tsv(["system", "metric", "id", *fields, "flags", "error"], lines)


FORMATS: Writers[[Sequence[Result]]] = {
    "table": results_table,
    "json": results_json,
    "tsv": results_tsv,
    "latex": results_latex,
    "markdown": results_markdown,
}
SEGMENT_FORMATS: Writers[[Sequence[Result], Sequence[ScoredRow]]] = {"json": segments_json, "tsv": segments_tsv}


def field_names(results: Sequence[Result]) -> list[str]:
    """Return the fields of all results, the standard fields first."""
    present = dict.fromkeys(name for result in results for name in result.fields)
    return [name for name in FIELD_ORDER if name in present] + [name for name in present if name not in FIELD_ORDER]


def baseline_table(baseline: Baseline) -> Table:
    """Return the mean scores of unrelated text per layer, and the F1 that 98 % of unrelated pairs stay below."""
    lines = [
        [layer, *(f"{value:.4f}" for value in (*row, baseline.quantiles[layer][2][-2]))]
        for layer, row in baseline.by_layer.items()
    ]
    return terminal_table(("layer", "precision", "recall", "f1", "f1 of 98 %"), "nnnnn", lines)


def _json(entries: list[dict[str, Any]]) -> str:
    return json.dumps({"evalign": __version__, "results": entries}, ensure_ascii=False, indent=2)


def _mean(result: Result, name: str) -> str:
    """Return a field's mean with its interval, if it has one."""
    if name not in result.scores:
        return ""
    interval = result.mean_intervals.get(name)
    ends = f"\n{interval_text(interval, result.metric)}" if interval else ""
    return score_text(result.scores[name], result.metric) + ends


def _pooled(result: Result) -> str:
    """Return corpus scores, named if there are several, with intervals if they have any."""
    lines = []
    for name, value in result.pooled.items():
        interval = result.intervals.get(name)
        ends = interval_text(interval, result.metric) if interval else ""
        score = score_text(value, result.metric)
        lines.append(f"{name if len(result.pooled) > 1 else ''} {score} {ends}".strip())
    return "\n".join(lines)


def _columns(results: Sequence[Result]) -> list[str]:
    """Return the columns: mean fields, then corpus scores, with the ends of intervals."""
    present = {name for result in results for name in result.pooled}
    fields = field_names(results)
    resampled = {name for result in results for name in _intervals(result)}
    names = fields + [_corpus_name(name) for name in fields if name in present]
    return [column for name in names for column in (name, *(_ends(name) if name in resampled else ()))]


def _text_cells(results: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Return column names and lines: means, corpus scores and the ends of intervals."""
    fields = _columns(results)
    lines = []
    for result in results:
        values = _values(result)
        means = [score_text(values[name], result.metric) if name in values else "" for name in fields]
        lines.append([result.system, metric_label(result.metric), *means])
    return ["system", "metric", *(name.replace("_", " ") for name in fields)], lines


def _ends(name: str) -> tuple[str, str]:
    """Return the columns of an interval's ends."""
    return f"{name}_low", f"{name}_high"


def _intervals(result: Result) -> dict[str, tuple[float, float]]:
    """Return the resampled intervals by column; those of an original program are in JSON and the terminal only."""
    pooled = {_corpus_name(name): ends for name, ends in result.pooled_intervals.items()}
    return result.mean_intervals | (pooled if result.intervals == result.pooled_intervals else {})


def _values(result: Result) -> dict[str, float]:
    intervals = _intervals(result).items()
    ends = dict(pair for name, values in intervals for pair in zip(_ends(name), values, strict=True))
    return result.scores | {_corpus_name(name): value for name, value in result.pooled.items()} | ends


def _corpus_name(name: str) -> str:
    """Return the column of a corpus score that is not a mean."""
    return f"corpus_{name}"


def _signatures(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.signature for result in results))
