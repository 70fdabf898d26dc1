"""Metrics whose score is a sum or a mean of terms, on one screen: a table of the terms, and what becomes of them.

BARTScore (log-probabilities of tokens), `sbert` and `endtoken` (what tokens give to a cosine), `learned` (features
times weights).
"""

from __future__ import annotations

import math

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.encoders.likelihood.base import Likelihood
from evalign.metrics.bartscore import BARTScore
from evalign.metrics.learned import Learned
from evalign.metrics.learned_file import LearnedFile
from evalign.metrics.sentence_vectors import VectorMetric
from evalign.metrics.token_side import Side
from evalign.render.alignment_reading import PROBABILITY_BOUNDS
from evalign.render.explain.parts import heading, line, no_tokens, terms_table
from evalign.render.tables import signature_line
from evalign.render.terminal import quality, visible
from evalign.types import Floats, Row

HOW = {
    "pooling=mean": "the mean of its tokens' vectors",
    "pooling=cls": "that of its first token",
    "pooling=max": "in each dimension the largest value that any token has",
    "token=eot": "that of its last token, which closes the text",
    "token=cls": "that of its first token",
}


def explain_bartscore(
    metric: BARTScore, candidate: str, reference: str | None = None, source: str | None = None
) -> RenderableType:
    """One table per direction, its mean, and how the means become the score."""
    likelihoods = metric.tokens(candidate, reference, source)
    parts: list[RenderableType] = []
    for number, (direction, likelihood) in enumerate(likelihoods.items(), start=1):
        flags = "".join(f"   {flag}: {count}" for flag, count in likelihood.counts.items())
        mean = f"mean of {len(likelihood.log_probs)} tokens = {likelihood.score:.4f}{flags}\n"
        parts += [
            Text(f"{number}. {direction}: how likely each token is, given what was read before", style="bold"),
            _likelihood_table(likelihood),
            line(mean),
        ]
    if len(likelihoods) > 1:
        means = [likelihood.score for likelihood in likelihoods.values()]
        terms = " + ".join(f"({mean:.4f})" for mean in means)
        step = f"{len(means) + 1}. F, the mean of both = ({terms}) / 2 = {sum(means) / 2:.4f}"
        parts.append(Text(step, style="bold"))
    return Group(*parts, signature_line(metric.scorer().signature))


def _likelihood_table(likelihood: Likelihood) -> Table:
    lines: list[list[str | Text]] = []
    for place, value in enumerate(likelihood.log_probs.tolist()):
        style = "dim" if likelihood.target.special[place] else ""
        token = Text(visible(likelihood.target.surface(place)), style=style)
        probability = math.exp(value)
        style = quality(probability, PROBABILITY_BOUNDS[:3])
        lines.append([token, f"{value:.4f}", Text(f"{probability:.4f}", style=style)])
    return terms_table(("token", "log p", "p"), lines)


def explain_vectors(metric: VectorMetric, candidate: str, reference: str, source: str | None = None) -> RenderableType:
    """Lengths, product and cosine per layer, then both texts token by token."""
    scorer = metric.scorer([Row("1", candidate, (reference,), source)])
    encoded = scorer.sides([candidate, reference])
    sides = encoded[candidate], encoded[reference]
    if any(side.empty for side in sides):
        return Group(no_tokens(metric), signature_line(scorer.signature))
    weighted = scorer.weights is not None
    how = HOW[metric.match] + (", rare ones weighing more (IDF)" if weighted and metric.match == "pooling=mean" else "")
    vectors = [metric.vector(side, weighted) for side in sides]
    lengths = [np.linalg.norm(vector, axis=-1) for vector in vectors]
    products = (vectors[0] * vectors[1]).sum(axis=-1)
    scales = np.where(lengths[0] * lengths[1] > 0, lengths[0] * lengths[1], 1)
    parts: list[RenderableType] = [
        Text(f"1. Each text becomes one vector of {vectors[0].shape[-1]} numbers: {how}", style="bold"),
        Text("2. Cosine: the product of both vectors, divided by their lengths", style="bold"),
    ]
    for layer, product, a, b, scale in zip(scorer.memory.encoder.layers, products, *lengths, scales, strict=True):
        parts.append(line(f"layer {layer}: {product:.4f} / ({a:.4f} · {b:.4f}) = {product / scale:.4f}"))
    if len(products) > 1:
        parts.append(line(f"mean of {len(products)} layers = {scorer.pair(*sides)[0][0]:.4f}"))
    for place, name in enumerate(("candidate", "reference")):
        other = vectors[1 - place]
        shares = np.einsum("ltd,ld,l->t", metric.parts(sides[place], weighted), other, 1 / scales) / len(scales)
        parts.append(heading(f"{place + 3}. What each token of the {name} gives to it"))
        parts.append(_shares_table(sides[place], shares))
    return Group(*parts, signature_line(scorer.signature))


def _shares_table(side: Side, shares: Floats) -> Table:
    lines = []
    for place, share in enumerate(shares.tolist()):
        style = "dim" if side.tokens.special[place] or share == 0 else ""
        lines.append([Text(visible(side.tokens.surface(place)), style=style), Text(f"{share:.4f}", style=style)])
    return terms_table(("token", "gives"), lines, f"{shares.sum():.4f}")


def explain_weighed(
    metric: Learned, candidate: str, reference: str | None = None, source: str | None = None
) -> RenderableType:
    """The terms, largest first, and what becomes of their sum."""
    scorer = metric.scorer()
    row = Row("1", candidate, () if reference is None else (reference,), source)
    (segment,) = scorer.score([row])
    if "empty" in segment.counts:
        return Group(no_tokens(metric), signature_line(scorer.signature))
    content, values = scorer.content, scorer.features(row)
    added = content.added(values)
    change, sign = float(added.sum()), "-" if added.sum() < 0 else "+"
    total = content.intercept + change
    low, high = content.low, content.high
    parts: list[RenderableType] = [
        heading("1. Every feature: how far from its mean, in standard deviations, times its weight"),
        _features_table(content, values, added),
        heading("2. Added to what a pair with the means of all features gets"),
        line(f"{content.intercept:.4f} {sign} {abs(change):.4f} = {total:.4f}"),
    ]
    held = min(max(total, low), high)
    if held != total:
        parts.append(line(f"held within the scale, {low:g} to {high:g}: {held:.4f}"))
    return Group(*parts, signature_line(scorer.signature))


def _features_table(content: LearnedFile, values: Floats, added: Floats) -> Table:
    lines = []
    for place in np.argsort(-np.abs(added), kind="stable").tolist():
        term, value = content.terms[place], float(values[place])
        deviation = f"{(value - term.mean) / term.scale:+.3f}"
        numbers = (f"{value:.4f}", f"{term.mean:.4f}", deviation, f"{term.weight:+.4f}", f"{added[place]:+.4f}")
        lines.append([visible(term.feature), *numbers])
    columns = ("feature", "value", "mean", "deviation", "weight", "adds")
    return terms_table(columns, lines, f"{added.sum():+.4f}")
