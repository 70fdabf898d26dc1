"""The fine-tuning of the German summaries study: rated paraphrases in, a tuned encoder in the study's cache out.

As in the paper: cosine regression (squared error), 5 epochs, all pairs, the last weights kept. A finished encoder is
found again without torch; one that was stopped goes on from its checkpoint and ends at the same weights; one that was
damaged is trained anew.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalign.encoders.digest import file_digest
from evalign.errors import FileFormatError, ModelError
from evalign.studies.lisa.model_scores import model_identity
from evalign.studies.step_cache import Steps, digest_of
from evalign.tuning.rated_pairs import RatedPairs, digest
from evalign.tuning.training_plan import MAX_LENGTH, TrainingPlan, Watch
from evalign.version import __version__

PAPER = TrainingPlan(loss="cosine-mse", epochs=5, dev=0.0)
LSTM_PLAN = TrainingPlan(
    loss="cosine-mse", epochs=8, batch=32, rate=2e-3, dev=0.0
)  # small, and starts from words alone
RECORD = "training.json"

if TYPE_CHECKING:
    from evalign.tuning.trainee import Trainee


@dataclass(frozen=True)
class Tuned:
    """A fine-tuned encoder: where it is, and the mean loss of each epoch."""

    directory: Path
    losses: tuple[float, ...]


@contextmanager
def tuning_folder(steps: Steps) -> Iterator[Path]:
    """Where tuned encoders are kept; without a cache a folder that is gone afterwards."""
    if steps.folder is None:
        with tempfile.TemporaryDirectory(prefix="evalign-tuned-") as passing:
            yield Path(passing)
        return
    folder = steps.folder / "tuned"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"{folder}: no folder can be made there ({error.strerror or error})") from error
    yield folder


def fine_tune(model: str, pairs: RatedPairs, plan: TrainingPlan, folder: Path, watch: Watch) -> Tuned:
    """The model after training on the pairs; found if it was trained so before."""

    def trainee() -> Trainee:
        from evalign.tuning.encoder_trainee import EncoderTrainee

        return EncoderTrainee(model, "mean", MAX_LENGTH)

    return _trained({"model": model_identity(model)}, trainee, pairs, plan, folder, watch)


def train_lstm(start: str, pairs: RatedPairs, folder: Path, watch: Watch) -> Tuned:
    """The baseline from before transformers: an LSTM over the words of the pairs, which start as the model's own."""

    def trainee() -> Trainee:
        from evalign.tuning.lstm_trainee import LSTMSettings, LSTMTrainee

        texts = [text for pair in pairs.pairs for text in (pair.first, pair.second)]
        return LSTMTrainee(texts, LSTMSettings(start=start, seed=LSTM_PLAN.seed))

    return _trained({"lstm": model_identity(start)}, trainee, pairs, LSTM_PLAN, folder, watch)


def _trained(
    who: dict[str, Any],
    trainee: Callable[[], Trainee],
    pairs: RatedPairs,
    plan: TrainingPlan,
    folder: Path,
    watch: Watch,
) -> Tuned:
    run = {"evalign": __version__, **who, "pairs": digest(pairs.pairs), **asdict(plan)}
    target = folder / digest_of(run)[:40]
    there, found = target.exists(), _finished(target)
    if found is not None:
        watch.advance(training_steps(pairs, plan))
        return found
    import_module("evalign.tuning.trainee")  # first: it says what to install where torch is missing
    from evalign.tuning.training_run import train_to

    if there:
        shutil.rmtree(target, ignore_errors=True)  # damaged, and nothing is ever trained into a folder that is there
    train_to(target, trainee(), pairs, plan, watch)
    found = _finished(target)
    if found is None:
        raise ModelError(f"{target}: what was just trained cannot be read again; is this disk whole?")
    return found


def training_steps(pairs: RatedPairs, plan: TrainingPlan) -> int:
    """Batches of the whole training."""
    return plan.epochs * plan.steps_per_epoch(len(pairs.pairs))


def _finished(target: Path) -> Tuned | None:
    """What the training said about itself; None if it never ended, or its record or weights are no longer whole."""
    try:
        said: dict[str, Any] = json.loads((target / RECORD).read_text("utf-8"))
        losses = tuple(float(epoch["loss"]) for epoch in said["epochs"] if epoch["loss"] is not None)
        weights: dict[str, str] = said["weights"]
        whole = bool(weights) and all(file_digest(target / name) == expected for name, expected in weights.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Tuned(target, losses) if whole else None
