"""Fits a baseline: texts in, the scores of unrelated pairs of them out, per layer and field.

Texts are shuffled and paired within small groups, so that each is encoded once and used in several pairs. The mean of
the scores is the linear baseline, their quantiles are the percentile baseline.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from evalign.encoders.layers import parse_layers
from evalign.errors import InputError, SpecError
from evalign.metrics.baseline import Baseline, layer_name
from evalign.metrics.matching_metric import PRFMetric
from evalign.tuning.grid import Setting, depth, grid_scores
from evalign.types import Row

GROUP = 32  # texts that are paired with each other
SHARES = 51  # quantiles: every second percent
DEFAULT_PAIRS = 10_000


def fit_baseline(
    metric: PRFMetric,
    texts: Iterable[str],
    pairs: int = DEFAULT_PAIRS,
    seed: int = 0,
    more_choices: Sequence[str] = (),
    advance: Callable[[int], Any] = lambda _: None,
) -> Baseline:
    """The baseline of every single layer and of `more_choices` such as `3+4+6`."""
    if metric.rescale or metric.needs_corpus:
        raise SpecError("a baseline is fitted on plain scores: leave out rescale and idf")
    distinct = sorted({text for text in texts if text.strip()})
    rows = list(unrelated_rows(distinct, pairs, seed))
    more = (layer_name(parse_layers(choice)) for choice in more_choices)
    choices = tuple(dict.fromkeys((*map(str, range(depth(metric) + 1)), *more)))
    (scores,) = grid_scores([Setting(metric, choices)], rows, advance)
    quantiles = np.quantile(scores, np.linspace(0, 1, SHARES), axis=1)  # (shares, choices, fields)
    settings = metric.scorer().signature.settings
    provenance = {
        **{name: settings[name] for name in ("model", "match", "specials", "overlong", "prec", "v")},
        "pairs": len(rows),
        "seed": seed,
        "texts": len(distinct),
        "texts_sha256": hashlib.sha256("\n".join(distinct).encode("utf-8", "surrogatepass")).hexdigest(),
    }
    return Baseline(
        {choice: tuple(scores[place].mean(axis=0).tolist()) for place, choice in enumerate(choices)},
        "",
        {
            choice: tuple(tuple(np.round(quantiles[:, place, i], 5).tolist()) for i in range(3))
            for place, choice in enumerate(choices)
        },
        provenance,
    )


def unrelated_rows(texts: Sequence[str], pairs: int, seed: int) -> Iterator[Row]:
    """`pairs` rows of two different texts each, or as many as the texts allow; the same for the same seed."""
    if len(texts) < 2:
        raise InputError(f"unrelated pairs need at least 2 different texts, found {len(texts)}")
    if pairs < 1:
        raise SpecError(f"pairs={pairs}: expected at least 1")
    order = random.Random(seed).sample(list(texts), len(texts))
    groups = [order[start : start + GROUP] for start in range(0, len(order), GROUP)]
    if len(groups) > 1 and len(groups[-1]) == 1:  # a text alone meets nobody
        groups[-2:] = [groups[-2] + groups[-1]]
    shifts = range(1, 1 + -(-pairs // len(order)))
    paired = (
        (text, group[(place + shift) % len(group)])
        for group in groups
        for place, text in enumerate(group)
        for shift in shifts
        if shift < len(group)
    )
    for number, (text, unrelated) in enumerate(islice(paired, pairs), 1):
        yield Row(str(number), text, (unrelated,))
