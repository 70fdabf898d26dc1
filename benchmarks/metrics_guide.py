"""Writes docs/metrics.md: what every metric costs, how it agrees with people, how it behaves, and which to use.

    python benchmarks/agreement_grid.py minilm --to build/grid
    python benchmarks/agreement_grid.py mpnet --to build/grid
    python benchmarks/metrics_guide.py --grid build/grid --write docs/metrics.md

Scores of token metrics come from the grid; lexical metrics are scored here. Cost is measured in a process of its own.
Everything is kept in --to, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import guide_text
import numpy as np
import rated
import workloads

import evalign
from evalign.stats.bootstrap import Resampling, bootstrap_mean
from evalign.stats.estimate import Estimate
from evalign.stats.levels import Rated, agreement, agreement_by, agreement_draws

LEXICAL = ["rouge1", "rouge2", "rougeL", "rougeLsum", "rougeMEAD", "rougeW", "rougeS", "rougeSU", "bleu", "chrf",
           "chrf(word_order=2)", "ter", "meteor"]  # fmt: skip
TOKENS = {  # spec -> (grid file, setting, layers)
    "bertscore": ("minilm", "bertscore", "4"),
    "lisascore": ("minilm", "lisascore", "4"),
    "moverscore": ("minilm", "moverscore", "4"),
    "sbert": ("minilm", "sbert", "6"),
    "bertscore(model=mpnet)": ("mpnet", "bertscore(model=mpnet)", "7"),
    "lisascore(model=mpnet)": ("mpnet", "lisascore(model=mpnet)", "7"),
    "moverscore(model=mpnet)": ("mpnet", "moverscore(model=mpnet)", "7"),
    "sbert(model=mpnet)": ("mpnet", "sbert(model=mpnet)", "12"),
}
SETS = {  # data set -> what is reported
    "wmt15_daseg": "WMT15",
    "wmt16_daseg": "WMT16",
    rated.DARR: "WMT19 kk-en",
    "ted21_ende_mqm": "TED21 en-de",
    "summeval": "SummEval",
    "stsb_en_dev": "STS-B en",
    "stsb_de_dev": "STS-B de",
}
LEFT_OUT = {("ter", "summeval")}  # sacrebleu needs a third of a second per pair, and there are 17,600
SAMPLES = Resampling(samples=500)


def scores(spec: str, name: str, data: Path, kept: Path, grid: Path) -> np.ndarray | None:
    """One value per row (two rows per daRR pair), oriented so that higher is better; None if it was not scored."""
    if spec in TOKENS:
        model, setting, layers = TOKENS[spec]
        file = grid / f"{model}.{name}.npz"
        if not file.exists():
            return None
        with np.load(file) as arrays:
            place = arrays[f"choices of {setting}"].tolist().index(layers)
            values = arrays[setting][place, :, -1].astype(np.float64)
        return values if len(values) == len(_rows(name, data)) else None  # some were scored in part only
    if (spec, name) in LEFT_OUT:
        return None
    file = kept / f"{hashlib.sha256(f'{spec} {name}'.encode()).hexdigest()[:16]}.npy"
    if file.exists():
        return np.load(file)
    rows = _rows(name, data)
    metric = evalign.metric(spec)
    print(f"{spec} on {name}", file=sys.stderr)
    values = metric.score([row.candidate for row in rows], [row.references for row in rows])[metric.fields[-1]]
    values = values if metric.higher_is_better else -values
    np.save(file, values)
    return values


def agrees(values: np.ndarray, name: str, data: Path) -> Estimate:
    """WMT: mean Pearson over language pairs; daRR: tau; SummEval: mean of four Spearmans per document; else Pearson."""
    if name == rated.DARR:
        return bootstrap_mean(np.where(values[::2] > values[1::2], 1.0, -1.0), SAMPLES)
    said = rated.load(name, data)
    if name == "summeval":
        parts = [Rated(values, human, said.documents) for human in said.human.values()]
        draws = np.mean([agreement_draws(part, "spearman", "summary", SAMPLES) for part in parts], axis=0)
        value = float(np.mean([agreement(part, "spearman", "summary").value for part in parts]))
        low, high = np.nanquantile(draws, [0.025, 0.975])
        return Estimate(value, len(said.rows), float(low), float(high))
    human = said.human["human"]
    if name.startswith("wmt"):
        return agreement_by(Rated(values, human), said.groups, resampling=SAMPLES).mean
    return agreement(Rated(values, human, said.documents), resampling=SAMPLES)


def cost(spec: str, kept: Path) -> dict:
    """Milliseconds per pair, peak memory and growth with length, measured in a fresh process with one thread."""
    file = kept / f"cost.{hashlib.sha256(spec.encode()).hexdigest()[:16]}.json"
    if not file.exists():
        print(f"cost of {spec}", file=sys.stderr)
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("metric_cost.py")), spec], capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"{spec}: {done.stderr}")
        file.write_text(done.stdout)
    return json.loads(file.read_text())


def behaviour(spec: str, kept: Path) -> dict[str, float]:
    """What a change to the candidate does to its score, in standard deviations of the untouched scores."""
    file = kept / f"behaviour.{hashlib.sha256(spec.encode()).hexdigest()[:16]}.json"
    if not file.exists():
        print(f"behaviour of {spec}", file=sys.stderr)
        candidates, references = workloads.mt_pairs(100)
        metric = evalign.metric(spec)
        sign = 1 if metric.higher_is_better else -1

        def scored(texts: list[str]) -> np.ndarray:
            return sign * np.array(metric.score(texts, references)[metric.fields[-1]])

        plain = scored(candidates)
        shifts = {
            name: float((scored([change(text) for text in candidates]) - plain).mean() / plain.std())
            for name, change in guide_text.CHANGES.items()
        }
        file.write_text(json.dumps(shifts))
    return json.loads(file.read_text())


def _rows(name: str, data: Path) -> list[evalign.Row]:
    if name == rated.DARR:
        return [row for pair in rated.load_darr(data) for row in pair]
    return rated.load(name, data).rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=rated.DATA, help="folder of the rated data sets")
    parser.add_argument("--grid", type=Path, default=Path("build/grid"))
    parser.add_argument("--to", type=Path, default=Path("build/guide"))
    parser.add_argument("--write", type=Path, default=Path("docs/metrics.md"))
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    specs = [*TOKENS, *LEXICAL]
    agreements: dict[str, dict[str, Estimate]] = {}
    for spec in specs:
        agreements[spec] = {}
        for name in SETS:
            values = scores(spec, name, arguments.data, arguments.to, arguments.grid)
            if values is not None:
                agreements[spec][name] = agrees(values, name, arguments.data)
    costs = {spec: cost(spec, arguments.to) for spec in specs}
    behaviours = {spec: behaviour(spec, arguments.to) for spec in specs}
    arguments.write.write_text(guide_text.page(SETS, agreements, costs, behaviours), encoding="utf-8")


if __name__ == "__main__":
    main()
