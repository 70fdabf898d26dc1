"""A transformer as a `Trainee`: a model directory in, the tuned directory out, in the format of the ONNX encoder.

Texts are read as by `sbert` (the last layer, the same pooling), so that the finished directory scores as it was
trained. The pooler that some models have is neither trained nor used.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evalign.core import Floats, Ints, Tokens
from evalign.encoders.base import TOKEN_BUDGET, EncodeOptions, pad, plan_batches, plan_windows
from evalign.encoders.families import FAMILIES, pad_token
from evalign.encoders.safetensors_headers import tensor_locations
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.torch_hf import load, loading, padding_changes, positions, quiet_transformers
from evalign.encoders.weights import Located, locate
from evalign.errors import FileFormatError, SpecError, UnsupportedModelError, nearest
from evalign.io.files import whole_file
from evalign.training.plan import MAX_LENGTH
from evalign.training.trainee import CosineObjective, Objective, torch, transformers

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
        self._pooled_before = any("pooler" in name for name in tensor_locations(self._texts.located.directory))
        self.max_length = self._texts.max_length
        self.name = f"{self._texts.identity}|pooling:{pooling}|max_length:{self.max_length}"

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Return pooled last-layer vectors (texts, width)."""
        sequences = [tokens.ids.tolist() for tokens in self._texts.tokens(texts)]
        batches = self._texts.batches(sequences)
        vectors = torch.cat([self._pooled([sequences[index] for index in batch]) for batch in batches])
        order = [index for batch in batches for index in batch]
        return vectors[torch.tensor(np.argsort(order), device=vectors.device)]

    def objective(self, loss: str) -> Objective:
        """Return the objective on the cosines of pairs."""
        return CosineObjective.named(self, loss)

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Return the values of `state`."""
        return (tensor for tensor in self.state().values() if isinstance(tensor, torch.nn.Parameter))

    def state(self) -> dict[str, torch.Tensor]:
        """Return all parameters that the vectors depend on."""
        named = self._model.named_parameters()
        return {name: tensor for name, tensor in named if tensor.requires_grad and "pooler" not in name}

    def train(self, mode: bool = True) -> object:
        """Enable or disable dropout."""
        return self._model.train(mode)

    def save(self, folder: Path, record: Mapping[str, Any] | None = None) -> None:
        """Write config.json, model.safetensors, the tokenizer's files, and the pooling for sentence-transformers."""
        weights = {name: tensor for name, tensor in self._model.state_dict().items()
                   if self._pooled_before or "pooler" not in name}  # fmt: skip
        with quiet_transformers(folder, self._texts.device):
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
            {"idx": int(name), "name": name, "path": path, "type": f"sentence_transformers.models.{module}"}
            for name, path, module in parts
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


class TextModel:
    """Any encoder that transformers loads as an AutoModel."""

    def __init__(self, model: str, max_length: int = MAX_LENGTH, device: str = "cpu") -> None:
        self.located, self.device = locate(model), device
        config = self.located.config()
        self.tokenizer = Tokenizer.from_directory(self.located.directory)
        self.model = _loaded(self.located, device)
        settings = self.model.config
        room = EncodeOptions(max_length=max_length).within(positions(settings, self.model), self.tokenizer)
        self.max_length = room.max_length
        fill = pad_token(config)
        self._pad = fill if 0 <= fill < settings.vocab_size else 0
        self._attention = getattr(self.model, "attention_type", None)  # BigBird changes it after a short text
        self._one_length = padding_changes(
            self._probe, self.located.label, str(config.get("model_type")), settings.vocab_size, self._pad, "fp32"
        )
        self.identity = _identity(self.located, device)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text, truncated to the maximum length."""
        before, after = len(self.tokenizer.prefix_ids), len(self.tokenizer.suffix_ids)
        read = []
        for tokens in self.tokenizer(texts):
            room = self.max_length - before - after
            (window,) = plan_windows(len(tokens) - before - after, room, "truncate")
            indices = np.arange(len(tokens))
            read.append(tokens.keep((indices < before + window.stop) | (indices >= len(tokens) - after)))
        return read

    def batches(self, sequences: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return batches of indices of sequences of similar length, because padding would be half the work.

        For families whose vectors depend on padding, a batch has sequences of one length only, as in scoring.
        """
        budget = TOKEN_BUDGET if self.device == "cpu" else sys.maxsize
        return plan_batches(list(map(len, sequences)), budget, self._one_length)

    def padded(self, sequences: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
        """Return the padded ids of a batch and the mask of real tokens."""
        return pad(sequences, self._pad)

    def last_layer(self, ids: Ints, mask: Ints) -> torch.Tensor:
        """Return the last layer (batch, tokens, width)."""
        states: torch.Tensor = self._run(ids, mask).last_hidden_state
        return states[:, : ids.shape[1]]  # block-sparse attention pads texts to whole blocks

    def layers(self, ids: Ints, mask: Ints, layers: Sequence[int]) -> torch.Tensor:
        """Return layers (layers, batch, tokens, width); the last is the output of the model, after its final norm."""
        output = self._run(ids, mask, output_hidden_states=True)
        states = [*output.hidden_states[:-1], output.last_hidden_state]
        return torch.stack([states[layer][:, : ids.shape[1]] for layer in layers])

    def _run(self, ids: Ints, mask: Ints, **options: Any) -> Any:
        if self._attention is not None:
            self.model.set_attention_type(self._attention)
        read, real = (torch.from_numpy(array).to(self.device) for array in (ids, mask))
        return self.model(input_ids=read, attention_mask=real, **options)

    def _probe(self, ids: Ints, mask: Ints) -> Floats:
        with torch.inference_mode():
            return np.asarray(self.last_layer(ids, mask)[None].cpu().numpy())


def _identity(located: Located, device: str) -> str:
    """Return everything that decides the trained weights, except texts and plan; dropout is in the config."""
    parts = {"transformers": transformers.__version__, "device": device}
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
