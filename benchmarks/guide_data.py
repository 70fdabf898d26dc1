"""The rated rows behind docs/metrics.md, and which metric was made with which of them.

In: a data set's name and the most rows to take. Out: a `Sample`, the same for every metric, so that their scores are
paired. Whole documents (rows that share a reference) are drawn, evenly over language pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import rated

from evalign.core import Row

SETS = {
    "wmt15_daseg": "WMT15",
    "wmt16_daseg": "WMT16",
    "wmt21_da_toen": "WMT21",
    rated.DARR: "WMT19 kk-en",
    "ted21_zhen_mqm": "TED21 zh-en",
    "ted21_ende_mqm": "TED21 en-de",
    "summeval": "SummEval",
    "realsumm_author_scores": "REALSumm",
    "stsb_en_dev": "STS-B en",
    "stsb_de_dev": "STS-B de",
}
FEWEST_RATINGS = 2  # of a row of WMT21: most have one rating, which is mostly noise
SUMMARIES = ("summeval", "realsumm_author_scores")
TAG = re.compile(r"\s*</?t>\s*")

LEXICAL = ("rouge1", "rouge2", "rougeL", "rougeLsum", "rougeMEAD", "rougeW", "rougeS", "rougeSU", "bleu", "gleu",
           "chrf", "chrf(word_order=2)", "ter", "meteor")  # fmt: skip
LAYER, TRAINED = "†", "‡"
LAYER_SETS = dict.fromkeys(("wmt15_daseg", "wmt16_daseg"), LAYER)
STSB = dict.fromkeys(("stsb_en_dev", "stsb_de_dev"), TRAINED)  # the German pairs have the ratings of the English ones
ADAPTER_SETS = {"wmt15_daseg": TRAINED}
PARTS = {  # metric -> data set -> the choice that its ratings took part in
    **dict.fromkeys(("bertscore", "lisascore", "moverscore"), LAYER_SETS),
    "evalign": ADAPTER_SETS,
    "learned": {"wmt15_daseg": TRAINED},
    "lstm": STSB,
}


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of one data set: ratings by aspect, language pairs, documents. Of kk-en, better and worse take turns."""

    name: str
    rows: list[Row]
    human: dict[str, np.ndarray]
    groups: np.ndarray
    documents: np.ndarray


def mark(spec: str, name: str) -> str:
    """† or ‡ if the ratings of this data set took part in a choice of the metric's, else nothing."""
    return PARTS.get(spec.partition("(")[0], {}).get(name, "")


@cache
def sample(name: str, most: int, data: Path = rated.DATA) -> Sample:
    """About so many rows of a data set, or all, by whole documents; a smaller sample is part of a larger one."""
    if name == rated.DARR:
        pairs = rated.load_darr(data)
        chosen = np.sort(np.random.default_rng(0).permutation(len(pairs))[: most // 2])
        rows = [row for place in chosen for row in pairs[place]]
        return Sample(name, rows, {}, np.array([name] * len(rows)), np.array([row.references[0] for row in rows]))
    whole = _realsumm(data) if name == "realsumm_author_scores" else rated.load(name, data)
    usable = np.ones(len(whole.rows), dtype=bool)
    if name == "wmt21_da_toen":
        usable = np.array([line["ratings"] >= FEWEST_RATINGS for line in rated.records(name, data)])
    places = _whole_documents(whole.groups, whole.documents, usable, most)
    return Sample(
        name,
        [whole.rows[place] for place in places],
        {aspect: values[places] for aspect, values in whole.human.items()},
        whole.groups[places],
        whole.documents[places],
    )


def _whole_documents(groups: np.ndarray, documents: np.ndarray, usable: np.ndarray, most: int) -> np.ndarray:
    """Places of usable rows: of every group as many, document by document in a random order that never changes."""
    names = sorted(set(groups))
    chosen: list[int] = []
    for group in names:
        places = np.flatnonzero((groups == group) & usable)
        sizes = Counter(documents[places])
        order = np.random.default_rng(0).permutation(sorted(sizes))
        taken, count = set(), 0
        for document in order:
            if count >= most / len(names):
                break
            taken.add(document)
            count += sizes[document]
        chosen += [place for place in places if documents[place] in taken]
    return np.array(sorted(chosen))


def _realsumm(data: Path) -> rated.Rated:
    """REALSumm, one sentence to a line; people's score is LitePyramid's recall."""
    lines = rated.records("realsumm_author_scores", data)
    rows = [
        Row(line["id"], _untagged(line["candidate"]), tuple(map(_untagged, line["references"])), None, line["system"])
        for line in lines
    ]
    human = np.array([line["scores"]["litepyramid_recall"] for line in lines])
    names = np.array(["realsumm"] * len(lines))
    return rated.Rated(rows, {"litepyramid": human}, names, np.array([line["doc"] for line in lines]))


def _untagged(text: str) -> str:
    return "\n".join(part for part in TAG.split(text) if part)
