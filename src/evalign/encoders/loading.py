"""From a choice of model, layers and backend to a loaded encoder, shared by all metrics with the same choice."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evalign.encoders.adapter import Adapter, read_adapter
from evalign.encoders.base import BatchingEncoder, Encoder, Reading
from evalign.encoders.families import FAMILIES, depth
from evalign.encoders.layers import parse_layers
from evalign.encoders.locating import Located, locate
from evalign.encoders.model_pool import ModelPool
from evalign.encoders.peer_profile import unweighted_ids
from evalign.encoders.pinned_models import UNTUNED_DEPTH
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.errors import FileFormatError, SpecError

BACKENDS = ("auto", "ort", "torch")
ARITHMETICS = ("fp32", "int8", "bf16", "fp16")
FAKE = "fake"
POOL_SIZE = 3  # loaded models, by choice: other layers are other graphs
EMBEDDINGS, EMBEDDINGS_BYTES = "EVALIGN_EMBEDDINGS", "EVALIGN_EMBEDDINGS_BYTES"
MAX_BYTES = 2 * 2**30

CacheFolder = tuple[Path, int]  # where vectors are cached on disk, and how many bytes of them


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """Everything that decides a token vector, and how many threads compute it."""

    model: str = "minilm"
    layer: str | None = None  # None: the tuned one; "all": every state
    arithmetic: str = "fp32"
    backend: str = "auto"
    device: str = "cpu"
    reading: Reading = field(default_factory=Reading)
    threads: int = 0
    adapter: str = ""  # a folder made by `evalign train --adapter`


_pool: ModelPool[EmbeddingMemory] = ModelPool(POOL_SIZE)


def open_encoder(choice: EncoderChoice) -> EmbeddingMemory:
    """The encoder of a choice with its cache of vectors, from the pool or loaded now.

    Directories are looked at every time: a checkpoint that was written anew is another model.
    """
    folder = _cache_folder()
    if choice.model == FAKE:
        if choice.adapter:
            raise SpecError(f"adapter={choice.adapter[:80]}: {FAKE} has no weights to adapt; name a model")
        return _pool.get((FAKE, choice.layer, folder), lambda: _load_fake(choice.layer, folder))
    located = locate(choice.model)
    adapter = read_adapter(choice.adapter) if choice.adapter else None
    key = (choice, located, located.written(), folder, adapter and adapter.digest)
    return _pool.get(key, lambda: _load(choice, located, folder, adapter))


def keep_encoders(count: int) -> None:
    """Sets how many loaded models stay in this process, which is 3 at first."""
    _pool.resize(count)


def close_encoders() -> None:
    """Drops every loaded model, and frees its memory once no metric's scorer holds it."""
    _pool.clear()


def keep_embeddings(folder: str | os.PathLike[str] | None, max_bytes: int | None = None) -> None:
    """Caches token vectors in a folder from now on, and reads from it those of texts that came before; None: no more.

    At most `max_bytes` (2 GiB) stay there, what was used longest ago goes first. Both are environment variables,
    EVALIGN_EMBEDDINGS and EVALIGN_EMBEDDINGS_BYTES, so that processes started from this one do the same.
    """
    if folder is None:
        os.environ.pop(EMBEDDINGS, None)
        os.environ.pop(EMBEDDINGS_BYTES, None)
        return
    path = Path(folder).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise FileFormatError(f"{path}: embeddings are kept in a folder, and this is a file; give another place")
    if max_bytes is not None and max_bytes < 0:
        raise SpecError(f"max_bytes={max_bytes}: expected a number of bytes from 0")
    os.environ[EMBEDDINGS] = str(path)
    if max_bytes is not None:
        os.environ[EMBEDDINGS_BYTES] = str(max_bytes)


def cache_bytes() -> int:
    """How many bytes of vectors may stay in the folder of `keep_embeddings`."""
    max_bytes = os.environ.get(EMBEDDINGS_BYTES) or str(MAX_BYTES)
    if not max_bytes.isdecimal():
        raise SpecError(f"{EMBEDDINGS_BYTES}={max_bytes}: expected a number of bytes, as in {MAX_BYTES}")
    return int(max_bytes)


def _cache_folder() -> CacheFolder | None:
    """What the environment variables say."""
    folder = os.environ.get(EMBEDDINGS)
    return (Path(folder).expanduser().absolute(), cache_bytes()) if folder else None


def _with_cache(encoder: Encoder, folder: CacheFolder | None, **identity: Any) -> EmbeddingMemory:
    """The encoder with its caches; `identity` is what decides a vector besides what the encoder itself tells."""
    if folder is None:
        return EmbeddingMemory(encoder)
    from evalign.encoders.pack_folder import CachedEncoder, PackFolder

    path, max_bytes = folder
    identity |= {"layers": encoder.layers, "precision": encoder.precision, "tokenizer": encoder.tokenizer_fingerprint}
    return EmbeddingMemory(CachedEncoder(encoder, PackFolder(path, identity, len(encoder.layers), max_bytes)))


def _load_fake(layer: str | None, folder: CacheFolder | None) -> EmbeddingMemory:
    from evalign.encoders.fake import FakeEncoder

    return _with_cache(FakeEncoder(None if layer == "all" else parse_layers(layer or "2")), folder, weights=FAKE)


def _load(
    choice: EncoderChoice, located: Located, folder: CacheFolder | None, adapter: Adapter | None
) -> EmbeddingMemory:
    if adapter is not None:
        adapter.check_base(located)
    config = located.config()
    backend = _backend(choice, str(config.get("model_type")))
    layers = None
    if choice.layer != "all":
        own = adapter.layer if adapter is not None else None
        layers = parse_layers(choice.layer or own or default_layer(located, config))
    options = (located.directory, config, layers, choice.reading, choice.arithmetic, choice.threads, adapter)
    encoder: BatchingEncoder
    if backend == "torch":
        from evalign.encoders.torch_hf import TorchEncoder

        encoder = TorchEncoder(*options, choice.device)
    else:
        from evalign.encoders.ort import OrtEncoder

        encoder = OrtEncoder(*options)
    encoder.name = located.pinned if adapter is None else f"{located.pinned}+{adapter.name}"
    if encoder.reading.profile != "no":
        encoder.special_ids = unweighted_ids(located.directory, encoder.tokenizer)
    return _with_cache(
        encoder,
        folder,
        weights=located.sha256,
        config=hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        backend=backend,
        device=choice.device,
        reading=asdict(encoder.reading),
        **({} if adapter is None else {"adapter": adapter.digest}),
    )


def _backend(choice: EncoderChoice, family: str) -> str:
    light = choice.device == "cpu" and choice.arithmetic in ("fp32", "int8") and family in FAMILIES
    backend = choice.backend if choice.backend != "auto" else ("ort" if light else "torch")
    if backend == "torch" and choice.arithmetic == "int8":
        raise SpecError("arithmetic=int8 runs with backend=ort only; backend=torch has fp32, bf16, fp16")
    if backend == "ort" and (choice.device != "cpu" or choice.arithmetic in ("bf16", "fp16")):
        raise SpecError("backend=ort runs fp32 or int8 on the cpu; for other devices and precisions use backend=torch")
    return backend


def default_layer(located: Located, config: dict[str, object]) -> str:
    """The tuned layer, or three quarters of the depth, where most tuned layers lie; signatures show it."""
    if located.tuned_layer is not None:
        return located.tuned_layer
    layers = depth(config)
    if layers is None:
        raise SpecError(f"no tuned layer is known for {located.label}; give one, as in layer=9")
    return str(round(UNTUNED_DEPTH * layers))
