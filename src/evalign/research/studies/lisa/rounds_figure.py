"""Number of rounds of the recursion: totals against the optimum, violations and separation by rounds.

In: a `LisaStudy`. Out: a `Plate` with curves and their intervals, over all models together and, in the CSV file, for
each; and the best number of rounds with its interval, for the ledger of claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from evalign.core import Floats
from evalign.render.figures import Drawing, Panel
from evalign.render.tables import TextTable
from evalign.research.studies import plots
from evalign.research.studies.lisa.measured import ENDS, CSVLine, LisaStudy
from evalign.research.studies.lisa.model_scores import NEGATIVE, POSITIVE, Key, ModelScores
from evalign.research.studies.lisa.pair_scores import MAX_ROUNDS, RECURSIONS, RECURSIVE, ROUND_FIELDS, Padding
from evalign.research.studies.page import Plate, listed, number, percent

TOTAL = "total, share of the optimum"
TWICE = "tokens used again, per selected cell"
AUC = "AUC, true pairs against negatives"
SHORT = {TOTAL: "total", TWICE: "twice", AUC: "auc"}
ALL = "all models"
PAPERS = (6, 7, 8)  # rounds that the paper calls best


Curves = dict[str, dict[str, Floats]]  # what -> recursion -> (draws, rounds)


def by_rounds(study: LisaStudy) -> Plate:
    """The figure, a table of what is best, and what is seen."""
    plate = Plate("rounds", "How many rounds of the recursion are best", missing=study.too_few)
    if study.too_few:
        return plate
    numbers: list[CSVLine] = []
    panels, sentences, lines = [], [], []
    for pair_type, padding in round_settings(study):
        of_models = {name: _curves(study, model, pair_type, padding) for name, model in study.named}
        together = _mean(list(of_models.values()))
        for what in (TOTAL, TWICE):
            panel_curves = {name: _ends(draws) for name, draws in together[what].items()}
            panels.append(Panel(f"{pair_type}, {padding}", what, panel_curves))
        sentences.append(f"{pair_type}, {padding}: {_about(together)}")
        lines += [(pair_type, str(padding), *line) for line in _best_lines(together)]
        for label, curves in ({ALL: together} | of_models if len(of_models) > 1 else of_models).items():
            for what, by_name in curves.items():
                for name, draws in by_name.items():
                    setting = label, pair_type, str(padding), name, SHORT[what]
                    numbers += [(*setting, rounds, *ends) for rounds, ends in enumerate(_ends(draws).tolist())]
    drawing = Drawing(
        "Left: what the selected cells add up to, each token counted once, divided by what the exact assignment adds "
        "up to. Right: how often a row or a column is used beyond its first time, per selected cell. True pairs, mean "
        f"of all models; bands: 95 % intervals over resamples of the pairs; grey: {PAPERS[0]} to {PAPERS[-1]} rounds.",
        lambda: plots.bands(panels, "rounds", (PAPERS[0], PAPERS[-1])),
        ("model", "pair", "padding", "algorithm", "what", "rounds", "low", "value", "high"),
        numbers,
    )
    columns = ("pairs", "padding", "recursion", "highest total", "fewest used again", "highest AUC")
    caption = "Best number of rounds with its 95 % interval, and what is reached there; mean of all models"
    table = TextTable(caption, columns, tuple(lines), names=6)
    return replace(plate, drawing=drawing, sentences=tuple(sentences), tables=(table,))


def best_rounds(
    study: LisaStudy, model: ModelScores, pair_type: str, padding: Padding
) -> tuple[float, float, float] | None:
    """The number of rounds with the highest total under the paper's recursion, and its interval over resamples."""
    key = Key(pair_type, POSITIVE, RECURSIVE, padding)
    return _best(_drawn(study, model, key, TOTAL), 1) if key in model.rounds else None


def round_settings(study: LisaStudy) -> list[tuple[str, Padding]]:
    """Return the types of pairs and the paddings with varied numbers of rounds."""
    having = {(key.pair_type, key.padding) for model in study.models for key in model.rounds if key.pairing == POSITIVE}
    return [setting for setting in study.views() if setting in having]


def _curves(study: LisaStudy, model: ModelScores, pair_type: str, padding: Padding) -> Curves:
    """One model's numbers; without AUC where negatives were not measured."""
    curves: Curves = {what: {} for what in SHORT}
    for name in RECURSIONS:
        key = Key(pair_type, POSITIVE, name, padding)
        for what in SHORT:
            if key in model.rounds and (what != AUC or key._replace(pairing=NEGATIVE) in model.rounds):
                curves[what][name] = _drawn(study, model, key, what)
    return curves


def _mean(of_models: Sequence[Curves]) -> Curves:
    """Over the models that have a curve."""
    return {
        what: {
            name: np.mean([curves[what][name] for curves in of_models if name in curves[what]], axis=0)
            for name in RECURSIONS
            if any(name in curves[what] for curves in of_models)
        }
        for what in SHORT
    }


def _drawn(study: LisaStudy, model: ModelScores, key: Key, what: str) -> Floats:
    fields = dict(zip(ROUND_FIELDS, np.moveaxis(model.rounds[key], 2, 0), strict=True))
    draws = study.resamples
    if what == TOTAL:
        return np.asarray(draws.mean(fields["total"]) / draws.mean(fields["optimum"]))
    if what == TWICE:
        return draws.mean(fields["twice"])
    negatives = model.rounds[key._replace(pairing=NEGATIVE)][:, :, ROUND_FIELDS.index("f1")]
    return np.stack([draws.auc(fields["f1"][:, t], negatives[:, t]) for t in range(MAX_ROUNDS + 1)], axis=1)


def _ends(draws: Floats) -> Floats:
    """(rounds, 3): low, the number itself, high."""
    low, high = np.quantile(draws[1:], ENDS, axis=0)
    return np.stack([low, draws[0], high], axis=1)


def _best(draws: Floats, sign: int) -> tuple[float, float, float]:
    """The first round with the highest (sign 1) or lowest (-1) number, and the interval of that round."""
    rounds = (sign * np.round(draws, 9)).argmax(axis=1)
    low, high = np.quantile(rounds[1:], ENDS).tolist()
    return float(rounds[0]), low, high


def _best_lines(curves: Curves) -> Iterator[tuple[str, ...]]:
    """The best number of rounds of every recursion, by what."""
    for name in curves[TOTAL]:
        cells = [
            "–" if name not in by_name else _shown(by_name[name], -1 if what == TWICE else 1)
            for what, by_name in curves.items()
        ]
        yield name, *cells


def _shown(draws: Floats, sign: int) -> str:
    rounds, low, high = _best(draws, sign)
    return f"{rounds:.0f} [{low:.0f}, {high:.0f}]: {number(float(draws[0, int(rounds)]))}"


def _about(drawn: Curves) -> str:
    """Return a sentence on totals and violations of the paper's recursion by rounds."""
    total, twice = drawn[TOTAL][RECURSIVE], drawn[TWICE][RECURSIVE]
    rounds, low, high = _best(total, 1)
    rounds_shown = (0, 3, PAPERS[1], 10, MAX_ROUNDS)
    totals = ", ".join(f"{t} rounds {number(float(total[0, t]))}" for t in rounds_shown)
    used = ", ".join(percent(float(twice[0, t])) for t in rounds_shown)
    return (
        f"{RECURSIVE} reaches the highest total after {rounds:.0f} rounds (95 % interval {low:.0f} to {high:.0f}). "
        f"Share of the optimum by rounds: {totals}; tokens used again, per selected cell: {used}. "
        f"{_against_papers(total)}"
    )


def _against_papers(total: Floats) -> str:
    """Return a sentence on numbers of rounds that are better than those of the paper."""
    best = total[:, PAPERS].max(axis=1)
    better = [
        str(t)
        for t in range(total.shape[1])
        if t not in PAPERS and float(np.quantile(total[1:, t] - best[1:], ENDS[0])) > 0
    ]
    if not better:
        return f"No other number of rounds has a higher total than {PAPERS[0]} to {PAPERS[-1]} rounds beyond chance."
    return f"Higher than with {PAPERS[0]} to {PAPERS[-1]} rounds, beyond chance, is the total with {listed(better)}."
