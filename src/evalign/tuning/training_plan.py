"""Values of a training run, without torch: its plan, its result, and who is told about its progress."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evalign.errors import SpecError, nearest

MAX_LENGTH = 128  # tokens of a text that a transformer reads in training; attention costs their square
CHECKPOINT_SECONDS = 300.0  # between checkpoints within an epoch: each takes three times the model to write
LOSS_NAMES = ("cosine-mse", "cosent")  # the keys of micro_batches.LOSSES, which need torch
RATING_LOSS = "rating-mse"  # of adapters, whose scores lie on the scale of the ratings


@dataclass(frozen=True)
class TrainingPlan:
    """Everything but the data and the model that decides the trained weights.

    Loss, batch and rate are what served a small transformer best on 1,200 pairs (docs/finetuning.md).
    """

    loss: str = "cosine-mse"
    epochs: int = 4
    batch: int = 16
    rate: float = 5e-5  # the highest learning rate, reached after the warmup; then it falls to 0 in a straight line
    warmup: float = 0.1  # the part of all steps
    weight_decay: float = 0.01
    seed: int = 12345
    dev: float = 0.1  # the part of the pairs that decides which epoch is best; 0: the last one is kept
    patience: int = 2  # epochs without a better dev score before training stops
    threads: int = 0  # 0: torch's own number, which a resumed run takes over

    def __post_init__(self) -> None:
        if self.loss not in (*LOSS_NAMES, RATING_LOSS):
            raise SpecError(f"unknown loss {self.loss!r}; {nearest(self.loss, LOSS_NAMES)}")
        for name, least in (("epochs", 1), ("batch", 2), ("seed", 0), ("patience", 1), ("threads", 0)):
            if getattr(self, name) < least:
                raise SpecError(f"{name} must be at least {least}, but is {getattr(self, name)}")
        if not (self.rate > 0 and math.isfinite(self.rate)) or not 0 <= self.weight_decay < math.inf:
            raise SpecError(f"learning rate {self.rate} and weight decay {self.weight_decay} must be positive numbers")
        if not (0 <= self.warmup <= 1 and 0 <= self.dev < 1):
            raise SpecError(f"warmup {self.warmup} and dev {self.dev} are parts of a whole, from 0 to 1")

    def steps_per_epoch(self, pairs: int) -> int:
        """Batches of so many training pairs; the last may be smaller."""
        return math.ceil(pairs / self.batch)

    def rate_at(self, step: int, total: int) -> float:
        """The learning rate of a step, counted from 0: up in a straight line, then down."""
        rising = math.ceil(self.warmup * total)
        if step < rising:
            return self.rate * (step + 1) / rising
        return self.rate * (total - step) / max(1, total - rising)


@dataclass(frozen=True)
class Epoch:
    """One pass over the training pairs; epoch 0 is the model as it came, without a loss."""

    number: int
    loss: float | None
    dev_spearman: float | None  # None without dev pairs


@dataclass(frozen=True)
class TrainingResult:
    """What training reached; the trainee itself holds the weights of the best epoch."""

    epochs: tuple[Epoch, ...]
    best: Epoch
    train_pairs: int
    dev_pairs: int
    micro_batch: int  # smaller than the plan's batch if memory was short
    resumed_at: int = 0  # the step of the checkpoint that training started from


@dataclass(frozen=True)
class Watch:
    """Functions that are called while training runs."""

    advance: Callable[[int], Any] = lambda _: None  # with the number of steps done since the last call
    evaluated: Callable[[Epoch], Any] = lambda _: None
    tell: Callable[[str], Any] = lambda _: None  # with a sentence: a resume, a smaller batch
