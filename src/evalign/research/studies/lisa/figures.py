"""Figures 1 to 3 and Table 1 of the LiSAScore study: lengths, identical pairs by padding, end tokens, the methods.

In: a `LisaStudy`. Out: one `Plate` each, with the figure, all numbers behind it and sentences made from them. Table 1
says which methods run on accelerators and keep gradients, as printed and as found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from evalign.core import Floats
from evalign.errors import MissingExtraError
from evalign.matching.registry import METHODS, matching_class
from evalign.render.figures import Drawing, Panel
from evalign.render.tables import TextTable
from evalign.research.studies import plots
from evalign.research.studies.inputs import CROSS
from evalign.research.studies.lisa.measured import CSVLine, LisaStudy, common_bandwidth, compared, interval, shape
from evalign.research.studies.lisa.model_scores import IDENTICAL, NEGATIVE, POSITIVE, Key, ModelScores
from evalign.research.studies.lisa.pair_scores import (
    EXACT,
    GREEDY,
    MAIN_ALGORITHMS,
    MASKED,
    NAMES,
    PLAIN,
    SLOW,
    Padding,
)
from evalign.research.studies.page import Numbers, Plate, listed, number, percent
from evalign.research.studies.plots import Violin
from evalign.stats.effect import eta_squared
from evalign.stats.estimate import Estimate

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
        for pair_type, counts in model.lengths.items():
            by_side["source" if pair_type == CROSS else "candidate"] = counts[:, 0]
            by_side["reference"] = counts[:, 1]
            numbers.extend(study.lines((name, pair_type), counts))
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
    imperfect = {algorithm for panel in panels for algorithm, low in _lowest(panel.values).items() if low < PERFECT}
    imperfect.update(MAIN_ALGORITHMS)
    panels = [
        replace(panel, values={algorithm: panel.values[algorithm] for algorithm in NAMES if algorithm in imperfect})
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
    for pair_type in study.pairs.pair_types:
        violins = []
        for name, model in having:
            good, bad = model.end_tokens[pair_type, POSITIVE], model.end_tokens[pair_type, NEGATIVE]
            violins.append(Violin(name, [shape(good), shape(bad)]))
            if (comparison := compared(good, bad)) is not None:
                cells = (*comparison.cells[:3], *comparison.cells[4:])
                lines.append((name, pair_type, *map(number, cells)))
            numbers.extend(study.lines((name, pair_type), np.stack([good, bad], axis=1)))
        panels.append(Panel(pair_type, "", violins))
    columns = ("model", "pairs", "positives", "negatives", "difference", "Cohen's d", "AUC", "overlap")
    table = TextTable("End tokens of true pairs and of negatives", columns, tuple(lines), names=2)
    drawing = Drawing(
        "Cosine of the last tokens of both texts; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "cosine of the end tokens", ("true pairs", "negatives")),
        ("model", "pair", "id", "positive", "negative"),
        numbers,
    )
    sentence = about_eta([model.end_tokens[study.main, POSITIVE] for _, model in having], study.main)
    return replace(plate, drawing=drawing, sentences=(sentence,), tables=(table,))


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


def _about_masking(model: ModelScores, pair_type: str) -> str:
    """By how much masked padding, which should change nothing, changes scores."""
    changes = [
        float(np.abs(scores - model.scores[key._replace(padding=PLAIN)]).max())
        for key, scores in model.scores.items()
        if key.padding.pads == MASKED and key.pair_type == pair_type and not model.truncated.get(key.padding.width)
    ]
    if not any(changes):
        return "Masked padding changes no score." if changes else ""
    return f"Masked padding moves no score by more than {max(changes):.1g}."


def about_eta(groups: list[Floats], pair_type: str, rest: str = "pairs") -> str:
    """Return a sentence on the share of variance between models; `rest` names the other source of variance."""
    eta = eta_squared(groups)
    if eta is None:
        return "With one model nothing can be said about the influence of the model."
    meaning = f"models differ more than {rest}" if eta > 0.5 else f"{rest} differ more than models"
    return (
        f"{percent(eta)} of the variance of true {pair_type} pairs' scores lies between the models "
        f"(eta² {number(eta)}): "
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
    """Return for every method whether it stays on torch's device, and the number of similarities with a gradient.

    Empty if torch is not installed.
    """
    try:
        from evalign.matching.soft import capability
    except MissingExtraError:
        return {}
    return {name: asdict(capability(matching_class(name)())) for name in METHODS}


def as_printed(measured: Mapping[str, Mapping[str, Any]]) -> int:
    """Count the cells of Table 1, of ten, that are as in the paper."""
    return sum(
        (measured[name]["on_device"] == printed.accelerator) + ((measured[name]["gradient"] > 0) == printed.gradient)
        for name, printed in TABLE_1.items()
    )


def method_table(study: LisaStudy) -> Plate:
    """The table with what was found by running each method on tensors."""
    measured = study.capabilities
    lines, numbers = [], []
    for name in METHODS:
        paper, result = TABLE_1.get(name, NOT_IN_PAPER), measured.get(name, {})
        gradient: float | None = result.get("gradient")
        flags = paper.accelerator, result.get("on_device"), paper.gradient
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
    table = TextTable("The methods, as in the paper's Table 1", columns, tuple(lines), names=7)
    return Plate(
        "table1", "Table 1: the methods", sentences=sentences, tables=(table,), numbers=Numbers(COLUMNS, numbers)
    )


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
            if key.pairing == POSITIVE and key.pair_type == study.main and key.padding in study.paper_paddings:
                numbers.extend(study.lines((name, key.algorithm, str(key.padding)), scores[:, 2:]))
    drawing = Drawing(
        f"F1 of true {study.main} pairs; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "F1"),
        ("model", "algorithm", "padding", "id", "f1"),
        numbers,
    )
    return replace(plate, drawing=drawing, sentences=tuple(_about_models(study, list(runs.values()))))


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
                numbers.extend(study.lines((name, key.pair_type, key.algorithm, str(key.padding)), scores))
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
    return replace(plate, drawing=drawing, sentences=tuple(sentences), tables=tables)


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


def _explained_table(explained: Explained, models: int) -> TextTable:
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
    return TextTable(caption, columns, lines, names=2)


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


def _means(study: LisaStudy) -> TextTable:
    """Mean F1 of true pairs, one line per matching, one column per model, pair type and padding."""
    columns = {
        f"{name}, {pair_type}, {padding}": (model, Key(pair_type, POSITIVE, GREEDY, padding))
        for name, model in study.named
        for pair_type, padding in study.views()
        if Key(pair_type, POSITIVE, GREEDY, padding) in model.scores
    }
    lines = []
    for algorithm in NAMES:
        scores = [model.f1(key._replace(algorithm=algorithm)) for model, key in columns.values()]
        lines.append((algorithm, *(number(None if f1 is None else float(f1.mean())) for f1 in scores)))
    return TextTable("Mean F1 of true pairs", ("matching", *columns), tuple(lines))
