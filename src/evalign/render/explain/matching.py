"""Explain a matching metric: the similarity matrix, the selected cells, the sums that give the score.

Assignments and transport plans are shown step by step (gaps, rounds, prices, masses). A rescaled score ends with the
formula of its baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from evalign.core import Alignment, Embedded, Floats, Row
from evalign.encoders.adapter import SOFT_FLOOR_PERCENT as FLOOR
from evalign.matching.base import Matching, MatchingStep
from evalign.matching.transport import Transport, cost_matrix
from evalign.metrics.all_matchings import check_not_empty
from evalign.metrics.baseline import Baseline, Rescaling
from evalign.metrics.evalign import token_shares
from evalign.metrics.reduction import PRF, AdapterOutput, MoverCost, prf, unrepeated_share
from evalign.metrics.token_metric import TokenMetric, TokenPipeline, TokenScorer
from evalign.metrics.weighting import CORPUS_IDF, SIDES, TokenFilter, WeightedText
from evalign.render.alignment_reading import MatchedText, levels_of, matched_texts
from evalign.render.explain.parts import (
    explain,
    heading,
    line,
    matrix,
    more_line,
    pairs_table,
    polarity_lines,
    terms_table,
)
from evalign.render.tables import signature_line
from evalign.render.terminal import quality, visible
from evalign.text.idf import IDFTable

CELL_WIDTH = 7  # columns of a matrix cell
MAX_STEPS = 40


@explain.register(TokenMetric)
def explain_matching(metric: TokenMetric, candidate: str, reference: str, source: str | None = None) -> RenderableType:
    """Show the matrix, the selection of cells, the weights of tokens, and the sums that give the score."""
    scorer = metric.scorer([Row("1", candidate, (reference,), source)])
    encoded = scorer.weigh([candidate, reference])
    texts = encoded[0][candidate], encoded[1][reference]
    alignment = check_not_empty(scorer.align_texts(*texts))
    parts: list[RenderableType] = [
        heading("1. Cosine similarity of each candidate token (rows) and reference token"),
        _Matrix(alignment),
    ]
    if alignment.masses is not None:
        parts += explain_masses(scorer, alignment, texts)
        parts += explain_plan(scorer.pipeline, alignment)
    else:
        if alignment.matching != "greedy":
            parts += explain_selection(scorer.pipeline.matching, alignment)
        parts += _arithmetic(scorer, alignment, texts)
    special = alignment.candidate.special
    if special.any() and not alignment.candidate_weights[special].any():
        parts.append(Text("\nSpecial tokens may be matched, but have no weight.", style="dim"))
    parts += polarity_lines(alignment.opposites, candidate, reference)
    return Group(*parts, signature_line(alignment.signature))


def _arithmetic(
    scorer: TokenScorer, alignment: Alignment, sides: tuple[WeightedText, WeightedText]
) -> list[RenderableType]:
    p, r, score = (float(value) for value in _prf(scorer, alignment, sides))
    texts = matched_texts(alignment)
    parts = weights_heading(scorer)
    for letter, name, value, text, side, peer in zip(
        "PR", ("Precision", "Recall"), (p, r), texts, sides, sides[::-1], strict=True
    ):
        parts.append(heading(f"{name}: each {text.name} token with its partner, weighted"))
        if weighs(scorer):
            parts.append(products_table(token_weights(scorer, side.embedded), text.weights, text.values))
            parts += equal_weights_line(side)
        parts.append(line(f"{letter} = {_sum(scorer, text, peer)} = {value:.4f}"))
    parts += [
        heading("F1, their harmonic mean"),
        line(f"F1 = 2 · {p:.4f} · {r:.4f} / ({p:.4f} + {r:.4f}) = {score:.4f}")
        if p > 0 and r > 0
        else line("F1 = 0.0000, since precision and recall are not both positive"),
    ]
    if scorer.rescaling is not None:
        parts += explain_rescaling(scorer.rescaling, scorer.metric.fields, (p, r, score))
    if isinstance(scorer.pipeline.reduction, AdapterOutput):
        parts += explain_output(scorer.pipeline.reduction, alignment, (p, r, score))
    return parts


def _prf(scorer: TokenScorer, alignment: Alignment, sides: tuple[WeightedText, WeightedText]) -> Floats:
    """Return precision, recall and F1, also of a metric that makes one number of them."""
    if isinstance(scorer.pipeline.reduction, PRF):
        return scorer.score_pairs([sides])[0].fields
    return prf(alignment.precision_shares.sum(), alignment.recall_shares.sum())


def explain_output(reduction: AdapterOutput, alignment: Alignment, fields: Sequence[float]) -> list[RenderableType]:
    """Explain the step from precision, recall and F1 to a score from 0 to 100, and the contribution of each token."""
    weights, unrelated = reduction.output.mean
    mean = float(np.asarray(fields) @ weights)
    straight, score = 100 * (mean - unrelated) / (1 - unrelated), float(reduction.output.percent(np.asarray(fields)))
    terms = " + ".join(f"{weight:.4f} · {value:.4f}" for weight, value in zip(weights, fields, strict=True))
    parts: list[RenderableType] = [
        heading("Their weighted mean, with the learned weights of P, R and F1"),
        line(f"m = {terms} = {mean:.4f}"),
        heading("On a scale from 0 (unrelated text in training) to 100 (the reference itself)"),
        line(f"x = 100 · (m - {_signed(unrelated)}) / (1 - {_signed(unrelated)}) = {straight:.4f}"),
    ]
    if straight < FLOOR:
        parts.append(line(f"below {FLOOR:g}: {FLOOR:g} · exp(x / {FLOOR:g} - 1) = {score:.4f}"))
    once = unrepeated_share(alignment.candidate.text, alignment.reference.text)
    if once < 1:
        parts.append(line(f"words repeated beyond the reference's count: times {once:.4f}: {score * once:.4f}"))
    note = f" (before the factor {once:.4g})" if once < 1 else " (to x)" if straight < FLOOR else ""
    both = (alignment.candidate, alignment.reference)
    shares = token_shares(alignment, reduction.output)
    for name, tokens, contributions in zip(("candidate", "reference"), both, shares, strict=True):
        parts.append(heading(f"Contribution of each token of the {name} to the score{note}"))
        rows = [[visible(tokens.surface(index)), f"{share:+.2f}"] for index, share in enumerate(contributions.tolist())
                if not tokens.special[index]]  # fmt: skip
        parts.append(terms_table(("token", "contribution"), rows, f"{contributions.sum():+.2f}"))
    return parts


def _sum(scorer: TokenScorer, text: MatchedText, peer: WeightedText) -> str:
    """Return the fraction of a side: (.98 + .71 + ...) / 7, or the sum of products / the sum of weights."""
    reduction, divisor, note = scorer.pipeline.reduction, float(text.weights.sum()), ""
    if isinstance(reduction, PRF) and reduction.denominator != "own":
        divisor, note = reduction.divisor(text.weights, peer.weights), f" (denominator={reduction.denominator})"
    if weighs(scorer):
        return f"{float(text.weights @ text.values):.4f} / {divisor:.4f}{note}"
    terms = " + ".join(f"{value:.3f}" for value, weight in zip(text.values, text.weights, strict=True) if weight > 0)
    return f"({terms}) / {divisor:g}{note}"


@dataclass(frozen=True)
class _Matrix:
    """The similarity matrix as a table, if the terminal is wide enough."""

    alignment: Alignment

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if CELL_WIDTH * (len(self.alignment.reference) + 2) <= options.max_width:
            yield _matrix(self.alignment)
            yield line("> best of its row (precision)   ^ best of its column (recall)   * both", "dim")
        else:
            yield line("(too wide for this terminal; the rest is complete)", "dim")


def _matrix(alignment: Alignment) -> Table:
    names = [visible(alignment.reference.surface(j))[: CELL_WIDTH - 1] for j in range(len(alignment.reference))]
    bounds = levels_of(alignment).bounds
    lines = []
    for i in range(len(alignment.candidate)):
        cells = []
        for j, value in enumerate(alignment.similarity[i]):
            row_best, column_best = alignment.candidate_partners[i] == j, alignment.reference_partners[j] == i
            mark = "*" if row_best and column_best else ">" if row_best else "^" if column_best else " "
            cells.append(Text(f"{value:.2f}{mark}", style=quality(float(value), bounds) if mark != " " else "dim"))
        lines.append((Text(visible(alignment.candidate.surface(i)), style="bold"), cells))
    return matrix(names, lines)


def explain_selection(matching: Matching, alignment: Alignment) -> list[RenderableType]:
    """Explain the selection of cells, step by step if the matching reports steps."""
    weights = alignment.candidate_weights, alignment.reference_weights
    steps = matching.steps(alignment.similarity, weights)
    parts: list[RenderableType] = [heading(f"2. {matching.key}: {matching.about}")]
    parts += [line(_step(step, number, alignment)) for number, step in enumerate(steps[:MAX_STEPS])]
    parts += more_line(len(steps), MAX_STEPS)
    if not steps:
        best = alignment.similarity.max(axis=1).sum()
        parts.append(
            line(f"The row maxima would add up to {best:.3f}, with some reference tokens used more than once.")
        )
    total = float(alignment.similarity[tuple(alignment.cells.T)].sum())
    pairs = ", ".join(_pair(alignment, int(i), int(j)) for i, j in alignment.cells)
    parts.append(line(f"{len(alignment.cells)} cells selected, sum {total:.3f}: {pairs}"))
    if "strict" in matching.name.split(","):
        parts.append(line("(repaired: the best cell of each row, then of each column, the rest by row-mask)"))
    if broken := alignment.counts.get("violations"):
        parts.append(line(f"{broken} tokens have more than one cell; the best cell counts."))
    return parts


def _step(step: MatchingStep, number: int, alignment: Alignment) -> str:
    pairs = [_pair(alignment, i, j) for i, j in step.cells]
    if step.title:
        change = f"new: {', '.join(pairs)}" if pairs else "row maxima" if number == 0 else "no change"
        return f"{step.title}; {change}"
    choices = "; ".join(f"{pair} ({reason})" for pair, reason in zip(pairs, step.reasons, strict=True))
    return f"{number + 1:>3}. {choices}"


def explain_masses(
    scorer: TokenScorer, alignment: Alignment, sides: tuple[WeightedText, WeightedText]
) -> list[RenderableType]:
    """Show the mass of each token, unless all tokens have the same mass."""
    weighting = scorer.pipeline.weighting
    if not weighs(scorer) and weighting.filter == TokenFilter():
        return []
    parts = weights_heading(scorer)
    texts = [tokens.text for tokens in (alignment.candidate, alignment.reference)]
    encoded = scorer.cache.encode(texts)  # the tokens of the alignment may be n-grams
    masses = alignment.candidate_weights, alignment.reference_weights
    for name, text, side, mass in zip(("candidate", "reference"), texts, sides, masses, strict=True):
        weights = token_weights(scorer, encoded[text] if weighting.ngram > 1 else side.embedded)
        parts.append(heading(f"Mass of each token of the {name}: its weight as a share of all"))
        parts.append(masses_table(weights, mass if weighting.ngram == 1 else None))
        parts += equal_weights_line(side)
        if weighting.ngram > 1:
            joined = f"{weighting.ngram} neighbours with weight are one unit, with the sum of their weights."
            parts.append(line(joined))
        if not any(token.weight for token in weights) and "idf-zero" not in side.counts:
            parts.append(line("The options exclude all tokens, so all except special tokens are used."))
    return parts


def explain_plan(pipeline: TokenPipeline, alignment: Alignment) -> list[RenderableType]:
    """Explain a transport plan: the mass that each pair of tokens carries, and its cost."""
    matching, reduction = pipeline.matching, pipeline.reduction
    assert isinstance(matching, Transport)
    assert isinstance(reduction, MoverCost)
    cost = cost_matrix(np.clip(alignment.similarity, -1, 1), matching.cost)
    masses = alignment.masses if alignment.masses is not None else np.zeros(0)
    lines = []
    for (i, j), mass in zip(alignment.cells, masses, strict=True):
        texts = visible(alignment.candidate.surface(i)), visible(alignment.reference.surface(j))
        lines.append([*texts, f"{mass:.3f}", f"{cost[i, j]:.3f}", f"{mass * cost[i, j]:.4f}"])
    total = float((masses * cost[tuple(alignment.cells.T)]).sum())
    unmatched = 1 - float(masses.sum())
    parts: list[RenderableType] = [
        heading(f"2. The cheapest transport of the mass ({pipeline.match})"),
        pairs_table(("from", "to", "mass", "distance", "mass · distance"), "llrrr", lines),
    ]
    if unmatched > 1e-9:
        parts.append(line(f"unmatched mass: {unmatched:.3f} on each side"))
    if matching.solver == "unbalanced":
        parts.append(line(f"transport {total:.4f} + penalties 2 · {matching.penalty:g} · {unmatched:.3f}"))
        total += 2 * matching.penalty * unmatched
    formula = "1 / (1 + cost)" if reduction.form == "inverse" else "1 - cost"
    parts.append(line(f"cost of the plan {total:.4f}; score = {formula} = {alignment.scores['score']:.4f}"))
    return parts


def _pair(alignment: Alignment, i: int, j: int) -> str:
    return f"{visible(alignment.candidate.surface(i))}–{visible(alignment.reference.surface(j))}"


def explain_rescaling(rescaling: Rescaling, names: Sequence[str], raw: Sequence[float]) -> list[RenderableType]:
    """Show the rescaling of each field, by the linear formula or by the distribution of unrelated pairs."""
    assert rescaling.baseline is not None
    baseline, (layer, *_) = rescaling.baseline, rescaling.layers
    return [*SCALES[rescaling.scale](baseline, layer, names, raw), *_origin(baseline, layer)]


def _linear(baseline: Baseline, layer: str, names: Sequence[str], raw: Sequence[float]) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("Rescaled: (raw - b) / (1 - b), b = mean score of unrelated text")]
    for name, value, base in zip(names, raw, baseline.row(layer).tolist(), strict=True):
        scaled = (value - base) / (1 - base)
        parts.append(line(f"{name} = ({value:.4f} - {_signed(base)}) / (1 - {_signed(base)}) = {scaled:.4f}"))
    parts.append(line("Unrelated text scores around 0 (also below), equal text 1.", "dim"))
    return parts


def _percentile(baseline: Baseline, layer: str, names: Sequence[str], raw: Sequence[float]) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("Rescaled: the share of unrelated pairs with a lower score")]
    for name, value, quantiles in zip(names, raw, baseline.quantiles[layer], strict=True):
        parts.append(line(f"{name} = {_share(value, np.array(quantiles))}"))
    return parts


def _share(value: float, points: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """Return the share at a value: 0 below all points, 1 from the last point, else interpolated."""
    above = int(np.searchsorted(points, value, side="right"))
    if above == 0:
        return f"0.0000: {value:.4f} is below all unrelated pairs (minimum {points[0]:.4f})"
    if above == len(points):
        return f"1.0000: {value:.4f} is above all unrelated pairs (maximum {points[-1]:.4f})"
    low, high = (index / (len(points) - 1) for index in (above - 1, above))
    left, right = float(points[above - 1]), float(points[above])
    share = low + (high - low) * (value - left) / (right - left)
    part = f"({value:.4f} - {_signed(left)}) / ({right:.4f} - {_signed(left)})"
    return f"{low:.4f} + {high - low:.4f} · {part} = {share:.4f}"


SCALES = {"linear": _linear, "percentile": _percentile}


def _origin(baseline: Baseline, layer: str) -> list[RenderableType]:
    """Return the digest of the baseline, and the texts it was fitted on if it names them."""
    about = baseline.provenance.get("about")
    pairs = baseline.provenance.get("pairs")
    fitted = f", from {pairs:,} random pairs" if isinstance(pairs, int) else ""
    texts = f" of: {visible(str(about))}" if about else ""
    return [line(f"Baseline {baseline.digest}, layer {layer}{fitted}{texts}", "dim")]


def _signed(number: float) -> str:
    """Return a number, in brackets if it is negative, to follow a minus sign."""
    return f"{number:.4f}" if number >= 0 else f"({number:.4f})"


SPECIAL, SPELLED = "special token", "written in the text, but a special token"
FIT_COMMAND = "evalign fit idf, then idf=FILE"


@dataclass(frozen=True)
class TokenWeight:
    """A token with its document frequency in the IDF table (None: no table), its weight, and the reason for it."""

    token: str
    texts: int | None
    weight: float
    reason: str

    @property
    def cells(self) -> list[str]:
        """Return token, count and weight as table cells."""
        return [visible(self.token), "" if self.texts is None else f"{self.texts:,}", f"{self.weight:.4f}"]


def weighs(scorer: TokenScorer) -> bool:
    """Return whether tokens have different weights, from an IDF table or an adapter."""
    return scorer.weigher.table is not None or scorer.weigher.adapter is not None


def token_weights(scorer: TokenScorer, text: Embedded) -> list[TokenWeight]:
    """Return every token with its weight, before texts whose weights are all 0 get equal weights."""
    tokens = text.tokens
    weigher, encoder = scorer.weigher, scorer.cache.encoder
    table = weigher.table if isinstance(weigher.table, IDFTable) else None
    options = weigher.weighting.filter.reasons(tokens)
    idf = [1.0] * len(tokens) if table is None else table.weights(tokens.ids).tolist()
    if weigher.adapter is not None:
        idf = (np.array(idf) * weigher.adapter.token_weights(text, encoder.layers)).tolist()
    may_weigh = weigher.may_weigh(tokens)
    weighed = []
    for index, option in enumerate(options):
        token = int(tokens.ids[index])
        excluded = option if may_weigh[index] else SPELLED if not tokens.special[index] else SPECIAL
        texts = None if table is None or excluded else table.frequencies.get(token, 0)
        weight = 0.0 if excluded else idf[index]
        weighed.append(TokenWeight(tokens.surface(index), texts, weight, excluded or _by_count(texts, table)))
    return weighed


def _by_count(texts: int | None, table: IDFTable | None) -> str:
    """Return a note for the two extreme document frequencies of a token."""
    if table is None or texts is None:
        return ""
    if table.documents == 0:
        return "the table is empty"
    return {table.documents: "in every text", 0: "not in the table: the largest weight"}.get(texts, "")


def weights_heading(scorer: TokenScorer) -> list[RenderableType]:
    """Show the formula of IDF, the size of the table and its origin."""
    table, adapter = scorer.weigher.table, scorer.weigher.adapter
    parts: list[RenderableType] = []
    if adapter is not None:
        parts = [
            heading(f"Importance of a token: exp(a · x / |x|), x: its vector at layer {adapter.layer}, a: learned")
        ]
    if scorer.metric.idf == SIDES:
        return [
            *parts,
            line("IDF is counted over all rows, separately for each side; in a single pair all weights are equal."),
        ]
    if not isinstance(table, IDFTable):
        return parts
    idf = scorer.metric.idf
    origin = f"the {idf} of the rows scored together" if idf in CORPUS_IDF else f"the table {visible(idf)}"
    parts += [
        heading("Weights: weight of a token in n of M texts: idf = log((M + 1) / (n + 1))"),
        line(f"M = {table.documents}, from {origin}"),
    ]
    if idf in CORPUS_IDF and table.documents == 1:
        parts.append(line(f"With one text all its tokens have the weight log(2 / 2) = 0. Fit a table: {FIT_COMMAND}"))
    return parts


def equal_weights_line(side: WeightedText) -> list[RenderableType]:
    """Return a note if all weights of a text are 0."""
    if "idf-zero" not in side.counts:
        return []
    return [line("All its weights are 0 (flag idf-zero), so all tokens except special ones get the weight 1.")]


def products_table(weights: Sequence[TokenWeight], used: Floats, values: Floats) -> RenderableType:
    """Return a table of weight times similarity of each token, the terms of the sum of a side."""
    lines = []
    for token, weight, value in zip(weights, used.tolist(), values.tolist(), strict=True):
        equal = abs(weight - token.weight) > 1e-12
        name, texts, table_weight = token.cells
        reason = "; ".join(part for part in (token.reason, f"counts as {weight:.4g}" if equal else "") if part)
        lines.append([name, texts, table_weight, f"{value:.4f}", f"{weight * value:.4f}", reason])
    return pairs_table(("token", "in texts", "weight", "similarity", "weight · similarity", ""), "lrrrrl", lines)


def masses_table(weights: Sequence[TokenWeight], masses: Floats | None) -> RenderableType:
    """Return a table of weights and, unless tokens are joined to n-grams, masses (shares of 1)."""
    names = ("token", "in texts", "weight", *(() if masses is None else ("mass",)), "")
    shares = [[]] * len(weights) if masses is None else [[f"{mass:.4f}"] for mass in masses.tolist()]
    lines = [[*token.cells, *share, token.reason] for token, share in zip(weights, shares, strict=True)]
    return pairs_table(names, "l" + "r" * (len(names) - 2) + "l", lines)
