"""Finished steps of a study, stored on disk, so that a stopped run resumes and a second run takes seconds.

A step's file is named by everything that decides its outcome: model, settings, digest of the data, version. Files
appear whole or not at all; one that is damaged, or belongs to another key, is made again.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from evalign.atomic_files import cache_folder, whole_file
from evalign.errors import FileFormatError
from evalign.types import Floats
from evalign.version import __version__

Arrays = Mapping[str, Floats]
KEY = "key"
DAMAGED = (OSError, ValueError, EOFError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zipfile.LargeZipFile,
           NotImplementedError)  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """A folder of finished steps; with `folder=None` every step is made anew and nothing is stored."""

    folder: Path | None

    @classmethod
    def of(cls, study: str, keep: bool = True) -> Steps:
        """The steps of one study in evalign's cache folder."""
        return cls(cache_folder() / "studies" / study if keep else None)

    def arrays(self, key: Mapping[str, Any], make: Callable[[], Arrays]) -> dict[str, Floats]:
        """The arrays of a step, from its file or made now."""

        def read(stream: IO[bytes]) -> dict[str, Any]:
            with np.load(stream, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}

        return self._step(key, ".npz", read, make, lambda stream, content: np.savez(stream, **content))

    def values(self, key: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        """The same for JSON values."""
        return self._step(
            key,
            ".json",
            json.load,
            lambda: json.loads(json.dumps({"value": make()})),  # the same types whether read or made
            lambda stream, content: stream.write(json.dumps(content).encode("utf-8")),
        )["value"]

    def _step(
        self,
        key: Mapping[str, Any],
        ending: str,
        read: Callable[[IO[bytes]], dict[str, Any]],
        make: Callable[[], Mapping[str, Any]],
        write: Callable[[IO[bytes], dict[str, Any]], Any],
    ) -> dict[str, Any]:
        if self.folder is None:
            return dict(make())
        identity = json.dumps({"evalign": __version__, **key}, sort_keys=True)
        file = self.folder / f"{hashlib.sha256(identity.encode('utf-8')).hexdigest()[:40]}{ending}"
        try:
            with file.open("rb") as stream:
                content = read(stream)
            if str(content.pop(KEY)) == identity:
                return content
        except DAMAGED:
            pass
        content = dict(make())
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(file, binary=True) as stream:
                write(stream, {KEY: identity, **content})
        except (OSError, FileFormatError):
            pass  # the cache only saves time: a folder that cannot be written to must not stop a study
        return content


def digest_of(texts: Any) -> str:
    """The sha256 of JSON values, such as the texts of a step."""
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode("utf-8")).hexdigest()
