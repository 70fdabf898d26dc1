"""Figures 6 and 7 of the LiSAScore study and what lies behind them: true pairs against in-batch negatives.

In: a `LisaStudy`. Out: plates with sentences from the numbers: what pads do to both sides, what the published program
selects, and which matching separates true pairs from false ones best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from evalign.render.figures import Drawing, Panel
from evalign.render.study import plots
from evalign.render.study.page import Plate, StudyTable
from evalign.studies.lisa.explanations import against_greedy, direction, what_pads_do
from evalign.studies.lisa.matchings import GREEDY, NAMES, PUBLISHED, RECURSIVE
from evalign.studies.lisa.measured import CSVLine, LisaStudy, shape
from evalign.studies.lisa.model_scores import FEW
from evalign.studies.wording import listed, number, percent
from evalign.types import Floats

COLUMNS = ("model", "pairs", "padding", "matching",
           "positives", "negatives", "difference", "ratio", "Cohen's d", "AUC", "overlap")  # fmt: skip
RESAMPLES = 2000  # enough for a share of 1/40, divided among a dozen comparisons
ENDS = (0.025, 0.975)


def separated(study: LisaStudy, name: str, title: str, algorithm: str) -> Plate:
    """Fig. 6 or 7: densities of both, without padding and with the paper's."""
    if study.too_few:
        return Plate(name, title, missing=study.too_few)
    numbers: list[CSVLine] = []
    panels = []
    sentences = [] if algorithm == GREEDY else list(direction(study))
    explain = what_pads_do if algorithm == GREEDY else against_greedy
    for model_name, model in study.named:
        for padding in study.paper_paddings:
            comparison = study.compare(model, study.main, algorithm, padding)
            if comparison is None:
                continue
            apart = comparison.separation
            note = f"d {number(apart.cohens_d, 2)}, AUC {number(apart.auc)}, overlap {number(apart.overlap, 2)}"
            curves = {"true pairs": shape(comparison.positives), "negatives": shape(comparison.negatives)}
            panels.append(Panel(f"{model_name}, {padding}", note, curves))
            scores = np.stack([comparison.positives, comparison.negatives], axis=1)
            numbers.extend(study.lines((model_name, study.main, algorithm, str(padding)), scores))
        sentences += explain(study, model_name, model)
    drawing = Drawing(
        f"F1 of true {study.main} pairs and of negatives ({algorithm}); upright lines: medians. Scales differ.",
        lambda: plots.densities(panels, "F1"),
        ("model", "pair", "algorithm", "padding", "id", "positive", "negative"),
        numbers,
    )
    algorithms = (GREEDY,) if algorithm == GREEDY else (algorithm, RECURSIVE)
    return Plate(name, title, drawing, tuple(sentences), (table(study, "Positives against negatives", algorithms),))


def published(study: LisaStudy) -> Plate:
    """What the authors' program selects on square input, which padded texts always are."""
    plate = Plate("published", "What the published recursive program computes")
    shares = {name: model.shares for name, model in study.named if model.shares}
    if not shares:
        return replace(plate, missing="no model could be padded, and only padded texts make square matrices")
    width, count = min(study.plan.widths), min(study.plan.published, len(study.pairs.rows))
    columns = ("cells that the program selects and so does", *shares)
    selections = list(next(iter(shares.values())))
    lines = tuple((name, *(percent(share[name]) for share in shares.values())) for name in selections)
    first = [share[selections[0]] for share in shares.values()]
    sentences = [
        f"The authors' program for the recursive assignment was followed step by step on {count} pairs padded to "
        f"{width}. It looks for each cell's best rival among copies of the cell itself, so every round only scales the "
        "matrix.",
        "What it selects is exactly every column's best row: one half of greedy matching, and no assignment."
        if all(share == 1 for share in first)
        else f"{selections[0]} is what it selects in {listed(list(map(percent, first)))} of the cells.",
        *_recall_is_greedy(study),
    ]
    caption = f"Share of the published program's cells, {study.main} pairs padded to {width}, pads unmasked"
    return replace(plate, said=tuple(sentences), tables=(StudyTable(caption, columns, lines),))


def best(study: LisaStudy) -> Plate:
    """Which matching tells true pairs from negatives best: the question behind Figs. 6 and 7, for all of them."""
    plate = Plate("separation", "Which matching tells true pairs from negatives best", missing=study.too_few)
    if study.too_few:
        return plate
    numbers: list[CSVLine] = []
    panels, sentences = [], []
    views = {f"{kind}, {padding}": (kind, padding) for kind, padding in study.views()}
    for name, model in study.named:
        values: dict[str, dict[str, tuple[float, float, float]]] = {}
        drawn: dict[str, dict[str, Floats]] = {view: {} for view in views}
        for algorithm in NAMES:
            for view, (kind, padding) in views.items():
                comparison = study.compare(model, kind, algorithm, padding)
                if comparison is None:
                    continue
                draws = _resampled_auc(comparison.positives, comparison.negatives, study.plan.seed)
                drawn[view][algorithm] = draws
                low, high = np.quantile(draws, ENDS).tolist()
                values.setdefault(algorithm, {})[view] = low, comparison.separation.auc, high
                cells = *comparison.cells[:-1], low, high, comparison.cells[-1]
                numbers.append((name, kind, algorithm, str(padding), *cells))
        panels.append(Panel(name, "", values))
        sentences.append(f"{name}: {_ranked(values, drawn)}")
    drawing = Drawing(
        f"AUC: the chance that a true pair scores above a negative one; line: 95 % interval over {RESAMPLES} resamples "
        "of the pairs. 0.5 is guessing. Told apart: below the highest on 97.5 % of these resamples, corrected for the "
        "number of matchings.",
        lambda: plots.ranges(panels, list(views), "AUC"),
        ("model", "pair", "algorithm", "padding", "positives", "negatives", "difference", "ratio", "cohens_d", "auc",
         "auc_low", "auc_high", "overlap"),
        numbers,
    )  # fmt: skip
    every = table(study, "Positives against negatives, every padding", FEW, every_padding=True)
    return replace(plate, drawing=drawing, said=tuple(sentences), tables=(every,))


def table(study: LisaStudy, caption: str, algorithms: tuple[str, ...], every_padding: bool = False) -> StudyTable:
    """One line per model, padding and matching; pairs of other kinds without padding."""
    lines = []
    for name, model in study.named:
        measured = sorted({key.padding for key in model.scores if key.kind == study.main})
        for kind, padding in study.views(measured if every_padding else None):
            for algorithm in algorithms:
                comparison = study.compare(model, kind, algorithm, padding)
                if comparison is not None:
                    lines.append((name, kind, str(padding), algorithm, *map(number, comparison.cells)))
    return StudyTable(caption, COLUMNS, tuple(lines), names=4)


def _recall_is_greedy(study: LisaStudy) -> Iterator[str]:
    for name, model in study.named:
        differences = [
            float(np.abs(scores[:, 1] - model.scores[key._replace(algorithm=GREEDY)][:, 1]).max())
            for key, scores in model.scores.items()
            if key.algorithm == PUBLISHED
        ]
        yield (
            f"{name}: its recall differs from greedy matching's by at most {max(differences):.1g} over "
            "all pairs and paddings; only its precision is another."
        )


def _ranked(values: dict[str, dict[str, tuple[float, float, float]]], drawn: dict[str, dict[str, Floats]]) -> str:
    """The matchings were measured on the same pairs, so what counts is how far apart they are on the same resample."""
    sentences = []
    for view, draws in drawn.items():
        if not draws:
            continue
        top = max(draws, key=lambda algorithm: values[algorithm][view][1])
        share = ENDS[0] / max(1, len(draws) - 1)  # the highest was picked among all: corrected for that
        lower = [draws[top] - draws[algorithm] for algorithm in draws if algorithm != top]
        near = [difference for difference in lower if np.quantile(difference, share) <= 0]
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
