"""The plate of BERTScore over all layers: the paper says that the last layer is best."""

from __future__ import annotations

from evalign.render.figures import Drawing, Panel
from evalign.render.study import plots
from evalign.render.study.page import Plate, StudyTable
from evalign.stats.estimate import Estimate
from evalign.stats.levels import Rated
from evalign.stats.levels import agreement as level_agreement
from evalign.studies.german.agreement import FITTED_RMSE, RMSE, error_estimates
from evalign.studies.german.study import GermanStudy
from evalign.studies.german.tables import DRAWN_ERRORS, as_ranges
from evalign.studies.wording import number
from evalign.types import Floats

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
    table = StudyTable("BERTScore by layer", ("model", "layer", *titles), lines, names=2)
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
    said = tuple(_said(model, by_layer) for model, by_layer in by_model.items())
    return Plate("layers", "BERTScore over all layers", drawing, said, (table,))


def _estimates(scores: Floats, study: GermanStudy) -> dict[str, Estimate]:
    rated = Rated(scores, study.rows.shares, study.rows.documents)
    pearson = level_agreement(rated, PEARSON, "segment", study.plan.resampling)
    return {**error_estimates(scores, study.rows, study.plan.resampling), PEARSON: pearson}


def _said(model: str, by_layer: list[dict[str, Estimate]]) -> str:
    """Which layer has the smallest error, and which agrees best."""
    errors = [float(estimates[RMSE].value or 0.0) for estimates in by_layer]
    least = min(range(len(errors)), key=errors.__getitem__)
    pearsons = [(value, layer) for layer, estimates in enumerate(by_layer)
                if (value := estimates[PEARSON].value) is not None]  # fmt: skip
    agreeing = ""
    if pearsons:
        value, layer = max(pearsons)
        other = "" if layer == len(errors) - 1 else f"; the last: {number(by_layer[-1][PEARSON].value)}"
        agreeing = f"; layer {layer} agrees best (Pearson {number(value)}{other})"
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
