"""`lstm(file=...)`: cosine by hand, references, flags, files that are not what they claim and its gates."""

import json
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import evalign
from evalign.errors import ModelNotFoundError, SpecError, WeightsError
from evalign.research.lstm.encoder import (
    FORMAT,
    GROUP_LETTERS,
    CellWeights,
    LSTMModel,
    WordRows,
    demonstration_file,
    load_lstm,
    save_lstm,
    sentence_vectors,
    split_words,
    trace,
    word_vectors,
)

WORDS = ("a", "cat", "dog", "mat", "on", "sat", "the")
TEXTS = ["the cat sat on the mat", "a dog", "the unheard word", "cat", "mat the on sat cat the", "dog " * 30]


def random_model(pooling="mean", width=6, size=5, seed=0):
    draw = np.random.default_rng(seed)
    words = WordRows(WORDS, buckets=16)
    table, *cell = (
        draw.standard_normal(shape).astype(np.float32)
        for shape in ((words.count, width), (2, width, 4 * size), (2, size, 4 * size), (2, 4 * size))
    )
    return LSTMModel(words, table, CellWeights(*cell), pooling, {"start": "random"})


@pytest.fixture
def file(tmp_path):
    save_lstm(random_model(), tmp_path / "cell.safetensors")
    return tmp_path / "cell.safetensors"


def cosine(one, other):
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_score_is_the_cosine_of_vectors_computed_one_text_at_a_time(tmp_path, pooling):
    model = random_model(pooling)
    save_lstm(model, tmp_path / "m.safetensors")
    alone = [sentence_vectors(model, [split_words(text)])[0].astype(float) for text in TEXTS]
    report = evalign.LSTM(file=str(tmp_path / "m.safetensors")).score(TEXTS, TEXTS[::-1])
    expected = [cosine(one, other) for one, other in zip(alone, alone[::-1], strict=True)]
    np.testing.assert_allclose(report["score"], expected, atol=1e-6)
    assert f"|pool:{pooling}|" in report.signature


def test_several_references(file):
    references = ["a dog", "the cat sat", "on the mat"]
    single = evalign.LSTM(file=str(file)).score(["the cat"] * 3, references)["score"]
    for multiref, expected in (("best", single.max()), ("mean", single.mean())):
        report = evalign.LSTM(file=str(file), multiref=multiref).score(["the cat"], [references])
        assert report["score"][0] == pytest.approx(expected)
        assert f"multiref:{multiref}" in report.signature


def test_flags(file):
    report = evalign.LSTM(file=str(file)).score(["", "the zebra ran", "the cat", "👍"], ["the cat"] * 4)
    counts = [dict(segment.counts) for segment in report.segments]
    assert counts == [{"empty": 1}, {"unknown-token": 2}, {}, {"unknown-token": 1}]
    assert report["score"][0] == 0.0


@pytest.mark.parametrize(
    "text", ["word " * 10_000, "👩‍👩‍👧‍👦 🏳️‍🌈", "a \ud800 lone\udfff", "\x00\x1b[31m", "x" * 100_000, "\u200b"]
)
def test_hostile_texts(file, text):
    (value,) = evalign.LSTM(file=str(file)).score([text], ["the cat"])["score"]
    assert -1 <= value <= 1


def test_word_order_counts(file):
    """What a bag of words cannot see."""
    metric = evalign.LSTM(file=str(file))
    assert metric.score(["the dog sat on the cat"], ["the cat sat on the dog"])["score"][0] < 1 - 1e-4


def test_rows_of_words():
    words = WordRows(WORDS, buckets=50)
    assert words.rows("cat") == (1,)
    groups = {"<zebra>"[at : at + size] for size in GROUP_LETTERS for at in range(len("<zebra>") - size + 1)}
    assert 1 < len(words.rows("zebra")) <= len(groups)
    assert all(len(WORDS) <= row < words.count for row in words.rows("zebra"))
    table = np.random.default_rng(1).standard_normal((words.count, 4)).astype(np.float32)
    vectors, lengths = word_vectors(table, words, [["zebra", "cat"], ["cat"]])
    np.testing.assert_allclose(vectors[0, 0], table[list(words.rows("zebra"))].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(vectors[:, 0][1], table[1], atol=1e-6)
    assert lengths.tolist() == [2, 1]
    assert {*words.rows("zebras")} & {*words.rows("zebra")}, "words of one stem share letter groups"


def test_signature_pins_the_file(file, monkeypatch):
    metric = evalign.LSTM(file=str(file))
    signature = metric.score(["a"], ["a"]).signature
    digest = load_lstm(file)[1]
    assert signature.startswith(f"lstm|file:cell.safetensors@{digest[:8]}|pool:mean|multiref:best|spec:lstm(file=")
    assert signature.endswith(f"|v:{evalign.__version__}")
    monkeypatch.chdir(file.parent)
    assert evalign.metric(signature) == evalign.LSTM(file="cell.safetensors")
    save_lstm(random_model(seed=1), file)
    with pytest.raises(SpecError, match="the signature pins"):
        evalign.metric(signature)
    file.unlink()
    with pytest.raises(evalign.ModelNotFoundError, match=r"cell\.safetensors"):
        evalign.metric(signature)


def test_a_file_and_its_folder_are_the_same(file):
    inside = file.rename(file.with_name("lstm.safetensors"))
    one, other = (evalign.LSTM(file=str(place)).score(TEXTS, TEXTS[::-1]) for place in (inside, inside.parent))
    assert one["score"].tolist() == other["score"].tolist()


def test_no_torch_is_loaded(file):
    code = f"import evalign, sys; evalign.LSTM(file={str(file)!r}).score(['the cat'], ['a dog'])"
    code += "; sys.exit(any(name in sys.modules for name in ('torch', 'onnxruntime', 'transformers')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def rewritten(file, change):
    """The file with changed tensors and header, its own digest made right again if `change` leaves it out."""
    tensors = load_file(file)
    with safe_open(file, "np") as opened:
        said = dict(opened.metadata())
    change(tensors, said)
    save_file(tensors, file, said)


def resealed(change):
    """A change by somebody who also computes the digest: then the content itself must be looked at."""
    from evalign.research.lstm.encoder import _digest

    def both(tensors, said):
        change(tensors, said)
        said.pop("sha256", None)
        said["sha256"] = _digest(said, tensors)

    return both


CHANGES = {
    "one weight changed": (lambda t, s: t["bias"].__setitem__((0, 0), 9.0), "does not have the digest"),
    "a word changed": (lambda t, s: s.update(vocabulary=s["vocabulary"].replace("cat", "car")), "the digest"),
    "no digest": (lambda t, s: s.pop("sha256"), "does not have the digest"),
    "another format": (lambda t, s: s.update(format="evalign-lstm-9"), f"expected '{FORMAT}'"),
    "a tensor missing": (resealed(lambda t, s: t.pop("bias")), "not an LSTM encoder"),
    "NaN": (resealed(lambda t, s: t["bias"].__setitem__((0, 0), np.nan)), "finite"),
    "shapes": (resealed(lambda t, s: t.update(bias=np.zeros((2, 8), np.float32))), "do not fit"),
    "64 bits": (resealed(lambda t, s: t.update(bias=t["bias"].astype(np.float64))), "32-bit"),
    "a word too many": (resealed(lambda t, s: s.update(vocabulary=json.dumps([*WORDS, "x"]))), "do not fit"),
    "no list of words": (resealed(lambda t, s: s.update(vocabulary='{"a": 1}')), "list of words"),
    "no JSON": (resealed(lambda t, s: s.update(vocabulary="[")), "not an LSTM encoder"),
    "negative buckets": (resealed(lambda t, s: s.update(buckets="-1")), "do not fit"),
    "pooling": (resealed(lambda t, s: s.update(pooling="sum")), "expected mean or max"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_files(file, name):
    change, said = CHANGES[name]
    rewritten(file, change)
    with pytest.raises(WeightsError, match=said):
        evalign.LSTM(file=str(file)).score(["a"], ["a"])


@pytest.mark.parametrize("content", [b"", b"\x80\x04pickle.", b"{}", b"\xff" * 64, b"PK\x03\x04" + b"0" * 50])
def test_foreign_files(tmp_path, content):
    (tmp_path / "odd.safetensors").write_bytes(content)
    with pytest.raises(WeightsError, match="not an LSTM encoder of evalign"):
        load_lstm(tmp_path / "odd.safetensors")


def test_cut_at_any_place(file):
    whole = file.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:length])
        with pytest.raises(WeightsError):
            load_lstm(file)


def test_another_models_weights(minilm):
    with pytest.raises(WeightsError, match="format"):
        load_lstm(minilm / "model.safetensors")


def test_no_file(tmp_path):
    with pytest.raises(SpecError, match=r"lstm\(file=FILE\).*evalign train"):
        evalign.metric("lstm").score(["a"], ["a"])
    with pytest.raises(ModelNotFoundError, match="evalign train"):
        evalign.LSTM(file=str(tmp_path / "none")).score(["a"], ["a"])
    with pytest.raises(ModelNotFoundError, match=r"lstm\.safetensors"):
        evalign.LSTM(file=str(tmp_path)).score(["a"], ["a"])


def test_trace_adds_up():
    """The last states are those that scoring pools, and the means and lengths are of the gates themselves."""
    model = random_model()
    text = "the zebra sat"
    found = trace(model, text)
    assert [(word.word, word.known) for word in found.directions["forward"]] == [
        ("the", True), ("zebra", False), ("sat", True),
    ]  # fmt: skip
    assert [word.word for word in found.directions["backward"]] == ["sat", "zebra", "the"]
    np.testing.assert_allclose(found.vector, sentence_vectors(model, [split_words(text)])[0], atol=1e-6)
    for words in found.directions.values():
        assert words[0].kept == 0
        assert words[0].written == pytest.approx(words[0].cell, abs=1e-6)
        for word in words:
            assert all(0 < gate < 1 for gate in (word.forget, word.input, word.output))
            assert abs(word.kept - word.written) - 1e-5 <= word.cell <= word.kept + word.written + 1e-5
            assert word.hidden < word.cell


def test_the_demonstration_file_is_small_and_says_where_it_is_from():
    assert demonstration_file().stat().st_size < 300_000
    model, _ = load_lstm(demonstration_file())
    assert model.training["start"] == "random"
    assert {"seed", "texts", "sha256", "evalign", "torch"} <= set(model.training)
