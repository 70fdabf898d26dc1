"""Why each token weighs what it weighs: a scorer with an IDF table and a text in; counts, weights and reasons out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import RenderableType

from evalign.metrics.corpus_idf import CORPUS_IDF, SIDES
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.token_metric import TokenScorer
from evalign.metrics.token_side import Side
from evalign.render.explain.parts import heading, line, pairs_table
from evalign.render.terminal import visible
from evalign.text.idf import IDFTable
from evalign.types import Embedded, Floats

SPECIAL, SPELLED = "special token", "written in the text, but a special token"
FIT = "evalign idf fit FILE -o idf.json, then idf=idf.json"


@dataclass(frozen=True)
class TokenWeight:
    """A token as it is shown, in how many texts of the table it occurs (None: no table), its weight, and why that."""

    token: str
    texts: int | None
    weight: float
    reason: str

    @property
    def cells(self) -> list[str]:
        """Token, count and weight, as the tables show them."""
        return [visible(self.token), "" if self.texts is None else f"{self.texts:,}", f"{self.weight:.4f}"]


def weighs(scorer: TokenScorer) -> bool:
    """Whether tokens have weights of their own: of an IDF table, or learned."""
    return scorer.weights is not None or scorer.adapter is not None


def token_weights(scorer: TokenScorer, text: Embedded) -> list[TokenWeight]:
    """Every token with its own weight, before a text whose tokens all weigh nothing is given equal ones."""
    tokens = text.tokens
    metric, encoder = scorer.metric, scorer.memory.encoder
    table = scorer.weights if isinstance(scorer.weights, IDFTable) else None
    options = metric.left_out_by(tokens) if isinstance(metric, MoverScore) else [""] * len(tokens)
    idf = [1.0] * len(tokens) if table is None else table.weights(tokens.ids).tolist()
    if scorer.adapter is not None:
        idf = (np.array(idf) * scorer.adapter.token_weights(text, encoder.layers)).tolist()
    may_weigh = metric.weighted(tokens, encoder.special_ids, table is not None)
    weighed = []
    for place, option in enumerate(options):
        token = int(tokens.ids[place])
        barred = option if may_weigh[place] else SPELLED if not tokens.special[place] else SPECIAL
        texts = None if table is None or barred else table.frequencies.get(token, 0)
        weight = 0.0 if barred else idf[place]
        weighed.append(TokenWeight(tokens.surface(place), texts, weight, barred or _by_count(texts, table)))
    return weighed


def _by_count(texts: int | None, table: IDFTable | None) -> str:
    """What the count of a token says about its weight, at both ends."""
    if table is None or texts is None:
        return ""
    if table.documents == 0:
        return "the table counts no texts"
    return {table.documents: "in every text", 0: "not in the table: the largest weight"}.get(texts, "")


def weights_heading(scorer: TokenScorer) -> list[RenderableType]:
    """The formula of IDF with the size of the table, and where the counts come from."""
    table = scorer.weights
    parts: list[RenderableType] = []
    if scorer.adapter is not None:
        where = f"the adapter read at layer {scorer.adapter.layer}"
        parts = [heading(f"Importance of a token: exp(a · x / |x|), x its vector and a what {where} has learned")]
    if scorer.metric.idf == SIDES:
        return [
            *parts,
            line("IDF is counted over all rows, for each side apart; in a pair alone all tokens weigh the same."),
        ]
    if not isinstance(table, IDFTable):
        return parts
    idf = scorer.metric.idf
    where = f"the {idf} of the rows that are scored together" if idf in CORPUS_IDF else f"the table {visible(idf)}"
    parts += [
        heading("Weights: a token that occurs in n of M texts weighs idf = log((M + 1) / (n + 1))"),
        line(f"M = {table.documents}, from {where}"),
    ]
    if idf in CORPUS_IDF and table.documents == 1:
        parts.append(line(f"One text is no collection: its own tokens all weigh log(2 / 2) = 0. Fit a table: {FIT}"))
    return parts


def equal_weights_line(side: Side) -> list[RenderableType]:
    """What is done where all tokens of a text weigh nothing."""
    if "idf-zero" not in side.counts:
        return []
    return [line("All its tokens weigh 0 (flag idf-zero), so that all but special ones count equally, as 1.")]


def products_table(weights: Sequence[TokenWeight], used: Floats, values: Floats) -> RenderableType:
    """What each token adds to the sum of a side: the weight it counts with times the similarity of its partner."""
    lines = []
    for own, weight, value in zip(weights, used.tolist(), values.tolist(), strict=True):
        equal = abs(weight - own.weight) > 1e-12
        name, texts, shown = own.cells
        reason = "; ".join(part for part in (own.reason, f"counts as {weight:.4g}" if equal else "") if part)
        lines.append([name, texts, shown, f"{value:.4f}", f"{weight * value:.4f}", reason])
    return pairs_table(("token", "in texts", "weight", "similarity", "weight · similarity", ""), "lrrrrl", lines)


def masses_table(weights: Sequence[TokenWeight], masses: Floats | None) -> RenderableType:
    """Weights and, unless n-grams are made of them, the masses that they become: shares of 1."""
    names = ("token", "in texts", "weight", *(() if masses is None else ("mass",)), "")
    shares = [[]] * len(weights) if masses is None else [[f"{mass:.4f}"] for mass in masses.tolist()]
    lines = [[*own.cells, *share, own.reason] for own, share in zip(weights, shares, strict=True)]
    return pairs_table(names, "l" + "r" * (len(names) - 2) + "l", lines)
