"""Many settings of token metrics from one encoding pass: metrics x choices of layers.

In: metrics of one model that differ in matching, IDF or special tokens, rows, and choices of layers such as `6+7`.
Out: (choices, rows, fields) per metric, each the number that `metric(layer=choice)` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from evalign.encoders.layers import check_layers, parse_layers
from evalign.encoders.loading import open_encoder
from evalign.errors import SpecError
from evalign.metrics.base import blocks
from evalign.metrics.token_metric import TokenMetric
from evalign.types import Floats, Row

CHOICES = ("single", "runs", "sets")
MOST_FOR_SETS = 8
BLOCK_ROWS = 32  # every layer of a text is held at once


@dataclass(frozen=True)
class Setting:
    """A metric and the choices of layers to try with it; the metric's own `layer` does not matter."""

    metric: TokenMetric
    choices: tuple[str, ...]


def depth(metric: TokenMetric) -> int:
    """The number of layers of a metric's model."""
    return max(open_encoder(replace(metric, layer="all").choice()).encoder.layers)


def grid_scores(
    settings: Sequence[Setting], rows: Sequence[Row], advance: Callable[[int], Any] = lambda _: None
) -> list[Floats]:
    """One (choices, rows, fields) array per setting; `advance` is told how many rows are done."""
    if len({setting.metric.model for setting in settings}) != 1:
        raise SpecError("one encoding pass serves one model; group the settings by model")
    scorers = [replace(setting.metric, layer="all").scorer(rows) for setting in settings]
    memory = scorers[0].memory
    places = {layer: place for place, layer in enumerate(memory.encoder.layers)}
    picks = [
        [[places[layer] for layer in check_layers(parse_layers(choice), max(places))] for choice in setting.choices]
        for setting in settings
    ]
    parts: list[list[Floats]] = [[] for _ in settings]
    for block in blocks(rows, BLOCK_ROWS):
        references = [text for row in block for text in row.references]
        embedded = memory.encode([*(row.candidate for row in block), *references], keep=references)
        for part, scorer, choice in zip(parts, scorers, picks, strict=True):
            part.append(scorer.layers(block, embedded, choice))
        advance(len(block))
    return [
        np.concatenate(part, axis=1) if part else np.zeros((len(setting.choices), 0, len(setting.metric.fields)))
        for part, setting in zip(parts, settings, strict=True)
    ]


def layer_choices(depth: int, kind: str) -> tuple[str, ...]:
    """`single` layers; also all `runs` of neighbouring ones; or all `sets`, which double with every layer."""
    every = range(depth + 1)
    if kind == "sets":
        if depth > MOST_FOR_SETS:
            raise SpecError(f"{depth} layers have {2 ** (depth + 1) - 1} sets, too many to try; use runs")
        picks = [pick for size in every for pick in combinations(every, size + 1)]
    else:
        picks = [tuple(range(a, b + 1)) for a in every for b in every if a == b or (a < b and kind == "runs")]
    return tuple("+".join(map(str, pick)) for pick in picks)
