"""Figures 1 to 3 and Table 1 of the LiSAScore study: lengths, identical pairs by padding, end tokens, the methods.

In: a `LisaStudy`. Out: one `Plate` each, with the figure, all numbers behind it and sentences made from them. Table 1
says which methods run on accelerators and keep gradients, as printed and as found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from evalign.errors import MissingExtraError
from evalign.matching.registry import METHODS, matching_class
from evalign.render.figures import Drawing, Panel
from evalign.render.study import plots
from evalign.render.study.page import Numbers, Plate, StudyTable
from evalign.render.study.plots import Violin
from evalign.stats.effect import eta_squared
from evalign.studies.inputs import CROSS
from evalign.studies.lisa.matchings import FEW, NAMES
from evalign.studies.lisa.measured import CSVLine, LisaStudy, compared, shape
from evalign.studies.lisa.model_scores import IDENTICAL, NEGATIVE, POSITIVE, ModelScores
from evalign.studies.lisa.pair_scores import MASKED, PLAIN, Padding
from evalign.studies.wording import listed, number, percent
from evalign.types import Floats

PERFECT = 1 - 1e-6
Ranges = dict[str, dict[str, tuple[float, float, float]]]  # matching -> padding -> lowest, mean, highest F1
COLUMNS = ("method", "name", "paper_accelerator", "found_accelerator", "paper_gradient", "found_gradient_share")
NOT_TESTED = "not tested: it needs the extra 'torch'"


def lengths(study: LisaStudy) -> Plate:
    """Fig. 1: how many tokens the texts have, and how much padding that means."""
    numbers: list[CSVLine] = []
    sentences, panels = [], []
    for name, model in study.named:
        by_side: dict[str, Any] = {}
        for kind, counts in model.lengths.items():
            by_side["source" if kind == CROSS else "candidate"] = counts[:, 0]
            by_side["reference"] = counts[:, 1]
            numbers.extend(study.lines((name, kind), counts))
        panels.append(Panel(name, "", by_side))
        middle = [f"{side} {np.median(counts):.0f} (longest {counts.max()})" for side, counts in by_side.items()]
        tokens = model.lengths[study.main]
        padding = [
            f"{percent(1 - float(np.minimum(tokens, width).mean()) / width)} of the tokens at {width}"
            for width in study.plan.widths
        ]
        sentences.append(
            f"{name}: median tokens, special ones included: {', '.join(middle)}. Padding is {' and '.join(padding)}."
        )
    drawing = Drawing(
        "Tokens per text, special tokens included; upright dotted lines: the widths that texts are padded to.",
        lambda: plots.histograms(panels, "tokens", study.plan.widths),
        ("model", "pair", "id", "first_tokens", "second_tokens"),
        numbers,
    )
    return Plate("figure1", "Fig. 1: lengths", drawing, tuple(sentences))


def identical(study: LisaStudy) -> Plate:
    """Fig. 2: a text against itself should score 1, whatever the padding."""
    numbers: list[CSVLine] = []
    panels, sentences = [], []
    paddings: set[Padding] = set()
    for name, model in study.named:
        ranges: Ranges = {}
        for algorithm in NAMES:
            for key in sorted(key for key in model.scores if key[1:3] == (IDENTICAL, algorithm)):
                f1 = model.scores[key][:, 2]
                paddings.add(key.padding)
                ranges.setdefault(algorithm, {})[str(key.padding)] = f1.min(), f1.mean(), f1.max()
                numbers.extend(study.lines((name, algorithm, str(key.padding)), f1[:, None]))
        panels.append(Panel(name, "", ranges))
        sentences.append(f"{name}: {_about_identical(ranges)} {_about_masking(model, study.main)}".strip())
    series = list(map(str, sorted(paddings)))
    shown = {algorithm for panel in panels for algorithm, low in _lowest(panel.values).items() if low < PERFECT}
    shown.update(FEW)
    panels = [
        replace(panel, values={algorithm: panel.values[algorithm] for algorithm in NAMES if algorithm in shown})
        for panel in panels
    ]
    drawing = Drawing(
        "F1 of reference texts against themselves: mean (mark) and range over pairs (line). Shown are four matchings, "
        "and others that do not always give 1.",
        lambda: plots.ranges(panels, series, "F1"),
        ("model", "algorithm", "padding", "id", "f1"),
        numbers,
    )
    return Plate("figure2", "Fig. 2: identical pairs by padding", drawing, tuple(sentences))


def end_tokens(study: LisaStudy) -> Plate:
    """Fig. 3: the cosine of the last special token, which needs no matching."""
    plate = Plate("figure3", "Fig. 3: end-token scores by model")
    having = [(name, model) for name, model in study.named if model.end_tokens]
    if study.too_few or not having:
        return replace(plate, missing=study.too_few or "no model's tokenizer ends a text with a special token")
    numbers: list[CSVLine] = []
    panels, lines = [], []
    for kind in study.pairs.kinds:
        violins = []
        for name, model in having:
            good, bad = model.end_tokens[kind, POSITIVE], model.end_tokens[kind, NEGATIVE]
            violins.append(Violin(name, [shape(good), shape(bad)]))
            if (comparison := compared(good, bad)) is not None:
                cells = (*comparison.cells[:3], *comparison.cells[4:])
                lines.append((name, kind, *map(number, cells)))
            numbers.extend(study.lines((name, kind), np.stack([good, bad], axis=1)))
        panels.append(Panel(kind, "", violins))
    columns = ("model", "pairs", "positives", "negatives", "difference", "Cohen's d", "AUC", "overlap")
    table = StudyTable("End tokens of true pairs and of negatives", columns, tuple(lines), names=2)
    drawing = Drawing(
        "Cosine of the last tokens of both texts; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "cosine of the end tokens", ("true pairs", "negatives")),
        ("model", "pair", "id", "positive", "negative"),
        numbers,
    )
    sentence = about_eta([model.end_tokens[study.main, POSITIVE] for _, model in having], study.main)
    return replace(plate, drawing=drawing, said=(sentence,), tables=(table,))


def _lowest(ranges: Ranges) -> dict[str, float]:
    """The lowest score of every matching."""
    return {algorithm: min(low for low, _, _ in by_padding.values()) for algorithm, by_padding in ranges.items()}


def _about_identical(ranges: Ranges) -> str:
    imperfect = [algorithm for algorithm, low in _lowest(ranges).items() if low < PERFECT]
    count = (
        f"{len(ranges) - len(imperfect)} of {len(ranges)} matchings give every text 1 against itself at every padding"
    )
    if not imperfect:
        return f"{count}."
    worst = min(ranges, key=lambda algorithm: min(mean for _, mean, _ in ranges[algorithm].values()))
    where = min(ranges[worst], key=lambda padding: ranges[worst][padding][1])
    low, mean, _ = ranges[worst][where]
    return (
        f"{count}; not so {listed(imperfect)}: the lowest mean is {number(mean)} ({worst}; {where}), "
        f"where the lowest pair has {number(low)}. Without padding that matching's lowest pair has "
        f"{number(ranges[worst][str(PLAIN)][0])}."
    )


def _about_masking(model: ModelScores, kind: str) -> str:
    """By how much masked padding, which should change nothing, changes scores."""
    changes = [
        float(np.abs(scores - model.scores[key._replace(padding=PLAIN)]).max())
        for key, scores in model.scores.items()
        if key.padding.pads == MASKED and key.kind == kind and not model.truncated.get(key.padding.width)
    ]
    if not any(changes):
        return "Masked padding changes no score." if changes else ""
    return f"Masked padding moves no score by more than {max(changes):.1g}."


def about_eta(groups: list[Floats], kind: str, rest: str = "pairs") -> str:
    """What the part of the variance between models means; `rest` is what else differs."""
    eta = eta_squared(groups)
    if eta is None:
        return "With one model nothing can be said about the influence of the model."
    meaning = f"models differ more than {rest}" if eta > 0.5 else f"{rest} differ more than models"
    return (
        f"{percent(eta)} of the variance of true {kind} pairs' scores lies between the models (eta² {number(eta)}): "
        f"{meaning}."
    )


class PaperMethod(NamedTuple):
    """A line of the paper's Table 1, and other forms with gradients that are here."""

    words: str
    accelerator: bool | None
    gradient: bool | None
    soft_forms: tuple[str, ...] = ()


NOT_IN_PAPER = PaperMethod("–", None, None)
TABLE_1 = {
    "exact": PaperMethod("stock", False, False, ("envelope", "sinkhorn", "straight-through", "gumbel-sinkhorn")),
    "row-mask": PaperMethod("row masking", True, False),
    "recursive-argmax": PaperMethod("recursive argmax", True, False, ("recursive-softmax", "recursive-gumbel")),
    "recursive-topk": PaperMethod("recursive top-k", True, True),
    "auction-topk": PaperMethod("aggressive auction top-k", True, True),
}
YES_OR_NO = {None: "–", True: "yes", False: "no"}


def capabilities() -> dict[str, dict[str, Any]]:
    """Of every method, whether it stays on torch's device, and how many similarities its selection has a gradient to.

    Empty where torch is not installed.
    """
    try:
        from evalign.matching.soft.capabilities import capability
    except MissingExtraError:
        return {}
    return {name: asdict(capability(matching_class(name)())) for name in METHODS}


def as_printed(found: Mapping[str, Mapping[str, Any]]) -> int:
    """How many of the table's ten cells were found as the paper has them."""
    return sum(
        (found[name]["on_device"] == printed.accelerator) + ((found[name]["gradient"] > 0) == printed.gradient)
        for name, printed in TABLE_1.items()
    )


def method_table(study: LisaStudy) -> Plate:
    """The table with what was found by running each method on tensors."""
    measured = study.capabilities
    lines, numbers = [], []
    for name in METHODS:
        paper, own = TABLE_1.get(name, NOT_IN_PAPER), measured.get(name, {})
        gradient: float | None = own.get("gradient")
        flags = paper.accelerator, own.get("on_device"), paper.gradient
        share = f"yes, {percent(gradient)}" if gradient else YES_OR_NO[None if gradient is None else False]
        forms = listed(paper.soft_forms) if paper.soft_forms else "–"
        lines.append((paper.words, name, *map(YES_OR_NO.__getitem__, flags), share, forms))
        numbers.append((paper.words, name, *(None if flag is None else int(flag) for flag in flags), gradient))
    columns = ("paper's method", "name here", "accelerators: paper", "found", "gradient: paper", "found",
               "other soft forms")  # fmt: skip
    sentences = (
        "Found by running each method on torch tensors. Accelerators: no array was taken out of torch or off its "
        "device on the way. Gradient: the share of all similarities that move the selection itself, by autograd; the "
        "selection is evalign's soft form of the same name where there is one. What a selected cell is worth has a "
        "gradient under every method.",
        f"{as_printed(measured)} of the paper's {2 * len(TABLE_1)} entries were found as printed."
        if measured
        else f"The columns “found” are empty: {NOT_TESTED}.",
    )
    table = StudyTable("The methods, as in the paper's Table 1", columns, tuple(lines), names=7)
    return Plate("table1", "Table 1: the methods", said=sentences, tables=(table,), numbers=Numbers(COLUMNS, numbers))
