"""A comparison of systems as tables and examples for people, JSON and TSV for programs, LaTeX for papers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalign.analysis.comparison.examples import Example
from evalign.analysis.comparison.regressions import Regression
from evalign.analysis.comparison.values import MetricComparison, SystemComparison, SystemScore, Versus
from evalign.render.score_tables import LATEX_SPECIAL
from evalign.render.terminal import visible

SHOWN = 240  # characters of a text in the terminal
BEFORE = 40  # characters shown before the first difference of two long texts
TSV_COLUMNS = (
    "metric", "field", "system", "score", "low", "high", "difference", "difference_low", "difference_high",
    "p_bootstrap", "p_randomisation", "wins", "losses", "ties", "rank", "n", "failed", "signature",
)  # fmt: skip
INTERVAL = "95 % interval"
P_HEADERS = {"bootstrap": "p boot-\nstrap", "randomisation": "p random-\nisation"}  # 80 columns are enough
FLAT = str.maketrans("\t\n\r", "   ")
LATEX = str.maketrans(LATEX_SPECIAL)


def comparison_table(comparison: SystemComparison) -> RenderableType:
    """For the terminal: per metric a table and the most different rows; then how to read it, and the signatures."""
    parts: list[RenderableType] = []
    for metric in comparison.metrics:
        parts += [_title(metric), _table(metric, comparison), *_flags(metric), Text()]
        for system in metric.systems:
            if system.versus is not None and system.versus.examples:
                parts += [_examples(metric, system, system.versus, comparison.baseline), Text()]
    signatures = dict.fromkeys(signature for metric in comparison.metrics for signature in metric.signatures)
    parts.append(Text(_legend(comparison), style="dim"))
    return Group(*parts, Text(), *(Text(signature, style="dim", overflow="fold") for signature in signatures))


def comparison_json(comparison: SystemComparison, worse: Iterable[Regression] | None = None) -> str:
    """`SystemComparison.to_dict`, and with --fail-if-worse what was found."""
    plain = comparison.to_dict()
    if worse is not None:
        plain["worse"] = [
            {
                "system": one.system,
                "metric": one.metric,
                "worse_by": one.worse_by,
                "limit": one.limit,
                "p": one.p_value,
                "significant": one.significant,
            }
            for one in worse
        ]
    return json.dumps(plain, ensure_ascii=False, indent=2)


def comparison_tsv(comparison: SystemComparison) -> str:
    """One line per metric and system; the baseline's line has no difference."""
    lines = ["\t".join(TSV_COLUMNS)]
    for metric in comparison.metrics:
        for system in metric.systems:
            told: dict[str, Any] = {
                "metric": metric.metric,
                "field": metric.field,
                "n": metric.n,
                "failed": metric.failed,
            }
            told |= {"signature": metric.signatures[0]} | system.to_dict()
            told |= {f"p_{test}": p for test, p in told.get("p", {}).items()}
            lines.append("\t".join(_cell(told.get(name)) for name in TSV_COLUMNS))
    return "\n".join(lines)


def comparison_latex(comparison: SystemComparison) -> str:
    """A tabular for booktabs; a star marks differences that are significant by every test."""
    tests, ranked = comparison.plan.tests, _ranked(comparison.metrics)
    header = ["metric", "system", "score", r"95\,\% interval", "difference", *(f"$p$ ({test})" for test in tests)]
    header += ["wins/losses/ties", *(["rank"] if ranked else [])]
    lines = [rf"\begin{{tabular}}{{llrlr{'r' * len(tests)}r{'r' * ranked}}}", r"\toprule", " & ".join(header) + r" \\"]
    for metric in comparison.metrics:
        lines.append(r"\midrule")
        for system in metric.systems:
            cells = [metric.metric.translate(LATEX), system.system.translate(LATEX), f"{system.score:.4f}"]
            cells += [_interval(system.low, system.high), *_latex_versus(system.versus, comparison)]
            cells += [str(system.rank)] if ranked else []
            lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"% {line}" for line in _legend(comparison).splitlines()]
    return "\n".join(lines + [f"% {signature}" for metric in comparison.metrics for signature in metric.signatures])


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
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("system", overflow="fold", min_width=8, vertical="bottom")
    ranked = _ranked([metric])
    names = ["score", INTERVAL, "difference", *(P_HEADERS[test] for test in comparison.plan.tests)]
    for name in [*names, "won/lost/\ntied", *(["rank"] if ranked else [])]:
        table.add_column(name, justify="right", no_wrap=name != INTERVAL, vertical="bottom", min_width=4)
    for system in metric.systems:
        cells: list[Text | str] = [f"{system.score:.4f}", _interval(system.low, system.high)]
        cells += _versus(system.versus, metric, comparison)
        cells += [str(system.rank)] if ranked else []
        table.add_row(Text(visible(system.system) or "-"), *cells)
    return table


def _flags(metric: MetricComparison) -> list[Text]:
    """One line per flagged system: a column would not fit."""
    told = [(one.system, ", ".join(f"{name}: {n}" for name, n in one.flags.items())) for one in metric.systems]
    return [Text(f"{visible(system) or '-'}   {flags}", style="dim") for system, flags in told if flags]


def _versus(versus: Versus | None, metric: MetricComparison, comparison: SystemComparison) -> list[Text | str]:
    if versus is None:
        return [Text("baseline", style="dim"), *("" for _ in comparison.plan.tests), ""]
    style, mark = "", " "
    if versus.p_value < comparison.plan.alpha:
        # Blue and orange keep apart for colour-blind readers; sign and star say the same again.
        style = "bold blue" if (versus.difference > 0) == metric.higher_is_better else "bold dark_orange"
        mark = "*"
    counts = f"{versus.wins}/{versus.losses}/{versus.ties}"
    p_values = [f"{versus.p_values[test]:.4f}" for test in comparison.plan.tests]
    return [Text(f"{versus.difference:+.4f}{mark}", style=style), *p_values, counts]


def _latex_versus(versus: Versus | None, comparison: SystemComparison) -> list[str]:
    if versus is None:
        return ["", *("" for _ in comparison.plan.tests), ""]
    star = "^{*}" if versus.p_value < comparison.plan.alpha else ""
    p_values = [f"{versus.p_values[test]:.4f}" for test in comparison.plan.tests]
    return [f"${versus.difference:+.4f}{star}$", *p_values, f"{versus.wins}/{versus.losses}/{versus.ties}"]


def _examples(metric: MetricComparison, system: SystemScore, versus: Versus, baseline: str) -> RenderableType:
    names = [baseline or "-", system.system or "-"]
    title = Text(f"most different under {metric.metric}: {names[1]} against {names[0]}", style="bold")
    return Group(title, *(_example(example, names) for example in versus.examples))


def _example(example: Example, names: list[str]) -> RenderableType:
    first, second = example.baseline_candidate, example.candidate
    lines = Table(box=None, show_header=False, pad_edge=False)
    lines.add_column(no_wrap=True, style="dim", max_width=24, overflow="ellipsis")
    lines.add_column(justify="right", no_wrap=True)
    lines.add_column(overflow="fold")
    lines.add_row(Text(visible(names[0])), f"{example.baseline_score:.4f}", Text(shortened(first, second)))
    lines.add_row(Text(visible(names[1])), f"{example.score:.4f}", Text(shortened(second, first)))
    for reference in example.references[:1]:
        lines.add_row("reference", "", Text(shortened(reference)))
    if len(example.references) > 1:
        lines.add_row("", "", Text(f"and {len(example.references) - 1} more references", style="dim"))
    if not example.references and example.source is not None:
        lines.add_row("source", "", Text(shortened(example.source)))
    change = example.score - example.baseline_score
    return Group(Text(f"  row {visible(example.id)}   {change:+.4f}"), Padding(lines, (0, 0, 0, 4)))


def _legend(comparison: SystemComparison) -> str:
    plan = comparison.plan
    by = "references and source" if comparison.paired_by == "text" else comparison.paired_by
    tests = " by both tests" if len(plan.tests) > 1 else ""
    told = (
        f"{comparison.rows} rows paired by {by}; baseline {comparison.baseline or '-'}; p two-sided, "
        f"{plan.resampling.samples} resamples, seed {plan.resampling.seed}; * p < {plan.alpha:g}{tests}"
    )
    if _ranked(comparison.metrics):
        told += f"\nequal ranks are not told apart (all pairs of systems, p < {plan.alpha:g}, {plan.correction})"
        if (needed := samples_for_ranks(comparison)) > plan.resampling.samples:
            told += f"\ntoo few resamples for so many pairs: no corrected p can be below alpha; --samples {needed}"
    fewest = min(metric.n for metric in comparison.metrics)
    least = 2.0 ** (1 - fewest)
    if least >= plan.alpha:
        told += f"\nso few rows ({fewest}) all point one way by chance too often: no p is below {least:g}"
    return told


def _ranked(metrics: Sequence[MetricComparison]) -> bool:
    return any(system.rank is not None for metric in metrics for system in metric.systems)


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value).translate(FLAT)
