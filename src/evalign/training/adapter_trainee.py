"""An encoder with an adapter as a `Trainee`: a model and settings in, the folder for `bertscore(adapter=DIR)` out.

The weights of the encoder are frozen. Trained are, for every linear layer that the selected layers depend on, down
(rank, inputs) and up (outputs, rank), where up starts at 0, so that training starts at the plain metric; the token
importance; and the output layer. There is no dropout: the score itself is trained. Importance and output layer are few
numbers that change a lot, so the optimizer works on a tenth of their values.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evalign.core import Floats
from evalign.encoders.adapter import FIELDS, Adapter, LowRank, OutputLayer
from evalign.encoders.families import depth
from evalign.encoders.loading import check_layers, default_layer, parse_layers
from evalign.encoders.torch_hf import linear_modules
from evalign.errors import UnsupportedModelError
from evalign.training import adapter_objective as objective
from evalign.training import damage
from evalign.training.encoder_trainee import TextModel
from evalign.training.plan import AdapterSettings
from evalign.training.trainee import Objective, torch

Tensor = torch.Tensor
LEARNING_RATE_SCALE = 10  # of importance and output layer, relative to the low-rank changes
PROBE_TOKENS = 3  # of a text that detects the linear layers in use


@dataclass(frozen=True, eq=False)
class ReadText:
    """Tokens of a text: unit vectors, whose products are cosines averaged over layers, and weights."""

    vectors: Tensor  # (tokens, layers * width)
    weights: Tensor  # (tokens,): importance, 0 for special tokens


class AdapterTrainee:
    """A model with an adapter; the same settings and seed give the same start."""

    def __init__(
        self,
        model: str,
        settings: AdapterSettings | None = None,
        seed: int = 12345,
        device: str = "cpu",
        files: int = 1,
        anchors: Sequence[str] = (),
    ) -> None:
        self.settings = settings = settings or AdapterSettings()
        self.anchors = tuple(anchors)  # texts whose token vectors must not move
        self._texts = TextModel(model, settings.max_length, device)
        self._texts.model.requires_grad_(False).eval()
        located = self._texts.located
        config = located.config()
        selected = parse_layers(settings.layer or default_layer(located, config))
        self.layers = check_layers(selected, depth(config) or 0)
        self._generator = torch.Generator().manual_seed(seed)
        self._plain = False  # whether the encoder runs without its changes
        self._changes = self._add_changes()
        width = int(self._texts.model.config.hidden_size)
        zeros, ones = torch.zeros(len(FIELDS), device=device), torch.ones(len(FIELDS), device=device)
        self.raw_importance = torch.nn.Parameter(torch.zeros(len(self.layers), width, device=device))
        self.raw_weights = torch.nn.Parameter(zeros[: 1 + max(settings.weight_of_field)].clone())
        self.raw_intercept = torch.nn.Parameter(zeros[:1].clone())
        self.raw_offsets = torch.nn.Parameter(torch.zeros(files, device=device))  # of each file's ratings, as are
        self.raw_slopes = torch.nn.Parameter(torch.zeros(files, device=device))  # these; no metric needs them
        self.means, self.scales = zeros, ones  # fitted before the first step, then fixed
        rules = f"{damage.DAMAGE_VERSION}.{damage.OPPOSITES_VERSION}.{objective.VERSION}"
        code = f"together:{objective.MAX_REFERENCE_RUN}|rules:{rules}"  # decides the weights too
        layers = "+".join(map(str, self.layers))
        anchored = f"|anchors:{_digest(self.anchors)}" if self.anchors else ""
        self.name = f"{self._texts.identity}|adapter|{settings}{anchored}|{code}|layers:{layers}|start:{seed}"

    @property
    def device(self) -> str:
        """Return the device of the model."""
        return self._texts.device

    def objective(self, loss: str) -> Objective:
        """Return the objective on the scores of the matching; there is only one loss."""
        return objective.MatchingObjective(self, self.settings)

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Return the trainable parameters."""
        return (tensor for tensor in self.state().values() if isinstance(tensor, torch.nn.Parameter))

    def state(self) -> dict[str, Tensor]:
        """Return the parameters, and the means and scales of the output layer."""
        changes = {
            f"{name}.{part}": tensor
            for name, pair in self._changes.items()
            for part, tensor in zip(("down", "up"), pair, strict=True)
        }
        output = {
            "importance": self.raw_importance,
            "output.weights": self.raw_weights,
            "output.intercept": self.raw_intercept,
            "offsets": self.raw_offsets,
            "slopes": self.raw_slopes,
        }
        return changes | output | {"output.means": self.means, "output.scales": self.scales}

    def train(self, mode: bool = True) -> object:
        """Return the trainee: training and scoring mode are the same."""
        return self

    def save(self, folder: Path, record: Mapping[str, Any] | None = None) -> None:
        """Write the folder of the adapter."""
        located = self._texts.located
        changes = {name: LowRank(*(_array(tensor) for tensor in pair)) for name, pair in self._changes.items()}
        rank, importance = self.settings.rank, _array(self.importance)
        Adapter(
            located.label, located.sha256, self.layers, rank, changes, importance, self.output(), dict(record or {})
        ).save(folder)

    def output(self) -> OutputLayer:
        """Return the current output layer."""
        lists = (
            tuple(tensor.double().tolist()) for tensor in (self.means, self.scales, self.output_weights().detach())
        )
        means, scales, weights = lists
        return OutputLayer(means, scales, weights, float(LEARNING_RATE_SCALE * self.raw_intercept.detach()))

    def start_output(self, output: OutputLayer, offsets: Floats, slopes: Floats) -> None:
        """Set the output layer, and the offset and slope of every file, before the first step."""
        with torch.no_grad():
            self.means.copy_(torch.tensor(output.means))
            self.scales.copy_(torch.tensor(output.scales))
            raw = torch.tensor(output.weights).expm1().log() / LEARNING_RATE_SCALE  # of softplus
            for index, weight in zip(self.settings.weight_of_field, raw, strict=True):
                self.raw_weights[index] = weight
            self.raw_intercept.fill_(output.intercept / LEARNING_RATE_SCALE)
            self.raw_offsets.copy_(torch.from_numpy(offsets / LEARNING_RATE_SCALE))
            self.raw_slopes.copy_(torch.from_numpy(np.log(slopes) / LEARNING_RATE_SCALE))

    @property
    def importance(self) -> Tensor:
        """Return the importance (layers, width); a token's weight is exp of its product with the unit vectors."""
        return torch.zeros_like(self.raw_importance) if self._plain else LEARNING_RATE_SCALE * self.raw_importance

    def output_weights(self) -> Tensor:
        """Return the weights of the fields, which are never negative."""
        return torch.nn.functional.softplus(LEARNING_RATE_SCALE * self.raw_weights)[list(self.settings.weight_of_field)]

    def ratings(self, scores: Tensor, files: Sequence[int]) -> Tensor:
        """Return the expected ratings (n,) of scores in these files: slope * score + offset.

        Slope and offset of the first file are 1 and 0: the output layer has its scale.
        """
        slopes, offsets = (LEARNING_RATE_SCALE * (raw - raw[:1]) for raw in (self.raw_slopes, self.raw_offsets))
        return scores * slopes.exp()[list(files)] + offsets[list(files)]

    def scores(self, fields: Tensor, learning: bool = True) -> Tensor:
        """Return scores (...,) of fields (..., 3), on the scale of the standardised ratings.

        Without `learning`, the output layer gets no gradient.
        """
        intercept, weights = LEARNING_RATE_SCALE * self.raw_intercept, self.output_weights()
        if not learning:
            intercept, weights = intercept.detach(), weights.detach()
        return intercept + (fields - self.means) @ (weights / self.scales)

    def read(self, texts: Sequence[str]) -> dict[str, ReadText]:
        """Encode every distinct text once, in batches of similar length."""
        distinct = list(dict.fromkeys(texts))
        tokens = self._texts.tokens(distinct)
        sequences = [read.ids.tolist() for read in tokens]
        special_ids = list(self._texts.tokenizer.special_ids)
        encoded: dict[str, ReadText] = {}
        for batch in self._texts.batches(sequences):
            states = self._texts.layers(*self._texts.padded([sequences[index] for index in batch]), self.layers)
            units = torch.nn.functional.normalize(states.float(), dim=-1)
            importance = torch.einsum("ld,lbtd->bt", self.importance, units).exp()
            joined = units.permute(1, 2, 0, 3).flatten(2) / math.sqrt(len(self.layers))
            for row, index in enumerate(batch):
                read = tokens[index]
                ordinary = torch.from_numpy(~read.special & ~np.isin(read.ids, special_ids)).to(importance)
                weights = importance[row, : len(read)] * ordinary
                encoded[distinct[index]] = ReadText(joined[row, : len(read)], weights)
        return encoded

    def read_plain(self, texts: Sequence[str]) -> dict[str, ReadText]:
        """Encode texts without the adapter and without gradient."""
        self._plain = True
        try:
            with torch.no_grad():
                return self.read(texts)
        finally:
            self._plain = False

    def _add_changes(self) -> dict[str, tuple[torch.nn.Parameter, torch.nn.Parameter]]:
        """Add hooks to the linear layers that the selected layers depend on, and return their parameters."""
        linears, rank, device = linear_modules(self._texts.model), self.settings.rank, self.device
        hooks, changes = {}, {}
        for name, module in linears.items():
            bound = 1 / math.sqrt(module.in_features)
            start = (2 * torch.rand(rank, module.in_features, generator=self._generator) - 1) * bound
            down = torch.nn.Parameter(start.to(device))
            up = torch.nn.Parameter(torch.zeros(module.out_features, rank, device=device))
            changes[name] = (down, up)
            hooks[name] = module.register_forward_hook(self._adding(down, up))
        probe = np.zeros((1, PROBE_TOKENS), dtype=np.int64)
        states = self._texts.layers(probe, probe + 1, self.layers)
        ups = [up for _, up in changes.values()]
        used = torch.autograd.grad((states**2).sum(), ups, allow_unused=True) if ups and states.requires_grad else ()
        for name, gradient in zip(list(changes), used or [None] * len(ups), strict=True):
            if gradient is None:
                hooks[name].remove()
                del changes[name]
        if not changes:
            label, layers = self._texts.located.label, "+".join(map(str, self.layers))
            raise UnsupportedModelError(
                f"{label}: there is no linear layer (torch.nn.Linear) below layer {layers}, so nothing can be adapted"
            )
        return changes

    def _adding(self, down: Tensor, up: Tensor) -> Any:
        """Return a forward hook that adds the low-rank change to the layer's output."""
        return lambda _, inputs, output: output if self._plain else output + inputs[0] @ down.T @ up.T


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def _array(tensor: Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.asarray(tensor.detach().cpu().float().numpy())
