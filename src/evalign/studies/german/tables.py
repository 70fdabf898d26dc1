"""Tables 3 and 4 of the German summaries study and their figures: numbers in, plates with tables and sentences out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from evalign.render.figures import Drawing, Panel
from evalign.render.study import plots
from evalign.render.study.page import Plate, StudyTable
from evalign.render.study.plots import Shape, Violin
from evalign.stats.estimate import Estimate
from evalign.studies.german import sentences
from evalign.studies.german.agreement import CORRELATIONS, ERRORS, FITTED_RMSE, RMSE, Judged
from evalign.studies.german.study import GermanStudy
from evalign.studies.german.systems import POOLINGS, pooled
from evalign.studies.lisa.measured import shape
from evalign.studies.wording import number, percent
from evalign.types import Floats

SENTENCE_BERT = tuple(pooled(pooling) for pooling in POOLINGS)
WORDS, CONSTANT = "no model", "always the mean rating"
# Error x 100 on the data of GermEval-2020 task 3, as the paper reports it; the last on bert-base-german-cased.
PUBLISHED = {
    "BLEU": 41.43,
    "ROUGE-1": 42.63,
    "ROUGE-2": 55.70,
    "ROUGE-L": 43.78,
    "METEOR": 48.08,
    sentences.TUNED_IDF: 31.99,
}
COLUMNS = ("metric", "model", "measure", "value", "low", "high", "rows")
DRAWN = ("pearson", "spearman")
NO_CORRELATION = (
    "no metric has a correlation here, for its scores or the ratings are constant; give ratings that differ"
)
Axes = tuple[Callable[[Judged], str], Callable[[Judged], str]]  # what a system's row and its series are called
INTERVAL = "Mark: value, line: interval over resampled texts."


def summary(study: GermanStudy) -> StudyTable:
    """Table 4, and who always says the same."""
    lines = [
        (
            one.name,
            one.model or "–",
            _with_interval(one.estimates[RMSE], 1),
            _with_interval(one.estimates[FITTED_RMSE], 1),
            _with_interval(one.estimates["pearson"], 3),
            *(number(one.value(name)) for name in CORRELATIONS[1:]),
            "–" if one.rank is None else str(one.rank),
        )
        for one in _table4(study)
    ]
    constant = study.verdict.constant[RMSE]
    lines.append((CONSTANT, "–", "–", _with_interval(constant, 1), "–", "–", "–", "–"))
    columns = ("metric", "model", "error x 100", "fitted error x 100", "Pearson", "Spearman", "Kendall", "rank")
    return StudyTable("Table 4: all metrics, with 95 % intervals", columns, tuple(lines), names=2)


def sentence_bert_errors(study: GermanStudy) -> Plate:
    """Table 3, errors: which pooling of which model."""
    title = "Table 3: Sentence-BERT, error"
    found = _table3(study)
    if not found:
        return Plate("table3_error", title, missing="no model could be used")
    columns = ("model", "pooling", *(f"{name} x 100" for name in ERRORS), *map(str.capitalize, CORRELATIONS))
    lines = [
        (
            _tuned_name(one),
            _pooling(one),
            *(_with_interval(one.estimates[name], 1) for name in ERRORS),
            *(_with_interval(one.estimates[name], 3) for name in CORRELATIONS),
        )
        for one in found
    ]
    table = StudyTable("Table 3: Sentence-BERT by model and pooling", columns, tuple(lines), names=2)
    drawing = _drawing(found, (RMSE, FITTED_RMSE), "error x 100", (_tuned_name, _pooling))
    return Plate("table3_error", title, drawing, sentences.pooling_errors(study, found), (table,))


def sentence_bert_agreement(study: GermanStudy) -> Plate:
    """Table 3, correlations."""
    title = "Table 3: Sentence-BERT, correlation with people"
    found = _table3(study)
    if not found:
        return Plate("table3_correlation", title, missing="no model could be used")
    said = sentences.pooling_agreement(study, found)
    return _correlations("table3_correlation", title, found, (_tuned_name, _pooling), said)


def errors(study: GermanStudy) -> Plate:
    """Table 4, errors, beside the published ones and a constant."""
    found = _table4(study)
    columns = ("metric", "model", *(f"{name} x 100" for name in ERRORS), "mean score - mean rating", "share of MSE")
    lines = [
        (
            one.name,
            one.model or "–",
            *(_with_interval(one.estimates[name], 1) for name in ERRORS),
            f"{one.offset:+.2f}",
            percent(one.offset_share),
        )
        for one in found
    ]
    table = StudyTable("Table 4: errors", columns, tuple(lines), names=2)
    drawing = _drawing(found, (RMSE, FITTED_RMSE), "error x 100", (_name, _model), study.verdict.constant[RMSE])
    said = sentences.errors(study, found)
    return Plate("table4_error", "Table 4: all metrics, error", drawing, said, (table, _published(found)))


def agreement(study: GermanStudy) -> Plate:
    """Table 4, correlations."""
    found = _table4(study)
    columns = ("metric", "model", *map(str.capitalize, CORRELATIONS), "rank")
    lines = [
        (
            one.name,
            one.model or "–",
            *(_with_interval(one.estimates[name], 3) for name in CORRELATIONS),
            "–" if one.rank is None else str(one.rank),
        )
        for one in found
    ]
    table = StudyTable("Table 4: correlations", columns, tuple(lines), names=2)
    title = "Table 4: all metrics, correlation with people"
    said = sentences.agreement(study, found)
    return replace(_correlations("table4_correlation", title, found, (_name, _model), said), tables=(table,))


def raw_scores(study: GermanStudy) -> Plate:
    """Where the scores lie, beside what people gave: most of the error of a raw score is its place."""
    found = _table4(study)
    panels = []
    for model in dict.fromkeys(map(_model, found)):
        violins = [Violin(one.name, [_shape(one.scored.scores)]) for one in found if _model(one) == model]
        panels.append(Panel(model, "", [Violin("people", [_shape(study.rows.shares)]), *violins]))
    numbers = [(row.id, "people", "", share) for row, share in zip(study.rows.rows, study.rows.shares, strict=True)]
    for one in study.verdict.systems:
        values = zip(study.rows.rows, one.scored.scores.tolist(), strict=True)
        numbers += [(row.id, one.name, one.model, score) for row, score in values]
    drawing = Drawing(
        "Ratings between 0 and 1, and raw scores clipped to 0 and 1; bar: middle half, dot: median.",
        lambda: plots.violin_rows(panels, "rating or score"),
        ("id", "metric", "model", "score"),
        numbers,
    )
    return Plate("scores", "Where the scores lie", drawing, sentences.places(study, found))


def _table3(study: GermanStudy) -> list[Judged]:
    return [one for one in study.verdict.systems if one.name.startswith("Sentence-BERT")]


def _table4(study: GermanStudy) -> list[Judged]:
    """All systems, Sentence-BERT with mean pooling only: the other poolings are Table 3's."""
    others = {pooled(pooling) for pooling in POOLINGS if pooling != "mean"}
    return [one for one in study.verdict.systems if one.name not in others]


def _correlations(name: str, title: str, found: Sequence[Judged], axes: Axes, said: tuple[str, ...]) -> Plate:
    """Constant ratings or scores have no correlation: then there is nothing to draw, and the plate says so."""
    if all(one.value(measure) is None for one in found for measure in DRAWN):
        return Plate(name, title, missing=NO_CORRELATION)
    return Plate(name, title, _drawing(found, DRAWN, "correlation", axes), said)


def _drawing(
    found: Sequence[Judged],
    measures: Sequence[str],
    below: str,
    axes: Axes,
    constant: Estimate | None = None,
) -> Drawing:
    """One panel per measure."""
    row_of, series_of = axes
    panels, numbers = [], []
    for measure in measures:
        values: dict[str, dict[str, tuple[float, float, float]]] = {}
        for one in found:
            if (drawn := _drawn(one.estimates[measure])) is not None:
                values.setdefault(row_of(one), {})[series_of(one)] = drawn
        if constant is not None and (drawn := _drawn(constant)) is not None and measure == FITTED_RMSE:
            values.setdefault(CONSTANT, {})[WORDS] = drawn
        panels.append(Panel(_titles().get(measure, measure), "", values))
    for one in found:
        numbers += [
            (one.name, one.model, measure, estimate.value, estimate.low, estimate.high, estimate.n)
            for measure, estimate in one.estimates.items()
        ]
    if constant is not None:
        numbers.append((CONSTANT, "", FITTED_RMSE, constant.value, constant.low, constant.high, constant.n))
    series = list(dict.fromkeys(map(series_of, found)))
    return Drawing(INTERVAL, lambda: plots.ranges(panels, series, below, packed=True), COLUMNS, numbers)


def _shape(values: Floats) -> Shape:
    """A sample between 0 and 1 as it is drawn; no curve goes on where no score can be."""
    clipped = np.clip(values, 0, 1)
    drawn = shape(clipped)
    within = (drawn.places >= 0) & (drawn.places <= 1)
    return Shape(drawn.places[within], drawn.heights[within], drawn.quartiles)


def _published(found: Sequence[Judged]) -> StudyTable:
    lines = []
    for name, value in PUBLISHED.items():
        lines += [
            (name, one.model or "–", f"{value:.2f}", number(one.value(RMSE), 2), number(one.value("MAE"), 2))
            for one in found
            if one.name == name
        ] or [(name, "–", f"{value:.2f}", "–", "–")]
    columns = ("metric", "model here", "published error x 100", "RMSE x 100 here", "MAE x 100 here")
    caption = "Published on GermEval's summaries (fine-tuned: bert-base-german-cased), beside other data here"
    return StudyTable(caption, columns, tuple(lines), names=2)


def _titles() -> dict[str, str]:
    return {RMSE: "RMSE of raw scores", FITTED_RMSE: "RMSE of fitted scores", "pearson": "Pearson",
            "spearman": "Spearman"}  # fmt: skip


def _drawn(estimate: Estimate) -> tuple[float, float, float] | None:
    if estimate.value is None:
        return None
    low, high = (estimate.value if end is None else end for end in (estimate.low, estimate.high))
    return low, estimate.value, high


def _with_interval(estimate: Estimate, digits: int) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return number(estimate.value, digits)
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def _name(one: Judged) -> str:
    return one.name


def _model(one: Judged) -> str:
    return one.model or WORDS


def _pooling(one: Judged) -> str:
    return one.name.split(", ")[1]


def _tuned_name(one: Judged) -> str:
    return f"{one.model}, fine-tuned" if one.name.endswith("fine-tuned") else one.model
