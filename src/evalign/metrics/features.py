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
from evalign.metrics.token_metric import TokenMetric, TokenScorer, total_counts
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
    found = WRITTEN.fullmatch(text)
    if found is None:
        raise SpecError(f"feature {text!r}: expected SPEC, SPEC.FIELD, SPEC.* or {LENGTH_RATIO}")
    one = metric(found["spec"])
    if one.name == "learned":
        raise SpecError(f"feature {text!r}: a learned metric cannot be part of another; name the metrics it is made of")
    if isinstance(one, TokenMetric) and getattr(one, "rescale", False):
        raise SpecError(f"feature {text!r}: leave out rescale, the regression finds its own scale")
    return fields_of(one, found["field"] or one.main)


def fields_of(one: Metric, field: str) -> list[Feature]:
    """One field of a metric, or all with `*`."""
    if field == EVERY_FIELD:
        return [Feature(one, name) for name in one.fields]
    if field not in one.fields:
        raise SpecError(f"{one.name} has no field {field!r}; {nearest(field, one.fields)}")
    return [Feature(one, field)]


def comparable(signature: Signature) -> str:
    """What must stay the same between training and use: not versions, nor tables counted from the rows at hand."""
    kept = {key: value for key, value in signature.settings.items() if key not in PASSING}
    if kept.get("idf", "").startswith(("references@", "sources@")):
        kept["idf"] = kept["idf"].partition("@")[0]
    return str(Signature(signature.name, kept))


class FeatureScorer:
    """Features with their metrics loaded; `signatures` has one entry per feature, layers resolved."""

    def __init__(self, features: Sequence[Feature], corpus: Iterable[Row] | None = None) -> None:
        self.features = tuple(features)
        rows = None if corpus is None else list(corpus)
        metrics = list(dict.fromkeys(one.metric for one in features if one.metric is not None))
        passes: dict[EncoderChoice, list[TokenMetric]] = {}
        self._parts: list[_Pass | _Alone] = []
        for one in metrics:
            if isinstance(one, TokenMetric):
                passes.setdefault(replace(one.choice(), layer=None), []).append(one)
            else:
                self._parts.append(_Alone(one, one.scorer(rows)))
        self._parts += [_Pass(some, rows) for some in passes.values()]

    @property
    def signatures(self) -> list[str]:
        """What must be the same in training and use; the field is part of the feature, not of this."""
        return [comparable(one) for one in self.whole_signatures]

    @property
    def whole_signatures(self) -> list[Signature]:
        """All that each feature's numbers depend on, tables counted from the rows at hand included."""
        said = {one: signature for part in self._parts for one, signature in part.signatures().items()}
        return [Signature(LENGTH_RATIO, {}) if one.metric is None else said[one.metric] for one in self.features]

    def layers_of(self, one: TokenMetric) -> str:
        """The layers that a token metric among the features uses, written out."""
        (layers,) = (part.layers[one] for part in self._parts if isinstance(part, _Pass) and one in part.layers)
        return "+".join(map(str, layers))

    def look(self, rows: list[Row]) -> Looked:
        """All features of all rows, in bounded blocks."""
        values: list[Floats] = []
        counts: list[Mapping[str, int]] = []
        empty: list[bool] = []
        for block in bounded(rows):
            columns: dict[tuple[Metric | None, str], Floats] = {(None, ""): np.array([length_ratio(r) for r in block])}
            flagged: list[dict[str, int]] = [{} for _ in block]
            nothing = np.array([_blank(row) for row in block])
            for part in self._parts:
                seen = part.look(block)
                columns |= seen.columns
                flagged = [_most(one, other) for one, other in zip(flagged, seen.counts, strict=True)]
                nothing |= np.array(seen.empty)
            values.append(np.stack([columns[one.metric, one.field] for one in self.features], axis=1))
            counts += flagged
            empty += nothing.tolist()
        shape = (0, len(self.features))
        return Looked(np.concatenate(values) if values else np.zeros(shape), counts, empty)


@dataclass(frozen=True, eq=False)
class _Seen:
    """What one part saw: its fields by metric, and as in `Looked`."""

    columns: Mapping[tuple[Metric | None, str], Floats]
    counts: Sequence[Mapping[str, int]]
    empty: Sequence[bool]


class _Alone:
    """A metric that runs by itself."""

    def __init__(self, one: Metric, scorer: Scorer) -> None:
        self.metric, self.scorer = one, scorer

    def signatures(self) -> dict[Metric, Signature]:
        return {self.metric: self.scorer.signature}

    def look(self, rows: list[Row]) -> _Seen:
        segments, fields = self.scorer.score(rows), self.metric.fields
        return _Seen(
            {(self.metric, name): np.array([one.scores[name] for one in segments]) for name in fields},
            [segment.counts for segment in segments],
            ["empty" in one.flags and set(one.scores.values()) == {self.metric.worst} for one in segments],
        )


class _Pass:
    """Token metrics over one encoder, which is run to the highest layer that one of them needs."""

    def __init__(self, metrics: Sequence[TokenMetric], corpus: list[Row] | None) -> None:
        self.layers = {one: _layers(one) for one in metrics}
        union = "+".join(map(str, sorted({layer for some in self.layers.values() for layer in some})))
        settings: dict[TokenMetric, list[TokenMetric]] = {}
        for one in metrics:
            settings.setdefault(replace(one, layer=union), []).append(one)
        self.scorers: dict[TokenMetric, TokenScorer] = {}
        for setting in settings:
            self.scorers[setting] = setting.scorer(corpus)
        self.settings = settings
        self.memory = next(iter(self.scorers.values())).memory

    def signatures(self) -> dict[Metric, Signature]:
        found: dict[Metric, Signature] = {}
        for setting, some in self.settings.items():
            whole = self.scorers[setting].signature
            for one in some:
                own = {**whole.settings, "layer": "+".join(map(str, self.layers[one]))}
                found[one] = Signature(whole.name, own)
        return found

    def look(self, rows: list[Row]) -> _Seen:
        references = list(dict.fromkeys(text for row in rows for text in row.references))
        embedded = self.memory.encode([*(row.candidate for row in rows), *references], keep=references)
        places = {layer: place for place, layer in enumerate(self.memory.encoder.layers)}
        found: dict[tuple[Metric | None, str], Floats] = {}
        for setting, some in self.settings.items():
            picks = [[places[layer] for layer in self.layers[one]] for one in some]
            scores = self.scorers[setting].layers(rows, embedded, picks)
            for number, one in enumerate(some):
                found |= {(one, name): scores[number, :, place] for place, name in enumerate(one.fields)}
        sides = next(iter(self.scorers.values())).weigh(embedded)
        return _Seen(
            found,
            [total_counts(sides[row.candidate], *(sides[text] for text in row.references)) for row in rows],
            [sides[row.candidate].empty or all(sides[text].empty for text in row.references) for row in rows],
        )


def length_ratio(row: Row) -> float:
    """Characters of the shorter text by those of the longer, of the reference nearest in length; 0 if one is empty."""
    own = len(row.candidate.strip())
    theirs = [len(text.strip()) for text in row.references]
    return max((min(own, one) / max(own, one) for one in theirs if own and one), default=0.0)


def _layers(one: TokenMetric) -> tuple[int, ...]:
    """The layers a metric uses; only where it leaves them to the model does the model have to be asked."""
    if one.layer is not None and re.fullmatch(r"[\d+]+", str(one.layer)):
        return parse_layers(str(one.layer))
    return open_encoder(one.choice()).encoder.layers


def _blank(row: Row) -> bool:
    compared = row.references or (row.candidate,)
    return not row.candidate.strip() or not any(text.strip() for text in compared)


def _most(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Parts that read the same text flag the same things: the larger count stands."""
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


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
