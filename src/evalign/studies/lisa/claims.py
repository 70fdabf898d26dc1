"""The claims of the LiSAScore paper, each with the numbers it rests on: a `LisaStudy` in, findings out.

What is claimed in words gets a bound here, which `ledger.csv` has: "clearly" is more than half of the variance,
"close" less than a large effect (Cohen's d below 0.8), "maintaining" a loss of AUC below 0.02.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from evalign.studies.ledger import Claim, Finding, Measured, counted, judge
from evalign.studies.lisa.matchings import EXACT, GREEDY, PUBLISHED, RECURSIVE, ROW_MASK
from evalign.studies.lisa.measured import LisaStudy, common_bandwidth
from evalign.studies.lisa.method_table import NOT_TESTED, TABLE_1, as_printed
from evalign.studies.lisa.model_scores import IDENTICAL, NEGATIVE, POSITIVE, REPEATED, Key, ModelScores
from evalign.studies.lisa.padding import PLAIN, Padding
from evalign.studies.lisa.resampling import interval
from evalign.studies.lisa.rounds_figure import PAPERS, best_rounds, round_settings
from evalign.types import Floats

MOST, NEARLY_ALL = 0.5, 0.95
VISIBLE = 0.01  # a change of a score that two decimals show
LARGE = 0.8  # Cohen's d
KEPT = 0.02  # of AUC
REGIONS = 5
ONE_MODEL = "the claim compares models, and fewer than two could be measured that way"
NO_PADDING = "no model could be padded to the paper's widths"
UNSUITED = ("albert", "bart-base")


def findings(study: LisaStudy) -> list[Finding]:
    """What became of every claim; with too few pairs for an interval, none can be tested."""
    if study.too_few:
        return [judge(claim, (), study.too_few) for claim in CLAIMS]
    return [find(claim, study) for claim, find in CLAIMS.items()]


def _lengths(claim: Claim, study: LisaStudy) -> Finding:
    shortest, longest = min(study.plan.widths), max(study.plan.widths)
    shares = []
    for name, model in study.named:
        tokens = model.lengths[study.main]
        for width, least in ((shortest, MOST), (longest, NEARLY_ALL)):
            share = study.resamples.mean((tokens < width).mean(axis=1))
            shares.append(_measured(f"{name}, share of texts under {width} tokens", share, above=least))
    return judge(claim, shares, note=f"Texts of {study.pairs.name}, not of WMT 2016")


def _perfect_pairs(claim: Claim, study: LisaStudy) -> Finding:
    moves = []
    for name, model in study.named:
        keys = [Key(study.main, IDENTICAL, PUBLISHED, padding) for padding in study.paper_paddings[1:]]
        f1 = [scores for key in keys if (scores := model.f1(key)) is not None]
        if len(f1) > 1:
            move = study.resamples.mean(np.abs(f1[-1] - f1[0]))
            moves.append(_measured(f"{name}, mean change of F1", move, above=VISIBLE))
    return judge(claim, moves, NO_PADDING, "Recursion as published; Fig. 2 has all matchings")


def _end_tokens(claim: Claim, study: LisaStudy) -> Finding:
    eta = _end_token_eta(study)
    if eta is None:
        return judge(claim, (), ONE_MODEL)
    return judge(claim, [_measured("eta² of model", eta, above=MOST)], note="It uses neither matching nor padding")


def _all_runs(claim: Claim, study: LisaStudy) -> Finding:
    ends = _end_token_eta(study)
    if ends is None:
        return judge(claim, (), ONE_MODEL)
    runs = study.resamples.eta_squared(list(study.all_runs().values()))
    return judge(claim, [_measured("eta² of end tokens minus eta² of F1", ends - runs, above=0)])


def _regions(claim: Claim, study: LisaStudy) -> Finding:
    peaks = list(_peaks(study, ROW_MASK))
    if len(study.models) < REGIONS:
        seen = "; ".join(f"{int(draws[0])} peaks at {padding.width}" for padding, draws in peaks)
        few = f"five regions need five models; measured here: {len(study.models)}"
        return judge(claim, (), f"{few} (row-mask has {seen})" if seen else few)
    measured = [
        _measured(f"peaks at {padding.width}", draws, above=REGIONS - 1, below=REGIONS + 1) for padding, draws in peaks
    ]
    return judge(claim, measured, NO_PADDING)


def _few_peaks(claim: Claim, study: LisaStudy) -> Finding:
    measured = [
        _measured(f"peaks of row-mask minus greedy's at {padding.width}", masked - greedy, above=0)
        for (padding, masked), (_, greedy) in zip(_peaks(study, ROW_MASK), _peaks(study, GREEDY), strict=True)
    ]
    return judge(claim, measured, ONE_MODEL)


def _recursion_separates(claim: Claim, study: LisaStudy) -> Finding:
    measured = [
        _measured(f"{label}, AUC minus greedy's", _auc_over(study, model, PUBLISHED, GREEDY, padding), above=0)
        for label, model, padding in _padded(study)
    ]
    for padding in study.paper_paddings[1:]:
        groups = {name: study.f1_by_model(Key(study.main, POSITIVE, name, padding)) for name in (GREEDY, PUBLISHED)}
        if len(groups[GREEDY]) < 2:
            return judge(claim, (), ONE_MODEL)
        greedy, published = map(study.resamples.eta_squared, groups.values())
        measured.append(_measured(f"eta² of model minus greedy's at {padding.width}", published - greedy, below=0))
    return judge(claim, measured, NO_PADDING)


def _close(claim: Claim, study: LisaStudy) -> Finding:
    measured = []
    for label, model, padding in _padded(study):
        draws = study.resamples.cohens_d(*_both(study, model, GREEDY, padding))
        measured.append(_measured(f"{label}, Cohen's d", draws, below=LARGE))
    return judge(claim, measured, NO_PADDING)


def _lower_and_further_apart(claim: Claim, study: LisaStudy) -> Finding:
    measured = []
    for label, model, padding in _padded(study):
        means = [
            [study.resamples.mean(values) for values in _both(study, model, algorithm, padding)]
            for algorithm in (GREEDY, PUBLISHED)
        ]
        (good, bad), (lower_good, lower_bad) = means
        measured += [
            _measured(f"{label}, change of true pairs' mean", lower_good - good, below=0),
            _measured(f"{label}, change of negatives' mean", lower_bad - bad, below=0),
            _measured(f"{label}, change of the difference", (lower_good - lower_bad) - (good - bad), above=0),
            _measured(f"{label}, change of the ratio", lower_good / lower_bad - good / bad, above=0),
        ]
    return judge(claim, measured, NO_PADDING, "Recursion as published")


def _lower_as_accurate(claim: Claim, study: LisaStudy) -> Finding:
    measured = []
    for name, model in study.named:
        plain = {algorithm: _both(study, model, algorithm, PLAIN)[0] for algorithm in (GREEDY, EXACT)}
        lower = study.resamples.mean(plain[EXACT] - plain[GREEDY])
        measured.append(_measured(f"{name}, change of mean F1", lower, below=0))
        measured.append(_measured(f"{name}, change of AUC", _auc_over(study, model, EXACT, GREEDY, PLAIN), above=-KEPT))
    return judge(claim, measured, note="Exact against greedy without padding; accuracy is the AUC of true pairs here")


def _six_to_eight(claim: Claim, study: LisaStudy) -> Finding:
    measured = [
        Measured(f"{name}, {kind}, {padding}, best number of rounds", *best, above=PAPERS[0] - 1, below=PAPERS[-1] + 1)
        for name, model in study.named
        for kind, padding in round_settings(study)
        if (best := best_rounds(study, model, kind, padding)) is not None
    ]
    return judge(claim, measured, "rounds were not varied", "Best: the highest total, each token counted once")


def _repetition(claim: Claim, study: LisaStudy) -> Finding:
    measured = []
    for label, model, padding in _padded(study):
        changes = {name: _change(study, model, name, padding=padding) for name in (GREEDY, EXACT)}
        measured.append(_measured(f"{label}, pads added to greedy F1", changes[GREEDY], above=0))
        measured.append(_measured(f"{label}, pads added to exact F1", changes[EXACT], below=VISIBLE))
    for name, model in study.named:
        kind = study.pairs.kinds[-1]  # within one language if there are such pairs: both texts are of like length
        twice = {algorithm: _change(study, model, algorithm, kind, REPEATED) for algorithm in (GREEDY, EXACT)}
        measured.append(_measured(f"{name}, text said twice, exact F1", twice[EXACT], below=0))
        lost = twice[GREEDY] - twice[EXACT]
        measured.append(_measured(f"{name}, text said twice, greedy's change minus exact's", lost, above=0))
    return judge(claim, measured, NO_PADDING, "Both texts are padded, so that pads can be matched with pads")


def _unsuited(claim: Claim, study: LisaStudy) -> Finding:
    ends = {name: model.end_tokens[study.main, POSITIVE] for name, model in study.named if model.end_tokens}
    named = {part: [name for name in ends if name.lower().startswith(part)] for part in UNSUITED}
    absent = [part for part, names in named.items() if not names]
    others = [values for name, values in ends.items() if not name.lower().startswith(UNSUITED)]
    if absent or not others:
        return judge(claim, (), "it is about ALBERT and BART-base, beside others, which are not all here")
    least = np.min([study.resamples.mean(values) for values in others], axis=0)
    lowest = study.resamples.mean(ends[named["bart-base"][0]])
    return judge(claim, [_measured("BART-base, end-token score minus the lowest other's", lowest - least, below=0)])


def _what_for_what(claim: Claim, study: LisaStudy) -> Finding:
    measured = []
    for label, model, padding in _padded(study):
        over = _auc_over(study, model, RECURSIVE, EXACT, padding)
        measured.append(_measured(f"{label}, AUC of recursion minus exact's", over, above=0))
        moved = {name: np.abs(_change(study, model, name, padding=padding)) for name in (RECURSIVE, EXACT, ROW_MASK)}
        for name in (EXACT, ROW_MASK):
            steadier = moved[RECURSIVE] - moved[name]
            measured.append(_measured(f"{label}, how far pads move recursive F1 minus {name}'s", steadier, above=0))
    return judge(claim, measured, NO_PADDING)


def _table_1(claim: Claim, study: LisaStudy) -> Finding:
    if not study.capabilities:
        return judge(claim, (), NOT_TESTED)
    cells = 2 * len(TABLE_1)
    found = counted(f"of {cells} entries of Table 1, found as printed:", as_printed(study.capabilities), cells - 0.5)
    return judge(claim, [found], note="By running each method on torch tensors (Table 1)")


def _summaries(claim: Claim, study: LisaStudy) -> Finding:
    return judge(claim, (), "it is about summaries, and these are pairs of sentences")


CLAIMS: dict[Claim, Callable[[Claim, LisaStudy], Finding]] = {
    Claim("L1", "Most texts have fewer tokens than 128, nearly all fewer than 384"): _lengths,
    Claim("L2", "Longer padding moves the score of a perfect pair"): _perfect_pairs,
    Claim("L3", "End-token scores clearly differ from model to model"): _end_tokens,
    Claim("L4", "F1 over all runs tells models apart less than end-token scores do"): _all_runs,
    Claim("L5", "Row masking, models pooled, shows five regions, one per model"): _regions,
    Claim("L6", "Without assignment there are fewer peaks than with row masking"): _few_peaks,
    Claim("L7", "The recursion separates good from bad more, and hides the model"): _recursion_separates,
    Claim("L8", "Greedy scores of true pairs and negatives lie close together"): _close,
    Claim("L9", "The recursion lowers both, and their difference and ratio grow"): _lower_and_further_apart,
    Claim("L10", "Assignment lowers the mean score and maintains accuracy"): _lower_as_accurate,
    Claim("L11", "Six to eight rounds of the recursion are best"): _six_to_eight,
    Claim("L12", "Repeated tokens inflate greedy scores; assignment removes that"): _repetition,
    Claim("L13", "End-token scores do not suit ALBERT; BART-base has the lowest"): _unsuited,
    Claim("L14", "Recursion to tell right from wrong, exact and row masking for stable scores"): _what_for_what,
    Claim("L15", "Exact solvers need the CPU, others do not; top-k forms keep gradients"): _table_1,
    Claim("L16", "Assignment punishes short summaries, IDF evens that out"): _summaries,
}


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


def _auc_over(study: LisaStudy, model: ModelScores, algorithm: str, other: str, padding: Padding) -> Floats:
    """AUC of a matching minus that of another."""
    first, second = (study.resamples.auc(*_both(study, model, name, padding)) for name in (algorithm, other))
    return np.asarray(first - second)


def _change(
    study: LisaStudy,
    model: ModelScores,
    algorithm: str,
    kind: str = "",
    pairing: str = POSITIVE,
    padding: Padding = PLAIN,
) -> Floats:
    """By how much true pairs' mean F1 changes with a padding, or when a text is repeated; pairs of the main kind."""
    plain = Key(kind or study.main, POSITIVE, algorithm)
    changed = model.scores[plain._replace(pairing=pairing, padding=padding)][:, 2]
    return study.resamples.mean(changed - model.scores[plain][:, 2])


def _end_token_eta(study: LisaStudy) -> Floats | None:
    ends = [model.end_tokens[study.main, POSITIVE] for model in study.models if model.end_tokens]
    return study.resamples.eta_squared(ends) if len(ends) > 1 else None


def _peaks(study: LisaStudy, algorithm: str) -> Iterator[tuple[Padding, Floats]]:
    """Of all models together, at each of the paper's paddings."""
    for padding in study.paper_paddings[1:]:
        groups = study.f1_by_model(Key(study.main, POSITIVE, algorithm, padding))
        if len(groups) > 1:
            yield padding, study.resamples.peaks(groups, common_bandwidth(groups))
