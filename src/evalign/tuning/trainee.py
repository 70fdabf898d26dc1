"""What can be trained on rated pairs: a `Trainee` has parameters, and an `Objective` that a batch of pairs moves.

`EncoderTrainee` (a transformer) and `LSTMTrainee` give one vector per text, `AdapterTrainee` a score per pair. The
training loop knows neither their tokens nor their files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evalign.errors import MissingExtraError

try:
    import torch
    import transformers  # the loop's parts need it too, whatever is trained
except ImportError as error:
    raise MissingExtraError("training", "train") from error

if TYPE_CHECKING:
    from evalign.tuning.rated_pairs import RatedPair
    from evalign.types import Floats

__all__ = [
    "Objective",
    "Trainee",
    "VectorTrainee",
    "load_state",
    "torch",
    "transformers",
]  # imported from here for the message if one is missing


class Objective(Protocol):
    """How rated pairs move a trainee's parameters, and how well it tells pairs apart.

    `micro` is how many pairs fit into memory at a time; the result is that of the whole batch.
    """

    def begin(self, pairs: Sequence[RatedPair], micro: int) -> None:
        """Sets what is fitted to the untrained model, before the first step of a new run."""

    def order(self, pairs: Sequence[RatedPair], source: np.random.Generator) -> Sequence[int]:
        """Places of the pairs as an epoch takes them, batch after batch."""
        ...

    def add_gradients(self, pairs: Sequence[RatedPair], micro: int, seed: Sequence[int]) -> float:
        """Puts the gradient of the batch's loss on the parameters; gives the loss. Chance comes from the seed alone."""

    def compared(self, pairs: Sequence[RatedPair], micro: int) -> tuple[Floats, Floats]:
        """What the trainee says in scoring mode, and what people said, to be correlated."""


class Trainee(Protocol):
    """A model with something to train."""

    name: str  # goes into training.json, and decides with the data and the plan whether a checkpoint may be resumed

    def objective(self, loss: str) -> Objective:
        """What a loss of this name means for it."""

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """What the optimizer changes, always in the same order."""

    def state(self) -> dict[str, torch.Tensor]:
        """Everything that training changes, by name: the live tensors, no copies."""

    def train(self, mode: bool = True) -> object:
        """Training mode, or scoring mode with False, as in torch.nn.Module."""

    def save(self, folder: Path, record: Mapping[str, Any] | None = None) -> None:
        """Writes the finished result into an existing, empty folder; `record` says how it was trained."""


class VectorTrainee(Trainee, Protocol):
    """A model that gives one torch vector per text."""

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """(texts, width), not normalised; dropout, from torch's own generator, only in training mode.

        The same texts in the same order, weights and generator state give the same bits.
        """


def load_state(trainee: Trainee, state: Mapping[str, torch.Tensor]) -> None:
    """Copies saved tensors into the trainee's own of the same names."""
    with torch.no_grad():
        for name, tensor in trainee.state().items():
            tensor.copy_(state[name])
