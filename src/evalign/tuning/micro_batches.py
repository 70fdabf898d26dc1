"""Losses on the cosines of rated pairs, and their gradients: computed in parts that fit into memory, as of the whole.

CoSENT compares every pair of the batch with every other, so its gradient is no sum over parts. Therefore all vectors
are computed first, part by part and without gradient; then the loss and its gradient by vector; then each part again
with gradient, from which the parameters' gradients follow. Dropout of a part is drawn from the same seed both times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from evalign.tuning.rated_pairs import RatedPair, targets
from evalign.tuning.trainee import VectorTrainee, torch
from evalign.types import Floats

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
SCALE = 20.0  # of the CoSENT authors: a difference of cosines of .05 counts as 1


def cosine_mse(cosines: torch.Tensor, similarities: torch.Tensor) -> torch.Tensor:
    """mean((cos - similarity)^2)."""
    return ((cosines - similarities) ** 2).mean()


def cosent(cosines: torch.Tensor, similarities: torch.Tensor) -> torch.Tensor:
    """log(1 + sum exp(20 (cos_i - cos_j))) over all i, j of which j should be the more similar pair (Su 2022)."""
    differences = SCALE * (cosines[:, None] - cosines[None, :])
    ordered = similarities[:, None] < similarities[None, :]
    return torch.logsumexp(torch.cat([differences.new_zeros(1), differences[ordered]]), dim=0)


LOSSES: dict[str, Loss] = {"cosine-mse": cosine_mse, "cosent": cosent}


@dataclass(frozen=True)
class CosineObjective:
    """A loss of the cosines of both texts' vectors."""

    trainee: VectorTrainee
    loss: Loss

    @classmethod
    def named(cls, trainee: VectorTrainee, loss: str) -> Self:
        """By the loss's name."""
        return cls(trainee, LOSSES[loss])

    def begin(self, pairs: Sequence[RatedPair], micro: int) -> None:
        """Nothing is fitted before training."""

    def order(self, pairs: Sequence[RatedPair], source: np.random.Generator) -> Sequence[int]:
        """Any order."""
        return list(map(int, source.permutation(len(pairs))))

    def add_gradients(self, pairs: Sequence[RatedPair], micro: int, seed: Sequence[int]) -> float:
        """In training mode, with dropout."""
        self.trainee.train(True)
        return add_gradients(self.trainee, pairs, self.loss, micro, seed)

    def compared(self, pairs: Sequence[RatedPair], micro: int) -> tuple[Floats, Floats]:
        """The cosines, and the similarities that they should have."""
        return cosines(self.trainee, pairs, micro), targets(pairs)


def add_gradients(
    trainee: VectorTrainee, pairs: Sequence[RatedPair], loss: Loss, micro: int, seed: Sequence[int]
) -> float:
    """Puts the gradient of the whole batch's loss on the parameters; gives the loss."""
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
    """The cosine of every pair in scoring mode; texts of like length are read together, each once."""
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
    """(2, pairs, width): both sides in one pass; dropout depends on the seed alone, so no generator is saved."""
    torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]))
    vectors = trainee.vectors([pair.first for pair in pairs] + [pair.second for pair in pairs])
    return vectors.reshape(2, len(pairs), -1)


def _loss(sides: torch.Tensor, pairs: Sequence[RatedPair], loss: Loss) -> torch.Tensor:
    similarities = torch.tensor(targets(pairs), dtype=torch.float32, device=sides.device)
    return loss(torch.cosine_similarity(sides[0].float(), sides[1].float(), dim=-1), similarities)
