"""A comparison of systems: tables and examples for the terminal, JSON and TSV for programs, LaTeX for papers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalign.analysis.comparison.system_scores import Example
from evalign.analysis.comparison.values import MetricComparison, Regression, SystemComparison, SystemScore, Versus
from evalign.render.tables import Writers, latex_tabular, signature_line, terminal_table, tsv
from evalign.render.terminal import visible

SHOWN = 240  # characters of a text in the terminal
BEFORE = 40  # characters shown before the first difference of two long texts
TSV_COLUMNS = (
    "metric", "field", "system", "score", "low", "high", "difference", "difference_low", "difference_high",
    "p_bootstrap", "p_randomisation", "wins", "losses", "ties", "rank", "n", "failed", "signature",
)  # fmt: skip
P_HEADERS = {"bootstrap": "p boot-\nstrap", "randomisation": "p random-\nisation"}  # 80 columns are enough
Regressions = Sequence[Regression] | None  # with --fail-if-worse: the differences beyond their limits


def comparison_table(comparison: SystemComparison, _: Regressions = None) -> RenderableType:
    """For the terminal: per metric a table and the most different rows; then how to read it, and the signatures."""
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
    """`SystemComparison.to_dict`, and with --fail-if-worse the differences beyond their limits."""
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
    """One line per metric and system; the baseline's line has no difference."""
    lines = []
    for metric in comparison.metrics:
        for system in metric.systems:
            cells: dict[str, Any] = {"metric": metric.metric, "field": metric.field, "signature": metric.signatures[0]}
            cells |= {"n": metric.n, "failed": metric.failed} | system.to_dict()
            cells |= {f"p_{test}": p for test, p in cells.get("p", {}).items()}
            lines.append([cells.get(name) for name in TSV_COLUMNS])
    return tsv(TSV_COLUMNS, lines)


def comparison_latex(comparison: SystemComparison, _: Regressions = None) -> str:
    """A tabular for booktabs; a star marks differences that are significant by every test."""
    tests, ranked = comparison.plan.tests, _ranked(comparison.metrics)
    columns = ["metric", "system", "score", r"95\,\% interval", "difference", *(f"$p$ ({test})" for test in tests)]
    columns += ["wins/losses/ties", *(["rank"] if ranked else [])]
    groups = [
        [
            [metric.metric, system.system, f"{system.score:.4f}", _interval(system.low, system.high),
             *_latex_versus(system.versus, comparison), *([str(system.rank)] if ranked else [])]
            for system in metric.systems
        ]
        for metric in comparison.metrics
    ]  # fmt: skip
    comments = _legend(comparison).splitlines()
    comments += [signature for metric in comparison.metrics for signature in metric.signatures]
    return latex_tabular(columns, "llrl" + "r" * (len(columns) - 4), groups, comments)


FORMATS: Writers[[SystemComparison, Regressions]] = {
    "table": comparison_table,
    "json": comparison_json,
    "tsv": comparison_tsv,
    "latex": comparison_latex,
}


def samples_for_ranks(comparison: SystemComparison) -> int:
    """Holm multiplies the smallest p, 1 / (1 + samples), by the number of pairs: with fewer, all rank first."""
    systems = max(len(metric.systems) for metric in comparison.metrics)
    pairs = systems * (systems - 1) // 2
    return int(pairs / comparison.plan.alpha) if comparison.plan.correction == "holm" else 0


def shortened(first: str, second: str = "") -> str:
    """A text on one line, from shortly before the place where it begins to differ from the second if that is far in."""
    text, other = " ".join(first.split()), " ".join(second.split())
    same = next((place for place, pair in enumerate(zip(text, other, strict=False)) if pair[0] != pair[1]), 0)
    start = 0
    if len(text) > SHOWN and same > 2 * BEFORE:
        start = text.rfind(" ", 0, same - BEFORE) + 1
    stop = len(text)
    if stop - start > SHOWN:
        stop = max(text.rfind(" ", start, start + SHOWN), start + SHOWN // 2)
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
        [visible(system.system) or "-", f"{system.score:.4f}", _interval(system.low, system.high),
         *_versus(system.versus, metric, comparison), *([str(system.rank)] if ranked else [])]
        for system in metric.systems
    ]  # fmt: skip
    table = terminal_table(columns, "fnrn" + "n" * (len(columns) - 4), lines)
    for place, column in enumerate(table.columns):
        column.vertical, column.min_width = "bottom", 4 if place else 8
    return table


def _flags(metric: MetricComparison) -> list[Text]:
    """One line per flagged system: a column would not fit."""
    flags = {system.system: ", ".join(f"{name}: {n}" for name, n in system.flags.items()) for system in metric.systems}
    return [Text(f"{visible(system) or '-'}   {counts}", style="dim") for system, counts in flags.items() if counts]


def _versus(versus: Versus | None, metric: MetricComparison, comparison: SystemComparison) -> list[Text | str]:
    difference = Text("baseline", style="dim")
    if versus is not None and versus.p_value < comparison.plan.alpha:
        # Blue and orange keep apart for colour-blind readers; sign and star say the same again.
        better = (versus.difference > 0) == metric.higher_is_better
        difference = Text(f"{versus.difference:+.4f}*", style="bold blue" if better else "bold dark_orange")
    elif versus is not None:
        difference = Text(f"{versus.difference:+.4f} ")
    return [difference, *_tested(versus, comparison)]


def _latex_versus(versus: Versus | None, comparison: SystemComparison) -> list[str]:
    star = "^{*}" if versus is not None and versus.p_value < comparison.plan.alpha else ""
    return ["" if versus is None else f"${versus.difference:+.4f}{star}$", *_tested(versus, comparison)]


def _tested(versus: Versus | None, comparison: SystemComparison) -> list[str]:
    """P-values, and rows won, lost and tied; empty cells for the baseline."""
    if versus is None:
        return [""] * (len(comparison.plan.tests) + 1)
    p_values = [f"{versus.p_values[test]:.4f}" for test in comparison.plan.tests]
    return [*p_values, f"{versus.wins}/{versus.losses}/{versus.ties}"]


def _examples(metric: MetricComparison, system: SystemScore, versus: Versus, baseline: str) -> RenderableType:
    names = [baseline or "-", system.system or "-"]
    title = Text(f"most different under {metric.metric}: {names[1]} against {names[0]}", style="bold")
    return Group(title, *(_example(example, names) for example in versus.examples))


def _example(example: Example, names: list[str]) -> RenderableType:
    first, second = example.baseline_candidate, example.candidate
    lines: list[list[Text | str]] = [
        [visible(names[0]), f"{example.baseline_score:.4f}", shortened(first, second)],
        [visible(names[1]), f"{example.score:.4f}", shortened(second, first)],
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
    return Group(Text(f"  row {visible(example.id)}   {change:+.4f}"), Padding(table, (0, 0, 0, 4)))


def _legend(comparison: SystemComparison) -> str:
    plan = comparison.plan
    by = "references and source" if comparison.paired_by == "text" else comparison.paired_by
    tests = " by both tests" if len(plan.tests) > 1 else ""
    legend = (
        f"{comparison.rows} rows paired by {by}; baseline {comparison.baseline or '-'}; p two-sided, "
        f"{plan.resampling.samples} resamples, seed {plan.resampling.seed}; * p < {plan.alpha:g}{tests}"
    )
    if _ranked(comparison.metrics):
        legend += f"\nequal ranks are not told apart (all pairs of systems, p < {plan.alpha:g}, {plan.correction})"
        if (needed := samples_for_ranks(comparison)) > plan.resampling.samples:
            legend += f"\ntoo few resamples for so many pairs: no corrected p can be below alpha; --samples {needed}"
    fewest = min(metric.n for metric in comparison.metrics)
    least = 2.0 ** (1 - fewest)
    if least >= plan.alpha:
        legend += f"\nso few rows ({fewest}) all point one way by chance too often: no p is below {least:g}"
    return legend


def _ranked(metrics: Sequence[MetricComparison]) -> bool:
    return any(system.rank is not None for metric in metrics for system in metric.systems)


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"
