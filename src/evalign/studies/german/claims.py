"""The claims of the German summaries paper, each with the errors it rests on: a study in, findings out.

All are about the error (RMSE x 100 of raw scores), as in the paper, and about differences of errors on the same rows,
with intervals over texts. Where the paper's table says something else than its text, the text is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evalign.studies.german.agreement import JudgedSystem, error_contrast
from evalign.studies.german.corpus import describe
from evalign.studies.german.data import SOURCES
from evalign.studies.german.published import SBERT_TUNED, TUNED_IDF
from evalign.studies.german.rescaled import RESCALED
from evalign.studies.german.study import GermanStudy
from evalign.studies.german.systems import BERTSCORE, LEXICAL, POOLINGS, TUNED, pooled, weighted
from evalign.studies.ledger import Claim, Finding, Measured, counted, judge
from evalign.studies.wording import percent
from evalign.types import Floats

BEST_BY = 5.0  # points: what rounds to the paper's "some 10", which by its own tables are 9.4
FEW_SEEN = 0.5  # of the references' tokens; below it, IDF of these sources is not that of the texts
NOT_TUNED = "nothing was fine-tuned (--train)"
CASINGS = "no cased model stands beside an uncased one"
Terms = Sequence[tuple[float, Floats]]


def findings(study: GermanStudy) -> list[Finding]:
    """What became of every claim, in the order of our list."""
    return [test(study) for test in TESTS]


def _mean_pooling(study: GermanStudy) -> Finding:
    claim = Claim("G1", "mean pooling is best for Sentence-BERT")
    measured = []
    for model in study.models:
        mean, *others = (study.verdict.find(pooled(pooling), model) for pooling in ("mean", *_other_poolings()))
        measured += [
            _difference(study, f"{model}: mean minus {other.pooling}", mean, other, below=0.0)
            for other in others
            if mean is not None and other is not None
        ]
    return judge(claim, measured, "no model could be used", "of models as they came")


def _last_layer(study: GermanStudy) -> Finding:
    claim = Claim("G2", "the last layer is best for BERTScore")
    measured = []
    for model, layers in study.layers.items():
        other = layers.best_before_last(study.rows)
        terms = [(1.0, layers.scores[-1]), (-1.0, layers.scores[other])]
        measured.append(_contrast(study, f"{model}: layer {layers.last} minus layer {other}", terms, below=0.0))
    return judge(claim, measured, "only one layer was read (--layer all)", "against the best of the other layers")


def _idf(study: GermanStudy) -> Finding:
    claim = Claim("G3", "IDF from the sources lowers BERTScore's error (by about one point)")
    if study.rows.idf != SOURCES or not study.rows.counted:
        return judge(claim, [], "IDF was not counted over sources")
    seen = min(study.seen.values(), default=1.0)
    if seen < FEW_SEEN:
        return judge(claim, [], f"only {percent(seen)} of the references' tokens occur in these sources")
    measured = _per_model(study, "with IDF minus without", weighted(BERTSCORE), BERTSCORE, below=0.0)
    return judge(claim, measured, "no model could be used", "the paper's table says .3 to 1.5 points")


def _rescaling(study: GermanStudy) -> Finding:
    claim = Claim("G4", "rescaling did not lower BERTScore's error")
    measured = _per_model(study, "rescaled minus plain", RESCALED, BERTSCORE)
    lowered = sum(number.high is not None and number.high < 0 for number in measured)
    if measured and all(number.tested for number in measured):
        measured.append(counted("models whose error it lowers", lowered, below=1.0))
    return judge(claim, measured, "no model could be used")


def _tuning(study: GermanStudy) -> Finding:
    claim = Claim("G5", "tuning lowers BERTScore's error for all models")
    first, second = (TUNED_IDF, weighted(BERTSCORE)) if study.rows.counted else (TUNED, BERTSCORE)
    note = "with IDF; in the paper's own table for three of five models" if study.rows.counted else "without IDF"
    return judge(claim, _per_model(study, "tuned minus as it came", first, second, below=0.0), NOT_TUNED, note)


def _tuning_cased(study: GermanStudy) -> Finding:
    claim = Claim("G6", "tuning helps the cased model most")
    first, second = (TUNED_IDF, weighted(BERTSCORE)) if study.rows.counted else (TUNED, BERTSCORE)

    def gain(model: str, factor: float) -> Terms:
        return _terms(study, ((factor, first, model), (-factor, second, model)))

    measured = []
    for capital, small in _casings(study):
        terms = [*gain(capital, 1.0), *gain(small, -1.0)]
        if len(terms) == 4:
            measured.append(_contrast(study, f"gain of {capital} against {small}", terms, below=0.0))
    return judge(claim, measured, NOT_TUNED if _casings(study) else CASINGS)


def _closer_than_sentence_bert(study: GermanStudy) -> Finding:
    claim = Claim("G7", "BERTScore lies closer to people than Sentence-BERT, whatever the model")
    tuned = any(study.verdict.find(SBERT_TUNED, model) for model in study.models)
    other = SBERT_TUNED if tuned else pooled("mean")
    measured = _per_model(study, f"BERTScore minus {other.replace(', ', ' ')}", BERTSCORE, other, below=0.0)
    return judge(claim, measured, "no model could be used", "in the paper's own table for four of five models")


def _cased_on_lower_case(study: GermanStudy) -> Finding:
    claim = Claim("G8", "untuned, the cased model is worse on lower-case text")
    if describe(study.rows).lower < 1:
        return judge(claim, [], "the texts are not all in lower case")
    measured = []
    for capital, small in _casings(study):
        terms = _terms(study, ((1.0, BERTSCORE, capital), (-1.0, BERTSCORE, small)))
        if len(terms) == 2:
            measured.append(_contrast(study, f"{capital} minus {small}", terms, above=0.0))
    return judge(claim, measured, CASINGS)


def _ten_points(study: GermanStudy) -> Finding:
    claim = Claim("G9a", "the best system's error is some 10 points below that of every baseline")
    words, others = _sides(study)
    if not words or not others:
        return judge(claim, [], "no model could be used")
    best = min(others, key=_error)
    baseline = min(words, key=_error)
    name = f"{baseline.name} minus {best.name.replace(', ', ' ')} ({best.model})"
    note = f"some 10 is read as more than {BEST_BY:.0f}; by the paper's tables it is 9.4"
    return judge(claim, [_difference(study, name, baseline, best, above=BEST_BY)], note=note)


def _bleu(study: GermanStudy) -> Finding:
    claim = Claim("G9b", "BLEU is the best baseline")
    words, _ = _sides(study)
    bleu = study.verdict.find("BLEU")
    others = [system for system in words if system is not bleu]
    measured = [] if bleu is None else [
        _difference(study, f"BLEU minus {system.name}", bleu, system, below=0.0) for system in others
    ]  # fmt: skip
    return judge(claim, measured)


TESTS: tuple[Callable[[GermanStudy], Finding], ...] = (
    _mean_pooling,
    _last_layer,
    _idf,
    _rescaling,
    _tuning,
    _tuning_cased,
    _closer_than_sentence_bert,
    _cased_on_lower_case,
    _ten_points,
    _bleu,
)


def _per_model(study: GermanStudy, what: str, first: str, second: str, below: float | None = None) -> list[Measured]:
    """The difference of two systems' errors, for every model that has both."""
    pairs = [(model, study.verdict.find(first, model), study.verdict.find(second, model)) for model in study.models]
    return [
        _difference(study, f"{model}: {what}", one, two, below=below)
        for model, one, two in pairs
        if one is not None and two is not None
    ]


def _difference(
    study: GermanStudy,
    what: str,
    first: JudgedSystem,
    second: JudgedSystem,
    above: float | None = None,
    below: float | None = None,
) -> Measured:
    return _contrast(study, what, [(1.0, first.scored.scores), (-1.0, second.scored.scores)], above, below)


def _contrast(
    study: GermanStudy, what: str, terms: Terms, above: float | None = None, below: float | None = None
) -> Measured:
    estimate = error_contrast(terms, study.rows, study.plan.resampling)
    return Measured(what, float(estimate.value or 0.0), estimate.low, estimate.high, above, below)


def _terms(study: GermanStudy, wanted: Sequence[tuple[float, str, str]]) -> list[tuple[float, Floats]]:
    """Factors with the scores of systems by name and model; those that were not measured are left out."""
    systems = [(factor, study.verdict.find(name, model)) for factor, name, model in wanted]
    return [(factor, system.scored.scores) for factor, system in systems if system is not None]


def _casings(study: GermanStudy) -> list[tuple[str, str]]:
    """Every cased model with every uncased one."""
    capital = [model for model, cased in study.cased.items() if cased]
    return [(model, other) for model in capital for other, cased in study.cased.items() if not cased]


def _sides(study: GermanStudy) -> tuple[list[JudgedSystem], list[JudgedSystem]]:
    """The baselines, and the systems of models."""
    systems = study.verdict.systems
    return [system for system in systems if system.name in LEXICAL], [system for system in systems if system.model]


def _other_poolings() -> list[str]:
    return [pooling for pooling in POOLINGS if pooling != "mean"]


def _error(system: JudgedSystem) -> float:
    return system.number("RMSE")
