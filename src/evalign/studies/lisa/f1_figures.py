"""Figures 4 and 5 of the LiSAScore study: F1 by model over all runs, and by matching over all models.

In: a `LisaStudy`. Out: one `Plate` each, with the figure, all numbers behind it and sentences made from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from evalign.render.figures import Drawing, Panel
from evalign.render.study import plots
from evalign.render.study.page import Plate, StudyTable
from evalign.render.study.plots import Violin
from evalign.stats.effect import eta_squared
from evalign.stats.estimate import Estimate
from evalign.studies.lisa.figures import about_eta
from evalign.studies.lisa.matchings import EXACT, GREEDY, NAMES, SLOW
from evalign.studies.lisa.measured import CSVLine, LisaStudy, common_bandwidth, interval, shape
from evalign.studies.lisa.model_scores import POSITIVE, Key
from evalign.studies.lisa.pair_scores import Padding
from evalign.studies.wording import listed, number
from evalign.types import Floats


def by_model(study: LisaStudy) -> Plate:
    """Fig. 4: all runs of every model together, and greedy matching alone."""
    plate = Plate("figure4", "Fig. 4: F1 by model, all runs", missing=study.too_few)
    if study.too_few:
        return plate
    numbers: list[CSVLine] = []
    runs = study.all_runs()
    title = f"all {next(iter(runs.values())).shape[1]} runs of every model"
    panels = [Panel(title, "", [Violin(name, [shape(f1.ravel())]) for name, f1 in runs.items()])]
    for padding in study.paper_paddings:
        key = Key(study.main, POSITIVE, GREEDY, padding)
        having = {name: model.scores[key][:, 2] for name, model in study.named if key in model.scores}
        violins = [Violin(name, [shape(f1)]) for name, f1 in having.items()]
        panels.append(Panel(f"greedy alone, {padding}", "", violins))
    for name, model in study.named:
        for key, scores in model.scores.items():
            if key.pairing == POSITIVE and key.kind == study.main and key.padding in study.paper_paddings:
                numbers.extend(study.lines((name, key.algorithm, str(key.padding)), scores[:, 2:]))
    drawing = Drawing(
        f"F1 of true {study.main} pairs; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "F1"),
        ("model", "algorithm", "padding", "id", "f1"),
        numbers,
    )
    return replace(plate, drawing=drawing, said=tuple(_about_models(study, list(runs.values()))))


def by_algorithm(study: LisaStudy) -> Plate:
    """Fig. 5: one violin per matching, the scores of all models pooled."""
    plate = Plate("figure5", "Fig. 5: F1 by matching, all models pooled", missing=study.too_few)
    if study.too_few:
        return plate
    numbers: list[CSVLine] = []
    panels, sentences = [], []
    for padding in study.paper_paddings:
        pooled = {
            algorithm: groups
            for algorithm in NAMES
            if (groups := study.f1_by_model(Key(study.main, POSITIVE, algorithm, padding)))
        }
        violins = [
            Violin(algorithm, [shape(np.concatenate(groups), common_bandwidth(groups))])
            for algorithm, groups in pooled.items()
        ]
        panels.append(Panel(str(padding), "", violins))
        sentences.append(_about_means(padding, {name: float(np.mean(groups)) for name, groups in pooled.items()}))
    for name, model in study.named:
        for key, scores in model.scores.items():
            if key.pairing == POSITIVE:
                numbers.extend(study.lines((name, key.kind, key.algorithm, str(key.padding)), scores))
    ends = {name: model.end_tokens for name, model in study.named if model.end_tokens}
    marks = [float(end[study.main, POSITIVE].mean()) for end in ends.values()]
    explained = _explained(study)
    drawing = Drawing(
        f"F1 of true {study.main} pairs, {listed([name for name, _ in study.named])} pooled; bar: middle half, dot: "
        f"median; upright dotted lines: the models' mean end-token scores (Fig. 3).",
        lambda: plots.violin_rows(panels, "F1", marks=marks),
        ("model", "pair", "algorithm", "padding", "id", "precision", "recall", "f1"),
        numbers,
    )
    sentences += _about_explained(explained)
    tables = _explained_table(explained, len(study.models)), _means(study)
    return replace(plate, drawing=drawing, said=tuple(sentences), tables=tables)


Explained = dict[tuple[str, str], tuple[tuple[float, float, float] | None, tuple[float, float, float], float]]


def _explained(study: LisaStudy) -> Explained:
    """By padding and matching: eta² of model, the number of peaks of all models together, and the bandwidth."""
    explained: Explained = {}
    for padding in study.paper_paddings:
        for algorithm in NAMES:
            groups = study.f1_by_model(Key(study.main, POSITIVE, algorithm, padding))
            if not groups:
                continue
            width = common_bandwidth(groups)
            varied = eta_squared(groups) is not None
            eta = interval(study.resamples.eta_squared(groups)) if varied else None
            peaks = interval(study.resamples.peaks(groups, width))
            explained[str(padding), algorithm] = eta, peaks, width
    return explained


def _explained_table(explained: Explained, models: int) -> StudyTable:
    lines = tuple(
        (padding, algorithm, *("–" if ends is None else Estimate(ends[0], 0, *ends[1:]).text(digits)
                               for ends, digits in ((eta, 3), (peaks, 0))), f"{width:.2g}", str(models))
        for (padding, algorithm), (eta, peaks, width) in explained.items()
    )  # fmt: skip
    columns = ("padding", "matching", "eta² of model", "peaks, all models together", "bandwidth", "models")
    caption = (
        "Part of the variance of F1 that lies between the models, and peaks of the density over all models, with 95 % "
        "intervals"
    )
    return StudyTable(caption, columns, lines, names=2)


def _about_explained(explained: Explained) -> Iterator[str]:
    for padding in dict.fromkeys(padding for padding, _ in explained):
        etas = {name: eta[0] for (where, name), (eta, _, _) in explained.items() if where == padding and eta}
        if not etas:
            continue
        most, least = max(etas, key=etas.__getitem__), min(etas, key=etas.__getitem__)
        counts = {name: int(peaks[0]) for (where, name), (_, peaks, _) in explained.items() if where == padding}
        yield (
            f"{padding}: the model explains most of the spread under {most} (eta² {number(etas[most])}) and least "
            f"under {least} ({number(etas[least])}). Peaks of all models together: {min(counts.values())} to "
            f"{max(counts.values())}; greedy {counts[GREEDY]}, row-mask {counts['row-mask']}."
        )


def _about_models(study: LisaStudy, runs: list[Floats]) -> Iterator[str]:
    rest = "pairs, matchings and paddings"
    yield f"All runs: {about_eta([f1.ravel() for f1 in runs], study.main, rest)}"
    for padding in study.paper_paddings:
        groups = study.f1_by_model(Key(study.main, POSITIVE, GREEDY, padding))
        if len(groups) > 1:
            yield f"Greedy alone, {padding}: {about_eta(groups, study.main)}"
    left_out = [
        f"{algorithm} at {padding.width}"
        for padding in study.paper_paddings
        for algorithm in SLOW
        if not study.f1_by_model(Key(study.main, POSITIVE, algorithm, padding))
    ]
    if left_out:
        yield f"A run is a matching and a padding; left out, because they take too long: {listed(left_out)}."


def _about_means(padding: Padding, means: dict[str, float]) -> str:
    high, low = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    return (
        f"{padding}: the means go from {number(means[low])} ({low}) to {number(means[high])} ({high}); greedy "
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
