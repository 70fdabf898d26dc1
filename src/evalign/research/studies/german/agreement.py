"""Agreement of each system of the German summaries study with people: errors, correlations, ranks, intervals.

In: `JudgedRows` and their `Scored` systems. Out: a `Verdict`. For intervals, documents are resampled (rows that share
a source, else a reference), with the same resamples for all systems.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evalign.analysis.agreement import AgreementPlan, agree_table
from evalign.analysis.rated_tables import PLAIN, RatedTable
from evalign.core import Floats
from evalign.encoders.loading import EncoderSpec, open_encoder, parse_layers
from evalign.metrics.baseline import layer_name
from evalign.metrics.bertscore import BERTScore
from evalign.research.studies.german.data import DOCUMENT, JudgedRows
from evalign.research.studies.german.systems import BERTSCORE, MetricOptions, Scored, matched_layer
from evalign.research.studies.inputs import Steps, digest_of, model_identity
from evalign.stats.bootstrap import Resampling, resampled, with_interval
from evalign.stats.effect import rating_residuals
from evalign.stats.estimate import Estimate, codes
from evalign.stats.significance import Comparison, clusters, compare_all, permutation_test
from evalign.stats.weighted import weighted_mean
from evalign.training.baselines import fit_baseline
from evalign.training.layers import Setting, depth, grid_scores

RMSE, MAE, FITTED_RMSE, FITTED_MAE = "RMSE", "MAE", "fitted RMSE", "fitted MAE"
ERRORS = (RMSE, MAE, FITTED_RMSE, FITTED_MAE)
CORRELATIONS = ("pearson", "spearman", "kendall")
ALPHA = 0.05
RECIPE = 3


@dataclass(frozen=True, eq=False)
class JudgedSystem(Scored):
    """A system with its numbers.

    `offset` is the mean of its clipped scores minus the mean rating, `offset_share` the part of the squared error
    that this alone makes. Systems of equal rank are not told apart by Pearson.
    """

    estimates: Mapping[str, Estimate]
    offset: float
    offset_share: float
    rank: int | None

    @property
    def pooling(self) -> str:
        """The pooling of Sentence-BERT, which is part of its name."""
        return self.name.split(", ")[1]

    @property
    def pearson(self) -> float | None:
        """Pearson with people, if there is one."""
        return self.value("pearson")

    def value(self, measure: str) -> float | None:
        """A number without its interval."""
        return self.estimates[measure].value

    def number(self, measure: str) -> float:
        """The same, 0 where there is none."""
        return float(self.value(measure) or 0.0)


@dataclass(frozen=True, eq=False)
class Verdict:
    """All systems, and as a baseline the errors of predicting the mean rating for every row."""

    systems: tuple[JudgedSystem, ...]
    constant: Mapping[str, Estimate]  # RMSE and MAE
    better: Mapping[tuple[str, str], float]  # labels -> p of "the first agrees better than the second", corrected

    def find(self, name: str, model: str = "") -> JudgedSystem | None:
        """The system of that name and model."""
        return next((system for system in self.systems if (system.name, system.model) == (name, model)), None)

    def p(self, first: JudgedSystem, second: JudgedSystem) -> float | None:
        """One-sided and corrected for all comparisons; None if one of them has no correlation."""
        return self.better.get((first.label, second.label))


def judge_systems(scored: Sequence[Scored], rows: JudgedRows, resampling: Resampling, steps: Steps) -> Verdict:
    """Every system's numbers; the whole is one step."""
    key = {"study": "german", "step": "numbers", "recipe": RECIPE, "resampling": asdict(resampling),
           "rated": rows.digest, "shares": rows.shares.tolist(), "documents": digest_of(rows.documents),
           "scores": digest_of({system.label: system.scores.tolist() for system in scored})}  # fmt: skip
    numbers = steps.values(key, lambda: _numbers(scored, rows, resampling))
    judged = tuple(
        JudgedSystem(**vars(system), **values | {"estimates": _estimates(values["estimates"])})
        for system, values in zip(scored, numbers["systems"], strict=True)
    )
    return Verdict(judged, _estimates(numbers["constant"]), {(a, b): p for a, b, p in numbers["better"]})


def error_estimates(scores: Floats, rows: JudgedRows, resampling: Resampling) -> dict[str, Estimate]:
    """RMSE and MAE x 100 of the raw scores and of fitted ones, with intervals over documents."""
    raw, fitted = rating_residuals(scores, rows.shares, resampling.seed)
    of_row, names = codes(rows.documents, "documents", len(raw))
    columns = [raw**2, np.abs(raw), fitted**2, np.abs(fitted)]
    draws = resampled([weighted_mean(values) for values in columns], len(names), resampling, of_row)
    estimates = {}
    for name, values, drawn in zip(ERRORS, columns, draws.T, strict=True):
        root = np.sqrt if "RMSE" in name else np.asarray
        estimate = Estimate(float(100 * root(values.mean())), len(values))
        estimates[name] = with_interval(estimate, 100 * root(drawn), resampling.confidence)
    return estimates


def error_contrast(terms: Sequence[tuple[float, Floats]], rows: JudgedRows, resampling: Resampling) -> Estimate:
    """The sum of factor x RMSE x 100 over (factor, scores), such as the difference of two systems' errors.

    All systems meet the same draws of documents, so the interval is that of the contrast itself.
    """
    factors = np.array([factor for factor, _ in terms])
    squares = [rating_residuals(scores, rows.shares, resampling.seed)[0] ** 2 for _, scores in terms]
    of_row, names = codes(rows.documents, "documents", len(rows.rows))
    value = float(100 * factors @ np.sqrt([square.mean() for square in squares]))
    if len(names) == 1:  # its resamples are all the same
        return Estimate(value, len(rows.rows))
    draws = resampled([weighted_mean(square) for square in squares], len(names), resampling, of_row)
    return with_interval(Estimate(value, len(rows.rows)), 100 * np.sqrt(draws) @ factors, resampling.confidence)


def _numbers(scored: Sequence[Scored], rows: JudgedRows, resampling: Resampling) -> dict[str, Any]:
    table = RatedTable(
        rows.rows,
        {PLAIN: rows.shares},
        {system.label: system.scores for system in scored},
        {system.label: system.signature for system in scored},
        {},
    )
    agreement = agree_table(table, AgreementPlan(CORRELATIONS, document=DOCUMENT, resampling=resampling, test="none"))
    correlations = {judgement.metric: judgement.estimates for judgement in agreement.judgements}
    values = {name: estimates[CORRELATIONS[0]].value for name, estimates in correlations.items()}
    names = [system.label for system in scored if values[system.label] is not None]
    better = _better([table.scores[name] for name in names], rows, resampling)
    ranks = clusters([float(values[name] or 0.0) for name in names], better, ALPHA, "visited") if names else []
    rank_of = dict(zip(names, ranks, strict=True))
    systems = []
    for system in scored:
        errors = error_estimates(system.scores, rows, resampling)
        raw, _ = rating_residuals(system.scores, rows.shares, resampling.seed)
        squared = float((raw**2).mean())
        systems.append({
            "estimates": _as_json({**errors, **correlations[system.label]}, rows),
            "offset": float(raw.mean()),
            "offset_share": float(raw.mean() ** 2 / squared) if squared > 0 else 0.0,
            "rank": rank_of.get(system.label),
        })  # fmt: skip
    constant = error_estimates(np.zeros(len(rows.rows)), rows, resampling)  # fitted, it predicts the others' mean
    return {
        "systems": systems,
        "constant": _as_json({RMSE: constant[FITTED_RMSE], MAE: constant[FITTED_MAE]}, rows),
        "better": [[names[i], names[j], float(better[i, j])] for i, j in np.ndindex(better.shape) if i != j],
    }


def permutations(systems: int, resampling: Resampling) -> int:
    """Return the resamples for which the smallest p-value, corrected for all comparisons, is half of alpha.

    With a thousand, no difference could be significant after Holm's correction over a dozen metrics.
    """
    return max(resampling.samples, math.ceil(2 * systems * (systems - 1) / 2 / ALPHA))


def _better(scores: Sequence[Floats], rows: JudgedRows, resampling: Resampling) -> Floats:
    """(k, k): p of "row agrees better than column"; documents are exchanged whole."""
    if not scores:
        return np.empty((0, 0))
    drawn = replace(resampling, samples=permutations(len(scores), resampling))

    def test(first: npt.ArrayLike, second: npt.ArrayLike, people: npt.ArrayLike) -> Comparison:
        return permutation_test(first, second, people, CORRELATIONS[0], drawn, rows.documents, None)

    return compare_all(scores, rows.shares, test, "holm")


def _as_json(estimates: Mapping[str, Estimate], rows: JudgedRows) -> dict[str, Any]:
    """As JSON, without intervals if there is a single document: its resamples are all the same."""
    alone = len(set(rows.documents)) == 1
    return {name: asdict(replace(value, low=None, high=None) if alone else value) for name, value in estimates.items()}


def _estimates(stored: Mapping[str, Mapping[str, Any]]) -> dict[str, Estimate]:
    return {name: Estimate(**{**value, "flags": tuple(value["flags"])}) for name, value in stored.items()}


RESCALED = f"{BERTSCORE}, rescaled"
PAIRS = 1000  # of unrelated references, at most
TEXTS = 300  # references, at most: every layer is encoded


def unrelated_f1(model: str, judged: JudgedRows, options: MetricOptions, steps: Steps) -> float:
    """The mean F1 of unrelated references, by the layer that BERTScore reads."""
    layer = matched_layer(model, options)
    texts = sorted({text for row in judged.rows for text in row.references})[:TEXTS]
    key = {"study": "german", "step": "baseline", "model": model_identity(model), "layer": layer, "pairs": PAIRS,
           "texts": digest_of(texts)}  # fmt: skip

    def fitted() -> float:
        layers = open_encoder(EncoderSpec(model, layer, threads=options.threads)).encoder.layers
        name = layer_name(parse_layers("+".join(map(str, layers))))
        baseline = fit_baseline(BERTScore(model=model, threads=options.threads), texts, PAIRS, more_choices=(name,))
        return baseline.by_layer[name][2]

    return float(steps.values(key, fitted))


def rescaled(plain: Scored, baseline: float) -> Scored:
    """The scores of BERTScore on the rescaled line."""
    signature = f"{plain.signature}, then (F1 - {baseline:.4f}) / (1 - {baseline:.4f})"
    return replace(plain, name=RESCALED, signature=signature, scores=(plain.scores - baseline) / (1 - baseline))


@dataclass(frozen=True, eq=False)
class LayerScores:
    """F1 of a model's layers, (layers, rows); layer 0 is the embeddings."""

    scores: Floats

    @property
    def last(self) -> int:
        """The number of the last layer."""
        return len(self.scores) - 1

    def best_before_last(self, judged: JudgedRows) -> int:
        """Return the layer before the last with the smallest error of raw scores."""
        squares = ((np.clip(self.scores, 0, 1) - judged.shares) ** 2).mean(axis=1)
        return int(squares[:-1].argmin())


def score_layers(model: str, judged: JudgedRows, options: MetricOptions, steps: Steps) -> LayerScores:
    """The scores of all layers; one step."""
    key = {"study": "german", "step": "layers", "model": model_identity(model), "rated": judged.digest}

    def measure() -> dict[str, Floats]:
        metric = BERTScore(model=model, threads=options.threads)
        choices = tuple(map(str, range(depth(metric) + 1)))
        (scores,) = grid_scores([Setting(metric, choices)], judged.rows)
        return {"f1": scores[..., metric.fields.index("f1")]}

    return LayerScores(steps.arrays(key, measure)["f1"])
