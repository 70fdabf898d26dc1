"""`evalign explain TEXT -m lstm`: what it shows as a table, JSON and page, and that it fits a terminal."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

import evalign
from evalign.research.lstm.encoder import CellWeights, LSTMModel, WordRows, demonstration_file, save_lstm
from evalign.research.lstm.explain import explain_lstm


@pytest.fixture
def file(tmp_path):
    """A random cell of size 5."""
    draw = np.random.default_rng(0)
    words = WordRows(("a", "cat", "dog", "sat", "the"), buckets=16)
    shapes = ((words.count, 6), (2, 6, 20), (2, 5, 20), (2, 20))
    table, *cell = (draw.standard_normal(shape).astype(np.float32) for shape in shapes)
    save_lstm(LSTMModel(words, table, CellWeights(*cell)), tmp_path / "cell.safetensors")
    return tmp_path / "cell.safetensors"


@pytest.fixture
def explained(run):
    return lambda *arguments: run("explain", *arguments)


def test_explain_traces_one_text(explained, file):
    """Without a file, the small cell that is included is traced, and named."""
    done = explained("the film was not good", "-m", "lstm")
    assert done.returncode == 0, done.stdout
    assert "lstm_demonstration.safetensors@" in done.stdout
    assert "cell that is included" in done.stdout
    for name in ("forward", "backward", "forget", "input", "output", "kept", "written", "cell", "hidden"):
        assert name in done.stdout
    spec = f'lstm(file="{file}")'
    for order in (["-m", spec, "the zebra sat"], ["the zebra sat", "-m", spec]):
        mine = explained(*order)
        assert mine.returncode == 0, mine.stdout
        assert "cell.safetensors@" in mine.stdout
        assert "cell that is included" not in mine.stdout
        assert "zebra*" in mine.stdout


def test_explain_lstm_json(explained, file):
    done = explained("the cat", "-m", f'lstm(file="{file}")', "--format", "json")
    said = json.loads(done.stdout)
    assert [word["word"] for word in said["directions"]["backward"]] == ["cat", "the"]
    assert len(said["vector"]) == 10
    assert set(said["columns"]) <= set(said["directions"]["forward"][0])


def test_explain_lstm_without_words(explained):
    done = explained(" ", "-m", "lstm")
    assert done.returncode == 0
    assert "no words" in done.stdout


def test_explain_a_pair(explained, file):
    done = explained("the cat", "a dog", "-m", f'lstm(file="{file}")')
    (score,) = evalign.LSTM(file=str(file)).score(["the cat"], ["a dog"])["score"]
    assert f"{score:.4f}" in done.stdout


def test_explain_lstm_asks_for_a_text(explained, file, tmp_path):
    for arguments, said in (
        (["-m", "lstm"], "Missing argument"),
        (["a text", "-m", f"lstm(file={'x' * 5000})"], "there is no such file"),
        (["text", "-m", f'lstm(file="{tmp_path / "none.safetensors"}")'], "there is no such file"),
        (
            ["one", "two", "-m", f'lstm(file="{file}")', "--format", "json"],
            "is for the trace of one text",
        ),
        (["a", "b", "--format", "json"], "--format json"),
        ([], "Missing argument"),
    ):
        done = explained(*arguments)
        assert done.returncode == 2, (arguments, done.stdout)
        assert said in done.stderr


def test_it_fits_80_columns():
    out = io.StringIO()
    text = f"a {'long' * 20} word and {'good ' * 20}"
    Console(file=out, width=80).print(explain_lstm(evalign.LSTM(file=str(demonstration_file())), text))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    table = [line for line in lines if line.startswith("good  ")]
    assert len(table) == 40
    assert all(len(line.split()) == 8 for line in table), "no row is folded"
