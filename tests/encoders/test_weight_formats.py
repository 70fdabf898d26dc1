"""Weights as other programs write them: half precision, shards, old tensor names, more than 2 GB."""

import json
import shutil
import struct

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from tiny_models import SENTENCES, distance, hidden_states, open_ort, read_json

TEXTS = [*SENTENCES[:3], "a"]


def copied(source, target, change):
    """A copy of a model directory whose tensors went through `change`."""
    shutil.copytree(source, target)
    save_file(change(load_file(source / "model.safetensors")), target / "model.safetensors", {"format": "pt"})
    return target


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("family", ["bert", "mpnet", "albert"])
def test_half_precision_files_are_widened_at_load_time(tiny, tmp_path, family, dtype):
    half = copied(tiny(family), tmp_path / "half", lambda tensors: {k: v.to(dtype) for k, v in tensors.items()})
    ours = open_ort(half).encode(TEXTS)
    for one, gold in zip(ours, hidden_states(half, [e.tokens.ids.tolist() for e in ours]), strict=True):
        assert distance(one.vectors, gold) <= 1e-5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_int8_reads_half_precision_files_as_the_same_numbers(tiny, tmp_path, dtype):
    half = copied(tiny("bert"), tmp_path / "half", lambda tensors: {k: v.to(dtype) for k, v in tensors.items()})
    wide = copied(half, tmp_path / "wide", lambda tensors: {k: v.float() for k, v in tensors.items()})
    for one, other in zip(*(open_ort(d, precision="int8").encode(TEXTS) for d in (half, wide)), strict=True):
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-5)


def test_float64_files_are_sent_to_the_torch_backend(tiny, tmp_path):
    from evalign.errors import UnsupportedModelError

    double = copied(tiny("bert"), tmp_path / "double", lambda tensors: {k: v.double() for k, v in tensors.items()})
    with pytest.raises(UnsupportedModelError, match=r"F64.*backend=torch"):
        open_ort(double)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_shards_are_one_model(tiny, tmp_path, precision):
    source, target = tiny("bert"), tmp_path / "sharded"
    shutil.copytree(source, target)
    (target / "model.safetensors").unlink()
    AutoModel.from_pretrained(source).save_pretrained(target, max_shard_size="30KB")
    assert len(list(target.glob("*.safetensors"))) > 2
    whole, shards = (open_ort(directory, precision=precision).encode(TEXTS) for directory in (source, target))
    for one, other in zip(whole, shards, strict=True):
        np.testing.assert_array_equal(one.vectors, other.vectors)


def test_old_names_of_the_layer_norm(tiny, tmp_path):
    def rename(tensors):
        old = {".LayerNorm.weight": ".LayerNorm.gamma", ".LayerNorm.bias": ".LayerNorm.beta"}
        for new, former in old.items():
            tensors = {name.replace(new, former): tensor for name, tensor in tensors.items()}
        return tensors

    target = copied(tiny("bert"), tmp_path / "old", rename)
    assert any(name.endswith("gamma") for name in load_file(target / "model.safetensors"))
    for one, other in zip(open_ort(target).encode(TEXTS), open_ort(tiny("bert")).encode(TEXTS), strict=True):
        np.testing.assert_array_equal(one.vectors, other.vectors)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.uint16, torch.uint32, torch.float8_e4m3fn])
def test_tensors_the_graph_does_not_use_may_have_any_type(tiny, tmp_path, dtype):
    extra = {"some.buffer": torch.zeros(6, dtype=dtype)}
    assert open_ort(copied(tiny("bert"), tmp_path / "extra", lambda tensors: tensors | extra)).encode(["a"])


@pytest.mark.slow
def test_a_model_of_more_than_two_gigabytes_loads(tiny, tmp_path):
    """Its word table is a hole in a sparse file, but for the rows of the tokens that are asked for."""
    source, target = tiny("bert"), tmp_path / "large"
    shutil.copytree(source, target)
    tensors = load_file(source / "model.safetensors")
    words = tensors.pop("embeddings.word_embeddings.weight").numpy()
    rows = 2_200_000_000 // words[0].nbytes
    header, place = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * 4
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [place, place + size]}
        place += size
    shape = [rows, words.shape[1]]
    header["embeddings.word_embeddings.weight"] = {
        "dtype": "F32", "shape": shape, "data_offsets": [place, place + rows * words[0].nbytes]
    }  # fmt: skip
    raw = json.dumps(header).encode()
    with (target / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", len(raw)) + raw)
        for tensor in tensors.values():
            stream.write(tensor.numpy().tobytes())
        stream.write(words.tobytes())
        stream.truncate(8 + len(raw) + place + rows * words[0].nbytes)
    assert (target / "model.safetensors").stat().st_size > 2**31
    (target / "config.json").write_text(json.dumps(read_json(target / "config.json") | {"vocab_size": rows}))
    for one, other in zip(open_ort(target).encode(TEXTS), open_ort(source).encode(TEXTS), strict=True):
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-5)
