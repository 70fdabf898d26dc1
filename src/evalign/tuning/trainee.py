"""What can be trained on rated pairs: the one interface between the loop (`fit`) and a model.

Texts flow in, one vector per text flows out, with gradient. `EncoderTrainee` (a transformer) and `LSTMTrainee` obey it;
the loop knows nothing else of them: neither tokens nor files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from evalign.errors import MissingExtraError

try:
    import torch
    import transformers  # the loop's parts need it too, whoever is trained
except ImportError as error:
    raise MissingExtraError("training", "train") from error

__all__ = ["Trainee", "torch", "transformers"]  # taken from here by whoever trains: the message if one is missing


class Trainee(Protocol):
    """What can be trained on rated pairs: texts in, one vector per text out (torch, with gradient)."""

    name: str  # goes into training.json, and decides with the data and the plan whether a checkpoint may be resumed

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """(texts, width), not normalised; dropout, from torch's own generator, only in training mode.

        The same texts in the same order, weights and generator state give the same bits.
        """
        ...

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """What the optimizer moves, always in the same order."""
        ...

    def state(self) -> dict[str, torch.Tensor]:
        """Everything that training changes, by name; the tensors may be the live ones, the loop copies them."""
        ...

    def load_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Puts back what `state` gave."""
        ...

    def train(self, mode: bool = True) -> object:
        """Training mode, or scoring mode with False, as in torch.nn.Module."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the finished result into an existing, empty folder; the loop moves it to its place whole."""
        ...
