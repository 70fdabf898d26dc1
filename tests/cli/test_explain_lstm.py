"""`evalign explain --lstm`: every way to write it, what it shows, and that it fits a terminal."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

import evalign
from evalign.encoders.lstm.cell import CellWeights
from evalign.encoders.lstm.encoder import LSTMModel
from evalign.encoders.lstm.file import demonstration_file, save_lstm
from evalign.encoders.lstm.words import WordRows
from evalign.render.explain.lstm import explain_lstm


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


def test_explain_lstm_as_it_reads(explained, file):
    """The text may follow the option; then the small cell that comes along is traced, and named."""
    done = explained("--lstm", "the film was not good")
    assert done.returncode == 0, done.stdout
    assert "lstm_demonstration.safetensors@" in done.stdout
    assert "comes with evalign" in done.stdout
    for name in ("forward", "backward", "forget", "input", "output", "kept", "written", "cell", "hidden"):
        assert name in done.stdout
    for order in (["--lstm", str(file), "the zebra sat"], ["the zebra sat", "--lstm", str(file)]):
        mine = explained(*order)
        assert mine.returncode == 0, mine.stdout
        assert "cell.safetensors@" in mine.stdout
        assert "comes with evalign" not in mine.stdout
        assert "zebra*" in mine.stdout
    assert "lstm_demonstration" in explained("the film", "--lstm").stdout


def test_explain_lstm_json(explained, file):
    done = explained("--lstm", str(file), "the cat", "--json")
    said = json.loads(done.stdout)
    assert [word["word"] for word in said["directions"]["backward"]] == ["cat", "the"]
    assert len(said["vector"]) == 10
    assert set(said["columns"]) <= set(said["directions"]["forward"][0])


def test_explain_lstm_without_words(explained):
    done = explained("--lstm", " ")
    assert done.returncode == 0
    assert "no words" in done.stdout


def test_explain_a_pair(explained, file):
    done = explained("the cat", "a dog", "-m", f'lstm(file="{file}")')
    (score,) = evalign.LSTM(file=str(file)).score(["the cat"], ["a dog"])["score"]
    assert f"{score:.4f}" in done.stdout


def test_explain_lstm_asks_for_a_text(explained, file, tmp_path):
    for arguments, said in (
        (["--lstm", str(file)], "traces one text"),
        (["--lstm"], "traces one text"),
        (["--lstm", "x" * 5000, "a text"], "there is no such file"),
        (["--lstm", str(file), "one", "two"], "traces one text"),
        (["--lstm", str(tmp_path / "none.safetensors"), "text"], "there is no such file"),
        (["a", "b", "--json"], "--json"),
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
