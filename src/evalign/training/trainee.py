"""Interfaces of training: a `Trainee` with parameters, and an `Objective` that computes gradients from rated pairs.

`CosineObjective` computes losses on cosines in parts that fit into memory, with the gradients of the whole batch:
CoSENT compares every pair of the batch with every other, so its gradient is no sum over parts. Therefore all vectors
are computed first, part by part and without gradient; then the loss and its gradient by vector; then each part again
with gradient, from which the parameters' gradients follow. Dropout of a part is drawn from the same seed both times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from evalign.core import Floats
from evalign.errors import MissingExtraError
from evalign.training.rated_pairs import RatedPair, targets

try:
    import torch
    import transformers  # the loop's parts need it too, whatever is trained
except ImportError as error:
    raise MissingExtraError("training", "train") from error
__all__ = [
    "Objective",
    "Trainee",
    "VectorTrainee",
    "load_state",
    "torch",
    "transformers",
]  # imported from here, for the error message if they are missing
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
COSENT_SCALE = 20.0  # of the CoSENT authors: a difference of cosines of .05 counts as 1


class Objective(Protocol):
    """Computation of gradients and dev scores of a trainee from rated pairs.

    `micro` is the number of pairs that fit into memory at a time; the result is that of the whole batch.
    """

    def begin(self, pairs: Sequence[RatedPair], micro: int) -> None:
        """Fit initial values to the untrained model, before the first step of a new run."""

    def order(self, pairs: Sequence[RatedPair], source: np.random.Generator) -> Sequence[int]:
        """Return the indices of the pairs in the order of an epoch, batch after batch."""
        ...

    def add_gradients(self, pairs: Sequence[RatedPair], micro: int, seed: Sequence[int]) -> float:
        """Add the gradient of the batch's loss to the parameters, and return the loss; all randomness is seeded."""

    def compared(self, pairs: Sequence[RatedPair], micro: int) -> tuple[Floats, Floats]:
        """Return predictions in scoring mode and the ratings, to be correlated."""


class Trainee(Protocol):
    """A model with trainable parameters."""

    name: str  # goes into training.json, and decides with the data and the plan whether a checkpoint may be resumed

    def objective(self, loss: str) -> Objective:
        """Return the objective of a loss."""

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Return the trainable parameters, always in the same order."""

    def state(self) -> dict[str, torch.Tensor]:
        """Return all tensors that training changes by name, not copied."""

    def train(self, mode: bool = True) -> object:
        """Set training mode, or scoring mode with False, as in torch.nn.Module."""

    def save(self, folder: Path, record: Mapping[str, Any] | None = None) -> None:
        """Write the result into an existing, empty folder; `record` describes the training."""


class VectorTrainee(Trainee, Protocol):
    """A model with one torch vector per text."""

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Return vectors (texts, width), not normalised; dropout, from torch's generator, only in training mode.

        The same texts in the same order, weights and generator state give the same bits.
        """


def load_state(trainee: Trainee, state: Mapping[str, torch.Tensor]) -> None:
    """Copy saved tensors into the trainee's tensors of the same names."""
    with torch.no_grad():
        for name, tensor in trainee.state().items():
            tensor.copy_(state[name])


@dataclass(frozen=True)
class Epoch:
    """One pass over the training pairs; epoch 0 is the untrained model, without a loss."""

    number: int
    loss: float | None
    dev_spearman: float | None  # None without dev pairs


@dataclass(frozen=True)
class TrainingResult:
    """Results of a training; the trainee has the weights of the best epoch."""

    epochs: tuple[Epoch, ...]
    best: Epoch
    train_pairs: int
    dev_pairs: int
    micro_batch: int  # smaller than the plan's batch if memory was short
    resumed_at: int = 0  # the step of the checkpoint that training started from


@dataclass(frozen=True)
class Watch:
    """Functions that are called during training."""

    stepped: Callable[[float], Any] = lambda _: None  # after each step, with the loss of its batch
    resumed: Callable[[int], Any] = lambda _: None  # with the number of steps that an earlier run has done
    evaluated: Callable[[Epoch], Any] = lambda _: None
    tell: Callable[[str], Any] = lambda _: None  # with a message, such as a resume or a smaller batch


def cosine_mse(cosines: torch.Tensor, similarities: torch.Tensor) -> torch.Tensor:
    """Return mean((cos - similarity)^2)."""
    return ((cosines - similarities) ** 2).mean()


def cosent(cosines: torch.Tensor, similarities: torch.Tensor) -> torch.Tensor:
    """Return log(1 + sum exp(20 (cos_i - cos_j))) over i, j where j should be the more similar pair (Su 2022)."""
    differences = COSENT_SCALE * (cosines[:, None] - cosines[None, :])
    ordered = similarities[:, None] < similarities[None, :]
    return torch.logsumexp(torch.cat([differences.new_zeros(1), differences[ordered]]), dim=0)


LOSSES: dict[str, Loss] = {"cosine-mse": cosine_mse, "cosent": cosent}


@dataclass(frozen=True)
class CosineObjective:
    """Objective with a loss on the cosines of the vectors of both texts."""

    trainee: VectorTrainee
    loss: Loss

    @classmethod
    def named(cls, trainee: VectorTrainee, loss: str) -> Self:
        """Return the objective with the loss of this name."""
        return cls(trainee, LOSSES[loss])

    def begin(self, pairs: Sequence[RatedPair], micro: int) -> None:
        """Do nothing: there are no initial values to fit."""

    def order(self, pairs: Sequence[RatedPair], source: np.random.Generator) -> Sequence[int]:
        """Return a random order."""
        return list(map(int, source.permutation(len(pairs))))

    def add_gradients(self, pairs: Sequence[RatedPair], micro: int, seed: Sequence[int]) -> float:
        """Compute gradients in training mode, with dropout."""
        self.trainee.train(True)
        return add_gradients(self.trainee, pairs, self.loss, micro, seed)

    def compared(self, pairs: Sequence[RatedPair], micro: int) -> tuple[Floats, Floats]:
        """Return the cosines and their target similarities."""
        return cosines(self.trainee, pairs, micro), targets(pairs)


def add_gradients(
    trainee: VectorTrainee, pairs: Sequence[RatedPair], loss: Loss, micro: int, seed: Sequence[int]
) -> float:
    """Add the gradient of the batch's loss to the parameters, computed in parts; return the loss."""
    if micro >= len(pairs):
        value = _loss(_sides(trainee, pairs, [*seed, 0]), pairs, loss)
        value.backward()  # type: ignore[no-untyped-call]
        return float(value.detach())
    parts = [pairs[start : start + micro] for start in range(0, len(pairs), micro)]
    with torch.no_grad():
        vectors = [_sides(trainee, part, [*seed, number]) for number, part in enumerate(parts)]
    whole = torch.cat(vectors, dim=1).requires_grad_()
    value = _loss(whole, pairs, loss)
    value.backward()  # type: ignore[no-untyped-call]
    assert whole.grad is not None
    for number, part in enumerate(parts):
        gradient = whole.grad[:, number * micro : (number + 1) * micro]
        _sides(trainee, part, [*seed, number]).backward(gradient)  # type: ignore[no-untyped-call]
    return float(value.detach())


def cosines(trainee: VectorTrainee, pairs: Sequence[RatedPair], micro: int) -> Floats:
    """Return the cosine of every pair in scoring mode; distinct texts are encoded once, sorted by length."""
    texts = sorted({text for pair in pairs for text in (pair.first, pair.second)}, key=lambda text: (len(text), text))
    trainee.train(False)
    vectors: dict[str, Floats] = {}
    with torch.no_grad():
        for start in range(0, len(texts), 2 * micro):
            part = texts[start : start + 2 * micro]
            vectors.update(zip(part, trainee.vectors(part).double().cpu().numpy(), strict=True))
    first, second = (
        np.stack([vectors[text] for text in side])
        for side in zip(*((pair.first, pair.second) for pair in pairs), strict=True)
    )
    scale = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.asarray((first * second).sum(axis=1) / np.where(scale > 0, scale, 1))


def _sides(trainee: VectorTrainee, pairs: Sequence[RatedPair], seed: Sequence[int]) -> torch.Tensor:
    """Return vectors (2, pairs, width) of both sides; dropout depends on the seed only, so no generator is saved."""
    torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]))
    vectors = trainee.vectors([pair.first for pair in pairs] + [pair.second for pair in pairs])
    return vectors.reshape(2, len(pairs), -1)


def _loss(sides: torch.Tensor, pairs: Sequence[RatedPair], loss: Loss) -> torch.Tensor:
    similarities = torch.tensor(targets(pairs), dtype=torch.float32, device=sides.device)
    return loss(torch.cosine_similarity(sides[0].float(), sides[1].float(), dim=-1), similarities)
