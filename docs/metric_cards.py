"""Writes a card per metric: what the registry knows, what docs/metric_cards.toml says, docs/metrics.md measured."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from reference_pages import MADE, card_name, table

from evalign.core.metric import Metric
from evalign.core.options import default_text, option_choices, option_fields
from evalign.core.registry import GROUPS, metric, metric_names

DOCS = Path(__file__).resolve().parent
MEASURED = {  # section of docs/metrics.md -> the card's heading, and what its numbers are
    "Agreement with people": (
        "Agreement",
        "With people's ratings, and 95 % intervals. † the default layer was chosen on these ratings; ‡ the weights "
        "were fitted to them. Which statistic, which data: [which metric](../metrics.md#agreement-with-people).",
    ),
    "Cost": (
        "Cost",
        "Processor time on one thread, the middle of five rounds; k of time ~ n^k "
        "([how it was measured](../metrics.md#cost)).",
    ),
    "Behaviour": (
        "Behaviour",
        "How far the mean score moves when candidates are changed, in standard deviations; minus is down "
        "([how it was measured](../metrics.md#behaviour)).",
    ),
}
ROUGE = "<!-- made by benchmarks/rouge_agreement.py -->"
FEW = 10  # values that are listed; longer lists are those of the libraries that are installed


def card_pages() -> dict[str, str]:
    """Path below docs/ -> the text of a card; the first one lists them all."""
    written = tomllib.loads((DOCS / "metric_cards.toml").read_text("utf-8"))
    cards: dict[str, list[str]] = {}
    for name in metric_names():
        cards.setdefault(card_name(name), []).append(name)
    pages = {"cards/index.md": _index(cards)}
    for card, names in cards.items():
        pages[f"cards/{card}.md"] = _card(card, names, written[card])
    return pages


def _index(cards: dict[str, list[str]]) -> str:
    rows = []
    for card, names in cards.items():
        first = metric(names[0])
        span = f"`{names[0]}` to `{names[-1]}`" if len(names) > 1 else f"`{card}`"
        about = re.sub(r"^overlap of words", "overlap of words, or of n-grams", first.about)
        rows.append([f"[{span}]({card}.md)", about, _range(first), "higher" if first.higher_is_better else "lower"])
    groups = [f"`{group}` stands for {', '.join(f'`{name}`' for name in names)}." for group, names in GROUPS.items()]
    intro = (
        "One card per metric: definition, paper, range, options, agreement, cost, known failures. Which one to take: "
    )
    parts = ["# Metric cards", MADE, f"{intro}[which metric](../metrics.md). {' '.join(groups)}"]
    return "\n\n".join([*parts, table(["metric", "what it is", "range", "better"], rows)]) + "\n"


def _card(card: str, names: list[str], written: dict[str, Any]) -> str:
    first = metric(names[0])
    title = f"# `{names[0]}` to `{names[-1]}`" if len(names) > 1 else f"# `{card}`"
    parts = [
        title,
        MADE,
        written["definition"].strip(),
        f"**Paper.** {written['paper']}",
        table(["what", "value"], _facts(first, written.get("references", ""))),
    ]
    parts += ["## Known failures", "\n".join(f"- {failure}" for failure in written["failures"])]
    for section, (heading, about) in MEASURED.items():
        columns, rows = measured(section)
        own = [[f"`{spec}`", *cells] for spec, cells in rows.items() if _name(spec) in names]
        absent = "Not measured: it is not in the tables of [which metric](../metrics.md)."
        parts += [f"## {heading}", *([about, table(["metric", *columns], own)] if own else [absent])]
        if heading == "Agreement":
            parts += _on_summeval(names)
    parts += [
        "## Options",
        f"As in `{names[0]}(NAME=VALUE)`; `evalign metrics {names[0]}` prints them.",
        _options(first),
    ]
    links = ", ".join(f"[{_title(page)}](../{page})" for page in written["read"])
    return "\n\n".join([*parts, f"**Read on:** {links}."]) + "\n"


def _on_summeval(names: list[str]) -> list[str]:
    """What docs/lexical.md measured of ROUGE's variants on all of SummEval."""
    columns, rows = first_table((DOCS / "lexical.md").read_text("utf-8").partition(ROUGE)[2])
    own = [[f"`{spec}`", *cells] for spec, cells in rows.items() if _name(spec) in names]
    about = "Of ROUGE's variants on all 1,600 summaries of SummEval, by aspect ([how](../lexical.md#rouge)):"
    return [about, table(["variant", *columns], own)] if own else []


def _name(spec: str) -> str:
    return spec.partition("(")[0]


def _facts(card: Metric, rule: str) -> list[list[str]]:
    several = next(
        (f"`multiref={item.default}`" for item in option_fields(card) if item.name == "multiref"), "none are read"
    )
    fields = " ".join(f"`{field}`" for field in card.fields)
    ranked = f"; `{card.main}` stands for it in rankings" if len(card.fields) > 1 else ""
    return [
        ["fields", fields + ranked],
        ["range", f"{_range(card)}, {'higher' if card.higher_is_better else 'lower'} is better"],
        ["needs", " and ".join(["candidates", *card.needs])],
        ["an empty text", f"{card.worst:g}, flag `empty`"],
        ["several references", rule or several],
        ["the corpus score", "from sums of the rows' statistics" if card.pools else "the mean of the rows"],
        [
            "shows which tokens met",
            "yes: `evalign align`" if card.aligns else "no; `evalign explain` shows its arithmetic",
        ],
    ]


def _range(card: Metric) -> str:
    low, high = (f"{bound:g}".replace("inf", "∞") for bound in card.bounds)
    return f"{low} to {high}"


def _options(card: Metric) -> str:
    rows = []
    for item in option_fields(card):
        default, choices = default_text(item), option_choices(item)
        values = " ".join(f"`{choice}`" for choice in choices) if len(choices) <= FEW else "see there"
        rows.append([f"`{item.name}`", f"`{default}`" if default else "", values, item.metadata["about"]])
    return table(["option", "default", "values", "what it is"], rows) if rows else "None."


def measured(section: str) -> tuple[list[str], dict[str, list[str]]]:
    """A table of docs/metrics.md: its columns, and spec -> cells."""
    page = (DOCS / "metrics.md").read_text("utf-8")
    return first_table(page.partition(f"\n## {section}\n")[2].partition("\n## ")[0])


def first_table(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """The first Markdown table of a text: its columns but the first, and spec -> cells."""
    lines = re.search(r"(?:^\|.*\n?)+", text, re.M)[0].splitlines()  # type: ignore[index]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return cells[0][1:], {row[0].strip("`"): row[1:] for row in cells[2:]}


def _title(page: str) -> str:
    heading = (DOCS / page).read_text("utf-8").partition("# ")[2].partition("\n")[0]
    return re.sub(r"[`:].*$", "", heading.replace("Metric `evalign`", "evalign")).strip() or heading
