"""What is installed: the libraries that decide numbers, and evalign's extras with what each of them lacks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata

DECIDING = ("numpy", "scipy", "onnxruntime", "tokenizers", "POT", "sacrebleu", "rapidfuzz", "snowballstemmer")
DECIDING_IF_HERE = ("torch", "transformers")  # of backend=torch and of models that only transformers runs
EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")
FOR_DEVELOPERS = {"dev", "all"}


@dataclass(frozen=True)
class Extra:
    """An extra of the package: the libraries it names, and those of them that are not here."""

    name: str
    libraries: tuple[str, ...]
    missing: tuple[str, ...]


def version_of(library: str) -> str | None:
    """The installed version, None if there is none."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def deciding_versions() -> dict[str, str | None]:
    """The libraries whose version may change a score."""
    optional = [library for library in DECIDING_IF_HERE if version_of(library)]
    return {library: version_of(library) for library in (*DECIDING, *optional)}


def extras() -> list[Extra]:
    """Those a user may want, in the order of the package's metadata."""
    libraries: dict[str, list[str]] = {}
    for requirement in metadata.requires("evalign") or ():
        named, wanted_by = re.match(r"[\w.-]+", requirement), EXTRA.search(requirement)
        if named and wanted_by and wanted_by[1] not in FOR_DEVELOPERS and named[0] != "evalign":
            libraries.setdefault(wanted_by[1], []).append(named[0])
    return [
        Extra(name, tuple(needed), tuple(library for library in needed if version_of(library) is None))
        for name, needed in libraries.items()
    ]
