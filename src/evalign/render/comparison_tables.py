"""Tables of a comparison of systems: terminal (with examples), JSON, TSV, LaTeX and Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalign.analysis.comparison_results import (
    Example,
    MetricComparison,
    Regression,
    SystemComparison,
    SystemDifference,
    SystemScore,
)
from evalign.render.tables import (
    TextTable,
    Writers,
    interval_text,
    latex_tabular,
    markdown_notes,
    markdown_table,
    metric_label,
    score_text,
    signature_line,
    terminal_table,
    tsv,
)
from evalign.render.terminal import visible

MAX_CHARACTERS = 240  # of a text in the terminal
CONTEXT_CHARACTERS = 40  # before the first difference of two long texts
TSV_COLUMNS = (
    "metric", "field", "system", "score", "low", "high", "difference", "difference_low", "difference_high",
    "p_bootstrap", "p_randomisation", "wins", "losses", "ties", "rank", "n", "failed", "signature",
)  # fmt: skip
TSV_SCORES = TSV_COLUMNS[3:9]
P_HEADERS = {"bootstrap": "p boot-\nstrap", "randomisation": "p random-\nisation"}  # 80 columns are enough
Regressions = Sequence[Regression] | None  # losses beyond the limits, if there are limits


def comparison_table(comparison: SystemComparison, _: Regressions = None) -> RenderableType:
    """Return a terminal table per metric with the most different rows, the legend and the signatures."""
    parts: list[RenderableType] = []
    for metric in comparison.metrics:
        parts += [_title(metric), _table(metric, comparison), *_flags(metric), Text()]
        for system in metric.systems:
            if system.versus is not None and system.versus.examples:
                parts += [_examples(metric, system, system.versus, comparison.baseline), Text()]
    signatures = dict.fromkeys(signature for metric in comparison.metrics for signature in metric.signatures)
    parts.append(Text(_legend(comparison), style="dim"))
    return Group(*parts, Text(), *map(signature_line, signatures))


def comparison_json(comparison: SystemComparison, worse: Regressions = None) -> str:
    """Return `SystemComparison.to_dict` as JSON, with the losses beyond the limits."""
    document = comparison.to_dict()
    if worse is not None:
        document["worse"] = [
            {
                "system": regression.system,
                "metric": regression.metric,
                "worse_by": regression.worse_by,
                "limit": regression.limit,
                "p": regression.p_value,
                "significant": regression.significant,
            }
            for regression in worse
        ]
    return json.dumps(document, ensure_ascii=False, indent=2)


def comparison_tsv(comparison: SystemComparison, _: Regressions = None) -> str:
    """Return TSV with one line per metric and system; the baseline has no difference."""
    lines = []
    for metric in comparison.metrics:
        for system in metric.systems:
            cells: dict[str, Any] = {"metric": metric.metric, "field": metric.field, "signature": metric.signatures[0]}
            cells |= {"n": metric.n, "failed": metric.failed} | system.to_dict()
            cells |= {f"p_{test}": p for test, p in cells.get("p", {}).items()}
            scores = {name: cells[name] for name in TSV_SCORES if cells.get(name) is not None}
            cells |= {name: score_text(value, metric.metric, more=2) for name, value in scores.items()}
            lines.append([cells.get(name) for name in TSV_COLUMNS])
    return tsv(TSV_COLUMNS, lines)


def comparison_latex(comparison: SystemComparison, _: Regressions = None) -> str:
    """Return a LaTeX tabular (booktabs); a star marks differences that are significant by all tests."""
    tests, ranked = comparison.plan.tests, _ranked(comparison.metrics)
    columns = ["metric", "system", "score", r"95\,\% interval", "difference", *(f"$p$ ({test})" for test in tests)]
    columns += ["wins/losses/ties", *(["rank"] if ranked else [])]
    groups = [
        [_latex_line(system, metric, comparison, ranked) for system in metric.systems] for metric in comparison.metrics
    ]
    comments = _legend(comparison).splitlines()
    comments += [signature for metric in comparison.metrics for signature in metric.signatures]
    return latex_tabular(columns, "llrl" + "r" * (len(columns) - 4), groups, comments)


def comparison_markdown(comparison: SystemComparison, _: Regressions = None) -> str:
    """Return a Markdown table; a star marks differences that are significant by all tests."""
    tests, ranked = comparison.plan.tests, _ranked(comparison.metrics)
    columns = ("metric", "system", "score", "95 % interval", "difference", *(f"p ({test})" for test in tests),
               "wins/losses/ties", *(("rank",) if ranked else ()))  # fmt: skip
    lines = []
    for metric in comparison.metrics:
        for system in metric.systems:
            versus = system.versus
            star = "*" if versus is not None and versus.p_value < comparison.plan.alpha else ""
            difference = "" if versus is None else score_text(versus.difference, metric.metric, sign="+") + star
            rank = (str(system.rank),) if ranked else ()
            name, score = metric_label(metric.metric), score_text(system.score, metric.metric)
            cells = name, system.system, score, _interval(system, metric.metric), difference
            lines.append((*cells, *_tested(versus, comparison), *rank))
    notes = [*_legend(comparison).splitlines(), *(name for metric in comparison.metrics for name in metric.signatures)]
    return markdown_table(TextTable("", columns, tuple(lines), 2)) + "\n" + markdown_notes(notes)


FORMATS: Writers[[SystemComparison, Regressions]] = {
    "table": comparison_table,
    "json": comparison_json,
    "tsv": comparison_tsv,
    "latex": comparison_latex,
    "markdown": comparison_markdown,
}


def samples_for_ranks(comparison: SystemComparison) -> int:
    """Return the resamples that ranks need: Holm multiplies the smallest p, 1 / (1 + samples), by the pairs."""
    systems = max(len(metric.systems) for metric in comparison.metrics)
    pairs = systems * (systems - 1) // 2
    return int(pairs / comparison.plan.alpha) if comparison.plan.correction == "holm" else 0


def shortened(first: str, second: str = "") -> str:
    """Shorten a text to one line, starting shortly before its first difference to the second text."""
    text, peer = " ".join(first.split()), " ".join(second.split())
    same = next((index for index, pair in enumerate(zip(text, peer, strict=False)) if pair[0] != pair[1]), 0)
    start = 0
    if len(text) > MAX_CHARACTERS and same > 2 * CONTEXT_CHARACTERS:
        start = text.rfind(" ", 0, same - CONTEXT_CHARACTERS) + 1
    stop = len(text)
    if stop - start > MAX_CHARACTERS:
        stop = max(text.rfind(" ", start, start + MAX_CHARACTERS), start + MAX_CHARACTERS // 2)
    return visible(f"{'… ' if start else ''}{text[start:stop]}{' …' if stop < len(text) else ''}")


def _title(metric: MetricComparison) -> Text:
    direction = "higher" if metric.higher_is_better else "lower"
    left_out = f", {metric.failed} left out because they failed" if metric.failed else ""
    about = f"   {metric.field}, {direction} is better, {metric.n} rows{left_out}"
    return Text.assemble((metric.metric, "bold"), (about, "dim"))


def _table(metric: MetricComparison, comparison: SystemComparison) -> Table:
    ranked = _ranked([metric])
    columns = ["system", "score", "95 % interval", "difference", *(P_HEADERS[test] for test in comparison.plan.tests)]
    columns += ["won/lost/\ntied", *(["rank"] if ranked else [])]
    lines = [
        [visible(system.system) or "-", score_text(system.score, metric.metric), _interval(system, metric.metric),
         *_versus(system.versus, metric, comparison), *([str(system.rank)] if ranked else [])]
        for system in metric.systems
    ]  # fmt: skip
    table = terminal_table(columns, "fnrn" + "n" * (len(columns) - 4), lines)
    for index, column in enumerate(table.columns):
        column.vertical, column.min_width = "bottom", 4 if index else 8
    return table


def _flags(metric: MetricComparison) -> list[Text]:
    """Return one line per flagged system: a column would not fit."""
    flags = {system.system: ", ".join(f"{name}: {n}" for name, n in system.flags.items()) for system in metric.systems}
    return [Text(f"{visible(system) or '-'}   {counts}", style="dim") for system, counts in flags.items() if counts]


def _versus(
    versus: SystemDifference | None, metric: MetricComparison, comparison: SystemComparison
) -> list[Text | str]:
    if versus is None:
        return [Text("baseline", style="dim"), *_tested(versus, comparison)]
    difference = Text(score_text(versus.difference, metric.metric, sign="+") + " ")
    if versus.p_value < comparison.plan.alpha:
        # Blue and orange differ for colour-blind readers; sign and star repeat the information.
        better = (versus.difference > 0) == metric.higher_is_better
        difference = Text(f"{difference.plain.strip()}*", style="bold blue" if better else "bold dark_orange")
    return [difference, *_tested(versus, comparison)]


def _latex_line(system: SystemScore, metric: MetricComparison, comparison: SystemComparison, ranked: bool) -> list[str]:
    versus, difference = system.versus, ""
    if versus is not None:
        star = "^{*}" if versus.p_value < comparison.plan.alpha else ""
        difference = f"${score_text(versus.difference, metric.metric, sign='+')}{star}$"
    scores = [score_text(system.score, metric.metric), _interval(system, metric.metric), difference]
    rank = [str(system.rank)] if ranked else []
    return [metric_label(metric.metric), system.system, *scores, *_tested(versus, comparison), *rank]


def _tested(versus: SystemDifference | None, comparison: SystemComparison) -> list[str]:
    """Return p-values, and rows won, lost and tied; empty cells for the baseline."""
    if versus is None:
        return [""] * (len(comparison.plan.tests) + 1)
    p_values = [f"{versus.p_values[test]:.4f}" for test in comparison.plan.tests]
    return [*p_values, f"{versus.wins}/{versus.losses}/{versus.ties}"]


def _examples(metric: MetricComparison, system: SystemScore, versus: SystemDifference, baseline: str) -> RenderableType:
    names = [baseline or "-", system.system or "-"]
    title = Text(f"most different under {metric.metric}: {names[1]} against {names[0]}", style="bold")
    return Group(title, *(_example(example, names, metric.metric) for example in versus.examples))


def _example(example: Example, names: list[str], metric: str) -> RenderableType:
    first, second = example.baseline_candidate, example.candidate
    lines: list[list[Text | str]] = [
        [visible(names[0]), score_text(example.baseline_score, metric), shortened(first, second)],
        [visible(names[1]), score_text(example.score, metric), shortened(second, first)],
    ]
    if example.references:
        lines.append(["reference", "", shortened(example.references[0])])
    if len(example.references) > 1:
        lines.append(["", "", Text(f"and {len(example.references) - 1} more references", style="dim")])
    if not example.references and example.source is not None:
        lines.append(["source", "", shortened(example.source)])
    table = terminal_table(("", "", ""), "wnf", lines, show_header=False)
    table.columns[0].style, table.columns[0].max_width = "dim", 24
    change = example.score - example.baseline_score
    return Group(
        Text(f"  row {visible(example.id)}   {score_text(change, metric, sign='+')}"), Padding(table, (0, 0, 0, 4))
    )


def _legend(comparison: SystemComparison) -> str:
    plan = comparison.plan
    by = "references and source" if comparison.paired_by == "text" else comparison.paired_by
    tests = " by both tests" if len(plan.tests) > 1 else ""
    legend = (
        f"{comparison.rows} rows paired by {by}; baseline {comparison.baseline or '-'}; p two-sided, "
        f"{plan.resampling.samples} resamples, seed {plan.resampling.seed}; * p < {plan.alpha:g}{tests}"
    )
    if _ranked(comparison.metrics):
        legend += (
            f"\nsystems of equal rank do not differ significantly (all pairs, p < {plan.alpha:g}, {plan.correction})"
        )
        if (needed := samples_for_ranks(comparison)) > plan.resampling.samples:
            legend += f"\ntoo few resamples for all pairs: no corrected p can be below alpha; {needed} are needed"
    fewest = min(metric.n for metric in comparison.metrics)
    least = 2.0 ** (1 - fewest)
    if least >= plan.alpha:
        legend += f"\n{fewest} rows are too few for significance: no p can be below {least:g}"
    return legend


def _ranked(metrics: Sequence[MetricComparison]) -> bool:
    return any(system.rank is not None for metric in metrics for system in metric.systems)


def _interval(system: SystemScore, metric: str) -> str:
    if system.low is None or system.high is None:
        return ""
    return interval_text((system.low, system.high), metric)
