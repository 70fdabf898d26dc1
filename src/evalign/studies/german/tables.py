"""Table 4 of the German summaries study and its figures: numbers in, plates with tables and sentences out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from evalign.render.figures import Drawing, Panel
from evalign.render.study import plots
from evalign.render.study.page import Plate, StudyTable
from evalign.render.study.plots import Shape, Violin
from evalign.stats.estimate import Estimate
from evalign.studies.german import sentences
from evalign.studies.german.agreement import CORRELATIONS, ERRORS, FITTED_RMSE, MAE, RMSE, JudgedSystem
from evalign.studies.german.published import TABLE4
from evalign.studies.german.study import GermanStudy
from evalign.studies.german.systems import POOLINGS, pooled
from evalign.studies.lisa.measured import shape
from evalign.studies.wording import number, percent
from evalign.types import Floats

WORDS, CONSTANT = "no model", "always the mean rating"
DRAWN_ERRORS = {RMSE: "RMSE of raw scores", FITTED_RMSE: "RMSE of fitted scores"}  # with the titles of their panels
DRAWN_CORRELATIONS = {"pearson": "Pearson", "spearman": "Spearman"}
NO_MODEL = "no model could be used"
NO_CORRELATION = (
    "no metric has a correlation here, for its scores or the ratings are constant; give ratings that differ"
)
Text = Callable[[JudgedSystem], str]
Axes = tuple[Text, Text]  # the names of a system's row and of its series


def summary(study: GermanStudy) -> StudyTable:
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
    constant = with_interval(study.verdict.constant[RMSE], 1)
    return replace(table, lines=(*table.lines, (CONSTANT, "–", "–", constant, "–", "–", "–", "–")))


def errors(study: GermanStudy) -> Plate:
    """Table 4, errors, beside the published ones and a constant."""
    systems = _table4(study)
    columns: dict[str, Text] = {
        **NAMES,
        **ERROR_COLUMNS,
        "mean score - mean rating": lambda system: f"{system.offset:+.2f}",
        "share of MSE": lambda system: percent(system.offset_share),
    }
    drawing = ranges_drawing(
        systems, DRAWN_ERRORS, "error x 100", (metric_name, model_or_words), study.verdict.constant[RMSE]
    )
    tables = system_table("Table 4: errors", columns, systems), _published(systems)
    about = sentences.errors(study, systems)
    return Plate("table4_error", "Table 4: all metrics, error", drawing, about, tables)


def agreement(study: GermanStudy) -> Plate:
    """Table 4, correlations."""
    systems = _table4(study)
    table = system_table("Table 4: correlations", {**NAMES, **CORRELATION_COLUMNS, "rank": _rank}, systems)
    about = sentences.agreement(study, systems)
    plate = Plate("table4_correlation", "Table 4: all metrics, correlation with people", None, about)
    return replace(with_correlations(plate, systems, (metric_name, model_or_words)), tables=(table,))


def raw_scores(study: GermanStudy) -> Plate:
    """Where the scores lie, beside the ratings: most of the error of a raw score is its place."""
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
    return Plate("scores", "Where the scores lie", drawing, sentences.places(study, systems))


def with_interval(estimate: Estimate, digits: int) -> str:
    """`0.52 [0.32, 0.76]`, or the value alone."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return number(estimate.value, digits)
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def metric_name(system: JudgedSystem) -> str:
    """As a line of a table."""
    return system.name


def model_or_words(system: JudgedSystem) -> str:
    """As a series of a figure."""
    return system.model or WORDS


def _rank(system: JudgedSystem) -> str:
    return "–" if system.rank is None else str(system.rank)


def _interval(measure: str, digits: int) -> Text:
    return lambda system: with_interval(system.estimates[measure], digits)


def _plain(measure: str) -> Text:
    return lambda system: number(system.value(measure))


NAMES: dict[str, Text] = {"metric": metric_name, "model": lambda system: system.model or "–"}
ERROR_COLUMNS = {f"{name} x 100": _interval(name, 1) for name in ERRORS}
CORRELATION_COLUMNS = {name.capitalize(): _interval(name, 3) for name in CORRELATIONS}


def system_table(caption: str, columns: Mapping[str, Text], systems: Sequence[JudgedSystem]) -> StudyTable:
    """One line per system; the first two columns are names."""
    lines = tuple(tuple(text(system) for text in columns.values()) for system in systems)
    return StudyTable(caption, tuple(columns), lines, names=2)


def _table4(study: GermanStudy) -> list[JudgedSystem]:
    """All systems, Sentence-BERT with mean pooling only: the other poolings have a table of their own."""
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
    told = [((system.name, system.model, measure), estimate) for system in systems
            for measure, estimate in system.estimates.items()]  # fmt: skip
    if constant is not None:
        told.append(((CONSTANT, "", FITTED_RMSE), constant))
    return Drawing(
        "Mark: value, line: interval over resampled texts.",
        lambda: plots.ranges(panels, list(dict.fromkeys(map(series_of, systems))), below, packed=True),
        ("metric", "model", "measure", "value", "low", "high", "rows"),
        [(*names, estimate.value, estimate.low, estimate.high, estimate.n) for names, estimate in told],
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
    """A sample between 0 and 1 as it is drawn, cut off where no score can be."""
    drawn = shape(np.clip(values, 0, 1))
    within = (drawn.places >= 0) & (drawn.places <= 1)
    return Shape(drawn.places[within], drawn.heights[within], drawn.quartiles)


def _published(systems: Sequence[JudgedSystem]) -> StudyTable:
    """The paper's baselines beside ours."""
    ours = {system.name: system for system in systems}
    lines = tuple(
        (name, f"{value:.4f}", *(number(ours[name].value(error), 2) if name in ours else "–" for error in (RMSE, MAE)))
        for name, value in TABLE4.items()
    )
    columns = ("metric", "published error", "RMSE x 100 here", "MAE x 100 here")
    caption = "Table 4 as published on GermEval's summaries, beside the data here"
    return StudyTable(caption, columns, lines)
