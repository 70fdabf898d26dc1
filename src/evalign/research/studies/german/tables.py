"""Tables 3 and 4 of the German summaries study, and its figures: numbers in, plates with tables and sentences out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from evalign.core import Floats
from evalign.render.figures import Drawing, Panel
from evalign.render.tables import TextTable
from evalign.research.studies import plots
from evalign.research.studies.german import sentences
from evalign.research.studies.german.agreement import (
    CORRELATIONS,
    ERRORS,
    FITTED_RMSE,
    MAE,
    RESCALED,
    RMSE,
    JudgedSystem,
    error_estimates,
)
from evalign.research.studies.german.study import GermanStudy
from evalign.research.studies.german.systems import (
    EVALIGN,
    LISASCORE,
    MOVERSCORE,
    POOLINGS,
    TABLE3,
    TABLE3_COLUMNS,
    TABLE4,
    TUNED,
    pooled,
    published_error,
)
from evalign.research.studies.lisa.measured import shape
from evalign.research.studies.page import Plate, number, percent
from evalign.research.studies.plots import Shape, Violin
from evalign.stats.estimate import Estimate
from evalign.stats.levels import Rated
from evalign.stats.levels import agreement as level_agreement

WORDS, CONSTANT = "no model", "always the mean rating"
DRAWN_ERRORS = {RMSE: "RMSE of raw scores", FITTED_RMSE: "RMSE of fitted scores"}  # with the titles of their panels
DRAWN_CORRELATIONS = {"pearson": "Pearson", "spearman": "Spearman"}
NO_MODEL = "no model could be used"
NO_CORRELATION = (
    "no metric has a correlation here, for its scores or the ratings are constant; give ratings that differ"
)
Text = Callable[[JudgedSystem], str]
METRIC: Text = attrgetter("name")
POOLING: Text = attrgetter("pooling")
Axes = tuple[Text, Text]  # the names of a system's row and of its series
BESIDE = (pooled("mean"), RESCALED, TUNED, LISASCORE, MOVERSCORE, EVALIGN)  # what Table 3 does not have
PUBLISHED_MEASURE = "published error"


def summary(study: GermanStudy) -> TextTable:
    """Table 4, and the constant that predicts the mean rating."""
    columns = {
        **NAMES,
        "error x 100": _interval(RMSE, 1),
        "fitted error x 100": _interval(FITTED_RMSE, 1),
        "Pearson": _interval("pearson", 3),
        **{name.capitalize(): _plain(name) for name in CORRELATIONS[1:]},
        "rank": _rank,
    }
    table = system_table("Table 4: all metrics, with 95 % intervals", columns, _table4(study))
    constant = study.verdict.constant[RMSE].text(1)
    return replace(table, lines=(*table.lines, (CONSTANT, "–", "–", constant, "–", "–", "–", "–")))


def errors(study: GermanStudy) -> Plate:
    """Show the errors of Table 4, with the published errors and those of a constant."""
    systems = _table4(study)
    columns: dict[str, Text] = {
        **NAMES,
        **ERROR_COLUMNS,
        "mean score - mean rating": lambda system: f"{system.offset:+.2f}",
        "share of MSE": lambda system: percent(system.offset_share),
    }
    drawing = ranges_drawing(
        systems, DRAWN_ERRORS, "error x 100", (METRIC, model_or_words), study.verdict.constant[RMSE]
    )
    tables = system_table("Table 4: errors", columns, systems), _published_table4(systems)
    about = sentences.errors(study, systems)
    return Plate("table4_error", "Table 4: all metrics, error", drawing, about, tables)


def agreement(study: GermanStudy) -> Plate:
    """Table 4, correlations."""
    systems = _table4(study)
    table = system_table("Table 4: correlations", {**NAMES, **CORRELATION_COLUMNS, "rank": _rank}, systems)
    about = sentences.agreement(study, systems)
    plate = Plate("table4_correlation", "Table 4: all metrics, correlation with people", None, about)
    return replace(with_correlations(plate, systems, (METRIC, model_or_words)), tables=(table,))


def raw_scores(study: GermanStudy) -> Plate:
    """Draw the distributions of scores and ratings: most of the error of a raw score is its offset."""
    systems = _table4(study)
    panels = []
    for model in dict.fromkeys(map(model_or_words, systems)):
        violins = [
            Violin(system.name, [_shape(system.scores)]) for system in systems if model_or_words(system) == model
        ]
        panels.append(Panel(model, "", [Violin("people", [_shape(study.rows.shares)]), *violins]))
    columns = {("people", ""): study.rows.shares}
    columns |= {(system.name, system.model): system.scores for system in study.verdict.systems}
    numbers = [
        (row.id, *names, score)
        for names, scores in columns.items()
        for row, score in zip(study.rows.rows, scores.tolist(), strict=True)
    ]
    drawing = Drawing(
        "Ratings between 0 and 1, and raw scores clipped to 0 and 1; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "rating or score"),
        ("id", "metric", "model", "score"),
        numbers,
    )
    return Plate("scores", "Where the scores lie", drawing, sentences.offsets(study, systems))


def model_or_words(system: JudgedSystem) -> str:
    """As a series of a figure."""
    return system.model or WORDS


def _rank(system: JudgedSystem) -> str:
    return "–" if system.rank is None else str(system.rank)


def _interval(measure: str, digits: int) -> Text:
    return lambda system: system.estimates[measure].text(digits, "–")


def _plain(measure: str) -> Text:
    return lambda system: number(system.value(measure))


NAMES: dict[str, Text] = {"metric": METRIC, "model": lambda system: system.model or "–"}
ERROR_COLUMNS = {f"{name} x 100": _interval(name, 1) for name in ERRORS}
CORRELATION_COLUMNS = {name.capitalize(): _interval(name, 3) for name in CORRELATIONS}


def system_table(caption: str, columns: Mapping[str, Text], systems: Sequence[JudgedSystem]) -> TextTable:
    """One line per system; the first two columns are names."""
    lines = tuple(tuple(text(system) for text in columns.values()) for system in systems)
    return TextTable(caption, tuple(columns), lines, names=2)


def _table4(study: GermanStudy) -> list[JudgedSystem]:
    """Return all systems, Sentence-BERT with mean pooling only: a separate table has the other poolings."""
    left_out = {pooled(pooling) for pooling in POOLINGS if pooling != "mean"}
    return [system for system in study.verdict.systems if system.name not in left_out]


def with_correlations(plate: Plate, systems: Sequence[JudgedSystem], axes: Axes) -> Plate:
    """The plate with its figure; constant ratings or scores have no correlation, so there is nothing to draw."""
    if all(system.value(measure) is None for system in systems for measure in DRAWN_CORRELATIONS):
        return Plate(plate.name, plate.title, missing=NO_CORRELATION)
    return replace(plate, drawing=ranges_drawing(systems, DRAWN_CORRELATIONS, "correlation", axes))


def ranges_drawing(
    systems: Sequence[JudgedSystem],
    measures: Mapping[str, str],
    below: str,
    axes: Axes,
    constant: Estimate | None = None,
) -> Drawing:
    """One panel per measure."""
    row_of, series_of = axes
    panels = []
    for measure, title in measures.items():
        estimates = [(row_of(system), series_of(system), system.estimates[measure]) for system in systems]
        if constant is not None and measure == FITTED_RMSE:
            estimates.append((CONSTANT, WORDS, constant))
        panels.append(Panel(title, "", as_ranges(estimates)))
    named = [((system.name, system.model, measure), estimate) for system in systems
            for measure, estimate in system.estimates.items()]  # fmt: skip
    if constant is not None:
        named.append(((CONSTANT, "", FITTED_RMSE), constant))
    return Drawing(
        "Mark: value, line: interval over resampled texts.",
        lambda: plots.ranges(panels, list(dict.fromkeys(map(series_of, systems))), below, packed=True),
        ("metric", "model", "measure", "value", "low", "high", "rows"),
        [(*names, estimate.value, estimate.low, estimate.high, estimate.n) for names, estimate in named],
    )


def as_ranges(estimates: Iterable[tuple[str, str, Estimate]]) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Row -> series -> (low, value, high), as figures of ranges take them; what has no value is left out."""
    ranges: dict[str, dict[str, tuple[float, float, float]]] = {}
    for row, series, estimate in estimates:
        if estimate.value is not None:
            low, high = (estimate.value if end is None else end for end in (estimate.low, estimate.high))
            ranges.setdefault(row, {})[series] = low, estimate.value, high
    return ranges


def _shape(values: Floats) -> Shape:
    """Return the density of a sample, cut to scores from 0 to 1."""
    drawn = shape(np.clip(values, 0, 1))
    within = (drawn.points >= 0) & (drawn.points <= 1)
    return Shape(drawn.points[within], drawn.heights[within], drawn.quartiles)


def _published_table4(systems: Sequence[JudgedSystem]) -> TextTable:
    """The paper's baselines beside ours."""
    by_name = {system.name: system for system in systems}
    lines = tuple(
        (
            name,
            f"{value:.4f}",
            *(number(by_name[name].value(error), 2) if name in by_name else "–" for error in (RMSE, MAE)),
        )
        for name, value in TABLE4.items()
    )
    columns = ("metric", "published error", "RMSE x 100 here", "MAE x 100 here")
    caption = "Table 4 as published on GermEval's summaries, beside the data here"
    return TextTable(caption, columns, lines)


def table3(study: GermanStudy) -> Plate:
    """Models x {Sentence-BERT tuned, BERTScore, with IDF, tuned with IDF}, ours and the paper's."""
    plate = Plate("table3", "Table 3: errors by model")
    systems = [system for name in (*TABLE3_COLUMNS, *BESIDE) for system in study.verdict.systems if system.name == name]
    if not systems:
        return replace(plate, missing=NO_MODEL)
    drawing = ranges_drawing(systems, DRAWN_ERRORS, "error x 100", (METRIC, model_or_words))
    published = [
        (name, model, PUBLISHED_MEASURE, value, None, None, None)
        for model, values in TABLE3.items()
        for name, value in zip(TABLE3_COLUMNS, values, strict=True)
    ]
    drawing = Drawing(drawing.caption, drawing.draw, drawing.columns, [*drawing.numbers, *published])
    tables = (_measured(study), _beside(study), *_published_table3(study))
    return replace(plate, drawing=drawing, sentences=sentences.table3(study), tables=tables)


def pooling_errors(study: GermanStudy) -> Plate:
    """Compare the poolings of Sentence-BERT by error."""
    plate = Plate("pooling_error", "Pooling of Sentence-BERT, error")
    systems = _sentence_berts(study)
    if not systems:
        return replace(plate, missing=NO_MODEL)
    columns = {"model": _tuned_name, "pooling": POOLING, **ERROR_COLUMNS, **CORRELATION_COLUMNS}
    table = system_table("Sentence-BERT by model and pooling", columns, systems)
    drawing = ranges_drawing(systems, DRAWN_ERRORS, "error x 100", (_tuned_name, POOLING))
    return replace(plate, drawing=drawing, sentences=sentences.pooling_errors(study, systems), tables=(table,))


def pooling_agreement(study: GermanStudy) -> Plate:
    """The same by correlation."""
    plate = Plate("pooling_correlation", "Pooling of Sentence-BERT, correlation with people")
    systems = _sentence_berts(study)
    if not systems:
        return replace(plate, missing=NO_MODEL)
    plate = replace(plate, sentences=sentences.pooling_agreement(study, systems))
    return with_correlations(plate, systems, (_tuned_name, POOLING))


def _measured(study: GermanStudy) -> TextTable:
    """Ours; with a model of the paper's, the published error stands right of each."""
    beside = any(model in TABLE3 for model in study.models)
    columns = [name for column in TABLE3_COLUMNS for name in (column, *(["published"] if beside else []))]
    lines = []
    for model in study.models:
        cells = [model]
        for column in TABLE3_COLUMNS:
            published = published_error(model, column)
            cells += [_error(study, column, model), *([f"{published:.4f}" if published else "–"] if beside else [])]
        lines.append(tuple(cells))
    return TextTable("Table 3: RMSE x 100 here", ("model", *columns), tuple(lines))


def _beside(study: GermanStudy) -> TextTable:
    """Systems that the paper's table does not have, the rescaling that it tried among them."""
    lines = tuple((model, *(_error(study, name, model) for name in BESIDE)) for model in study.models)
    return TextTable("Beside Table 3: RMSE x 100 here", ("model", *BESIDE), lines)


def _published_table3(study: GermanStudy) -> list[TextTable]:
    """The paper's table by itself, unless all its models were measured here."""
    if all(model in study.models for model in TABLE3):
        return []
    lines = tuple((model, *(f"{value:.4f}" for value in values)) for model, values in TABLE3.items())
    caption = "Table 3 as published (error of GermEval-2020 task 3; not measured here)"
    return [TextTable(caption, ("model", *TABLE3_COLUMNS), lines)]


def _error(study: GermanStudy, name: str, model: str) -> str:
    system = study.verdict.find(name, model)
    return "–" if system is None else system.estimates[RMSE].text(1)


def _sentence_berts(study: GermanStudy) -> list[JudgedSystem]:
    return [system for system in study.verdict.systems if system.name.startswith("Sentence-BERT")]


def _tuned_name(system: JudgedSystem) -> str:
    return f"{system.model}, fine-tuned" if system.name.endswith("fine-tuned") else system.model


PEARSON = "pearson"
COLUMNS = {RMSE: ("RMSE x 100", 1), FITTED_RMSE: ("fitted RMSE x 100", 1), PEARSON: ("Pearson", 3)}  # digits
ByLayer = dict[str, list[dict[str, Estimate]]]  # by model


def layers_plate(study: GermanStudy) -> Plate:
    """A line for every layer of every model, and how the error runs over the layers."""
    by_model = {name: [_estimates(scores, study) for scores in layers.scores] for name, layers in study.layers.items()}
    lines = tuple(
        (model, str(layer), *(estimates[name].text(digits, "–") for name, (_, digits) in COLUMNS.items()))
        for model, by_layer in by_model.items()
        for layer, estimates in enumerate(by_layer)
    )
    titles = (title for title, _ in COLUMNS.values())
    table = TextTable("BERTScore by layer", ("model", "layer", *titles), lines, names=2)
    panels = [Panel(title, "", _ranges(by_model, measure)) for measure, title in DRAWN_ERRORS.items()]
    drawing = Drawing(
        "BERTScore by layer; layer 0 is the embeddings. Mark: value, line: interval over resampled texts.",
        lambda: plots.ranges(panels, list(by_model), "error x 100", packed=True),
        ("model", "layer", "measure", "value", "low", "high", "rows"),
        [
            (model, layer, measure, estimates[measure].value, estimates[measure].low, estimates[measure].high,
             estimates[measure].n)
            for model, by_layer in by_model.items()
            for layer, estimates in enumerate(by_layer)
            for measure in COLUMNS
        ],
    )  # fmt: skip
    sentences_by_model = tuple(_best_layer_sentence(model, by_layer) for model, by_layer in by_model.items())
    return Plate("layers", "BERTScore over all layers", drawing, sentences_by_model, (table,))


def _estimates(scores: Floats, study: GermanStudy) -> dict[str, Estimate]:
    rated = Rated(scores, study.rows.shares, study.rows.documents)
    pearson = level_agreement(rated, PEARSON, "segment", study.plan.resampling)
    return {**error_estimates(scores, study.rows, study.plan.resampling), PEARSON: pearson}


def _best_layer_sentence(model: str, by_layer: list[dict[str, Estimate]]) -> str:
    """Return a sentence with the layers of the smallest error and of the best agreement."""
    errors = [float(estimates[RMSE].value or 0.0) for estimates in by_layer]
    least = min(range(len(errors)), key=errors.__getitem__)
    pearsons = [(value, layer) for layer, estimates in enumerate(by_layer)
                if (value := estimates[PEARSON].value) is not None]  # fmt: skip
    agreeing = ""
    if pearsons:
        value, layer = max(pearsons)
        last = "" if layer == len(errors) - 1 else f"; the last: {number(by_layer[-1][PEARSON].value)}"
        agreeing = f"; layer {layer} agrees best (Pearson {number(value)}{last})"
    return (
        f"{model}: layer {least} of {len(errors) - 1} has the smallest raw error ({number(errors[least], 1)}; the "
        f"last: {number(errors[-1], 1)}){agreeing}."
    )


def _ranges(by_model: ByLayer, measure: str) -> dict[str, dict[str, tuple[float, float, float]]]:
    """The layers of all models, layer by layer."""
    return as_ranges(
        (f"layer {layer}", model, by_layer[layer][measure])
        for layer in range(max(map(len, by_model.values())))
        for model, by_layer in by_model.items()
        if layer < len(by_layer)
    )
