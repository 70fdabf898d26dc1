"""One immutable file of token vectors, in safetensors format; what it holds is checked by digest before it is used.

keys     U8  (texts, 32)    sha256 of each text
digests  U8  (texts, 32)    sha256 of each text's token ids and vectors
tokens   I64 (texts,)       how many tokens each text has
content  U8  (1, 32)        sha256 of all vectors: what a check of the whole file compares, which has no texts
seal     U8  (1, 32)        sha256 of the owner's key and the four above: the index, all that is read at first
vectors  F32 (rows, width)  text after text, in each layer after layer, in each token after token
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from evalign.atomic_files import whole_file
from evalign.encoders.safetensors_headers import TensorPlace, file_tensors
from evalign.errors import FileFormatError
from evalign.types import Floats, Ints

DIGEST = 32
INDEX = ("keys", "digests", "tokens", "content")


@dataclass(frozen=True, eq=False, slots=True)
class Entry:
    """What a pack holds of one text: vectors are (layers, tokens, width)."""

    key: bytes
    digest: bytes
    vectors: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Pack:
    """The index of a pack, and where its vectors lie."""

    keys: list[bytes]
    digests: Ints
    tokens: Ints
    first: Ints  # row of each text's first vector
    layers: int
    content: bytes
    vectors: TensorPlace

    def intact(self) -> bool:
        """Whether all vectors are those that were written."""
        return hashlib.sha256(_bytes(self.vectors.raw())).digest() == self.content

    def read(self, stream: BufferedReader, number: int, ids: Ints) -> Floats | None:
        """The vectors of one text; None if they are not those written for these token ids."""
        width = self.vectors.shape[1]
        vectors = np.empty((self.layers, int(self.tokens[number]), width), dtype=np.float32)
        stream.seek(self.vectors.offset + int(self.first[number]) * width * vectors.itemsize)
        whole = stream.readinto(_bytes(vectors)) == vectors.nbytes
        return vectors if whole and vectors_digest(ids, vectors) == self.digests[number].tobytes() else None


def text_key(text: str) -> bytes:
    """The sha256 of a text; lone surrogates have their own bytes, so no two texts share any."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def vectors_digest(ids: Ints, vectors: Floats) -> bytes:
    """The sha256 of token ids and vectors: were a text ever cut into other tokens, its old vectors would not fit."""
    digest = hashlib.sha256(_bytes(ids))
    digest.update(_bytes(vectors))
    return digest.digest()


def write_pack(file: Path, owner: bytes, entries: Sequence[Entry]) -> None:
    """Writes a pack whole or not at all, readable by the user only: vectors can be turned back into words."""
    width = entries[0].vectors.shape[-1]
    index: dict[str, npt.NDArray[Any]] = {
        "keys": _digests([entry.key for entry in entries]),
        "digests": _digests([entry.digest for entry in entries]),
        "tokens": np.array([entry.vectors.shape[1] for entry in entries], dtype=np.int64),
    }
    vectors = np.concatenate([entry.vectors.reshape(-1, width) for entry in entries])
    index["content"] = _digests([hashlib.sha256(_bytes(vectors)).digest()])
    with whole_file(file, binary=True) as stream:
        os.chmod(stream.name, 0o600)
        stream.write(save({**index, "seal": _digests([_seal(owner, index)]), "vectors": vectors}))


def read_pack(file: Path, owner: bytes, layers: int) -> Pack:
    """The index of a pack of this owner; WeightsError or FileFormatError if it is damaged."""
    places = file_tensors(file)
    try:
        texts = places["tokens"].shape[0]
        shapes = {"keys": (texts, DIGEST), "digests": (texts, DIGEST), "tokens": (texts,)}
        shapes |= {"content": (1, DIGEST), "seal": (1, DIGEST)}
        kinds = dict.fromkeys(shapes, np.uint8) | {"tokens": np.int64}
        index = {name: places[name].raw().view(kinds[name]).reshape(shape) for name, shape in shapes.items()}
        vectors = places["vectors"]
        rows, _ = vectors.shape
    except (KeyError, IndexError, ValueError) as error:
        raise FileFormatError(f"{file}: not a pack of vectors ({error})") from error
    if index.pop("seal").tobytes() != _seal(owner, index):
        raise FileFormatError(f"{file}: damaged, or another encoder's")
    ends = layers * np.cumsum(index["tokens"])
    if vectors.dtype != "F32" or rows != ends[-1]:
        raise FileFormatError(f"{file}: damaged, its vectors are not as many as its index says")
    keys = [key.tobytes() for key in index["keys"]]
    first, content = ends - layers * index["tokens"], index["content"].tobytes()
    return Pack(keys, index["digests"], index["tokens"], first, layers, content, vectors)


def _seal(owner: bytes, index: dict[str, Any]) -> bytes:
    digest = hashlib.sha256(owner)
    for name in INDEX:
        digest.update(_bytes(index[name]))
    return digest.digest()


def _digests(digests: Sequence[bytes]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, DIGEST)


def _bytes(array: npt.NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
