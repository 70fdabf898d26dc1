"""Encoders of any transformers model (extra `torch`): other families, GPUs, half precision.

Encoders, the encoder half of encoder-decoders, causal models (left context only), and the text half of models that
also read images. Batches are padded on the right and masked, whatever the tokenizer's setting is.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evalign.core import Floats, Ints
from evalign.encoders.adapter import Adapter
from evalign.encoders.base import PADDING_SENSITIVE, BatchingEncoder, EncodeOptions, in_halves, padding_sensitive
from evalign.encoders.config_checks import check_config
from evalign.encoders.families import depth, pad_token
from evalign.encoders.loading import check_layers
from evalign.encoders.model_json import read_object
from evalign.encoders.safetensors_headers import tensor_locations, weight_files
from evalign.encoders.tokenizer import NO_LIMIT, Tokenizer, puts_prefix_space
from evalign.errors import EvalignError, MissingExtraError, ModelError, UnsupportedModelError, WeightsError

try:
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding, AutoTokenizer
    from transformers import __version__ as version
    from transformers.utils import logging
except ImportError as error:
    raise MissingExtraError("backend=torch", "torch") from error

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
UNLIMITED = ("deberta-v2", "t5", "mt5", "umt5")  # relative positions: the limit in the config does not apply
TOKENIZER_FILES = ("tokenizer.json", "*.spm", "*.model", "vocab.*", "*vocab*", "*.tiktoken")
BUFFERS = ("position_ids", "token_type_ids", "inv_freq", "masked_bias", "attn.bias")  # computed; old files hold them
BLOCKWISE = ("big_bird", "bigbird_pegasus", "pegasus_x")  # pad the end of a text to whole blocks internally


class TorchEncoder(BatchingEncoder):
    """A model directory through transformers. `layers=None` returns every hidden state."""

    def __init__(
        self, directory: Path, config: dict[str, Any], layers: tuple[int, ...] | None, reading: EncodeOptions,
        precision: str = "fp32", threads: int = 0, adapter: Adapter | None = None, device: str = "cpu",
    ) -> None:  # fmt: skip
        weight_files(directory)  # safetensors only; this error is shorter than that of transformers
        with loading(directory, device):
            self._model = _text_model(directory, precision).to(device).eval()
            if adapter is not None:
                _add_changes(self._model, adapter)
            settings = _settings(self._model, directory)
        self._depth = getattr(settings, "num_hidden_layers", None) or depth(settings.to_dict()) or 0
        if not self._depth:
            raise UnsupportedModelError(f"{directory}: config.json does not say how many layers the model has")
        self._family = str(config.get("model_type"))
        tokenizer = _tokenizer(directory, puts_prefix_space(directory, self._family, reading.profile))
        pad = pad_token(config)
        pad = pad if 0 <= pad < settings.vocab_size else 0  # Llama configs write -1 for none
        reading = reading.within(positions(settings, self._model), tokenizer)
        super().__init__(directory.name, tokenizer, check_layers(layers, self._depth), reading, pad, precision)
        self._device, self._threads, self._width = device, threads, int(settings.hidden_size)
        self._attention = getattr(self._model, "attention_type", None)  # BigBird forgets it after a short text
        if reading.profile != "no" and len(self.layers) == 1:
            self._depth = _cut(self._model, self._depth, self.layers[0])
        self.one_length = padding_changes(
            self.forward, self.name, self._family, settings.vocab_size, self.pad_id, precision
        )

    def forward(self, ids: Ints, mask: Ints) -> Floats:
        """Run one padded batch; where memory is short in halves, and with smaller batches from then on."""
        if ids.shape[1] == 0:  # texts without a token, of a tokenizer that adds none
            return np.zeros((len(self.layers), len(ids), 0, self._width), dtype=np.float32)
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
        if self._attention is not None:
            self._model.set_attention_type(self._attention)
        output = self._model(
            input_ids=torch.from_numpy(ids).to(self._device),
            attention_mask=torch.from_numpy(mask).to(self._device),
            output_hidden_states=True,
        )
        # The last layer is the model's output: CLIP's norm, for example, is after its last hidden state.
        states = [*(output.hidden_states or ())[: self._depth], output.last_hidden_state]
        if self._family in BLOCKWISE:
            states = [state[:, : ids.shape[1]] for state in states]
        shapes = {tuple(state.shape) for state in states}
        if len(output.hidden_states or ()) != self._depth + 1 or shapes != {(*ids.shape, states[0].shape[2])}:
            raise UnsupportedModelError(
                f"{self.name}: model_type {self._family!r} does not give one vector per token and layer "
                f"({self._depth} layers, {ids.shape[1]} tokens, states of {sorted(shapes)}); use another text encoder"
            )
        return np.asarray(torch.stack([states[layer] for layer in self.layers]).float().cpu().numpy())


def linear_modules(model: Any) -> dict[str, torch.nn.Linear]:
    """Return the linear layers of a model by name."""
    return {name: module for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}


def _add_changes(model: Any, adapter: Adapter) -> None:
    """Add an adapter's changes to the weights, in 32 bits."""
    linears = linear_modules(model)
    adapter.check_linears({name: tuple(module.weight.shape) for name, module in linears.items()})
    with torch.no_grad():
        for name, change in adapter.changes.items():
            weight = linears[name].weight
            added = torch.from_numpy(change.up) @ torch.from_numpy(change.down)
            weight.copy_(weight.float() + added.to(weight.device))


def padding_changes(
    forward: Callable[[Ints, Ints], Floats], name: str, family: str, vocabulary: int, pad_id: int, precision: str
) -> bool:
    """Run the model once padded and once not; raise UnsupportedModelError if token ids alone do not suffice."""
    try:
        changed = padding_sensitive(forward, vocabulary, pad_id, precision)
    except (EvalignError, MemoryError):
        raise
    except Exception as error:  # whatever a model's own code raises
        reason = f"model_type {family!r} does not run on token ids and their mask alone ({first_line(error)})"
        raise UnsupportedModelError(f"{name}: {reason}; use another text encoder") from error
    return changed or family in PADDING_SENSITIVE


@contextmanager
def loading(directory: Path, device: str) -> Iterator[None]:
    """Check config.json, and run transformers as `quiet_transformers` does."""
    check_config(read_object(directory / "config.json"), tensor_locations(directory))
    with quiet_transformers(directory, device):
        yield


@contextmanager
def quiet_transformers(directory: Path, device: str) -> Iterator[None]:
    """Turn errors of transformers into one sentence; hide its tables and progress bars."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except EvalignError:
        raise
    except Exception as error:  # whatever a model's own code raises
        reason = f"transformers cannot load this on {device} ({first_line(error)})"
        raise UnsupportedModelError(f"{directory}: {reason}") from error
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def load(auto_class: Any, directory: Path, precision: str, **settings: Any) -> Any:
    """Load a model; incomplete weights are an error, where transformers would initialise them at random.

    Args:
        auto_class: Class of transformers, such as AutoModel.
        directory: Folder of the model.
        precision: Key of `DTYPES`.
        **settings: Further arguments of `from_pretrained`.
    """
    settings |= {"dtype": DTYPES[precision], "use_safetensors": True}
    reported = {"output_loading_info": True, "ignore_mismatched_sizes": True}  # reported below, in a sentence
    model, info = auto_class.from_pretrained(directory, **settings, **reported)
    # Poolers are never used here; parameters without a gradient, such as sine positions, are computed and not stored.
    computed = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    missing = sorted(name for name in info["missing_keys"] if "pooler" not in name and name not in computed)
    resized = sorted(f"{name} has another shape" for name, *_ in info["mismatched_keys"] if "pooler" not in name)
    if wrong := [f"{name} is missing" for name in missing] + resized:
        raise WeightsError(f"{directory}: its weights do not fit its config.json, {wrong[0]}; get it again")
    if str(getattr(model.config, "position_embedding_type", "")).startswith("relative_key") and not any(
        "distance_embedding" in name for name, _ in model.named_parameters()
    ):
        raise UnsupportedModelError(
            f"{directory}: transformers {version} builds no position_embedding_type "
            f"{model.config.position_embedding_type!r}; use a model with absolute ones"
        )
    if unread := _unread(model, info["unexpected_keys"]):
        raise WeightsError(
            f"{directory}: transformers {version} would ignore {len(unread)} of its weights, {unread[0]} first, and "
            "score with another model than this; use a model that this version builds"
        )
    return model


def _unread(model: Any, unexpected: Iterable[str]) -> list[str]:
    """Return tensors of the file that belong inside the model but are not part of it; heads are outside.

    For example, current transformers builds BERT without its relative positions.
    """
    parts = {name for name, _ in model.base_model.named_children()} - {"pooler"}
    weights = (name for name in unexpected if not name.endswith(BUFFERS))
    return sorted(n for n in weights if n.removeprefix(f"{model.base_model_prefix}.").partition(".")[0] in parts)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, at most 300 characters: those of transformers are pages long."""
    return str(error).strip().partition("\n")[0][:300]


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Run torch with `count` threads in this block (0: its default); the setting is global to the process."""
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def _text_model(directory: Path, precision: str) -> Any:
    """Load the part of a model that reads text, without decoders and image encoders."""
    config = AutoConfig.from_pretrained(directory)
    text = getattr(config, "text_config", None)
    if text is not None:
        return load(AutoModelForTextEncoding, directory, precision, config=text)
    model = load(AutoModel, directory, precision)
    return model.get_encoder() if config.is_encoder_decoder else model


def _cut(model: Any, depth: int, layer: int) -> int:
    """Drop the layers above `layer`, so that a closing norm follows it, as in bert_score; return the new depth.

    Nothing is dropped if there is no single list of layers (ALBERT repeats one layer): those models have no closing
    norm.
    """
    lists = [(name, part) for name, part in model.named_modules() if isinstance(part, torch.nn.ModuleList)]
    named = [(name.count("."), name) for name, part in lists if len(part) == depth]
    outer = [name for dots, name in named if dots == min(named)[0]]
    if layer == depth or len(outer) != 1:
        return depth
    parent, _, name = outer[0].rpartition(".")
    setattr(model.get_submodule(parent), name, model.get_submodule(outer[0])[:layer])
    return layer


def _settings(model: Any, directory: Path) -> Any:
    """Return the config of the text part; FSMT's encoder has none."""
    return getattr(model, "config", None) or AutoConfig.from_pretrained(directory)


def _tokenizer(directory: Path, prefix_space: bool) -> Tokenizer:
    """Load tokenizer.json if it exists, else the tokenizer that transformers converts from older files."""
    if (directory / "tokenizer.json").is_file():
        return Tokenizer.from_directory(directory, prefix_space)
    try:
        loaded = load_tokenizer(directory)
        limit = loaded.model_max_length
        return Tokenizer(loaded.backend_tokenizer.to_str(), int(limit) if limit < NO_LIMIT else None, prefix_space)
    except AttributeError as error:
        raise ModelError(f"{directory}: no tokenizer.json there, and {type(loaded).__name__} makes none") from error


def load_tokenizer(directory: Path) -> Any:
    """Load a tokenizer by transformers, also from vocabulary or SentencePiece files without a tokenizer.json."""
    if not any(file for pattern in TOKENIZER_FILES for file in directory.glob(pattern)):
        # Without this, transformers silently creates a tokenizer with an empty vocabulary.
        raise ModelError(
            f"{directory}: no tokenizer.json there, nor any other vocabulary; write one with "
            "transformers.AutoTokenizer.from_pretrained(MODEL).save_pretrained(DIR)"
        )
    if (directory / "tokenizer.json").is_file():
        Tokenizer.from_directory(directory)  # transformers checks nothing of it, and it may end the process
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Marian's recommends a package, see torch_likelihood.py
            return AutoTokenizer.from_pretrained(directory)
    except Exception as error:  # whatever a tokenizer's own code raises
        raise ModelError(
            f"{directory}: transformers can make no tokenizer of it ({first_line(error)}); write a tokenizer.json "
            "with transformers.AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) where the tokenizer's files are"
        ) from error


def positions(config: Any, model: Any) -> int:
    """Return the number of tokens that the position table allows; sys.maxsize without one (XLNet writes -1)."""
    table = getattr(config, "max_position_embeddings", None) or 0
    relative = config.model_type in UNLIMITED and not getattr(config, "position_biased_input", False)
    if table < 1 or relative:
        return sys.maxsize
    tables = (module for name, module in model.named_modules() if name.endswith("position_embeddings"))
    unused = [module.padding_idx + 1 for module in tables if getattr(module, "padding_idx", None) is not None]
    return int(table) - max(unused, default=0)  # RoBERTa's, for one, starts behind the padding id
