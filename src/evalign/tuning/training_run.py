"""A whole training run: rated pairs in, a finished directory out, which appears at once or not at all.

While it runs, DIR.training holds the checkpoints; DIR exists only when it is complete, with training.json beside the
weights. The same command resumes an unfinished run, and returns what a finished one wrote.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from evalign.errors import FileFormatError
from evalign.tuning.rated_pairs import RatedPairs
from evalign.tuning.trainee import Trainee
from evalign.tuning.training_folder import (
    Run,
    Trained,
    alone_in,
    check_target,
    make_record,
    read_record,
    same_run,
    work_folder,
    write_record,
)
from evalign.tuning.training_loop import DivergedError, fit, run_identity
from evalign.tuning.training_plan import CHECKPOINT_SECONDS, TrainingPlan, Watch


def train_to(
    target: Path,
    trainee: Trainee,
    data: RatedPairs,
    plan: TrainingPlan,
    watch: Watch | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> Trained:
    """Trains and writes `target`; a target that another command made is an error, never overwritten."""
    check_target(target)
    target, work = Path(target.absolute()), work_folder(target)
    run = run_identity(trainee.name, data.pairs, plan)
    if os.path.lexists(target):
        finished = _finished(target, run)
        shutil.rmtree(work, ignore_errors=True)  # killed between the two last steps
        return finished
    with alone_in(work):
        there = os.path.lexists(target)  # by a run that ended just now
        if not there:
            try:
                result = fit(trainee, data.pairs, plan, work, watch, checkpoint_seconds)
            except DivergedError:
                shutil.rmtree(work, ignore_errors=True)  # or a lower rate would meet "unfinished with another rate"
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
    return replace(_finished(target, run), found_finished=there)


def _finished(target: Path, run: Run) -> Trained:
    """What an earlier run wrote; an error if it was another one, or if its weights have changed since."""
    trained = read_record(target)
    if trained is None or not same_run(trained.run, run):
        raise FileFormatError(
            f"{target}: is there already, and not from this command on these pairs; choose another -o, or delete it"
        )
    if not trained.unchanged:
        raise FileFormatError(
            f"{target}: this command made it, but weights are missing or were changed since; delete it to train again, "
            "or choose another -o"
        )
    return trained
