"""The folders of a training run: whose they are, one run at a time, repaired or removed when they are of no use."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from evalign.errors import FileFormatError, ModelError
from evalign.training.checkpoint import (
    Checkpoint,
    TrainingPosition,
    alone_in,
    check_target,
    load_checkpoint,
    save_checkpoint,
)
from evalign.training.rated_pairs import RatedPairs
from evalign.training.trainee import Epoch, Watch
from evalign.training.training_loop import train_to
from tiny_models import edit_json
from tiny_training import PLAN, rated_pairs, trainee

DATA = RatedPairs(rated_pairs(24), "linear(0,1)", {})
SHORT = replace(PLAN, epochs=1, dev=0.0)


def checkpoint(value, step):
    """All tensors have this value; epoch 1 is the best."""
    best, tensors = Epoch(1, 0.5, 0.5), {"w": torch.full((200,), value)}
    return Checkpoint(TrainingPosition(step, 0.0, (Epoch(0, None, 0.1), best), best, 8, 1), tensors, {}, tensors)


def test_the_best_weights_of_another_run_are_not_taken_over(tmp_path):
    save_checkpoint(tmp_path, checkpoint(1.0, 4), {"seed": 1})
    save_checkpoint(tmp_path, checkpoint(2.0, 4), {"seed": 2})
    assert load_checkpoint(tmp_path, {"seed": 2}).best["w"].tolist() == [2.0] * 200


def test_damaged_best_weights_are_written_anew(tmp_path):
    save_checkpoint(tmp_path, checkpoint(1.0, 4), {"seed": 1})
    (best,) = tmp_path.glob("best-*")
    best.write_bytes(best.read_bytes()[:-1] + b"\xff")
    (tmp_path / "mine.safetensors").touch()  # not of a checkpoint, so it stays
    assert load_checkpoint(tmp_path, {"seed": 1}) is None
    assert [file.name for file in tmp_path.iterdir()] == ["mine.safetensors"]
    save_checkpoint(tmp_path, checkpoint(1.0, 4), {"seed": 1})
    assert load_checkpoint(tmp_path, {"seed": 1}).best["w"].tolist() == [1.0] * 200


@pytest.mark.parametrize("changed", ["config.json", "tokenizer.json"])
def test_another_config_or_tokenizer_is_another_run(tiny, tmp_path, changed):
    train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, SHORT)
    other = shutil.copytree(tiny("bert"), tmp_path / tiny("bert").name)  # the same name and the same weights
    assert train_to(tmp_path / "tuned", trainee(other), DATA, SHORT).found_finished
    if changed == "config.json":
        edit_json(other / changed, hidden_dropout_prob=0.4)
    else:
        edit_json(other / changed, normalizer=None)
    with pytest.raises(FileFormatError, match="not from this command"):
        train_to(tmp_path / "tuned", trainee(other), DATA, SHORT)


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"{}")])
def test_without_its_weights_a_target_is_not_finished(tiny, tmp_path, damage):
    train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, SHORT)
    damage(tmp_path / "tuned" / "model.safetensors")
    with pytest.raises(FileFormatError, match="weights are missing or were changed; delete it to train again"):
        train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, SHORT)


def test_after_a_divergence_another_rate_can_be_tried(tiny, tmp_path):
    broken, told = trainee(tiny("bert")), []

    def break_it(epoch):
        told.append(epoch.number)
        assert (tmp_path / "tuned.training").is_dir()
        with torch.no_grad():
            next(broken.parameters()).fill_(float("nan"))

    with pytest.raises(ModelError, match="lower the learning rate"):
        train_to(tmp_path / "tuned", broken, DATA, replace(SHORT, rate=1.0), Watch(evaluated=break_it))
    assert told == [0]
    assert list(tmp_path.iterdir()) == []
    train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, SHORT)
    assert [file.name for file in tmp_path.iterdir()] == ["tuned"]


@pytest.mark.skipif(os.name == "nt", reason="no such locks there")
def test_one_run_at_a_time(tiny, tmp_path):
    """Another process holds the folder; when it is killed, the lock is gone with it."""
    work = tmp_path / "tuned.training"
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom evalign.training.checkpoint import alone_in\n"
        "with alone_in(Path(sys.argv[1])):\n    print('in', flush=True)\n    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(work)], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout.readline() == b"in\n"
            with pytest.raises(FileFormatError, match="another run is training into this folder"):
                train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, SHORT)
        finally:
            other.kill()
    assert not train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, SHORT).found_finished
    assert not work.exists()


@pytest.mark.skipif(os.name == "nt", reason="no such locks there")
def test_a_folder_that_was_removed_and_made_again_is_locked_anew(tmp_path):
    with alone_in(tmp_path / "work"):
        shutil.rmtree(tmp_path / "work")
        with (
            alone_in(tmp_path / "work"),
            pytest.raises(FileFormatError, match="another run"),
            alone_in(tmp_path / "work"),
        ):
            pytest.fail("two runs in one folder")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/", "`output` must name a folder"),
        ("no/tuned", "there is no folder"),
        ("taken", "is not a folder, but is needed for checkpoints"),
        ("x" * 300, "cannot be written"),
        ("x" * 250, "cannot be written"),  # with .training it is too long
        pytest.param(
            "/proc/tuned",
            "cannot be written",
            marks=pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here"),
        ),
    ],
)
def test_targets_that_cannot_be_written(tmp_path, target, said):
    (tmp_path / "taken.training").touch()
    with pytest.raises(FileFormatError, match=said):
        check_target(tmp_path / target)
    check_target(tmp_path / "free")
    assert [file.name for file in tmp_path.iterdir()] == ["taken.training"]
