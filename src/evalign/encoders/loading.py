"""From a choice of model, layers and backend to a loaded encoder, shared by every metric that asks alike."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from evalign.encoders.base import BatchingEncoder, Encoder, Reading
from evalign.encoders.families import FAMILIES, depth
from evalign.encoders.layers import parse_layers
from evalign.encoders.locating import Located, locate
from evalign.encoders.model_pool import Kept
from evalign.encoders.pinned_models import UNTUNED_DEPTH
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.errors import FileFormatError, SpecError

BACKENDS = ("auto", "ort", "torch")
PRECISIONS = ("fp32", "int8", "bf16", "fp16")
FAKE = "fake"
KEPT = 3  # loaded models, by choice: other layers are other graphs
EMBEDDINGS, EMBEDDINGS_BYTES = "EVALIGN_EMBEDDINGS", "EVALIGN_EMBEDDINGS_BYTES"
MAX_BYTES = 2 * 2**30

Disk = tuple[Path, int]  # the folder where vectors are kept, and how many bytes of them


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """Everything that decides a token vector, and how many threads compute it."""

    model: str = "minilm"
    layer: str | None = None  # None: the tuned one; "all": every state
    precision: str = "fp32"
    backend: str = "auto"
    device: str = "cpu"
    reading: Reading = field(default_factory=Reading)
    threads: int = 0


_kept: Kept[EmbeddingMemory] = Kept(KEPT)


def open_encoder(choice: EncoderChoice) -> EmbeddingMemory:
    """A loaded model is kept: scoring again, or with another metric, does not load it again.

    Directories are looked at every time: a checkpoint that was written anew is another model.
    """
    disk = _disk()
    if choice.model == FAKE:
        return _kept.get((FAKE, choice.layer, disk), lambda: _open_fake(choice.layer, disk))
    located = locate(choice.model)
    located = replace(located, directory=located.directory.resolve())
    return _kept.get((choice, located, _written(located), disk), lambda: _open(choice, located, disk))


def keep_encoders(most: int) -> None:
    """How many loaded models are kept in this process, which is 3 unless told."""
    _kept.resize(most)


def close_encoders() -> None:
    """Forgets every loaded model, and frees its memory once no metric's scorer holds it."""
    _kept.clear()


def keep_embeddings(folder: str | os.PathLike[str] | None, max_bytes: int | None = None) -> None:
    """Keeps token vectors in a folder from now on, and reads from it those of texts that came before; None: no more.

    At most `max_bytes` (2 GiB) stay there, the oldest are removed first. Both are environment variables,
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


def _disk() -> Disk | None:
    """What the environment says."""
    folder, most = os.environ.get(EMBEDDINGS), os.environ.get(EMBEDDINGS_BYTES) or str(MAX_BYTES)
    if not folder:
        return None
    if not most.isdecimal():
        raise SpecError(f"{EMBEDDINGS_BYTES}={most}: expected a number of bytes, as in {MAX_BYTES}")
    return Path(folder).expanduser().absolute(), int(most)


def _remembered(encoder: Encoder, disk: Disk | None, **decisive: Any) -> EmbeddingMemory:
    """The encoder with its memory; `decisive` is all else that decides a vector and that it does not tell itself."""
    if disk is None:
        return EmbeddingMemory(encoder)
    from evalign.encoders.disk_cache import CachedEncoder
    from evalign.encoders.pack_folder import PackFolder

    identity = {
        "tokenizer": encoder.tokenizer_fingerprint,
        "layers": encoder.layers,
        "precision": encoder.precision,
        **decisive,
    }
    return EmbeddingMemory(CachedEncoder(encoder, PackFolder(disk[0], identity, len(encoder.layers), disk[1])))


def _open_fake(layer: str | None, disk: Disk | None) -> EmbeddingMemory:
    from evalign.encoders.fake import FakeEncoder

    return _remembered(FakeEncoder(None if layer == "all" else parse_layers(layer or "2")), disk, weights=FAKE)


def _written(located: Located) -> tuple[int, ...]:
    """When the small files beside the weights were last written."""
    files = (located.directory / name for name in ("config.json", "tokenizer.json", "tokenizer_config.json"))
    return tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in files)


def _open(choice: EncoderChoice, located: Located, disk: Disk | None) -> EmbeddingMemory:
    config = located.config()
    backend = _backend(choice, str(config.get("model_type")))
    encoder = _load(located, config, backend, choice)
    encoder.name = located.pinned
    return _remembered(
        encoder,
        disk,
        weights=located.sha256,
        config=hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        backend=backend,
        device=choice.device,
        reading=asdict(encoder.reading),
    )


def _load(located: Located, config: dict[str, Any], backend: str, choice: EncoderChoice) -> BatchingEncoder:
    layers = None if choice.layer == "all" else parse_layers(choice.layer or default_layer(located, config))
    if backend == "torch":
        from evalign.encoders.torch_hf import TorchEncoder

        return TorchEncoder(
            located.directory, config, layers, choice.reading, choice.precision, choice.device, choice.threads
        )
    from evalign.encoders.ort import OrtEncoder

    return OrtEncoder(located.directory, config, layers, choice.reading, choice.precision, choice.threads)


def _backend(choice: EncoderChoice, family: str) -> str:
    light = choice.device == "cpu" and choice.precision in ("fp32", "int8") and family in FAMILIES
    backend = choice.backend if choice.backend != "auto" else ("ort" if light else "torch")
    if backend == "torch" and choice.precision == "int8":
        raise SpecError("precision=int8 runs with backend=ort only; backend=torch has fp32, bf16, fp16")
    if backend == "ort" and (choice.device != "cpu" or choice.precision in ("bf16", "fp16")):
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
