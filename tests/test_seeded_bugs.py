"""Each law catches a bug that was planted for it; most are bugs that a peer has or had.

The table says exactly which laws a bug breaks, so a law that stops seeing, or sees too much, fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from evalign.core import Embedded, Floats, Report, Row, Segment, Tokens
from evalign.core.metric import Metric
from evalign.core.spec import Signature
from evalign.encoders.base import BatchingEncoder, pad
from evalign.encoders.fake import FakeEncoder
from evalign.encoders.loading import EmbeddingMemory, close_encoders
from evalign.matching.base import f1, weighted_mean
from evalign.matching.greedy import Greedy
from evalign.matching.similarity import similarity
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.token_metric import Pair, PairScore, TokenScorer
from evalign.metrics.weighting import WeightedText
from evalign.testing import LAWS, LawBroken, check_metric

LONG_TEXT = 5_000


class PaddingWins(TokenScorer):
    """bert_score: similarity of padding is 0, which wins where every real one is negative."""

    def score(self, rows: list[Row]) -> list[Segment]:
        texts = [text for row in rows for text in (row.candidate, *row.references)]
        self.longest = max(len(self.weigher.weigh(text).tokens) for text in self.cache.encode(texts).values())
        return super().score(rows)

    def score_pairs(self, pairs: Sequence[Pair]) -> list[PairScore]:
        return [
            self.padded_score(*pair)
            if not any(text.empty for text in pair)
            else super(PaddingWins, self).score_pairs([pair])[0]
            for pair in pairs
        ]

    def padded_score(self, candidate: WeightedText, reference: WeightedText) -> PairScore:
        result = Greedy().solve(similarity(candidate.embedded, reference.embedded))
        left, right = result.candidate_values, result.reference_values
        left = np.maximum(left, 0) if len(reference.tokens) < self.longest else left
        right = np.maximum(right, 0) if len(candidate.tokens) < self.longest else right
        precision, recall = weighted_mean(left, candidate.weights), weighted_mean(right, reference.weights)
        return PairScore(np.stack([precision, recall, f1(precision, recall)]), {})


class TwoTokensAreEmpty(TokenScorer):
    """bert_score: exactly two tokens mean an empty text, also where the tokenizer adds no special ones."""

    def score_pairs(self, pairs: Sequence[Pair]) -> list[PairScore]:
        return super().score_pairs([tuple(map(emptied, pair)) for pair in pairs])

    def _segment(self, row: Row, weighted: Any, scores: Sequence[PairScore]) -> Segment:
        return super()._segment(
            row, [{name: emptied(text) for name, text in side.items()} for side in weighted], scores
        )


def emptied(text: WeightedText) -> WeightedText:
    two = int((~text.tokens.special).sum()) == 2
    return replace(text, empty=True, counts={"empty": 1}) if two else text


class NaNWhenEmpty(TokenScorer):
    """bert_score with IDF: 0 / 0."""

    def score_pairs(self, pairs: Sequence[Pair]) -> list[PairScore]:
        scores = super().score_pairs(pairs)
        return [
            PairScore(score.fields * (np.nan if any(text.empty for text in pair) else 1), score.counts)
            for score, pair in zip(scores, pairs, strict=True)
        ]


class EmptyIsNotFlagged(TokenScorer):
    def score(self, rows: list[Row]) -> list[Segment]:
        return [replace(segment, counts={}) for segment in super().score(rows)]


class EmptyIsPerfect(TokenScorer):
    def score_pairs(self, pairs: Sequence[Pair]) -> list[PairScore]:
        return [
            PairScore(np.ones(3), {}) if all(text.empty for text in pair) else score
            for score, pair in zip(super().score_pairs(pairs), pairs, strict=True)
        ]


class CentredOnTheCall(TokenScorer):
    """A score that depends on its batch mates, in any order."""

    def score(self, rows: list[Row]) -> list[Segment]:
        segments = super().score(rows)
        mean = np.mean([segment.scores["f1"] for segment in segments])
        return [
            replace(segment, scores={**segment.scores, "f1": 0.9 * segment.scores["f1"] + 0.1 * mean * (len(rows) > 1)})
            for segment in segments
        ]


class MoreThanElevenRows(TokenScorer):
    """Another code path for large calls."""

    def score(self, rows: list[Row]) -> list[Segment]:
        segments = super().score(rows)
        if len(rows) <= 11:
            return segments
        return [replace(segment, scores={**segment.scores, "recall": 0.5}) for segment in segments]


class FirstRowIsTheMeasure(TokenScorer):
    """Normalises by the first row of the call."""

    def score(self, rows: list[Row]) -> list[Segment]:
        segments = super().score(rows)
        first = len(rows[0].candidate) % 7 / 1000
        return [replace(s, scores={**s.scores, "recall": s.scores["recall"] - first}) for s in segments]


class OneTextOneRow(TokenScorer):
    """Rows with the same candidate are taken for the same row."""

    def score(self, rows: list[Row]) -> list[Segment]:
        return super().score(list({row.candidate: row for row in rows}.values()))


class Percent(TokenScorer):
    def rescale(self, scores: Floats) -> Floats:
        return scores * 100


class LongerIsBetter(TokenScorer):
    """Similarities are summed, not averaged, over a candidate's tokens."""

    def score_pairs(self, pairs: Sequence[Pair]) -> list[PairScore]:
        return [
            PairScore(score.fields * np.tanh(len(candidate.tokens) / 200), score.counts)
            for score, (candidate, _) in zip(super().score_pairs(pairs), pairs, strict=True)
        ]


class BrokenSignature(TokenScorer):
    """A file name goes into the signature as it is."""

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.signature = Unquoted(self.signature.name, {**self.signature.settings, "idf": "a|b:c"})


class Unquoted(Signature):
    def __str__(self) -> str:
        return "|".join([self.name, *(f"{key}:{value}" for key, value in self.settings.items())])


class SilentCut(FakeEncoder):
    """All peers: what is over the limit is gone, and nobody is told."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return [tokens.keep(np.arange(len(tokens)) < 128) for tokens in super().tokenize(texts)]


class StrictUtf8(FakeEncoder):
    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return super().tokenize([text.encode().decode() for text in texts])


class InfiniteVectors(FakeEncoder):
    """Half precision overflows on some inputs."""

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        return [
            replace(one, vectors=one.vectors * np.float32("inf")) if "\x00" in one.tokens.text else one
            for one in super().encode(texts, pad_to)
        ]


class RoundedMemory(EmbeddingMemory):
    """Vectors are kept in half precision: a text seen before scores differently."""

    def _add(self, text: str, embedded: Embedded) -> None:
        super()._add(text, replace(embedded, vectors=embedded.vectors.astype(np.float16).astype(np.float32)))


class Squeezed(Report):
    """torchmetrics: one row gives an array without a length."""

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(name).squeeze()


@dataclass(frozen=True)
class SqueezedMetric(BERTScore):
    def score(self, *texts: Any, **options: Any) -> Report:
        report = super().score(*texts, **options)
        return Squeezed(report.metric, report.signature, report.fields, report.segments)


@dataclass(frozen=True)
class WrongDirection(BERTScore):
    higher_is_better: ClassVar[bool] = False


@dataclass(frozen=True)
class ForgetsAnOption(BERTScore):
    def __str__(self) -> str:
        return f"bertscore(model={self.model})"


def with_scorer(kind: type[TokenScorer], **options: Any) -> Metric:
    class Planted(BERTScore):
        def scorer(self, rows: Any = None, weights: Any = None) -> TokenScorer:
            true = super().scorer(rows, weights)
            return kind(self, true.pipeline, true.cache, true.weigher)

    return Planted(model="fake", **options)


def with_encoder(kind: type[FakeEncoder], memory: type[EmbeddingMemory] = EmbeddingMemory) -> Metric:
    class Planted(BERTScore):
        def scorer(self, rows: Any = None, weights: Any = None) -> TokenScorer:
            cache, pipeline = memory(kind((2,))), self.pipeline()
            return TokenScorer(self, pipeline, cache, pipeline.weighting.load(cache.encoder, rows, weights))

    return Planted(model="fake")


def forward_permutation(encoder: BatchingEncoder, sequences: Sequence[Sequence[int]], width: Any = None) -> list[Any]:
    """torchmetrics: sorted by length, then indexed with the order itself where its inverse is due."""
    order = sorted(range(len(sequences)), key=lambda place: -len(sequences[place]))
    ids, mask = pad([sequences[place] for place in order], encoder.pad_id)
    vectors = encoder.forward(ids, mask)
    return [vectors[:, order[place], : len(sequence)].copy() for place, sequence in enumerate(sequences)]


def mask_ignored(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Padding tokens take part in attention."""
    return lambda encoder, ids, mask: forward(encoder, ids, np.ones_like(mask))


BUGS: dict[str, tuple[Callable[[], Metric], set[str]]] = {
    "padding wins": (
        # Raw word vectors, no special tokens: half of the similarities are negative.
        lambda: with_scorer(PaddingWins, layer=0, specials="drop"),
        {"padding"},
    ),
    "two tokens are empty": (lambda: with_scorer(TwoTokensAreEmpty), {"empty"}),
    "NaN when empty": (lambda: with_scorer(NaNWhenEmpty), {"empty", "unicode"}),
    "empty is not flagged": (lambda: with_scorer(EmptyIsNotFlagged), {"empty"}),
    "both empty is perfect": (lambda: with_scorer(EmptyIsPerfect), {"empty"}),
    "squeeze": (lambda: SqueezedMetric(model="fake"), {"one-row"}),
    "centred on the call": (lambda: with_scorer(CentredOnTheCall), {"padding", "batch-size", "other-rows"}),
    "another path for many rows": (lambda: with_scorer(MoreThanElevenRows), {"other-rows"}),
    "measured by the first row": (
        lambda: with_scorer(FirstRowIsTheMeasure),
        {"row-order", "padding", "batch-size", "other-rows", "empty"},
    ),
    "one text, one row": (
        lambda: with_scorer(OneTextOneRow),
        {"row-order", "padding", "batch-size", "other-rows", "repetition", "identity", "bounds"},
    ),
    "percent": (lambda: with_scorer(Percent), {"bounds"}),
    "longer is better": (lambda: with_scorer(LongerIsBetter), {"identity"}),
    "wrong direction": (lambda: WrongDirection(model="fake"), {"identity"}),
    "silent cut": (lambda: with_encoder(SilentCut), {"whole-text"}),
    "strict UTF-8": (lambda: with_encoder(StrictUtf8), {"unicode"}),
    "infinite vectors": (lambda: with_encoder(InfiniteVectors), {"unicode"}),
    "rounded memory": (lambda: with_encoder(FakeEncoder, RoundedMemory), {"repetition"}),
    "option not printed": (lambda: ForgetsAnOption(model="fake", layer="1"), {"spec"}),
    "signature not quoted": (lambda: with_scorer(BrokenSignature), {"spec"}),
}


def broken_laws(metric: Metric) -> list[str]:
    """Every law tried by itself, in order."""
    broken = []
    for law in LAWS:
        try:
            check_metric(metric, skip=set(LAWS) - {law}, long_text=LONG_TEXT)
        except LawBroken as found:
            broken.append(found.law)
    return broken


@pytest.fixture
def fresh_encoders() -> Iterator[None]:
    """Vectors made by a planted bug must not be remembered for other tests."""
    close_encoders()
    yield
    close_encoders()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numpy, about the planted NaN and inf
@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.usefixtures("fresh_encoders")
def test_bug_is_caught(bug: str) -> None:
    plant, laws = BUGS[bug]
    metric = plant()
    broken = broken_laws(metric)
    assert set(broken) == laws
    with pytest.raises(LawBroken) as caught:
        check_metric(metric, long_text=LONG_TEXT)
    assert caught.value.law == broken[0]
    assert caught.value.metric is metric
    assert f"{metric} breaks the law {broken[0]!r}" in str(caught.value)


@pytest.mark.usefixtures("fresh_encoders")
def test_forward_permutation_is_caught(tiny: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    metric = BERTScore(model=str(tiny("bert")), layer="1")
    check_metric(metric, long_text=LONG_TEXT)
    monkeypatch.setattr(BatchingEncoder, "_run", forward_permutation)
    with pytest.raises(LawBroken) as caught:
        check_metric(metric, long_text=LONG_TEXT)
    assert caught.value.law == "row-order"
    assert 2 <= len(caught.value.rows) <= 3, "two rows, or three, are enough to show it"


@pytest.mark.usefixtures("fresh_encoders")
def test_ignored_mask_is_caught(tiny: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from evalign.encoders.ort import OrtEncoder

    metric = BERTScore(model=str(tiny("bert")), layer="1")
    monkeypatch.setattr(OrtEncoder, "forward", mask_ignored(OrtEncoder.forward))
    assert {"padding", "batch-size"} <= set(broken_laws(metric))


def test_every_law_catches_a_bug() -> None:
    assert {law for _, laws in BUGS.values() for law in laws} == set(LAWS)
