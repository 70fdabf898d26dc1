"""Finished steps of a study, kept on disk, so that a run that was stopped goes on and a second run takes seconds.

A step is addressed by everything that decides its outcome: model pin, settings, digest of the data, version. Files
appear whole or not at all; one that is damaged, or belongs to another key, is made again.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evalign.atomic_files import cache_folder, whole_file
from evalign.errors import FileFormatError
from evalign.types import Floats
from evalign.version import __version__

Arrays = Mapping[str, Floats]
KEY = "key"


@dataclass(frozen=True)
class Steps:
    """A folder of finished steps; with `folder=None` every step is made anew and nothing is kept."""

    folder: Path | None

    @classmethod
    def of(cls, study: str, keep: bool = True) -> Steps:
        """The steps of one study in evalign's cache folder."""
        return cls(cache_folder() / "studies" / study if keep else None)

    def arrays(self, key: Mapping[str, Any], make: Callable[[], Arrays]) -> dict[str, Floats]:
        """The arrays of a step, from its file or made now."""
        file, identity = self._file(key, ".npz"), _identity(key)
        found = None if file is None else _read_arrays(file, identity)
        if found is not None:
            return found
        made = dict(make())
        if file is not None:
            kept: Any = {KEY: np.array(identity), **made}
            _write(file, lambda stream: np.savez(stream, **kept))
        return made

    def values(self, key: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        """The same for plain JSON values."""
        file, identity = self._file(key, ".json"), _identity(key)
        found = None if file is None else _read_values(file, identity)
        if found is not None:
            return found["value"]
        text = json.dumps({KEY: identity, "value": make()})
        if file is not None:
            _write(file, lambda stream: stream.write(text.encode("utf-8")))
        return json.loads(text)["value"]  # made or found, the same types

    def _file(self, key: Mapping[str, Any], ending: str) -> Path | None:
        digest = hashlib.sha256(_identity(key).encode("utf-8")).hexdigest()
        return None if self.folder is None else self.folder / f"{digest[:40]}{ending}"


def digest_of(texts: Any) -> str:
    """The sha256 of JSON values, such as the texts of a step."""
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode("utf-8")).hexdigest()


def _identity(key: Mapping[str, Any]) -> str:
    return json.dumps({"evalign": __version__, **key}, sort_keys=True)


def _read_arrays(file: Path, identity: str) -> dict[str, Floats] | None:
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError):
        return None
    return arrays if str(arrays.pop(KEY, "")) == identity else None


def _read_values(file: Path, identity: str) -> dict[str, Any] | None:
    try:
        stored = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return stored if isinstance(stored, dict) and stored.get(KEY) == identity and "value" in stored else None


def _write(file: Path, write: Callable[[Any], Any]) -> None:
    """Only a saving of time: a folder that cannot be written to must not stop a study."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file, binary=True) as stream:
            write(stream)
    except (OSError, FileFormatError):
        return
