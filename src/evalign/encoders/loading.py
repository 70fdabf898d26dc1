"""Loading of encoders: model, layers and backend in, a loaded encoder with its cache of vectors out.

Metrics with the same choice share an encoder. The cache holds vectors of references in memory, so that only the next
system's candidates are encoded.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from evalign.core import Embedded
from evalign.core.installed import DECIDING_IF_INSTALLED, processor, version_of
from evalign.encoders.adapter import Adapter, read_adapter
from evalign.encoders.base import BatchingEncoder, EncodeOptions, Encoder
from evalign.encoders.families import FAMILIES, depth
from evalign.encoders.tokenizer import unweighted_ids
from evalign.encoders.weights import UNTUNED_DEPTH, Located, locate
from evalign.errors import FileFormatError, LayerError, SpecError

MEMORY_CACHE_BYTES = 256 * 2**20
MAX_TEXTS = 16_384  # small vectors need memory for Python objects, which MEMORY_CACHE_BYTES does not count
MAX_SEEN_TEXTS = 8_192
_memories: WeakSet[EmbeddingMemory] = WeakSet()


def clear_vector_caches() -> None:
    """Empty every cache, so that batches do not depend on earlier texts."""
    for memory in list(_memories):
        memory.clear()


class EmbeddingMemory:
    """An encoder with a bounded cache of vectors; the least recently used texts are dropped first. Thread-safe."""

    def __init__(self, encoder: Encoder, max_bytes: int = MEMORY_CACHE_BYTES) -> None:
        self.encoder = encoder
        self.max_bytes = max_bytes
        self._lock = Lock()
        self._cache: OrderedDict[str, Embedded] = OrderedDict()
        self._seen: OrderedDict[int, None] = OrderedDict()  # hashes of texts that were encoded once
        self._bytes = 0
        _memories.add(self)

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._cache.clear()
            self._seen.clear()
            self._bytes = 0

    def encode(self, texts: Iterable[str], keep: Collection[str] = (), at_once: bool = True) -> dict[str, Embedded]:
        """Return the vectors of texts.

        Args:
            texts: Texts, repeated ones are encoded once.
            keep: Texts whose vectors are cached.
            at_once: False caches them only when they come a second time, for long streams: their texts rarely return,
                and their memory should not grow.
        """
        distinct = list(dict.fromkeys(texts))
        with self._lock:
            embedded = {text: self._cache[text] for text in distinct if text in self._cache}
        missing = [text for text in distinct if text not in embedded]
        embedded.update(zip(missing, self.encoder.encode(missing), strict=True))
        with self._lock:
            for text in keep:
                if at_once or text in self._cache or self._seen_before(text):
                    self._add(text, embedded[text])
        return embedded

    def _seen_before(self, text: str) -> bool:
        key = hash(text)
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > MAX_SEEN_TEXTS:
            self._seen.popitem(last=False)
        return False

    def _add(self, text: str, embedded: Embedded) -> None:
        if text not in self._cache:
            self._bytes += embedded.vectors.nbytes
        self._cache[text] = embedded
        self._cache.move_to_end(text)
        while self._cache and (self._bytes > self.max_bytes or len(self._cache) > MAX_TEXTS):
            _, dropped = self._cache.popitem(last=False)
            self._bytes -= dropped.vectors.nbytes


Model = TypeVar("Model")


class ModelPool(Generic[Model]):
    """At most `size` models by key; the least recently used is dropped first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._models: OrderedDict[Hashable, Model] = OrderedDict()
        self._lock = Lock()  # for the table: a loaded model is returned at once, even while another is loading
        self._loading = Lock()  # one load at a time: two need the memory of both

    def get(self, key: Hashable, load: Callable[[], Model]) -> Model:
        """Return the model of a key, loaded now if it is missing."""
        model = self._get(key)
        if model is not None:
            return model
        with self._loading:
            model = self._get(key)  # another thread may have loaded it while this one waited
            if model is None:
                model = load()
                with self._lock:
                    self._models[key] = model
                    self._drop_oldest()
            return model

    def resize(self, size: int) -> None:
        """Set the maximum number of models."""
        with self._lock:
            self._size = size
            self._drop_oldest()

    def clear(self) -> None:
        """Drop all models."""
        with self._lock:
            self._models.clear()

    def __len__(self) -> int:
        return len(self._models)

    def _get(self, key: Hashable) -> Model | None:
        with self._lock:
            if key in self._models:
                self._models.move_to_end(key)
            return self._models.get(key)

    def _drop_oldest(self) -> None:
        while len(self._models) > self._size:
            self._models.popitem(last=False)


LAST_LAYER = 1_000_000  # placeholder until the depth is known; `parse_layers` cannot return this number


def parse_layers(choice: int | str) -> tuple[int, ...]:
    """Parse `4` -> (4,), `"4+6"` -> (4, 6), `"last"`; `check_layers` checks whether the model has them."""
    text = str(choice)
    if text == "last":
        return (LAST_LAYER,)
    if not re.fullmatch(r"\d{1,4}(\+\d{1,4})*", text):
        raise LayerError(f"layer={text[:40]}: expected a layer number from 0 up, or several as in 4+6")
    layers = tuple(int(part) for part in text.split("+"))
    if len(set(layers)) != len(layers):
        raise LayerError(f"layer={text}: each layer may be named once")
    return layers


def check_layers(layers: tuple[int, ...] | None, depth: int) -> tuple[int, ...]:
    """Return the layers, or all of them for None; raise LayerError for a layer that the model does not have."""
    if layers is None:
        return tuple(range(depth + 1))
    layers = tuple(depth if layer == LAST_LAYER else layer for layer in layers)
    for layer in layers:
        if not 0 <= layer <= depth:
            raise LayerError(f"layer={layer}: this model has layers 0 (the embeddings) to {depth}")
    return layers


BACKENDS = ("auto", "ort", "torch")
ARITHMETICS = ("fp32", "int8", "bf16", "fp16")
FAKE = "fake"
POOL_SIZE = 3  # loaded models, by choice: other layers are other graphs
EMBEDDINGS, EMBEDDINGS_BYTES = "EVALIGN_EMBEDDINGS", "EVALIGN_EMBEDDINGS_BYTES"
DISK_CACHE_BYTES = 2 * 2**30

CacheFolder = tuple[Path, int]  # where vectors are cached on disk, and how many bytes of them


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """Options that decide a token vector, and the number of threads."""

    model: str = "minilm"
    layer: str | None = None  # None: the tuned layer; "all": all states
    arithmetic: str = "fp32"
    backend: str = "auto"
    device: str = "cpu"
    reading: EncodeOptions = field(default_factory=EncodeOptions)
    threads: int = 0
    adapter: str = ""  # folder from `evalign train adapter`


_pool: ModelPool[EmbeddingMemory] = ModelPool(POOL_SIZE)


def open_encoder(choice: EncoderSpec) -> EmbeddingMemory:
    """Return the encoder of a choice with its cache of vectors, from the pool or loaded now.

    Directories are checked every time: a rewritten checkpoint is another model.
    """
    folder = _cache_folder()
    if choice.model == FAKE:
        if choice.adapter:
            raise SpecError(f"adapter={choice.adapter[:80]}: {FAKE} has no weights to adapt; name a model")
        return _pool.get((FAKE, choice.layer, folder), lambda: _load_fake(choice.layer, folder))
    located = locate(choice.model)
    adapter = read_adapter(choice.adapter) if choice.adapter else None
    key = (choice, located, folder, adapter and adapter.digest)
    return _pool.get(key, lambda: _load(choice, located, folder, adapter))


def encoder_content(choice: EncoderSpec) -> dict[str, str]:
    """Return digests of the model and the adapter, and what else decides vectors here; nothing is loaded."""
    content = {"processor": processor()}
    if choice.model == FAKE:
        return content
    located = locate(choice.model)
    name = _encoder_name(located, read_adapter(choice.adapter) if choice.adapter else None)
    if _backend(choice, str(located.config().get("model_type"))) == "torch":
        content |= {library: str(version_of(library)) for library in DECIDING_IF_INSTALLED}
    return content | {"model": name}


def _encoder_name(located: Located, adapter: Adapter | None) -> str:
    return located.pinned if adapter is None else f"{located.pinned}+{adapter.name}"


def keep_encoders(count: int) -> None:
    """Set the maximum number of loaded models in this process; the default is 3."""
    _pool.resize(count)


def close_encoders() -> None:
    """Drop every loaded model, and free its memory once no scorer holds it."""
    _pool.clear()


def keep_embeddings(folder: str | os.PathLike[str] | None, max_bytes: int | None = None) -> None:
    """Cache token vectors in a folder from now on, and reuse those of known texts.

    The settings are environment variables, EVALIGN_EMBEDDINGS and EVALIGN_EMBEDDINGS_BYTES, so that child processes
    use the same folder.

    Args:
        folder: Folder of the cache; None turns it off.
        max_bytes: Maximum size (2 GiB); the least recently used vectors are removed first.
    """
    if folder is None:
        os.environ.pop(EMBEDDINGS, None)
        os.environ.pop(EMBEDDINGS_BYTES, None)
        return
    path = Path(folder).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise FileFormatError(f"{path}: embeddings need a folder, and this is a file; give another path")
    if max_bytes is not None and max_bytes < 0:
        raise SpecError(f"max_bytes={max_bytes}: expected a number of bytes from 0")
    os.environ[EMBEDDINGS] = str(path)
    if max_bytes is not None:
        os.environ[EMBEDDINGS_BYTES] = str(max_bytes)


def cache_bytes() -> int:
    """Return the maximum size of the folder of `keep_embeddings`."""
    max_bytes = os.environ.get(EMBEDDINGS_BYTES) or str(DISK_CACHE_BYTES)
    if not max_bytes.isdecimal():
        raise SpecError(f"{EMBEDDINGS_BYTES}={max_bytes}: expected a number of bytes, as in {DISK_CACHE_BYTES}")
    return int(max_bytes)


def _cache_folder() -> CacheFolder | None:
    """Return the folder and size that the environment variables set."""
    folder = os.environ.get(EMBEDDINGS)
    return (Path(folder).expanduser().absolute(), cache_bytes()) if folder else None


def _with_cache(encoder: Encoder, folder: CacheFolder | None, **identity: Any) -> EmbeddingMemory:
    """Return the encoder with its caches; `identity` holds the settings that decide vectors besides the encoder's."""
    if folder is None:
        return EmbeddingMemory(encoder)
    from evalign.encoders.embedding_store import CachedEncoder, PackFolder

    path, max_bytes = folder
    identity |= {"layers": encoder.layers, "precision": encoder.precision, "tokenizer": encoder.tokenizer_fingerprint}
    return EmbeddingMemory(CachedEncoder(encoder, PackFolder(path, identity, len(encoder.layers), max_bytes)))


def _load_fake(layer: str | None, folder: CacheFolder | None) -> EmbeddingMemory:
    from evalign.encoders.fake import FakeEncoder

    return _with_cache(FakeEncoder(None if layer == "all" else parse_layers(layer or "2")), folder, model=FAKE)


def _load(
    choice: EncoderSpec, located: Located, folder: CacheFolder | None, adapter: Adapter | None
) -> EmbeddingMemory:
    if adapter is not None:
        adapter.check_base(located)
    config = located.config()
    backend = _backend(choice, str(config.get("model_type")))
    layers = None
    if choice.layer != "all":
        adapter_layer = adapter.layer if adapter is not None else None
        layers = parse_layers(choice.layer or adapter_layer or default_layer(located, config))
    options = (located.directory, config, layers, choice.reading, choice.arithmetic, choice.threads, adapter)
    encoder: BatchingEncoder
    if backend == "torch":
        from evalign.encoders.torch_hf import TorchEncoder

        encoder = TorchEncoder(*options, choice.device)
    else:
        from evalign.encoders.ort import OrtEncoder

        encoder = OrtEncoder(*options)
    encoder.name = _encoder_name(located, adapter)
    if encoder.reading.profile != "no":
        encoder.special_ids = unweighted_ids(located.directory, encoder.tokenizer)
    return _with_cache(
        encoder,
        folder,
        model=located.digest,
        backend=backend,
        device=choice.device,
        reading=asdict(encoder.reading),
        **({} if adapter is None else {"adapter": adapter.digest}),
    )


def _backend(choice: EncoderSpec, family: str) -> str:
    light = choice.device == "cpu" and choice.arithmetic in ("fp32", "int8") and family in FAMILIES
    backend = choice.backend if choice.backend != "auto" else ("ort" if light else "torch")
    if backend == "torch" and choice.arithmetic == "int8":
        raise SpecError("arithmetic=int8 runs with backend=ort only; backend=torch has fp32, bf16, fp16")
    if backend == "ort" and (choice.device != "cpu" or choice.arithmetic in ("bf16", "fp16")):
        raise SpecError("backend=ort runs fp32 or int8 on the cpu; for other devices and precisions use backend=torch")
    return backend


def default_layer(located: Located, config: dict[str, object]) -> str:
    """Return the tuned layer, or three quarters of the depth, where most tuned layers are; signatures show it."""
    if located.tuned_layer is not None:
        return located.tuned_layer
    layers = depth(config)
    if layers is None:
        raise SpecError(f"no tuned layer is known for {located.label}; give one, as in layer=9")
    return str(round(UNTUNED_DEPTH * layers))
