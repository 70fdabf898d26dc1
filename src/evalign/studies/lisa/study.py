"""The LiSAScore study (Mander & Phillips): its claims, figures and their numbers, for any models and pairs.

In: names of models, the chosen rows, a plan. Out: a `StudyPage`. What cannot be measured is named; the rest is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from evalign.errors import EvalignError, ModelError
from evalign.render.study.page import StudyPage
from evalign.studies.inputs import StudyPairs, model_identity
from evalign.studies.ledger import ledger
from evalign.studies.lisa import f1_figures, figures, separation
from evalign.studies.lisa.claims import findings
from evalign.studies.lisa.figures import capabilities, method_table
from evalign.studies.lisa.matchings import GREEDY, PUBLISHED, SLOW
from evalign.studies.lisa.measured import RESAMPLES, LisaStudy
from evalign.studies.lisa.model_scores import RECIPE, LisaPlan, ModelScores, measure
from evalign.studies.lisa.rounds_figure import by_rounds
from evalign.studies.step_cache import Steps
from evalign.studies.wording import listed
from evalign.version import __version__

TITLE = "The LiSAScore study, repeated"
PAPER_MODELS = (
    "bert-base-uncased",
    "roberta-base",
    "xlm-roberta-base",
    "distilbert-base-uncased",
    "albert-base-v2",
    "facebook/bart-base",
)
PRESETS = {"paper": PAPER_MODELS}


def run_lisa(
    models: Sequence[str],
    pairs: StudyPairs,
    plan: LisaPlan,
    steps: Steps,
    advance: Callable[[int], Any] = lambda _: None,
) -> LisaStudy:
    """Measures every model that can be used; an error only if none can."""
    measured: dict[str, ModelScores] = {}  # by identity: the same weights twice are one model
    missing = list(pairs.missing)
    failed, notes = [], []
    for model in dict.fromkeys(models):
        try:
            identity = model_identity(model)
            if identity in measured:
                notes.append(f"{model} is the same model as {measured[identity].model}")
                advance(len(pairs.rows))
                continue
            measured[identity] = measure(model, pairs, plan, steps, advance)
        except EvalignError as error:
            failed.append(f"model {model}: {error}")
            advance(len(pairs.rows))
        else:
            missing += measured[identity].missing
    if not measured:
        raise ModelError("no model can be used; " + "; ".join(failed))
    key = {"study": "lisa", "recipe": RECIPE, "step": "capabilities", "torch": find_spec("torch") is not None}
    found = steps.values(key, capabilities)
    return LisaStudy(pairs, tuple(measured.values()), plan, tuple(missing + failed), tuple(notes), found)


def lisa_page(study: LisaStudy) -> StudyPage:
    """Everything that is shown."""
    kinds = " and ".join(study.pairs.kinds)
    about = (
        "Mander and Phillips asked whether tokens should be matched one to one (linear sum assignment) instead of "
        "greedily, each token its best partner, as BERTScore does. These are the figures of their paper, made anew.",
        f"Data: {study.pairs.name}, {len(study.pairs.rows)} rows as {kinds} pairs. "
        f"Models: {', '.join(name for name, _ in study.named)}. Every number is per pair, not a mean of batches.",
    )
    plates = (
        figures.lengths(study),
        figures.identical(study),
        figures.end_tokens(study),
        f1_figures.by_model(study),
        f1_figures.by_algorithm(study),
        separation.separated(study),
        method_table(study),
        by_rounds(study),
        separation.published(study),
        separation.best(study),
    )
    summary = separation.table(study, "Mean F1 of true pairs and of in-batch negatives", (GREEDY, PUBLISHED))
    return StudyPage(TITLE, about, summary, plates, _notes(study), study.missing, ledger(findings(study)))


def _notes(study: LisaStudy) -> tuple[str, ...]:
    plan, pairs = study.plan, study.pairs
    cut = [
        f"{name}: {count} texts were cut to {width} tokens before padding"
        for name, model in study.named
        for width, count in model.truncated.items()
        if count
    ]
    return (
        f"Data: {pairs.name}; {len(pairs.rows)} rows, sha256 of their texts {pairs.digest[:16]}.",
        *(f"Data: {note}." for note in pairs.notes),
        f"Models: {', '.join(model.pin for model in study.models)}, layer {plan.layer}, fp32.",
        "Tokens of the text weigh 1 and special tokens nothing, as in bertscore; special tokens may be matched. Pads "
        "are masked (cut off), or match targets that weigh 0 or 1. The model's attention never sees them.",
        f"Negatives: within blocks of at least {min(plan.block, len(pairs.rows))} pairs each first text meets the "
        f"second text of another pair (a derangement, seed {plan.seed}).",
        "Cohen's d: the difference of the means in pooled standard deviations. AUC: the chance that a true pair scores "
        "above a negative. Overlap: the part of true pairs at or below, plus that of negatives above, the threshold "
        "where their sum is least (1 - Youden's J).",
        "Eta²: the part of the scores' variance that lies between models. Peaks: maxima of the density of all models' "
        "scores at the bandwidth given (the mean of the models' own by Silverman's rule), those below a twentieth of "
        "the highest not counted.",
        f"Padding was studied with {pairs.kinds[0]} pairs; at widths above {min(plan.widths)} without "
        f"{listed(SLOW)}, which take too long.",
        f"Intervals: 95 % of {RESAMPLES} resamples of the pairs (seed {plan.seed}), the same for every number.",
        *(f"{sentence}." for sentence in (*study.notes, *cut)),
        f"evalign {__version__}.",
    )
