"""Graphs: model.safetensors + config.json in, an ONNX graph in memory out, cut at the highest layer that is needed.

The weights are not copied: every initializer is external data that points at its bytes inside the safetensors file, so
protobuf's 2 GB limit never applies. Inputs `ids` and `mask` are (batch, tokens); there is one output (batch, tokens,
width) per layer. Changes of an adapter are nodes of the graph, or merged into the weights.

int8 weights have one scale per output channel, and activations one per token row, so that a score never depends on the
rest of its batch (ONNX Runtime's dynamic quantisation has one scale per batch).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from evalign.encoders.adapter import Adapter, LowRank, merged_weights
from evalign.encoders.families import Architecture, Layer, linear_layers
from evalign.encoders.safetensors_headers import TensorLocation
from evalign.errors import UnsupportedModelError, WeightsError

OPSET = 21
IR_VERSION = 10
ELEMENT = {"F32": TensorProto.FLOAT, "F16": TensorProto.FLOAT16, "BF16": TensorProto.BFLOAT16}
MASKED = float(np.finfo(np.float32).min)
RELATIVE_BUCKETS = 32  # mpnet: defaults of the published code, not in its config
RELATIVE_DISTANCE = 128
# Processors without VNNI add two u8 * s8 products in 16 bits: 2 * 255 * 64 fits, 2 * 255 * 127 overflows, and the same
# model would return different numbers there. The seventh bit costs .0001 correlation.
WEIGHT_STEPS = 64
ACTIVATION_STEPS = 127
ACTIVATION_ZERO = 128


@dataclass(frozen=True, slots=True)
class EncoderGraph:
    """A model without its large weights, and the folder of those."""

    model: bytes
    folder: Path
    outputs: tuple[str, ...]
    positions: int  # maximum tokens of the position table
    merged: Mapping[str, npt.NDArray[np.float32]]  # weights changed by an adapter, by initializer


def build_graph(
    architecture: Architecture,
    tensors: Mapping[str, TensorLocation],
    layers: tuple[int, ...],
    precision: str = "fp32",
    adapter: Adapter | None = None,
) -> EncoderGraph:
    """Build the encoder up to the highest of `layers`; state 0 is the embedding output."""
    builder = _Builder(tensors, precision)
    _check_shapes(builder, architecture, max(layers))
    if adapter is not None:
        linears = linear_layers(architecture)
        adapter.check_linears({name: builder.shape(f"{base}.weight") for name, base in linears.items()})
        builder.changes = {linears[name]: change for name, change in adapter.changes.items()}
    names = {layer: f"layer_{layer}" for layer in layers}
    shape = builder.node("Shape", "ids")
    for layer, state in enumerate(_states(builder, architecture, max(layers))):
        if layer in names:
            width = builder.node("Shape", state, start=1)
            builder.node("Reshape", state, builder.node("Concat", shape, width, axis=0), output=names[layer])
    graph = helper.make_graph(
        builder.nodes,
        architecture.family,
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in ("ids", "mask")],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "tokens", None]) for name in names.values()],
        list(builder.initializers.values()),
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    folder = next(iter(tensors.values())).file.parent
    positions = builder.shape(f"{architecture.embeddings}.position_embeddings.weight")[0] - architecture.position_offset
    return EncoderGraph(
        model.SerializeToString(), folder, tuple(names.values()), positions, merged_weights(builder.adapted)
    )


def relative_buckets(distances: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return T5's bidirectional buckets of key minus query: exact up to 8, then logarithmic up to 128."""
    half = RELATIVE_BUCKETS // 2
    exact = half // 2
    magnitude = np.abs(distances)
    with np.errstate(divide="ignore"):
        ratio = np.log(magnitude.astype(np.float32) / np.float32(exact)) / np.float32(np.log(RELATIVE_DISTANCE / exact))
    coarse = np.where(magnitude < exact, 0, exact + (np.maximum(ratio, 0) * np.float32(half - exact)).astype(np.int64))
    bucket = np.where(magnitude < exact, magnitude, np.minimum(coarse, half - 1))
    return np.asarray(bucket + half * (distances > 0), dtype=np.int64)


def quantize_weight(weight: np.ndarray[Any, Any]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Round a float weight (outputs, inputs) to WEIGHT_STEPS on each side: values and scales.

    `values * scales` is the weight, laid out (inputs, outputs) as integer matmul expects it.
    """
    peaks = np.abs(weight).max(axis=1)
    scales = (np.where(peaks > 0, peaks, 1) / WEIGHT_STEPS).astype(np.float32)
    values = np.rint(weight / scales[:, None]).astype(np.int8)
    return np.ascontiguousarray(values.T), scales


def _check_shapes(g: _Builder, arch: Architecture, depth: int) -> None:
    """Raise WeightsError unless all tensors that the graph reads fit each other, and the number of heads."""
    base = arch.embeddings
    _, embedded = g.fit(f"{base}.word_embeddings.weight", None, None)
    rows, _ = g.fit(f"{base}.position_embeddings.weight", None, embedded)
    if rows <= arch.position_offset:
        raise WeightsError(f"pad_token_id {arch.position_offset - 1} of config.json leaves no row of {rows} positions")
    if arch.token_types:
        g.fit(f"{base}.token_type_embeddings.weight", None, embedded)
    g.fit_norm(f"{base}.LayerNorm", embedded)
    width = g.fit_linear(arch.projection, None, embedded) if arch.projection else embedded
    if arch.relative_bias:
        g.fit(arch.relative_bias, RELATIVE_BUCKETS, arch.heads)
    for layer in arch.layers[:depth]:
        inner = g.fit_linear(layer.query, None, width)
        if inner % arch.heads:
            raise WeightsError(f"config.json names {arch.heads} heads, which do not divide the width {inner}")
        for name in (layer.key, layer.value):
            g.fit_linear(name, inner, width)
        g.fit_linear(layer.attention_out, width, inner)
        g.fit_linear(layer.down, width, g.fit_linear(layer.up, None, width))
        for name in (layer.attention_norm, layer.out_norm):
            g.fit_norm(name, width)


def _states(g: _Builder, arch: Architecture, depth: int) -> Iterator[str]:
    """Yield hidden states as (batch * tokens, width), from the embeddings to layer `depth`."""
    state = _embed(g, arch)
    yield state
    attention = _Attention(g, arch, g.shape(f"{arch.layers[0].query}.weight")[0])
    for layer in arch.layers[:depth]:
        attended = attention(state, layer)
        state = g.norm(g.node("Add", state, attended), layer.attention_norm, arch.eps)
        hidden = _activate(g, g.linear(state, layer.up), arch.activation)
        state = g.norm(g.node("Add", state, g.linear(hidden, layer.down)), layer.out_norm, arch.eps)
        yield state


def _embed(g: _Builder, arch: Architecture) -> str:
    total = g.node("Gather", g.weight(f"{arch.embeddings}.word_embeddings.weight"), "ids")
    positions = g.node("Gather", g.weight(f"{arch.embeddings}.position_embeddings.weight"), _positions(g, arch))
    total = g.node("Add", total, positions)
    if arch.token_types:  # all tokens have type 0; roberta adds its only row too
        types = g.weight(f"{arch.embeddings}.token_type_embeddings.weight")
        total = g.node("Add", total, g.node("Gather", types, g.constant(np.array(0))))
    width = g.shape(f"{arch.embeddings}.word_embeddings.weight")[1]
    flat = g.node("Reshape", total, g.constant(np.array([-1, width])))
    normed = g.norm(flat, f"{arch.embeddings}.LayerNorm", arch.eps)
    return g.linear(normed, arch.projection) if arch.projection else normed


def _positions(g: _Builder, arch: Architecture) -> str:
    if arch.position_pad is None:
        return g.token_range()
    pad = g.constant(np.array(arch.position_pad))
    real = g.node("Cast", g.node("Not", g.node("Equal", "ids", pad)), to=TensorProto.INT64)
    counted = g.node("Mul", g.node("CumSum", real, g.constant(np.array(1))), real)
    return g.node("Add", counted, pad)


def _activate(g: _Builder, value: str, activation: str) -> str:
    if activation == "relu":
        return g.node("Relu", value)
    return g.node("Gelu", value, approximate="none" if activation == "erf" else "tanh")


class _Attention:
    """Multi-head self-attention; tensors that are equal for all layers are created once."""

    def __init__(self, g: _Builder, arch: Architecture, width: int) -> None:
        self.g = g
        self.width = width
        self.scale = (width // arch.heads) ** -0.5
        heads = g.constant(np.array([arch.heads, width // arch.heads]))
        self.split = g.node("Concat", g.node("Shape", "ids"), heads, axis=0)
        blocked = g.node("Cast", g.node("Equal", "mask", g.constant(np.array(0))), to=TensorProto.FLOAT)
        blocked = g.node("Mul", blocked, g.constant(np.array(MASKED, np.float32)))
        self.bias = g.node("Unsqueeze", blocked, g.constant(np.array([1, 2])))
        if arch.relative_bias:
            self.bias = g.node("Add", self.bias, self._relative(arch.relative_bias, arch))

    def __call__(self, state: str, layer: Layer) -> str:
        g = self.g
        query = self._heads(g.linear(state, layer.query, scale=self.scale), [0, 2, 1, 3])
        key = self._heads(g.linear(state, layer.key), [0, 2, 3, 1])
        value = self._heads(g.linear(state, layer.value), [0, 2, 1, 3])
        scores = g.node("Add", g.node("MatMul", query, key), self.bias)
        context = g.node("MatMul", g.node("Softmax", scores, axis=-1), value)
        joined = g.node("Transpose", context, perm=[0, 2, 1, 3])
        flat = g.node("Reshape", joined, g.constant(np.array([-1, self.width])))
        return g.linear(flat, layer.attention_out)

    def _heads(self, value: str, order: list[int]) -> str:
        return self.g.node("Transpose", self.g.node("Reshape", value, self.split), perm=order)

    def _relative(self, table: str, arch: Architecture) -> str:
        """Return (1, heads, tokens, tokens): a table of buckets by distance, then a bias by bucket."""
        g = self.g
        max_distance = g.shape(f"{arch.embeddings}.position_embeddings.weight")[0]
        buckets = g.constant(relative_buckets(np.arange(-max_distance, max_distance + 1)))
        positions = g.token_range()
        keys = g.node("Unsqueeze", positions, g.constant(np.array([0])))
        queries = g.node("Unsqueeze", positions, g.constant(np.array([1])))
        distance = g.node("Add", g.node("Sub", keys, queries), g.constant(np.array(max_distance)))
        bias = g.node("Gather", g.weight(table), g.node("Gather", buckets, distance))
        return g.node("Unsqueeze", g.node("Transpose", bias, perm=[2, 0, 1]), g.constant(np.array([0])))


@dataclass
class _Builder:
    """Collector of nodes and initializers under generated names."""

    tensors: Mapping[str, TensorLocation]
    precision: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: dict[str, onnx.TensorProto] = field(default_factory=dict)
    casts: dict[str, str] = field(default_factory=dict)
    changes: Mapping[str, LowRank] = field(default_factory=dict)
    adapted: dict[str, tuple[TensorLocation, LowRank]] = field(default_factory=dict)  # by initializer
    quantized_rows: dict[str, tuple[str, str]] = field(default_factory=dict)

    def node(self, op: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        output = output or f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], domain=domain, **attributes))
        return output

    def constant(self, value: np.ndarray[Any, Any], name: str = "") -> str:
        name = name or f"constant_{value.dtype}_{value.shape}_{hash(value.tobytes()):x}"
        if name not in self.initializers:
            self.initializers[name] = onnx.numpy_helper.from_array(value, name)
        return name

    def token_range(self) -> str:
        """Return 0, 1, ... up to the number of tokens."""
        length = self.node("Gather", self.node("Shape", "ids"), self.constant(np.array(1)))
        return self.node("Range", self.constant(np.array(0)), length, self.constant(np.array(1)))

    def shape(self, name: str) -> tuple[int, ...]:
        return self._tensor(name).shape

    def fit(self, name: str, *expected: int | None) -> tuple[int, ...]:
        """Return a tensor's shape; raise WeightsError unless it is as expected, where None is any size but 0."""
        shape = self.shape(name)
        fits = [have == want if want is not None else have > 0 for have, want in zip(shape, expected, strict=False)]
        if len(shape) != len(expected) or not all(fits):
            sizes = " x ".join("any" if size is None else str(size) for size in expected)
            raise WeightsError(
                f"{name} has shape {list(shape)!s:.80}, but config.json and the other tensors need {sizes}"
            )
        return shape

    def fit_linear(self, base: str, outputs: int | None, inputs: int) -> int:
        """Return the outputs of a linear layer whose weight and bias fit."""
        outputs, _ = self.fit(f"{base}.weight", outputs, inputs)
        self.fit(f"{base}.bias", outputs)
        return outputs

    def fit_norm(self, base: str, width: int) -> None:
        for name in self._norm_names(base):
            self.fit(name, width)

    def weight(self, name: str) -> str:
        """Return a float32 tensor of the model; half-precision ones are cast once, at load time."""
        tensor = self._tensor(name)
        if tensor.dtype not in ELEMENT:
            raise UnsupportedModelError(f"{name}: {tensor.dtype} weights are not built here; use backend=torch")
        self._external(name, tensor, ELEMENT[tensor.dtype])
        if tensor.dtype == "F32":
            return name
        if name not in self.casts:
            self.casts[name] = self.node("Cast", name, to=TensorProto.FLOAT)
        return self.casts[name]

    def linear(self, value: str, base: str, scale: float = 1.0) -> str:
        """Return `scale * (value @ weight.T + bias)`, with the weight in torch's layout."""
        if self.precision == "int8":
            return self._quantized(value, base, scale)
        weight, bias, change = self._adapted(base), self.weight(f"{base}.bias"), self.changes.get(base)
        output = self.node("Gemm", value, weight, bias, transB=1, alpha=scale, beta=scale)
        if change is None or not change.separate:
            return output
        inner = self.node("Gemm", value, self.constant(change.down, f"{base}.down"), transB=1)
        return self.node("Gemm", inner, self.constant(change.up, f"{base}.up"), output, transB=1, alpha=scale)

    def _adapted(self, base: str) -> str:
        """Return the initializer of a weight.

        Large low-rank changes are merged here at load time, so inference costs nothing extra.
        """
        if base not in self.changes or self.changes[base].separate:
            return self.weight(f"{base}.weight")
        name, tensor, change = f"{base}.merged", self._tensor(f"{base}.weight"), self.changes[base]
        self._external(name, tensor, TensorProto.FLOAT)
        self.adapted[name] = tensor, change
        return name

    def _external(self, name: str, source: TensorLocation, element: int) -> None:
        """Add an initializer whose numbers are in a file, or are passed with the graph (`merged`)."""
        if name not in self.initializers:
            tensor = TensorProto(name=name, data_type=element, dims=source.shape)
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", source.file.name), ("offset", source.offset), ("length", source.length)):
                tensor.external_data.add(key=key, value=str(value))
            self.initializers[name] = tensor

    def norm(self, value: str, base: str, eps: float) -> str:
        weight, bias = map(self.weight, self._norm_names(base))
        return self.node("LayerNormalization", value, weight, bias, axis=-1, epsilon=eps)

    def _norm_names(self, base: str) -> tuple[str, str]:
        if f"{base}.weight" in self.tensors:
            return f"{base}.weight", f"{base}.bias"
        return f"{base}.gamma", f"{base}.beta"  # old checkpoints

    def _quantized(self, value: str, base: str, scale: float) -> str:
        names = tuple(f"{base}.{part}" for part in ("int8", "scales", "offsets"))
        if names[0] not in self.initializers:
            change = self.changes.get(base)
            added = 0 if change is None else change.up @ change.down
            values, scales = quantize_weight(self._tensor(f"{base}.weight").read() + added)
            self.constant(values, names[0])
            self.constant(scales * np.float32(scale), names[1])
            self.constant(self._tensor(f"{base}.bias").read() * np.float32(scale), names[2])
        rows, row_scales = self._quantized_rows(value)
        unit, zero = self.constant(np.array(1, np.float32)), self.constant(np.array(ACTIVATION_ZERO, np.uint8))
        product = self.node("MatMulIntegerToFloat", rows, names[0], unit, names[1], zero, domain="com.microsoft")
        return self.node("Add", self.node("Mul", product, row_scales), names[2])

    def _quantized_rows(self, value: str) -> tuple[str, str]:
        """Return activations as uint8 around ACTIVATION_ZERO, each token row with its own scale."""
        if value not in self.quantized_rows:
            last = self.constant(np.array([-1]))
            highest = self.node("ReduceMax", value, last, keepdims=0)
            lowest = self.node("ReduceMin", value, last, keepdims=0)
            peak = self.node("Max", highest, self.node("Neg", lowest), self.constant(np.array(1e-12, np.float32)))
            scales = self.node("Mul", peak, self.constant(np.array(1 / ACTIVATION_STEPS, np.float32)))
            zero = self.constant(np.array([ACTIVATION_ZERO], np.uint8))
            zeros = self.node("Expand", zero, self.node("Shape", scales))
            rows = self.node("QuantizeLinear", value, scales, zeros, axis=0)
            self.quantized_rows[value] = rows, self.node("Unsqueeze", scales, self.constant(np.array([1])))
        return self.quantized_rows[value]

    def _tensor(self, name: str) -> TensorLocation:
        if name not in self.tensors:
            raise WeightsError(f"the weights hold no tensor {name!r}; they do not fit their config.json")
        return self.tensors[name]
