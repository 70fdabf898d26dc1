"""Any transformers model as an encoder (extra `torch`): other families, GPUs, half precision.

Encoders as they are, the encoder half of encoder-decoders, causal models (left context only), and the text half of
models that read pictures too. Batches are padded on the right and masked, whatever the tokenizer would do.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evalign.encoders.base import BatchingEncoder, Reading
from evalign.encoders.families import pad_token
from evalign.encoders.layers import check_layers
from evalign.encoders.out_of_memory import in_halves
from evalign.encoders.safetensors_headers import weight_files
from evalign.encoders.tokenizer import NO_LIMIT, Tokenizer
from evalign.errors import MissingExtraError, ModelError, UnsupportedModelError, WeightsError
from evalign.types import Floats, Ints

try:
    import torch
    from safetensors import SafetensorError
    from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding, AutoTokenizer
    from transformers.utils import logging
except ImportError as error:
    raise MissingExtraError("backend=torch", "torch") from error

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")  # their tables start behind the padding id
UNLIMITED = ("deberta-v2", "t5", "mt5", "umt5")  # relative positions: what the config calls a limit is none
TOKENIZER_FILES = ("tokenizer.json", "*.spm", "*.model", "vocab.*", "*vocab*", "*.tiktoken")
LOADING = (ValueError, OSError, RuntimeError, KeyError, AssertionError, AttributeError, TypeError, SafetensorError)


class TorchEncoder(BatchingEncoder):
    """A model directory through transformers. `layers=None` gives every hidden state."""

    def __init__(
        self, directory: Path, config: dict[str, Any], layers: tuple[int, ...] | None, reading: Reading,
        precision: str = "fp32", threads: int = 0, device: str = "cpu",
    ) -> None:  # fmt: skip
        weight_files(directory)  # safetensors only, said before transformers says it at length
        with loading(directory, device):
            self._model = _text_model(directory, precision).to(device).eval()
        settings = self._model.config
        depth = getattr(settings, "num_hidden_layers", None)
        if depth is None:
            raise UnsupportedModelError(f"{directory}: config.json does not say how many layers the model has")
        tokenizer = _tokenizer(directory)
        pad = pad_token(config)
        pad = pad if 0 <= pad < settings.vocab_size else 0  # Llama configs write -1 for none
        reading = reading.within(positions(settings), tokenizer)
        super().__init__(directory.name, tokenizer, check_layers(layers, depth), reading, pad, precision)
        self._device, self._threads, self._depth = device, threads, int(depth)

    def forward(self, ids: Ints, mask: Ints) -> Floats:
        """Runs one padded batch; where memory is short, in halves, and with smaller batches from then on."""
        if ids.shape[1] == 0:  # texts without a token, of a tokenizer that adds none
            return np.zeros((len(self.layers), len(ids), 0, self._model.config.hidden_size), dtype=np.float32)
        with torch.inference_mode(), torch_threads(self._threads):
            parts = in_halves(
                lambda rows: self._states(ids[rows], mask[rows]),
                slice(0, len(ids)),
                self._halve_budget,
                lambda _: f"{self._device} with one text of {ids.shape[1]} tokens",
            )
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _halve_budget(self) -> None:
        self.reading = replace(self.reading, token_budget=max(1, self.reading.token_budget // 2))

    def _states(self, ids: Ints, mask: Ints) -> Floats:
        output = self._model(
            input_ids=torch.from_numpy(ids).to(self._device),
            attention_mask=torch.from_numpy(mask).to(self._device),
            output_hidden_states=True,
        )
        # The last layer is what the model gives; CLIP's norm, for one, comes after its last hidden state.
        states = [*output.hidden_states[: self._depth], output.last_hidden_state]
        return np.asarray(torch.stack([states[layer] for layer in self.layers]).float().cpu().numpy())


@contextmanager
def loading(directory: Path, device: str) -> Iterator[None]:
    """Turns what transformers raises while it loads a model into one sentence; its tables and bars are not shown."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except LOADING as error:
        reason = f"transformers cannot load this on {device} ({first_line(error)})"
        raise UnsupportedModelError(f"{directory}: {reason}") from error
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def load(kind: Any, directory: Path, precision: str, **settings: Any) -> Any:
    """The model, if every weight it needs is there: transformers would make up the missing ones at random."""
    model, info = kind.from_pretrained(
        directory, dtype=DTYPES[precision], use_safetensors=True, output_loading_info=True, **settings
    )
    # Poolers are never used here; what needs no gradient, as sine positions, is computed and not stored.
    computed = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    missing = sorted(name for name in info["missing_keys"] if "pooler" not in name and name not in computed)
    if missing or info["mismatched_keys"]:
        tensor = (missing or sorted(map(str, info["mismatched_keys"])))[0]
        raise WeightsError(f"{directory}: its weights do not fit its config.json, {tensor} is missing; get it again")
    return model


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 300 characters: those of transformers go on for pages."""
    return str(error).strip().partition("\n")[0][:300]


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Inside this block torch runs `count` threads, 0 for its own choice; it can only be set for the whole process."""
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def _text_model(directory: Path, precision: str) -> Any:
    """The part of a model that reads text, without decoders and picture readers."""
    config = AutoConfig.from_pretrained(directory)
    text = getattr(config, "text_config", None)
    if text is not None:
        return load(AutoModelForTextEncoding, directory, precision, config=text)
    model = load(AutoModel, directory, precision)
    return model.get_encoder() if config.is_encoder_decoder else model


def _tokenizer(directory: Path) -> Tokenizer:
    """tokenizer.json if there is one, else what transformers converts from the older files."""
    if (directory / "tokenizer.json").is_file():
        return Tokenizer.from_directory(directory)
    try:
        loaded = load_tokenizer(directory)
        limit = loaded.model_max_length
        return Tokenizer(loaded.backend_tokenizer.to_str(), int(limit) if limit < NO_LIMIT else None)
    except AttributeError as error:
        raise ModelError(f"{directory}: no tokenizer.json there, and {type(loaded).__name__} makes none") from error


def load_tokenizer(directory: Path) -> Any:
    """The tokenizer that transformers loads, also from vocabulary or SentencePiece files without a tokenizer.json."""
    if not any(file for pattern in TOKENIZER_FILES for file in directory.glob(pattern)):
        # Without this, transformers makes a tokenizer with an empty vocabulary and says nothing.
        raise ModelError(
            f"{directory}: no tokenizer.json there, nor any other vocabulary; write one with "
            "transformers.AutoTokenizer.from_pretrained(MODEL).save_pretrained(DIR)"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Marian's recommends a package, see likelihood/torch_models.py
            return AutoTokenizer.from_pretrained(directory)
    except (ValueError, OSError, AttributeError, ImportError, TypeError, KeyError) as error:
        raise ModelError(
            f"{directory}: transformers can make no tokenizer of it ({first_line(error)}); write a tokenizer.json "
            "with transformers.AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) where the tokenizer's files are"
        ) from error


def positions(config: Any) -> int:
    """How many tokens the model's position table has room for; sys.maxsize if it has none."""
    table = getattr(config, "max_position_embeddings", None)
    if table is None or (config.model_type in UNLIMITED and not getattr(config, "position_biased_input", False)):
        return sys.maxsize
    return int(table) - (config.pad_token_id + 1 if config.model_type in OFFSET_POSITIONS else 0)
