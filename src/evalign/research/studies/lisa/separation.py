"""Figures 6 and 7 of the LiSAScore study and what lies behind them: true pairs against in-batch negatives.

In: a `LisaStudy`. Out: plates with sentences from the numbers: what pads that weigh 1 do to both sides under greedy
matching, what the recursion as published changes against that, what the published program selects, and which matching
separates true pairs from false ones best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from evalign.core import Floats
from evalign.render.figures import Drawing, Panel
from evalign.render.tables import TextTable
from evalign.research.studies import plots
from evalign.research.studies.lisa.measured import ENDS, RESAMPLES, Compared, CSVLine, LisaStudy, interval, shape
from evalign.research.studies.lisa.model_scores import NEGATIVE, POSITIVE, Key, ModelScores
from evalign.research.studies.lisa.pair_scores import (
    GREEDY,
    MAIN_ALGORITHMS,
    NAMES,
    PARTS,
    PLAIN,
    PUBLISHED,
    RECURSIVE,
    Padding,
)
from evalign.research.studies.page import Plate, listed, moved, number, percent

COLUMNS = ("model", "pairs", "padding", "matching",
           "positives", "negatives", "difference", "ratio", "Cohen's d", "AUC", "overlap")  # fmt: skip


def separated(study: LisaStudy) -> Plate:
    """Figs. 6 and 7: densities of both under greedy matching (up) and the published recursion (down), on one axis."""
    plate = Plate("figure6-7", "Figs. 6 and 7: positives and negatives, greedy and recursive", missing=study.too_few)
    if study.too_few:
        return plate
    numbers: list[CSVLine] = []
    panels: list[Panel] = []
    pads: list[str] = []
    changes: list[str] = []
    up, down = "Fig. 6: greedy", "Fig. 7: recursive"
    sides = {up: GREEDY, down: PUBLISHED}
    for model_name, model in study.named:
        for padding in study.paper_paddings:
            compared = {side: study.compare(model, study.main, name, padding) for side, name in sides.items()}
            available = {side: comparison for side, comparison in compared.items() if comparison is not None}
            if len(available) < len(sides):
                continue
            curves = {side: {"true pairs": shape(both.positives), "negatives": shape(both.negatives)}
                      for side, both in available.items()}  # fmt: skip
            panels.append(
                Panel(
                    f"{model_name}, {padding}", f"up: {_noted(available[up])}; down: {_noted(available[down])}", curves
                )
            )
            for side, comparison in available.items():
                scores = np.stack([comparison.positives, comparison.negatives], axis=1)
                numbers.extend(study.lines((model_name, study.main, sides[side], str(padding)), scores))
        pads += what_pads_do(study, model_name, model)
        changes += against_greedy(study, model_name, model)
    drawing = Drawing(
        f"F1 of true {study.main} pairs and of negatives: upwards greedy matching (the paper's Fig. 6), downwards "
        f"{PUBLISHED} (Fig. 7); upright lines: medians. All panels have the same axis; up and down have heights of "
        "their own. Above each: Cohen's d and AUC of the two.",
        lambda: plots.mirrored_densities(panels, "F1", (up, down)),
        ("model", "pair", "algorithm", "padding", "id", "positive", "negative"),
        numbers,
    )
    tables = (table(study, "Positives against negatives", (GREEDY, PUBLISHED, RECURSIVE)),)
    return replace(plate, drawing=drawing, sentences=(*direction(study), *pads, *changes), tables=tables)


def _noted(comparison: Compared) -> str:
    apart = comparison.separation
    return f"d {number(apart.cohens_d, 2)}, AUC {number(apart.auc)}"


def published(study: LisaStudy) -> Plate:
    """Show the selection of the authors' program on square matrices, such as those of padded texts."""
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
    return replace(plate, sentences=tuple(sentences), tables=(TextTable(caption, columns, lines),))


def best(study: LisaStudy) -> Plate:
    """Compare all matchings by their separation of true pairs from negatives, as in Figs. 6 and 7."""
    plate = Plate("separation", "Which matching tells true pairs from negatives best", missing=study.too_few)
    if study.too_few:
        return plate
    numbers: list[CSVLine] = []
    panels, sentences = [], []
    views = {f"{pair_type}, {padding}": (pair_type, padding) for pair_type, padding in study.views()}
    for name, model in study.named:
        values: dict[str, dict[str, tuple[float, float, float]]] = {}
        drawn: dict[str, dict[str, Floats]] = {view: {} for view in views}
        for algorithm in NAMES:
            for view, (pair_type, padding) in views.items():
                comparison = study.compare(model, pair_type, algorithm, padding)
                if comparison is None:
                    continue
                draws = study.resamples.auc(comparison.positives, comparison.negatives)
                drawn[view][algorithm] = draws[1:]
                auc, low, high = interval(draws)
                values.setdefault(algorithm, {})[view] = low, auc, high
                cells = *comparison.cells[:-1], low, high, comparison.cells[-1]
                numbers.append((name, pair_type, algorithm, str(padding), *cells))
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
    all_paddings = table(study, "Positives against negatives, every padding", MAIN_ALGORITHMS, every_padding=True)
    return replace(plate, drawing=drawing, sentences=tuple(sentences), tables=(all_paddings,))


def table(study: LisaStudy, caption: str, algorithms: tuple[str, ...], every_padding: bool = False) -> TextTable:
    """One line per model, padding and matching; other types of pairs without padding."""
    lines = []
    for name, model in study.named:
        measured = sorted({key.padding for key in model.scores if key.pair_type == study.main})
        for pair_type, padding in study.views(measured if every_padding else None):
            for algorithm in algorithms:
                comparison = study.compare(model, pair_type, algorithm, padding)
                if comparison is not None:
                    lines.append((name, pair_type, str(padding), algorithm, *map(number, comparison.cells)))
    return TextTable(caption, COLUMNS, tuple(lines), names=4)


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


def what_pads_do(study: LisaStudy, name: str, model: ModelScores) -> Iterator[str]:
    """Yield sentences on the effect of unmasked pads with weight 1 on greedy scores."""
    plain = study.compare(model, study.main, GREEDY, PLAIN)
    for padding in study.paper_paddings[1:]:
        padded = study.compare(model, study.main, GREEDY, padding)
        if plain is None or padded is None:
            continue
        key = Key(study.main, POSITIVE, GREEDY, padding)
        good, bad = _parts(model, key)
        positives, negatives = zip(plain.means, padded.means, strict=True)
        gaps = plain.separation.difference, padded.separation.difference
        text, pads = _added(model, key)
        share = good["pad_share"]
        yield (
            f"{name}, {padding}: the mean of the true pairs {moved(*positives)}, that of the "
            f"negatives {moved(*negatives)}, and the difference between them {moved(*gaps)}. Why: {percent(share)} of "
            f"what is averaged are pads, and a pad finds a partner of mean similarity {number(good['pad_value'])} in "
            f"true pairs and {number(bad['pad_value'])} in negatives, a text token {number(good['text_value'])} and "
            f"{number(bad['text_value'])}. The mean of precision and recall differs by {number(text + pads)}: pads "
            f"make {number(pads)} of that, and the text {number(text)}, for it has only {percent(1 - share)} of the "
            f"weight. {percent(good['text_to_pad'])} of the text tokens of true pairs and "
            f"{percent(bad['text_to_pad'])} of those of negatives are matched with a pad."
        )


def against_greedy(study: LisaStudy, name: str, model: ModelScores) -> Iterator[str]:
    """Yield sentences on the recursive assignment compared with greedy matching, with the same padding."""
    for padding in study.paper_paddings:
        for before, after in _changes(study, model, padding):
            good, bad = zip(before.means, after.means, strict=True)
            old, new = before.separation, after.separation
            sentence = (
                f"{name}, {padding}: from greedy to recursive assignment as published the mean of the "
                f"true pairs {moved(*good)} and that of the negatives {moved(*bad)}; the difference "
                f"{moved(old.difference, new.difference)}"
            )
            if old.ratio is not None and new.ratio is not None:
                sentence += f", the ratio {moved(old.ratio, new.ratio)}"
            if old.cohens_d is not None and new.cohens_d is not None:
                sentence += f", Cohen's d {moved(old.cohens_d, new.cohens_d)}"
            yield f"{sentence}, AUC {moved(old.auc, new.auc)}.{_unmatched(study, model, padding)}"


def direction(study: LisaStudy) -> Iterator[str]:
    """The direction of the paper's comparison, counted over models and widths with its own padding."""
    changes = [
        change
        for model in study.models
        for padding in study.paper_paddings[1:]
        for change in _changes(study, model, padding)
    ]
    if not changes:
        return
    both_fall = (all(new < old for old, new in zip(b.means, a.means, strict=True)) for b, a in changes)
    pairs = [(before.separation, after.separation) for before, after in changes]
    counts = {
        "both means fall": sum(both_fall),
        "the ratio of the means rises": sum(_rises(b.ratio, a.ratio) for b, a in pairs),
        "the difference rises": sum(a.difference > b.difference for b, a in pairs),
        "Cohen's d rises": sum(_rises(b.cohens_d, a.cohens_d) for b, a in pairs),
        "AUC rises": sum(a.auc > b.auc for b, a in pairs),
    }
    counted = ", ".join(f"{what} in {count}" for what, count in counts.items())
    yield (
        "In the paper's setting (pads unmasked, weight 1), going from greedy matching (Fig. 6) to the recursive "
        f"assignment (Fig. 7), of {len(changes)} combinations of model and width: {counted}."
    )
    alone = sum(_rises(b.ratio, a.ratio) and not a.auc > b.auc for b, a in pairs)
    if alone:
        yield (
            f"In {alone} of them the ratio rises although AUC does not: a larger ratio of smaller means does not make "
            "true pairs easier to tell from false ones."
        )


def _rises(before: float | None, after: float | None) -> bool:
    """False if one of the numbers does not exist."""
    return before is not None and after is not None and after > before


def _changes(study: LisaStudy, model: ModelScores, padding: Padding) -> Iterator[tuple[Compared, Compared]]:
    """Greedy matching and recursive assignment as published, if both were measured."""
    before, after = (study.compare(model, study.main, algorithm, padding) for algorithm in (GREEDY, PUBLISHED))
    if before is not None and after is not None:
        yield before, after


def _unmatched(study: LisaStudy, model: ModelScores, padding: Padding) -> str:
    """Return a sentence on the cause of the lower scores of the recursive assignment."""
    key = Key(study.main, POSITIVE, PUBLISHED, padding)
    recursive, greedy = (model.scores[used].mean(axis=0) for used in (key, key._replace(algorithm=GREEDY)))
    changes = f" Precision {moved(greedy[0], recursive[0])}, recall {moved(greedy[1], recursive[1])}."
    if padding == PLAIN:
        return changes
    good, bad = _parts(model, key)
    return (
        f"{changes} A row that no column chose counts 0: of both sides' tokens these are "
        f"{percent(good['pad_unmatched'])} of the pads and {percent(good['text_unmatched'])} of the text in true "
        f"pairs, {percent(bad['pad_unmatched'])} and {percent(bad['text_unmatched'])} in negatives."
    )


def _added(model: ModelScores, key: Key) -> tuple[float, float]:
    """Return the contributions of text tokens and of pads to the distance of true pairs from negatives."""
    sums = []
    for pairing in (POSITIVE, NEGATIVE):
        parts = dict(zip(PARTS, model.parts[key._replace(pairing=pairing)].T, strict=True))
        share = parts["pad_share"]
        sums.append([float(((1 - share) * parts["text_value"]).mean()), float((share * parts["pad_value"]).mean())])
    return sums[0][0] - sums[1][0], sums[0][1] - sums[1][1]


def _parts(model: ModelScores, key: Key) -> list[dict[str, float]]:
    """The means of `PARTS`, in true pairs and in negatives."""
    means = (model.parts[key._replace(pairing=pairing)].mean(axis=0) for pairing in (POSITIVE, NEGATIVE))
    return [dict(zip(PARTS, values.tolist(), strict=True)) for values in means]
