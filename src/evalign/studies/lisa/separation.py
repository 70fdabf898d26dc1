"""Figures 6 and 7 of the LiSAScore study and what lies behind them: true pairs against in-batch negatives.

In: a `LisaStudy`. Out: plates whose sentences follow from the numbers: what pads do to both sides, what the published
program really selects, and which matching tells true pairs from false ones best.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evalign.render.figures import Drawing, Panel
from evalign.render.study import plots
from evalign.render.study.page import Plate, StudyTable
from evalign.studies.lisa.explanations import against_greedy, direction, what_pads_do
from evalign.studies.lisa.matchings import GREEDY, NAMES, PUBLISHED, RECURSIVE
from evalign.studies.lisa.measured import LisaStudy, shape
from evalign.studies.lisa.model_scores import FEW
from evalign.studies.lisa.padding import PLAIN
from evalign.studies.wording import listed, number, percent
from evalign.types import Floats

COLUMNS = ("model", "pairs", "padding", "matching",
           "positives", "negatives", "difference", "ratio", "Cohen's d", "AUC", "overlap")  # fmt: skip
RESAMPLES = 2000  # enough for a fortieth, shared among a dozen comparisons
ENDS = (0.025, 0.975)


def separated(study: LisaStudy, name: str, title: str, algorithm: str) -> Plate:
    """Fig. 6 or 7: densities of both, without padding and in the paper's setting."""
    if study.too_few:
        return Plate(name, title, missing=study.too_few)
    panels, numbers = [], []
    said = [] if algorithm == GREEDY else list(direction(study))
    for model in study.models:
        shown = study.names[model.model]
        for setting in study.paper_settings:
            found = study.both(model, study.main, algorithm, setting)
            apart = study.apart(model, study.main, algorithm, setting)
            if found is None or apart is None:
                continue
            note = f"d {number(apart.cohens_d, 2)}, AUC {number(apart.auc)}, overlap {number(apart.overlap, 2)}"
            curves = dict(zip(("true pairs", "negatives"), map(shape, found), strict=True))
            panels.append(Panel(f"{shown}, {setting}", note, curves))
            rows = zip(study.chosen.rows, *(values.tolist() for values in found), strict=True)
            numbers += [(shown, study.main, algorithm, str(setting), row.id, *both) for row, *both in rows]
        said += list(what_pads_do(study, model) if algorithm == GREEDY else against_greedy(study, model))
    drawing = Drawing(
        f"F1 of true {study.main} pairs and of negatives ({algorithm}); upright lines: medians. Scales differ.",
        lambda: plots.densities(panels, "F1"),
        ("model", "pair", "algorithm", "padding", "id", "positive", "negative"),
        numbers,
    )
    algorithms = (GREEDY,) if algorithm == GREEDY else (algorithm, RECURSIVE)
    return Plate(name, title, drawing, tuple(said), (table(study, "Positives against negatives", algorithms),))


def published(study: LisaStudy) -> Plate:
    """What the authors' program selects on square input, which padded texts always are."""
    name, title = "published", "What the published recursive program computes"
    having = [model for model in study.models if model.shares]
    if not having:
        return Plate(name, title, missing="no model could be padded, and only padded texts make square matrices")
    width, count = min(study.plan.widths), min(study.plan.published, len(study.chosen.rows))
    columns = ("cells that the program selects and so does", *(study.names[model.model] for model in having))
    lines = tuple((one, *(percent(model.shares[one]) for model in having)) for one in having[0].shares)
    said = [
        f"The authors' program for the recursive assignment was followed step by step on {count} pairs padded to "
        f"{width}. It looks for each cell's best rival among copies of the cell itself, so every round only scales the "
        "matrix."
    ]
    first = next(iter(having[0].shares))
    equal = all(model.shares[first] == 1 for model in having)
    said.append(
        "What it selects is exactly every column's best row: one half of greedy matching, and no assignment."
        if equal
        else f"{first} is what it selects in {listed([percent(model.shares[first]) for model in having])} of the cells."
    )
    said += list(_recall_is_greedy(study))
    caption = f"Share of the published program's cells, {study.main} pairs padded to {width}, pads unmasked"
    return Plate(name, title, None, tuple(said), (StudyTable(caption, columns, lines),))


def best(study: LisaStudy) -> Plate:
    """Which matching tells true pairs from negatives best: the question behind Figs. 6 and 7, for all of them."""
    name, title = "separation", "Which matching tells true pairs from negatives best"
    if study.too_few:
        return Plate(name, title, missing=study.too_few)
    panels, numbers, said = [], [], []
    views = [*((study.main, one) for one in study.paper_settings), *((kind, PLAIN) for kind in study.chosen.kinds[1:])]
    series = [f"{kind}, {setting}" for kind, setting in views]
    for model in study.models:
        shown = study.names[model.model]
        values: dict[str, dict[str, tuple[float, float, float]]] = {}
        drawn: dict[str, dict[str, Floats]] = {view: {} for view in series}
        for algorithm in NAMES:
            for view, (kind, setting) in zip(series, views, strict=True):
                found = study.both(model, kind, algorithm, setting)
                apart = study.apart(model, kind, algorithm, setting)
                if found is None or apart is None:
                    continue
                drawn[view][algorithm] = draws = _resampled_auc(*found, study.plan.seed)
                low, high = np.quantile(draws, ENDS).tolist()
                values.setdefault(algorithm, {})[view] = low, apart.auc, high
                means = float(found[0].mean()), float(found[1].mean())
                sizes = apart.difference, apart.ratio, apart.cohens_d, apart.auc, low, high, apart.overlap
                numbers.append((shown, kind, algorithm, str(setting), *means, *sizes))
        panels.append(Panel(shown, "", values))
        said.append(f"{shown}: {_ranked(values, drawn)}")
    drawing = Drawing(
        f"AUC: the chance that a true pair scores above a negative one; line: 95 % interval over {RESAMPLES} resamples "
        "of the pairs. 0.5 is guessing. Told apart: below the highest on 97.5 % of these resamples, corrected for the "
        "number of matchings.",
        lambda: plots.ranges(panels, series, "AUC"),
        ("model", "pair", "algorithm", "padding", "positives", "negatives", "difference", "ratio", "cohens_d", "auc",
         "auc_low", "auc_high", "overlap"),
        numbers,
    )  # fmt: skip
    every = table(study, "Positives against negatives, every padding", FEW, every_setting=True)
    return Plate(name, title, drawing, tuple(said), (every,))


def table(study: LisaStudy, caption: str, algorithms: tuple[str, ...], every_setting: bool = False) -> StudyTable:
    """One line per model, padding and matching; pairs of other kinds without padding."""
    lines = []
    for model in study.models:
        measured = sorted({key.setting for key in model.scores if key.kind == study.main})
        settings = measured if every_setting else [one for one in study.paper_settings if one in measured]
        views = [*((study.main, one) for one in settings), *((kind, PLAIN) for kind in study.chosen.kinds[1:])]
        for kind, setting in views:
            for algorithm in algorithms:
                found = study.both(model, kind, algorithm, setting)
                apart = study.apart(model, kind, algorithm, setting)
                if found is None or apart is None:
                    continue
                means = float(found[0].mean()), float(found[1].mean())
                cells = (*means, apart.difference, apart.ratio, apart.cohens_d, apart.auc, apart.overlap)
                lines.append((study.names[model.model], kind, str(setting), algorithm, *map(number, cells)))
    return StudyTable(caption, COLUMNS, tuple(lines), names=4)


def _recall_is_greedy(study: LisaStudy) -> Iterator[str]:
    for model in study.models:
        apart = [
            float(np.abs(found[:, 1] - model.scores[key._replace(algorithm=GREEDY)][:, 1]).max())
            for key, found in model.scores.items()
            if key.algorithm == PUBLISHED
        ]
        yield (
            f"{study.names[model.model]}: its recall differs from greedy matching's by at most {max(apart):.1g} over "
            "all pairs and paddings; only its precision is another."
        )


def _ranked(values: dict[str, dict[str, tuple[float, float, float]]], drawn: dict[str, dict[str, Floats]]) -> str:
    """The matchings were measured on the same pairs, so what counts is how far apart they are on the same resample."""
    sentences = []
    for view, draws in drawn.items():
        if not draws:
            continue
        top = max(draws, key=lambda one: values[one][view][1])
        share = ENDS[0] / max(1, len(draws) - 1)  # the highest was picked among all: corrected for that
        near = [one for one in draws if one != top and np.quantile(draws[top] - draws[one], share) <= 0]
        sentences.append(
            f"{view}: highest is {top} (AUC {number(values[top][view][1])}), greedy has "
            f"{number(values[GREEDY][view][1])}; {len(near)} of the other {len(draws) - 1} are not told apart from it."
        )
    return " ".join(sentences)


def _resampled_auc(good: Floats, bad: Floats, seed: int) -> Floats:
    """Pairs are drawn anew, each with its own negative; a comparison counts as often as both were drawn."""
    wins = (good[:, None] > bad).astype(np.float64) + 0.5 * (good[:, None] == bad)
    n = len(good)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    return np.asarray(np.einsum("bi,ij,bj->b", drawn, wins, drawn, optimize=True) / n**2)
