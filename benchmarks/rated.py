"""The rated data sets that benchmarks read: rows, human scores and the groups they are averaged over.

Their texts may not be copied into this project. `records` says of a file that is not there where to get it.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evalign.core import Row

RATED = ("wmt15_daseg", "wmt16_daseg", "stsb_en_dev", "ted21_ende_mqm", "summeval", "stsb_de_dev")
DARR = "wmt19_darr_kk-en"
SHARED = os.environ.get("EVALIGN_SHARED") or Path(__file__).resolve().parents[2] / "shared"
DATA = Path(SHARED, "data")

_WMT = "segment-level direct assessment (z-scores) of newstest{}: https://www.statmt.org/wmt{}/metrics-task/"
_MTME = "{}: https://github.com/google-research/mt-metrics-eval"
_STSB = "STS benchmark, development pairs in {}, rated 0-5: https://github.com/PhilipMay/stsb-multi-mt"
SOURCES = {
    "wmt15_daseg": _WMT.format(2015, 16),
    "wmt16_daseg": _WMT.format(2016, 16),
    DARR: _MTME.format("WMT19 Kazakh-English, pairs better / worse"),
    "ted21_ende_mqm": _MTME.format("TED talks of WMT21 English-German, MQM ratings"),
    "ted21_zhen_mqm": _MTME.format("TED talks of WMT21 Chinese-English, MQM ratings"),
    "wmt21_da_toen": "direct assessment (z-scores; `ratings`: of how many people) into English: "
    "https://www.statmt.org/wmt21/metrics-task.html",
    "mlqe_ende_dev": "MLQE-PE English-German, development set, direct assessment: https://github.com/sheffieldnlp/mlqe-pe",
    "realsumm_author_scores": "REALSumm, 100 documents x 25 systems, `scores` with litepyramid_recall: "
    "https://github.com/neulab/REALSumm",
    "summeval": "SummEval, 100 documents x 16 systems: https://github.com/Yale-LILY/SummEval",
    "stsb_en_dev": _STSB.format("English"),
    "stsb_de_dev": _STSB.format("German"),
    "parabank_ratings": "ParaBank, paraphrases rated 0-100: https://nlp.jhu.edu/parabank/",
    "wmt23_zhen_dasqm": _MTME.format("WMT23 Chinese-English, 0-100 per segment"),
    "sick": "SICK, 9,927 sentence pairs with `entailment`: https://zenodo.org/records/2787612 (CC BY-NC-SA)",
}
MISSING = """{file}: there is no such file.
It holds {source}
Write it as gzipped JSON lines with the fields id, candidate, references (a list), human (a number, or named ratings)
and, where the data has them, system, source, doc and lp; {darr} has better, worse, better_system and worse_system
instead of candidate, human and system. Put it there; EVALIGN_SHARED names another folder that has a folder `data`.
"""


@dataclass(frozen=True)
class Rated:
    """Rows with people's scores by aspect; `groups` are language pairs, `documents` what a bootstrap resamples."""

    rows: list[Row]
    human: dict[str, np.ndarray]
    groups: np.ndarray
    documents: np.ndarray


def records(name: str, data: Path = DATA) -> list[dict]:
    """The lines of a data set; a file that is not there ends the program with where to get it and how to write it."""
    file = data / f"{name}.jsonl.gz"
    if not file.is_file():
        sys.exit(MISSING.format(file=file, source=SOURCES[name], darr=DARR))
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def load(name: str, data: Path) -> Rated:
    """A data set with one human score, or several aspects, per row."""
    lines = records(name, data)
    rows = [
        Row(line["id"], line["candidate"], tuple(line["references"]), line.get("source"), line.get("system") or "")
        for line in lines
    ]
    ratings = [line["human"] if isinstance(line["human"], dict) else {"human": line["human"]} for line in lines]
    human = {aspect: np.array([rating[aspect] for rating in ratings]) for aspect in ratings[0]}
    groups = np.array([line.get("lp", name) for line in lines])
    documents = np.array([line.get("doc") or line["references"][0] for line in lines])
    return Rated(rows, human, groups, documents)


def load_darr(data: Path) -> list[tuple[Row, Row]]:
    """Pairs (better, worse) of translations of the same source."""
    return [
        (
            Row(line["id"] + ".better", line["better"], tuple(line["references"])),
            Row(line["id"] + ".worse", line["worse"], tuple(line["references"])),
        )
        for line in records(DARR, data)
    ]
