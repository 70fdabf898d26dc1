"""Metric `evalign`, the recommended recipe: layers, rare words, neighbours and characters, weighed once and shipped.

    rows -> one encoding pass -> features of every pair (evalign_features) -> weighted sum, 0 to 100, no more than 100
    times the F1 of one layer -> best reference

The weights were chosen on rated data by leaving out whole data sets (docs/recipe.md); nothing is trained at run time.
A file of another recipe, made by benchmarks/recipe.py, can be given instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import ClassVar, Self

import numpy as np

from evalign.encoders.base import Reading
from evalign.encoders.batching import TOKEN_BUDGET
from evalign.encoders.loading import EncoderChoice, open_encoder
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.encoders.windows import POLICIES
from evalign.errors import SpecError, TableError
from evalign.matching.aggregate import f1
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.blas import one_blas_thread
from evalign.metrics.evalign_features import Looker, Text, said_once
from evalign.metrics.features import bounded
from evalign.metrics.learned_file import LearnedFile
from evalign.metrics.options import execution_option, option
from evalign.metrics.signature import Signature
from evalign.metrics.token_metric import is_stream
from evalign.types import Floats, Row, Segment
from evalign.version import __version__

MODELS = ("minilm", "mpnet")
SHOWN_DIGITS = 8
ROUNDING = 1e-4  # a text against itself has an F1 of nearly 1


@dataclass(frozen=True)
class Evalign(Metric):
    """A weighted sum of what every layer says about a pair: 100 is the reference itself, unrelated text 10 to 20."""

    name: ClassVar[str] = "evalign"
    about: ClassVar[str] = "the recommended recipe: layers, rare words and characters weighed to agree with people"
    fields: ClassVar[tuple[str, ...]] = ("score",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    worst: ClassVar[float] = 0.0
    explainer: ClassVar[str] = "terms:explain_weighed"

    model: str = option("minilm", "whose recipe", MODELS)
    file: str = option("", "another recipe than the one that ships for the model")
    overlong: str = option("window", "what happens to a text longer than the model reads", POLICIES)
    threads: int = execution_option(0, "threads of the encoder; 0: one per core")
    token_budget: int = execution_option(TOKEN_BUDGET, "tokens per batch")

    def content(self) -> LearnedFile:
        """The recipe."""
        return LearnedFile.load(self.file) if self.file else shipped(self.model)

    def scorer(self, rows: Iterable[Row] | None = None) -> EvalignScorer:
        """Loads the encoder, and refuses weights that the recipe was not made for."""
        content = self.content()
        try:
            model, layers = str(content.trained["encoder"]), [int(layer) for layer in content.trained["layers"]]
            commonest = int(content.trained["commonest"])
            _tuned(content)
        except (KeyError, TypeError, ValueError) as error:
            raise TableError(
                f"file={self.file}: a learned metric, but no recipe ({error}); use learned(file=...)"
            ) from error
        reading = Reading(self.overlong, token_budget=self.token_budget)
        choice = EncoderChoice(model, "+".join(map(str, layers)), reading=reading, threads=self.threads)
        return EvalignScorer(self, content, open_encoder(choice), commonest, is_stream(rows))

    def limit(self, content: LearnedFile, values: Floats) -> float:
        """The most that a pair with these features can get: the F1 of one layer, on the scale of the scores."""
        return float(limit(content, values[None])[0])

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The recipe that ships, if the numbers are its numbers."""
        said = signature.settings
        overlong = said.get("overlong", "window")
        for model in MODELS:
            content = shipped(model)
            made = _settings(content, content.terms[0].signature, content.trained["layers"], overlong, "fp32")
            if {**made, "v": ""} == {**said, "v": ""}:
                return cls(model=model, overlong=overlong)
        raise SpecError(f"{signature}: no recipe that ships here; write evalign(file=...)")


Recipe = Evalign  # its former name


class EvalignScorer(Scorer):
    """A recipe with its encoder loaded."""

    def __init__(
        self, metric: Evalign, content: LearnedFile, memory: EmbeddingMemory, commonest: int, streaming: bool = False
    ) -> None:
        self.content, self.memory, self.commonest, self.streaming = content, memory, commonest, streaming
        encoder = memory.encoder
        for term in content.terms:
            if term.signature != encoder.name:
                raise TableError(
                    f"this recipe was made for {term.signature}, but the model here is {encoder.name}: "
                    "get those weights (evalign models get), or make a recipe of your own"
                )
        self.look = Looker([term.feature for term in content.terms], encoder.layers)
        self.signature = Signature(
            metric.name, _settings(content, encoder.name, encoder.layers, metric.overlong, encoder.precision)
        )

    def score(self, rows: list[Row]) -> list[Segment]:
        """The best score over each row's references."""
        return [segment for block in bounded(rows) for segment in self._block(block)]

    def features(self, row: Row) -> Floats:
        """What the sum is made of, in the order of the recipe's terms; for the first reference."""
        encoded = self.memory.encode([row.candidate, row.references[0]])
        return self.look(*(Text(encoded[text], self.commonest) for text in (row.candidate, row.references[0])))

    def settle(self) -> None:
        """The encoder's memory is all there is to take."""
        self.memory.encoder.settle()

    def _block(self, rows: Sequence[Row]) -> Iterator[Segment]:
        references = list(dict.fromkeys(text for row in rows for text in row.references))
        encoded = self.memory.encode(
            [*(row.candidate for row in rows), *references], keep=references, at_once=not self.streaming
        )
        texts = {text: Text(one, self.commonest) for text, one in encoded.items()}
        with one_blas_thread():
            pairs = [(texts[row.candidate], texts[text]) for row in rows for text in row.references]
            looked = [self.look(*pair) for pair in pairs]
        kept = np.array([said_once(*pair) for pair in pairs])
        scores = iter((weighed(self.content, np.stack(looked)) * kept).tolist() if looked else [])
        for row in rows:
            sides = {text: texts[text] for text in (row.candidate, *row.references)}
            full = [(next(scores), not (sides[row.candidate].empty or sides[text].empty)) for text in row.references]
            counts: dict[str, int] = {}
            for side in sides.values():
                for flag, count in side.embedded.tokens.counts.items():
                    counts[flag] = counts.get(flag, 0) + count
            best = max((score for score, compared in full if compared), default=Evalign.worst)
            yield Segment(row.id, {"score": best}, counts)


def weighed(content: LearnedFile, values: Floats) -> Floats:
    """(pairs, features) -> (pairs,): the weighted sum, but no more than `limit`."""
    return np.minimum(content.predict(values), limit(content, values))


def limit(content: LearnedFile, values: Floats) -> Floats:
    """The F1 of the tuned layer, on the recipe's scale: of a word or two, free weights can add up to anything."""
    precision, recall = _tuned(content)
    return np.asarray(content.high * np.minimum(1, f1(values[:, precision], values[:, recall]) * (1 + ROUNDING)))


@cache
def shipped(model: str) -> LearnedFile:
    """The recipe in the package."""
    file = resources.files("evalign.metrics").joinpath("recipes", f"{model}.json")
    try:
        return LearnedFile.parse(file.name, file.read_bytes())
    except (OSError, TableError) as error:
        raise TableError(
            f"the recipe that ships for {model} cannot be used ({error}): install evalign again"
        ) from error


def _tuned(content: LearnedFile) -> tuple[int, int]:
    """Where precision and recall of the encoder's tuned layer stand among the features."""
    names = [term.feature for term in content.terms]
    layer = content.trained["tuned"]
    return names.index(f"precision@{layer}"), names.index(f"recall@{layer}")


def _settings(
    content: LearnedFile, encoder: str, layers: Sequence[int], overlong: str, precision: str
) -> dict[str, str]:
    """What a signature says of a recipe."""
    return {
        "model": encoder,
        "file": content.digest[:SHOWN_DIGITS],
        "layers": "+".join(map(str, layers)),
        "multiref": "max",
        "overlong": overlong,
        "prec": precision,
        "v": __version__,
    }
