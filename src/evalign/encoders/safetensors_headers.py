"""Headers of safetensors files: a model directory in, the location of each tensor's bytes out.

The weights themselves are not read: ONNX Runtime maps them from the file (see graph.py), so there is no second copy.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evalign.core import Floats, Ints
from evalign.errors import WeightsError

HEADER_LIMIT = 100_000_000  # the limit of the safetensors format itself
ITEM_SIZE = (
    dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 1)
    | dict.fromkeys(("I16", "U16", "F16", "BF16"), 2)
    | dict.fromkeys(("I32", "U32", "F32"), 4)
    | dict.fromkeys(("I64", "U64", "F64", "C64"), 8)
)
ITEM_BITS = {dtype: 8 * size for dtype, size in ITEM_SIZE.items()} | {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
MAP_OPTIONS: dict[str, int] = (  # reads all pages at once where the system can: one by one takes twice as long
    {"flags": mmap.MAP_SHARED | mmap.MAP_POPULATE, "prot": mmap.PROT_READ}
    if hasattr(mmap, "MAP_POPULATE")
    else {"access": mmap.ACCESS_READ}
)
FLOATS = {"F64": np.float64, "F32": np.float32, "F16": np.float16}


@dataclass(frozen=True, slots=True)
class TensorLocation:
    """Location of a tensor in a safetensors file: offset and length in bytes from the file's start."""

    file: Path
    dtype: str
    shape: tuple[int, ...]
    offset: int
    length: int

    def raw(self) -> Ints:
        """Read the tensor's bytes."""
        return np.fromfile(self.file, dtype=np.uint8, count=self.length, offset=self.offset)

    def read(self) -> Floats:
        """Read the tensor as float32; only for tensors that a graph must change."""
        if self.dtype == "BF16":
            return (self._mapped().view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(self.shape)
        if self.dtype not in FLOATS:
            raise WeightsError(f"{self.file}: expected a float tensor, found {self.dtype}")
        return self._mapped().view(FLOATS[self.dtype]).astype(np.float32, copy=False).reshape(self.shape)

    def _mapped(self) -> Ints:
        """Map the tensor's bytes read-only: copying them takes twice as long."""
        before = self.offset % mmap.ALLOCATIONGRANULARITY
        size, start = before + self.length, self.offset - before
        with self.file.open("rb") as stream:
            pages = mmap.mmap(stream.fileno(), size, offset=start, **MAP_OPTIONS)
        return np.frombuffer(pages, np.uint8, self.length, before)


def weight_files(directory: Path) -> list[Path]:
    """Return the safetensors files of a model directory: one, or the shards in its index."""
    single = directory / "model.safetensors"
    if single.is_file():
        return [single]
    index = directory / "model.safetensors.index.json"
    if index.is_file():
        present = {path.name for path in directory.iterdir()}
        try:
            names = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
            missing = [name for name in names if name not in present]
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise WeightsError(f"{index}: not a safetensors index ({error})") from error
        if missing or not names:
            raise WeightsError(f"{index}: names {str(missing[:1])[:80]}, which is not in its folder")
        return [directory / name for name in names]
    message = f"{directory}: no model.safetensors there"
    if pickled := sorted(path.name for path in directory.glob("*.bin")):
        message += f"; it holds {pickled[0]}, and pickled weights are never loaded: convert them with "
        message += "safetensors (model.save_pretrained writes it)"
    raise WeightsError(message)


def tensor_locations(directory: Path) -> dict[str, TensorLocation]:
    """Return all tensors of a model directory by name."""
    locations: dict[str, TensorLocation] = {}
    for file in weight_files(directory):
        # The real path: ONNX Runtime refuses external data behind a link that leaves its folder.
        locations.update(file_tensors(file.resolve()))
    return locations


def file_tensors(file: Path) -> dict[str, TensorLocation]:
    """Return all tensors of one safetensors file by name."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        head = stream.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        if not 2 <= length <= min(size - 8, HEADER_LIMIT):
            raise WeightsError(f"{file}: damaged, its header length does not fit the file; get it again")
        raw = stream.read(length)
    try:
        header = json.loads(raw, object_pairs_hook=partial(_distinct, file))
        locations = {
            name: _location(file, entry, 8 + length, size) for name, entry in header.items() if name != "__metadata__"
        }
        _check_layout(file, [*locations.values()], 8 + length, size)
        return locations
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise WeightsError(f"{file}: damaged, its header cannot be read ({error}); get it again") from error


def _distinct(file: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise WeightsError(f"{file}: damaged, its header has the same name twice; get it again")
    return dict(pairs)


def _check_layout(file: Path, locations: list[TensorLocation], data_start: int, size: int) -> None:
    """Raise WeightsError unless every byte belongs to exactly one tensor, as the format demands."""
    stop = data_start
    for tensor in sorted(locations, key=lambda tensor: (tensor.offset, tensor.length)):
        if tensor.offset != stop:
            raise WeightsError(f"{file}: damaged, its tensors overlap or have a hole between them; get it again")
        stop += tensor.length
    if stop != size:
        raise WeightsError(f"{file}: damaged, it has {size - stop} bytes behind its tensors; get it again")


def _location(file: Path, entry: dict[str, Any], data_start: int, size: int) -> TensorLocation:
    start, stop = entry["data_offsets"]
    shape = tuple(entry["shape"])
    bits = ITEM_BITS[entry["dtype"]]
    numbers = [start, stop, *shape]
    # An extent beyond the file is refused before it is multiplied: such products can take minutes.
    if any(type(number) is not int or not 0 <= number <= size for number in numbers):
        raise WeightsError(f"{file}: damaged or cut short, a tensor does not lie within the file; get it again")
    if not start <= stop <= size - data_start:
        raise WeightsError(f"{file}: damaged or cut short, a tensor lies outside the file; get it again")
    if 8 * (stop - start) != bits * math.prod(shape):
        raise WeightsError(f"{file}: damaged, a tensor's size does not fit its shape; get it again")
    return TensorLocation(file, entry["dtype"], shape, data_start + start, stop - start)
