"""Real texts for the benchmarks, taken from the rated data sets (benchmarks/rated.py says where to get them)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict

from rated import records as read

SYSTEMS = 7  # as many as the data has for one reference


def mt_systems(references: int = 286) -> tuple[list[list[str]], list[str]]:
    """Seven systems' translations of the same references: candidates by system, references."""
    outputs: dict[str, dict[str, str]] = defaultdict(dict)
    for row in read("wmt19_darr_kk-en"):
        for side in ("better", "worse"):
            outputs[row["references"][0]][row[f"{side}_system"]] = row[side]
    full = [(text, by_system) for text, by_system in outputs.items() if len(by_system) == SYSTEMS][:references]
    columns = [[sorted(by_system.items())[k][1] for _, by_system in full] for k in range(SYSTEMS)]
    return columns, [text for text, _ in full]


def eight_systems() -> tuple[list[list[str]], list[str]]:
    """The seven, and an eighth made of the first one's translations without their last word."""
    columns, references = mt_systems()
    return [*columns, [text.rpartition(" ")[0] or text for text in columns[0]]], references


def mt_pairs(count: int = 2000) -> tuple[list[str], list[str]]:
    columns, references = mt_systems()
    candidates = [text for column in columns for text in column]
    return candidates[:count], (references * SYSTEMS)[:count]


def summaries(count: int = 300) -> tuple[list[str], list[str]]:
    rows = read("summeval")[:: 1600 // count][:count]
    return [row["candidate"] for row in rows], [row["references"][0] for row in rows]


def alone(script: str, *arguments: str) -> dict:
    """What `script --worker ARGUMENTS` prints as its last line, in a process of its own: one thread, no network."""
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    offline = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "RAYON_NUM_THREADS": "1"}
    command = [sys.executable, script, "--worker", *arguments]
    done = subprocess.run(command, env=os.environ | single | offline, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])
