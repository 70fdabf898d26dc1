"""The arithmetic of `sbert` and `endtoken` on one screen: two vectors, their cosine, what each token adds to it."""

from __future__ import annotations

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.metrics.sentence_vectors import VectorMetric
from evalign.metrics.token_metric import Side
from evalign.render.explain.parts import heading, line, no_tokens, terms_table
from evalign.render.tables import signature_line
from evalign.render.terminal import visible
from evalign.types import Floats, Row

HOW = {
    "pooling=mean": "the mean of its tokens' vectors",
    "pooling=cls": "that of its first token",
    "pooling=max": "in each dimension the largest value that any token has",
    "token=eot": "that of its last token, which closes the text",
    "token=cls": "that of its first token",
}


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
        parts.append(_table(sides[place], shares))
    return Group(*parts, signature_line(scorer.signature))


def _table(side: Side, shares: Floats) -> Table:
    lines = []
    for place, share in enumerate(shares.tolist()):
        style = "dim" if side.tokens.special[place] or share == 0 else ""
        lines.append([Text(visible(side.tokens.surface(place)), style=style), Text(f"{share:.4f}", style=style)])
    return terms_table(("token", "gives"), lines, f"{shares.sum():.4f}")
