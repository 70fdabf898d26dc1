"""Everything the LiSAScore study measures with one model, block by block of pairs, each block a step that is kept.

In: a model, the chosen rows, a plan. Out: `ModelScores`: per pair lengths, end-token cosines, and precision, recall and
F1 for every matching and treatment of padding, of true pairs, in-batch negatives and texts against themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evalign.encoders.base import Encoder, Reading
from evalign.encoders.digest import file_digest
from evalign.encoders.loading import FAKE, EncoderChoice, open_encoder
from evalign.encoders.locating import locate
from evalign.matching.similarity import similarity
from evalign.metrics.blas import one_blas_thread
from evalign.stats.effect import derangement
from evalign.studies.lisa.matchings import ALGORITHMS, EXACT, GREEDY, PUBLISHED, RECURSIVE
from evalign.studies.lisa.padding import MASKED, PLAIN, TARGETS, Pair, Setting, Side, score
from evalign.studies.lisa.published_recursion import shares
from evalign.studies.pair_selection import Chosen, sides
from evalign.studies.step_cache import Arrays, Steps, digest_of
from evalign.types import Embedded, Floats, Row

POSITIVE, NEGATIVE, IDENTICAL = "positive", "negative", "identical"
FEW = (GREEDY, EXACT, RECURSIVE, PUBLISHED)  # where matrices are large: the others take ten times as long
FEWEST_NEGATIVES = 2
RECIPE = 2  # raised when the same plan gives other numbers
BESIDE = ("config.json", "tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True)
class Plan:
    """What decides the numbers beside models and data."""

    layer: str = "last"  # as in the paper's program
    widths: tuple[int, ...] = (128, 384)
    block: int = 25  # pairs whose second texts are exchanged among each other to make negatives
    published: int = 5  # pairs on which the published program is run as it is; its memory is cubic
    seed: int = 12345
    threads: int = 0


class Key(NamedTuple):
    """What a column of scores is about."""

    kind: str
    pairing: str
    algorithm: str
    setting: Setting = PLAIN

    def text(self) -> str:
        """As arrays are named in a file."""
        return "|".join([*self[:3], str(self.setting.width), self.setting.pads, str(self.setting.weight)])

    @classmethod
    def parse(cls, text: str) -> Key:
        """The key behind such a name."""
        kind, pairing, algorithm, width, pads, weight = text.split("|")
        return cls(kind, pairing, algorithm, Setting(int(width), pads, int(weight)))


@dataclass(frozen=True, eq=False)
class ModelScores:
    """One model's numbers, one row per pair in the order of the data."""

    model: str
    pin: str
    lengths: Mapping[str, Floats]  # kind -> (pairs, 2) tokens
    end_tokens: Mapping[tuple[str, str], Floats]  # kind, pairing -> cosines
    scores: Mapping[Key, Floats]  # -> (pairs, 3)
    parts: Mapping[Key, Floats]  # -> (pairs, PARTS)
    truncated: Mapping[int, int]  # width -> texts that were longer
    shares: Mapping[str, float]  # of the published program's cells that others select too
    missing: tuple[str, ...]

    @property
    def name(self) -> str:
        """The model's own name."""
        return self.pin.partition("@")[0]

    def f1(self, key: Key) -> Floats | None:
        """F1 per pair, if it was measured."""
        found = self.scores.get(key)
        return None if found is None else found[:, 2]


def model_identity(model: str) -> str:
    """Weights, configuration and tokenizer by their contents, for the keys of steps."""
    if model == FAKE:
        return FAKE
    located = locate(model)
    beside = (located.directory / name for name in BESIDE)
    return digest_of([located.sha256, *(file_digest(file) for file in beside if file.is_file())])


def model_pin(model: str) -> str:
    """As signatures show the model."""
    return "fake@00000000" if model == FAKE else locate(model).pinned


def measure(model: str, chosen: Chosen, plan: Plan, steps: Steps, advance: Callable[[int], Any]) -> ModelScores:
    """All numbers of one model; steps that are kept are not made again."""
    reader = _Reader(model, plan)
    key = {"study": "lisa", "recipe": RECIPE, "model": reader.identity, "layer": plan.layer}
    widths = steps.values({**key, "step": "widths", "widths": plan.widths}, reader.impossible_widths)
    possible = tuple(width for width in plan.widths if not widths[str(width)])
    blocks = []
    for number, rows in enumerate(_blocks(chosen.rows, plan.block)):
        block = _Block(reader, rows, chosen.kinds, possible, plan.seed + number)
        blocks.append(steps.arrays({**key, "step": "block", **block.identity}, block.measure))
        advance(len(rows))
    shared: Any = {}
    if possible:
        texts = sides(chosen.rows[: plan.published], chosen.kinds[0])
        given = {"width": possible[0], "texts": digest_of(texts)}
        shared = steps.values({**key, "step": "published", **given}, lambda: _published(reader, texts, possible[0]))
    missing = tuple(f"{model}, padding to {width}: {why}" for width, why in widths.items() if why)
    return _together(reader, blocks, shared, missing)


class _Reader:
    """A model's encoders, opened when the first text has to be read."""

    def __init__(self, model: str, plan: Plan) -> None:
        self.model = model
        self.plan = plan

    @cached_property
    def identity(self) -> str:
        """Weights, configuration and tokenizer by their contents."""
        return model_identity(self.model)

    @cached_property
    def pin(self) -> str:
        """As signatures show the model."""
        return model_pin(self.model)

    def encoder(self, width: int = 0) -> Encoder:
        """The model as it is, or cutting texts to a width."""
        reading = Reading("truncate", max_length=width) if width else Reading()
        choice = EncoderChoice(self.model, self.plan.layer, reading=reading, threads=self.plan.threads)
        return open_encoder(choice).encoder

    def impossible_widths(self) -> dict[str, str]:
        """Why texts cannot be padded to a width; empty if they can."""
        return {str(width): self._impossible(width) for width in self.plan.widths}

    def _impossible(self, width: int) -> str:
        try:
            self.encoder(width).encode(["a"], pad_to=width)
        except ValueError as error:
            return str(error)
        return ""

    def plain(self, texts: Sequence[str]) -> dict[str, Side]:
        """Texts without padding."""
        encoder = self.encoder()
        distinct = list(dict.fromkeys(texts))
        return {text: Side.of(one, encoder) for text, one in zip(distinct, encoder.encode(distinct), strict=True)}

    def padded(self, texts: Sequence[str], width: int) -> dict[str, Side]:
        """Texts with padding tokens up to the width, the attention mask kept."""
        encoder = self.encoder(width)
        distinct = list(dict.fromkeys(texts))
        lengths = map(len, encoder.tokenize(distinct))
        found = zip(distinct, encoder.encode(distinct, pad_to=width), lengths, strict=True)
        return {text: Side.of(one, encoder, length) for text, one, length in found}


@dataclass(frozen=True, eq=False)
class _Block:
    """Some rows, the kinds of pairs they make, and the widths to pad the first kind to."""

    reader: _Reader
    rows: Sequence[Row]
    kinds: tuple[str, ...]
    widths: tuple[int, ...]
    seed: int

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the numbers beside the model."""
        texts = {kind: sides(self.rows, kind) for kind in self.kinds}
        return {"texts": digest_of(texts), "kinds": self.kinds, "widths": self.widths, "seed": self.seed}

    def measure(self) -> Arrays:
        """Every number about these rows."""
        arrays: dict[str, Floats] = {}
        for kind in self.kinds:
            arrays |= self._plain(kind)
        for width in self.widths:
            arrays |= self._padded(width)
        return arrays

    def _plain(self, kind: str) -> dict[str, Floats]:
        first, second = sides(self.rows, kind)
        read = self.reader.plain([*first, *second])
        lengths = [[len(read[text].embedded.tokens) for text in pair] for pair in zip(first, second, strict=True)]
        arrays = {f"lengths|{kind}": np.array(lengths)}
        for pairing, pairs in self._pairings(kind, read):
            if pairing != IDENTICAL:
                arrays[f"end|{kind}|{pairing}"] = np.array([_end_cosine(pair) for pair in pairs])
            for name, matching in ALGORITHMS.items():
                with one_blas_thread():
                    found, _ = score(matching, pairs)
                arrays[Key(kind, pairing, name).text()] = found[0]
        return arrays

    def _padded(self, width: int) -> dict[str, Floats]:
        kind = self.kinds[0]
        first, second = sides(self.rows, kind)
        read = self.reader.padded([*first, *second], width)
        cut = sum(side.embedded.tokens.dropped > 0 for side in read.values())
        arrays: dict[str, Floats] = {f"cut|{width}": np.array([cut])}
        for pairing, pairs in self._pairings(kind, read):
            unpadded = [(one.unpadded, other.unpadded) for one, other in pairs]
            for name, matching in ALGORITHMS.items():
                if name not in FEW and width != min(self.reader.plan.widths):
                    continue
                with one_blas_thread():
                    masked, _ = score(matching, unpadded)
                    found, parts = score(matching, pairs, (0, 1))
                arrays[Key(kind, pairing, name, Setting(width, MASKED)).text()] = masked[0]
                for weight in (0, 1):
                    arrays[Key(kind, pairing, name, Setting(width, TARGETS, weight)).text()] = found[weight]
                arrays[f"parts|{Key(kind, pairing, name, Setting(width, TARGETS, 1)).text()}"] = parts
        return arrays

    def _pairings(self, kind: str, read: Mapping[str, Side]) -> Iterator[tuple[str, list[Pair]]]:
        first, second = sides(self.rows, kind)
        yield POSITIVE, [(read[one], read[other]) for one, other in zip(first, second, strict=True)]
        if len(first) >= FEWEST_NEGATIVES:
            order = derangement(len(first), self.seed)
            yield NEGATIVE, [(read[one], read[second[other]]) for one, other in zip(first, order, strict=True)]
        if kind == self.kinds[0]:
            yield IDENTICAL, [(read[text], read[text]) for text in second]


def _blocks(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """Equal parts of at least `size` rows: none may be too small to have negatives."""
    for places in np.array_split(np.arange(len(rows)), max(1, len(rows) // size)):
        yield [rows[place] for place in places]


def _end_cosine(pair: Pair) -> float:
    """Of the vectors of both last tokens; NaN if the tokenizer does not end a text with a special token."""
    if not all(side.embedded.tokens.special[-1] for side in pair):
        return float("nan")
    return float(similarity(_last(pair[0]), _last(pair[1]))[0, 0])


def _last(side: Side) -> Embedded:
    count = len(side.embedded.tokens)
    return side.embedded.keep(np.arange(count) == count - 1)


def _published(reader: _Reader, texts: tuple[list[str], list[str]], width: int) -> dict[str, float]:
    read = reader.padded([*texts[0], *texts[1]], width)
    with one_blas_thread():
        matrices = [similarity(read[one].embedded, read[two].embedded) for one, two in zip(*texts, strict=True)]
        return shares(matrices)


def _together(
    reader: _Reader, blocks: Sequence[Arrays], shared: Mapping[str, float], missing: tuple[str, ...]
) -> ModelScores:
    lengths: dict[str, Floats] = {}
    ends: dict[tuple[str, str], Floats] = {}
    scores: dict[Key, Floats] = {}
    parts: dict[Key, Floats] = {}
    truncated: dict[int, int] = {}
    for name in blocks[0]:
        values = np.concatenate([block[name] for block in blocks if name in block])
        what, _, rest = name.partition("|")
        if what == "lengths":
            lengths[rest] = values
        elif what == "end":
            kind, _, pairing = rest.rpartition("|")
            ends[kind, pairing] = values
        elif what == "parts":
            parts[Key.parse(rest)] = values
        elif what == "cut":
            truncated[int(rest)] = int(values.sum())
        else:
            scores[Key.parse(name)] = values
    if any(np.isnan(values).any() for values in ends.values()):
        missing += (f"{reader.model}, end token: its tokenizer does not end a text with a special token",)
        ends = {}
    return ModelScores(reader.model, reader.pin, lengths, ends, scores, parts, truncated, shared, missing)
