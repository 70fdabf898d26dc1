"""An LSTM encoder as one safetensors file: four tensors, and in its header the words, settings and where it is from.

Never pickle. A digest over all of it is stored and checked, so that a damaged file is an error and not another score.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from evalign.atomic_files import whole_file
from evalign.encoders.lstm.cell import CellWeights
from evalign.encoders.lstm.encoder import POOLINGS, LSTMModel
from evalign.encoders.lstm.words import WordRows
from evalign.errors import ModelNotFoundError, WeightsError
from evalign.matching.arrays import to_numpy
from evalign.types import Floats

FORMAT = "evalign-lstm-1"
FILE_NAME = "lstm.safetensors"  # inside a folder that `evalign train --lstm` made
TENSORS = ("words", "from_word", "from_hidden", "bias")
HOW_TO_TRAIN = "train one: evalign train PAIRS --lstm -o FOLDER"


def save_lstm(model: LSTMModel, path: Path) -> None:
    """Writes the file whole, or not at all."""
    weights = model.weights
    arrays = (model.table, weights.from_word, weights.from_hidden, weights.bias)
    tensors = {
        name: np.ascontiguousarray(to_numpy(array), np.float32) for name, array in zip(TENSORS, arrays, strict=True)
    }
    metadata = {
        "format": FORMAT,
        "pooling": model.pooling,
        "buckets": str(model.words.buckets),
        "vocabulary": json.dumps(model.words.vocabulary, ensure_ascii=False),
        "training": json.dumps(model.training, ensure_ascii=False),
    }
    with whole_file(path, binary=True) as stream:
        stream.write(save(tensors, metadata | {"sha256": _digest(metadata, tensors)}))


def load_lstm(path: str | Path) -> tuple[LSTMModel, str]:
    """The model and its digest, which any change of words, settings or weights changes."""
    file = Path(path) / FILE_NAME if os.path.isdir(path) else Path(path)
    if not os.path.isfile(file):  # unlike Path's own, false for names that no system takes
        raise ModelNotFoundError(f"{file}: there is no such file; {HOW_TO_TRAIN}")
    try:
        with safe_open(file, "np") as stored:
            metadata = dict(stored.metadata() or {})
            if metadata.get("format") != FORMAT:
                raise WeightsError(
                    f"{file}: format {metadata.get('format', 'unknown')!r}, expected {FORMAT!r}; {HOW_TO_TRAIN}"
                )
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        digest = metadata.pop("sha256", "")
        if digest != _digest(metadata, tensors):
            raise WeightsError(f"{file}: damaged, its content does not have the digest it states; get it again")
        return _model(metadata, tensors), digest
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise WeightsError(f"{file}: not an LSTM encoder of evalign ({error}); {HOW_TO_TRAIN}") from error


def demonstration_file() -> Path:
    """A small cell that comes along for `evalign explain --lstm`; benchmarks/lstm.py trained it. Not for scoring."""
    return Path(str(resources.files("evalign.encoders.lstm").joinpath("lstm_demonstration.safetensors")))


def _model(metadata: dict[str, str], tensors: dict[str, Floats]) -> LSTMModel:
    """The model of these parts; ValueError if they do not fit each other, which their digest does not prove."""
    table, from_word, from_hidden, bias = (tensors[name] for name in TENSORS)
    vocabulary, training = json.loads(metadata["vocabulary"]), json.loads(metadata["training"])
    if not (isinstance(vocabulary, list) and all(isinstance(word, str) for word in vocabulary)):
        raise ValueError("its vocabulary is not a list of words")
    words = WordRows(tuple(vocabulary), int(metadata["buckets"]))
    size = bias.shape[-1] // 4
    expected = ((words.count, table.shape[-1]), (2, table.shape[-1], 4 * size), (2, size, 4 * size), (2, 4 * size))
    if words.buckets < 1 or size < 1 or tuple(tensors[name].shape for name in TENSORS) != expected:
        raise ValueError("its tensors do not fit each other")
    if any(tensor.dtype != np.float32 or not np.isfinite(tensor).all() for tensor in tensors.values()):
        raise ValueError("its weights are not finite 32-bit numbers")
    if metadata["pooling"] not in POOLINGS or not isinstance(training, dict):
        raise ValueError(f"its pooling is {metadata['pooling']!r}, expected {' or '.join(POOLINGS)}")
    return LSTMModel(words, table, CellWeights(from_word, from_hidden, bias), metadata["pooling"], training)


def _digest(metadata: dict[str, Any], tensors: dict[str, Floats]) -> str:
    content = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        content.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        content.update(np.ascontiguousarray(tensors[name]).tobytes())
    return content.hexdigest()
