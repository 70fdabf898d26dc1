"""Table 3 of the German summaries study, models x four systems beside the published errors, and the poolings."""

from __future__ import annotations

from dataclasses import replace

from evalign.render.figures import Drawing
from evalign.render.study.page import Plate, StudyTable
from evalign.studies.german import sentences
from evalign.studies.german.agreement import RMSE, JudgedSystem
from evalign.studies.german.published import TABLE3, TABLE3_COLUMNS, published_error
from evalign.studies.german.rescaled import RESCALED
from evalign.studies.german.study import GermanStudy
from evalign.studies.german.systems import EVALIGN, LISASCORE, MOVERSCORE, TUNED, pooled
from evalign.studies.german.tables import (
    CORRELATION_COLUMNS,
    DRAWN_ERRORS,
    ERROR_COLUMNS,
    NO_MODEL,
    metric_name,
    model_or_words,
    ranges_drawing,
    system_table,
    with_correlations,
    with_interval,
)

BESIDE = (pooled("mean"), RESCALED, TUNED, LISASCORE, MOVERSCORE, EVALIGN)  # what Table 3 does not have
PUBLISHED_MEASURE = "published error"


def table3(study: GermanStudy) -> Plate:
    """Models x {Sentence-BERT tuned, BERTScore, with IDF, tuned with IDF}, ours and the paper's."""
    plate = Plate("table3", "Table 3: errors by model")
    order = (*TABLE3_COLUMNS, *BESIDE)
    systems = sorted(
        (system for system in study.verdict.systems if system.name in order), key=lambda one: order.index(one.name)
    )
    if not systems:
        return replace(plate, missing=NO_MODEL)
    drawing = ranges_drawing(systems, DRAWN_ERRORS, "error x 100", (metric_name, model_or_words))
    published = [
        (name, model, PUBLISHED_MEASURE, value, None, None, None)
        for model, values in TABLE3.items()
        for name, value in zip(TABLE3_COLUMNS, values, strict=True)
    ]
    drawing = Drawing(drawing.caption, drawing.draw, drawing.columns, [*drawing.numbers, *published])
    tables = (_measured(study), _beside(study), *_published(study))
    return replace(plate, drawing=drawing, said=sentences.table3(study), tables=tables)


def pooling_errors(study: GermanStudy) -> Plate:
    """Which pooling of Sentence-BERT, by error."""
    plate = Plate("pooling_error", "Pooling of Sentence-BERT, error")
    systems = _sentence_berts(study)
    if not systems:
        return replace(plate, missing=NO_MODEL)
    columns = {"model": _tuned_name, "pooling": _pooling, **ERROR_COLUMNS, **CORRELATION_COLUMNS}
    table = system_table("Sentence-BERT by model and pooling", columns, systems)
    drawing = ranges_drawing(systems, DRAWN_ERRORS, "error x 100", (_tuned_name, _pooling))
    return replace(plate, drawing=drawing, said=sentences.pooling_errors(study, systems), tables=(table,))


def pooling_agreement(study: GermanStudy) -> Plate:
    """The same by correlation."""
    plate = Plate("pooling_correlation", "Pooling of Sentence-BERT, correlation with people")
    systems = _sentence_berts(study)
    if not systems:
        return replace(plate, missing=NO_MODEL)
    plate = replace(plate, said=sentences.pooling_agreement(study, systems))
    return with_correlations(plate, systems, (_tuned_name, _pooling))


def _measured(study: GermanStudy) -> StudyTable:
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
    return StudyTable("Table 3: RMSE x 100 here", ("model", *columns), tuple(lines))


def _beside(study: GermanStudy) -> StudyTable:
    """Systems that the paper's table does not have, the rescaling that it tried among them."""
    lines = tuple((model, *(_error(study, name, model) for name in BESIDE)) for model in study.models)
    return StudyTable("Beside Table 3: RMSE x 100 here", ("model", *BESIDE), lines)


def _published(study: GermanStudy) -> list[StudyTable]:
    """The paper's table by itself, unless all its models were measured here."""
    if all(model in study.models for model in TABLE3):
        return []
    lines = tuple((model, *(f"{value:.4f}" for value in values)) for model, values in TABLE3.items())
    caption = "Table 3 as published (error of GermEval-2020 task 3; not measured here)"
    return [StudyTable(caption, ("model", *TABLE3_COLUMNS), lines)]


def _error(study: GermanStudy, name: str, model: str) -> str:
    system = study.verdict.find(name, model)
    return "–" if system is None else with_interval(system.estimates[RMSE], 1)


def _sentence_berts(study: GermanStudy) -> list[JudgedSystem]:
    return [system for system in study.verdict.systems if system.name.startswith("Sentence-BERT")]


def _pooling(system: JudgedSystem) -> str:
    return system.pooling


def _tuned_name(system: JudgedSystem) -> str:
    return f"{system.model}, fine-tuned" if system.name.endswith("fine-tuned") else system.model
