"""The families that only torch runs: every layer equals plain transformers, and the laws of the ONNX encoder hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import evalign
from evalign.encoders.base import EncodeOptions, out_of_memory, plan_windows
from evalign.encoders.families import depth
from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.torch_hf import TorchEncoder, torch_threads
from evalign.errors import LayerError, ModelError, TextTooLongError, UnsupportedModelError, WeightsError
from evalign.testing import check_metric
from tiny_models import DEPTH, POSITIONS, SENTENCES, distance, edit_json, open_torch, read_json
from tiny_torch_models import ENCODERS, build

TOLERANCE = 1e-5
TEXTS = [SENTENCES[0], "a", " ".join(SENTENCES[:2]), "", *SENTENCES[5:9], "🙂 naïve, 漢字", "b c " * 30]
FRAME = {"deberta-v2": (1, 1), "modernbert": (1, 1), "t5": (0, 1), "bart": (1, 1), "gpt2": (0, 0), "gpt_neox": (0, 0),
         "llama": (1, 0), "clip": (1, 1)}  # fmt: skip
LONG = " ".join(SENTENCES)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    with torch_threads(1):
        yield


@pytest.fixture(scope="session")
def tiny_torch(tmp_path_factory: pytest.TempPathFactory):
    built: dict[str, Path] = {}

    def directory(family: str, **changes: Any) -> Path:
        key = repr((family, sorted(changes.items())))
        if key not in built:
            built[key] = build(family, tmp_path_factory.mktemp("tiny") / f"tiny-{family}", **changes)
        return built[key]

    return directory


def plain_states(directory: Path, sequences: list[list[int]]) -> list[np.ndarray]:
    """Transformers itself, one unpadded text at a time: its hidden states, the last one as the model gives it."""
    model = transformers.AutoModel.from_pretrained(directory, dtype=torch.float32).eval()
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    model = getattr(model, "text_model", model)
    found = []
    with torch.inference_mode():
        for ids in sequences:
            output = model(torch.tensor([ids]), output_hidden_states=True)
            found.append(torch.stack([*output.hidden_states[:-1], output.last_hidden_state])[:, 0].numpy())
    return found


@pytest.mark.parametrize("family", ENCODERS)
def test_every_layer_equals_plain_transformers(tiny_torch, family):
    encoder = open_torch(tiny_torch(family), token_budget=10**6)
    ours = [one for one in encoder.encode(TEXTS) if len(one.tokens)]
    assert encoder.padded_tokens > encoder.real_tokens, "these texts must make padding"
    plain = plain_states(tiny_torch(family), [one.tokens.ids.tolist() for one in ours])
    for one, gold in zip(ours, plain, strict=True):
        assert one.vectors.shape == gold.shape == (DEPTH + 1, len(one.tokens), 32)
        for layer in range(DEPTH + 1):
            assert distance(one.vectors[layer], gold[layer]) <= TOLERANCE, (one.tokens.text, layer)


@pytest.mark.parametrize("family", ENCODERS)
def test_special_tokens_are_those_of_the_tokenizer(tiny_torch, family):
    """As many as transformers puts around a text, in the right places, and none counted as unknown."""
    before, after = FRAME[family]
    theirs = transformers.AutoTokenizer.from_pretrained(tiny_torch(family))
    (tokens,) = open_torch(tiny_torch(family)).tokenize([" the river rose"])
    byte_level = family in ("modernbert", "bart", "gpt2", "gpt_neox")  # we spell a first word like any other
    assert tokens.ids.tolist() == theirs(" " * byte_level + "the river rose").input_ids
    assert tokens.special.tolist() == [True] * before + [False] * (len(tokens) - before - after) + [True] * after
    assert "unknown-token" not in tokens.counts
    assert tokens.surface(before) in "the"


@pytest.mark.parametrize("family", ENCODERS)
def test_a_vector_does_not_depend_on_its_batch(tiny_torch, family):
    directory = tiny_torch(family)
    alone, together, shuffled = (
        open_torch(directory, token_budget=budget).encode(texts)
        for budget, texts in ((1, TEXTS), (10**6, TEXTS), (200, TEXTS[::-1]))
    )
    for one, other, third in zip(alone, together, shuffled[::-1], strict=True):
        np.testing.assert_allclose(one.vectors, other.vectors, atol=2e-5)
        np.testing.assert_allclose(one.vectors, third.vectors, atol=2e-5)


@pytest.mark.parametrize("family", ENCODERS)
def test_an_empty_text_has_its_special_tokens_only(tiny_torch, family):
    for one in open_torch(tiny_torch(family)).encode(["", " \n"]):
        assert one.tokens.empty
        assert one.vectors.shape == (DEPTH + 1, sum(FRAME[family]), 32)
        assert np.isfinite(one.vectors).all()


@pytest.mark.parametrize("family", ENCODERS)
def test_overlong_text_is_read_in_windows_truncated_or_refused(tiny_torch, family):
    directory, (before, after) = tiny_torch(family), FRAME[family]
    whole = open_torch(directory, max_length=32)
    (encoded,) = whole.encode([LONG])
    ids = whole.tokenizer([LONG])[0].ids.tolist()
    own = ids[before : len(ids) - after]
    windows, parts = plan_windows(len(own), 32 - before - after, "window"), []
    for window in windows:
        batch = np.array([[*ids[:before], *own[window.start : window.stop], *ids[len(ids) - after :]]])
        vectors = whole.forward(batch, np.ones_like(batch))[:, 0]
        first = 0 if window is windows[0] else before + window.keep_start - window.start
        last = vectors.shape[1] if window is windows[-1] else before + window.keep_stop - window.start
        parts.append(vectors[:, first:last])
    assert encoded.tokens.counts["windowed"] == len(windows) > 2
    np.testing.assert_allclose(encoded.vectors, np.concatenate(parts, axis=1), atol=1e-5)
    (cut,) = open_torch(directory, max_length=32, overlong="truncate").encode([LONG])
    assert len(cut.tokens) == 32
    assert cut.tokens.counts["truncated"] == len(ids) - 32
    assert cut.tokens.special.tolist() == [True] * before + [False] * (32 - before - after) + [True] * after
    with pytest.raises(TextTooLongError):
        open_torch(directory, max_length=32, overlong="error").encode([LONG])


def test_modernbert_reads_long_text_without_windows(tiny_torch):
    encoder = open_torch(tiny_torch("modernbert"))
    (one,) = encoder.encode([LONG * 3])
    assert len(one.tokens) > 3 * POSITIONS
    assert "windowed" not in one.tokens.counts
    assert encoder.reading.max_length == 8192


@pytest.mark.parametrize("family", ["gpt2", "gpt_neox", "llama", "clip"])
def test_causal_models_see_the_left_context_only(tiny_torch, family):
    short, long = open_torch(tiny_torch(family), (DEPTH,)).encode(["the river rose", "the river rose over the fields"])
    common = len(short.tokens) - FRAME[family][1]
    np.testing.assert_allclose(short.matrix[:common], long.matrix[:common], atol=1e-5)


@pytest.mark.parametrize("family", ENCODERS)
def test_layers_by_list_last_and_all(tiny_torch, family):
    directory = str(tiny_torch(family))
    every = open_encoder(EncoderSpec(directory, "all")).encode(SENTENCES[:2])
    for choice, layers in (("last", (DEPTH,)), ("2+0", (2, 0)), ("1", (1,))):
        memory = open_encoder(EncoderSpec(directory, choice))
        assert memory.encoder.layers == layers
        for text, one in memory.encode(SENTENCES[:2]).items():
            np.testing.assert_allclose(one.vectors, every[text].vectors[list(layers)], atol=1e-5)
    with pytest.raises(LayerError, match=f"0 .* to {DEPTH}"):
        open_encoder(EncoderSpec(directory, str(DEPTH + 1)))


@pytest.mark.parametrize("family", [*ENCODERS, "marian"])
def test_depth_is_read_from_every_familys_config(tiny_torch, family):
    assert depth(read_json(tiny_torch(family) / "config.json")) == DEPTH
    assert depth({"model_type": "other"}) is None


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_stays_near(tiny_torch, precision):
    half, full = (open_encoder(EncoderSpec(str(tiny_torch("t5")), "2", prec)) for prec in (precision, "fp32"))
    one, other = (memory.encode(SENTENCES[:1])[SENTENCES[0]] for memory in (half, full))
    assert half.encoder.precision == precision
    assert one.vectors.dtype == np.float32
    assert 1e-5 < distance(one.vectors, other.vectors) < 0.2


@pytest.mark.parametrize("family", ["gpt2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("t5", "clip"))])
def test_laws(tiny_torch, family):
    """No special tokens at all, an end token only, and both."""
    metric = evalign.BERTScore(model=str(tiny_torch(family)), layer="2", backend="torch")
    check_metric(metric, long_text=2000)


def test_the_end_token_metric_needs_an_end_token(tiny_torch):
    evalign.EndToken(model=str(tiny_torch("clip")), layer="last").score(["a"], ["b"])
    evalign.EndToken(model=str(tiny_torch("t5")), layer="last").score(["a"], ["b"])
    with pytest.raises(evalign.EvalignError, match="special token"):
        evalign.EndToken(model=str(tiny_torch("gpt2")), layer="last").score(["a"], ["b"])


def test_a_padding_id_that_is_no_token_is_not_used(tiny_torch, tmp_path):
    directory = shutil.copytree(tiny_torch("llama"), tmp_path / "model")
    edit_json(directory / "config.json", pad_token_id=-1)
    before, after = (open_torch(place).encode(TEXTS) for place in (tiny_torch("llama"), directory))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-5)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
        MemoryError(),
    ],
)
def test_out_of_memory_runs_smaller_batches(tiny_torch, monkeypatch, error):
    expected = open_torch(tiny_torch("gpt2")).encode(TEXTS)
    encoder = open_torch(tiny_torch("gpt2"), token_budget=10**6)
    run, sizes = encoder._states, []

    def states(ids, mask):
        sizes.append(len(ids))
        if len(ids) > 3:
            raise error
        return run(ids, mask)

    monkeypatch.setattr(encoder, "_states", states)
    for one, other in zip(encoder.encode(TEXTS), expected, strict=True):
        np.testing.assert_allclose(one.vectors, other.vectors, atol=2e-5)
    assert sizes[0] == len(TEXTS) > 3
    assert encoder.reading.token_budget < 10**6
    assert out_of_memory(error)


def test_one_text_that_does_not_fit_is_said(tiny_torch, monkeypatch):
    encoder = open_torch(tiny_torch("gpt2"))
    monkeypatch.setattr(encoder, "_states", lambda ids, mask: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(ModelError, match=r"out of memory on cpu with one text of \d+ tokens; lower max_length"):
        encoder.encode(["the river"])


def test_other_failures_are_not_taken_for_a_lack_of_memory(tiny_torch, monkeypatch):
    encoder = open_torch(tiny_torch("gpt2"))
    monkeypatch.setattr(encoder, "_states", lambda ids, mask: (_ for _ in ()).throw(RuntimeError("index out of range")))
    with pytest.raises(RuntimeError, match="index out of range"):
        encoder.encode(["the river"])


def open_directory(directory: Path) -> TorchEncoder:
    return TorchEncoder(directory, read_json(directory / "config.json"), None, EncodeOptions())


def test_an_unknown_architecture_is_said(tiny_torch, tmp_path):
    directory = shutil.copytree(tiny_torch("gpt2"), tmp_path / "model")
    edit_json(directory / "config.json", model_type="mystery", architectures=["MysteryModel"])
    with pytest.raises(UnsupportedModelError, match="mystery"):
        open_directory(directory)


def test_pickled_weights_only_are_refused(tiny_torch, tmp_path):
    directory = shutil.copytree(tiny_torch("gpt2"), tmp_path / "model")
    (directory / "model.safetensors").rename(directory / "pytorch_model.bin")
    with pytest.raises(WeightsError, match=r"pytorch_model.bin, and pickled weights are never loaded: convert"):
        open_directory(directory)


def test_weights_that_are_missing_are_not_made_up(tiny_torch, tmp_path):
    from safetensors.torch import load_file, save_file

    directory = shutil.copytree(tiny_torch("gpt2"), tmp_path / "model")
    tensors = load_file(directory / "model.safetensors")
    del tensors[next(name for name in tensors if "h.1.mlp" in name)]
    save_file(tensors, directory / "model.safetensors", {"format": "pt"})
    with pytest.raises(WeightsError, match=r"h\.1\.mlp.* is missing"):
        open_directory(directory)


def test_no_tokenizer_at_all_is_said(tiny_torch, tmp_path):
    directory = shutil.copytree(tiny_torch("llama"), tmp_path / "model")
    (directory / "tokenizer.json").unlink()
    (directory / "tokenizer_config.json").unlink()
    with pytest.raises(ModelError, match=r"no tokenizer\.json there, nor any other vocabulary"):
        open_directory(directory)


def test_a_tokenizer_written_in_python_is_said(tiny_torch):
    with pytest.raises(ModelError, match=r"no tokenizer\.json there, and MarianTokenizer makes none"):
        open_directory(tiny_torch("marian"))


def test_a_space_is_put_before_the_text_only_where_that_is_possible(tiny_torch):
    """Behind another splitter a byte-level one would put it before every piece (CLIP, SmolLM)."""
    definition = json.loads((tiny_torch("gpt2") / "tokenizer.json").read_text("utf-8"))
    byte_level = definition["pre_tokenizer"]
    definition["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True},
                                                                         byte_level]}  # fmt: skip
    tokenizer = Tokenizer(json.dumps(definition))
    assert [piece.count("Ġ") for piece in tokenizer(["12"])[0].pieces] == [0, 0]
