"""Figures 1 to 5 of the LiSAScore study: lengths, identical pairs by padding, end tokens, F1 by model and algorithm.

In: a `LisaStudy`. Out: one `Plate` each, with the figure, all numbers behind it and sentences made from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from evalign.render.figures import Drawing, Panel
from evalign.render.study import plots
from evalign.render.study.page import Plate, StudyTable
from evalign.render.study.plots import Violin
from evalign.stats.distribution import eta_squared, peaks
from evalign.studies.lisa.matchings import EXACT, GREEDY, NAMES
from evalign.studies.lisa.measured import CSVLine, LisaStudy, common_bandwidth, compared, shape
from evalign.studies.lisa.model_scores import FEW, IDENTICAL, NEGATIVE, POSITIVE, Key, ModelScores
from evalign.studies.lisa.padding import MASKED, PLAIN, Padding
from evalign.studies.pair_selection import CROSS
from evalign.studies.wording import listed, number, percent
from evalign.types import Floats

PERFECT = 1 - 1e-6
Ranges = dict[str, dict[str, tuple[float, float, float]]]  # matching -> padding -> lowest, mean, highest F1


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
    sentence = _about_eta([model.end_tokens[study.main, POSITIVE] for _, model in having], study.main)
    return replace(plate, drawing=drawing, said=(sentence,), tables=(table,))


def by_model(study: LisaStudy) -> Plate:
    """Fig. 4: the same pairs under every model, with the part of the spread that is the model's."""
    plate = Plate("figure4", "Fig. 4: F1 by model, greedy", missing=study.too_few)
    if study.too_few:
        return plate
    numbers: list[CSVLine] = []
    panels, lines = [], []
    for kind, padding in study.views():
        key = Key(kind, POSITIVE, GREEDY, padding)
        having = {name: model.scores[key] for name, model in study.named if key in model.scores}
        violins = [Violin(name, [shape(scores[:, 2])]) for name, scores in having.items()]
        panels.append(Panel(f"{kind}, {padding}", "", violins))
        for name, scores in having.items():
            numbers.extend(study.lines((name, kind, str(padding)), scores))
        lines += list(_explained(study, kind, padding))
    columns = ("pairs", "padding", "matching", "eta² of model", "peaks, all models together", "bandwidth", "models")
    drawing = Drawing(
        "F1 of true pairs under greedy matching; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "F1"),
        ("model", "pair", "padding", "id", "precision", "recall", "f1"),
        numbers,
    )
    caption = "Part of the variance of F1 that is explained by the model, and peaks of the density over all models"
    table = StudyTable(caption, columns, tuple(lines), names=3)
    return replace(plate, drawing=drawing, said=tuple(_about_models(study)), tables=(table,))


def by_algorithm(study: LisaStudy) -> Plate:
    """Fig. 5: the same pairs under every matching and preset."""
    plate = Plate("figure5", "Fig. 5: F1 by algorithm", missing=study.too_few)
    if study.too_few:
        return plate
    numbers: list[CSVLine] = []
    panels, sentences = [], []
    for name, model in study.named:
        about = []
        for padding in study.paper_paddings[:2]:
            values = _f1_by_algorithm(study, model, padding)
            if values:
                violins = [Violin(algorithm, [shape(f1)]) for algorithm, f1 in values.items()]
                panels.append(Panel(f"{name}: {study.main}, {padding}", "", violins))
                about.append(_about_means(padding, {algorithm: float(f1.mean()) for algorithm, f1 in values.items()}))
        sentences.append(f"{name}: {' '.join(about)}")
        for key, scores in model.scores.items():
            if key.pairing == POSITIVE:
                numbers.extend(study.lines((name, key.kind, key.algorithm, str(key.padding)), scores))
    drawing = Drawing(
        "F1 of true pairs under every matching and preset; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "F1"),
        ("model", "pair", "algorithm", "padding", "id", "precision", "recall", "f1"),
        numbers,
    )
    return replace(plate, drawing=drawing, said=tuple(sentences), tables=(_means(study),))


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
    return f"Masked padding moves no score by more than {max(changes):.1g}." if changes else ""


def _about_eta(groups: list[Floats], kind: str) -> str:
    eta = eta_squared(groups)
    if eta is None:
        return "With one model nothing can be said about the influence of the model."
    meaning = (
        "which model was used says more than which pair was scored" if eta > 0.5 else "pairs differ more than models"
    )
    return (
        f"{percent(eta)} of the variance of true {kind} pairs' scores lies between the models (eta² {number(eta)}): "
        f"{meaning}."
    )


def _f1_by_model(study: LisaStudy, key: Key) -> list[Floats]:
    return [scores for model in study.models if (scores := model.f1(key)) is not None]


def _f1_by_algorithm(study: LisaStudy, model: ModelScores, padding: Padding) -> dict[str, Floats]:
    measured = {algorithm: model.f1(Key(study.main, POSITIVE, algorithm, padding)) for algorithm in NAMES}
    return {algorithm: f1 for algorithm, f1 in measured.items() if f1 is not None}


def _explained(study: LisaStudy, kind: str, padding: Padding) -> Iterator[tuple[str, ...]]:
    """One line per matching that was measured everywhere."""
    for algorithm in FEW:
        groups = _f1_by_model(study, Key(kind, POSITIVE, algorithm, padding))
        if groups:
            width = common_bandwidth(groups)
            count = peaks(np.concatenate(groups), width)
            cells = (number(eta_squared(groups)), str(count), f"{width:.2g}", str(len(groups)))
            yield kind, str(padding), algorithm, *cells


def _about_models(study: LisaStudy) -> Iterator[str]:
    for padding in study.paper_paddings:
        groups = _f1_by_model(study, Key(study.main, POSITIVE, GREEDY, padding))
        if len(groups) > 1:
            yield f"{padding}: {_about_eta(groups, study.main)}"
    if len(study.models) == 1:
        yield _about_eta(_f1_by_model(study, Key(study.main, POSITIVE, GREEDY)), study.main)


def _about_means(padding: Padding, means: dict[str, float]) -> str:
    high, low = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    return (
        f"With {padding} the means go from {number(means[low])} ({low}) to {number(means[high])} ({high}); greedy "
        f"{number(means[GREEDY])}, exact assignment {number(means[EXACT])}."
    )


def _means(study: LisaStudy) -> StudyTable:
    """Mean F1 of true pairs, one line per matching, one column per model, kind and padding."""
    columns = {
        f"{name}, {kind}, {padding}": (model, Key(kind, POSITIVE, GREEDY, padding))
        for name, model in study.named
        for kind, padding in study.views()
        if Key(kind, POSITIVE, GREEDY, padding) in model.scores
    }
    lines = []
    for algorithm in NAMES:
        scores = [model.f1(key._replace(algorithm=algorithm)) for model, key in columns.values()]
        lines.append((algorithm, *(number(None if f1 is None else float(f1.mean())) for f1 in scores)))
    return StudyTable("Mean F1 of true pairs", ("matching", *columns), tuple(lines))
