"""Features: what a learned metric looks at, each a field of another metric, written as `bertscore(layer=5).f1`.

In: written features and rows. Out: one number per row and feature. Features that read the same encoder share one
encoding pass, whatever their layers, matchings and IDF; `length-ratio` needs no metric.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalign.encoders.layers import parse_layers
from evalign.encoders.loading import EncoderChoice, open_encoder
from evalign.errors import SpecError, nearest
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.registry import metric
from evalign.metrics.signature import Signature
from evalign.metrics.token_metric import TokenMetric, TokenScorer
from evalign.metrics.token_side import total_counts
from evalign.types import Floats, Row

LENGTH_RATIO = "length-ratio"
EVERY_FIELD = "*"
WRITTEN = re.compile(r"\s*(?P<spec>[^.()]+(?:\(.*\))?)\s*(?:\.(?P<field>[\w*]+))?\s*", re.DOTALL)
BLOCK_CHARACTERS = 40_000  # every layer of a text is held at once: some 90 MB for MiniLM, 350 for MPNet
PASSING = ("v", "version", "nrefs")  # parts of a signature that say nothing about the weights


@dataclass(frozen=True)
class Feature:
    """A field of a metric, or the ratio of lengths (`metric` is None)."""

    metric: Metric | None
    field: str = ""

    def __str__(self) -> str:
        return LENGTH_RATIO if self.metric is None else f"{self.metric}.{self.field}"

    @property
    def sign(self) -> int:
        """1 if more of it is better, else -1."""
        return 1 if self.metric is None or self.metric.higher_is_better else -1


@dataclass(frozen=True, eq=False)
class Looked:
    """Rows as features see them: (rows, features), what was flagged, and which rows have no text to compare."""

    values: Floats
    counts: Sequence[Mapping[str, int]]
    empty: Sequence[bool]


def parse_features(text: str) -> list[Feature]:
    """`bertscore(layer=5).f1` -> that field, `chrf` -> the main field, `bertscore.*` -> all fields."""
    if text.strip() == LENGTH_RATIO:
        return [Feature(None)]
    written = WRITTEN.fullmatch(text)
    if written is None:
        raise SpecError(f"feature {text!r}: expected SPEC, SPEC.FIELD, SPEC.* or {LENGTH_RATIO}")
    parsed = metric(written["spec"])
    if parsed.name == "learned":
        raise SpecError(f"feature {text!r}: a learned metric cannot be part of another; name the metrics it is made of")
    if isinstance(parsed, TokenMetric) and getattr(parsed, "rescale", False):
        raise SpecError(f"feature {text!r}: leave out rescale, the regression finds its own scale")
    return fields_of(parsed, written["field"] or parsed.main)


def fields_of(metric: Metric, field: str) -> list[Feature]:
    """One field of a metric, or all with `*`."""
    if field == EVERY_FIELD:
        return [Feature(metric, name) for name in metric.fields]
    if field not in metric.fields:
        raise SpecError(f"{metric.name} has no field {field!r}; {nearest(field, metric.fields)}")
    return [Feature(metric, field)]


def comparable(signature: Signature) -> str:
    """What must stay the same between training and use: not versions, nor tables counted from the rows at hand."""
    settings = {key: value for key, value in signature.settings.items() if key not in PASSING}
    if settings.get("idf", "").startswith(("references@", "sources@")):
        settings["idf"] = settings["idf"].partition("@")[0]
    return str(Signature(signature.name, settings))


class FeatureScorer:
    """Features with their metrics loaded; `signatures` has one entry per feature, layers resolved."""

    def __init__(self, features: Sequence[Feature], rows: Iterable[Row] | None = None) -> None:
        self.features = tuple(features)
        metrics = list(dict.fromkeys(feature.metric for feature in features if feature.metric is not None))
        self._alone = {part: part.scorer(rows) for part in metrics if not isinstance(part, TokenMetric)}
        by_encoder: dict[EncoderChoice, list[TokenMetric]] = {}
        for part in metrics:
            if isinstance(part, TokenMetric):
                by_encoder.setdefault(replace(part.choice(), layer=None), []).append(part)
        self._passes = [_Pass(together, rows) for together in by_encoder.values()]

    @property
    def signatures(self) -> list[str]:
        """What must be the same in training and use; the field is part of the feature, not of this."""
        return [comparable(signature) for signature in self.whole_signatures]

    @property
    def whole_signatures(self) -> list[Signature]:
        """All that each feature's numbers depend on, tables counted from the rows at hand included."""
        said: dict[Metric | None, Signature] = {None: Signature(LENGTH_RATIO, {})}
        said |= {part: scorer.signature for part, scorer in self._alone.items()}
        for encoding_pass in self._passes:
            said |= encoding_pass.signatures()
        return [said[feature.metric] for feature in self.features]

    def layers_of(self, metric: TokenMetric) -> str:
        """The layers that a token metric among the features uses, written out."""
        (layers,) = (part.layers[metric] for part in self._passes if metric in part.layers)
        return "+".join(map(str, layers))

    def look(self, rows: list[Row]) -> Looked:
        """All features of all rows, in bounded blocks."""
        values: list[Floats] = []
        counts: list[Mapping[str, int]] = []
        empty: list[bool] = []
        for block in bounded(rows):
            columns: Columns = {(None, ""): np.array([length_ratio(row) for row in block])}
            flagged: list[dict[str, int]] = [{} for _ in block]
            nothing = np.array([_blank(row) for row in block])
            seen = [_scored_alone(part, scorer, block) for part, scorer in self._alone.items()]
            for part_columns, part_counts, part_empty in [*seen, *(part.look(block) for part in self._passes)]:
                columns |= part_columns
                flagged = [_most(*pair) for pair in zip(flagged, part_counts, strict=True)]
                nothing |= np.array(part_empty)
            values.append(np.stack([columns[feature.metric, feature.field] for feature in self.features], axis=1))
            counts += flagged
            empty += nothing.tolist()
        shape = (0, len(self.features))
        return Looked(np.concatenate(values) if values else np.zeros(shape), counts, empty)


Columns = dict[tuple[Metric | None, str], Floats]  # one number per row, by metric and field
Seen = tuple[Columns, list[Mapping[str, int]], list[bool]]  # columns, and counts and empty rows as in `Looked`


def _scored_alone(metric: Metric, scorer: Scorer, rows: list[Row]) -> Seen:
    """The fields of a metric that runs by itself."""
    segments = scorer.score(rows)
    columns: Columns = {(metric, name): np.array([part.scores[name] for part in segments]) for name in metric.fields}
    empty = ["empty" in part.flags and set(part.scores.values()) == {metric.worst} for part in segments]
    return columns, [part.counts for part in segments], empty


class _Pass:
    """Token metrics over one encoder, which is run to the highest layer that one of them needs."""

    def __init__(self, metrics: Sequence[TokenMetric], rows: Iterable[Row] | None) -> None:
        self.layers = {member: _layers(member) for member in metrics}
        union = "+".join(map(str, sorted({layer for layers in self.layers.values() for layer in layers})))
        settings: dict[TokenMetric, list[TokenMetric]] = {}
        for member in metrics:
            settings.setdefault(replace(member, layer=union), []).append(member)
        self.scorers: dict[TokenMetric, TokenScorer] = {setting: setting.scorer(rows) for setting in settings}
        self.settings = settings
        self.memory = next(iter(self.scorers.values())).memory

    def signatures(self) -> dict[Metric | None, Signature]:
        signatures: dict[Metric | None, Signature] = {}
        for setting, members in self.settings.items():
            whole = self.scorers[setting].signature
            for member in members:
                own = {**whole.settings, "layer": "+".join(map(str, self.layers[member]))}
                signatures[member] = Signature(whole.name, own)
        return signatures

    def look(self, rows: list[Row]) -> Seen:
        references = list(dict.fromkeys(text for row in rows for text in row.references))
        embedded = self.memory.encode([*(row.candidate for row in rows), *references], keep=references)
        places = {layer: place for place, layer in enumerate(self.memory.encoder.layers)}
        columns: Columns = {}
        for setting, members in self.settings.items():
            picks = [[places[layer] for layer in self.layers[member]] for member in members]
            scores = self.scorers[setting].layers(rows, embedded, picks)
            for number, member in enumerate(members):
                columns |= {(member, name): scores[number, :, place] for place, name in enumerate(member.fields)}
        sides = next(iter(self.scorers.values())).weigh(embedded)
        counts = [total_counts(sides[row.candidate], *(sides[text] for text in row.references)) for row in rows]
        empty = [sides[row.candidate].empty or all(sides[text].empty for text in row.references) for row in rows]
        return columns, list(counts), empty


def length_ratio(row: Row) -> float:
    """Characters of the shorter text by those of the longer, of the reference nearest in length; 0 if one is empty."""
    own = len(row.candidate.strip())
    theirs = [len(text.strip()) for text in row.references]
    return max((min(own, length) / max(own, length) for length in theirs if own and length), default=0.0)


def _layers(metric: TokenMetric) -> tuple[int, ...]:
    """The layers a metric uses; only where it leaves them to the model does the model have to be asked."""
    if metric.layer is not None and re.fullmatch(r"[\d+]+", str(metric.layer)):
        return parse_layers(str(metric.layer))
    return open_encoder(metric.choice()).encoder.layers


def _blank(row: Row) -> bool:
    compared = row.references or (row.candidate,)
    return not row.candidate.strip() or not any(text.strip() for text in compared)


def _most(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Parts that read the same text flag the same things: the larger count stands."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}


def bounded(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Blocks of rows of so many characters in all."""
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
