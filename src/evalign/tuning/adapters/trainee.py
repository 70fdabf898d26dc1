"""An encoder with an adapter as a `Trainee`: a model and settings in, the folder for `bertscore(adapter=DIR)` out.

The encoder's own weights stay as they are. Trained are, for every linear layer that the chosen layers depend on, down
(rank, inputs) and up (outputs, rank), of which up is 0 at first, so that training starts at the plain metric; the token
importance; and the output layer. There is no dropout: what is trained is the score itself. Importance and output layer
are few numbers and have far to go: what the optimizer changes is a tenth of them.
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

from evalign.encoders.adapter import FIELDS, Adapter, LowRank, OutputLayer
from evalign.encoders.families import depth
from evalign.encoders.layers import check_layers, parse_layers
from evalign.encoders.loading import default_layer
from evalign.encoders.torch_hf import linear_modules
from evalign.errors import UnsupportedModelError
from evalign.tuning.adapters import damage, objective, opposites
from evalign.tuning.adapters.settings import AdapterSettings
from evalign.tuning.text_model import TextModel
from evalign.tuning.trainee import Objective, torch
from evalign.types import Floats

Tensor = torch.Tensor
FAST = 10  # how many times faster than the low-rank changes importance and output layer learn
PROBE = 3  # tokens of the text that shows which linear layers are used


@dataclass(frozen=True, eq=False)
class ReadText:
    """A text's tokens: unit vectors whose products are cosines averaged over layers, weights, which are its own."""

    vectors: Tensor  # (tokens, layers * width)
    weights: Tensor  # (tokens,): importance, 0 for special tokens


class AdapterTrainee:
    """A model of any family that `evalign train` reads; the same settings and seed give the same start."""

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
        self.anchors = tuple(anchors)  # texts whose tokens must stay where they are
        self._texts = TextModel(model, settings.max_length, device)
        self._texts.model.requires_grad_(False).eval()
        located = self._texts.located
        config = located.config()
        wanted = parse_layers(settings.layer or default_layer(located, config))
        self.layers = check_layers(wanted, depth(config) or 0)
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
        rules = f"{damage.VERSION}.{opposites.VERSION}.{objective.VERSION}"
        code = f"together:{objective.TOGETHER}|rules:{rules}"  # decides the weights, too
        layers = "+".join(map(str, self.layers))
        anchored = f"|anchors:{_digest(self.anchors)}" if self.anchors else ""
        self.name = f"{self._texts.identity}|adapter|{settings}{anchored}|{code}|layers:{layers}|start:{seed}"

    @property
    def device(self) -> str:
        """Where it runs."""
        return self._texts.device

    def objective(self, loss: str) -> Objective:
        """Scores of the matching against ratings; there is one loss."""
        return objective.MatchingObjective(self, self.settings)

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """What the optimizer changes."""
        return (tensor for tensor in self.state().values() if isinstance(tensor, torch.nn.Parameter))

    def state(self) -> dict[str, Tensor]:
        """The parameters, and the means and scales of the output layer."""
        changes = {
            f"{name}.{part}": tensor
            for name, pair in self._changes.items()
            for part, tensor in zip(("down", "up"), pair, strict=True)
        }
        few = {
            "importance": self.raw_importance,
            "output.weights": self.raw_weights,
            "output.intercept": self.raw_intercept,
            "offsets": self.raw_offsets,
            "slopes": self.raw_slopes,
        }
        return changes | few | {"output.means": self.means, "output.scales": self.scales}

    def train(self, mode: bool = True) -> object:
        """Nothing differs between training and scoring."""
        return self

    def save(self, folder: Path, record: Mapping[str, Any] | None = None) -> None:
        """The folder that metrics read."""
        located = self._texts.located
        changes = {name: LowRank(*(_array(tensor) for tensor in pair)) for name, pair in self._changes.items()}
        rank, importance = self.settings.rank, _array(self.importance)
        Adapter(
            located.label, located.sha256, self.layers, rank, changes, importance, self.output(), dict(record or {})
        ).save(folder)

    def output(self) -> OutputLayer:
        """The output layer as it is now."""
        lists = (
            tuple(tensor.double().tolist()) for tensor in (self.means, self.scales, self.output_weights().detach())
        )
        means, scales, weights = lists
        return OutputLayer(means, scales, weights, float(FAST * self.raw_intercept.detach()))

    def start_output(self, output: OutputLayer, offsets: Floats, slopes: Floats) -> None:
        """Sets the output layer, and the offset and slope of every file, before the first step."""
        with torch.no_grad():
            self.means.copy_(torch.tensor(output.means))
            self.scales.copy_(torch.tensor(output.scales))
            raw = torch.tensor(output.weights).expm1().log() / FAST  # of softplus
            for place, weight in zip(self.settings.weight_of_field, raw, strict=True):
                self.raw_weights[place] = weight
            self.raw_intercept.fill_(output.intercept / FAST)
            self.raw_offsets.copy_(torch.from_numpy(offsets / FAST))
            self.raw_slopes.copy_(torch.from_numpy(np.log(slopes) / FAST))

    @property
    def importance(self) -> Tensor:
        """(layers, width): a token weighs exp of its product with the unit vectors."""
        return torch.zeros_like(self.raw_importance) if self._plain else FAST * self.raw_importance

    def output_weights(self) -> Tensor:
        """Never negative, whatever the optimizer does."""
        return torch.nn.functional.softplus(FAST * self.raw_weights)[list(self.settings.weight_of_field)]

    def ratings(self, scores: Tensor, files: Sequence[int]) -> Tensor:
        """(n,) what the raters of these files should have said of texts with these scores: slope * score + offset.

        Those of the first file are 1 and 0: the output layer has its scale.
        """
        slopes, offsets = (FAST * (raw - raw[:1]) for raw in (self.raw_slopes, self.raw_offsets))
        return scores * slopes.exp()[list(files)] + offsets[list(files)]

    def scores(self, fields: Tensor, learning: bool = True) -> Tensor:
        """(..., 3) precision, recall, F1 -> (...,) on the scale of the standardised ratings.

        Unless the output layer is `learning`, no gradient reaches it.
        """
        intercept, weights = FAST * self.raw_intercept, self.output_weights()
        if not learning:
            intercept, weights = intercept.detach(), weights.detach()
        return intercept + (fields - self.means) @ (weights / self.scales)

    def read(self, texts: Sequence[str]) -> dict[str, ReadText]:
        """Every distinct text, encoded once beside texts of like length."""
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
                own = torch.from_numpy(~read.special & ~np.isin(read.ids, special_ids)).to(importance)
                encoded[distinct[index]] = ReadText(joined[row, : len(read)], importance[row, : len(read)] * own)
        return encoded

    def read_plain(self, texts: Sequence[str]) -> dict[str, ReadText]:
        """What `read` gave before the first step, without gradient."""
        self._plain = True
        try:
            with torch.no_grad():
                return self.read(texts)
        finally:
            self._plain = False

    def _add_changes(self) -> dict[str, tuple[torch.nn.Parameter, torch.nn.Parameter]]:
        """Hooks on the linear layers that the chosen layers' states depend on, and no others."""
        linears, rank, device = linear_modules(self._texts.model), self.settings.rank, self.device
        hooks, changes = {}, {}
        for name, module in linears.items():
            bound = 1 / math.sqrt(module.in_features)
            start = (2 * torch.rand(rank, module.in_features, generator=self._generator) - 1) * bound
            down = torch.nn.Parameter(start.to(device))
            up = torch.nn.Parameter(torch.zeros(module.out_features, rank, device=device))
            changes[name] = (down, up)
            hooks[name] = module.register_forward_hook(self._adding(down, up))
        probe = np.zeros((1, PROBE), dtype=np.int64)
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
                f"{label}: no linear layer (torch.nn.Linear) lies below layer {layers}, so that nothing can be adapted"
            )
        return changes

    def _adding(self, down: Tensor, up: Tensor) -> Any:
        """A forward hook: the layer's output plus that of the change beside it."""
        return lambda _, inputs, output: output if self._plain else output + inputs[0] @ down.T @ up.T


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def _array(tensor: Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.asarray(tensor.detach().cpu().float().numpy())
