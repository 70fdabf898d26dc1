"""The fine-tuning of the German summaries study: rated paraphrases in, trained models in the study's cache out.

As in the paper: cosine regression (squared error), 5 epochs, all pairs, the last weights. A finished model is found
without torch; an unfinished one resumes from its checkpoint; a damaged one is trained anew.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from evalign.errors import FileFormatError
from evalign.studies.inputs import model_identity
from evalign.studies.step_cache import Steps, digest_of
from evalign.tuning.rated_pairs import RatedPairs, digest
from evalign.tuning.training_folder import Trained, read_record
from evalign.tuning.training_plan import MAX_LENGTH, TrainingPlan, Watch
from evalign.version import __version__

PAPER = TrainingPlan(loss="cosine-mse", epochs=5, dev=0.0)
LSTM_PLAN = TrainingPlan(loss="cosine-mse", epochs=8, batch=32, rate=2e-3, dev=0.0)  # small, starts from words alone

if TYPE_CHECKING:
    from evalign.tuning.trainee import Trainee


@contextmanager
def tuning_folder(steps: Steps) -> Iterator[Path]:
    """The folder of trained models; without a cache, one that is deleted afterwards."""
    if steps.folder is None:
        with tempfile.TemporaryDirectory(prefix="evalign-tuned-") as temporary:
            yield Path(temporary)
        return
    folder = steps.folder / "tuned"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"{folder}: no folder can be made there ({error.strerror or error})") from error
    yield folder


def fine_tune(model: str, pairs: RatedPairs, plan: TrainingPlan, folder: Path, watch: Watch) -> Trained:
    """The model after training on the pairs, from the folder if it was trained so before."""

    def trainee() -> Trainee:
        from evalign.tuning.encoder_trainee import EncoderTrainee

        return EncoderTrainee(model, "mean", MAX_LENGTH)

    return _trained(trainee, {"model": model_identity(model)}, pairs, plan, folder, watch)


def train_lstm(start: str, pairs: RatedPairs, folder: Path, watch: Watch) -> Trained:
    """An LSTM over the words of the pairs, whose vectors start as those of the model `start`."""

    def trainee() -> Trainee:
        from evalign.tuning.lstm_trainee import LSTMSettings, LSTMTrainee

        texts = [text for pair in pairs.pairs for text in (pair.first, pair.second)]
        return LSTMTrainee(texts, LSTMSettings(start=start, seed=LSTM_PLAN.seed))

    return _trained(trainee, {"lstm": model_identity(start)}, pairs, LSTM_PLAN, folder, watch)


def training_steps(pairs: RatedPairs, plan: TrainingPlan) -> int:
    """Batches of the whole training."""
    return plan.epochs * plan.steps_per_epoch(len(pairs.pairs))


def _trained(
    trainee: Callable[[], Trainee],
    identity: Mapping[str, str],
    pairs: RatedPairs,
    plan: TrainingPlan,
    folder: Path,
    watch: Watch,
) -> Trained:
    run = {"evalign": __version__, **identity, "pairs": digest(pairs.pairs), **asdict(plan)}
    target = folder / digest_of(run)[:40]
    trained = read_record(target)
    if trained is not None and trained.unchanged:
        watch.advance(training_steps(pairs, plan))
        return trained
    import_module("evalign.tuning.trainee")  # first: it says what to install where torch is missing
    from evalign.tuning.training_run import train_to

    if target.exists():
        shutil.rmtree(target, ignore_errors=True)  # damaged, and nothing is trained into a folder that exists
    return train_to(target, trainee(), pairs, plan, watch)
