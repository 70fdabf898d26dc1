"""The training loop: a `Trainee`, rated pairs and a `TrainingPlan` in; the trainee with its best weights out.

    result = fit(trainee, pairs, TrainingPlan(epochs=4), Path("runs/mine.training"), Watch())

Everything random depends on the seed and the step alone; the folder holds checkpoints. So a run that was killed at any
moment and is started again ends at the same weights, bit for bit on the CPU.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evalign.encoders.batching import out_of_memory
from evalign.encoders.torch_hf import torch_threads
from evalign.errors import ModelError, UndefinedStatisticError
from evalign.stats.correlation import spearman
from evalign.tuning.checkpoint import Checkpoint, Position, load_checkpoint, save_checkpoint
from evalign.tuning.rated_pairs import RatedPair, digest, split
from evalign.tuning.trainee import Trainee, load_state, torch
from evalign.tuning.training_plan import CHECKPOINT_SECONDS, Epoch, TrainingPlan, TrainingResult, Watch

BATCH_STREAM = 2  # of the seed; the split is drawn from another
DROPOUT_STREAM = 3
LARGEST_GRADIENT = 1.0  # longer gradients are shortened to this norm
LOWER = "lower the learning rate (--lr), or check the model's weights"
Result = TypeVar("Result")
LOOP = 1  # grows when the same plan would give other weights


class DivergedError(ModelError):
    """Training cannot continue from its checkpoints: the same command would fail again."""


def fit(
    trainee: Trainee,
    pairs: Sequence[RatedPair],
    plan: TrainingPlan,
    folder: Path,
    watch: Watch | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> TrainingResult:
    """Trains, going on from the checkpoint in `folder` if there is one of this very run."""
    run, sides = run_identity(trainee.name, pairs, plan), split(pairs, plan.dev, plan.seed)
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = load_checkpoint(folder, run)
    threads = plan.threads or (checkpoint.position.threads if checkpoint else torch.get_num_threads())
    loop = _Loop(trainee, sides, plan, watch or Watch())
    loop.position = replace(loop.position, threads=threads)
    with _repeatable(threads, loop.parameters[0].device):
        if checkpoint is not None:
            loop.resume(checkpoint)
        else:
            loop.begin()
        loop.go(lambda current: save_checkpoint(folder, current, run), checkpoint_seconds)
    return loop.result(0 if checkpoint is None else checkpoint.position.step)


def run_identity(name: str, pairs: Sequence[RatedPair], plan: TrainingPlan) -> dict[str, Any]:
    """What two runs must have in common to end at the same weights."""
    return {"model": name, "pairs": digest(pairs), **asdict(plan), "torch": str(torch.__version__), "loop": LOOP}


class _Loop:
    """One run: the trainee, its optimizer, and how far it has come."""

    def __init__(
        self, trainee: Trainee, pairs: tuple[list[RatedPair], list[RatedPair]], plan: TrainingPlan, watch: Watch
    ) -> None:
        self.trainee, self.plan, self.watch = trainee, plan, watch
        self.objective = trainee.objective(plan.loss)
        self.train, self.dev = pairs
        self.position = Position(0, 0.0, (), None, plan.batch, 1)
        self.best: Mapping[str, torch.Tensor] = {}
        parameters = list(trainee.parameters())
        matrices = [parameter for parameter in parameters if parameter.ndim > 1]
        vectors = [parameter for parameter in parameters if parameter.ndim <= 1]  # biases and norms do not decay
        self.parameters = matrices + vectors  # in the optimizer's own order
        decay = {"params": matrices, "weight_decay": plan.weight_decay}
        self.optimizer = torch.optim.AdamW([decay, {"params": vectors, "weight_decay": 0.0}], lr=plan.rate)

    def begin(self) -> None:
        self._within_memory(lambda micro: self.objective.begin(self.train, micro), lambda _: None)

    def resume(self, checkpoint: Checkpoint) -> None:
        load_state(self.trainee, checkpoint.weights)
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in checkpoint.moments.items():
            index, _, kind = name.partition("/")
            moments.setdefault(int(index), {})[kind] = tensor
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.position, self.best = checkpoint.position, checkpoint.best
        self.watch.tell(f"going on after step {self.position.step}, where the last run left a checkpoint")
        self.watch.advance(self.position.step)

    def go(self, save: Callable[[Checkpoint], None], seconds: float) -> None:
        per_epoch = self.plan.steps_per_epoch(len(self.train))
        total = self.plan.epochs * per_epoch
        saved = time.monotonic()
        while True:
            epoch, place = divmod(self.position.step, per_epoch)
            if epoch == len(self.position.epochs):  # this many are done and one fewer is judged; 0 is the start
                self._judge(epoch, per_epoch, save)
                save(self._checkpoint())
            best = self.position.best
            if self.position.step == total or (best is not None and epoch - best.number >= self.plan.patience):
                break
            self._step(self._batch(epoch, place), self.plan.rate_at(self.position.step, total), save)
            if time.monotonic() - saved >= seconds:
                save(self._checkpoint())
                saved = time.monotonic()
        if self.best:
            load_state(self.trainee, self.best)
        self.trainee.train(False)

    def result(self, resumed_at: int) -> TrainingResult:
        position = self.position
        best = position.best or position.epochs[-1]
        return TrainingResult(
            position.epochs, best, len(self.train), len(self.dev), position.micro_batch, resumed_at
        )  # fmt: skip

    def _batch(self, epoch: int, place: int) -> list[RatedPair]:
        order = self.objective.order(self.train, np.random.default_rng([self.plan.seed, BATCH_STREAM, epoch]))
        return [self.train[index] for index in order[place * self.plan.batch : (place + 1) * self.plan.batch]]

    def _step(self, batch: list[RatedPair], rate: float, save: Callable[[Checkpoint], None]) -> None:
        seed = (self.plan.seed, DROPOUT_STREAM, self.position.step)

        def gradients(micro: int) -> float:
            self.optimizer.zero_grad(set_to_none=True)
            return self.objective.add_gradients(batch, micro, seed)

        loss = self._within_memory(gradients, save)
        length = torch.nn.utils.clip_grad_norm_(self.parameters, LARGEST_GRADIENT)
        if not (math.isfinite(loss) and math.isfinite(length)):
            raise DivergedError(
                f"training diverged at step {self.position.step + 1}: the loss is {loss}, its gradient {length:g}; "
                f"{LOWER}"
            )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.position = replace(self.position, step=self.position.step + 1, loss_sum=self.position.loss_sum + loss)
        self.watch.advance(1)

    def _judge(self, number: int, per_epoch: int, save: Callable[[Checkpoint], None]) -> None:
        """Ends an epoch: its mean loss, its dev score, and whether it is the best so far."""
        score = None
        if self.dev:
            predicted, wanted = self._within_memory(lambda micro: self.objective.compared(self.dev, micro), save)
            if not np.isfinite(predicted).all():
                raise DivergedError(f"after epoch {number} the model gives NaN or infinite vectors; {LOWER}")
            try:
                score = spearman(predicted, wanted)
            except UndefinedStatisticError:  # all predictions are equal
                score = 0.0
        epoch = Epoch(number, self.position.loss_sum / per_epoch if number else None, score)
        best = self.position.best
        if score is not None and (best is None or best.dev_spearman is None or score > best.dev_spearman):
            best = epoch
            self.best = {name: tensor.detach().clone() for name, tensor in self.trainee.state().items()}
        self.position = replace(self.position, loss_sum=0.0, epochs=(*self.position.epochs, epoch), best=best)
        self.watch.evaluated(epoch)

    def _within_memory(self, work: Callable[[int], Result], save: Callable[[Checkpoint], None]) -> Result:
        """Does the work; after an out-of-memory error, and from then on, on half as many pairs at a time."""
        while True:
            micro = self.position.micro_batch
            try:
                return work(micro)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                if micro == 1:
                    raise ModelError(
                        "out of memory with one pair of texts at a time; lower --max-length, or train a smaller model"
                    ) from error
            self.optimizer.zero_grad(set_to_none=True)
            self.position = replace(self.position, micro_batch=micro // 2)
            self.watch.tell(f"out of memory: from here on {micro // 2} pairs at a time, with the same batches")
            save(self._checkpoint())  # a resumed run must use the same parts: each draws its own dropout

    def _checkpoint(self) -> Checkpoint:
        moments = {
            f"{index}/{kind}": tensor
            for index, kinds in self.optimizer.state_dict()["state"].items()
            for kind, tensor in kinds.items()
        }
        return Checkpoint(self.position, self.trainee.state(), moments, self.best)


@contextmanager
def _repeatable(threads: int, device: torch.device) -> Iterator[None]:
    """Fixed threads, deterministic kernels (on GPUs where there are any), and the caller's generators left alone."""
    strict, lenient = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    with torch.random.fork_rng(range(torch.cuda.device_count())), torch_threads(threads):
        torch.use_deterministic_algorithms(True, warn_only=device.type != "cpu")
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(strict, warn_only=lenient)
