"""Objective of an adapter: the score of the metric compared with ratings, with gradients through the matching.

    score = output layer of (P, R, F1) of one similarity matrix, averaged over layers, with importance weights of tokens

A rated pair costs weight * (slope * score + offset - rating)^2, with slope and offset of its file and the best of
several references; an ordered pair costs weight * log(1 + exp(worse - better)). Texts of other pairs, damaged copies
and opposites cost weight * (score - ceiling)^2 above a ceiling, and train the encoder and the importance only. Anchor
texts cost the squared distance of their token vectors and importance from the start. Every term belongs to one pair, so
that the parts of a batch add up to the whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evalign.core import Floats
from evalign.encoders.adapter import UNRELATED_DEVIATIONS, OutputLayer
from evalign.errors import InputError
from evalign.matching.soft import DEFAULTS
from evalign.training.damage import answered, damaged, opposite
from evalign.training.losses import AlignmentLoss
from evalign.training.plan import AdapterSettings
from evalign.training.rated_pairs import RatedPair
from evalign.training.trainee import torch

if TYPE_CHECKING:
    from evalign.training.adapter_trainee import AdapterTrainee, ReadText

Tensor = torch.Tensor
START_PAIRS = 500  # that the output layer is fitted to before the first step: it has four numbers
MIN_FIELD_WEIGHT = 0.02  # of the fitted start: a weight of 0 would hardly change
SLOPE_BOUNDS = 0.2, 5.0  # of a file before the first step
MAX_OPPOSITE_WORDS = 25  # in a longer text, a negated verb changes only a part
VERSION = 5  # of the losses: raised when the same pairs would have a different loss
ANCHOR_WEIGHT = 3.0  # loss of an anchor text whose tokens moved by 1
PAIRS_PER_ANCHOR = 4
MAX_REFERENCE_RUN = 4  # consecutive pairs of a reference; more would make the pairs of a batch too similar
Compared = tuple[str, str]  # candidate and reference


@dataclass(frozen=True, slots=True)
class CeilingPenalty:
    """Two texts whose score costs weight * (score - ceiling)^2 above a ceiling.

    The ceiling is UNRELATED_DEVIATIONS + share * (score of a pair - UNRELATED_DEVIATIONS) - drop.
    """

    texts: Compared
    weight: float
    share: float = 0.0
    drop: float = 0.0
    of: int | None = None  # index of that pair in its part; None: a text with itself


class MatchingObjective:
    """Loss of an adapter on batches of rated pairs."""

    def __init__(self, trainee: AdapterTrainee, settings: AdapterSettings) -> None:
        self._trainee, self._settings = trainee, settings
        self._matching = AlignmentLoss(settings.matching, DEFAULTS)

    def begin(self, pairs: Sequence[RatedPair], micro: int) -> None:
        """Fit the output layer to the untrained fields, by least squares without negative weights.

        Every file has a zero and a slope: the average translation is closer to its reference than the average pair of
        sentences to each other, for the same ratings, and a deviation of its ratings is a smaller step. Those of the
        first file are 0 and 1: scores are on its scale. Fields are standardised first. Without this start, the first
        steps would change the encoder to correct the scale.
        """
        from scipy.optimize import nnls

        sample = pairs[:: -(-len(pairs) // START_PAIRS)]
        first, worse = self._fields(sample, micro)
        means, scales = first.mean(axis=0), first.std(axis=0)
        if self._settings.symmetric:
            scales[:2] = scales[:2].mean()
        if not (scales > 1e-9).all():
            raise InputError("all pairs have the same score before training: nothing can be learned from these texts")
        weights = np.sqrt([pair.weight for pair in sample])
        ordered = np.array([bool(pair.worse) for pair in sample])
        ratings = np.array([pair.similarity for pair in sample])
        in_file = np.eye(len(self._trainee.raw_offsets))[[pair.file for pair in sample]] * ~ordered[:, None]
        standard = np.where(ordered[:, None], first - worse, first - means) / scales
        expected = np.where(ordered, 1.0, ratings)
        weight_index = list(self._settings.weight_of_field)
        added = standard @ np.eye(1 + max(weight_index))[weight_index]  # fields of the same weight
        columns = np.concatenate([added, in_file, -in_file], axis=1)  # the zero of a file may have either sign
        fitted = nnls(columns * weights[:, None], expected * weights)[0]
        of_fields = np.maximum(fitted[weight_index], MIN_FIELD_WEIGHT)
        offsets, slopes = _by_file(standard @ of_fields, expected, in_file)
        of_fields, slopes = of_fields * slopes[0], slopes / slopes[0]  # the first file sets the scale of scores
        lists = [tuple(map(float, values)) for values in (means, scales, of_fields)]
        output = OutputLayer(lists[0], lists[1], lists[2], float(offsets[0]))
        self._trainee.start_output(output, offsets - slopes * offsets[0], slopes)

    def order(self, pairs: Sequence[RatedPair], source: np.random.Generator) -> Sequence[int]:
        """Return a random order of runs of up to MAX_REFERENCE_RUN pairs of a reference, to encode it once."""
        by_reference: dict[str, list[list[int]]] = {}
        for index in source.permutation(len(pairs)).tolist():
            runs = by_reference.setdefault(pairs[index].second, [[]])
            if len(runs[-1]) == MAX_REFERENCE_RUN:
                runs.append([])
            runs[-1].append(index)
        runs = [run for runs_of in by_reference.values() for run in runs_of]
        return [index for number in source.permutation(len(runs)).tolist() for index in runs[number]]

    def add_gradients(self, pairs: Sequence[RatedPair], micro: int, seed: Sequence[int]) -> float:
        """Add gradients part by part; return the mean loss of the batch, NaN if weights or vectors are not finite."""
        torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]))  # for the gumbel matchings
        total = 0.0
        for start in range(0, len(pairs), micro):
            try:
                loss = self._loss(pairs, range(start, min(start + micro, len(pairs))), seed) / len(pairs)
            except InputError:  # raised by the matching for invalid values
                return math.nan
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        return total

    def compared(self, pairs: Sequence[RatedPair], micro: int) -> tuple[Floats, Floats]:
        """Return scores and ratings; for an ordered pair, distances of both scores from their mean, for 1 and -1."""
        try:
            fields = self._fields(pairs, micro)
        except InputError:  # as above: training has diverged
            return np.full(len(pairs), np.nan), np.zeros(len(pairs))
        first, worse = (self._trainee.output()(values) for values in fields)
        with torch.no_grad():
            rated = self._trainee.ratings(torch.from_numpy(first), [pair.file for pair in pairs]).tolist()
        predicted, expected = [], []
        for pair, score, worse_score, rating in zip(pairs, first.tolist(), worse.tolist(), rated, strict=True):
            half = (score - worse_score) / 2
            predicted += [half, -half] if pair.worse else [rating]
            expected += [1.0, -1.0] if pair.worse else [pair.similarity]
        return np.array(predicted), np.array(expected)

    def _loss(self, pairs: Sequence[RatedPair], part: range, seed: Sequence[int]) -> Tensor:
        """Return the sum of the losses of a part; negatives are borrowed from the whole batch."""
        penalties = self._penalties(pairs, part, seed)
        selected = [pairs[index] for index in part] + self._both_opposed(pairs, part)
        texts = [text for pair in selected for text in pair.texts]
        texts += [text for penalty in penalties for text in penalty.texts]
        read = self._trainee.read(texts)
        candidates = [(pair.first, pair.references) for pair in selected]
        candidates += [(pair.worse, pair.references) for pair in selected if pair.worse]
        compared = [(text, reference) for text, references in candidates for reference in references]
        fields = self._matched(compared + [penalty.texts for penalty in penalties], read)
        best = _best_reference(fields, [len(references) for _, references in candidates])
        scores = self._trainee.scores(fields[best])
        worse_scores = iter(scores[len(selected) : len(candidates)])
        rated = self._trainee.ratings(scores[: len(selected)], [pair.file for pair in selected])
        terms = [
            pair.weight * torch.nn.functional.softplus(next(worse_scores) - score)
            if pair.worse
            else pair.weight * (rating - pair.similarity) ** 2
            for pair, score, rating in zip(selected, scores, rated, strict=False)
        ]
        pair_scores, identical = scores.detach(), self._trainee.scores(torch.ones_like(fields[:1]))[0].detach()
        # Without the output layer, which would else learn to lower all scores.
        penalised = self._trainee.scores(fields[len(compared) :], learning=False)
        for penalty, score in zip(penalties, penalised, strict=True):
            pair_score = identical if penalty.of is None else pair_scores[penalty.of]
            ceiling = UNRELATED_DEVIATIONS + penalty.share * (pair_score - UNRELATED_DEVIATIONS) - penalty.drop
            terms.append(penalty.weight * (score - ceiling).clamp(min=0) ** 2)
        return torch.stack([*terms, *self._anchor_losses(part, seed)]).sum()

    def _anchor_losses(self, part: range, seed: Sequence[int]) -> list[Tensor]:
        """Return the losses of random anchor texts, one for every PAIRS_PER_ANCHOR pairs."""
        anchors = self._trainee.anchors
        drawn = [np.random.default_rng([*seed, index, 1]).integers(len(anchors))
                 for index in part if anchors and index % PAIRS_PER_ANCHOR == 0]  # fmt: skip
        texts = [anchors[index] for index in drawn]
        read, plain = self._trainee.read(texts), self._trainee.read_plain(texts)
        return [ANCHOR_WEIGHT * _distance(read[text], plain[text]) for text in texts]

    def _penalties(self, pairs: Sequence[RatedPair], part: range, seed: Sequence[int]) -> list[CeilingPenalty]:
        """Return the penalties of negatives, damaged copies and opposites.

        A negative is from the next pair of the batch with different texts; one pair per reference is damaged.
        """
        penalties: list[CeilingPenalty] = []
        for number, index in enumerate(part):
            pair, following = pairs[index], (*pairs[index + 1 :], *pairs[:index])
            negative = next((later for later in following if not set(pair.texts) & set(later.texts)), None)
            if self._settings.negatives and negative:
                texts = (pair.first, negative.second)
                penalties.append(CeilingPenalty(texts, pair.weight * self._settings.negatives))
            if self._settings.damage and negative and _first_of_reference(pairs, index):
                copy = damaged(pair.first, negative.second, np.random.default_rng([*seed, index]))
                if copy:
                    texts = (copy.text, pair.second)
                    weight = pair.weight * self._settings.damage
                    penalties.append(CeilingPenalty(texts, weight, 1.0, copy.drop, number))
            penalties += self._opposed(pairs, index, number)
        return penalties

    def _opposed(self, pairs: Sequence[RatedPair], index: int, number: int) -> list[CeilingPenalty]:
        """Return penalties of a reference (or a yes and it) and its opposite, and of a good pair with one opposite."""
        pair, (candidate, reference) = pairs[index], self._opposites(pairs, index)
        with_opposite = answered(reference, pair.second) if reference and index % 2 else (reference, pair.second)
        compared: list[tuple[Compared, int | None]] = [(with_opposite, None)]
        if _good(pair):
            compared += [((candidate, pair.second), number), ((pair.first, reference), number)]
        if not index and self._settings.opposites:
            compared.append((answered("", ""), None))
        weight = pair.weight * self._settings.opposites
        return [CeilingPenalty(texts, weight, self._settings.kept, of=index) for texts, index in compared if all(texts)]

    def _both_opposed(self, pairs: Sequence[RatedPair], part: range) -> list[RatedPair]:
        """Return pairs with the opposites of both texts, which keep their rating."""
        opposed = [(pairs[index], *self._opposites(pairs, index)) for index in part]
        return [
            replace(
                pair,
                first=candidate,
                second=reference,
                more_references=(),
                weight=pair.weight * self._settings.opposites,
            )
            for pair, candidate, reference in opposed
            if candidate and reference and not pair.worse
        ]

    def _opposites(self, pairs: Sequence[RatedPair], index: int) -> tuple[str, str]:
        """Return the opposites of a good candidate and of the reference, once per reference, else empty texts."""
        pair = pairs[index]
        if not self._settings.opposites or not _first_of_reference(pairs, index):
            return "", ""
        texts = (pair.first if _good(pair) else "", pair.second)
        short = (text if len(text.split()) <= MAX_OPPOSITE_WORDS else "" for text in texts)
        first, second = (opposite(text) or "" for text in short)
        return first, second

    def _fields(self, pairs: Sequence[RatedPair], micro: int) -> tuple[Floats, Floats]:
        """Return fields (pairs, 3) of the best reference and of the worse text (0 if none), without gradient."""
        torch.manual_seed(0)
        first, worse = np.zeros((len(pairs), 3)), np.zeros((len(pairs), 3))
        for part in _by_length(pairs, micro):
            selected = [pairs[index] for index in part]
            with torch.no_grad():
                read = self._trainee.read([text for pair in selected for text in pair.texts])
                for index, pair in zip(part, selected, strict=True):
                    for table, text in ((first, pair.first), (worse, pair.worse)):
                        if text:
                            fields = self._matched([(text, reference) for reference in pair.references], read)
                            table[index] = fields[_best_reference(fields, [len(fields)])[0]].double().cpu().numpy()
        return first, worse

    def _matched(self, compared: Sequence[Compared], read: dict[str, ReadText]) -> Tensor:
        """Return precision, recall and F1 (comparisons, 3) of the matching."""
        sides = [[read[both[side]] for both in compared] for side in (0, 1)]
        vectors = [_padded([text.vectors for text in side]) for side in sides]
        weights = _padded([text.weights for text in sides[0]]), _padded([text.weights for text in sides[1]])
        masks = [_padded([torch.ones_like(text.weights) for text in side]).bool() for side in sides]
        scores = self._matching.scores_of(vectors[0] @ vectors[1].mT, (masks[0], masks[1]), weights)
        return torch.stack([scores.precision, scores.recall, scores.f1], dim=-1)


def _by_file(fitted: Floats, expected: Floats, in_file: Floats) -> tuple[Floats, Floats]:
    """Return offsets and slopes (files,) with expected = offset + slope * fitted, by least squares.

    `in_file` (pairs, files) marks the rated pairs of each file; a file without any gets 0 and 1.
    """
    offsets, slopes = np.zeros(in_file.shape[1]), np.ones(in_file.shape[1])
    for file, of_file in enumerate(in_file.T > 0):
        if of_file.any():
            scores, ratings = fitted[of_file] - fitted[of_file].mean(), expected[of_file] - expected[of_file].mean()
            slopes[file] = np.clip(scores @ ratings / max(scores @ scores, 1e-9), *SLOPE_BOUNDS)
            offsets[file] = expected[of_file].mean() - slopes[file] * fitted[of_file].mean()
    return offsets, slopes


def _distance(read: ReadText, plain: ReadText) -> Tensor:
    """Return the mean over tokens of the squared distances of vectors and of the logarithms of weights."""
    ordinary = plain.weights > 0  # no special tokens
    vectors = ((read.vectors - plain.vectors)[ordinary] ** 2).sum(dim=-1)
    return (vectors + read.weights[ordinary].log() ** 2).mean()


def _good(pair: RatedPair) -> bool:
    """Return whether a pair is rated above the mean of its file: negating a bad text changes little."""
    return pair.similarity > 0


def _first_of_reference(pairs: Sequence[RatedPair], index: int) -> bool:
    """Return whether no earlier pair of the batch has the same reference."""
    return all(pair.second != pairs[index].second for pair in pairs[:index])


def _best_reference(fields: Tensor, counts: Sequence[int]) -> list[int]:
    """Return the row of the best reference (by F1) of each text; its rows are consecutive, `counts[i]` of them."""
    values, starts = fields[:, 2].detach(), np.cumsum([0, *counts]).tolist()
    return [start + int(values[start : start + count].argmax()) for start, count in zip(starts, counts, strict=False)]


def _by_length(pairs: Sequence[RatedPair], micro: int) -> Iterator[list[int]]:
    """Return indices of pairs sorted by length, in parts of `micro`."""
    order = sorted(range(len(pairs)), key=lambda index: (sum(map(len, pairs[index].texts)), index))
    return (order[start : start + micro] for start in range(0, len(order), micro))


def _padded(rows: Sequence[Tensor]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
