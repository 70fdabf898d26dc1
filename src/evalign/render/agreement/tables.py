"""Agreement with people as a table for people, JSON and TSV for programs, LaTeX for papers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.analysis.agreement import Agreement, Judgement, Plan
from evalign.render.score_tables import latex_text, tsv_cell
from evalign.stats.estimate import Estimate
from evalign.version import __version__


def agreement_table(agreement: Agreement) -> RenderableType:
    """One table per aspect, best metric first; then what a reader must know."""
    parts: list[RenderableType] = []
    for aspect in agreement.aspects:
        judged = _of(agreement, aspect)
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("rank", justify="right", no_wrap=True)
        table.add_column("metric", overflow="fold")
        for statistic in agreement.plan.statistics:
            table.add_column(statistic, justify="right", no_wrap=True)
        table.add_column(counted(agreement.plan), justify="right", no_wrap=True)
        for one in judged:
            cells = [interval(one.estimates[statistic]) for statistic in agreement.plan.statistics]
            rank = "" if one.rank is None else str(one.rank)
            table.add_row(rank, Text(one.metric), *cells, str(next(iter(one.estimates.values())).n))
        parts += [_title(agreement, aspect), table, Text()]
        if judged and agreement.plan.by is not None:
            by = f"{agreement.plan.statistics[0]} by {agreement.plan.by}"
            parts += [Text(by, style="bold"), _groups_table(agreement, judged), Text()]
    parts += [Text(line, style="dim", overflow="fold") for line in notes(agreement)]
    return Group(*parts)


def agreement_json(agreement: Agreement) -> str:
    """Everything, for programs."""
    plan = agreement.plan
    document = {
        "evalign": __version__,
        "rows": len(agreement.table.rows),
        "left_out": dict(agreement.table.left_out),
        "level": plan.level,
        "by": plan.by,
        "document": plan.document,
        "samples": plan.resampling.samples,
        "seed": plan.resampling.seed,
        "confidence": plan.resampling.confidence,
        "test": plan.test,
        "correction": plan.correction,
        "signatures": dict(agreement.table.signatures),
        "judgements": [
            {
                "aspect": one.aspect,
                "metric": one.metric,
                "rank": one.rank,
                "statistics": {name: _plain(estimate) for name, estimate in one.estimates.items()},
                "groups": {
                    name: {group: _plain(estimate) for group, estimate in groups.items()}
                    for name, groups in one.groups.items()
                },
            }
            for one in agreement.judgements
        ],
        "p_values": {
            aspect: {"metrics": names, "better": matrix.tolist()}
            for aspect, (names, matrix) in agreement.p_values.items()
        },
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def agreement_tsv(agreement: Agreement) -> str:
    """One line per aspect and metric."""
    statistics = agreement.plan.statistics
    columns = [f"{name}{end}" for name in statistics for end in ("", "_low", "_high")]
    lines = ["\t".join(["aspect", "rank", "metric", *columns, "n"])]
    for one in agreement.judgements:
        values = [value for name in statistics for value in _ends(one.estimates[name])]
        rank = "" if one.rank is None else str(one.rank)
        numbers = ["" if value is None else f"{value:.6f}" for value in values]
        lines.append("\t".join([tsv_cell(one.aspect), rank, tsv_cell(one.metric), *numbers, str(_n(one))]))
    return "\n".join(lines)


def agreement_latex(agreement: Agreement) -> str:
    """A tabular for booktabs; the best cluster of each aspect is bold."""
    statistics = agreement.plan.statistics
    lines = [rf"\begin{{tabular}}{{ll{'r' * len(statistics)}}}", r"\toprule"]
    lines += [" & ".join(["aspect", "metric", *statistics]) + r" \\", r"\midrule"]
    for one in agreement.judgements:
        cells = []
        for name in statistics:
            low, high = one.estimates[name].low, one.estimates[name].high
            shown = _value(one.estimates[name])
            shown = rf"\textbf{{{shown}}}" if one.rank == 1 and name == statistics[0] else shown
            cells.append(shown + ("" if low is None or high is None else rf" {{\scriptsize [{low:.3f}, {high:.3f}]}}"))
        lines.append(" & ".join([latex_text(one.aspect), latex_text(one.metric), *cells]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *(f"% {line}" for line in notes(agreement))])


def interval(estimate: Estimate) -> str:
    """0.643 [0.621, 0.664], or a dash."""
    if estimate.low is None or estimate.high is None:
        return _value(estimate)
    return f"{_value(estimate)} [{estimate.low:.3f}, {estimate.high:.3f}]"


def counted(plan: Plan) -> str:
    """What an estimate's `n` counts."""
    if plan.by is not None:
        return "groups"
    return {"segment": "rows", "system": "systems", "summary": "documents"}[plan.level]


def notes(agreement: Agreement) -> list[str]:
    """How the numbers were made, who was left out, what has no value, and the signatures."""
    plan, table = agreement.plan, agreement.table
    made = f"{plan.resampling.confidence:.0%} intervals from {plan.resampling.samples} resamples of "
    made += f"{plan.document or 'row'}s, seed {plan.resampling.seed}"
    if agreement.p_values:
        made += (
            f"; equal ranks are not told apart by the {plan.test} test on {plan.statistics[0]} "
            f"(p < {plan.alpha:g}, {plan.correction})"
        )
    lines = [made]
    lines += [f"left out: {count} rows, {why}" for why, count in table.left_out.items()]
    for one in agreement.judgements:
        for name, estimate in one.estimates.items():
            lines += [f"{one.metric}, {one.aspect}, {name}: {flag}" for flag in estimate.flags]
        for groups in one.groups.values():
            lines += [f"{one.metric}, {one.aspect}, {group}: {flag}" for group, e in groups.items() for flag in e.flags]
    return [*dict.fromkeys(lines), *dict.fromkeys(table.signatures.values())]


def _groups_table(agreement: Agreement, judged: Sequence[Judgement]) -> Table:
    first = agreement.plan.statistics[0]
    names = list(judged[0].groups.get(first, {}))
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("metric", overflow="fold")
    for name in names:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for one in judged:
        table.add_row(Text(one.metric), *(_value(one.groups[first][name]) for name in names))
    return table


def _title(agreement: Agreement, aspect: str) -> Text:
    plan = agreement.plan
    mean = f", mean over {plan.by}" if plan.by is not None else ""
    return Text(f"{aspect}: {plan.level} level{mean}, {len(agreement.table.rows)} rows", style="bold")


def _of(agreement: Agreement, aspect: str) -> list[Judgement]:
    return [one for one in agreement.judgements if one.aspect == aspect]


def _value(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{estimate.value:.3f}"


def _n(judgement: Judgement) -> int:
    return next(iter(judgement.estimates.values())).n


def _ends(estimate: Estimate) -> tuple[float | None, float | None, float | None]:
    return estimate.value, estimate.low, estimate.high


def _plain(estimate: Estimate) -> dict[str, Any]:
    plain = {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
    return plain | ({"flags": list(estimate.flags)} if estimate.flags else {})
