"""What the tests of training share: a few rated pairs and a tiny model that learns from them."""

from pathlib import Path

import torch

from evalign.training.encoder_trainee import EncoderTrainee
from evalign.training.plan import TrainingPlan
from evalign.training.rated_pairs import RatedPair
from tiny_models import SENTENCES

PLAN = TrainingPlan(loss="cosent", epochs=3, batch=8, rate=3e-3, dev=0.25, seed=5, threads=1, stop_after=3)


def rated_pairs(count: int = 40) -> list[RatedPair]:
    """Sentences with themselves, a little changed (similar), or with others (not); no text occurs twice."""
    pairs = []
    for number in range(count):
        first = SENTENCES[number % len(SENTENCES)]
        second = first if number % 3 == 0 else SENTENCES[(number * 5 + 1) % len(SENTENCES)]
        pairs.append(RatedPair(f"{first} {number}", f"{number} {second}", (number % 3 == 0) * 0.8, str(number)))
    return pairs


def trainee(directory: Path, **options: object) -> EncoderTrainee:
    return EncoderTrainee(str(directory), **options)


def weights(of: EncoderTrainee) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in of.state().items()}


def same_bits(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
