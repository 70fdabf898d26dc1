"""Numbers in config.json, of any family: checked against the weights before anything is built of them.

A config with a billion layers keeps transformers and the graph builder busy without end; a width of a billion takes all
memory. The weights bound both: their headers are part of a file of known size (safetensors_headers.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalign.encoders.safetensors_headers import TensorLocation
from evalign.errors import WeightsError

DEPTHS = ("encoder_layers", "decoder_layers", "num_hidden_layers", "n_layers", "n_layer", "num_layers",
          "num_decoder_layers", "num_hidden_groups", "inner_group_num")  # fmt: skip
WIDTHS = ("vocab_size", "hidden_size", "embedding_size", "d_model", "dim", "n_embd", "d_ff", "intermediate_size")
MAX_SHARED_LAYERS = 256  # layers may share their tensors; ALBERT has up to 24
MAX_PARTS = 4  # tensors that a table or layer may be cut into: Molmo's vocabulary has two
MAX_COUNT = 2**24  # of anything else: positions, labels, buckets
COUNTS = ("num_", "n_", "max_position")


def check_config(config: Mapping[str, Any], tensors: Mapping[str, TensorLocation]) -> None:
    """Raise WeightsError if a config asks for more layers, or wider ones, than the weights can be of."""
    layers = max(len(tensors), MAX_SHARED_LAYERS)
    width = MAX_PARTS * max((extent for tensor in tensors.values() for extent in tensor.shape), default=0)
    depths, widths = dict.fromkeys(DEPTHS, layers), dict.fromkeys(WIDTHS, width)
    for part in _objects(config):
        of_text = part is config or part is config.get("text_config")
        _check_numbers(part, depths | widths if of_text else depths)


def _check_numbers(part: Mapping[str, Any], limits: Mapping[str, int]) -> None:
    for name, value in part.items():
        limit = limits.get(name, MAX_COUNT if name.startswith(COUNTS) else None)
        if limit is not None and isinstance(value, (int, float)) and not value <= limit:
            raise WeightsError(
                f"config.json: {name} is {value!r:.40}, and these weights allow {limit:,} at most; get the model again"
            )


def _objects(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the config and all objects inside it."""
    waiting: list[Any] = [config]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
