"""Tables of agreement with people: terminal, JSON, TSV, LaTeX and Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from evalign.analysis.agreement import SOFT, Agreement, MetricAgreement
from evalign.render.tables import (
    TextTable,
    Writers,
    latex_tabular,
    markdown_escaped,
    markdown_notes,
    markdown_table,
    metric_label,
    signature_line,
    terminal_table,
    tsv,
)
from evalign.stats.estimate import Estimate
from evalign.stats.pairs import PAIR_STATISTICS
from evalign.version import __version__

Cells = tuple[list[str], list[list[str]]]  # column names and lines


def agreement_table(agreement: Agreement) -> RenderableType:
    """Return one table per aspect, best metric first, and the notes."""
    plan = agreement.plan
    mean = f", mean over {plan.within}" if plan.within is not None else ""
    parts: list[RenderableType] = []
    for aspect in agreement.aspects:
        title = f"{aspect}: {plan.level} level{mean}, {len(agreement.table.rows)} rows"
        columns, lines = estimate_cells(agreement, aspect)
        parts += [Text(title, style="bold"), terminal_table(columns, "nf" + "n" * (len(columns) - 2), lines), Text()]
        if plan.within is not None:
            columns, lines = group_cells(agreement, aspect)
            by = Text(f"{plan.statistics[0]} by {plan.within}", style="bold")
            parts += [by, terminal_table(columns, "f" + "n" * (len(columns) - 1), lines), Text()]
    return Group(*parts, *map(signature_line, notes(agreement)))


def agreement_json(agreement: Agreement) -> str:
    """Return all results as JSON."""
    plan = agreement.plan
    document = {
        "evalign": __version__,
        "rows": len(agreement.table.rows),
        "left_out": dict(agreement.table.left_out),
        "level": plan.level,
        "by": plan.within,
        "document": plan.document,
        "item": plan.item,
        "average": plan.average,
        "fewest": plan.fewest,
        "constant": plan.constant,
        "samples": plan.resampling.samples,
        "seed": plan.resampling.seed,
        "confidence": plan.resampling.confidence,
        "test": plan.test,
        "correction": plan.correction,
        "signatures": dict(agreement.table.signatures),
        "judgements": [
            {
                "aspect": judgement.aspect,
                "metric": judgement.metric,
                "rank": judgement.rank,
                "statistics": _plain(judgement.estimates),
                "groups": {name: _plain(groups) for name, groups in judgement.groups.items()},
            }
            for judgement in agreement.judgements
        ],
        "p_values": {
            aspect: {"metrics": names, "better": matrix.tolist()}
            for aspect, (names, matrix) in agreement.p_values.items()
        },
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def agreement_tsv(agreement: Agreement) -> str:
    """Return TSV with one line per aspect and metric."""
    statistics = agreement.plan.statistics
    columns = [f"{name}{end}" for name in statistics for end in ("", "_low", "_high")]
    lines = []
    for judgement in agreement.judgements:
        estimates = [judgement.estimates[name] for name in statistics]
        numbers = [number for estimate in estimates for number in (estimate.value, estimate.low, estimate.high)]
        signature = agreement.table.signatures.get(judgement.metric)
        lines.append([judgement.aspect, judgement.rank, judgement.metric, *numbers, _n(judgement), signature])
    return tsv(["aspect", "rank", "metric", *columns, "n", "signature"], lines)


def agreement_latex(agreement: Agreement) -> str:
    """Return a LaTeX tabular (booktabs); the best cluster of each aspect is bold."""
    statistics = agreement.plan.statistics
    lines = []
    for judgement in agreement.judgements:
        cells: list[str] = []
        for estimate in (judgement.estimates[name] for name in statistics):
            value = rf"\textbf{{{_value(estimate)}}}" if judgement.rank == 1 and not cells else _value(estimate)
            cells.append(value + (rf" {{\scriptsize {ends}}}" if (ends := _ends(estimate)) else ""))
        lines.append([judgement.aspect, _label(agreement, judgement.metric), *cells])
    return latex_tabular(["aspect", "metric", *statistics], "ll" + "r" * len(statistics), [lines], notes(agreement))


def agreement_markdown(agreement: Agreement) -> str:
    """Return one Markdown table per aspect, best metric first, and the notes."""
    blocks = []
    for aspect in agreement.aspects:
        columns, lines = estimate_cells(agreement, aspect)
        labelled = tuple((rank, _label(agreement, metric), *cells) for rank, metric, *cells in lines)
        content = TextTable("", tuple(columns), labelled, 2)
        blocks += [f"**{markdown_escaped(aspect)}: {agreement.plan.level} level**", markdown_table(content)]
    return "\n\n".join([*blocks, markdown_notes(notes(agreement)).strip()])


def _label(agreement: Agreement, metric: str) -> str:
    """Return a metric's name with its model; scores of other programs keep their name."""
    return metric_label(metric) if metric in agreement.table.signatures else metric


FORMATS: Writers[[Agreement]] = {
    "table": agreement_table,
    "json": agreement_json,
    "tsv": agreement_tsv,
    "latex": agreement_latex,
    "markdown": agreement_markdown,
}


def estimate_cells(agreement: Agreement, aspect: str, missing: str = "") -> Cells:
    """Return columns and lines of one aspect's table; `missing` is the rank of metrics without one."""
    plan = agreement.plan
    lines = [
        [missing if judgement.rank is None else str(judgement.rank), judgement.metric,
         *(judgement.estimates[name].text() for name in plan.statistics), str(_n(judgement))]
        for judgement in of_aspect(agreement, aspect)
    ]  # fmt: skip
    unit = {"segment": "rows", "system": "systems", "summary": "documents"}[plan.level]
    if plan.statistics[0] in PAIR_STATISTICS and plan.level == "segment":
        unit = "items"
    elif plan.statistics[0] == SOFT:
        unit = "pairs"
    return ["rank", "metric", *plan.statistics, unit if plan.within is None else "groups"], lines


def group_cells(agreement: Agreement, aspect: str, missing: str = "-") -> Cells:
    """Return columns and lines with each metric's value in every group, for the first statistic."""
    first, judgements = agreement.plan.statistics[0], of_aspect(agreement, aspect)
    names = list(judgements[0].groups.get(first, {}))
    lines = [
        [judgement.metric, *(_value(judgement.groups[first][name], missing) for name in names)]
        for judgement in judgements
    ]
    return ["metric", *names], lines


def of_aspect(agreement: Agreement, aspect: str) -> list[MetricAgreement]:
    """Return the results of one aspect, best metric first."""
    return [judgement for judgement in agreement.judgements if judgement.aspect == aspect]


def notes(agreement: Agreement) -> list[str]:
    """Return notes on resampling and tests, rows left out, undefined values, and the signatures."""
    plan, table = agreement.plan, agreement.table
    method = f"{plan.resampling.confidence:.0%} intervals from {plan.resampling.samples} resamples of "
    of_items = plan.level == "segment" and plan.statistics[0] in PAIR_STATISTICS
    method += f"{plan.document or ('item' if of_items else 'row')}s, seed {plan.resampling.seed}"
    if agreement.p_values:
        method += (
            f"; equal ranks do not differ significantly by the {plan.test} test on {plan.statistics[0]} "
            f"(p < {plan.alpha:g}, {plan.correction})"
        )
    lines = [method, *(f"left out: {count} rows, {why}" for why, count in table.left_out.items())]
    for judgement in agreement.judgements:
        for estimates in (judgement.estimates, *judgement.groups.values()):
            for name, estimate in estimates.items():
                lines += [f"{judgement.metric}, {judgement.aspect}, {name}: {flag}" for flag in estimate.flags]
    return [*dict.fromkeys(lines), *dict.fromkeys(table.signatures.values())]


def _value(estimate: Estimate, missing: str = "-") -> str:
    return missing if estimate.value is None else f"{estimate.value:.3f}"


def _ends(estimate: Estimate) -> str:
    return "" if estimate.low is None or estimate.high is None else f"[{estimate.low:.3f}, {estimate.high:.3f}]"


def _n(judgement: MetricAgreement) -> int:
    return next(iter(judgement.estimates.values())).n


def _plain(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    return {
        name: {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
        | ({"flags": list(estimate.flags)} if estimate.flags else {})
        for name, estimate in estimates.items()
    }
