"""Training plans, adapter settings and their defaults. Without torch, so that help texts can show them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from evalign.errors import SpecError, nearest

DEFAULT_MAPPING = "linear"  # of ratings to similarities
DEFAULT_PAIRS = 10_000  # unrelated pairs of a baseline
DEFAULT_FOLDS = 5
LAYER_CHOICES = ("single", "runs", "sets")
MAX_LENGTH = 128  # tokens of a text that a transformer reads in training; attention costs their square
CHECKPOINT_SECONDS = 300.0  # between checkpoints within an epoch: each writes three times the size of the model
LOSS_NAMES = ("cosine-mse", "cosent")  # the keys of trainee.LOSSES, which need torch
RATING_LOSS = "rating-mse"  # of adapters, whose scores lie on the scale of the ratings
MATCHINGS = ("greedy", "envelope", "straight-through", "sinkhorn", "gumbel-sinkhorn", "recursive-softmax",
             "recursive-gumbel", "recursive-topk", "auction-topk")  # fmt: skip


@dataclass(frozen=True)
class TrainingPlan:
    """Settings of a training that decide the trained weights, besides data and model.

    The defaults of loss, batch and rate were best for a small transformer on 1,200 pairs (docs/finetuning.md).
    """

    loss: str = "cosine-mse"
    epochs: int = 4
    batch: int = 16
    rate: float = 5e-5  # the highest learning rate, reached after the warmup; then it falls to 0 in a straight line
    warmup: float = 0.1  # share of all steps
    weight_decay: float = 0.01
    seed: int = 12345
    dev: float = 0.1  # share of the pairs that selects the best epoch; 0: the last epoch is used
    stop_after: int = 2  # epochs without a better dev score before training stops
    threads: int = 0  # 0: torch's own number, which a resumed run takes over

    def __post_init__(self) -> None:
        if self.loss not in (*LOSS_NAMES, RATING_LOSS):
            raise SpecError(f"unknown loss {self.loss!r}; {nearest(self.loss, LOSS_NAMES)}")
        for name, least in (("epochs", 1), ("batch", 2), ("seed", 0), ("stop_after", 1), ("threads", 0)):
            if getattr(self, name) < least:
                raise SpecError(f"{name} must be at least {least}, but is {getattr(self, name)}")
        if not (self.rate > 0 and math.isfinite(self.rate)) or not 0 <= self.weight_decay < math.inf:
            raise SpecError(f"learning rate {self.rate} and weight decay {self.weight_decay} must be positive numbers")
        if not (0 <= self.warmup <= 1 and 0 <= self.dev < 1):
            raise SpecError(f"warmup {self.warmup} and dev {self.dev} are parts of a whole, from 0 to 1")

    def steps_per_epoch(self, pairs: int) -> int:
        """Return the number of batches of an epoch; the last batch may be smaller."""
        return math.ceil(pairs / self.batch)

    def rate_at(self, step: int, total: int) -> float:
        """Return the learning rate of a step, counted from 0: linear warmup, then linear decay."""
        rising = math.ceil(self.warmup * total)
        if step < rising:
            return self.rate * (step + 1) / rising
        return self.rate * (total - step) / max(1, total - rising)


# Chosen on language pairs of WMT15 that were not trained on (docs/adapters.md).
ADAPTER_PLAN = TrainingPlan(loss=RATING_LOSS, epochs=3, batch=16, rate=5e-4)


@dataclass(frozen=True)
class AdapterSettings:
    """Settings of an adapter's training.

    `negatives`, `damage` and `opposites` are weights of losses that are added to the squared error; 0: not used.
    """

    rank: int = 8
    layer: str = ""  # whose similarities are averaged; the model's tuned one if empty
    matching: str = "greedy"
    negatives: float = 0.0  # each candidate with a reference of another pair of its batch
    damage: float = 0.0  # a copy of the candidate that was damaged by rule
    opposites: float = 0.0  # the opposite of the candidate, of the reference, and of both
    kept: float = 0.45  # share of a pair's score (above unrelated text) that an opposite of one of its texts may keep
    symmetric: bool = True  # precision and recall weigh the same in the output layer
    max_length: int = MAX_LENGTH

    def __post_init__(self) -> None:
        if not 1 <= self.rank <= 1024:
            raise SpecError(f"`rank={self.rank}`: expected a rank from 1 to 1024")
        for name in ("negatives", "damage", "opposites"):
            if not 0 <= getattr(self, name) < math.inf:
                raise SpecError(f"`{name}={getattr(self, name)}`: expected the weight of a loss, from 0 up")
        if not 0 <= self.kept < 1:
            raise SpecError(f"`kept={self.kept}`: expected a part of the score, from 0 to below 1")

    @property
    def weight_of_field(self) -> tuple[int, int, int]:
        """Return the indices of the output layer's weights for precision, recall and F1."""
        return (0, 0, 1) if self.symmetric else (0, 1, 2)

    def __str__(self) -> str:
        return "|".join(f"{name}:{value}" for name, value in asdict(self).items())
