"""The claims of the German summaries paper, each with the errors it rests on: a study in, findings out.

All are about the error (RMSE x 100 of raw scores), as in the paper, and about differences of errors on the same rows,
with intervals over texts. Where the paper's table says something else than its text, the text is tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalign.studies.german.agreement import RMSE, error_contrast
from evalign.studies.german.bertscore_forms import RESCALED
from evalign.studies.german.data import SOURCES
from evalign.studies.german.published import SBERT_TUNED, TUNED_IDF
from evalign.studies.german.study import GermanStudy
from evalign.studies.german.systems import BERTSCORE, LEXICAL, POOLINGS, TUNED, pooled, weighted
from evalign.studies.german.task_data import describe
from evalign.studies.ledger import Claim, Finding, Measured, Untestable, counted, judge
from evalign.studies.wording import percent
from evalign.types import Floats

BEST_BY = 5.0  # points: what rounds to the paper's "some 10", which by its own tables are 9.4
FEW_SEEN = 0.5  # of the references' tokens; below it, IDF of these sources is not that of the texts
NO_MODEL = "no model could be used"
NOT_TUNED = "nothing was fine-tuned (--train)"
CASINGS = "no cased model stands beside an uncased one"
Numbers = Iterator[Measured]


def findings(study: GermanStudy) -> list[Finding]:
    """What became of every claim, in the order of our list."""
    return [judge(claim, study) for claim in CLAIMS]


def _mean_pooling(study: GermanStudy) -> Numbers:
    for model in study.models:
        for pooling in POOLINGS:
            factors = {(pooled("mean"), model): 1.0, (pooled(pooling), model): -1.0}
            if pooling != "mean":
                yield from _contrast(study, f"{model}: mean minus {pooling}", factors, below=0.0)


def _last_layer(study: GermanStudy) -> Numbers:
    for model, layers in study.layers.items():
        other = layers.best_before_last(study.rows)
        terms = [(1.0, layers.scores[-1]), (-1.0, layers.scores[other])]
        yield _measured(study, f"{model}: layer {layers.last} minus layer {other}", terms, below=0.0)


def _idf(study: GermanStudy) -> Numbers:
    if study.rows.idf != SOURCES or not study.rows.counted:
        raise Untestable("IDF was not counted over sources")
    seen = min(study.seen.values(), default=1.0)
    if seen < FEW_SEEN:
        raise Untestable(f"only {percent(seen)} of the references' tokens occur in these sources")
    yield from _per_model(study, "with IDF minus without", weighted(BERTSCORE), BERTSCORE, below=0.0)


def _rescaling(study: GermanStudy) -> list[Measured]:
    differences = list(_per_model(study, "rescaled minus plain", RESCALED, BERTSCORE))
    if not differences or not all(number.tested for number in differences):
        return differences
    lowered = sum(number.high is not None and number.high < 0 for number in differences)
    return [*differences, counted("models whose error it lowers", lowered, below=1.0)]


def _tuning(study: GermanStudy) -> Numbers:
    yield from _per_model(study, "tuned minus as it came", *_tuned_and_plain(study), below=0.0)


def _tuning_cased(study: GermanStudy) -> Numbers:
    tuned, plain = _tuned_and_plain(study)
    for cased, uncased in _casings(study):
        gain = {(tuned, cased): 1.0, (plain, cased): -1.0, (tuned, uncased): -1.0, (plain, uncased): 1.0}
        yield from _contrast(study, f"gain of {cased} against {uncased}", gain, below=0.0)


def _closer_than_sentence_bert(study: GermanStudy) -> Numbers:
    tuned = any(study.verdict.find(SBERT_TUNED, model) for model in study.models)
    other = SBERT_TUNED if tuned else pooled("mean")
    yield from _per_model(study, f"BERTScore minus {other.replace(', ', ' ')}", BERTSCORE, other, below=0.0)


def _cased_on_lower_case(study: GermanStudy) -> Numbers:
    if describe(study.rows).lower < 1:
        raise Untestable("the texts are not all in lower case")
    for cased, uncased in _casings(study):
        factors = {(BERTSCORE, cased): 1.0, (BERTSCORE, uncased): -1.0}
        yield from _contrast(study, f"{cased} minus {uncased}", factors, above=0.0)


def _ten_points(study: GermanStudy) -> Numbers:
    words = [system for system in study.verdict.systems if system.name in LEXICAL]
    others = [system for system in study.verdict.systems if system.model]
    if not words or not others:
        raise Untestable(NO_MODEL)
    baseline, best = (min(systems, key=lambda system: system.number(RMSE)) for systems in (words, others))
    what = f"{baseline.name} minus {best.name.replace(', ', ' ')} ({best.model})"
    yield _measured(study, what, [(1.0, baseline.scores), (-1.0, best.scores)], above=BEST_BY)


def _bleu(study: GermanStudy) -> Numbers:
    for name in LEXICAL:
        if name != "BLEU":
            yield from _contrast(study, f"BLEU minus {name}", {("BLEU", ""): 1.0, (name, ""): -1.0}, below=0.0)


def _tuning_note(study: GermanStudy) -> str:
    return "with IDF; in the paper's own table for three of five models" if study.rows.counted else "without IDF"


CLAIMS: tuple[Claim[GermanStudy], ...] = (
    Claim("G1", "mean pooling is best for Sentence-BERT", _mean_pooling, NO_MODEL, "of models as they came"),
    Claim("G2", "the last layer is best for BERTScore", _last_layer, "only one layer was read (--layer all)",
          "against the best of the other layers"),
    Claim("G3", "IDF from the sources lowers BERTScore's error (by about one point)", _idf, NO_MODEL,
          "the paper's table says .3 to 1.5 points"),
    Claim("G4", "rescaling did not lower BERTScore's error", _rescaling, NO_MODEL),
    Claim("G5", "tuning lowers BERTScore's error for all models", _tuning, NOT_TUNED, _tuning_note),
    Claim("G6", "tuning helps the cased model most", _tuning_cased, NOT_TUNED),
    Claim("G7", "BERTScore lies closer to people than Sentence-BERT, whatever the model", _closer_than_sentence_bert,
          NO_MODEL, "in the paper's own table for four of five models"),
    Claim("G8", "untuned, the cased model is worse on lower-case text", _cased_on_lower_case, CASINGS),
    Claim("G9a", "the best system's error is some 10 points below that of every baseline", _ten_points,
          note=f"some 10 is read as more than {BEST_BY:.0f}; by the paper's tables it is 9.4"),
    Claim("G9b", "BLEU is the best baseline", _bleu),
)  # fmt: skip


def _per_model(study: GermanStudy, what: str, first: str, second: str, below: float | None = None) -> Numbers:
    """The difference of two systems' errors, for every model that has both."""
    for model in study.models:
        yield from _contrast(study, f"{model}: {what}", {(first, model): 1.0, (second, model): -1.0}, below=below)


def _contrast(
    study: GermanStudy,
    what: str,
    factors: Mapping[tuple[str, str], float],
    above: float | None = None,
    below: float | None = None,
) -> Numbers:
    """The sum of factor x error over systems by name and model; nothing if one of them was not measured."""
    systems = [(factor, study.verdict.find(*names)) for names, factor in factors.items()]
    terms = [(factor, system.scores) for factor, system in systems if system is not None]
    if len(terms) == len(factors):
        yield _measured(study, what, terms, above, below)


def _measured(
    study: GermanStudy,
    what: str,
    terms: Sequence[tuple[float, Floats]],
    above: float | None = None,
    below: float | None = None,
) -> Measured:
    estimate = error_contrast(terms, study.rows, study.plan.resampling)
    return Measured(what, float(estimate.value or 0.0), estimate.low, estimate.high, above, below)


def _tuned_and_plain(study: GermanStudy) -> tuple[str, str]:
    return (TUNED_IDF, weighted(BERTSCORE)) if study.rows.counted else (TUNED, BERTSCORE)


def _casings(study: GermanStudy) -> list[tuple[str, str]]:
    """Every cased model with every uncased one; the claim cannot be tested without."""
    models = {kind: [model for model, cased in study.cased.items() if cased == kind] for kind in (True, False)}
    if not all(models.values()):
        raise Untestable(CASINGS)
    return [(cased, uncased) for cased in models[True] for uncased in models[False]]
