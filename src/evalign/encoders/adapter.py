"""Adapters: what `evalign train --adapter` learned beside an encoder's weights, read from a folder without torch.

    adapter.safetensors   {linear layer}.down (rank, inputs) and .up (outputs, rank): its weight W becomes W + up down;
                          importance (layers, width): a token weighs exp(sum over layers of importance . unit vector)
    adapter.json          the sha256 of the base weights and of these, the layers, the output layer, how it was trained

adapter.json is signed by the sha256 of its content. A folder that is torn, or was changed by hand, is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from evalign.atomic_files import whole_file
from evalign.encoders.digest import content_digest
from evalign.encoders.locating import Located
from evalign.encoders.pinned_models import known_by_digest
from evalign.encoders.safetensors_headers import TensorPlace
from evalign.errors import EvalignError, LayerError, WeightsError
from evalign.types import Embedded, Floats

FORMAT, VERSION = "evalign-adapter", 1
TENSORS, INDEX = "adapter.safetensors", "adapter.json"
IMPORTANCE = "importance"
FIELDS = ("precision", "recall", "f1")  # what the output layer reads
UNRELATED = -2.0  # deviations of the ratings that a text of another pair may reach in training
LOW = 10.0  # of 100: below it, a score approaches 0 and does not cross it
# Weights to which a change was added take memory, and time to load: with MPNet and rank 8 (.01 to .02 of the work) 1.5
# and 1.8 times that of the plain encoder; with the changes beside the weights 1.04 and 1.01, and 1.04 times the time of
# a text. With MiniLM and rank 24 (.08 to .13), a text would take 1.12 times as long.
SMALL = 0.03
MAKE = "make one: evalign train --adapter 8"


@dataclass(frozen=True, eq=False, slots=True)
class LowRank:
    """The change of one linear layer."""

    down: Floats  # (rank, inputs)
    up: Floats  # (outputs, rank)

    @property
    def shape(self) -> tuple[int, int]:
        """That of the weight it changes."""
        return self.up.shape[0], self.down.shape[1]

    @property
    def small(self) -> bool:
        """Whether it is little work beside its layer; else it is better added to the weight."""
        return self.up.size + self.down.size <= SMALL * math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class OutputLayer:
    """intercept + sum_i weight_i (x_i - mean_i) / scale_i over precision, recall and F1; no weight is negative."""

    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float

    def __post_init__(self) -> None:
        numbers = np.array([self.means, self.scales, self.weights], dtype=np.float64)
        if numbers.shape != (3, len(FIELDS)) or not np.isfinite([*numbers.flat, self.intercept]).all():
            raise ValueError(f"the output layer must hold finite numbers, one for each of {', '.join(FIELDS)}")
        if min(self.weights) < 0 or min(self.scales) <= 0:
            raise ValueError("the output layer's weights must not be negative, and its scales be positive")

    def __call__(self, fields: Floats) -> Floats:
        """(..., 3) precision, recall, F1 -> (...,) scores in standard deviations of the ratings it was trained on."""
        weights, scales = np.array(self.weights), np.array(self.scales)
        return np.asarray(self.intercept + (fields - np.array(self.means)) @ (weights / scales))

    @property
    def mean(self) -> tuple[Floats, float]:
        """The same as a weighted mean: what P, R and F1 weigh in it, which sums to 1, and the mean of unrelated text.

        Unrelated is what texts of other pairs were held to in training.
        """
        slopes = np.array(self.weights) / np.array(self.scales)
        total = max(float(slopes.sum()), 1e-12)
        top = float(self(np.ones(len(FIELDS))))
        return slopes / total, 1 - max(top - UNRELATED, 1e-9) / total

    def percent(self, fields: Floats) -> Floats:
        """From 0, unrelated text, to 100, the reference itself: x = 100 (mean - unrelated) / (1 - unrelated).

        Below LOW it is LOW exp(x / LOW - 1), which goes on without a kink and keeps the order of the worst texts.
        """
        weights, unrelated = self.mean
        straight = np.minimum(100 * (fields @ weights - unrelated) / (1 - unrelated), 100)
        return np.where(straight >= LOW, straight, LOW * np.exp(np.minimum(straight, LOW) / LOW - 1))


@dataclass(frozen=True, eq=False)
class Adapter:
    """Low-rank changes by linear layer, and what was learned with them."""

    base: str  # label of the weights it was trained on
    base_sha256: str
    layers: tuple[int, ...]  # whose similarities are averaged, and where importance is read
    rank: int
    changes: Mapping[str, LowRank]  # by the linear layer's name in the encoder
    importance: Floats  # (layers, width)
    output: OutputLayer
    trained: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""  # sha256 of adapter.json's content; empty before it is written

    @property
    def name(self) -> str:
        """As signatures show it behind the model."""
        return f"adapter@{self.digest[:8]}"

    @property
    def layer(self) -> str:
        """The layers as specs write them."""
        return "+".join(map(str, self.layers))

    def check_base(self, located: Located) -> None:
        """Raises if the model is not the one it was trained on."""
        if located.sha256 != self.base_sha256:
            known = known_by_digest(self.base_sha256)
            model = f"model={known.name}" if known else "model= with those weights"
            raise WeightsError(
                f"{self.name} was trained on {self.base}@{self.base_sha256[:8]}, but the model here is "
                f"{located.pinned}; give {model}, or train an adapter for this one"
            )

    def check_linears(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raises if it changes a linear layer that the encoder does not have, or has in another shape."""
        for name, change in self.changes.items():
            if shapes.get(name) != change.shape:
                has = f"has shape {shapes[name]} there" if name in shapes else "has no such layer"
                raise WeightsError(
                    f"{self.name} changes the linear layer {name[:80]!r} of shape {change.shape}, and the model {has}; "
                    "train an adapter for this model"
                )

    def reading(self, layers: Collection[int]) -> Adapter:
        """Itself; raises if token importance cannot be read because its layers are not among those encoded."""
        if not set(self.layers) <= set(layers):
            raise LayerError(
                f"layer={'+'.join(map(str, layers))}: the token importance of {self.name} is read at layer "
                f"{self.layer}; leave layer out, or name these too"
            )
        return self

    def token_weights(self, embedded: Embedded, layers: tuple[int, ...]) -> Floats:
        """How important each token is, 1 where nothing was learned; `layers` are those of the vectors."""
        places = [layers.index(layer) for layer in self.layers]
        along = np.einsum("ld,ltd->lt", self.importance, embedded.vectors[places], dtype=np.float64)
        return np.asarray(np.exp((along / embedded.norms[places]).sum(axis=0)))

    def save(self, folder: Path) -> None:
        """Writes both files into an existing folder."""
        tensors = {IMPORTANCE: self.importance}
        for name, change in self.changes.items():
            tensors |= {f"{name}.down": change.down, f"{name}.up": change.up}
        raw = save({name: np.ascontiguousarray(tensor, dtype=np.float32) for name, tensor in tensors.items()})
        with whole_file(folder / TENSORS, binary=True) as stream:
            stream.write(raw)
        content = {
            "base": self.base,
            "base_sha256": self.base_sha256,
            "layers": list(self.layers),
            "rank": self.rank,
            "output": {name: getattr(self.output, name) for name in OutputLayer.__slots__},
            "tensors_sha256": hashlib.sha256(raw).hexdigest(),
            "trained": dict(self.trained),
        }
        plain = {"format": FORMAT, "version": VERSION, "sha256": content_digest(content), "content": content}
        with whole_file(folder / INDEX) as stream:
            json.dump(plain, stream, indent=1, allow_nan=False)
            stream.write("\n")


def merged(adapted: Mapping[str, tuple[TensorPlace, LowRank]]) -> dict[str, Floats]:
    """Weights plus what an adapter adds. All in one array, for which the system gives large pages: half the time."""
    sizes = [math.prod(place.shape) for place, _ in adapted.values()]
    parts = np.split(np.empty(sum(sizes), np.float32), np.cumsum(sizes))
    sums = {}
    for (name, (place, change)), part in zip(adapted.items(), parts, strict=False):
        sums[name] = np.matmul(change.up, change.down, out=part.reshape(place.shape))
        sums[name] += place.read()
    return sums


def read_adapter(folder: str) -> Adapter:
    """The adapter in a folder, read again whenever one of its files was written."""
    try:
        states = [(Path(folder) / name).stat() for name in (INDEX, TENSORS)]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        missing = Path(getattr(error, "filename", None) or folder).name
        raise WeightsError(f"adapter={folder[:200]}: no adapter there ({missing}: {reason}); {MAKE}") from error
    return _read(folder, tuple((state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in states))


@lru_cache(maxsize=8)  # a metric asks for its adapter at every call
def _read(folder: str, _states: tuple[tuple[int, ...], ...]) -> Adapter:
    where = f"adapter={folder}"
    try:
        plain = json.loads((Path(folder) / INDEX).read_text("utf-8"))
        if (plain["format"], plain["version"]) != (FORMAT, VERSION):
            raise WeightsError(f"{where}: {INDEX} is not of format {FORMAT!r} version {VERSION}; {MAKE}")
        content = plain["content"]
        if content_digest(content) != plain["sha256"]:
            raise WeightsError(f"{where}: {INDEX} does not fit its sha256: it was changed or damaged; train it again")
        raw = (Path(folder) / TENSORS).read_bytes()
        if hashlib.sha256(raw).hexdigest() != content["tensors_sha256"]:
            raise WeightsError(f"{where}: {TENSORS} is torn or of another training; copy the folder again, or train it")
        return _checked(where, content, load(raw), plain["sha256"])
    except EvalignError:
        raise
    except OSError as error:
        raise WeightsError(f"{where}: cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, SafetensorError) as error:
        raise WeightsError(f"{where}: not an adapter ({error!r:.200}); {MAKE}") from error


def _checked(where: str, content: Mapping[str, Any], tensors: dict[str, Floats], digest: str) -> Adapter:
    """The adapter of a signed content; who signed it may have been mistaken."""
    for name, tensor in tensors.items():
        if tensor.dtype != np.float32 or not np.isfinite(tensor).all():
            raise WeightsError(f"{where}: the tensor {name!r} holds NaN or no 32-bit numbers; train it again")
    layers = tuple(content["layers"])
    if not layers or len(set(layers)) < len(layers) or any(type(n) is not int or n < 0 for n in layers):
        raise WeightsError(f"{where}: unknown layers {content['layers']!r:.80}, expected numbers from 0 up as [4, 6]")
    importance = tensors.pop(IMPORTANCE)
    if importance.ndim != 2 or len(importance) != len(layers):
        raise WeightsError(f"{where}: the importance has shape {importance.shape}, expected one row per layer")
    names = sorted({name.rpartition(".")[0] for name in tensors})
    changes = {name: LowRank(tensors[f"{name}.down"], tensors[f"{name}.up"]) for name in names}
    for name, change in changes.items():
        ranks = {change.down.ndim, change.up.ndim} == {2} and {change.down.shape[0], change.up.shape[1]}
        if ranks != {content["rank"]}:
            raise WeightsError(f"{where}: the tensors of {name!r} are not of rank {content['rank']!r}; train it again")
    output = content["output"]
    means, scales, weights = (tuple(map(float, output[name])) for name in ("means", "scales", "weights"))
    return Adapter(
        str(content["base"]), str(content["base_sha256"]), layers, int(content["rank"]), changes, importance,
        OutputLayer(means, scales, weights, float(output["intercept"])), dict(content["trained"]), digest,
    )  # fmt: skip
