"""Library versions and processor, which decide numbers on this machine, and evalign's extras with missing libraries."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec

DECIDING = ("numpy", "scipy", "onnxruntime", "tokenizers", "POT", "sacrebleu", "rapidfuzz", "snowballstemmer")
DECIDING_IF_INSTALLED = ("torch", "transformers")  # of backend=torch and of models that only transformers runs
EXTRA = re.compile(r"extra == ['\"]([\w-]+)['\"]")
FOR_DEVELOPERS = {"dev", "all"}


@dataclass(frozen=True)
class Extra:
    """An extra of the package: the libraries it names, and those that are not installed."""

    name: str
    libraries: tuple[str, ...]
    missing: tuple[str, ...]


def version_of(library: str) -> str | None:
    """Return the installed version of a library, or None."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def deciding_versions() -> dict[str, str | None]:
    """Return the versions of the libraries that may change a score."""
    optional = [library for library in DECIDING_IF_INSTALLED if version_of(library)]
    return {library: version_of(library) for library in (*DECIDING, *optional)}


def deciding_libraries() -> dict[str, str]:
    """Return Python's version, which has the tables of Unicode, and those of the libraries of every installation."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python} | {library: str(version_of(library)) for library in DECIDING}


def processor() -> str:
    """Return the instruction sets by which libraries choose their arithmetic: another one may change the last bits."""
    core = "numpy._core" if find_spec("numpy._core") else "numpy.core"  # numpy 2, or 1
    features = import_module(f"{core}._multiarray_umath").__cpu_features__
    names = sorted(name for name, present in features.items() if present)
    kernels = os.environ.get("OPENBLAS_CORETYPE")  # chooses OpenBLAS's arithmetic in place of the processor
    return " ".join([platform.machine(), *names, *([f"OPENBLAS_CORETYPE={kernels}"] if kernels else [])])


def extras() -> list[Extra]:
    """Return the extras for users, in the order of the package's metadata."""
    libraries: dict[str, list[str]] = {}
    for requirement in metadata.requires("evalign") or ():
        library, extra = re.match(r"[\w.-]+", requirement), EXTRA.search(requirement)
        if library and extra and extra[1] not in FOR_DEVELOPERS and library[0] != "evalign":
            libraries.setdefault(extra[1], []).append(library[0])
    return [
        Extra(name, tuple(needed), tuple(library for library in needed if version_of(library) is None))
        for name, needed in libraries.items()
    ]
