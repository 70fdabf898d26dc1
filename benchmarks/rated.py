"""The rated data sets that benchmarks read: rows, human scores and the groups they are averaged over."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evalign.types import Row

RATED = ("wmt15_daseg", "wmt16_daseg", "stsb_en_dev", "ted21_ende_mqm", "summeval", "stsb_de_dev")
DARR = "wmt19_darr_kk-en"


@dataclass(frozen=True)
class Rated:
    """Rows with people's scores by aspect; `groups` are language pairs, `documents` what a bootstrap resamples."""

    rows: list[Row]
    human: dict[str, np.ndarray]
    groups: np.ndarray
    documents: np.ndarray


def records(name: str, data: Path) -> list[dict]:
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def load(name: str, data: Path) -> Rated:
    """A data set with one human score, or several aspects, per row."""
    said = records(name, data)
    rows = [
        Row(one["id"], one["candidate"], tuple(one["references"]), one.get("source"), one.get("system") or "")
        for one in said
    ]
    aspects = said[0]["human"].keys() if isinstance(said[0]["human"], dict) else ("human",)
    human = {
        aspect: np.array([one["human"][aspect] if isinstance(one["human"], dict) else one["human"] for one in said])
        for aspect in aspects
    }
    groups = np.array([one.get("lp", name) for one in said])
    documents = np.array([one.get("doc") or one["references"][0] for one in said])
    return Rated(rows, human, groups, documents)


def load_darr(data: Path) -> list[tuple[Row, Row]]:
    """Pairs (better, worse) of translations of the same source."""
    return [
        (
            Row(one["id"] + ".better", one["better"], tuple(one["references"])),
            Row(one["id"] + ".worse", one["worse"], tuple(one["references"])),
        )
        for one in records(DARR, data)
    ]
