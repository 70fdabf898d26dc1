"""Fit a baseline: texts in, the distribution of the scores of unrelated pairs out, per layer and field.

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

from evalign.core import Row
from evalign.encoders.loading import parse_layers
from evalign.errors import InputError, SpecError
from evalign.metrics.baseline import Baseline, layer_name
from evalign.metrics.token_metric import TokenMetric
from evalign.training.layers import Setting, depth, grid_scores
from evalign.training.plan import DEFAULT_PAIRS

GROUP_TEXTS = 32  # paired with each other
QUANTILES = 51  # every second percent


def fit_baseline(
    metric: TokenMetric,
    texts: Iterable[str],
    pairs: int = DEFAULT_PAIRS,
    seed: int = 0,
    more_choices: Sequence[str] = (),
    advance: Callable[[int], Any] = lambda _: None,
) -> Baseline:
    """Fit a baseline for every single layer and for `more_choices` of layers.

    Args:
        metric: The metric, without rescaling and IDF.
        texts: Texts, of which empty and repeated ones are left out.
        pairs: Number of unrelated pairs.
        seed: Seed of the pairs.
        more_choices: Further choices of layers, such as `3+4+6`.
        advance: Called with the number of scored pairs.
    """
    if metric.pipeline().rescaling is not None or metric.needs_corpus:
        raise SpecError("a baseline is fitted on plain scores: leave out rescale and idf")
    distinct = sorted({text for text in texts if text.strip()})
    rows = list(unrelated_rows(distinct, pairs, seed))
    more = (layer_name(parse_layers(choice)) for choice in more_choices)
    choices = tuple(dict.fromkeys((*map(str, range(depth(metric) + 1)), *more)))
    (scores,) = grid_scores([Setting(metric, choices)], rows, advance)
    quantiles = np.quantile(scores, np.linspace(0, 1, QUANTILES), axis=1)  # (quantiles, choices, fields)
    settings = metric.scorer().signature.settings
    provenance = {
        **{name: settings[name] for name in ("model", "match", "specials", "overlong", "prec", "v")},
        "pairs": len(rows),
        "seed": seed,
        "texts": len(distinct),
        "texts_sha256": hashlib.sha256("\n".join(distinct).encode("utf-8", "surrogatepass")).hexdigest(),
    }
    return Baseline(
        {choice: tuple(scores[index].mean(axis=0).tolist()) for index, choice in enumerate(choices)},
        "",
        {
            choice: tuple(tuple(np.round(quantiles[:, index, i], 5).tolist()) for i in range(3))
            for index, choice in enumerate(choices)
        },
        provenance,
    )


def unrelated_rows(texts: Sequence[str], pairs: int, seed: int) -> Iterator[Row]:
    """Yield at most `pairs` rows of two different texts; the same rows for the same seed."""
    if len(texts) < 2:
        raise InputError(f"unrelated pairs need at least 2 different texts, found {len(texts)}")
    if pairs < 1:
        raise SpecError(f"pairs={pairs}: expected at least 1")
    order = random.Random(seed).sample(list(texts), len(texts))
    groups = [order[start : start + GROUP_TEXTS] for start in range(0, len(order), GROUP_TEXTS)]
    if len(groups) > 1 and len(groups[-1]) == 1:  # a single text cannot be paired
        groups[-2:] = [groups[-2] + groups[-1]]
    shifts = range(1, 1 + -(-pairs // len(order)))
    paired = (
        (text, group[(index + shift) % len(group)])
        for group in groups
        for index, text in enumerate(group)
        for shift in shifts
        if shift < len(group)
    )
    for number, (text, unrelated) in enumerate(islice(paired, pairs), 1):
        yield Row(str(number), text, (unrelated,))
