"""Adapters: changes of an encoder's weights from `evalign train adapter`, read from a folder without torch.

    adapter.safetensors   {linear layer}.down (rank, inputs) and .up (outputs, rank): its weight W becomes W + up down;
                          importance (layers, width): a token weighs exp(sum over layers of importance . unit vector)
    adapter.json          sha256 of the base weights and of the tensors, the layers, the output layer, training data

adapter.json is signed by the sha256 of its content. A folder that is incomplete, or was changed by hand, is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from evalign.core import Embedded, Floats
from evalign.encoders.safetensors_headers import TensorLocation
from evalign.encoders.weights import Located, content_digest, known_by_digest
from evalign.errors import EvalignError, LayerError, SpecError, WeightsError
from evalign.io.files import whole_file

FORMAT, VERSION = "evalign-adapter", 1
TENSORS, INDEX = "adapter.safetensors", "adapter.json"
IMPORTANCE = "importance"
FIELDS = ("precision", "recall", "f1")  # inputs of the output layer
UNRELATED_DEVIATIONS = -2.0  # maximum for a text of another pair in training, in standard deviations of ratings
SOFT_FLOOR_PERCENT = 10.0  # below it, a score approaches 0 without crossing it
# Largest change, as a share of its layer's size, that runs as its own matrix product; larger ones are merged at load
# time. Merged weights take memory and load time: with MPNet and rank 8 (share .01 to .02) 1.5 and 1.8 times those of
# the plain encoder; unmerged 1.04 and 1.01, and 1.04 times the time per text. With MiniLM and rank 24 (share .08 to
# .13) a text would take 1.12 times as long unmerged.
MERGE_THRESHOLD = 0.03
TRAIN_ADVICE = "train one: evalign train adapter"


@dataclass(frozen=True, eq=False, slots=True)
class LowRank:
    """Low-rank change of one linear layer."""

    down: Floats  # (rank, inputs)
    up: Floats  # (outputs, rank)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the weight that it changes."""
        return self.up.shape[0], self.down.shape[1]

    @property
    def separate(self) -> bool:
        """True if it is run next to its layer; else it is merged into the weight."""
        return self.up.size + self.down.size <= MERGE_THRESHOLD * math.prod(self.shape)


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
        """Return scores (...,) in standard deviations of the training ratings from precision, recall, F1 (..., 3)."""
        weights, scales = np.array(self.weights), np.array(self.scales)
        return np.asarray(self.intercept + (fields - np.array(self.means)) @ (weights / scales))

    @property
    def mean(self) -> tuple[Floats, float]:
        """The layer as a weighted mean: the weights of P, R and F1, which sum to 1, and the mean of unrelated text.

        Training limits the scores of unrelated text, the texts of other pairs.
        """
        slopes = np.array(self.weights) / np.array(self.scales)
        total = max(float(slopes.sum()), 1e-12)
        top = float(self(np.ones(len(FIELDS))))
        return slopes / total, 1 - max(top - UNRELATED_DEVIATIONS, 1e-9) / total

    def percent(self, fields: Floats) -> Floats:
        """Scale from 0, unrelated text, to 100, the reference itself: x = 100 (mean - unrelated) / (1 - unrelated).

        Below SOFT_FLOOR_PERCENT = s it is s exp(x / s - 1), which is smooth and keeps the order of the worst texts.
        """
        floor = SOFT_FLOOR_PERCENT
        weights, unrelated = self.mean
        linear = np.minimum(100 * (fields @ weights - unrelated) / (1 - unrelated), 100)
        return np.where(linear >= floor, linear, floor * np.exp(np.minimum(linear, floor) / floor - 1))


@dataclass(frozen=True, eq=False)
class Adapter:
    """Low-rank changes by linear layer, token importance and output layer."""

    base: str  # label of the weights it was trained on
    base_sha256: str
    layers: tuple[int, ...]  # their similarities are averaged, and importance is read from their vectors
    rank: int
    changes: Mapping[str, LowRank]  # by the linear layer's name in the encoder
    importance: Floats  # (layers, width)
    output: OutputLayer
    trained: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""  # sha256 of adapter.json's content; empty before it is written

    @property
    def name(self) -> str:
        """Name in signatures, after the model."""
        return f"adapter@{self.digest[:8]}"

    @property
    def layer(self) -> str:
        """Layers as specs write them."""
        return "+".join(map(str, self.layers))

    def check_base(self, located: Located) -> None:
        """Raise WeightsError if the model is not the base of the adapter."""
        if located.sha256 != self.base_sha256:
            base_model = known_by_digest(self.base_sha256)
            model = f"model={base_model.name}" if base_model else "model= with those weights"
            raise WeightsError(
                f"{self.name} was trained on {self.base}@{self.base_sha256[:8]}, but the model here is "
                f"{located.pinned}; give {model}, or train an adapter for this one"
            )

    def check_linears(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raise WeightsError if it changes a linear layer that the encoder lacks, or of another shape."""
        for name, change in self.changes.items():
            if shapes.get(name) != change.shape:
                has = f"has shape {shapes[name]} there" if name in shapes else "has no such layer"
                raise WeightsError(
                    f"{self.name} changes the linear layer {name[:80]!r} of shape {change.shape}, and the model {has}; "
                    "train an adapter for this model"
                )

    def for_layers(self, layers: Collection[int]) -> Adapter:
        """Return the adapter; raise LayerError if the layers of its token importance are not encoded."""
        if not set(self.layers) <= set(layers):
            raise LayerError(
                f"layer={'+'.join(map(str, layers))}: the token importance of {self.name} is read at layer "
                f"{self.layer}; leave layer out, or name these too"
            )
        return self

    def token_weights(self, embedded: Embedded, layers: tuple[int, ...]) -> Floats:
        """Return the importance of each token, 1 where nothing was learned; `layers` are those of the vectors."""
        indices = [layers.index(layer) for layer in self.layers]
        projection = np.einsum("ld,ltd->lt", self.importance, embedded.vectors[indices], dtype=np.float64)
        return np.asarray(np.exp((projection / embedded.norms[indices]).sum(axis=0)))

    def save(self, folder: Path) -> None:
        """Write both files into an existing folder."""
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


def merged_weights(adapted: Mapping[str, tuple[TensorLocation, LowRank]]) -> dict[str, Floats]:
    """Add the changes of an adapter to the weights.

    All sums are in one array, for which the system uses large pages: half the time.
    """
    sizes = [math.prod(tensor.shape) for tensor, _ in adapted.values()]
    parts = np.split(np.empty(sum(sizes), np.float32), np.cumsum(sizes))
    sums = {}
    for (name, (tensor, change)), part in zip(adapted.items(), parts, strict=False):
        sums[name] = np.matmul(change.up, change.down, out=part.reshape(tensor.shape))
        sums[name] += tensor.read()
    return sums


def read_adapter(folder: str) -> Adapter:
    """Read the adapter of a folder, again whenever one of its files was written."""
    try:
        states = [(Path(folder) / name).stat() for name in (INDEX, TENSORS)]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        missing = Path(getattr(error, "filename", None) or folder).name
        raise WeightsError(f"adapter={folder[:200]}: no adapter there ({missing}: {reason}); {TRAIN_ADVICE}") from error
    adapter = _read(folder, tuple((state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in states))
    for model, digest in SHIPPED_DIGESTS.items():
        if folder == shipped(model) and adapter.digest != digest:
            raise WeightsError(
                f"adapter={folder}: not the adapter of this version of evalign (sha256 {adapter.digest[:8]}…, expected "
                f"{digest[:8]}…); install evalign again"
            )
    return adapter


@lru_cache(maxsize=8)  # a metric asks for its adapter at every call
def _read(folder: str, _states: tuple[tuple[int, ...], ...]) -> Adapter:
    label = f"adapter={folder}"
    try:
        plain = json.loads((Path(folder) / INDEX).read_text("utf-8"))
        if (plain["format"], plain["version"]) != (FORMAT, VERSION):
            raise WeightsError(f"{label}: {INDEX} is not of format {FORMAT!r} version {VERSION}; {TRAIN_ADVICE}")
        content = plain["content"]
        if content_digest(content) != plain["sha256"]:
            raise WeightsError(f"{label}: {INDEX} does not fit its sha256: it was changed or damaged; train it again")
        raw = (Path(folder) / TENSORS).read_bytes()
        if hashlib.sha256(raw).hexdigest() != content["tensors_sha256"]:
            raise WeightsError(f"{label}: {TENSORS} is torn or of another training; copy the folder again, or train it")
        return _checked(label, content, load(raw), plain["sha256"])
    except EvalignError:
        raise
    except OSError as error:
        raise WeightsError(f"{label}: cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, SafetensorError) as error:
        raise WeightsError(f"{label}: not an adapter ({error!r:.200}); {TRAIN_ADVICE}") from error


def _checked(label: str, content: Mapping[str, Any], tensors: dict[str, Floats], digest: str) -> Adapter:
    """Check the content and return the adapter; a valid signature does not imply valid content."""
    for name, tensor in tensors.items():
        if tensor.dtype != np.float32 or not np.isfinite(tensor).all():
            raise WeightsError(f"{label}: the tensor {name!r} holds NaN or no 32-bit numbers; train it again")
    layers = tuple(content["layers"])
    if not layers or len(set(layers)) < len(layers) or any(type(n) is not int or n < 0 for n in layers):
        raise WeightsError(f"{label}: unknown layers {content['layers']!r:.80}, expected numbers from 0 up as [4, 6]")
    importance = tensors.pop(IMPORTANCE)
    if importance.ndim != 2 or len(importance) != len(layers):
        raise WeightsError(f"{label}: the importance has shape {importance.shape}, expected one row per layer")
    names = sorted({name.rpartition(".")[0] for name in tensors})
    changes = {name: LowRank(tensors[f"{name}.down"], tensors[f"{name}.up"]) for name in names}
    for name, change in changes.items():
        ranks = {change.down.ndim, change.up.ndim} == {2} and {change.down.shape[0], change.up.shape[1]}
        if ranks != {content["rank"]}:
            raise WeightsError(f"{label}: the tensors of {name!r} are not of rank {content['rank']!r}; train it again")
    output = content["output"]
    means, scales, weights = (tuple(map(float, output[name])) for name in ("means", "scales", "weights"))
    return Adapter(
        str(content["base"]), str(content["base_sha256"]), layers, int(content["rank"]), changes, importance,
        OutputLayer(means, scales, weights, float(output["intercept"])), dict(content["trained"]), digest,
    )  # fmt: skip


SHIPPED = "evalign"  # value of adapter= for the adapters of this package
SHIPPED_DIGESTS = {  # of adapter.json's content, which pins the tensors, by model
    "minilm": "70ffa45293b6b529b2224ef5f17b5d9d796d9292dbfa3e9484ae00da5bf1b290",
    "mpnet": "fda05a531acd7ee2141ea52e6b52dc2a21f918175467e7e9e1a6252dffb7543b",
}


def shipped(model: str) -> str:
    """Return the folder of the model's adapter in this package; raise SpecError if there is none."""
    if model not in SHIPPED_DIGESTS:
        raise SpecError(
            f"model={model[:100]}: adapters ship for {' and '.join(SHIPPED_DIGESTS)}; train one for this model "
            "(evalign train adapter) and give adapter=DIR"
        )
    return str(resources.files("evalign.encoders").joinpath("adapters", model))
