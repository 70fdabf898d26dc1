"""Safetensors files and their indexes."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fuzzing import NESTED, any_text, dumped, fuzz, json_values, little_memory, mutated, numbers, value_or_sentence
from hypothesis import given
from hypothesis import strategies as st

from evalign.encoders.safetensors_headers import ITEM_SIZE, tensor_locations
from evalign.errors import WeightsError

pytestmark = pytest.mark.slow


def write_weights(directory: Path, header: str | bytes, data: bytes = b"\x00" * 16, length: int | None = None) -> None:
    raw = header.encode("utf-8", "surrogatepass") if isinstance(header, str) else header
    (directory / "model.safetensors").write_bytes(
        struct.pack("<Q", len(raw) if length is None else length) + raw + data
    )


def places_or_typed_error(directory: Path) -> None:
    """Whatever the header says, what comes back lies inside the file and can be read."""
    with little_memory():
        try:
            places = tensor_locations(directory)
        except WeightsError:
            return
        size = (directory / "model.safetensors").stat().st_size
        for place in places.values():
            assert type(place.offset) is int
            assert type(place.length) is int
            assert 0 <= place.offset <= place.offset + place.length <= size
            assert all(type(extent) is int and extent >= 0 for extent in place.shape)
            assert math.prod(place.shape) * ITEM_SIZE[place.dtype] == place.length
            with suppress(WeightsError):
                place.read()


def entry(shape: str = "[4]", offsets: str = "[0, 16]", dtype: str = '"F32"') -> str:
    return f'{{"w": {{"dtype": {dtype}, "shape": {shape}, "data_offsets": {offsets}}}}}'


HEADERS = {
    "good": entry(),
    "nested": NESTED,
    "nested in a tensor": f'{{"w": {NESTED}',
    "infinite extent": entry(shape="[1e999]"),
    "NaN extent": entry(shape="[NaN]"),
    "negative extents": entry(shape="[-2, -2]"),
    "fractional extent": entry(shape="[4.5]"),
    "extents in a string": entry(shape='"4"'),
    "huge extents": entry(shape="[4294967296, 4294967296]"),
    "huge and none": entry(shape="[0, 9223372036854775807, 9223372036854775807]", offsets="[0, 0]"),
    "number with 5000 digits": entry(shape=f"[{'9' * 5000}]"),
    "fractional offsets": entry(offsets="[0.0, 16.0]"),
    "offsets are truth values": entry(shape="[1]", offsets="[false, true]", dtype='"U8"'),
    "offsets past 2**64": entry(offsets=f"[{2**64}, {2**64 + 16}]"),
    "three offsets": entry(offsets="[0, 8, 16]"),
    "dtype is a list": entry(dtype="[1]"),
    "unknown dtype": entry(dtype='"F8_E5M2"'),
    "a list": "[]",
    "a number": "12",
    "not UTF-8": b"\xff\xfe\x00\x00",
    "lone surrogate": '{"\\ud800": 1}',
    "scalar": entry(shape="[]", offsets="[0, 4]"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_hostile_headers(tmp_path: Path, name: str) -> None:
    write_weights(tmp_path, HEADERS[name])
    places_or_typed_error(tmp_path)


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**31, 2**63, 2**64 - 1])
def test_header_lengths(tmp_path: Path, length: int) -> None:
    write_weights(tmp_path, entry(), length=length)
    with little_memory(), pytest.raises(WeightsError):
        tensor_locations(tmp_path)


def test_a_shape_cannot_keep_the_reader_busy(tmp_path: Path) -> None:
    write_weights(tmp_path, entry(shape=f"[{', '.join(['9' * 4000] * 3000)}]"))  # 12 MB
    code = (
        "import sys, pathlib; from evalign.encoders.safetensors_headers import tensor_locations as places;"
        "places(pathlib.Path(sys.argv[1]))"
    )
    # One second; six minutes if the numbers are multiplied.
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=120, capture_output=True, text=True)
    assert "WeightsError" in done.stderr


@fuzz
@given(st.binary(max_size=200))
def test_random_files(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(raw)
    places_or_typed_error(tmp_path)


near_entries = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.one_of(st.sampled_from(sorted(ITEM_SIZE)), json_values),
        "shape": st.one_of(st.lists(numbers, max_size=4), json_values),
        "data_offsets": st.one_of(st.tuples(numbers, numbers), st.just([0, 16]), json_values),
    },
)


@fuzz
@given(st.one_of(json_values, st.dictionaries(any_text, near_entries, max_size=3)))
def test_random_headers(tmp_path: Path, header: Any) -> None:
    write_weights(tmp_path, json.dumps(header))
    places_or_typed_error(tmp_path)


INDEXES = {
    "a list": "[]",
    "null": "null",
    "map is a list": '{"weight_map": []}',
    "numbers": '{"weight_map": {"w": 1}}',
    "mixed": '{"weight_map": {"w": 1, "v": "a"}}',
    "lists": '{"weight_map": {"w": []}}',
    "NUL": '{"weight_map": {"w": "a\\u0000"}}',
    "lone surrogate": '{"weight_map": {"w": "\\ud800"}}',
    "the folder itself": '{"weight_map": {"w": "."}}',
    "long name": json.dumps({"weight_map": {"w": "x" * 300}}),
    "nested": NESTED,
}


@pytest.mark.parametrize("name", INDEXES)
def test_hostile_indexes(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(INDEXES[name], "utf-8")
    with pytest.raises(WeightsError):
        tensor_locations(tmp_path)


near_indexes = st.one_of(
    json_values,
    st.fixed_dictionaries(
        {},
        optional={
            "weight_map": st.one_of(
                json_values,
                st.dictionaries(any_text, st.one_of(any_text, st.sampled_from(["a.safetensors", ".", "..", "/"]))),
            ),
            "metadata": json_values,
        },
    ),
    mutated({"metadata": {"total_size": 16}, "weight_map": {"w": "a.safetensors", "v": "b.safetensors"}}),
)


@fuzz
@given(near_indexes)
def test_random_indexes(tmp_path: Path, index: Any) -> None:
    for name in ("a", "b"):
        write_weights(tmp_path, f'{{"{name}": {entry()[6:]}')
        (tmp_path / "model.safetensors").rename(tmp_path / f"{name}.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(dumped(index), "utf-8")
    with little_memory():
        places = value_or_sentence(lambda: tensor_locations(tmp_path))
    assert places is None or {place.file.parent for place in places.values()} <= {tmp_path.resolve()}


@fuzz
@given(st.lists(st.text("abc.-_", min_size=1, max_size=8).map("{}x.safetensors".format), min_size=1, unique=True))
def test_good_indexes_are_read(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    folder = tmp_path_factory.mktemp("shards")
    for number, name in enumerate(names):
        write_weights(folder, f'{{"w{number}": {entry()[6:]}')
        (folder / "model.safetensors").rename(folder / name)
    index = {"weight_map": {f"w{number}": name for number, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    places = tensor_locations(folder)
    assert {tensor: place.file.name for tensor, place in places.items()} == index["weight_map"]
    (folder / names[0]).unlink()
    with pytest.raises(WeightsError):
        tensor_locations(folder)


tensors = st.dictionaries(
    st.from_regex(r"[a-z]{1,6}(\.weight)?", fullmatch=True),
    st.tuples(st.sampled_from(["F32", "F16", "BF16", "I64", "U8"]), st.lists(st.integers(0, 4), max_size=3)),
    max_size=5,
)


@fuzz
@given(tensors, st.dictionaries(any_text.filter(str.isalpha), st.text(max_size=5), max_size=2), st.integers(0, 7))
def test_good_headers_are_read(
    tmp_path: Path, drawn: dict[str, tuple[str, list[int]]], metadata: dict[str, str], padding: int
) -> None:
    """Tensors one after the other in any order of dtypes and shapes, with metadata, and spaces after the header."""
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    size = 0
    for name, (dtype, shape) in drawn.items():
        start, size = size, size + ITEM_SIZE[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, size]}
    write_weights(tmp_path, json.dumps(header) + " " * padding, bytes(size))
    places = tensor_locations(tmp_path)
    assert {name: (place.dtype, list(place.shape)) for name, place in places.items()} == drawn
    write_weights(tmp_path, json.dumps(header) + " " * padding, bytes(size + 1))
    with pytest.raises(WeightsError):
        tensor_locations(tmp_path)
