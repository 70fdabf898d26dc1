"""Any transformers AutoModel as an encoder (extra `torch`): other families, GPUs, half precision."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evalign.encoders.base import BatchingEncoder, Reading
from evalign.encoders.families import pad_token
from evalign.encoders.layers import check_layers
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.weights import weight_files
from evalign.errors import MissingExtraError, ModelError, UnsupportedModelError
from evalign.types import Ints

try:
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModel, AutoTokenizer
except ImportError as error:
    raise MissingExtraError("backend=torch", "torch") from error

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")  # their tables start behind the padding id


class TorchEncoder(BatchingEncoder):
    """A model directory through transformers. `layers=None` gives every hidden state."""

    def __init__(
        self,
        directory: Path,
        config: dict[str, Any],
        layers: tuple[int, ...] | None,
        reading: Reading,
        precision: str = "fp32",
        device: str = "cpu",
    ) -> None:
        weight_files(directory)  # safetensors only, said before transformers says it at length
        try:
            model = AutoModel.from_pretrained(directory, dtype=DTYPES[precision], use_safetensors=True)
            self._model = (model.get_encoder() if model.config.is_encoder_decoder else model).eval().to(device)
        except (ValueError, OSError, RuntimeError, KeyError, AssertionError, SafetensorError) as error:
            raise UnsupportedModelError(f"{directory}: transformers cannot load this on {device} ({error})") from error
        depth = getattr(model.config, "num_hidden_layers", None)
        if depth is None:
            raise UnsupportedModelError(f"{directory}: config.json does not say how many layers the model has")
        tokenizer = _tokenizer(directory)
        super().__init__(
            tokenizer,
            check_layers(layers, depth),
            reading.within(_positions(model.config), tokenizer),
            pad_token(config),
        )
        self.name = directory.name
        self.precision = precision
        self._device = device

    def forward(self, ids: Ints, mask: Ints) -> npt.NDArray[np.float32]:
        """Runs one padded batch."""
        with torch.inference_mode():
            output = self._model(
                input_ids=torch.from_numpy(ids).to(self._device),
                attention_mask=torch.from_numpy(mask).to(self._device),
                output_hidden_states=True,
            )
            states = torch.stack([output.hidden_states[layer] for layer in self.layers])
        return np.asarray(states.float().cpu().numpy())


def _tokenizer(directory: Path) -> Tokenizer:
    """tokenizer.json if there is one, else what transformers converts from the older files."""
    if (directory / "tokenizer.json").is_file():
        return Tokenizer.from_directory(directory)
    try:
        loaded = AutoTokenizer.from_pretrained(directory)
        return Tokenizer(loaded.backend_tokenizer.to_str(), min(loaded.model_max_length, sys.maxsize))
    except (ValueError, OSError, AttributeError, ImportError) as error:
        raise ModelError(f"{directory}: no tokenizer.json, and none could be made ({error})") from error


def _positions(config: Any) -> int:
    table = getattr(config, "max_position_embeddings", None)
    if table is None:
        return sys.maxsize
    return int(table) - (config.pad_token_id + 1 if config.model_type in OFFSET_POSITIONS else 0)
