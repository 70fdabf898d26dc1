"""sha256 of weight files, cached by file identity so that a large model is hashed once; and of JSON documents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalign.atomic_files import cache_folder, whole_file
from evalign.errors import FileFormatError


def weights_digest(files: Sequence[Path]) -> str:
    """The sha256 of one file; of several shards, the sha256 over theirs in order."""
    digests = [_cached(file.resolve()) for file in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def file_digest(file: Path) -> str:
    """The sha256 of a file's bytes, read now."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_digest(content: Any) -> str:
    """The sha256 of what a JSON document holds, in its one canonical form: what signs it."""
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _cached(file: Path) -> str:
    """The digest, cached until the file is written: any write moves its ctime, which no program can set back."""
    state = file.stat()
    return _digest(file, f"{file}|{state.st_size}|{state.st_mtime_ns}|{state.st_ctime_ns}|{state.st_ino}")


@lru_cache(maxsize=64)  # a server whose cache folder is read-only would hash the file at every request
def _digest(file: Path, key: str) -> str:
    cache = cache_folder() / "digests.json"
    digests = _load(cache)
    if key not in digests:
        digests[key] = file_digest(file)
        with suppress(OSError, FileFormatError):  # it only saves time: a read-only home must not stop anybody
            cache.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(cache) as stream:
                json.dump(dict(list(digests.items())[-200:]), stream)
    return digests[key]


def _load(cache: Path) -> dict[str, str]:
    try:
        digests = json.loads(cache.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return digests if isinstance(digests, dict) else {}
