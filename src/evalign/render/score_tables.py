"""Results of `evalign score`: a table for the terminal, JSON and TSV for programs, LaTeX for papers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.analysis.scoring import Result
from evalign.metrics.baseline import Baseline
from evalign.render.tables import Writers, latex_tabular, signature_line, terminal_table, tsv
from evalign.types import Segment
from evalign.version import __version__

FIELD_ORDER = ("precision", "recall", "f1", "score")
ScoredRow = tuple[Result, Segment]


def results_table(results: Sequence[Result]) -> RenderableType:
    """For the terminal: means, flags, and the signatures they need to be quoted with."""
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
    """The JSON document of all results."""
    return _json([result.to_dict() for result in results])


def results_tsv(results: Sequence[Result]) -> str:
    """One line per system and metric."""
    fields = _columns(results)
    lines = [
        (result.system, result.metric, *map(_values(result).get, fields), result.n, result.failed, result.signature)
        for result in results
    ]
    return tsv(["system", "metric", *fields, "n", "failed", "signature"], lines)


def results_latex(results: Sequence[Result]) -> str:
    """A tabular for booktabs, with the signatures as comments."""
    fields = _columns(results)
    lines = []
    for result in results:
        values = _values(result)
        means = [f"{values[name]:.4f}" if name in values else "" for name in fields]
        lines.append([result.system, result.metric, *means])
    columns = ["system", "metric", *(name.replace("_", " ") for name in fields)]
    return latex_tabular(columns, "ll" + "r" * len(fields), [lines], _signatures(results))


def segments_json(results: Sequence[Result], segments: Sequence[ScoredRow]) -> str:
    """The JSON document of all results, each with the scores of its rows."""
    return _json([
        result.to_dict() | {"segments": [segment.to_dict() for owner, segment in segments if owner is result]}
        for result in results
    ])  # fmt: skip


def segments_tsv(results: Sequence[Result], segments: Sequence[ScoredRow]) -> str:
    """One line per row, system and metric."""
    fields = field_names(results)
    lines = [
        (result.system, result.metric, segment.id, *map(segment.scores.get, fields), " ".join(segment.flags),
         segment.error)
        for result, segment in segments
    ]  # fmt: skip
    return tsv(["system", "metric", "id", *fields, "flags", "error"], lines)


FORMATS: Writers[[Sequence[Result]]] = {
    "table": results_table,
    "json": results_json,
    "tsv": results_tsv,
    "latex": results_latex,
}
SEGMENT_FORMATS: Writers[[Sequence[Result], Sequence[ScoredRow]]] = {"json": segments_json, "tsv": segments_tsv}


def field_names(results: Sequence[Result]) -> list[str]:
    """The fields that occur, the usual ones first."""
    present = dict.fromkeys(name for result in results for name in result.fields)
    return [name for name in FIELD_ORDER if name in present] + [name for name in present if name not in FIELD_ORDER]


def baseline_table(baseline: Baseline) -> Table:
    """What unrelated text scores, layer by layer; 98 of 100 unrelated pairs lie below the last column."""
    lines = [
        [layer, *(f"{value:.4f}" for value in (*row, baseline.quantiles[layer][2][-2]))]
        for layer, row in baseline.by_layer.items()
    ]
    return terminal_table(("layer", "precision", "recall", "f1", "f1 of 98 %"), "nnnnn", lines)


def _json(entries: list[dict[str, Any]]) -> str:
    return json.dumps({"evalign": __version__, "results": entries}, ensure_ascii=False, indent=2)


def _mean(result: Result, name: str) -> str:
    """A field's mean with its interval, if there is one."""
    ends = "\n[{:.4f}, {:.4f}]".format(*result.mean_intervals[name]) if name in result.mean_intervals else ""
    return f"{result.scores[name]:.4f}{ends}" if name in result.scores else ""


def _pooled(result: Result) -> str:
    """Corpus scores, by name where there are several, with their intervals where there are any."""
    lines = []
    for name, value in result.pooled.items():
        ends = "[{:.4f}, {:.4f}]".format(*result.intervals[name]) if name in result.intervals else ""
        lines.append(f"{name if len(result.pooled) > 1 else ''} {value:.4f} {ends}".strip())
    return "\n".join(lines)


def _columns(results: Sequence[Result]) -> list[str]:
    """Mean fields, then the corpus scores of those that have them."""
    present = {name for result in results for name in result.pooled}
    fields = field_names(results)
    resampled = {name for result in results for name in _intervals(result)}
    names = fields + [_corpus_name(name) for name in fields if name in present]
    return [column for name in names for column in (name, *(_ends(name) if name in resampled else ()))]


def _ends(name: str) -> tuple[str, str]:
    """The columns of an interval's ends."""
    return f"{name}_low", f"{name}_high"


def _intervals(result: Result) -> dict[str, tuple[float, float]]:
    """The resampled intervals by column; those of an original program are in JSON and in the table only."""
    pooled = {_corpus_name(name): ends for name, ends in result.pooled_intervals.items()}
    return result.mean_intervals | (pooled if result.intervals == result.pooled_intervals else {})


def _values(result: Result) -> dict[str, float]:
    intervals = _intervals(result).items()
    ends = dict(pair for name, values in intervals for pair in zip(_ends(name), values, strict=True))
    return result.scores | {_corpus_name(name): value for name, value in result.pooled.items()} | ends


def _corpus_name(name: str) -> str:
    """The column of a corpus score that is not a mean."""
    return f"corpus_{name}"


def _signatures(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.signature for result in results))
