"""What the German summaries study says about its tables: sentences that follow from the numbers of this run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalign.errors import UndefinedStatisticError
from evalign.stats.correlation import spearman
from evalign.studies.german.agreement import FITTED_RMSE, RMSE, Judged
from evalign.studies.german.data import SOURCES
from evalign.studies.german.systems import BERTSCORE, POOLINGS, TUNED, pooled, weighted
from evalign.studies.wording import listed, moved, number, percent

if TYPE_CHECKING:
    from evalign.studies.german.study import GermanStudy

TUNED_IDF = weighted(TUNED)
ALPHA = 0.05
FEW_SYSTEMS = 4  # below which an order of systems says nothing
FEW_NAMES = 6  # that a sentence can list
HALF = 0.5


def pooling_errors(study: GermanStudy, found: Sequence[Judged]) -> tuple[str, ...]:
    """Table 3, errors: raw scores against fitted ones."""
    said = []
    for model, of_model in _by_model(study, found):
        raw, fitted = (min(of_model, key=lambda one: _error(one, what)) for what in (RMSE, FITTED_RMSE))
        said.append(
            f"{model}: the raw score with the smallest error is that of {_pooling(raw)} pooling "
            f"({number(raw.value(RMSE), 1)}), the fitted one that of {_pooling(fitted)} pooling "
            f"({number(fitted.value(FITTED_RMSE), 1)})."
        )
    return tuple(said)


def pooling_agreement(study: GermanStudy, found: Sequence[Judged]) -> tuple[str, ...]:
    """Table 3, correlations: which pooling, and what fine-tuning does."""
    said = []
    for model, of_model in _by_model(study, found):
        ranked = sorted((one for one in of_model if one.value("pearson") is not None), key=_pearson, reverse=True)
        if not ranked:
            continue
        best = ranked[0]
        others = [f"{_pooling(one)} {number(one.value('pearson'))} ({_p(study, best, one)})" for one in ranked[1:]]
        like = "as in the paper" if _pooling(best) == "mean" else "in the paper it was mean pooling"
        said.append(
            f"{model}: {_pooling(best)} pooling agrees best, {like}: Pearson {number(best.value('pearson'))}"
            + (f" against {listed(others)}." if others else ".")
        )
        after = study.verdict.find(pooled("mean", tuned=True), model)
        if after is not None:
            said.append(_change(study, f"{model}: fine-tuning", study.verdict.find(pooled("mean"), model), after))
    return tuple(filter(None, said))


def errors(study: GermanStudy, found: Sequence[Judged]) -> tuple[str, ...]:
    """Table 4, errors: the best, the constant, and whether errors order metrics as correlations do."""
    raw, fitted = (min(found, key=lambda one: _error(one, what)) for what in (RMSE, FITTED_RMSE))
    constant = study.verdict.constant[RMSE].value or 0.0
    above = [one for one in found if _error(one, RMSE) > constant]
    named = f", {listed([_label(one) for one in above])}" if 0 < len(above) <= FEW_NAMES else ""
    said = [
        f"Smallest error of a raw score: {_label(raw)}, {number(raw.value(RMSE), 1)}; after fitting a line: "
        f"{_label(fitted)}, {number(fitted.value(FITTED_RMSE), 1)}.",
        f"Who always says the mean rating has an error of {number(constant, 1)}: {len(above)} of {len(found)} raw "
        f"scores are further off than this{named}.",
    ]
    both = [one for one in found if one.value("pearson") is not None]
    if len(both) >= FEW_SYSTEMS:
        for what, name in ((RMSE, "raw"), (FITTED_RMSE, "fitted")):
            try:
                order = spearman([-_error(one, what) for one in both], [_pearson(one) for one in both])
            except UndefinedStatisticError:
                continue
            said.append(
                f"The order of the metrics by the error of {name} scores and by Pearson: Spearman {number(order, 2)} "
                f"over {len(both)} metrics."
            )
    return tuple(said)


def agreement(study: GermanStudy, found: Sequence[Judged]) -> tuple[str, ...]:
    """Table 4, correlations: the best and who is not told apart from it; what IDF and fine-tuning change."""
    ranked = sorted((one for one in found if one.value("pearson") is not None), key=_pearson, reverse=True)
    if not ranked:
        return ()
    first = [_label(one) for one in ranked[1:] if one.rank == ranked[0].rank and one.rank is not None]
    best = f"{_label(ranked[0])} agrees best with people: Pearson {number(ranked[0].value('pearson'))}"
    apart = f"; not told apart from it: {listed(first)}." if first else "; all others are told apart from it."
    words = [one for one in ranked if not one.model]
    said = [best + apart]
    if words and words[0] is not ranked[0]:
        said.append(f"Best of the metrics of words: {_label(words[0])}, Pearson {number(words[0].value('pearson'))}.")
    origin = "the source texts" if study.rows.idf == SOURCES else "the references"
    for model in study.models:
        plain, idf, tuned, both = (
            study.verdict.find(name, model) for name in (BERTSCORE, weighted(BERTSCORE), TUNED, TUNED_IDF)
        )
        said.append(_change(study, f"{model}: IDF from {origin}", plain, idf))
        said.append(_change(study, f"{model}: fine-tuning", plain, tuned))
        said.append(_change(study, f"{model}: fine-tuning and IDF together", plain, both))
        if idf is not None and model in study.seen:
            said.append(_seen(study, model, origin))
    return tuple(filter(None, said))


def places(study: GermanStudy, found: Sequence[Judged]) -> tuple[str, ...]:
    """How much of the raw scores' error is that they lie elsewhere than the ratings."""
    high = max(found, key=lambda one: one.offset)
    low = min(found, key=lambda one: one.offset)
    many = [one for one in found if one.offset_share > HALF]
    return (
        f"The mean rating is {study.rows.shares.mean():.2f}. Compared with it {_label(high)} lies highest "
        f"({high.offset:+.2f} on average) and {_label(low)} lowest ({low.offset:+.2f}).",
        f"For {len(many)} of {len(found)} metrics more than half of the squared error is this offset, which says "
        "nothing about whether better texts get better scores; a fitted line removes it.",
    )


def _by_model(study: GermanStudy, found: Sequence[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    plain = {pooled(pooling) for pooling in POOLINGS}
    for model in study.models:
        of_model = [one for one in found if one.model == model and one.name in plain]
        if of_model:
            yield model, of_model


def _change(study: GermanStudy, what: str, before: Judged | None, after: Judged | None) -> str:
    """Empty if one of the two was not measured."""
    if before is None or after is None or before.value("pearson") is None or after.value("pearson") is None:
        return ""
    start, end = _pearson(before), _pearson(after)
    p = study.verdict.p(*((after, before) if end >= start else (before, after)))
    certain = "" if p is None else f" ({_verdict(p)})"
    errors_moved = moved(_error(before, RMSE) / 100, _error(after, RMSE) / 100)
    return f"{what}: Pearson {moved(start, end)}{certain}, the raw error (as a share) {errors_moved}."


def _seen(study: GermanStudy, model: str, origin: str) -> str:
    share = study.seen[model]
    same = f"the other {percent(1 - share)} occur in none and all weigh the same" if share < 1 else "none is unknown"
    return f"{model}: {percent(share)} of the references' tokens occur in {origin} that IDF was counted over; {same}."


def _p(study: GermanStudy, better: Judged, worse: Judged) -> str:
    p = study.verdict.p(better, worse)
    return "no test" if p is None else _verdict(p)


def _verdict(p: float) -> str:
    return f"p = {p:.3f}" if p < ALPHA else f"p = {p:.2f}: not told apart"


def _label(one: Judged) -> str:
    return f"{one.name.replace(', ', ' ')} ({one.model})" if one.model else one.name


def _pooling(one: Judged) -> str:
    return one.name.split(", ")[1]


def _pearson(one: Judged) -> float:
    return float(one.value("pearson") or 0.0)


def _error(one: Judged, what: str) -> float:
    return float(one.value(what) or 0.0)
