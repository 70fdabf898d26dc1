"""Baselines: what unrelated text scores, per layer and field, in bert_score's file format; and rescaling by them.

A file has the columns LAYER, P, R, F (comma or tab). Beside it, with the suffix .json, may lie what `evalign baseline
fit` knows besides: where the numbers come from, and how the scores of unrelated pairs are distributed.

    linear       x becomes (x - b) / (1 - b): unrelated text lies around 0, equal text at 1
    percentile   x becomes the share of unrelated pairs that score less
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from evalign.atomic_files import whole_file
from evalign.encoders.base import Encoder
from evalign.encoders.pinned_models import tuned_layers
from evalign.errors import TableError
from evalign.metrics.published_baselines import published_for
from evalign.types import Floats

COLUMNS = ["LAYER", "P", "R", "F"]
FORMAT = "evalign-baseline-1"
SCALES = ("linear", "percentile")
Quantiles = Mapping[str, tuple[tuple[float, ...], ...]]  # by layer choice: P, R, F, each at evenly spaced shares


@dataclass(frozen=True)
class Baseline:
    """Baselines by layer choice (`4`, or `4+6` for averaged layers), and what is known about them."""

    by_layer: Mapping[str, tuple[float, float, float]]
    digest: str
    quantiles: Quantiles = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """Reads a table, and the notes beside it if there are any."""
        table = Path(path)
        try:
            raw = table.read_bytes()
        except OSError as error:
            raise TableError(f"rescale={path}: no baseline file there ({error.strerror})") from error
        notes = table.with_suffix(".json")
        baseline = cls.parse(str(path), raw, notes.read_bytes() if notes.is_file() and notes != table else None)
        meant = published_for(path)
        return baseline if meant is None else replace(baseline, provenance={"published for": meant})

    @classmethod
    def parse(cls, name: str, raw: bytes, notes: bytes | None = None) -> Baseline:
        """From the contents of both files; lines that start with # are skipped."""
        try:
            lines = [line for line in raw.decode("utf-8-sig").splitlines() if line and not line.startswith("#")]
        except UnicodeDecodeError as error:
            raise TableError(f"{name}: not UTF-8 ({error.reason} at byte {error.start})") from error
        delimiter = "\t" if lines and "\t" in lines[0] else ","
        header, *table = [line.split(delimiter) for line in lines] or [[]]
        if header != COLUMNS:
            raise TableError(f"{name}: expected the columns {','.join(COLUMNS)}")
        try:
            rows = {row[0]: (float(row[1]), float(row[2]), float(row[3])) for row in table}
        except (ValueError, IndexError) as error:
            raise TableError(f"{name}: a line is not a layer and three numbers ({error})") from error
        if any(not -1 <= value < 1 for row in rows.values() for value in row):
            raise TableError(f"{name}: a baseline must be a number from -1 to below 1")
        quantiles, provenance = _notes(name, notes, hashlib.sha256(raw).hexdigest()) if notes else ({}, {})
        return cls(rows, hashlib.sha256(raw).hexdigest()[:8], quantiles, provenance)

    def save(self, path: str | Path) -> None:
        """Writes both files, each whole or not at all."""
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
        """Baselines of precision, recall and F1 for a layer choice."""
        if layer not in self.by_layer:
            raise TableError(f"the baseline has no row for layer {layer}; it has {', '.join(self.by_layer)}")
        return np.array(self.by_layer[layer])

    def scaled(self, scores: Floats, layer: str, scale: str) -> Floats:
        """(..., fields) scores of a layer choice on the linear or the percentile scale."""
        if scale == "linear":
            base = self.row(layer)
            return np.asarray((scores - base) / (1 - base))
        if layer not in self.quantiles:
            raise TableError(f"scale=percentile: no distribution for layer {layer}; fit one: evalign baseline fit")
        points = [np.array(quantiles) for quantiles in self.quantiles[layer]]
        shares = [np.linspace(0, 1, len(quantiles)) for quantiles in points]
        return np.stack([np.interp(scores[..., i], points[i], shares[i]) for i in range(len(points))], axis=-1)


def layer_name(layers: Iterable[int]) -> str:
    """How a table calls a choice of layers; their mean does not depend on the order, so neither does the name."""
    return "+".join(map(str, sorted(layers)))


def check_table_path(path: str | Path) -> None:
    """Raises now, rather than after the fitting, if a table cannot be written there."""
    if Path(path).suffix == ".json":
        raise TableError(f"{path}: the table needs another suffix than .json, such as .tsv; notes go beside it")
    if not Path(path).resolve().parent.is_dir():
        raise TableError(f"{path}: cannot be written, there is no such folder")


@cache
def shipped() -> dict[tuple[str, str, str], Baseline]:
    """The baselines in the package, by model@digest, matching and treatment of special tokens."""
    baselines = {}
    folder = resources.files("evalign.metrics").joinpath("baselines")
    for table in sorted(folder.iterdir(), key=lambda file: file.name):
        if table.name.endswith(".tsv"):
            notes = folder.joinpath(table.name.removesuffix(".tsv") + ".json")
            baseline = Baseline.parse(table.name, table.read_bytes(), notes.read_bytes())
            said = baseline.provenance
            baselines[said["model"], said["match"], said["specials"]] = baseline
    return baselines


def _notes(name: str, raw: bytes, table_sha256: str) -> tuple[Quantiles, dict[str, Any]]:
    try:
        plain = json.loads(raw)
        if plain["format"] != FORMAT:
            raise TableError(f"{name}: its notes have format {plain['format']!r}, expected {FORMAT!r}")
        if plain["table_sha256"] != table_sha256:
            raise TableError(f"{name}: the .json beside it belongs to another table; fit again, or remove it")
        quantiles = {
            str(layer): tuple(tuple(float(value) for value in quantiles) for quantiles in fields)
            for layer, fields in plain["quantiles"].items()
        }
        provenance = dict(plain["provenance"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TableError(f"{name}: the .json beside it is not what evalign baseline fit writes ({error})") from error
    for fields in quantiles.values():
        if len(fields) != len(COLUMNS) - 1 or any(
            len(points) < 2 or not np.isfinite(points).all() or (np.diff(points) < 0).any() for points in fields
        ):
            raise TableError(f"{name}: a distribution in the .json beside it is no rising list of numbers")
    return quantiles, provenance


@dataclass(frozen=True, eq=False)
class Rescaling:
    """A baseline (None: the one that ships) on a scale; `layers` are its rows in use, known once it was fitted."""

    baseline: Baseline | None
    scale: str
    layers: tuple[str, ...] = ()

    def fitting(self, encoder: Encoder, match: str, specials: str, every_layer: bool) -> Rescaling:
        """The rescaling for this encoder and matching, or an error that says why there is none."""
        baseline = _shipped(encoder.name, match, specials) if self.baseline is None else self.baseline
        _check_published(baseline, encoder.name)
        _check_fits(baseline, {"model": encoder.name, "match": match, "specials": specials})
        layers = tuple(map(str, encoder.layers)) if every_layer else (layer_name(encoder.layers),)
        for layer in layers:
            baseline.scaled(np.zeros(3), layer, self.scale)  # a layer it does not know is said before any work
        return replace(self, baseline=baseline, layers=layers)

    @property
    def name(self) -> str:
        """As signatures print it."""
        assert self.baseline is not None
        return self.baseline.digest + ("" if self.scale == "linear" else f",{self.scale}")

    def rescaled(self, scores: Floats, place: int = 0) -> Floats:
        """(..., fields) of one of the layer choices."""
        assert self.baseline is not None
        return self.baseline.scaled(scores, self.layers[place], self.scale)


def _check_fits(baseline: Baseline, used: dict[str, str]) -> None:
    """A baseline that says how it was fitted is for that model and matching only."""
    for key, value in used.items():
        if baseline.provenance.get(key, value) != value:
            raise TableError(
                f"this baseline was fitted with {key} {baseline.provenance[key]}, not {value}: evalign baseline fit"
            )


def _check_published(baseline: Baseline, model: str) -> None:
    """A table of bert_score is for the model that its place names; a folder of another name may hold that model."""
    label = model.partition("@")[0]
    meant = str(baseline.provenance.get("published for", label)).rpartition("/")[2]
    if label != meant and label in {name.rpartition("/")[2] for name in tuned_layers()}:
        raise TableError(
            f"this baseline was made for {meant}, not {label}; fit one: evalign baseline fit TEXTS -o FILE"
        )


def _shipped(model: str, match: str, specials: str) -> Baseline:
    if (model, match, specials) in shipped():
        return shipped()[model, match, specials]
    having = sorted({f"{name} with {matching}" for name, matching, special in shipped() if special == specials})
    raise TableError(
        f"rescale=true: no baseline ships for {model} with {match} and specials={specials} (there is one for "
        f"{', '.join(having) or 'nothing'}); fit one: evalign baseline fit TEXTS -o FILE, then rescale=FILE"
    )
