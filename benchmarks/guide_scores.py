"""Scores behind docs/metrics.md: every metric on the same rows, all metrics of an encoder from one encoding pass.

In: a spec of `SPECS` and rows. Out: one score per row, higher is better. `learned` is trained on WMT15 and `lstm` on
STS-B first, by `train_own`; what was scored is kept in a folder, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from guide_data import LEXICAL, Sample
from lstm import PLAN

import evalign
from evalign.core import Row
from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.metrics.token_metric import TokenMetric
from evalign.research.learned.combine import combine, expand_features
from evalign.research.lstm.encoder import FILE_NAME
from evalign.research.lstm.trainee import LSTMSettings, LSTMTrainee
from evalign.training.layers import RatedRows
from evalign.training.rated_pairs import RatedPair
from evalign.training.training_loop import fit

MODELS = {"minilm": ("4", "6"), "mpnet": ("7", "12")}  # the tuned layer, and the last, which sbert reads
ENCODED = ("bertscore", "lisascore", "moverscore", "sbert")
LEARNED, LSTM = "learned", "lstm"  # shown without their files, which are made here
FEATURES = ("layers(bertscore)", "layers(sbert)", "chrf", "length-ratio")
LONG = 150  # characters of a mean reference: sacrebleu's TER needs a third of a second for a summary
BLOCK = 32


def spec_of(name: str, model: str) -> str:
    """`bertscore` for MiniLM, the default, else `bertscore(model=mpnet)`."""
    return name if model == "minilm" else f"{name}(model={model})"


SPECS = {spec_of(name, model): model for model in MODELS for name in ENCODED}  # spec -> its encoder
ADAPTED = tuple(spec_of("evalign", model) for model in MODELS)  # encoders of their own, since an adapter changes them
EVERY = (*SPECS, *ADAPTED, LEARNED, LSTM, *LEXICAL)


class Scores:
    """Scores by spec and set of rows, kept in files; `others` maps a spec that is shown to the one that is scored."""

    def __init__(self, folder: Path, others: dict[str, str], threads: int = 1, kept_only: bool = False) -> None:
        self.folder, self.others, self.threads, self.kept_only = folder, others, threads, kept_only

    def of(self, spec: str, label: str, rows: Sequence[Row]) -> np.ndarray | None:
        """One number per row; None for `ter` on long texts, and with `kept_only` where none were kept."""
        if spec == "ter" and np.mean([len(text) for row in rows for text in row.references]) > LONG:
            return None
        if spec in SPECS:
            model = SPECS[spec]
            specs = tuple(one for one, encoder in SPECS.items() if encoder == model)
            found = self._kept(model, label, rows, specs, lambda: encoder_scores(model, rows, self.threads))
        else:
            metric = evalign.metric(self.others.get(spec, spec))
            if isinstance(metric, TokenMetric):
                metric = replace(metric, threads=self.threads)
            found = self._kept(spec, label, rows, (spec,), lambda: {spec: plain_scores(metric, rows)})
        return found.get(spec)

    def _kept(self, what: str, label: str, rows: Sequence[Row], specs: Sequence[str],
              make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:  # fmt: skip
        texts = "\x1e".join("\x1f".join((row.candidate, *row.references)) for row in rows)
        key = f"{what}\x1d{self.others.get(what, '')}\x1d{texts}"
        file = self.folder / f"scores.{hashlib.sha256(key.encode()).hexdigest()[:20]}.npz"
        if not file.exists():
            if self.kept_only:
                return {}
            print(f"{what} on {label}: {len(rows)} rows", file=sys.stderr, flush=True)
            made = make()
            np.savez(file, **{str(place): made[spec] for place, spec in enumerate(specs)})
        with np.load(file) as kept:
            return {spec: kept[str(place)] for place, spec in enumerate(specs)}


def plain_scores(metric: evalign.Metric, rows: Sequence[Row]) -> np.ndarray:
    """The metric's main field, turned round if lower is better."""
    values = metric.report(metric.scorer(rows), rows)[metric.main]
    return values if metric.higher_is_better else -values


def encoder_scores(model: str, rows: Sequence[Row], threads: int) -> dict[str, np.ndarray]:
    """Every metric of an encoder at its default layer, from one pass over the texts."""
    encoder = open_encoder(EncoderSpec(model, "all", threads=threads))
    layers = list(encoder.encoder.layers)
    tuned, last = (layers.index(int(layer)) for layer in MODELS[model])
    scorers = [replace(evalign.metric(spec_of(name, model)), layer="all", threads=threads).scorer() for name in ENCODED]
    columns: list[list[float]] = [[] for _ in ENCODED]
    for start in range(0, len(rows), BLOCK):
        block = list(rows[start : start + BLOCK])
        references = list(dict.fromkeys(text for row in block for text in row.references))
        encoded = encoder.encode([*(row.candidate for row in block), *references], keep=references)
        for column, scorer in zip(columns, scorers, strict=True):
            pick = last if scorer.metric.name == "sbert" else tuned
            column += scorer.layers(block, encoded, [[pick]])[0, :, -1].tolist()
    return {spec_of(name, model): np.array(column) for name, column in zip(ENCODED, columns, strict=True)}


def train_own(folder: Path, wmt15: Sample, stsb: Sample) -> dict[str, str]:
    """Trains `learned` on the WMT15 rows and `lstm` on the STS-B rows, unless they are there; name -> spec, file."""
    learned, lstm = folder / "learned.json", folder / FILE_NAME
    if not learned.exists():
        print("training learned", file=sys.stderr, flush=True)
        rows = RatedRows(wmt15.rows, wmt15.human["human"], wmt15.groups.tolist(), wmt15.documents.tolist())
        combine(rows, expand_features(FEATURES)).file.save(learned)
    if not lstm.exists():
        print("training lstm", file=sys.stderr, flush=True)
        pairs = [
            RatedPair(row.candidate, row.references[0], float(human) / 5, row.id)
            for row, human in zip(stsb.rows, stsb.human["human"], strict=True)
        ]
        trainee = LSTMTrainee([text for pair in pairs for text in (pair.first, pair.second)], LSTMSettings())
        fit(trainee, pairs, PLAN, folder)
        trainee.save(lstm)
    return {LEARNED: f'learned(file="{learned}")', LSTM: f'lstm(file="{lstm}")'}
