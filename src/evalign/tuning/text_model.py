"""A transformer in torch with its tokenizer, as training uses it: texts in, hidden states with gradient out.

Texts are read as the metrics read them: the same tokenizer, special tokens included. Those of more than `max_length`
tokens are cut.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from evalign.encoders.base import Reading
from evalign.encoders.batching import TOKEN_BUDGET, pad, plan_batches
from evalign.encoders.digest import file_digest
from evalign.encoders.families import FAMILIES, pad_token
from evalign.encoders.locating import Located, locate
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.torch_hf import load, loading, padding_changes, positions
from evalign.encoders.windows import plan_windows
from evalign.errors import UnsupportedModelError
from evalign.tuning.trainee import torch, transformers
from evalign.tuning.training_plan import MAX_LENGTH
from evalign.types import Floats, Ints, Tokens


class TextModel:
    """Any encoder that transformers loads as an AutoModel."""

    def __init__(self, model: str, max_length: int = MAX_LENGTH, device: str = "cpu") -> None:
        self.located, self.device = locate(model), device
        config = self.located.config()
        self.tokenizer = Tokenizer.from_directory(self.located.directory)
        self.model = _loaded(self.located, device)
        settings = self.model.config
        room = Reading(max_length=max_length).within(positions(settings, self.model), self.tokenizer)
        self.max_length = room.max_length
        fill = pad_token(config)
        self._pad = fill if 0 <= fill < settings.vocab_size else 0
        self._attention = getattr(self.model, "attention_type", None)  # BigBird forgets it after a short text
        self._one_length = padding_changes(
            self._probe, self.located.label, str(config.get("model_type")), settings.vocab_size, self._pad, "fp32"
        )
        self.identity = _identity(self.located, device)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text that are read in training."""
        before, after = len(self.tokenizer.prefix_ids), len(self.tokenizer.suffix_ids)
        read = []
        for tokens in self.tokenizer(texts):
            room = self.max_length - before - after
            (window,) = plan_windows(len(tokens) - before - after, room, "truncate")
            places = np.arange(len(tokens))
            read.append(tokens.keep((places < before + window.stop) | (places >= len(tokens) - after)))
        return read

    def batches(self, sequences: Sequence[Sequence[int]]) -> list[list[int]]:
        """Indices of sequences that run together: of like length, or padding is half the work.

        Of families whose vectors padding changes, sequences of one length only, as when they score.
        """
        budget = TOKEN_BUDGET if self.device == "cpu" else sys.maxsize
        return plan_batches(list(map(len, sequences)), budget, self._one_length)

    def padded(self, sequences: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
        """The ids of a batch and the mask of the real ones."""
        return pad(sequences, self._pad)

    def last_layer(self, ids: Ints, mask: Ints) -> torch.Tensor:
        """(batch, tokens, width) of the last layer."""
        states: torch.Tensor = self._run(ids, mask).last_hidden_state
        return states[:, : ids.shape[1]]  # block-sparse attention fills up a text's end to whole blocks

    def layers(self, ids: Ints, mask: Ints, layers: Sequence[int]) -> torch.Tensor:
        """(layers, batch, tokens, width); the last layer is what the model gives, after a closing norm."""
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
