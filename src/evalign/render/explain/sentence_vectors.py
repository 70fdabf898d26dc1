"""The arithmetic of `sbert` and `endtoken` on one screen: two vectors, their cosine, what each token gives to it."""

from __future__ import annotations

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.metrics.sentence_vectors import VectorMetric
from evalign.metrics.token_metric import Side
from evalign.render.terminal import visible
from evalign.types import Floats

HOW = {
    "pooling=mean": "the mean of its tokens' vectors",
    "pooling=cls": "that of its first token",
    "pooling=max": "in each dimension the largest value that any token has",
    "token=eot": "that of its last token, which closes the text",
    "token=cls": "that of its first token",
}


def explain_vectors(metric: VectorMetric, candidate: str, reference: str) -> RenderableType:
    """Lengths, product and cosine per layer, then both texts token by token."""
    scorer = metric.scorer()
    found = scorer.sides([candidate, reference])
    ours, theirs = found[candidate], found[reference]
    signature = Text(str(scorer.signature), style="dim", overflow="fold")
    if ours.empty or theirs.empty:
        return Group(Text(f"A text has no tokens: the score is the worst, {metric.worst:g}, flagged empty."), signature)
    weighted = scorer.weights is not None
    how = HOW[metric.match] + (", rare ones weighing more (IDF)" if weighted and metric.match == "pooling=mean" else "")
    vectors = [metric.vector(side, weighted) for side in (ours, theirs)]
    lengths = [np.linalg.norm(vector, axis=-1) for vector in vectors]
    products = (vectors[0] * vectors[1]).sum(axis=-1)
    scales = np.where(lengths[0] * lengths[1] > 0, lengths[0] * lengths[1], 1)
    parts: list[RenderableType] = [
        Text(f"1. Each text becomes one vector of {vectors[0].shape[-1]} numbers: {how}", style="bold"),
        Text("2. Cosine: the product of both vectors, divided by their lengths", style="bold"),
    ]
    for layer, product, a, b, scale in zip(scorer.memory.encoder.layers, products, *lengths, scales, strict=True):
        parts.append(Text(f"   layer {layer}: {product:.4f} / ({a:.4f} · {b:.4f}) = {product / scale:.4f}"))
    if len(products) > 1:
        parts.append(Text(f"   mean of {len(products)} layers = {scorer.pair(ours, theirs)[0][0]:.4f}"))
    for number, (name, side, other) in enumerate(
        (("candidate", ours, vectors[1]), ("reference", theirs, vectors[0])), start=3
    ):
        given = np.einsum("ltd,ld,l->t", metric.parts(side, weighted), other, 1 / scales) / len(scales)
        parts += [Text(f"\n{number}. What each token of the {name} gives to it", style="bold"), _table(side, given)]
    return Group(*parts, signature)


def _table(side: Side, given: Floats) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 3), header_style="bold", show_footer=True)
    table.add_column("token", footer="sum")
    table.add_column("gives", footer=f"{given.sum():.4f}", justify="right")
    for place, value in enumerate(given.tolist()):
        style = "dim" if side.tokens.special[place] or value == 0 else ""
        table.add_row(Text(visible(side.tokens.surface(place)), style=style), Text(f"{value:.4f}", style=style))
    return table
