"""Sentences on the tables of the German summaries study, from the numbers of this run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalign.errors import UndefinedStatisticError
from evalign.research.studies.german.agreement import FITTED_RMSE, RESCALED, RMSE, JudgedSystem
from evalign.research.studies.german.data import SOURCES
from evalign.research.studies.german.systems import BERTSCORE, POOLINGS, SBERT_TUNED, TUNED, TUNED_IDF, pooled, weighted
from evalign.research.studies.page import listed, moved, number, percent
from evalign.stats.correlation import spearman

if TYPE_CHECKING:
    from evalign.research.studies.german.study import GermanStudy

ALPHA = 0.05
MIN_SYSTEMS = 4  # with fewer, a ranking of systems is meaningless
MAX_NAMES = 6  # in a sentence
HALF = 0.5
Systems = Sequence[JudgedSystem]


def table3(study: GermanStudy) -> tuple[str, ...]:
    """Table 3: what IDF, fine-tuning and rescaling do to the error, model by model."""
    sentences = []
    for model in study.models:
        plain, *variants = (
            (name, study.verdict.find(name, model))
            for name in (BERTSCORE, weighted(BERTSCORE), TUNED_IDF, RESCALED, SBERT_TUNED)
        )
        if plain[1] is None:
            continue
        errors = [f"{_spoken(name)} {system.number(RMSE):.1f}" for name, system in variants if system is not None]
        sentences.append(
            f"{model}: error of BERTScore {plain[1].number(RMSE):.1f}" + (f"; {listed(errors)}." if errors else ".")
        )
    return tuple(sentences)


def pooling_errors(study: GermanStudy, systems: Systems) -> tuple[str, ...]:
    """Poolings, errors: raw scores against fitted ones."""
    sentences = []
    for model, of_model in _by_model(study, systems):
        raw, fitted = _smallest_errors(of_model)
        sentences.append(
            f"{model}: the raw score with the smallest error is that of {raw.pooling} pooling "
            f"({number(raw.value(RMSE), 1)}), the fitted one that of {fitted.pooling} pooling "
            f"({number(fitted.value(FITTED_RMSE), 1)})."
        )
    return tuple(sentences)


def pooling_agreement(study: GermanStudy, systems: Systems) -> tuple[str, ...]:
    """Poolings, correlations: which is best, and what fine-tuning does."""
    sentences = []
    for model, of_model in _by_model(study, systems):
        ranked = _by_pearson(of_model)
        if not ranked:
            continue
        best = ranked[0]
        differences = []
        for system in ranked[1:]:
            p = study.verdict.p(best, system)
            test = "no test" if p is None else _significance(p)
            differences.append(f"{system.pooling} {number(system.pearson)} ({test})")
        like = "as in the paper" if best.pooling == "mean" else "in the paper it was mean pooling"
        sentences.append(
            f"{model}: {best.pooling} pooling agrees best, {like}: Pearson {number(best.pearson)}"
            + (f" against {listed(differences)}." if differences else ".")
        )
        before, after = (study.verdict.find(pooled("mean", tuned), model) for tuned in (False, True))
        sentences.append(_change(study, f"{model}: fine-tuning", before, after))
    return tuple(filter(None, sentences))


def errors(study: GermanStudy, systems: Systems) -> tuple[str, ...]:
    """Table 4, errors: the best, the constant, and whether errors order metrics as correlations do."""
    raw, fitted = _smallest_errors(systems)
    constant = study.verdict.constant[RMSE].value or 0.0
    above = [_label(system) for system in systems if system.number(RMSE) > constant]
    named = f", {listed(above)}" if 0 < len(above) <= MAX_NAMES else ""
    sentences = [
        f"Smallest error of a raw score: {_label(raw)}, {number(raw.value(RMSE), 1)}; after fitting a line: "
        f"{_label(fitted)}, {number(fitted.value(FITTED_RMSE), 1)}.",
        f"Who always says the mean rating has an error of {number(constant, 1)}: {len(above)} of {len(systems)} raw "
        f"scores are further off than this{named}.",
    ]
    both = [system for system in systems if system.pearson is not None]
    for measure, name in ((RMSE, "raw"), (FITTED_RMSE, "fitted")) if len(both) >= MIN_SYSTEMS else ():
        try:
            order = spearman(
                [-system.number(measure) for system in both], [system.number("pearson") for system in both]
            )
        except UndefinedStatisticError:
            continue
        sentences.append(
            f"The order of the metrics by the error of {name} scores and by Pearson: Spearman {number(order, 2)} "
            f"over {len(both)} metrics."
        )
    return tuple(sentences)


def agreement(study: GermanStudy, systems: Systems) -> tuple[str, ...]:
    """Table 4, correlations: the best and those not told apart from it; what IDF and fine-tuning change."""
    ranked = _by_pearson(systems)
    if not ranked:
        return ()
    best = ranked[0]
    tied = [_label(system) for system in ranked[1:] if system.rank == best.rank and system.rank is not None]
    apart = f"; not told apart from it: {listed(tied)}." if tied else "; all others are told apart from it."
    sentences = [f"{_label(best)} agrees best with people: Pearson {number(best.pearson)}{apart}"]
    words = next((system for system in ranked if not system.model), best)
    if words is not best:
        sentences.append(f"Best of the metrics of words: {_label(words)}, Pearson {number(words.pearson)}.")
    origin = "the source texts" if study.rows.idf == SOURCES else "the references"
    for model in study.models:
        plain, idf, tuned, both = (
            study.verdict.find(name, model) for name in (BERTSCORE, weighted(BERTSCORE), TUNED, TUNED_IDF)
        )
        sentences += [
            _change(study, f"{model}: IDF from {origin}", plain, idf),
            _change(study, f"{model}: fine-tuning", plain, tuned),
            _change(study, f"{model}: fine-tuning and IDF together", plain, both),
        ]
        if idf is not None and model in study.seen:
            share = study.seen[model]
            rest = f"the other {percent(1 - share)} occur in none and all weigh the same"
            sentences.append(
                f"{model}: {percent(share)} of the references' tokens occur in {origin} that IDF was counted over; "
                f"{rest if share < 1 else 'none is unknown'}."
            )
    return tuple(filter(None, sentences))


def offsets(study: GermanStudy, systems: Systems) -> tuple[str, ...]:
    """Return sentences on the share of the raw scores' error that is an offset from the ratings."""
    high = max(systems, key=lambda system: system.offset)
    low = min(systems, key=lambda system: system.offset)
    mostly_offset = sum(system.offset_share > HALF for system in systems)
    return (
        f"The mean rating is {study.rows.shares.mean():.2f}. Compared with it {_label(high)} lies highest "
        f"({high.offset:+.2f} on average) and {_label(low)} lowest ({low.offset:+.2f}).",
        f"For {mostly_offset} of {len(systems)} metrics more than half of the squared error is this offset, which says "
        "nothing about whether better texts get better scores; a fitted line removes it.",
    )


def _by_model(study: GermanStudy, systems: Systems) -> Iterator[tuple[str, list[JudgedSystem]]]:
    plain = {pooled(pooling) for pooling in POOLINGS}
    for model in study.models:
        of_model = [system for system in systems if system.model == model and system.name in plain]
        if of_model:
            yield model, of_model


def _by_pearson(systems: Systems) -> list[JudgedSystem]:
    """Those with a correlation, the highest first."""
    having = (system for system in systems if system.pearson is not None)
    return sorted(having, key=lambda system: system.number("pearson"), reverse=True)


def _smallest_errors(systems: Systems) -> tuple[JudgedSystem, JudgedSystem]:
    """The systems whose raw, and whose fitted, scores have the smallest error."""
    return (
        min(systems, key=lambda system: system.number(RMSE)),
        min(systems, key=lambda system: system.number(FITTED_RMSE)),
    )


def _change(study: GermanStudy, what: str, before: JudgedSystem | None, after: JudgedSystem | None) -> str:
    """Empty if one of the two was not measured."""
    if before is None or after is None or before.pearson is None or after.pearson is None:
        return ""
    p = study.verdict.p(*((after, before) if after.pearson >= before.pearson else (before, after)))
    test = "" if p is None else f" ({_significance(p)})"
    raw_error = moved(before.number(RMSE) / 100, after.number(RMSE) / 100)
    return f"{what}: Pearson {moved(before.pearson, after.pearson)}{test}, the raw error (as a share) {raw_error}."


def _significance(p: float) -> str:
    return f"p = {p:.3f}" if p < ALPHA else f"p = {p:.2f}: not told apart"


def _label(system: JudgedSystem) -> str:
    return f"{_spoken(system.name)} ({system.model})" if system.model else system.name


def _spoken(name: str) -> str:
    return name.replace(", ", " ")
