"""The training loop: a `Trainee`, rated pairs and a `TrainingPlan` in; the trainee with its best weights out.

    result = fit(trainee, pairs, TrainingPlan(epochs=4), Path("runs/mine.training"), Watch())
    trained = train_to(Path("runs/mine"), trainee, pairs, TrainingPlan(epochs=4))

Everything random depends on the seed and the step alone; the folder holds checkpoints. So a run that was killed at any
moment and is started again ends at the same weights, bit for bit on the CPU.

`train_to` writes a finished folder. While it runs, DIR.training holds the checkpoints; DIR exists only when it is
complete, with training.json next to the weights. The same command resumes an unfinished run, and returns the result of
a finished one.
"""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evalign.encoders.base import out_of_memory
from evalign.encoders.torch_hf import torch_threads
from evalign.errors import FileFormatError, ModelError, UndefinedStatisticError
from evalign.stats.correlation import spearman
from evalign.training.checkpoint import (
    Checkpoint,
    Run,
    Trained,
    TrainingPosition,
    alone_in,
    check_target,
    load_checkpoint,
    make_record,
    read_record,
    same_run,
    save_checkpoint,
    work_folder,
    write_record,
)
from evalign.training.plan import CHECKPOINT_SECONDS, TrainingPlan
from evalign.training.rated_pairs import RatedPair, RatedPairs, digest, split
from evalign.training.trainee import Epoch, Trainee, TrainingResult, Watch, load_state, torch

BATCH_STREAM = 2  # of the seed; the split is drawn from another
DROPOUT_STREAM = 3
MAX_GRADIENT_NORM = 1.0  # larger gradients are clipped
DIVERGED_HINT = "lower the learning rate (`rate`), or check the model's weights"
Result = TypeVar("Result")
LOOP_VERSION = 1  # raised when the same plan would give different weights


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
    """Train, from the checkpoint in `folder` if it belongs to this run.

    Args:
        trainee: The model to train; it ends with the best weights.
        pairs: Rated pairs, split into train and dev by the plan.
        plan: Loss, epochs, batch size, learning rate and seed.
        folder: Folder of the checkpoints.
        watch: Functions that are called during training.
        checkpoint_seconds: Time between checkpoints within an epoch.
    """
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
    """Return the identity of a run; runs of the same identity end at the same weights."""
    return {
        "model": name,
        "pairs": digest(pairs),
        **asdict(plan),
        "torch": str(torch.__version__),
        "loop": LOOP_VERSION,
    }


class _Loop:
    """One run: the trainee, its optimizer and its progress."""

    def __init__(
        self, trainee: Trainee, pairs: tuple[list[RatedPair], list[RatedPair]], plan: TrainingPlan, watch: Watch
    ) -> None:
        self.trainee, self.plan, self.watch = trainee, plan, watch
        self.objective = trainee.objective(plan.loss)
        self.train, self.dev = pairs
        self.position = TrainingPosition(0, 0.0, (), None, plan.batch, 1)
        self.best: Mapping[str, torch.Tensor] = {}
        parameters = list(trainee.parameters())
        matrices = [parameter for parameter in parameters if parameter.ndim > 1]
        vectors = [parameter for parameter in parameters if parameter.ndim <= 1]  # biases and norms do not decay
        self.parameters = matrices + vectors  # in the order of the optimizer
        decay = {"params": matrices, "weight_decay": plan.weight_decay}
        self.optimizer = torch.optim.AdamW([decay, {"params": vectors, "weight_decay": 0.0}], lr=plan.rate)

    def begin(self) -> None:
        self._within_memory(lambda micro: self.objective.begin(self.train, micro), lambda _: None)

    def resume(self, checkpoint: Checkpoint) -> None:
        load_state(self.trainee, checkpoint.weights)
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in checkpoint.moments.items():
            index, _, moment = name.partition("/")
            moments.setdefault(int(index), {})[moment] = tensor
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.position, self.best = checkpoint.position, checkpoint.best
        self.watch.tell(f"resuming after step {self.position.step} from the last checkpoint")
        self.watch.resumed(self.position.step)

    def go(self, save: Callable[[Checkpoint], None], seconds: float) -> None:
        per_epoch = self.plan.steps_per_epoch(len(self.train))
        total = self.plan.epochs * per_epoch
        saved = time.monotonic()
        while True:
            epoch, batch_index = divmod(self.position.step, per_epoch)
            if epoch == len(self.position.epochs):  # not evaluated yet; epoch 0 is the start
                self._evaluate(epoch, per_epoch, save)
                save(self._checkpoint())
            best = self.position.best
            if self.position.step == total or (best is not None and epoch - best.number >= self.plan.stop_after):
                break
            self._step(self._batch(epoch, batch_index), self.plan.rate_at(self.position.step, total), save)
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

    def _batch(self, epoch: int, index: int) -> list[RatedPair]:
        order = self.objective.order(self.train, np.random.default_rng([self.plan.seed, BATCH_STREAM, epoch]))
        return [self.train[pair] for pair in order[index * self.plan.batch : (index + 1) * self.plan.batch]]

    def _step(self, batch: list[RatedPair], rate: float, save: Callable[[Checkpoint], None]) -> None:
        seed = (self.plan.seed, DROPOUT_STREAM, self.position.step)

        def gradients(micro: int) -> float:
            self.optimizer.zero_grad(set_to_none=True)
            return self.objective.add_gradients(batch, micro, seed)

        loss = self._within_memory(gradients, save)
        length = torch.nn.utils.clip_grad_norm_(self.parameters, MAX_GRADIENT_NORM)
        if not (math.isfinite(loss) and math.isfinite(length)):
            raise DivergedError(
                f"training diverged at step {self.position.step + 1}: the loss is {loss}, its gradient {length:g}; "
                f"{DIVERGED_HINT}"
            )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.position = replace(self.position, step=self.position.step + 1, loss_sum=self.position.loss_sum + loss)
        self.watch.stepped(loss)

    def _evaluate(self, number: int, per_epoch: int, save: Callable[[Checkpoint], None]) -> None:
        """End an epoch: compute its mean loss and dev score, and keep its weights if it is the best so far."""
        score = None
        if self.dev:
            predicted, expected = self._within_memory(lambda micro: self.objective.compared(self.dev, micro), save)
            if not np.isfinite(predicted).all():
                raise DivergedError(f"after epoch {number} the model gives NaN or infinite vectors; {DIVERGED_HINT}")
            try:
                score = spearman(predicted, expected)
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
        """Do the work; after an out-of-memory error, with half the micro-batch from then on."""
        while True:
            micro = self.position.micro_batch
            try:
                return work(micro)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                if micro == 1:
                    raise ModelError(
                        "out of memory with a single pair of texts; lower `max_length`, or train a smaller model"
                    ) from error
            self.optimizer.zero_grad(set_to_none=True)
            self.position = replace(self.position, micro_batch=micro // 2)
            self.watch.tell(f"out of memory: from now on in parts of {micro // 2} pairs, with the same batches")
            save(self._checkpoint())  # a resumed run must use the same parts, as dropout is drawn per part

    def _checkpoint(self) -> Checkpoint:
        moments = {
            f"{index}/{moment}": tensor
            for index, tensors in self.optimizer.state_dict()["state"].items()
            for moment, tensor in tensors.items()
        }
        return Checkpoint(self.position, self.trainee.state(), moments, self.best)


@contextmanager
def _repeatable(threads: int, device: torch.device) -> Iterator[None]:
    """Fix the threads, use deterministic kernels (on GPUs where they exist), and preserve the caller's generators."""
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


def train_to(
    target: Path,
    trainee: Trainee,
    data: RatedPairs,
    plan: TrainingPlan,
    watch: Watch | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> Trained:
    """Train and write `target`; raise if the target exists and belongs to a different run.

    Args:
        target: Folder to write; the checkpoints are next to it.
        trainee: The model to train.
        data: Rated pairs.
        plan: Loss, epochs, batch size, learning rate and seed.
        watch: Functions that are called during training.
        checkpoint_seconds: Time between checkpoints within an epoch.
    """
    check_target(target)
    target, work = Path(target.absolute()), work_folder(target)
    run = run_identity(trainee.name, data.pairs, plan)
    if os.path.lexists(target):
        finished = _finished(target, run)
        shutil.rmtree(work, ignore_errors=True)  # killed between the two last steps
        return finished
    with alone_in(work):
        exists = os.path.lexists(target)  # by a run that has just ended
        if not exists:
            try:
                result = fit(trainee, data.pairs, plan, work, watch, checkpoint_seconds)
            except DivergedError:
                shutil.rmtree(
                    work, ignore_errors=True
                )  # else a lower rate would raise "unfinished training with another rate"
                raise
            try:
                written = work / "result"
                shutil.rmtree(written, ignore_errors=True)
                written.mkdir()
                record = make_record(run, data, result)
                trainee.save(written, record)
                write_record(written, record)
                written.replace(target)
            except OSError as error:
                raise FileFormatError(f"{target}: cannot be written ({error.strerror or error})") from error
        shutil.rmtree(work, ignore_errors=True)
    return replace(_finished(target, run), found_finished=exists)


def _finished(target: Path, run: Run) -> Trained:
    """Return the result of an earlier run; raise if it was a different run, or if its weights were changed."""
    trained = read_record(target)
    if trained is None or not same_run(trained.run, run):
        raise FileFormatError(
            f"{target}: exists, and not from this command on these pairs; choose another `output`, or delete it"
        )
    if not trained.unchanged:
        raise FileFormatError(
            f"{target}: written by this command, but weights are missing or were changed; delete it to train again, "
            "or choose another `output`"
        )
    return trained
