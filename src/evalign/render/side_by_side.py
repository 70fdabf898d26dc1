"""All matchings of one pair beside each other: each candidate token's partners, and what changed against the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from evalign.render.quality import levels_of
from evalign.render.tables import terminal_table
from evalign.render.terminal import quality, visible
from evalign.types import Alignment

CHANGED = "◆"


def side_by_side(alignments: Mapping[str, Alignment]) -> RenderableType:
    """One column per matching; the first is the yardstick, and a mark shows where another differs from it."""
    (first, yardstick), *_ = alignments.items()
    columns, bounds = list(alignments.values()), levels_of(yardstick).bounds
    lines: list[list[str | Text]] = [
        [visible(yardstick.candidate.surface(index)), *(_partner(each, index, yardstick, bounds) for each in columns)]
        for index in range(len(yardstick.candidate))
        if not yardstick.candidate.special[index]
    ]
    for field in dict.fromkeys(name for alignment in columns for name in alignment.scores):
        values = [alignment.scores.get(field) for alignment in columns]
        lines.append([Text(field, style="dim"), *("" if value is None else f"{value:.4f}" for value in values)])
    lines.append([Text("reference tokens left out", style="dim"), *(str(_left_out(each)) for each in columns)])
    table = terminal_table(("candidate", *alignments), "l" + "w" * len(columns), lines)
    changes = [f"{name}: {_changes(alignment, yardstick)}" for name, alignment in list(alignments.items())[1:]]
    note = f"\n{CHANGED} another partner than under {first}. Candidate tokens that changed: {', '.join(changes)}"
    return Group(table, Text(note, style="dim"))


def _partner(alignment: Alignment, index: int, yardstick: Alignment, bounds: Sequence[float]) -> Text:
    partner = int(alignment.candidate_partners[index])
    mark = f" {CHANGED}" if partner != int(yardstick.candidate_partners[index]) else ""
    if partner < 0:
        return Text(f"—{mark}", style="dim")
    value = float(alignment.candidate_values[index])
    return Text.assemble(visible(alignment.reference.surface(partner)), (f" {value:.2f}", quality(value, bounds)), mark)


def _changes(alignment: Alignment, yardstick: Alignment) -> int:
    own = ~alignment.candidate.special
    return int((alignment.candidate_partners != yardstick.candidate_partners)[own].sum())


def _left_out(alignment: Alignment) -> int:
    """Reference tokens that have no cell at all, or that no candidate token chose."""
    return sum(1 for index in alignment.unmatched_reference if not alignment.reference.special[index])
