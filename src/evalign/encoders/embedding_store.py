"""Token vectors on disk: a root folder with one folder per encoder, and in it packs, immutable safetensors files.

A pack has these tensors; their digests are checked before they are used:

    keys     U8  (texts, 32)    sha256 of each text
    digests  U8  (texts, 32)    sha256 of each text's token ids and vectors
    tokens   I64 (texts,)       number of tokens of each text
    content  U8  (1, 32)        sha256 of all vectors, to check a whole file without its texts
    seal     U8  (1, 32)        sha256 of the encoder's key and the four tensors above, which are the index
    vectors  F32 (rows, width)  one row per text, layer and token, in that order

Reading a pack sets its modification time, so the least recently used pack is the one with the oldest time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from evalign.core import Embedded, Floats, Ints, Tokens
from evalign.encoders.base import Encoder
from evalign.encoders.safetensors_headers import TensorLocation, file_tensors
from evalign.errors import EvalignError, FileFormatError
from evalign.io.files import whole_file
from evalign.version import __version__

DIGEST_BYTES = 32
INDEX = ("keys", "digests", "tokens", "content")


@dataclass(frozen=True, eq=False, slots=True)
class StoredText:
    """Data of one text in a pack: vectors are (layers, tokens, width)."""

    key: bytes
    digest: bytes
    vectors: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Pack:
    """Index of a pack, and the location of its vectors."""

    keys: list[bytes]
    digests: Ints
    tokens: Ints
    first: Ints  # row of each text's first vector
    layers: int
    content: bytes
    vectors: TensorLocation

    def intact(self) -> bool:
        """Return whether all vectors are those that were written."""
        return hashlib.sha256(_bytes(self.vectors.raw())).digest() == self.content

    def read(self, stream: BufferedReader, number: int, ids: Ints) -> Floats | None:
        """Return the vectors of one text; None if they are not those written for these token ids."""
        width = self.vectors.shape[1]
        vectors = np.empty((self.layers, int(self.tokens[number]), width), dtype=np.float32)
        stream.seek(self.vectors.offset + int(self.first[number]) * width * vectors.itemsize)
        whole = stream.readinto(_bytes(vectors)) == vectors.nbytes
        return vectors if whole and vectors_digest(ids, vectors) == self.digests[number].tobytes() else None


def text_key(text: str) -> bytes:
    """Return the sha256 of a text; lone surrogates have distinct bytes, so no two texts share a key."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def vectors_digest(ids: Ints, vectors: Floats) -> bytes:
    """Return the sha256 of token ids and vectors: vectors of a text that is tokenised differently do not match."""
    digest = hashlib.sha256(_bytes(ids))
    digest.update(_bytes(vectors))
    return digest.digest()


def write_pack(file: Path, owner: bytes, entries: Sequence[StoredText]) -> None:
    """Write a pack whole or not at all, readable by the user only: vectors can be turned back into words."""
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
    """Return the index of a pack of this encoder; raise WeightsError or FileFormatError if it is damaged."""
    tensors = file_tensors(file)
    try:
        texts = tensors["tokens"].shape[0]
        shapes = {"keys": (texts, DIGEST_BYTES), "digests": (texts, DIGEST_BYTES), "tokens": (texts,)}
        shapes |= {"content": (1, DIGEST_BYTES), "seal": (1, DIGEST_BYTES)}
        types = dict.fromkeys(shapes, np.uint8) | {"tokens": np.int64}
        index = {name: tensors[name].raw().view(types[name]).reshape(shape) for name, shape in shapes.items()}
        vectors = tensors["vectors"]
        rows, _ = vectors.shape
    except (KeyError, IndexError, ValueError) as error:
        raise FileFormatError(f"{file}: not a pack of vectors ({error})") from error
    if index.pop("seal").tobytes() != _seal(owner, index):
        raise FileFormatError(f"{file}: damaged, or another encoder's")
    ends = layers * np.cumsum(index["tokens"])
    if vectors.dtype != "F32" or rows != ends[-1]:
        raise FileFormatError(f"{file}: damaged, the number of vectors does not fit its index")
    keys = [key.tobytes() for key in index["keys"]]
    first, content = ends - layers * index["tokens"], index["content"].tobytes()
    return Pack(keys, index["digests"], index["tokens"], first, layers, content, vectors)


def _seal(owner: bytes, index: dict[str, Any]) -> bytes:
    digest = hashlib.sha256(owner)
    for name in INDEX:
        digest.update(_bytes(index[name]))
    return digest.digest()


def _digests(digests: Sequence[bytes]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, DIGEST_BYTES)


def _bytes(array: npt.NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


STALE_SECONDS = 3600  # writing takes a second: older part files were left by a killed process
FOLDERS, PACKS, PARTS, ENCODER = "embeddings-*", "pack-*.safetensors", ".pack-*.part", "encoder.json"


@dataclass(frozen=True)
class EncoderVectors:
    """Vectors of one encoder in a root folder; `used` is when a pack of it was last written or read."""

    folder: Path
    description: dict[str, Any]
    packs: int
    texts: int
    size: int
    used: float


def stored_vectors(root: Path) -> list[EncoderVectors]:
    """Return the content of a root folder, the most recently used encoder first."""
    stored = []
    for folder in _folders(root):
        owner, description = _owner(folder)
        sizes, texts, used = 0, 0, 0.0
        files = list(_times(folder))
        for _, file in files:
            with suppress(OSError, EvalignError):
                state = file.stat()
                sizes, used = sizes + state.st_size, max(used, state.st_mtime)
                texts += len(read_pack(file, owner, len(description.get("layers", ()))).keys)
        stored.append(EncoderVectors(folder, description, len(files), texts, sizes, used))
    return sorted(stored, key=lambda vectors: -vectors.used)


def damaged_packs(root: Path) -> tuple[list[Path], int]:
    """Read all packs completely; return those that differ from what was written, and the number of packs."""
    damaged, count = [], 0
    for folder in _folders(root):
        owner, description = _owner(folder)
        for _, file in _times(folder):
            count += 1
            try:
                intact = read_pack(file, owner, len(description.get("layers", ()))).intact()
            except FileNotFoundError:
                continue  # another process made room
            except (OSError, EvalignError):
                intact = False
            if not intact:
                damaged.append(file)
    return damaged, count


def clear(root: Path) -> int:
    """Remove all packs, descriptions and empty encoder folders, and no other file; return the number of packs."""
    count = 0
    for folder in _folders(root):
        for pattern in (PACKS, PARTS, ENCODER):
            for file in list(folder.glob(pattern)):
                remove(file)
                count += pattern == PACKS
        with suppress(OSError):
            folder.rmdir()  # stays if it has other files
    return count


def remove_least_recently_used(root: Path, max_bytes: int) -> None:
    """Remove packs of all encoders down to `max_bytes`; a process that reads one can finish reading."""
    sizes = {}
    times = sorted(time_and_pack for folder in root.glob(FOLDERS) for time_and_pack in _times(folder))
    for _, file in times:
        with suppress(OSError):
            sizes[file] = file.stat().st_size
    total = sum(sizes.values())
    for file, size in sizes.items():
        if total <= max_bytes:
            break
        remove(file)
        total -= size
    for file in root.glob(f"{FOLDERS}/{PARTS}"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > STALE_SECONDS:
                remove(file)


def remove(file: Path) -> None:
    """Remove a file, unless it is missing or cannot be removed."""
    with suppress(OSError):
        os.unlink(file)


def _folders(root: Path) -> list[Path]:
    if not root.is_dir():
        raise FileFormatError(f"{root}: no folder of embeddings; scoring with `embeddings=DIR` creates one")
    return sorted(folder for folder in root.glob(FOLDERS) if folder.is_dir())


def _times(folder: Path) -> Iterator[tuple[tuple[int, str], Path]]:
    """Yield ((time of the last use, name), pack)."""
    for file in folder.glob(PACKS):
        with suppress(OSError):
            yield (file.stat().st_mtime_ns, file.name), file


def _owner(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the key and the description of a folder's encoder; empty if there is none that fits."""
    try:
        content = (folder / ENCODER).read_bytes()
        owner, description = hashlib.sha256(content).digest(), json.loads(content)
    except (OSError, ValueError):
        return b"", {}
    fits = folder.name == FOLDERS.replace("*", owner.hex()[:40]) and isinstance(description, dict)
    return (owner, description) if fits else (b"", {})


FORMAT = 2
PACK_BYTES = 16 * 2**20
MIN_PACK_BYTES = 2**20  # fewer are buffered: a pack per pair would be a million files
MARK_SECONDS = 60  # minimum time between two updates of a pack's time of use

log = logging.getLogger(__name__)


class PackFolder:
    """Packs of one encoder. Threads and processes may share the folder: each process writes packs without waiting."""

    def __init__(self, root: Path, identity: Mapping[str, Any], layers: int, max_bytes: int) -> None:
        self._description = json.dumps({"format": FORMAT, "evalign": __version__, **identity}, sort_keys=True).encode()
        self._owner = hashlib.sha256(self._description).digest()
        self._root, self._folder = root, root / FOLDERS.replace("*", self._owner.hex()[:40])
        self._layers, self._max_bytes = layers, max_bytes
        self._lock = RLock()
        self._locations: dict[bytes, tuple[Pack, int]] = {}  # text key -> the pack, and the text's number in it
        self._packs: dict[str, Pack | None] = {}  # by name; None for one that cannot be read
        self._listed = -1  # the time of the folder's last change when it was listed
        self._buffered: dict[bytes, StoredText] = {}
        self._buffered_bytes = 0
        self._writing = True
        self._warned: set[str] = set()
        self._marked: dict[Path, float] = {}  # pack -> when it was last marked as used

    def read(self, texts: Iterable[str], tokenize: Callable[[Sequence[str]], list[Tokens]]) -> dict[str, Embedded]:
        """Return the vectors of those texts that are stored and intact; only these texts are tokenised."""
        keys = {text: text_key(text) for text in texts}
        with self._lock:
            self._list()
            buffered = {text: self._buffered[key] for text, key in keys.items() if key in self._buffered}
            locations = {text: self._locations[key] for text, key in keys.items() if key in self._locations}
        embedded: dict[str, Embedded] = {}
        by_pack: dict[Pack, dict[int, Tokens]] = {}
        for tokens in tokenize(list(locations | buffered)):
            if tokens.text in buffered:
                embedded[tokens.text] = Embedded(tokens, buffered[tokens.text].vectors)
            else:
                pack, number = locations[tokens.text]
                by_pack.setdefault(pack, {})[number] = tokens
        for pack, numbered in by_pack.items():
            embedded.update(self._read_pack(pack, numbered))
        return embedded

    def add(self, computed: Iterable[Embedded]) -> None:
        """Buffer vectors, and write them once there are enough, see `flush`."""
        with self._lock:
            for embedded in computed:
                size = embedded.vectors.nbytes
                if not self._writing or size > self._max_bytes:
                    continue
                key = text_key(embedded.tokens.text)
                self._buffered[key] = StoredText(
                    key, vectors_digest(embedded.tokens.ids, embedded.vectors), embedded.vectors
                )
                self._buffered_bytes += size
                if self._buffered_bytes >= PACK_BYTES:
                    self.flush()
            if self._buffered_bytes >= MIN_PACK_BYTES:
                self.flush()

    def flush(self) -> None:
        """Write a pack of all buffered vectors."""
        with self._lock:
            entries = list(self._buffered.values())
            self._buffered, self._buffered_bytes = {}, 0
            if not entries or not self._writing:
                return
            file = self._folder / PACKS.replace("*", f"{time.time_ns():020d}-{os.urandom(4).hex()}")
            try:
                self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._folder.mkdir(mode=0o700, exist_ok=True)
                write_pack(file, self._owner, entries)
                self._describe()
            except (EvalignError, OSError) as error:
                self._writing = False
                self._warn("unwritable", f"{self._folder}: vectors are not stored, it cannot be written to ({error})")
                return
            self._index(file.name)
            with suppress(OSError):
                remove_least_recently_used(self._root, self._max_bytes)

    def _describe(self) -> None:
        """Write the description of the encoder."""
        file = self._folder / ENCODER
        if not file.exists() or file.read_bytes() != self._description:
            with whole_file(file, binary=True) as stream:
                stream.write(self._description)

    def _list(self) -> None:
        """Index new packs of all processes, and drop removed ones; of several packs with a text the newest is used."""
        try:
            changed = self._folder.stat().st_mtime_ns
            if changed == self._listed:
                return
            self._listed = changed
            names = {file.name for file in self._folder.glob(PACKS)}
        except OSError:
            return  # nothing was written yet
        removed = [pack for name in self._packs.keys() - names if (pack := self._packs.pop(name)) is not None]
        for key in {key for pack in removed for key in pack.keys}:
            if key in self._locations and self._locations[key][0] in removed:  # not in a newer one
                del self._locations[key]
        for name in sorted(names - self._packs.keys()):
            self._index(name)

    def _index(self, name: str) -> None:
        self._packs[name] = None
        file = self._folder / name
        try:
            pack = read_pack(file, self._owner, self._layers)
        except FileNotFoundError:
            return  # removed as the least recently used
        except OSError as error:
            self._warn("unreadable", f"{file}: cannot be read ({error}); its texts are encoded again")
        except EvalignError:
            self._warn("unreadable", f"{file}: damaged; it is removed, and its texts are encoded again")
            remove(file)
        else:
            self._packs[name] = pack
            self._locations.update((key, (pack, number)) for number, key in enumerate(pack.keys))

    def _read_pack(self, pack: Pack, numbered: Mapping[int, Tokens]) -> dict[str, Embedded]:
        embedded: dict[str, Embedded] = {}
        file = pack.vectors.file
        try:
            with file.open("rb") as stream:
                for number, tokens in sorted(numbered.items()):
                    vectors = pack.read(stream, number, tokens.ids)
                    if vectors is not None:
                        embedded[tokens.text] = Embedded(tokens, vectors)
            self._mark_used(file)
            if len(embedded) < len(numbered):
                self._warn("unreadable", f"{file}: damaged; its missing texts are encoded again")
        except FileNotFoundError:
            pass  # removed as the least recently used, by this process or another
        except OSError as error:
            self._warn("unreadable", f"{file}: cannot be read ({error}); its texts are encoded again")
        return embedded

    def _warn(self, topic: str, message: str) -> None:
        if topic not in self._warned:
            self._warned.add(topic)
            log.warning("evalign: %s", message)

    def _mark_used(self, file: Path) -> None:
        now = time.monotonic()
        if now - self._marked.get(file, -MARK_SECONDS) >= MARK_SECONDS:
            self._marked[file] = now
            with suppress(OSError):  # read-only folder
                os.utime(file)


_cached_encoders: WeakSet[CachedEncoder] = WeakSet()


def flush_vectors() -> None:
    """Write the buffered vectors of every encoder; call it before the process may be killed."""
    for encoder in list(_cached_encoders):
        encoder.folder.flush()


class CachedEncoder:
    """An encoder with a folder of vectors; everything else comes from the encoder inside."""

    def __init__(self, encoder: Encoder, folder: PackFolder) -> None:
        self.encoder = encoder
        self.folder = folder
        self.name, self.precision, self.layers = encoder.name, encoder.precision, encoder.layers
        self.tokenizer_fingerprint, self.special_ids = encoder.tokenizer_fingerprint, encoder.special_ids
        self.tokenize, self.settle = encoder.tokenize, encoder.settle
        _cached_encoders.add(self)
        weakref.finalize(self, folder.flush)  # when the model pool drops it, or at the end of the process

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Return the vectors of each text, read or computed; with `pad_to` the folder is not used."""
        if pad_to is not None:
            return self.encoder.encode(texts, pad_to)
        distinct = list(dict.fromkeys(texts))
        embedded = self.folder.read(distinct, self.tokenize)
        if missing := [text for text in distinct if text not in embedded]:
            computed = self.encoder.encode(missing)
            self.folder.add(computed)
            embedded.update(zip(missing, computed, strict=True))
        return [embedded[text] for text in texts]
