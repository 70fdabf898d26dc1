"""A transformer as a `Trainee`: a model directory in, the tuned one out, in the form that the ONNX encoder reads.

Texts are read as `sbert` reads them (the last layer, the same pooling), so that the finished directory scores as it was
trained. The pooler that some models carry is neither trained nor used.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evalign.atomic_files import whole_file
from evalign.encoders.safetensors_headers import tensor_places
from evalign.encoders.torch_hf import loading
from evalign.errors import FileFormatError, SpecError, nearest
from evalign.tuning.micro_batches import CosineObjective
from evalign.tuning.text_model import TextModel
from evalign.tuning.trainee import Objective, torch
from evalign.tuning.training_plan import MAX_LENGTH

POOLINGS = ("mean", "cls", "max")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json",
                   "merges.txt", "sentencepiece.bpe.model", "spiece.model")  # fmt: skip


class EncoderTrainee:
    """Any encoder that transformers loads as an AutoModel; texts beyond `max_length` tokens are cut in training."""

    def __init__(self, model: str, pooling: str = "mean", max_length: int = MAX_LENGTH, device: str = "cpu") -> None:
        if pooling not in POOLINGS:
            raise SpecError(f"unknown pooling {pooling!r}; {nearest(pooling, POOLINGS)}")
        self._texts = TextModel(model, max_length, device)
        self._model, self._pooling = self._texts.model, pooling
        if pooling == "cls" and not self._texts.tokenizer.prefix_ids:
            label = self._texts.located.label
            raise SpecError(f"pooling=cls: the tokenizer of {label} puts no special token before a text")
        self._pooled_before = any("pooler" in name for name in tensor_places(self._texts.located.directory))
        self.max_length = self._texts.max_length
        self.name = f"{self._texts.identity}|pooling:{pooling}|max_length:{self.max_length}"

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Pooled last-layer vectors (texts, width)."""
        sequences = [tokens.ids.tolist() for tokens in self._texts.tokens(texts)]
        batches = self._texts.batches(sequences)
        vectors = torch.cat([self._pooled([sequences[index] for index in batch]) for batch in batches])
        order = [index for batch in batches for index in batch]
        return vectors[torch.tensor(np.argsort(order), device=vectors.device)]

    def objective(self, loss: str) -> Objective:
        """The cosines of pairs."""
        return CosineObjective.named(self, loss)

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

    def save(self, folder: Path, record: Mapping[str, Any] | None = None) -> None:
        """config.json, model.safetensors, the tokenizer's files, and the pooling for sentence-transformers."""
        weights = {name: tensor for name, tensor in self._model.state_dict().items()
                   if self._pooled_before or "pooler" not in name}  # fmt: skip
        with loading(folder, self._texts.device):
            try:
                self._model.save_pretrained(folder, state_dict=weights)
            except OSError as error:
                raise FileFormatError(f"{folder}: cannot be written ({error.strerror or error})") from error
        directory = self._texts.located.directory
        for name in TOKENIZER_FILES:
            if (directory / name).is_file():
                shutil.copyfile(directory / name, folder / name)
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

    def _pooled(self, sequences: list[list[int]]) -> torch.Tensor:
        ids, mask = self._texts.padded(sequences)
        states = self._texts.last_layer(ids, mask)
        if self._pooling == "cls":
            return states[:, 0]
        real = torch.from_numpy(mask).to(states)[:, :, None]
        if self._pooling == "max":
            return states.masked_fill(real == 0, -torch.inf).amax(dim=1)
        return (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


def _write(file: Path, content: object) -> None:
    with whole_file(file) as stream:
        json.dump(content, stream, indent=1)
