"""The folder of `--embeddings` as a whole: what it holds of which encoder, whether it is intact, what goes first.

A root folder holds one folder per encoder (`pack_folder.py`), with the encoder's description and its packs. Reading a
pack sets its time, so that the least recently used one is the one with the oldest time.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalign.encoders.vector_pack import read_pack
from evalign.errors import EvalignError, FileFormatError

STALE_SECONDS = 3600  # a writer needs a second: what is older was left by one that was killed
FOLDERS, PACKS, PARTS, ENCODER = "embeddings-*", "pack-*.safetensors", ".pack-*.part", "encoder.json"


@dataclass(frozen=True)
class EncoderVectors:
    """What one encoder has in a root folder; `used` is when a pack of it was last written or read."""

    folder: Path
    described: dict[str, Any]
    packs: int
    texts: int
    size: int
    used: float


def stored_vectors(root: Path) -> list[EncoderVectors]:
    """What a root folder holds, the most recently used encoder first."""
    stored = []
    for folder in _folders(root):
        owner, described = _owner(folder)
        sizes, texts, used = 0, 0, 0.0
        files = list(_times(folder))
        for _, file in files:
            with suppress(OSError, EvalignError):
                state = file.stat()
                sizes, used = sizes + state.st_size, max(used, state.st_mtime)
                texts += len(read_pack(file, owner, len(described.get("layers", ()))).keys)
        stored.append(EncoderVectors(folder, described, len(files), texts, sizes, used))
    return sorted(stored, key=lambda vectors: -vectors.used)


def damaged_packs(root: Path) -> tuple[list[Path], int]:
    """Packs that are not what was written, every byte read, and how many were looked at."""
    damaged, count = [], 0
    for folder in _folders(root):
        owner, described = _owner(folder)
        for _, file in _times(folder):
            count += 1
            try:
                intact = read_pack(file, owner, len(described.get("layers", ()))).intact()
            except FileNotFoundError:
                continue  # another process made room
            except (OSError, EvalignError):
                intact = False
            if not intact:
                damaged.append(file)
    return damaged, count


def clear(root: Path) -> int:
    """Removes all packs, descriptions and the folders of encoders, and no other file; how many packs these were."""
    count = 0
    for folder in _folders(root):
        for pattern in (PACKS, PARTS, ENCODER):
            for file in list(folder.glob(pattern)):
                remove(file)
                count += pattern == PACKS
        with suppress(OSError):
            folder.rmdir()  # stays if it holds something of somebody else's
    return count


def remove_least_recently_used(root: Path, max_bytes: int) -> None:
    """Removes packs of all encoders down to `max_bytes`; a process that reads one can finish reading."""
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
    """Removes a file that may be gone already, or may stay."""
    with suppress(OSError):
        os.unlink(file)


def _folders(root: Path) -> list[Path]:
    if not root.is_dir():
        raise FileFormatError(f"{root}: no folder of embeddings; --embeddings DIR makes one")
    return sorted(folder for folder in root.glob(FOLDERS) if folder.is_dir())


def _times(folder: Path) -> Iterator[tuple[tuple[int, str], Path]]:
    """((time of the last use, name), pack)."""
    for file in folder.glob(PACKS):
        with suppress(OSError):
            yield (file.stat().st_mtime_ns, file.name), file


def _owner(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """The key and the description of the encoder that a folder belongs to; empty if it has none that fits."""
    try:
        written = (folder / ENCODER).read_bytes()
        owner, described = hashlib.sha256(written).digest(), json.loads(written)
    except (OSError, ValueError):
        return b"", {}
    fits = folder.name == FOLDERS.replace("*", owner.hex()[:40]) and isinstance(described, dict)
    return (owner, described) if fits else (b"", {})
