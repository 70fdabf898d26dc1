"""Features of a learned metric, each a field of another metric such as `bertscore(layer=5).f1`.

In: features as text and rows. Out: one number per row and feature. Features of the same encoder share one encoding
pass, for any layers, matchings and IDF; `length-ratio` needs no metric.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalign.core import Floats, Row
from evalign.core.metric import Metric, Scorer
from evalign.core.registry import metric
from evalign.core.spec import Signature
from evalign.encoders.loading import EncoderSpec, open_encoder, parse_layers
from evalign.errors import SpecError, nearest
from evalign.metrics.token_metric import TokenMetric, TokenScorer
from evalign.metrics.weighting import total_counts

LENGTH_RATIO = "length-ratio"
ALL_FIELDS = "*"
FEATURE_PATTERN = re.compile(r"\s*(?P<spec>[^.()]+(?:\(.*\))?)\s*(?:\.(?P<field>[\w*]+))?\s*", re.DOTALL)
BLOCK_CHARACTERS = 40_000  # all layers of a text are in memory: about 90 MB for MiniLM, 350 MB for MPNet
IGNORED_SETTINGS = ("v", "version", "nrefs", "spec")  # of a signature: they do not change the scores


@dataclass(frozen=True)
class Feature:
    """A field of a metric, or the ratio of lengths (`metric` is None)."""

    metric: Metric | None
    field: str = ""

    def __str__(self) -> str:
        return LENGTH_RATIO if self.metric is None else f"{self.metric}.{self.field}"

    @property
    def sign(self) -> int:
        """Return 1 if higher is better, else -1."""
        return 1 if self.metric is None or self.metric.higher_is_better else -1


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """Features (rows, features), counts of flags per row, and a mask of rows without text to compare."""

    values: Floats
    counts: Sequence[Mapping[str, int]]
    empty: Sequence[bool]


def parse_features(text: str) -> list[Feature]:
    """Parse `bertscore(layer=5).f1` (one field), `chrf` (the main field) or `bertscore.*` (all fields)."""
    if text.strip() == LENGTH_RATIO:
        return [Feature(None)]
    written = FEATURE_PATTERN.fullmatch(text)
    if written is None:
        raise SpecError(f"feature {text!r}: expected SPEC, SPEC.FIELD, SPEC.* or {LENGTH_RATIO}")
    parsed = metric(written["spec"])
    if parsed.name == "learned":
        raise SpecError(
            f"feature {text!r}: a learned metric cannot be part of another learned metric; name its metrics"
        )
    if isinstance(parsed, TokenMetric) and getattr(parsed, "rescale", False):
        raise SpecError(f"feature {text!r}: leave out rescale, the regression fits the scale")
    return fields_of(parsed, written["field"] or parsed.main)


def fields_of(metric: Metric, field: str) -> list[Feature]:
    """Return one field of a metric, or all with `*`."""
    if field == ALL_FIELDS:
        return [Feature(metric, name) for name in metric.fields]
    if field not in metric.fields:
        raise SpecError(f"{metric.name} has no field {field!r}; {nearest(field, metric.fields)}")
    return [Feature(metric, field)]


def comparable(signature: Signature) -> str:
    """Return the settings that must be equal in training and use: without versions and tables of the rows."""
    settings = {key: value for key, value in signature.settings.items() if key not in IGNORED_SETTINGS}
    if settings.get("idf", "").startswith(("references@", "sources@")):
        settings["idf"] = settings["idf"].partition("@")[0]
    return str(Signature(signature.name, settings))


class FeatureScorer:
    """Features with their metrics loaded; `signatures` has one entry per feature, with explicit layers."""

    def __init__(self, features: Sequence[Feature], rows: Iterable[Row] | None = None) -> None:
        self.features = tuple(features)
        metrics = list(dict.fromkeys(feature.metric for feature in features if feature.metric is not None))
        self._alone = {part: part.scorer(rows) for part in metrics if not isinstance(part, TokenMetric)}
        by_encoder: dict[EncoderSpec, list[TokenMetric]] = {}
        for part in metrics:
            if isinstance(part, TokenMetric):
                by_encoder.setdefault(replace(part.encoder_spec(), layer=None), []).append(part)
        self._passes = [_Pass(group, rows) for group in by_encoder.values()]

    @property
    def signatures(self) -> list[str]:
        """Return the comparable signature of each feature, without its field."""
        return [comparable(signature) for signature in self.whole_signatures]

    @property
    def whole_signatures(self) -> list[Signature]:
        """Return the full signature of each feature, with tables of the rows."""
        signature_of: dict[Metric | None, Signature] = {None: Signature(LENGTH_RATIO, {})}
        signature_of |= {part: scorer.signature for part, scorer in self._alone.items()}
        for encoding_pass in self._passes:
            signature_of |= encoding_pass.signatures()
        return [signature_of[feature.metric] for feature in self.features]

    def layers_of(self, metric: TokenMetric) -> str:
        """Return the layers of one of the token metrics."""
        (layers,) = (part.layers[metric] for part in self._passes if metric in part.layers)
        return "+".join(map(str, layers))

    def compute(self, rows: list[Row]) -> FeatureMatrix:
        """Compute all features of all rows, in bounded blocks."""
        values: list[Floats] = []
        counts: list[Mapping[str, int]] = []
        empty: list[bool] = []
        for block in bounded(rows):
            columns: Columns = {(None, ""): np.array([length_ratio(row) for row in block])}
            flagged: list[dict[str, int]] = [{} for _ in block]
            without_text = np.array([_blank(row) for row in block])
            separate = [_scored_separately(part, scorer, block) for part, scorer in self._alone.items()]
            for part_columns, part_counts, part_empty in [*separate, *(part.compute(block) for part in self._passes)]:
                columns |= part_columns
                flagged = [_larger_counts(*pair) for pair in zip(flagged, part_counts, strict=True)]
                without_text |= np.array(part_empty)
            values.append(np.stack([columns[feature.metric, feature.field] for feature in self.features], axis=1))
            counts += flagged
            empty += without_text.tolist()
        shape = (0, len(self.features))
        return FeatureMatrix(np.concatenate(values) if values else np.zeros(shape), counts, empty)


Columns = dict[tuple[Metric | None, str], Floats]  # one number per row, by metric and field
BlockFeatures = tuple[Columns, list[Mapping[str, int]], list[bool]]  # with counts and empty rows as in `FeatureMatrix`


def _scored_separately(metric: Metric, scorer: Scorer, rows: list[Row]) -> BlockFeatures:
    """Return the fields of a metric without an encoder."""
    segments = scorer.score(rows)
    columns: Columns = {(metric, name): np.array([part.scores[name] for part in segments]) for name in metric.fields}
    empty = ["empty" in part.flags and set(part.scores.values()) == {metric.worst} for part in segments]
    return columns, [part.counts for part in segments], empty


class _Pass:
    """Token metrics of one encoder, which is run up to the highest layer they need."""

    def __init__(self, metrics: Sequence[TokenMetric], rows: Iterable[Row] | None) -> None:
        self.layers = {member: _layers(member) for member in metrics}
        union = "+".join(map(str, sorted({layer for layers in self.layers.values() for layer in layers})))
        settings: dict[TokenMetric, list[TokenMetric]] = {}
        for member in metrics:
            settings.setdefault(replace(member, layer=union), []).append(member)
        self.scorers: dict[TokenMetric, TokenScorer] = {setting: setting.scorer(rows) for setting in settings}
        self.settings = settings
        self.memory = next(iter(self.scorers.values())).cache

    def signatures(self) -> dict[Metric | None, Signature]:
        signatures: dict[Metric | None, Signature] = {}
        for setting, members in self.settings.items():
            whole = self.scorers[setting].signature
            for member in members:
                settings = {
                    **whole.settings,
                    "layer": "+".join(map(str, self.layers[member])),
                    "spec": member.portable_spec,
                }
                signatures[member] = Signature(whole.name, settings)
        return signatures

    def compute(self, rows: list[Row]) -> BlockFeatures:
        references = list(dict.fromkeys(text for row in rows for text in row.references))
        embedded = self.memory.encode([*(row.candidate for row in rows), *references], keep=references)
        index_of = {layer: index for index, layer in enumerate(self.memory.encoder.layers)}
        columns: Columns = {}
        for setting, members in self.settings.items():
            picks = [[index_of[layer] for layer in self.layers[member]] for member in members]
            scores = self.scorers[setting].score_choices(rows, embedded, picks)
            for number, member in enumerate(members):
                columns |= {(member, name): scores[number, :, column] for column, name in enumerate(member.fields)}
        sides, _ = next(iter(self.scorers.values())).weigher.weigh_sides(embedded)
        counts = [total_counts(sides[row.candidate], *(sides[text] for text in row.references)) for row in rows]
        empty = [sides[row.candidate].empty or all(sides[text].empty for text in row.references) for row in rows]
        return columns, list(counts), empty


def length_ratio(row: Row) -> float:
    """Return the shorter length by the longer, for the reference nearest in length; 0 if a text is empty."""
    candidate = len(row.candidate.strip())
    references = [len(text.strip()) for text in row.references]
    ratios = (min(candidate, length) / max(candidate, length) for length in references if candidate and length)
    return max(ratios, default=0.0)


def _layers(metric: TokenMetric) -> tuple[int, ...]:
    """Return the layers of a metric; the model is loaded only if the metric does not name them."""
    if metric.layer is not None and re.fullmatch(r"[\d+]+", str(metric.layer)):
        return parse_layers(str(metric.layer))
    return open_encoder(metric.encoder_spec()).encoder.layers


def _blank(row: Row) -> bool:
    compared = row.references or (row.candidate,)
    return not row.candidate.strip() or not any(text.strip() for text in compared)


def _larger_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Merge counts of flags by maximum: metrics of the same text raise the same flags."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}


def bounded(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield blocks of rows of at most `BLOCK_CHARACTERS`."""
    block: list[Row] = []
    size = 0
    for row in rows:
        length = len(row.candidate) + sum(map(len, row.references))
        if block and size + length > BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
        block.append(row)
        size += length
    if block:
        yield block
