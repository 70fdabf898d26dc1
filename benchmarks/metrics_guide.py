"""Writes docs/metrics.md: what every metric costs, how it agrees with people, how it behaves, and which to use.

    python benchmarks/metrics_guide.py --write docs/metrics.md

All metrics are scored on the same rows (`guide_data.py`), those of an encoder in one pass (`guide_scores.py`); advice
is given only where paired intervals part (`guide_advice.py`). Cost is measured in a process of its own. Everything is
kept in --to, so that an interrupted run goes on where it stopped. About 20 minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import guide_advice
import guide_text
import numpy as np
import rated
import workloads
from guide_agreement import agrees
from guide_data import SETS, SUMMARIES, Sample, sample
from guide_scores import EVERY, Scores, train_own

from evalign.core import Row

ROWS = 700  # of a data set
SLOW_ROWS = 250  # of the metrics of MPNet, and of bartscore
SLOW_SETS = set(SETS) - {"wmt15_daseg", "wmt16_daseg", "summeval"}  # not where layers were chosen, nor 11 references
BEHAVIOUR_PAIRS = 50
BARTSCORE = "bartscore"


def scored(spec: str, name: str, arguments: argparse.Namespace, kept: Scores) -> np.ndarray | None:
    """One number per row of the sample, NaN for rows that this metric does not get; None if it was not scored."""
    whole = sample(name, arguments.rows, arguments.data)
    slow = "model=mpnet" in spec or spec == BARTSCORE
    if slow and name not in SLOW_SETS:
        return None
    part = sample(name, min(arguments.slow_rows, arguments.rows), arguments.data) if slow else whole
    values = kept.of(spec, SETS[name], part.rows)
    if values is None:
        return None
    by_id = dict(zip((row.id for row in part.rows), values, strict=True))
    return np.array([by_id.get(row.id, np.nan) for row in whole.rows])


def cost(spec: str, asked: str, folder: Path, kept_only: bool = False) -> dict:
    """Milliseconds per pair, peak memory and growth with length, measured in a fresh process with one thread.

    Empty with `kept_only` if it was not measured before.
    """
    file = folder / f"cost.{hashlib.sha256(spec.encode()).hexdigest()[:16]}.json"
    if kept_only and not file.exists():
        return {}
    if not file.exists():
        print(f"cost of {spec}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("metric_cost.py")), asked], capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"{spec}: {done.stderr}")
        file.write_text(done.stdout)
    return json.loads(file.read_text())


def behaviour(spec: str, kept: Scores) -> dict[str, float]:
    """What a change to the candidate does to its score, in standard deviations of the untouched scores."""
    candidates, references = workloads.mt_pairs(BEHAVIOUR_PAIRS)
    rows = [Row(str(k), *pair) for k, pair in enumerate(zip(candidates, [(text,) for text in references], strict=True))]
    every = {"untouched": rows}
    for name, change in guide_text.CHANGES.items():
        every[name] = [replace(row, candidate=change(row.candidate)) for row in rows]
    values = kept.of(spec, "changed texts", [row for changed in every.values() for row in changed])
    if values is None:
        return {}
    by_change = dict(zip(every, values.reshape(len(every), -1), strict=True))
    plain = by_change["untouched"]
    return {name: float((by_change[name] - plain).mean() / plain.std()) for name in guide_text.CHANGES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=rated.DATA, help="folder of the rated data sets")
    parser.add_argument("--rows", type=int, default=ROWS, help="most rows of a data set")
    parser.add_argument("--slow-rows", type=int, default=SLOW_ROWS, help="most rows for MPNet and bartscore")
    parser.add_argument("--bartscore", metavar="DIR", help="a sequence-to-sequence model for bartscore's row")
    parser.add_argument("--note", default="", help="a sentence on this run, for the page")
    parser.add_argument("--kept", action="store_true", help="score nothing: write what was kept, dashes for the rest")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--to", type=Path, default=Path("build/guide"))
    parser.add_argument("--write", type=Path, default=Path("docs/metrics.md"))
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    samples: dict[str, Sample] = {name: sample(name, arguments.rows, arguments.data) for name in SETS}
    others = train_own(arguments.to, samples["wmt15_daseg"], samples["stsb_en_dev"])
    if arguments.bartscore:
        others[BARTSCORE] = f'bartscore(model="{arguments.bartscore}")'
    specs = [*EVERY, *([BARTSCORE] if arguments.bartscore else [])]
    kept = Scores(arguments.to, others, arguments.threads, arguments.kept)
    columns: guide_advice.Columns = {}
    for spec in specs:
        found = {name: scored(spec, name, arguments, kept) for name in SETS}
        columns[spec] = {name: values for name, values in found.items() if values is not None}
    spent = {spec: cost(spec, others.get(spec, spec), arguments.to, arguments.kept) for spec in specs}
    costs = {spec: measured for spec, measured in spent.items() if measured}
    measured = guide_text.Measured(
        samples,
        {
            spec: {name: agrees(samples[name], values) for name, values in by_set.items()}
            for spec, by_set in columns.items()
        },
        {
            spec: {name: int(np.isfinite(values).sum()) for name, values in by_set.items()}
            for spec, by_set in columns.items()
        },
        [guide_advice.advise(task, samples, columns, costs) for task in guide_advice.TASKS],
        [guide_advice.rouge_sentence(name, SETS[name], samples, columns) for name in SUMMARIES],
        costs,
        {spec: moved for spec in specs if (moved := behaviour(spec, kept))},
        Path(arguments.bartscore).name if arguments.bartscore else "",
        arguments.note,
    )
    arguments.write.write_text(guide_text.page(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
