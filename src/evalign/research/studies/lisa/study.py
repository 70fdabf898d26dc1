"""The LiSAScore study (Mander & Phillips) for any models and pairs: measurements, page, and a finding per claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from evalign.core import Floats
from evalign.errors import EvalignError, ModelError
from evalign.research.studies.inputs import Steps, StudyPairs, model_identity
from evalign.research.studies.lisa import figures, separation
from evalign.research.studies.lisa import figures as f1_figures
from evalign.research.studies.lisa.figures import NOT_TESTED, TABLE_1, as_printed, capabilities, method_table
from evalign.research.studies.lisa.measured import RESAMPLES, LisaStudy, common_bandwidth, interval
from evalign.research.studies.lisa.model_scores import (
    IDENTICAL,
    NEGATIVE,
    POSITIVE,
    RECIPE,
    REPEATED,
    Key,
    LisaPlan,
    ModelScores,
    measure,
)
from evalign.research.studies.lisa.pair_scores import (
    EXACT,
    GREEDY,
    PLAIN,
    PUBLISHED,
    RECURSIVE,
    ROW_MASK,
    SLOW,
    Padding,
)
from evalign.research.studies.lisa.rounds_figure import PAPERS, best_rounds, by_rounds, round_settings
from evalign.research.studies.page import (
    UNTESTED,
    Claim,
    Finding,
    Measured,
    StudyPage,
    Untestable,
    counted,
    judge,
    ledger,
    listed,
)
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
MAJORITY, NEARLY_ALL = 0.5, 0.95
VISIBLE = 0.01  # a change of a score that two decimals show
COHENS_D_LARGE = 0.8  # Cohen's d
LOST = 0.02  # of AUC
REGIONS = 5
ONE_MODEL = "the claim compares models, and fewer than two could be measured that way"
NO_PADDING = "no model could be padded to the paper's widths"
UNSUITED = ("albert", "bart-base")
Numbers = Iterator[Measured]


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
    methods = steps.values(key, capabilities)
    return LisaStudy(pairs, tuple(measured.values()), plan, tuple(missing + failed), tuple(notes), methods)


def lisa_page(study: LisaStudy) -> StudyPage:
    """Everything that is shown."""
    pair_types = " and ".join(study.pairs.pair_types)
    about = (
        "Mander and Phillips asked whether tokens should be matched one to one (linear sum assignment) instead of "
        "greedily, each token its best partner, as BERTScore does. These are the figures of their paper, computed "
        "again.",
        f"Data: {study.pairs.name}, {len(study.pairs.rows)} rows as {pair_types} pairs. "
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
        f"Padding was studied with {pairs.pair_types[0]} pairs; at widths above {min(plan.widths)} without "
        f"{listed(SLOW)}, which take too long.",
        f"Intervals: 95 % of {RESAMPLES} resamples of the pairs (seed {plan.seed}), the same for every number.",
        *(f"{sentence}." for sentence in (*study.notes, *cut)),
        f"evalign {__version__}.",
    )


def findings(study: LisaStudy) -> list[Finding]:
    """Return the finding for every claim; with too few pairs for an interval, none can be tested."""
    if study.too_few:
        return [Finding(claim, (), UNTESTED, study.too_few) for claim in CLAIMS]
    return [judge(claim, study) for claim in CLAIMS]


def _lengths(study: LisaStudy) -> Numbers:
    for name, model in study.named:
        tokens = model.lengths[study.main]
        for width, least in ((min(study.plan.widths), MAJORITY), (max(study.plan.widths), NEARLY_ALL)):
            share = study.resamples.mean((tokens < width).mean(axis=1))
            yield _measured(f"{name}, share of texts under {width} tokens", share, above=least)


def _perfect_pairs(study: LisaStudy) -> Numbers:
    for name, model in study.named:
        keys = [Key(study.main, IDENTICAL, PUBLISHED, padding) for padding in study.paper_paddings[1:]]
        f1 = [scores for key in keys if (scores := model.f1(key)) is not None]
        if len(f1) > 1:
            yield _measured(f"{name}, mean change of F1", study.resamples.mean(np.abs(f1[-1] - f1[0])), above=VISIBLE)


def _end_tokens(study: LisaStudy) -> Numbers:
    yield _measured("eta² of model", _end_token_eta(study), above=MAJORITY)


def _all_runs(study: LisaStudy) -> Numbers:
    runs = study.resamples.eta_squared(list(study.all_runs().values()))
    yield _measured("eta² of end tokens minus eta² of F1", _end_token_eta(study) - runs, above=0)


def _regions(study: LisaStudy) -> Numbers:
    peaks = list(_peaks(study, ROW_MASK))
    if len(study.models) < REGIONS:
        seen = "; ".join(f"{int(draws[0])} peaks at {padding.width}" for padding, draws in peaks)
        few = f"five regions need five models; measured here: {len(study.models)}"
        raise Untestable(f"{few} (row-mask has {seen})" if seen else few)
    for padding, draws in peaks:
        yield _measured(f"peaks at {padding.width}", draws, above=REGIONS - 1, below=REGIONS + 1)


def _few_peaks(study: LisaStudy) -> Numbers:
    for (padding, masked), (_, greedy) in zip(_peaks(study, ROW_MASK), _peaks(study, GREEDY), strict=True):
        yield _measured(f"peaks of row-mask minus greedy's at {padding.width}", masked - greedy, above=0)


def _recursion_separates(study: LisaStudy) -> Numbers:
    for label, model, padding in _padded(study):
        yield _measured(f"{label}, AUC minus greedy's", _auc_over(study, model, PUBLISHED, GREEDY, padding), above=0)
    for padding in study.paper_paddings[1:]:
        groups = {name: study.f1_by_model(Key(study.main, POSITIVE, name, padding)) for name in (GREEDY, PUBLISHED)}
        if len(groups[GREEDY]) < 2:
            raise Untestable(ONE_MODEL)
        greedy, published = map(study.resamples.eta_squared, groups.values())
        yield _measured(f"eta² of model minus greedy's at {padding.width}", published - greedy, below=0)


def _close(study: LisaStudy) -> Numbers:
    for label, model, padding in _padded(study):
        draws = study.resamples.cohens_d(*_both(study, model, GREEDY, padding))
        yield _measured(f"{label}, Cohen's d", draws, below=COHENS_D_LARGE)


def _lower_and_further_apart(study: LisaStudy) -> Numbers:
    for label, model, padding in _padded(study):
        (good, bad), (lower_good, lower_bad) = (
            [study.resamples.mean(values) for values in _both(study, model, algorithm, padding)]
            for algorithm in (GREEDY, PUBLISHED)
        )
        yield _measured(f"{label}, change of true pairs' mean", lower_good - good, below=0)
        yield _measured(f"{label}, change of negatives' mean", lower_bad - bad, below=0)
        yield _measured(f"{label}, change of the difference", (lower_good - lower_bad) - (good - bad), above=0)
        yield _measured(f"{label}, change of the ratio", lower_good / lower_bad - good / bad, above=0)


def _lower_as_accurate(study: LisaStudy) -> Numbers:
    for name, model in study.named:
        greedy, exact = (_both(study, model, algorithm, PLAIN)[0] for algorithm in (GREEDY, EXACT))
        yield _measured(f"{name}, change of mean F1", study.resamples.mean(exact - greedy), below=0)
        yield _measured(f"{name}, change of AUC", _auc_over(study, model, EXACT, GREEDY, PLAIN), above=-LOST)


def _six_to_eight(study: LisaStudy) -> Numbers:
    for name, model in study.named:
        for pair_type, padding in round_settings(study):
            if (best := best_rounds(study, model, pair_type, padding)) is not None:
                what = f"{name}, {pair_type}, {padding}, best number of rounds"
                yield Measured(what, *best, above=PAPERS[0] - 1, below=PAPERS[-1] + 1)


def _repetition(study: LisaStudy) -> Numbers:
    for label, model, padding in _padded(study):
        greedy, exact = (_change(study, model, name, padding=padding) for name in (GREEDY, EXACT))
        yield _measured(f"{label}, pads added to greedy F1", greedy, above=0)
        yield _measured(f"{label}, pads added to exact F1", exact, below=VISIBLE)
    pair_type = study.pairs.pair_types[-1]  # within one language if there are such pairs: both texts are of like length
    for name, model in study.named:
        greedy, exact = (_change(study, model, algorithm, pair_type, REPEATED) for algorithm in (GREEDY, EXACT))
        yield _measured(f"{name}, text said twice, exact F1", exact, below=0)
        yield _measured(f"{name}, text said twice, greedy's change minus exact's", greedy - exact, above=0)


def _unsuited(study: LisaStudy) -> Numbers:
    ends = {name: model.end_tokens[study.main, POSITIVE] for name, model in study.named if model.end_tokens}
    named = {part: [name for name in ends if name.lower().startswith(part)] for part in UNSUITED}
    suited = [values for name, values in ends.items() if not name.lower().startswith(UNSUITED)]
    if not all(named.values()) or not suited:
        raise Untestable("it is about ALBERT and BART-base, beside others, which are not all here")
    least = np.min([study.resamples.mean(values) for values in suited], axis=0)
    lowest = study.resamples.mean(ends[named["bart-base"][0]])
    yield _measured("BART-base, end-token score minus the lowest other's", lowest - least, below=0)


def _what_for_what(study: LisaStudy) -> Numbers:
    for label, model, padding in _padded(study):
        over = _auc_over(study, model, RECURSIVE, EXACT, padding)
        yield _measured(f"{label}, AUC of recursion minus exact's", over, above=0)
        moved = {name: np.abs(_change(study, model, name, padding=padding)) for name in (RECURSIVE, EXACT, ROW_MASK)}
        for name in (EXACT, ROW_MASK):
            steadier = moved[RECURSIVE] - moved[name]
            yield _measured(f"{label}, how far pads move recursive F1 minus {name}'s", steadier, above=0)


def _table_1(study: LisaStudy) -> Numbers:
    if not study.capabilities:
        raise Untestable(NOT_TESTED)
    cells = 2 * len(TABLE_1)
    yield counted(f"of {cells} entries of Table 1, found as printed:", as_printed(study.capabilities), cells - 0.5)


CLAIMS: tuple[Claim[LisaStudy], ...] = (
    Claim("L1", "Most texts have fewer tokens than 128, nearly all fewer than 384", _lengths,
          note=lambda study: f"Texts of {study.pairs.name}, not of WMT 2016"),
    Claim("L2", "Longer padding moves the score of a perfect pair", _perfect_pairs, NO_PADDING,
          "Recursion as published; Fig. 2 has all matchings"),
    Claim("L3", "End-token scores clearly differ from model to model", _end_tokens,
          note="It uses neither matching nor padding"),
    Claim("L4", "F1 over all runs tells models apart less than end-token scores do", _all_runs),
    Claim("L5", "Row masking, models pooled, shows five regions, one per model", _regions, NO_PADDING),
    Claim("L6", "Without assignment there are fewer peaks than with row masking", _few_peaks, ONE_MODEL),
    Claim("L7", "The recursion separates good from bad more, and hides the model", _recursion_separates, NO_PADDING),
    Claim("L8", "Greedy scores of true pairs and negatives lie close together", _close, NO_PADDING),
    Claim("L9", "The recursion lowers both, and their difference and ratio grow", _lower_and_further_apart, NO_PADDING,
          "Recursion as published"),
    Claim("L10", "Assignment lowers the mean score and maintains accuracy", _lower_as_accurate,
          note="Exact against greedy without padding; accuracy is the AUC of true pairs here"),
    Claim("L11", "Six to eight rounds of the recursion are best", _six_to_eight, "rounds were not varied",
          "Best: the highest total, each token counted once"),
    Claim("L12", "Repeated tokens inflate greedy scores; assignment removes that", _repetition, NO_PADDING,
          "Both texts are padded, so that pads can be matched with pads"),
    Claim("L13", "End-token scores do not suit ALBERT; BART-base has the lowest", _unsuited),
    Claim("L14", "Recursion to tell right from wrong, exact and row masking for stable scores", _what_for_what,
          NO_PADDING),
    Claim("L15", "Exact solvers need the CPU, others do not; top-k forms keep gradients", _table_1,
          note="By running each method on torch tensors (Table 1)"),
    Claim("L16", "Assignment punishes short summaries, IDF evens that out", lambda _: (),
          "it is about summaries, and these are pairs of sentences"),
)  # fmt: skip


def _measured(what: str, draws: Floats, above: float | None = None, below: float | None = None) -> Measured:
    return Measured(what, *interval(draws), above=above, below=below)


def _padded(study: LisaStudy) -> Iterator[tuple[str, ModelScores, Padding]]:
    """Every model with each of the paper's paddings that it has."""
    for name, model in study.named:
        for padding in study.paper_paddings[1:]:
            if Key(study.main, NEGATIVE, GREEDY, padding) in model.scores:
                yield f"{name} at {padding.width}", model, padding


def _both(study: LisaStudy, model: ModelScores, algorithm: str, padding: Padding) -> tuple[Floats, Floats]:
    """F1 of true pairs and of negatives."""
    key = Key(study.main, POSITIVE, algorithm, padding)
    return model.scores[key][:, 2], model.scores[key._replace(pairing=NEGATIVE)][:, 2]


def _auc_over(study: LisaStudy, model: ModelScores, algorithm: str, baseline: str, padding: Padding) -> Floats:
    """AUC of a matching minus that of another."""
    first, second = (study.resamples.auc(*_both(study, model, name, padding)) for name in (algorithm, baseline))
    return np.asarray(first - second)


def _change(
    study: LisaStudy,
    model: ModelScores,
    algorithm: str,
    pair_type: str = "",
    pairing: str = POSITIVE,
    padding: Padding = PLAIN,
) -> Floats:
    """Yield the changes of true pairs' mean F1 by padding or by repeating a text, for the main type of pairs."""
    plain = Key(pair_type or study.main, POSITIVE, algorithm)
    changed = model.scores[plain._replace(pairing=pairing, padding=padding)][:, 2]
    return study.resamples.mean(changed - model.scores[plain][:, 2])


def _end_token_eta(study: LisaStudy) -> Floats:
    ends = [model.end_tokens[study.main, POSITIVE] for model in study.models if model.end_tokens]
    if len(ends) < 2:
        raise Untestable(ONE_MODEL)
    return study.resamples.eta_squared(ends)


def _peaks(study: LisaStudy, algorithm: str) -> Iterator[tuple[Padding, Floats]]:
    """Yield the numbers of peaks over all models, for each of the paper's paddings."""
    for padding in study.paper_paddings[1:]:
        groups = study.f1_by_model(Key(study.main, POSITIVE, algorithm, padding))
        if len(groups) > 1:
            yield padding, study.resamples.peaks(groups, common_bandwidth(groups))
