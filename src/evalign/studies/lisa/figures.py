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
from evalign.stats.effect import separation
from evalign.studies.lisa.matchings import EXACT, GREEDY, NAMES
from evalign.studies.lisa.measured import LisaStudy, common_bandwidth, shape
from evalign.studies.lisa.model_scores import FEW, IDENTICAL, NEGATIVE, POSITIVE, Key, ModelScores
from evalign.studies.lisa.padding import MASKED, PLAIN, Setting
from evalign.studies.pair_selection import CROSS
from evalign.studies.wording import listed, number, percent
from evalign.types import Floats

PERFECT = 1 - 1e-6


def lengths(study: LisaStudy) -> Plate:
    """Fig. 1: how many tokens the texts have, and how much padding that means."""
    said, panels, numbers = [], [], []
    for model in study.models:
        name = study.names[model.model]
        by_side = _lengths_by_side(model)
        panels.append(Panel(name, "", by_side))
        middle = [f"{side} {np.median(counts):.0f} (longest {counts.max()})" for side, counts in by_side.items()]
        tokens = model.lengths[study.main]
        padding = [
            f"{percent(1 - float(np.minimum(tokens, width).mean()) / width)} of the tokens at {width}"
            for width in study.plan.widths
        ]
        said.append(
            f"{name}: median tokens, special ones included: {', '.join(middle)}. Padding is {' and '.join(padding)}."
        )
        for kind, counts in model.lengths.items():
            rows = zip(study.chosen.rows, counts.tolist(), strict=True)
            numbers += [(name, kind, row.id, *both) for row, both in rows]
    caption = "Tokens per text, special tokens included; upright dotted lines: the widths that texts are padded to."
    drawing = Drawing(
        caption,
        lambda: plots.histograms(panels, "tokens", study.plan.widths),
        ("model", "pair", "id", "first_tokens", "second_tokens"),
        numbers,
    )
    return Plate("figure1", "Fig. 1: lengths", drawing, tuple(said))


def identical(study: LisaStudy) -> Plate:
    """Fig. 2: a text against itself should score 1, whatever the padding."""
    panels, numbers, said = [], [], []
    settings: dict[Setting, None] = {}
    for model in study.models:
        name = study.names[model.model]
        values: dict[str, dict[str, tuple[float, float, float]]] = {}
        for algorithm in NAMES:
            for key in sorted(key for key in model.scores if key[1:3] == (IDENTICAL, algorithm)):
                found = model.scores[key][:, 2]
                settings[key.setting] = None
                values.setdefault(algorithm, {})[str(key.setting)] = found.min(), found.mean(), found.max()
                rows = zip(study.chosen.rows, found.tolist(), strict=True)
                numbers += [(name, algorithm, str(key.setting), row.id, score) for row, score in rows]
        panels.append(Panel(name, "", values))
        said.append(f"{name}: {_about_identical(values)} {_about_masking(model, study.main)}".strip())
    series = [str(setting) for setting in sorted(settings)]
    imperfect = {one for panel in panels for one, found in panel.values.items() if _lowest(found) < PERFECT}
    shown = [
        replace(panel, values={one: panel.values[one] for one in NAMES if one in imperfect.union(FEW)})
        for panel in panels
    ]
    caption = (
        "F1 of reference texts against themselves: mean (mark) and range over pairs (line). Shown are four matchings, "
        "and others that do not always give 1."
    )
    drawing = Drawing(
        caption,
        lambda: plots.ranges(shown, series, "F1"),
        ("model", "algorithm", "padding", "id", "f1"),
        numbers,
    )
    return Plate("figure2", "Fig. 2: identical pairs by padding", drawing, tuple(said))


def end_tokens(study: LisaStudy) -> Plate:
    """Fig. 3: the cosine of the last special token, which needs no matching."""
    name, title = "figure3", "Fig. 3: end-token scores by model"
    having = [model for model in study.models if model.end_tokens]
    if study.too_few or not having:
        return Plate(name, title, missing=study.too_few or "no model's tokenizer ends a text with a special token")
    panels, numbers, lines = [], [], []
    for kind in study.chosen.kinds:
        violins = []
        for model in having:
            good, bad = model.end_tokens[kind, POSITIVE], model.end_tokens[kind, NEGATIVE]
            shown = study.names[model.model]
            violins.append(Violin(shown, [shape(good), shape(bad)]))
            apart = separation(good, bad)
            cells = (good.mean(), bad.mean(), apart.difference, apart.cohens_d, apart.auc, apart.overlap)
            lines.append((shown, kind, *map(number, cells)))
            rows = zip(study.chosen.rows, good.tolist(), bad.tolist(), strict=True)
            numbers += [(shown, kind, row.id, *both) for row, *both in rows]
        panels.append(Panel(kind, "", violins))
    groups = [model.end_tokens[study.main, POSITIVE] for model in having]
    columns = ("model", "pairs", "positives", "negatives", "difference", "Cohen's d", "AUC", "overlap")
    told = StudyTable("End tokens of true pairs and of negatives", columns, tuple(lines), names=2)
    drawing = Drawing(
        "Cosine of the last tokens of both texts; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "cosine of the end tokens", ("true pairs", "negatives")),
        ("model", "pair", "id", "positive", "negative"),
        numbers,
    )
    return Plate(name, title, drawing, (_about_eta(groups, study.main),), (told,))


def by_model(study: LisaStudy) -> Plate:
    """Fig. 4: the same pairs under every model, with the part of the spread that is the model's."""
    name, title = "figure4", "Fig. 4: F1 by model, greedy"
    if study.too_few:
        return Plate(name, title, missing=study.too_few)
    panels, numbers, lines = [], [], []
    for kind, setting in _views(study):
        key = Key(kind, POSITIVE, GREEDY, setting)
        having = [model for model in study.models if key in model.scores]
        violins = [Violin(study.names[model.model], [shape(model.scores[key][:, 2])]) for model in having]
        panels.append(Panel(f"{kind}, {setting}", "", violins))
        for model in having:
            rows = zip(study.chosen.rows, model.scores[key].tolist(), strict=True)
            numbers += [(study.names[model.model], kind, str(setting), row.id, *scores) for row, scores in rows]
        lines += list(_explained(study, kind, setting))
    columns = ("pairs", "padding", "matching", "eta² of model", "peaks, all models together", "bandwidth", "models")
    drawing = Drawing(
        "F1 of true pairs under greedy matching; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "F1"),
        ("model", "pair", "padding", "id", "precision", "recall", "f1"),
        numbers,
    )
    caption = "Part of the variance of F1 that is explained by the model, and peaks of the density over all models"
    told = StudyTable(caption, columns, tuple(lines), names=3)
    return Plate(name, title, drawing, tuple(_about_models(study)), (told,))


def by_algorithm(study: LisaStudy) -> Plate:
    """Fig. 5: the same pairs under every matching and preset."""
    name, title = "figure5", "Fig. 5: F1 by algorithm"
    if study.too_few:
        return Plate(name, title, missing=study.too_few)
    panels, numbers, said = [], [], []
    for model in study.models:
        shown = study.names[model.model]
        for setting in study.paper_settings[:2]:
            found = {one: model.f1(Key(study.main, POSITIVE, one, setting)) for one in NAMES}
            violins = [Violin(one, [shape(values)]) for one, values in found.items() if values is not None]
            if violins:
                panels.append(Panel(f"{shown}: {study.main}, {setting}", "", violins))
        said.append(f"{shown}: {_about_algorithms(study, model)}")
        for key, scores in model.scores.items():
            if key.pairing == POSITIVE:
                where = (shown, key.kind, key.algorithm, str(key.setting))
                rows = zip(study.chosen.rows, scores.tolist(), strict=True)
                numbers += [(*where, row.id, *three) for row, three in rows]
    drawing = Drawing(
        "F1 of true pairs under every matching and preset; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "F1"),
        ("model", "pair", "algorithm", "padding", "id", "precision", "recall", "f1"),
        numbers,
    )
    return Plate(name, title, drawing, tuple(said), (_means(study),))


def _lengths_by_side(model: ModelScores) -> dict[str, Any]:
    found = {}
    for kind, counts in model.lengths.items():
        found["source" if kind == CROSS else "candidate"] = counts[:, 0]
        found["reference"] = counts[:, 1]
    return found


def _lowest(ranges: dict[str, tuple[float, float, float]]) -> float:
    return min(low for low, _, _ in ranges.values())


def _about_identical(values: dict[str, dict[str, tuple[float, float, float]]]) -> str:
    lowest = {algorithm: _lowest(found) for algorithm, found in values.items()}
    perfect = [algorithm for algorithm, low in lowest.items() if low >= PERFECT]
    said = f"{len(perfect)} of {len(lowest)} matchings give every text 1 against itself at every padding"
    if len(perfect) == len(lowest):
        return f"{said}."
    worst = min(lowest, key=lambda algorithm: min(mean for _, mean, _ in values[algorithm].values()))
    where = min(values[worst], key=lambda setting: values[worst][setting][1])
    others = [algorithm for algorithm in lowest if algorithm not in perfect]
    return (
        f"{said}; not so {listed(others)}: the lowest mean is {number(values[worst][where][1])} ({worst}; {where}), "
        f"where the lowest pair has {number(values[worst][where][0])}. Without padding that matching's lowest pair has "
        f"{number(values[worst][str(PLAIN)][0])}."
    )


def _about_masking(model: ModelScores, kind: str) -> str:
    """Masked padding should change nothing; how much does it?"""
    changes = [
        float(np.abs(found - model.scores[key._replace(setting=PLAIN)]).max())
        for key, found in model.scores.items()
        if key.setting.pads == MASKED and key.kind == kind and not model.truncated.get(key.setting.width)
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


def _views(study: LisaStudy) -> Iterator[tuple[str, Setting]]:
    for setting in study.paper_settings:
        yield study.main, setting
    for kind in study.chosen.kinds[1:]:
        yield kind, PLAIN


def _explained(study: LisaStudy, kind: str, setting: Setting) -> Iterator[tuple[str, ...]]:
    """One line per matching that was measured everywhere."""
    for algorithm in FEW:
        key = Key(kind, POSITIVE, algorithm, setting)
        groups = [model.scores[key][:, 2] for model in study.models if key in model.scores]
        if groups:
            width = common_bandwidth(groups)
            found = peaks(np.concatenate(groups), width)
            cells = (number(eta_squared(groups)), str(found), f"{width:.2g}", str(len(groups)))
            yield kind, str(setting), algorithm, *cells


def _about_models(study: LisaStudy) -> Iterator[str]:
    for setting in study.paper_settings:
        key = Key(study.main, POSITIVE, GREEDY, setting)
        groups = [model.scores[key][:, 2] for model in study.models if key in model.scores]
        if len(groups) > 1:
            yield f"{setting}: {_about_eta(groups, study.main)}"
    if len(study.models) == 1:
        yield _about_eta([study.models[0].scores[Key(study.main, POSITIVE, GREEDY)][:, 2]], study.main)


def _about_algorithms(study: LisaStudy, model: ModelScores) -> str:
    sentences = []
    for setting in study.paper_settings[:2]:
        found = {one: model.f1(Key(study.main, POSITIVE, one, setting)) for one in NAMES}
        means = {one: float(values.mean()) for one, values in found.items() if values is not None}
        if not means:
            continue
        high, low = max(means, key=lambda one: means[one]), min(means, key=lambda one: means[one])
        sentences.append(
            f"With {setting} the means go from {number(means[low])} ({low}) to {number(means[high])} ({high}); greedy "
            f"{number(means[GREEDY])}, exact assignment {number(means[EXACT])}."
        )
    return " ".join(sentences)


def _means(study: LisaStudy) -> StudyTable:
    """Mean F1 of true pairs, one line per matching, one column per model, kind and padding."""
    views = [
        (model, kind, setting)
        for model in study.models
        for kind, setting in _views(study)
        if Key(kind, POSITIVE, GREEDY, setting) in model.scores
    ]
    columns = [f"{study.names[model.model]}, {kind}, {setting}" for model, kind, setting in views]
    lines = []
    for algorithm in NAMES:
        found = [model.f1(Key(kind, POSITIVE, algorithm, setting)) for model, kind, setting in views]
        lines.append((algorithm, *(number(None if values is None else float(values.mean())) for values in found)))
    return StudyTable("Mean F1 of true pairs", ("matching", *columns), tuple(lines))
