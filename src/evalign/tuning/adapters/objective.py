"""The score that a metric will give, held against ratings: rated pairs in, gradients through the matching out.

    score = output layer of (P, R, F1) of one similarity matrix, layers averaged, tokens weighed by importance

A rated pair costs weight * (slope * score + offset - rating)^2, both of its file, with the best of several references;
an ordered one weight * log(1 + exp(worse - better)). Texts of other pairs, damaged copies and opposites cost
weight * (score - ceiling)^2 above a ceiling, and teach the encoder and the importance only. Anchor texts cost the
squared distance by which their token vectors and importance moved. Every term belongs to one pair, so that the parts of
a batch add up to the whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evalign.encoders.adapter import UNRELATED, OutputLayer
from evalign.errors import InputError
from evalign.losses import AlignmentLoss
from evalign.matching.soft import DEFAULTS
from evalign.tuning.adapters.damage import damaged
from evalign.tuning.adapters.opposites import answered, opposite
from evalign.tuning.adapters.settings import AdapterSettings
from evalign.tuning.rated_pairs import RatedPair
from evalign.tuning.trainee import torch
from evalign.types import Floats

if TYPE_CHECKING:
    from evalign.tuning.adapters.trainee import AdapterTrainee, ReadText

Tensor = torch.Tensor
FITTED = 500  # pairs that the output layer is fitted to before the first step: it has four numbers
SMALLEST = 0.02  # of a fitted weight: one of 0 would hardly move
SLOPES = 0.2, 5.0  # bounds of a file's slope before the first step
LONGEST_OPPOSED = 25  # words: of a longer text, one negated verb changes a part
VERSION = 5  # of the losses: grows when the same pairs would cost something else
ANCHOR = 3.0  # what an anchor text costs whose tokens moved by 1, squared
ANCHORED = 4  # pairs of a batch for each anchor text
TOGETHER = 4  # pairs of a reference that follow each other; more would make the pairs of a batch too alike
Compared = tuple[str, str]  # candidate and reference


@dataclass(frozen=True, slots=True)
class Held:
    """Two texts whose score costs weight * (score - ceiling)^2 above a ceiling.

    The ceiling is UNRELATED + share * (score of a pair - UNRELATED) - drop.
    """

    texts: Compared
    weight: float
    share: float = 0.0
    drop: float = 0.0
    of: int | None = None  # the place of that pair in its part; None: a text with itself


class MatchingObjective:
    """What a batch of pairs costs an adapter."""

    def __init__(self, trainee: AdapterTrainee, settings: AdapterSettings) -> None:
        self._trainee, self._settings = trainee, settings
        self._matching = AlignmentLoss(settings.matching, DEFAULTS)

    def begin(self, pairs: Sequence[RatedPair], micro: int) -> None:
        """Fits the output layer to the untrained fields, by least squares without negative weights.

        Every file has a zero and a slope of its own: the average translation is closer to its reference than the
        average pair of sentences to each other, whatever their ratings, and a deviation of its ratings is a smaller
        step. The first file's are 0 and 1: scores are on its scale. Fields are standardised first. Without this start,
        the first steps would move the encoder to mend the scale.
        """
        from scipy.optimize import nnls

        sample = pairs[:: -(-len(pairs) // FITTED)]
        first, worse = self._fields(sample, micro)
        means, scales = first.mean(axis=0), first.std(axis=0)
        if self._settings.symmetric:
            scales[:2] = scales[:2].mean()
        if not (scales > 1e-9).all():
            raise InputError("all pairs score the same before training: nothing can be learned from these texts")
        weights = np.sqrt([pair.weight for pair in sample])
        ordered = np.array([bool(pair.worse) for pair in sample])
        ratings = np.array([pair.similarity for pair in sample])
        own = np.eye(len(self._trainee.raw_offsets))[[pair.file for pair in sample]] * ~ordered[:, None]
        standard = np.where(ordered[:, None], first - worse, first - means) / scales
        wanted = np.where(ordered, 1.0, ratings)
        places = list(self._settings.weight_of_field)
        added = standard @ np.eye(1 + max(places))[places]  # fields of the same weight
        columns = np.concatenate([added, own, -own], axis=1)  # a file's zero may lie on either side
        fitted = nnls(columns * weights[:, None], wanted * weights)[0]
        of_fields = np.maximum(fitted[places], SMALLEST)
        offsets, slopes = _by_file(standard @ of_fields, wanted, own)
        of_fields, slopes = of_fields * slopes[0], slopes / slopes[0]  # the first file sets the scale of scores
        lists = [tuple(map(float, values)) for values in (means, scales, of_fields)]
        output = OutputLayer(lists[0], lists[1], lists[2], float(offsets[0]))
        self._trainee.start_output(output, offsets - slopes * offsets[0], slopes)

    def order(self, pairs: Sequence[RatedPair], source: np.random.Generator) -> Sequence[int]:
        """Any order of runs of up to TOGETHER pairs with the same reference, which a batch then reads once."""
        by_reference: dict[str, list[list[int]]] = {}
        for place in source.permutation(len(pairs)).tolist():
            runs = by_reference.setdefault(pairs[place].second, [[]])
            if len(runs[-1]) == TOGETHER:
                runs.append([])
            runs[-1].append(place)
        runs = [run for own in by_reference.values() for run in own]
        return [place for number in source.permutation(len(runs)).tolist() for place in runs[number]]

    def add_gradients(self, pairs: Sequence[RatedPair], micro: int, seed: Sequence[int]) -> float:
        """Part by part; the loss is the mean over the batch, NaN where weights or vectors are no longer finite."""
        torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]))  # gumbel forms draw
        total = 0.0
        for start in range(0, len(pairs), micro):
            try:
                loss = self._loss(pairs, range(start, min(start + micro, len(pairs))), seed) / len(pairs)
            except InputError:  # of the matching, about what it was given
                return math.nan
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        return total

    def compared(self, pairs: Sequence[RatedPair], micro: int) -> tuple[Floats, Floats]:
        """Scores and ratings; of an ordered pair, both texts' distances from their middle, for 1 and -1."""
        try:
            fields = self._fields(pairs, micro)
        except InputError:  # as above: training has diverged
            return np.full(len(pairs), np.nan), np.zeros(len(pairs))
        first, worse = (self._trainee.output()(values) for values in fields)
        with torch.no_grad():
            rated = self._trainee.ratings(torch.from_numpy(first), [pair.file for pair in pairs]).tolist()
        said, wanted = [], []
        for pair, own, other, rating in zip(pairs, first.tolist(), worse.tolist(), rated, strict=True):
            half = (own - other) / 2
            said += [half, -half] if pair.worse else [rating]
            wanted += [1.0, -1.0] if pair.worse else [pair.similarity]
        return np.array(said), np.array(wanted)

    def _loss(self, pairs: Sequence[RatedPair], part: range, seed: Sequence[int]) -> Tensor:
        """The sum of what the pairs of a part cost; the whole batch lends them references."""
        held = self._held_down(pairs, part, seed)
        chosen = [pairs[place] for place in part] + self._both_opposed(pairs, part)
        texts = [text for pair in chosen for text in pair.texts] + [text for down in held for text in down.texts]
        read = self._trainee.read(texts)
        judged = [(pair.first, pair.references) for pair in chosen]
        judged += [(pair.worse, pair.references) for pair in chosen if pair.worse]
        compared = [(text, reference) for text, others in judged for reference in others]
        fields = self._matched(compared + [down.texts for down in held], read)
        picks = _best(fields, [len(others) for _, others in judged])
        scores = self._trainee.scores(fields[picks])
        below = iter(scores[len(chosen) : len(judged)])
        rated = self._trainee.ratings(scores[: len(chosen)], [pair.file for pair in chosen])
        terms = [
            pair.weight * torch.nn.functional.softplus(next(below) - score)
            if pair.worse
            else pair.weight * (rating - pair.similarity) ** 2
            for pair, score, rating in zip(chosen, scores, rated, strict=False)
        ]
        own, itself = scores.detach(), self._trainee.scores(torch.ones_like(fields[:1]))[0].detach()
        held_scores = self._trainee.scores(fields[len(compared) :], learning=False)  # or all scores would be held down
        for down, score in zip(held, held_scores, strict=True):
            whole = itself if down.of is None else own[down.of]
            ceiling = UNRELATED + down.share * (whole - UNRELATED) - down.drop
            terms.append(down.weight * (score - ceiling).clamp(min=0) ** 2)
        return torch.stack([*terms, *self._moved(part, seed)]).sum()

    def _moved(self, part: range, seed: Sequence[int]) -> list[Tensor]:
        """What anchor texts cost: one of them, drawn by the seed, for every ANCHORED pairs."""
        anchors = self._trainee.anchors
        drawn = [np.random.default_rng([*seed, place, 1]).integers(len(anchors))
                 for place in part if anchors and place % ANCHORED == 0]  # fmt: skip
        texts = [anchors[place] for place in drawn]
        read, plain = self._trainee.read(texts), self._trainee.read_plain(texts)
        return [ANCHOR * _distance(read[text], plain[text]) for text in texts]

    def _held_down(self, pairs: Sequence[RatedPair], part: range, seed: Sequence[int]) -> list[Held]:
        """What must not score above a ceiling.

        Each pair borrows from the next one in the batch with other texts; of the pairs of a reference one is damaged.
        """
        held: list[Held] = []
        for number, place in enumerate(part):
            pair, following = pairs[place], (*pairs[place + 1 :], *pairs[:place])
            other = next((other for other in following if not set(pair.texts) & set(other.texts)), None)
            if self._settings.negatives and other:
                held.append(Held((pair.first, other.second), pair.weight * self._settings.negatives))
            if self._settings.damage and other and _first_of_reference(pairs, place):
                copy = damaged(pair.first, other.second, np.random.default_rng([*seed, place]))
                if copy:
                    texts = (copy.text, pair.second)
                    held.append(Held(texts, pair.weight * self._settings.damage, 1.0, copy.drop, number))
            held += self._opposed(pairs, place, number)
        return held

    def _opposed(self, pairs: Sequence[RatedPair], place: int, number: int) -> list[Held]:
        """The reference, or a yes before it, with its own opposite; one text of a good pair with that of the other."""
        pair, (candidate, reference) = pairs[place], self._opposites(pairs, place)
        itself = answered(reference, pair.second) if reference and place % 2 else (reference, pair.second)
        compared: list[tuple[Compared, int | None]] = [(itself, None)]
        if _good(pair):
            compared += [((candidate, pair.second), number), ((pair.first, reference), number)]
        if not place and self._settings.opposites:
            compared.append((answered("", ""), None))
        weight = pair.weight * self._settings.opposites
        return [Held(texts, weight, self._settings.kept, of=whole) for texts, whole in compared if all(texts)]

    def _both_opposed(self, pairs: Sequence[RatedPair], part: range) -> list[RatedPair]:
        """Pairs of which both texts were turned into their opposites: as good as before."""
        found = [(pairs[place], *self._opposites(pairs, place)) for place in part]
        return [
            replace(pair, first=candidate, second=reference, others=(), weight=pair.weight * self._settings.opposites)
            for pair, candidate, reference in found
            if candidate and reference and not pair.worse
        ]

    def _opposites(self, pairs: Sequence[RatedPair], place: int) -> tuple[str, str]:
        """The opposites of a good candidate and of the reference, once per reference; empty where there is none."""
        pair = pairs[place]
        if not self._settings.opposites or not _first_of_reference(pairs, place):
            return "", ""
        texts = (pair.first if _good(pair) else "", pair.second)
        short = (text if len(text.split()) <= LONGEST_OPPOSED else "" for text in texts)
        first, second = (opposite(text) or "" for text in short)
        return first, second

    def _fields(self, pairs: Sequence[RatedPair], micro: int) -> tuple[Floats, Floats]:
        """(pairs, 3) of the best reference, and of the worse text where there is one (else 0), without gradient."""
        torch.manual_seed(0)
        first, worse = np.zeros((len(pairs), 3)), np.zeros((len(pairs), 3))
        for part in _by_length(pairs, micro):
            chosen = [pairs[place] for place in part]
            with torch.no_grad():
                read = self._trainee.read([text for pair in chosen for text in pair.texts])
                for place, pair in zip(part, chosen, strict=True):
                    for table, text in ((first, pair.first), (worse, pair.worse)):
                        if text:
                            fields = self._matched([(text, reference) for reference in pair.references], read)
                            table[place] = fields[_best(fields, [len(fields)])[0]].double().cpu().numpy()
        return first, worse

    def _matched(self, compared: Sequence[Compared], read: dict[str, ReadText]) -> Tensor:
        """(comparisons, 3): precision, recall, F1 of the matching."""
        sides = [[read[both[side]] for both in compared] for side in (0, 1)]
        vectors = [_padded([text.vectors for text in side]) for side in sides]
        weights = _padded([text.weights for text in sides[0]]), _padded([text.weights for text in sides[1]])
        masks = [_padded([torch.ones_like(text.weights) for text in side]).bool() for side in sides]
        scores = self._matching.scores_of(vectors[0] @ vectors[1].mT, (masks[0], masks[1]), weights)
        return torch.stack([scores.precision, scores.recall, scores.f1], dim=-1)


def _by_file(fitted: Floats, wanted: Floats, own: Floats) -> tuple[Floats, Floats]:
    """Offsets and slopes (files,) with wanted = offset + slope * fitted, by least squares.

    `own` (pairs, files) marks the rated pairs of each file; one without any gets 0 and 1.
    """
    offsets, slopes = np.zeros(own.shape[1]), np.ones(own.shape[1])
    for file, of_file in enumerate(own.T > 0):
        if of_file.any():
            scores, ratings = fitted[of_file] - fitted[of_file].mean(), wanted[of_file] - wanted[of_file].mean()
            slopes[file] = np.clip(scores @ ratings / max(scores @ scores, 1e-9), *SLOPES)
            offsets[file] = wanted[of_file].mean() - slopes[file] * fitted[of_file].mean()
    return offsets, slopes


def _distance(read: ReadText, plain: ReadText) -> Tensor:
    """The mean, over tokens, of the squared distances of vectors and of the logarithms of weights."""
    own = plain.weights > 0  # all but special tokens
    vectors = ((read.vectors - plain.vectors)[own] ** 2).sum(dim=-1)
    return (vectors + read.weights[own].log() ** 2).mean()


def _good(pair: RatedPair) -> bool:
    """Rated above the mean of its file: of a text that is wrong anyway, one negation says little."""
    return pair.similarity > 0


def _first_of_reference(pairs: Sequence[RatedPair], place: int) -> bool:
    """Whether no earlier pair of the batch has the same reference."""
    return all(pair.second != pairs[place].second for pair in pairs[:place])


def _best(fields: Tensor, counts: Sequence[int]) -> list[int]:
    """Places of the reference with the highest F1 for each text, which is compared with so many one after the other."""
    values, starts = fields[:, 2].detach(), np.cumsum([0, *counts]).tolist()
    return [start + int(values[start : start + count].argmax()) for start, count in zip(starts, counts, strict=False)]


def _by_length(pairs: Sequence[RatedPair], micro: int) -> Iterator[list[int]]:
    """Places of pairs of like length, so many at a time."""
    order = sorted(range(len(pairs)), key=lambda place: (sum(map(len, pairs[place].texts)), place))
    return (order[start : start + micro] for start in range(0, len(order), micro))


def _padded(rows: Sequence[Tensor]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
