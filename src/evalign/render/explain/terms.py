"""Explain BARTScore (log-probabilities of tokens), `sbert` and `endtoken` (contributions of tokens to a cosine)."""

from __future__ import annotations

import math

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.core import Floats, Row
from evalign.encoders.likelihood import Likelihood
from evalign.metrics.bartscore import BARTScore
from evalign.metrics.sentence_vectors import EndToken, SBert, VectorPooling
from evalign.metrics.weighting import WeightedText
from evalign.render.alignment_reading import PROBABILITY_BOUNDS
from evalign.render.explain.parts import explain, heading, line, no_tokens, polarity_lines, terms_table
from evalign.render.tables import signature_line
from evalign.render.terminal import quality, visible
from evalign.text.polarity import opposites

POOLING = {
    "pooling=mean": "the mean of its tokens' vectors",
    "pooling=cls": "the vector of its first token",
    "pooling=max": "in each dimension the largest value of all tokens",
    "token=eot": "the vector of its last token, which closes the text",
    "token=cls": "the vector of its first token",
}


@explain.register(BARTScore)
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
            Text(f"{number}. {direction}: probability of each token, given the text before it", style="bold"),
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
    for index, value in enumerate(likelihood.log_probs.tolist()):
        style = "dim" if likelihood.target.special[index] else ""
        token = Text(visible(likelihood.target.surface(index)), style=style)
        probability = math.exp(value)
        style = quality(probability, PROBABILITY_BOUNDS[:3])
        lines.append([token, f"{value:.4f}", Text(f"{probability:.4f}", style=style)])
    return terms_table(("token", "log p", "p"), lines)


@explain.register(SBert)
@explain.register(EndToken)
def explain_vectors(
    metric: SBert | EndToken, candidate: str, reference: str, source: str | None = None
) -> RenderableType:
    """Show lengths, product and cosine per layer, then both texts token by token."""
    scorer = metric.scorer([Row("1", candidate, (reference,), source)])
    encoded = scorer.cache.encode([candidate, reference])
    sides = [scorer.weigher.weigh_tokens(encoded[text]) for text in (candidate, reference)]
    if any(side.empty for side in sides):
        return Group(no_tokens(metric), signature_line(scorer.signature))
    weighted, match = scorer.weigher.table is not None, scorer.pipeline.match
    pooling = scorer.pipeline.weighting.pooling
    assert isinstance(pooling, VectorPooling)
    pooled = POOLING[match] + (
        ", rare tokens with a larger weight (IDF)" if weighted and match == "pooling=mean" else ""
    )
    vectors = [pooling.vector(side, weighted) for side in sides]
    lengths = [np.linalg.norm(vector, axis=-1) for vector in vectors]
    products = (vectors[0] * vectors[1]).sum(axis=-1)
    scales = np.where(lengths[0] * lengths[1] > 0, lengths[0] * lengths[1], 1)
    parts: list[RenderableType] = [
        Text(f"1. Each text becomes one vector of {vectors[0].shape[-1]} numbers: {pooled}", style="bold"),
        Text("2. Cosine: the product of both vectors, divided by their lengths", style="bold"),
    ]
    for layer, product, a, b, scale in zip(scorer.cache.encoder.layers, products, *lengths, scales, strict=True):
        parts.append(line(f"layer {layer}: {product:.4f} / ({a:.4f} · {b:.4f}) = {product / scale:.4f}"))
    if len(products) > 1:
        parts.append(line(f"mean of {len(products)} layers = {(products / scales).mean():.4f}"))
    for index, name in enumerate(("candidate", "reference")):
        peer = vectors[1 - index]
        shares = np.einsum("ltd,ld,l->t", pooling.parts(sides[index], weighted), peer, 1 / scales) / len(scales)
        parts.append(heading(f"{index + 3}. Contribution of each token of the {name}"))
        parts.append(_shares_table(sides[index], shares))
    parts += polarity_lines(opposites(sides[0].tokens, sides[1].tokens), candidate, reference)
    return Group(*parts, signature_line(scorer.signature))


def _shares_table(side: WeightedText, shares: Floats) -> Table:
    lines = []
    for index, share in enumerate(shares.tolist()):
        style = "dim" if side.tokens.special[index] or share == 0 else ""
        lines.append([Text(visible(side.tokens.surface(index)), style=style), Text(f"{share:.4f}", style=style)])
    return terms_table(("token", "contribution"), lines, f"{shares.sum():.4f}")
