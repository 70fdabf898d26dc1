"""The baselines that bert_score ships: a language and a model's hub name in, its table out.

They are read as files: from the installed bert-score package (by its list of files, never imported), or from where
`evalign baseline get` puts them, which takes its wheel from PyPI without what that depends on.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

from evalign.atomic_files import cache_folder, whole_file
from evalign.errors import TableError, nearest

WHEEL = "bert-score==0.3.13"
FOLDER = "bert_score/rescale_baseline/"
GET = "evalign baseline get"

Tables = dict[tuple[str, str], Path]  # by language and model


def published_baselines() -> Tables:
    """Every table on this machine; those of the installed package first."""
    return _fetched() | _installed()


def published_baseline(language: str, model: str) -> Path:
    """The table of a model in a language, or an error that says how to come by one."""
    tables = published_baselines()
    fit = "fit one with: evalign baseline fit TEXTS -o FILE, then baseline_path=FILE"
    if not tables:
        raise TableError(f"no baseline for {model} is here; those that bert_score ships come with: {GET}; or {fit}")
    languages = sorted(lang for lang, name in tables if name == model)
    if languages and language not in languages:
        raise TableError(f"no baseline for {model} in lang={language!r} ({nearest(language, languages)}); {fit}")
    if not languages:
        names = len({name for _, name in tables})
        raise TableError(f"no baseline for {model}: bert_score ships them for {names} models, not for this; {fit}")
    return tables[language, model]


def published_for(path: str | Path) -> str | None:
    """The model that a table of bert_score was made for, which its place says: rescale_baseline/LANGUAGE/MODEL.tsv."""
    parts = Path(path).resolve().with_suffix("").parts
    if Path(path).suffix != ".tsv" or "rescale_baseline" not in parts:
        return None
    return "/".join(parts[parts.index("rescale_baseline") + 2 :]) or None


def get_baselines() -> Tables:
    """Fetches the wheel with pip and keeps its tables; those that are here already are not fetched again."""
    if present := published_baselines():
        return present
    with tempfile.TemporaryDirectory() as downloads:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", downloads, WHEEL]
        done = subprocess.run(command, capture_output=True, text=True)
        wheels = sorted(Path(downloads).glob("*.whl"))
        if done.returncode or not wheels:
            reason = done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "no wheel came"
            raise TableError(f"{WHEEL} could not be fetched ({reason}); with a network: pip install --no-deps {WHEEL}")
        with zipfile.ZipFile(wheels[0]) as archive:
            for name in archive.namelist():
                if (key := _key(name)) is not None:
                    file = _kept().joinpath(key[0], f"{key[1]}.tsv")
                    file.parent.mkdir(parents=True, exist_ok=True)
                    with whole_file(file) as stream:
                        stream.write(archive.read(name).decode("utf-8"))
    return _fetched()


def _installed() -> Tables:
    try:
        files = metadata.files("bert-score") or []
    except metadata.PackageNotFoundError:
        return {}
    named = {_key(file.as_posix()): Path(str(file.locate())) for file in files}
    return {key: path for key, path in named.items() if key is not None and path.is_file()}


def _fetched() -> Tables:
    folder = _kept()
    named = {_key(FOLDER + path.relative_to(folder).as_posix()): path for path in sorted(folder.rglob("*.tsv"))}
    return {key: path for key, path in named.items() if key is not None}


def _kept() -> Path:
    return cache_folder() / "bert-score" / "rescale_baseline"


def _key(name: str) -> tuple[str, str] | None:
    """(language, model) of a file's name inside the wheel."""
    if not name.startswith(FOLDER) or not name.endswith(".tsv") or ".." in name:
        return None
    language, _, model = name.removeprefix(FOLDER).removesuffix(".tsv").partition("/")
    return (language, model) if model else None
