"""Everything the LiSAScore study measures with one model, in blocks of pairs, each a step that is stored.

In: a model, the pairs, a plan. Out: `ModelScores`: per pair lengths, end-token cosines, and precision, recall and F1
for every matching and padding, of true pairs, in-batch negatives and texts against themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evalign.core import Floats, Row
from evalign.encoders.base import EncodeOptions, Encoder
from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.matching.similarity import one_blas_thread, similarity
from evalign.research.studies.inputs import Arrays, Steps, StudyPairs, digest_of, model_identity, model_pin, sides
from evalign.research.studies.lisa.pair_scores import (
    ALGORITHMS,
    MAIN_ALGORITHMS,
    MASKED,
    PLAIN,
    ROW_MASK,
    SLOW,
    TARGETS,
    Padding,
    Pair,
    Side,
    matrices_of,
    score,
    scored_by_rounds,
    shares,
)
from evalign.stats.effect import derangement

POSITIVE, NEGATIVE, IDENTICAL, REPEATED = "positive", "negative", "identical", "repeated"
MIN_NEGATIVES = 2
RECIPE = 3  # raised when the same plan gives other numbers


@dataclass(frozen=True)
class LisaPlan:
    """Options of the measurements."""

    layer: str = "last"  # as in the paper's program
    widths: tuple[int, ...] = (128, 384)
    block: int = 25  # pairs whose second texts are exchanged among each other to make negatives
    published: int = 5  # pairs on which the published program is run as it is; its memory is cubic
    seed: int = 12345
    threads: int = 0


class Key(NamedTuple):
    """Key of a column of scores."""

    pair_type: str
    pairing: str
    algorithm: str
    padding: Padding = PLAIN

    def text(self) -> str:
        """As arrays are named in a file."""
        return "|".join([*self[:3], str(self.padding.width), self.padding.pads, str(self.padding.weight)])

    @classmethod
    def parse(cls, text: str) -> Key:
        """From what `text` gives."""
        pair_type, pairing, algorithm, width, pads, weight = text.split("|")
        return cls(pair_type, pairing, algorithm, Padding(int(width), pads, int(weight)))


@dataclass(frozen=True, eq=False)
class ModelScores:
    """One model's numbers, one row per pair in the order of the data."""

    model: str
    pin: str
    lengths: Mapping[str, Floats]  # pair_type -> (pairs, 2) tokens
    end_tokens: Mapping[tuple[str, str], Floats]  # pair_type, pairing -> cosines
    scores: Mapping[Key, Floats]  # -> (pairs, 3)
    parts: Mapping[Key, Floats]  # -> (pairs, PARTS)
    rounds: Mapping[Key, Floats]  # -> (pairs, rounds, ROUND_FIELDS)
    truncated: Mapping[int, int]  # width -> texts that were longer
    shares: Mapping[str, float]  # of the published program's cells that others select too
    missing: tuple[str, ...]

    def f1(self, key: Key) -> Floats | None:
        """F1 per pair, if it was measured."""
        return self.scores[key][:, 2] if key in self.scores else None


def measure(model: str, pairs: StudyPairs, plan: LisaPlan, steps: Steps, advance: Callable[[int], Any]) -> ModelScores:
    """All numbers of one model; stored steps are not computed again."""
    reader = _Reader(model, plan)
    key = {"study": "lisa", "recipe": RECIPE, "model": model_identity(model), "layer": plan.layer}
    problems = steps.values({**key, "step": "widths", "widths": plan.widths}, reader.impossible_widths)
    possible = tuple(width for width in plan.widths if not problems[str(width)])
    blocks = []
    for number, rows in enumerate(_blocks(pairs.rows, plan.block)):
        block = _Block(reader, rows, pairs.pair_types, possible, plan.seed + number)
        blocks.append(steps.arrays({**key, "step": "block", **block.identity}, block.measure))
        advance(len(rows))
    shared: Any = {}
    if possible:
        texts = sides(pairs.rows[: plan.published], pairs.pair_types[0])
        inputs = {"width": possible[0], "texts": digest_of(texts)}
        shared = steps.values({**key, "step": "published", **inputs}, lambda: _published(reader, texts, possible[0]))
    missing = tuple(f"{model}, padding to {width}: {why}" for width, why in problems.items() if why)
    return _joined(model, blocks, shared, missing)


@dataclass(frozen=True)
class _Reader:
    """A model's encoders, opened when the first text has to be read."""

    model: str
    plan: LisaPlan

    def encoder(self, width: int = 0) -> Encoder:
        """The model as it is, or truncating texts to a width."""
        reading = EncodeOptions("truncate", max_length=width) if width else EncodeOptions()
        choice = EncoderSpec(self.model, self.plan.layer, reading=reading, threads=self.plan.threads)
        return open_encoder(choice).encoder

    def impossible_widths(self) -> dict[str, str]:
        """By width, why texts cannot be padded to it; empty if they can."""
        problems = dict.fromkeys(map(str, self.plan.widths), "")
        for width in self.plan.widths:
            try:
                self.encoder(width).encode(["a"], pad_to=width)
            except ValueError as error:
                problems[str(width)] = str(error)
        return problems

    def read(
        self, texts: tuple[list[str], list[str]], width: int = 0, wider: Mapping[str, Side] | None = None
    ) -> dict[str, Side]:
        """The texts' vectors; with a width, with padding tokens up to it, which attention does not see.

        What was read with more padding before, and does not have to be cut, is not read again.
        """
        encoder = self.encoder(width)
        fitting = {text: side.first(width) for text, side in (wider or {}).items() if side.pads[width:].all()}
        distinct = [text for text in dict.fromkeys([*texts[0], *texts[1]]) if text not in fitting]
        lengths = [len(tokens) for tokens in encoder.tokenize(distinct)] if width else [None] * len(distinct)
        embedded = encoder.encode(distinct, pad_to=width) if width else encoder.encode(distinct)
        texts_read = zip(distinct, embedded, lengths, strict=True)
        return fitting | {text: Side.of(vectors, encoder, length) for text, vectors, length in texts_read}


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows, the types of pairs they have, and the widths to pad the first type to."""

    reader: _Reader
    rows: Sequence[Row]
    pair_types: tuple[str, ...]
    widths: tuple[int, ...]
    seed: int

    @property
    def identity(self) -> dict[str, Any]:
        """Return what decides the numbers, besides the model."""
        texts = {pair_type: sides(self.rows, pair_type) for pair_type in self.pair_types}
        return {"texts": digest_of(texts), "kinds": self.pair_types, "widths": self.widths, "seed": self.seed}

    def measure(self) -> Arrays:
        """Every number about these rows."""
        arrays: dict[str, Floats] = {}
        for pair_type in self.pair_types:
            arrays |= self._plain(pair_type)
        read: dict[str, Side] = {}
        for width in sorted(self.widths, reverse=True):
            read = self.reader.read(sides(self.rows, self.pair_types[0]), width, read)
            arrays |= self._padded(width, read)
        return arrays

    def _plain(self, pair_type: str) -> dict[str, Floats]:
        texts = sides(self.rows, pair_type)
        read = self.reader.read(texts)
        lengths = [[len(read[text].embedded.tokens) for text in pair] for pair in zip(*texts, strict=True)]
        arrays = {f"lengths|{pair_type}": np.array(lengths)}
        for pairing, pairs in self._pairings(pair_type, read):
            if pairing != IDENTICAL:
                arrays[f"end|{pair_type}|{pairing}"] = np.array([_end_cosine(pair) for pair in pairs])
            with one_blas_thread():
                matrices = matrices_of(pairs)
                for name, matching in ALGORITHMS.items():
                    arrays[Key(pair_type, pairing, name).text()] = score(matching, pairs, matrices)[0][0]
            if pairing != IDENTICAL:
                arrays |= self._rounds(Key(pair_type, pairing, ""), pairs)
        return arrays | self._repeated(pair_type)

    def _repeated(self, pair_type: str) -> dict[str, Floats]:
        """True pairs whose first text is said twice."""
        first, second = sides(self.rows, pair_type)
        twice = [f"{text} {text}" for text in first]
        read = self.reader.read((twice, second))
        pairs = [(read[text], read[reference]) for text, reference in zip(twice, second, strict=True)]
        with one_blas_thread():
            matrices = matrices_of(pairs)
            return {
                Key(pair_type, REPEATED, name).text(): score(ALGORITHMS[name], pairs, matrices)[0][0]
                for name in (*MAIN_ALGORITHMS, ROW_MASK)
            }

    def _rounds(self, key: Key, pairs: Sequence[Pair]) -> dict[str, Floats]:
        """Every recursion after 0, 1, 2, ... rounds."""
        with one_blas_thread():
            scored = scored_by_rounds(pairs, key.padding.weight)
        return {f"rounds|{key._replace(algorithm=name).text()}": values for name, values in scored.items()}

    def _padded(self, width: int, read: Mapping[str, Side]) -> dict[str, Floats]:
        pair_type = self.pair_types[0]
        truncated = sum(side.embedded.tokens.dropped > 0 for side in read.values())
        arrays: dict[str, Floats] = {f"cut|{width}": np.array([truncated])}
        for pairing, pairs in self._pairings(pair_type, read):
            unpadded = [(first.unpadded, second.unpadded) for first, second in pairs]
            if pairing == POSITIVE and width == min(self.reader.plan.widths):
                arrays |= self._rounds(Key(pair_type, pairing, "", Padding(width, TARGETS, 1)), pairs)
            with one_blas_thread():
                matrices, real_matrices = matrices_of(pairs), matrices_of(unpadded)
            for name, matching in ALGORITHMS.items():
                if width != min(self.reader.plan.widths) and (name in SLOW or _spared(pairing, name)):
                    continue
                masked, *targets = (
                    Key(pair_type, pairing, name, padding).text()
                    for padding in (Padding(width, MASKED), Padding(width, TARGETS, 0), Padding(width, TARGETS, 1))
                )
                with one_blas_thread():
                    if name in MAIN_ALGORITHMS or pairing == IDENTICAL:
                        arrays[masked] = score(matching, unpadded, real_matrices)[0][0]
                    scores, arrays[f"parts|{targets[1]}"] = score(matching, pairs, matrices, (0, 1))
                arrays |= dict(zip(targets, scores, strict=True))
        return arrays

    def _pairings(self, pair_type: str, read: Mapping[str, Side]) -> Iterator[tuple[str, list[Pair]]]:
        first, second = ([read[text] for text in texts] for texts in sides(self.rows, pair_type))
        yield POSITIVE, list(zip(first, second, strict=True))
        if len(first) >= MIN_NEGATIVES:
            order = derangement(len(first), self.seed)
            yield NEGATIVE, [(side, second[index]) for side, index in zip(first, order, strict=True)]
        if pair_type == self.pair_types[0]:
            yield IDENTICAL, [(side, side) for side in second]


def _spared(pairing: str, name: str) -> bool:
    """Return whether a matching is left out for large matrices; none is for true pairs."""
    return pairing != POSITIVE and name not in MAIN_ALGORITHMS


def _blocks(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """Equal parts of at least `size` rows, so that none is too small to have negatives."""
    for part in np.array_split(np.arange(len(rows)), max(1, len(rows) // size)):
        yield [rows[index] for index in part]


def _end_cosine(pair: Pair) -> float:
    """Return the cosine of both last tokens; NaN if the tokenizer does not end texts with a special token."""
    if not all(side.embedded.tokens.special[-1] for side in pair):
        return float("nan")
    first, second = (side.embedded.keep(np.arange(count := len(side.pads)) == count - 1) for side in pair)
    return float(similarity(first, second)[0, 0])


def _published(reader: _Reader, texts: tuple[list[str], list[str]], width: int) -> dict[str, float]:
    read = reader.read(texts, width)
    with one_blas_thread():
        pairs = zip(*texts, strict=True)
        return shares([similarity(read[first].embedded, read[second].embedded) for first, second in pairs])


def _joined(model: str, blocks: Sequence[Arrays], shared: Mapping[str, float], missing: tuple[str, ...]) -> ModelScores:
    """The blocks' arrays end to end, sorted by what their names begin with."""
    groups = ("lengths", "end", "parts", "cut", "rounds", "scores")
    arrays: dict[str, dict[str, Floats]] = {group: {} for group in groups}
    for name in blocks[0]:
        prefix, _, rest = name.partition("|")
        group, key = (prefix, rest) if prefix in arrays else ("scores", name)
        arrays[group][key] = np.concatenate([block[name] for block in blocks if name in block])
    if any(np.isnan(values).any() for values in arrays["end"].values()):
        missing += (f"{model}, end token: its tokenizer does not end a text with a special token",)
        arrays["end"] = {}
    keyed = {
        group: {Key.parse(name): values for name, values in arrays[group].items()}
        for group in ("scores", "parts", "rounds")
    }
    return ModelScores(
        model=model,
        pin=model_pin(model),
        lengths=arrays["lengths"],
        end_tokens={(name.rpartition("|")[0], name.rpartition("|")[2]): ends for name, ends in arrays["end"].items()},
        truncated={int(width): int(values.sum()) for width, values in arrays["cut"].items()},
        shares=shared,
        missing=missing,
        **keyed,
    )
