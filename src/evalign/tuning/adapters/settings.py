"""What decides an adapter besides the data and the training plan, without torch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from evalign.errors import SpecError
from evalign.tuning.training_plan import MAX_LENGTH, RATING_LOSS, TrainingPlan

# Chosen on language pairs of WMT15 that were not trained on (docs/adapters.md).
ADAPTER_PLAN = TrainingPlan(loss=RATING_LOSS, epochs=3, batch=16, rate=5e-4)
MATCHINGS = ("greedy", "envelope", "straight-through", "sinkhorn", "gumbel-sinkhorn", "recursive-softmax",
             "recursive-gumbel", "recursive-topk", "auction-topk")  # of losses.py, which needs torch  # fmt: skip


@dataclass(frozen=True)
class AdapterSettings:
    """`negatives`, `damage` and `opposites` are weights of losses beside the squared error to the ratings; 0: none."""

    rank: int = 8
    layer: str = ""  # whose similarities are averaged; the model's tuned one if empty
    matching: str = "greedy"
    negatives: float = 0.0  # each candidate with a reference of another pair of its batch
    damage: float = 0.0  # a copy of the candidate that was damaged by rule
    opposites: float = 0.0  # the opposite of the candidate, of the reference, and of both
    kept: float = 0.45  # of a pair's score above unrelated text, what an opposite of one of its texts may keep
    symmetric: bool = True  # precision and recall weigh the same in the output layer
    max_length: int = MAX_LENGTH

    def __post_init__(self) -> None:
        if not 1 <= self.rank <= 1024:
            raise SpecError(f"--adapter {self.rank}: expected a rank from 1 to 1024")
        for name in ("negatives", "damage", "opposites"):
            if not 0 <= getattr(self, name) < math.inf:
                raise SpecError(f"--{name} {getattr(self, name)}: expected the weight of a loss, from 0 up")
        if not 0 <= self.kept < 1:
            raise SpecError(f"--kept {self.kept}: expected a part of the score, from 0 to below 1")

    @property
    def weight_of_field(self) -> tuple[int, int, int]:
        """Which of the output layer's weights precision, recall and F1 have."""
        return (0, 0, 1) if self.symmetric else (0, 1, 2)

    def __str__(self) -> str:
        return "|".join(f"{name}:{value}" for name, value in asdict(self).items())
