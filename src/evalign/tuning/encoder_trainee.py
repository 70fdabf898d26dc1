"""A transformer as a `Trainee`: a model directory in, the tuned one out, in the form that the ONNX encoder reads.

Texts are read as `sbert` reads them (the same tokenizer, special tokens included, the last layer, the same pooling), so
that the finished directory scores as it was trained. The pooler that some models carry is neither trained nor used.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evalign.atomic_files import whole_file
from evalign.encoders.base import Reading
from evalign.encoders.batching import TOKEN_BUDGET, pad, plan_batches
from evalign.encoders.digest import file_digest
from evalign.encoders.families import FAMILIES, pad_token
from evalign.encoders.locating import Located, locate
from evalign.encoders.safetensors_headers import tensor_places
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.torch_hf import load, loading, padding_changes, positions
from evalign.encoders.windows import plan_windows
from evalign.errors import FileFormatError, SpecError, UnsupportedModelError, nearest
from evalign.tuning.trainee import torch, transformers
from evalign.tuning.training_plan import MAX_LENGTH
from evalign.types import Floats, Ints

POOLINGS = ("mean", "cls", "max")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json",
                   "merges.txt", "sentencepiece.bpe.model", "spiece.model")  # fmt: skip


class EncoderTrainee:
    """Any encoder that transformers loads as an AutoModel; texts beyond `max_length` tokens are cut in training."""

    def __init__(self, model: str, pooling: str = "mean", max_length: int = MAX_LENGTH, device: str = "cpu") -> None:
        if pooling not in POOLINGS:
            raise SpecError(f"unknown pooling {pooling!r}; {nearest(pooling, POOLINGS)}")
        located = locate(model)
        config = located.config()
        self._directory = located.directory
        self._tokenizer = Tokenizer.from_directory(located.directory)
        if pooling == "cls" and not self._tokenizer.prefix_ids:
            raise SpecError(f"pooling=cls: the tokenizer of {located.label} puts no special token before a text")
        self._model = _loaded(located, device)
        settings = self._model.config
        limit = Reading(max_length=max_length).within(positions(settings, self._model), self._tokenizer).max_length
        self._room = limit - self._tokenizer.frame_length
        fill = pad_token(config)
        self._pad = fill if 0 <= fill < settings.vocab_size else 0
        self._pooling, self._device = pooling, device
        self._attention = getattr(self._model, "attention_type", None)  # BigBird forgets it after a short text
        self._one_length = padding_changes(
            self._states, located.label, str(config.get("model_type")), settings.vocab_size, self._pad, "fp32"
        )
        self._pooled_before = any("pooler" in name for name in tensor_places(located.directory))
        self.name = _identity(located, device) + f"|pooling:{pooling}|max_length:{limit}"
        self.max_length = limit

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Pooled last-layer vectors (texts, width); texts of like length run together, or padding is half the work.

        Of families whose vectors padding changes, texts of one length only, as when they score.
        """
        sequences = self._ids(texts)
        budget = TOKEN_BUDGET if self._device == "cpu" else sys.maxsize
        batches = plan_batches(list(map(len, sequences)), budget, self._one_length)
        vectors = torch.cat([self._pooled([sequences[index] for index in batch]) for batch in batches])
        order = [index for batch in batches for index in batch]
        return vectors[torch.tensor(np.argsort(order), device=vectors.device)]

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """The values of `state`."""
        return (tensor for tensor in self.state().values() if isinstance(tensor, torch.nn.Parameter))

    def state(self) -> dict[str, torch.Tensor]:
        """All parameters that the vectors depend on."""
        named = self._model.named_parameters()
        return {name: tensor for name, tensor in named if tensor.requires_grad and "pooler" not in name}

    def train(self, mode: bool = True) -> object:
        """With dropout, or without."""
        return self._model.train(mode)

    def save(self, folder: Path) -> None:
        """config.json, model.safetensors, the tokenizer's files, and the pooling for sentence-transformers."""
        weights = {name: tensor for name, tensor in self._model.state_dict().items()
                   if self._pooled_before or "pooler" not in name}  # fmt: skip
        with loading(folder, self._device):
            try:
                self._model.save_pretrained(folder, state_dict=weights)
            except OSError as error:
                raise FileFormatError(f"{folder}: cannot be written ({error.strerror or error})") from error
        for name in TOKENIZER_FILES:
            if (self._directory / name).is_file():
                shutil.copyfile(self._directory / name, folder / name)
        self._write_sentence_transformers(folder)

    def _write_sentence_transformers(self, folder: Path) -> None:
        modes = {"mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens"}
        pooling = {f"pooling_mode_{name}": mode == self._pooling for mode, name in modes.items()}
        parts = [("0", "", "Transformer"), ("1", "1_Pooling", "Pooling")]
        (folder / "1_Pooling").mkdir()
        width = {"word_embedding_dimension": int(self._model.config.hidden_size)}
        _write(folder / "1_Pooling" / "config.json", width | pooling)
        _write(folder / "sentence_bert_config.json", {"max_seq_length": self.max_length, "do_lower_case": False})
        _write(folder / "modules.json", [
            {"idx": int(name), "name": name, "path": path, "type": f"sentence_transformers.models.{kind}"}
            for name, path, kind in parts
        ])  # fmt: skip

    def _last_layer(self, ids: Ints, mask: Ints) -> torch.Tensor:
        if self._attention is not None:
            self._model.set_attention_type(self._attention)
        read, real = (torch.from_numpy(array).to(self._device) for array in (ids, mask))
        states: torch.Tensor = self._model(input_ids=read, attention_mask=real).last_hidden_state
        return states[:, : ids.shape[1]]  # block-sparse attention fills up a text's end to whole blocks

    def _states(self, ids: Ints, mask: Ints) -> Floats:
        with torch.inference_mode():
            return np.asarray(self._last_layer(ids, mask)[None].cpu().numpy())

    def _pooled(self, sequences: list[list[int]]) -> torch.Tensor:
        ids, mask = pad(sequences, self._pad)
        states = self._last_layer(ids, mask)
        if self._pooling == "cls":
            return states[:, 0]
        real = torch.from_numpy(mask).to(states)[:, :, None]
        if self._pooling == "max":
            return states.masked_fill(real == 0, -torch.inf).amax(dim=1)
        return (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        before, after = len(self._tokenizer.prefix_ids), len(self._tokenizer.suffix_ids)
        sequences = []
        for tokens in self._tokenizer(texts):
            ids = tokens.ids.tolist()
            (read,) = plan_windows(len(ids) - before - after, self._room, "truncate")
            sequences.append([*ids[: before + read.stop], *ids[len(ids) - after :]])
        return sequences


def _identity(located: Located, device: str) -> str:
    """Everything but the texts and the plan that decides the trained weights; dropout is in the config."""
    files = {name: file_digest(located.directory / f"{name}.json")[:8] for name in ("config", "tokenizer")}
    parts = files | {"transformers": transformers.__version__, "device": device}
    return "|".join([located.pinned, *(f"{key}:{value}" for key, value in parts.items())])


def _loaded(located: Located, device: str) -> Any:
    directory = located.directory
    with loading(directory, device):
        config = transformers.AutoConfig.from_pretrained(directory)
        if config.is_encoder_decoder or getattr(config, "text_config", None) is not None:
            raise UnsupportedModelError(
                f"{directory}: a {config.model_type} model has more parts than a text encoder, and only plain encoders "
                f"can be trained ({', '.join(FAMILIES)}, and others that transformers loads as an AutoModel)"
            )
        return load(transformers.AutoModel, directory, "fp32").to(device)


def _write(file: Path, content: object) -> None:
    with whole_file(file) as stream:
        json.dump(content, stream, indent=1)
