"""Results of `evalign score` as a table for people, JSON and TSV for programs, LaTeX for papers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.analysis.scoring import Result
from evalign.metrics.baseline import Baseline
from evalign.types import Segment
from evalign.version import __version__

FORMATS = ("table", "json", "tsv", "latex")
FIELD_ORDER = ("precision", "recall", "f1", "score")
LATEX_SPECIAL = {char: f"\\{char}" for char in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}


def results_table(results: Sequence[Result]) -> RenderableType:
    """For the terminal: means, flags, and the signatures they need to be quoted with."""
    fields = field_names(results)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("system", overflow="fold")
    table.add_column("metric", overflow="fold")
    for name in fields:
        table.add_column(name, justify="right", no_wrap=True)
    pooled = any(result.pooled for result in results)
    if pooled:
        table.add_column("corpus", justify="right", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("flags", overflow="fold")
    for result in results:
        means = [f"{result.scores[name]:.4f}" if name in result.scores else "" for name in fields]
        flags = [f"{name}: {count}" for name, count in result.flags.items()]
        flags += [f"failed: {result.failed}"] if result.failed else []
        cells = [*means, *([_pooled(result)] if pooled else []), str(result.n), ", ".join(flags)]
        table.add_row(Text(result.system or "-"), Text(result.metric), *cells)
    signatures = dict.fromkeys(result.signature for result in results)
    return Group(table, Text(), *(Text(signature, style="dim", overflow="fold") for signature in signatures))


def results_json(results: Sequence[Result], segments: dict[int, list[dict[str, Any]]] | None = None) -> str:
    """The contract's JSON; `segments` by position of their result."""
    entries = [
        result.to_dict() | ({"segments": segments[place]} if segments is not None else {})
        for place, result in enumerate(results)
    ]
    return json.dumps({"evalign": __version__, "results": entries}, ensure_ascii=False, indent=2)


def results_tsv(results: Sequence[Result]) -> str:
    """One line per system and metric."""
    fields = _columns(results)
    lines = ["\t".join(["system", "metric", *fields, "n", "failed", "signature"])]
    for result in results:
        values = _values(result)
        means = [f"{values[name]:.6f}" if name in values else "" for name in fields]
        cells = [result.system, result.metric, *means, str(result.n), str(result.failed), result.signature]
        lines.append("\t".join(map(tsv_cell, cells)))
    return "\n".join(lines)


def segments_tsv(results: Sequence[Result], segments: Iterable[tuple[Result, Segment]]) -> str:
    """One line per row, system and metric."""
    fields = field_names(results)
    lines = ["\t".join(["system", "metric", "id", *fields, "flags", "error"])]
    for result, segment in segments:
        scores = [f"{segment.scores[name]:.6f}" if name in segment.scores else "" for name in fields]
        cells = [result.system, result.metric, segment.id, *scores, " ".join(segment.flags), segment.error or ""]
        lines.append("\t".join(map(tsv_cell, cells)))
    return "\n".join(lines)


def results_latex(results: Sequence[Result]) -> str:
    """A tabular for booktabs, with the signatures as comments."""
    fields = _columns(results)
    lines = [rf"\begin{{tabular}}{{ll{'r' * len(fields)}}}", r"\toprule"]
    lines += [" & ".join(["system", "metric", *(name.replace("_", " ") for name in fields)]) + r" \\", r"\midrule"]
    for result in results:
        values = _values(result)
        means = [f"{values[name]:.4f}" if name in values else "" for name in fields]
        lines.append(" & ".join([latex_text(result.system), latex_text(result.metric), *means]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines + [f"% {signature}" for signature in dict.fromkeys(r.signature for r in results)])


def field_names(results: Sequence[Result]) -> list[str]:
    """The fields that occur, the usual ones first."""
    present = dict.fromkeys(name for result in results for name in result.fields)
    return [name for name in FIELD_ORDER if name in present] + [name for name in present if name not in FIELD_ORDER]


def baseline_table(baseline: Baseline) -> Table:
    """What unrelated text scores, layer by layer; 98 of 100 unrelated pairs lie below the last column."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("layer", "precision", "recall", "f1", "f1 of 98 %"):
        table.add_column(name, justify="right", no_wrap=True)
    for layer, row in baseline.by_layer.items():
        table.add_row(layer, *(f"{value:.4f}" for value in row), f"{baseline.quantiles[layer][2][-2]:.4f}")
    return table


def corpus_name(name: str) -> str:
    """The column of a corpus score that is not a mean."""
    return f"corpus_{name}"


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
    return fields + [corpus_name(name) for name in fields if name in present]


def _values(result: Result) -> dict[str, float]:
    return result.scores | {corpus_name(name): value for name, value in result.pooled.items()}


def tsv_cell(value: str) -> str:
    """A value that stays in its cell."""
    return value.replace("\t", " ").replace("\n", " ").replace("\r", " ")


def latex_text(value: str) -> str:
    """A value that LaTeX prints as it is."""
    return "".join(LATEX_SPECIAL.get(char, char) for char in value)
