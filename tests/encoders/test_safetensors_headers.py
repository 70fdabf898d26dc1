"""Damaged, incomplete and foreign weights: always a typed error that names the file, never a crash."""

import json
import shutil
import struct

import pytest
from safetensors.torch import load_file, save_file

from evalign.encoders.safetensors_headers import tensor_locations, weight_files
from evalign.errors import EvalignError, LayerError, ModelError, UnsupportedModelError, WeightsError
from tiny_models import DEPTH, edit_json, open_ort, open_torch

ENTRY = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}


def packed(header, data=bytes(16)):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


DAMAGED = {
    "nothing": b"",
    "three bytes": b"abc",
    "length of zero": struct.pack("<Q", 0) + bytes(16),
    "length beyond the file": struct.pack("<Q", 10**6) + b"{}",
    "length of garbage": b"\xff" * 64,
    "not JSON": packed(b"{nonsense"),
    "not UTF-8": packed(b"\xff\xfe\xfd"),
    "a list": packed([1, 2]),
    "a number": packed(b"42"),
    "nested without end": packed(b"[" * 200_000),
    "an entry that is no object": packed({"a": 7}),
    "no dtype": packed({"a": {"shape": [2, 2], "data_offsets": [0, 16]}}),
    "unknown dtype": packed({"a": ENTRY | {"dtype": "F33"}}),
    "shape of words": packed({"a": ENTRY | {"shape": ["two", "two"]}}),
    "one offset": packed({"a": ENTRY | {"data_offsets": [0]}}),
    "offsets of words": packed({"a": ENTRY | {"data_offsets": ["0", "16"]}}),
    "offsets behind the file": packed({"a": ENTRY | {"data_offsets": [16, 32]}}),
    "offsets before the file": packed({"a": ENTRY | {"data_offsets": [-16, 0]}}),
    "offsets reversed": packed({"a": ENTRY | {"data_offsets": [16, 0]}}),
    "size unlike shape": packed({"a": ENTRY | {"shape": [2, 3]}}),
    "half a byte in one": packed({"a": {"dtype": "F4", "shape": [1], "data_offsets": [0, 1]}}, bytes(1)),
    "four bits in sixteen bytes": packed({"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 16]}}),
    "six bits in sixteen bytes": packed({"a": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 16]}}),
    "cut short": packed({"a": ENTRY}, bytes(15)),
    "two tensors overlap": packed({"a": ENTRY, "b": ENTRY | {"data_offsets": [8, 24]}}, bytes(24)),
    "two tensors are one": packed({"a": ENTRY, "b": ENTRY}),
    "a hole between tensors": packed({"a": ENTRY, "b": ENTRY | {"data_offsets": [20, 36]}}, bytes(36)),
    "a hole before the first": packed({"a": ENTRY | {"data_offsets": [4, 20]}}, bytes(20)),
    "bytes behind the last": packed({"a": ENTRY}, bytes(17)),
    "a name twice": packed(b'{"a": %b, "a": %b}' % (json.dumps(ENTRY).encode(), json.dumps(ENTRY).encode())),
}


def test_an_undamaged_file_of_this_form_is_read(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(packed({"__metadata__": {"format": "pt"}, "a": ENTRY}))
    (place,) = tensor_locations(tmp_path).values()
    assert (place.shape, place.length, place.read().tolist()) == ((2, 2), 16, [[0, 0], [0, 0]])


@pytest.mark.parametrize(("dtype", "items", "size"), [("F4", 6, 3), ("F6_E2M3", 8, 6), ("F6_E3M2", 4, 3), ("F4", 0, 0)])
def test_items_of_less_than_a_byte_fill_whole_bytes(tmp_path, dtype, items, size):
    header = {"a": {"dtype": dtype, "shape": [items], "data_offsets": [0, size]}}
    (tmp_path / "model.safetensors").write_bytes(packed(header, bytes(size)))
    assert [place.length for place in tensor_locations(tmp_path).values()] == [size]


def test_tensors_may_be_listed_in_any_order_and_be_empty(tmp_path):
    header = {"b": ENTRY | {"data_offsets": [16, 32]}, "a": ENTRY}
    header |= {"none": {"dtype": "F32", "shape": [0, 2], "data_offsets": [16, 16]}}
    (tmp_path / "model.safetensors").write_bytes(packed(header, bytes(32)))
    assert {name: place.length for name, place in tensor_locations(tmp_path).items()} == {"a": 16, "b": 16, "none": 0}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_files(tmp_path, content):
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(WeightsError, match=r"model\.safetensors: damaged"):
        tensor_locations(tmp_path)


@pytest.mark.parametrize("share", [0, 0.001, 0.1, 0.5, 0.999])
def test_a_real_file_cut_anywhere(tiny, tmp_path, share):
    directory = shutil.copytree(tiny("bert"), tmp_path / "cut")
    content = (directory / "model.safetensors").read_bytes()
    (directory / "model.safetensors").write_bytes(content[: int(share * len(content))])
    with pytest.raises(WeightsError, match="damaged"):
        open_ort(directory)


@pytest.mark.parametrize("opened", [open_ort, open_torch])
@pytest.mark.parametrize(
    ("present", "said"),
    [([], "no model.safetensors there"), (["pytorch_model.bin"], "pytorch_model.bin, and pickled weights are never")],
)
def test_no_safetensors(tiny, tmp_path, opened, present, said):
    directory = shutil.copytree(tiny("bert"), tmp_path / "empty")
    (directory / "model.safetensors").unlink()
    for name in present:
        (directory / name).write_bytes(b"pickle")
    with pytest.raises(WeightsError, match=said):
        opened(directory)


@pytest.mark.parametrize("index", ["{", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": "gone.safetensors"}}'])
def test_a_broken_index_of_shards(tmp_path, index):
    (tmp_path / "model.safetensors.index.json").write_text(index)
    with pytest.raises(WeightsError, match="index"):
        weight_files(tmp_path)


@pytest.mark.parametrize("family", ["bert", "mpnet", "albert"])
def test_every_missing_tensor_is_named(tiny, tmp_path, family):
    """One at a time; what the graph does not use (the pooler) may be missing."""
    directory = shutil.copytree(tiny(family), tmp_path / "missing")
    tensors = load_file(tiny(family) / "model.safetensors")
    wrong = {}
    for name in tensors:
        save_file({key: value for key, value in tensors.items() if key != name}, directory / "model.safetensors")
        base = name.removesuffix(".weight").removesuffix(".bias")
        try:
            open_ort(directory)
        except WeightsError as error:
            named = base in str(error) and "pooler" not in name
            wrong |= {} if named else {name: str(error)}
        except Exception as error:
            wrong[name] = repr(error)
        else:
            wrong |= {} if "pooler" in name else {name: "loaded"}
    assert wrong == {}


@pytest.mark.parametrize(
    ("family", "changes", "error"),
    [
        ("bert", {"model_type": "t5"}, UnsupportedModelError),
        ("bert", {"model_type": None}, UnsupportedModelError),
        ("bert", {"hidden_act": "silu"}, UnsupportedModelError),
        ("bert", {"position_embedding_type": "relative_key"}, UnsupportedModelError),
        ("bert", {"num_hidden_layers": DEPTH + 1}, WeightsError),
        ("albert", {"inner_group_num": 2}, UnsupportedModelError),
        ("distilbert", {"model_type": "bert"}, EvalignError),
    ],
    ids=str,
)
def test_a_config_that_does_not_fit(tiny, tmp_path, family, changes, error):
    directory = shutil.copytree(tiny(family), tmp_path / "other")
    edit_json(directory / "config.json", **changes)
    with pytest.raises(error):
        open_ort(directory)


@pytest.mark.parametrize(
    ("tensor", "rows"),
    [
        ("embeddings.word_embeddings.weight", 20),  # fewer rows than the tokenizer has ids
        ("encoder.layer.0.attention.self.key.weight", 16),
        ("encoder.layer.1.output.dense.bias", 31),
        ("encoder.layer.2.output.LayerNorm.weight", 8),
    ],
)
def test_a_tensor_of_the_wrong_shape_is_a_model_error(tiny, tmp_path, tensor, rows):
    directory = shutil.copytree(tiny("bert"), tmp_path / "shape")
    tensors = load_file(directory / "model.safetensors")
    tensors[tensor] = tensors[tensor][:rows].clone()
    save_file(tensors, directory / "model.safetensors")
    with pytest.raises(ModelError):
        open_ort(directory).encode(["the river rose"])


def test_heads_that_do_not_divide_the_width_are_a_model_error(tiny, tmp_path):
    directory = shutil.copytree(tiny("bert"), tmp_path / "heads")
    edit_json(directory / "config.json", num_attention_heads=5)
    with pytest.raises(ModelError):
        open_ort(directory).encode(["the river rose"])


@pytest.mark.parametrize("key", ["num_attention_heads", "num_hidden_layers"])
def test_a_config_without_a_needed_key_names_it(tiny, tmp_path, key):
    directory = shutil.copytree(tiny("bert"), tmp_path / "other")
    config = json.loads((directory / "config.json").read_text())
    config.pop(key)
    (directory / "config.json").write_text(json.dumps(config))
    with pytest.raises(UnsupportedModelError, match=key):
        open_ort(directory)


@pytest.mark.parametrize("opened", [open_ort, open_torch])
@pytest.mark.parametrize("layers", [(DEPTH + 1,), (-1,), (0, 99)])
def test_a_layer_the_model_does_not_have(tiny, opened, layers):
    with pytest.raises(LayerError, match=f"layers 0 .* to {DEPTH}"):
        opened(tiny("bert"), layers)


def test_torch_reports_damage_as_a_model_error(tiny, tmp_path):
    directory = shutil.copytree(tiny("bert"), tmp_path / "cut")
    (directory / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(ModelError):
        open_torch(directory)
