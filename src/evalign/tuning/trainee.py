"""What can be trained on rated pairs: texts in, one vector per text out, with gradient.

`EncoderTrainee` (a transformer) and `LSTMTrainee` are the two. The training loop knows neither their tokens nor files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from evalign.errors import MissingExtraError

try:
    import torch
    import transformers  # the loop's parts need it too, whatever is trained
except ImportError as error:
    raise MissingExtraError("training", "train") from error

__all__ = ["Trainee", "load_state", "torch", "transformers"]  # imported from here for the message if one is missing


class Trainee(Protocol):
    """A model that gives one torch vector per text."""

    name: str  # goes into training.json, and decides with the data and the plan whether a checkpoint may be resumed

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """(texts, width), not normalised; dropout, from torch's own generator, only in training mode.

        The same texts in the same order, weights and generator state give the same bits.
        """
        ...

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """What the optimizer changes, always in the same order."""
        ...

    def state(self) -> dict[str, torch.Tensor]:
        """Everything that training changes, by name: the live tensors, no copies."""
        ...

    def train(self, mode: bool = True) -> object:
        """Training mode, or scoring mode with False, as in torch.nn.Module."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the finished result into an existing, empty folder."""
        ...


def load_state(trainee: Trainee, state: Mapping[str, torch.Tensor]) -> None:
    """Copies saved tensors into the trainee's own of the same names."""
    with torch.no_grad():
        for name, tensor in trainee.state().items():
            tensor.copy_(state[name])
