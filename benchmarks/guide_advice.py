"""The advice of docs/metrics.md: for each task the metric that agrees best, and who cannot be told apart from it.

Only ratings count that took part in no choice of the metric. "For less" means at least a fifth less: the highest
cost of the cheaper metric lies below 80 % of the lowest cost of the best one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import rated
from guide_agreement import Draws, agrees, mean, minus
from guide_data import LEXICAL, SUMMARIES, TRAINED, Sample, mark

TASKS = {
    "Translations into English, the better of two (kk-en)": (rated.DARR,),
    "Translations into English, errors counted (TED21 zh-en)": ("ted21_zhen_mqm",),
    "Translations into German, errors counted (TED21 en-de)": ("ted21_ende_mqm",),
    "Summaries, eleven references": ("summeval",),
    "Summaries, one reference": ("realsumm_author_scores",),
    "Short English sentences: paraphrase, headlines": ("stsb_en_dev",),
    "German sentences": ("stsb_de_dev",),
}
MARGIN = 0.8
ROUGE = ("rouge1", "rouge2", "rougeLsum", "rougeMEAD", "rougeW", "rougeS", "rougeSU")
Columns = dict[str, dict[str, np.ndarray]]  # spec -> data set -> scores


@dataclass(frozen=True, eq=False)
class Advice:
    """One task: the best metric with its agreement, and how far every other eligible metric lies below it."""

    task: str
    best: str
    agreement: Draws
    below: dict[str, Draws]  # spec -> best minus spec
    cheaper: tuple[str, ...]  # not told apart from the best, and cost clearly less
    left_out: tuple[str, ...]  # their ratings took part in training

    @property
    def equal(self) -> list[str]:
        """Who cannot be told apart from the best, nearest first."""
        return sorted((s for s in self.below if not _worse(self.below[s])), key=lambda s: self.below[s].value)

    @property
    def best_lexical(self) -> str:
        """The metric without a model that lies least below."""
        return self.best if self.best in LEXICAL else min((s for s in self.below if s in LEXICAL),
                                                          key=lambda s: self.below[s].value)  # fmt: skip


def advise(task: str, samples: dict[str, Sample], columns: Columns, costs: dict[str, dict]) -> Advice:
    """The best of the eligible metrics on the rows that all of them scored, and all others against it."""
    names = TASKS[task]
    scored = [spec for spec, by_set in columns.items() if all(name in by_set for name in names)]
    trained = [spec for spec in scored if any(mark(spec, name) == TRAINED for name in names)]
    eligible = [spec for spec in scored if spec not in trained]
    common = {name: np.all([np.isfinite(columns[spec][name]) for spec in eligible], axis=0) for name in names}
    reached = {
        spec: mean([agrees(samples[name], np.where(common[name], columns[spec][name], np.nan)) for name in names])
        for spec in eligible
    }
    best = max(eligible, key=lambda spec: reached[spec].value)
    below = {
        spec: mean([minus(samples[name], columns[best][name], columns[spec][name]) for name in names])
        for spec in eligible
        if spec != best
    }
    kind = "summary" if names[0] in SUMMARIES else "segment"
    cheaper = [
        spec for spec, behind in below.items()
        if not _worse(behind) and {spec, best} <= set(costs) and costs[spec][kind][2] < MARGIN * costs[best][kind][0]
    ]  # fmt: skip
    cheaper.sort(key=lambda spec: costs[spec][kind][1])
    return Advice(task, best, reached[best], below, tuple(cheaper), tuple(trained))


def rouge_sentence(name: str, title: str, samples: dict[str, Sample], columns: Columns) -> str:
    """Which variants of ROUGE are told apart from ROUGE-L on a data set."""
    apart, equal = [], []
    for spec in ROUGE:
        gain = minus(samples[name], columns[spec][name], columns["rougeL"][name])
        low, high = gain.ends
        told = f"`{spec}` ({gain.value:+.3f} [{low:+.3f}, {high:+.3f}])"
        (apart if gain.apart else equal).append(told)
    return f"{title}: told apart from `rougeL`: {_listed(apart)}; not told apart: {_listed(equal)}."


def _worse(behind: Draws) -> bool:
    """Whether the whole interval of the best metric's lead lies above 0."""
    return behind.ends[0] > 0


def _listed(told: Sequence[str]) -> str:
    return ", ".join(told) if told else "none"
