"""From a choice to an encoder: layers, backends, precisions, and the memory around it."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from evalign.encoders.loading import EmbeddingMemory, EncoderSpec, open_encoder, parse_layers
from evalign.encoders.weights import tuned_layers
from evalign.errors import LayerError, SpecError, WeightsError
from tiny_models import SENTENCES, open_ort


@pytest.mark.parametrize(("written", "layers"), [("4", (4,)), (4, (4,)), ("4+6", (4, 6)), ("6+4+0", (6, 4, 0))])
def test_layers_are_parsed(written, layers):
    assert parse_layers(written) == layers


@pytest.mark.parametrize("written", ["", "-1", "4+", "+4", "four", "4.5", "4 + 6", "4+4", "٤+x"])
def test_what_is_no_layer(written):
    with pytest.raises(LayerError, match="layer="):
        parse_layers(written)


def test_the_tuned_layers_are_those_of_bert_score():
    from bert_score.utils import model2layers

    assert tuned_layers() == model2layers


def test_an_untuned_model_gets_three_quarters_of_its_depth(tiny):
    for family in ("bert", "distilbert", "albert"):  # distilbert writes n_layers
        assert open_encoder(EncoderSpec(str(tiny(family)))).encoder.layers == (2,)


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"arithmetic": "int8", "backend": "torch"}, "int8 runs with backend=ort"),
        ({"arithmetic": "bf16", "backend": "ort"}, "use backend=torch"),
        ({"device": "cuda", "backend": "ort"}, "use backend=torch"),
    ],
)
def test_backends_that_do_not_go_together(tiny, choice, said):
    with pytest.raises(SpecError, match=said):
        open_encoder(EncoderSpec(str(tiny("bert")), **choice))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_goes_to_torch_and_stays_near(tiny, precision):
    half = open_encoder(EncoderSpec(str(tiny("bert")), "2", precision)).encode(SENTENCES[:2])
    full = open_ort(tiny("bert"), (2,)).encode(SENTENCES[:2])
    for text, one in zip(SENTENCES, full, strict=False):
        assert half[text].vectors.dtype == np.float32
        np.testing.assert_allclose(half[text].vectors, one.vectors, atol=0.15)
        assert np.abs(half[text].vectors - one.vectors).max() > 1e-5


WATCHED = """
import importlib.abc, os, sys
class Watch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "onnxruntime":
            print(os.environ.get("ORT_DISABLE_TELEMETRY"))
sys.meta_path.insert(0, Watch())
from evalign.encoders.loading import EncoderSpec, open_encoder
open_encoder(EncoderSpec(sys.argv[1])).encode(["a text"])
"""


def test_onnx_runtime_is_loaded_with_its_telemetry_off(tiny):
    plain = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    command = [sys.executable, "-c", WATCHED, str(tiny("bert"))]
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]


def test_an_encoder_is_opened_once_per_choice(tiny):
    choice = EncoderSpec(str(tiny("bert")), "1")
    assert open_encoder(choice) is open_encoder(choice)


def test_a_checkpoint_written_anew_is_another_model(tiny, tmp_path):
    directory = shutil.copytree(tiny("bert"), tmp_path / "checkpoint")
    before = open_encoder(EncoderSpec(str(directory), "2"))
    assert open_encoder(EncoderSpec(str(directory), "2")) is before
    shutil.copy(tiny("bert", hidden_act="relu", initializer_range=0.5) / "model.safetensors", directory)
    after = open_encoder(EncoderSpec(str(directory), "2"))
    assert after is not before
    assert after.encoder.name != before.encoder.name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_hidden_layers": "3"}, "wrong type"),
        ({"num_attention_heads": 0}, "0 heads"),
        ({"pad_token_id": "x"}, "pad_token_id"),
    ],
)
def test_a_config_with_a_value_of_the_wrong_kind(tiny, tmp_path, change, said):
    directory = shutil.copytree(tiny("bert"), tmp_path / "model")
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(WeightsError, match=said):
        open_encoder(EncoderSpec(str(directory), "1"))


def test_remembered_texts_are_not_run_again(tiny):
    encoder = open_ort(tiny("bert"), (1,))
    memory = EmbeddingMemory(encoder)
    first = memory.encode(SENTENCES[:3], keep=SENTENCES[:1])
    ran = encoder.real_tokens
    second = memory.encode(SENTENCES[:2], keep=SENTENCES[:1])
    assert second[SENTENCES[0]] is first[SENTENCES[0]]
    assert encoder.real_tokens - ran == len(second[SENTENCES[1]].tokens)


def test_the_memory_forgets_what_was_used_longest_ago(tiny):
    encoder = open_ort(tiny("bert"), (1,))
    size = {text: one.vectors.nbytes for text, one in zip(SENTENCES, encoder.encode(SENTENCES), strict=True)}
    a, b, c = SENTENCES[:3]
    memory = EmbeddingMemory(encoder, max_bytes=size[a] + max(size[b], size[c]))
    for kept in ([a], [b], [a], [c]):  # b is the oldest when c comes
        memory.encode(kept, keep=kept)
    ran = encoder.real_tokens
    memory.encode([a, c])
    assert encoder.real_tokens == ran
    memory.encode([b])
    assert encoder.real_tokens > ran


def test_a_text_larger_than_the_memory_is_still_given(tiny):
    memory = EmbeddingMemory(open_ort(tiny("bert"), (1,)), max_bytes=1)
    for _ in range(2):
        assert memory.encode(SENTENCES[:2], keep=SENTENCES[:2]).keys() == set(SENTENCES[:2])
