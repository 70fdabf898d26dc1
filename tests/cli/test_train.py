"""`evalign train` as a user has it: a tuned directory, its use by other commands, errors in one sentence."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest

from evalign.encoders.weights import file_digest
from evalign.io.rows import Columns, TableFile
from evalign.research.lstm.encoder import load_lstm
from evalign.training.rated_pairs import read_pairs, split
from evalign.training.train_commands import PLAN
from tiny_training import rated_pairs

FAST = ("--epochs", "2", "--batch", "8", "--lr", "1e-3", "--dev", "0.25", "--threads", "1")


@pytest.fixture
def pairs(tmp_path):
    """40 pairs rated 0 or 4."""
    file = tmp_path / "pairs.jsonl"
    file.write_text(
        "".join(
            json.dumps(
                {"id": pair.row, "candidate": pair.first, "reference": pair.second, "human": 5 * pair.similarity}
            )
            + "\n"
            for pair in rated_pairs(40)
        )
    )
    return file


def test_train_then_score(run, tiny, pairs, tmp_path):
    command = ("train", "encoder", "pairs.jsonl", "-o", "tuned", "--model", str(tiny("bert")), *FAST)
    first = run(*command, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "Use it as: sbert(model=tuned)" in first.stdout
    assert "epoch 0: before training, dev Spearman" in first.stderr
    assert "epoch 2: loss" in first.stderr
    again = run(*command, cwd=tmp_path)
    assert (again.returncode, "tuned: finished before, by the same command" in again.stdout) == (0, True)
    scored = run("agree", "pairs.jsonl", "-m", "sbert(model=tuned)", "-m", "bertscore(model=tuned)", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr
    other = run(*command, "--seed", "4", cwd=tmp_path)
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    assert "choose another --output, or delete it" in other.stderr


def test_columns_mapping_and_pooling(run, tiny, pairs, tmp_path):
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    lines = [f"{row['candidate']}\t{row['reference']}\t{1 + (row['human'] > 0) * 3}" for row in rows]
    (tmp_path / "table.tsv").write_text("\n".join(["one\tother\tgrade", *lines]) + "\n")
    done = run(
        "train", "encoder", "table.tsv", "-o", "tuned", "--model", str(tiny("bert")), *FAST, "--pooling", "cls",
        "--loss", "cosine-mse", "--mapping", "opusparcus", "--candidate-field", "one", "--reference-field", "other",
        "--human-field", "grade", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Use it as: sbert(model=tuned, pooling=cls)" in done.stdout
    said = json.loads((tmp_path / "tuned" / "training.json").read_text())
    assert (said["mapping"], said["run"]["loss"]) == ("opusparcus", "cosine-mse")


def test_an_adapter(run, tiny, pairs, tmp_path):
    model = str(tiny("bert"))
    ordered = {"better": "The river rose.", "worse": "The river rose not.", "references": ["The river went up."]}
    (tmp_path / "ordered.jsonl").write_text(f"{json.dumps(ordered)}\n")
    (tmp_path / "german.txt").write_text("Der Fluss stieg.\n\nEs regnet.\n")
    command = ("train", "adapter", "pairs.jsonl", "ordered.jsonl", "-o", "ours", "--model", model, "--rank", "2",
               "--layer", "1+3", "--weights", "1,0.5", "--damage", "0.1", "--anchors", "german.txt", *FAST)  # fmt: skip
    first = run(*command, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert f"Use it as: bertscore(model={model}, adapter=ours)" in first.stdout.replace('"', "")
    assert "finished before, by the same command" in run(*command, cwd=tmp_path).stdout
    scored = run("score", "pairs.jsonl", "-m", f'bertscore(model="{model}", adapter=ours)', cwd=tmp_path)
    assert (scored.returncode, "+adapter@" in scored.stdout + scored.stderr) == (0, True), scored.stderr


def test_lstm(run, pairs, tmp_path):
    done = run("train", "lstm", "pairs.jsonl", "-o", "lstm", "--model", "random", *FAST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Use it as: lstm(file=lstm)" in done.stdout
    scored = run("score", "pairs.jsonl", "-m", "lstm(file=lstm)", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr


def test_lstm_knows_no_word_of_the_dev_pairs(run, tiny, pairs, tmp_path):
    """Every pair has its number as a word; the model's word vectors are shorter than those of MiniLM, and are taken."""
    done = run("train", "lstm", "pairs.jsonl", "-o", "lstm", "--model", str(tiny("bert")), *FAST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model, _ = load_lstm(tmp_path / "lstm")
    sides = split(read_pairs(TableFile(str(pairs), Columns())).pairs, 0.25, PLAN.seed)
    known = [[pair.row in model.words.vocabulary for pair in side if len(pair.row) == 2] for side in sides]
    assert all(known[0])
    assert known[1]
    assert not any(known[1])
    assert model.training["width"] == model.table.shape[1] < 128


def test_combine(run, pairs, tmp_path):
    done = run("train", "combine", "pairs.jsonl", "-o", "ours.json", "-m", "chrf", "-m", "rouge1.f1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    scored = run("score", "pairs.jsonl", "-m", "learned(file=ours.json)", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--mapping", "linear(0,3)"), "row 0: rating 4 lies outside linear(0,3)"),
        (("--mapping", "opusparcus"), "row 1: rating 0 is not in the mapping"),
        (("--mapping", "steep"), "mapping 'steep': expected opusparcus"),
        (("--model", "./nowhere"), "model './nowhere': no such directory"),
        (("--human-field", "grade"), "no ratings"),
        (("--lr", "-1"), "learning rate -1.0"),
        (("-o", "no/such/folder"), "there is no folder"),
        (("-o", "/"), "--output must name a folder that does not exist"),
        (("-o", "taken", "--model", "./nowhere"), "taken.training: is not a folder"),  # said before the model is read
        (("--mapping", "x" * 300), "expected opusparcus"),
        (("--aspect", "tone"), "row 0 has one rating without a name"),
    ],
)
def test_errors_are_one_sentence(run, pairs, tmp_path, arguments, said):
    (tmp_path / "taken.training").touch()
    (tmp_path / "empty.txt").write_text("\n \n")
    done = run("train", "encoder", "pairs.jsonl", "-o", "tuned", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n"), said in done.stderr) == (2, 1, True), done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("encoder", "-m", "chrf"), "No such option"),
        (("encoder", "--damage", "1"), "No such option"),
        (("encoder", "--anchors", "pairs.jsonl"), "No such option"),
        (("lstm", "--max-length", "30"), "No such option"),
        (("lstm", "--pooling", "cls"), "'cls' is not one of 'mean', 'max'"),
        (("combine", "-m", "chrf", "--epochs", "3"), "No such option"),
        (("adapter", "--pooling", "cls"), "No such option"),
        (("adapter", "--anchors", "none.txt"), "none.txt: no such file"),
        (("adapter", "--anchors", "empty.txt"), "empty.txt: there is no anchor text, expected a text per line"),
        (("adapter", "--weights", "1,x"), "--weights 1,x: expected numbers with commas"),
        (("adapter", "--weights", "1,2"), "--weights: expected 1 positive numbers"),
        (("adapter", "--human-field", "grade"), "pairs.jsonl: there are no ratings"),
        (("adapter", "--aspect", "tone", "--human-field", "grade"), "(--human-field, --aspect)"),
        (("decoder",), "no command 'decoder'; did you mean encoder"),
    ],
)
def test_every_subcommand_has_its_own_options_only(run, pairs, tmp_path, arguments, said):
    (tmp_path / "empty.txt").write_text("\n \n")
    command, *options = arguments
    done = run("train", command, "pairs.jsonl", "-o", "tuned", *options, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_constant_ratings_and_one_row(run, pairs, tmp_path):
    row = {"candidate": "a", "reference": "b", "human": 3}
    (tmp_path / "one.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "equal.jsonl").write_text((json.dumps(row) + "\n") * 9)
    for name, said in (("one", "at least two rated pairs of texts, found 1"), ("equal", "constant ratings")):
        done = run("train", "encoder", f"{name}.jsonl", "-o", "tuned", cwd=tmp_path)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_without_the_extra_it_says_what_to_install(pairs, tmp_path, package):
    code = f"import sys; sys.modules['{package}'] = None; from evalign.cli.main import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, "train", "encoder", "pairs.jsonl", "-o", "tuned"], cwd=tmp_path,
                          capture_output=True, encoding="utf-8")  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "evalign: training needs the extra 'train': pip install 'evalign[train]'\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (("encoder",), ("model.safetensors",)),
        (("adapter", "--rank", "2", "--layer", "1+3"), ("adapter.safetensors", "adapter.json")),
    ],
    ids=["encoder", "adapter"],
)
def test_killed_at_random_moments_it_ends_at_the_same_file(tiny, pairs, tmp_path, arguments, files):
    """SIGKILL, again and again, whatever it is doing; only what is left on the disk counts."""
    model, moments = str(tiny("bert")), random.Random(11)
    command = [sys.executable, "-m", "evalign", "train", *arguments, "pairs.jsonl", "--model", model, *FAST,
               "--epochs", "40", "--stop-after", "40", "--checkpoint", "0", "-o"]  # fmt: skip
    subprocess.run([*command, "whole"], cwd=tmp_path, check=True, capture_output=True)
    kills = 0
    for attempt in range(20):  # a run may end before this process gets to kill it
        kills += _kills([*command, f"killed{attempt}"], tmp_path / f"killed{attempt}.training", moments)
        for name in files:
            assert file_digest(tmp_path / f"killed{attempt}" / name) == file_digest(tmp_path / "whole" / name)
        assert not (tmp_path / f"killed{attempt}.training").exists()
        if kills >= 5:
            return
    pytest.fail(f"killed {kills} times only")


def _kills(command, work, moments):
    """How often the command was killed, up to 12 times, and each time later in its work, before it came to its end."""
    kills, started = 0, {""}
    while True:
        process = subprocess.Popen(command, cwd=work.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and kills < 12:  # wait for a sign of progress, then a random while
            if (step := _text(work / "checkpoint.json")) not in started:
                started.add(step)
                time.sleep(moments.uniform(0, 0.3))
                process.kill()
                break
            time.sleep(0.01)
        if process.wait() == 0:
            return kills
        assert process.returncode == -signal.SIGKILL
        kills += 1


def _text(file):
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""
