"""The last step of a score, if asked for: by the baseline of the encoder, the layer and the matching in use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evalign.encoders.base import Encoder
from evalign.encoders.pinned_models import tuned_layers
from evalign.errors import TableError
from evalign.metrics.baseline import Baseline, layer_name, shipped
from evalign.types import Floats


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
        """(..., fields) of one layer choice."""
        assert self.baseline is not None
        return self.baseline.scaled(scores, self.layers[place], self.scale)

    def rescaled_layers(self, scores: Floats) -> Floats:
        """(layers, rows, fields), every layer with its own baseline."""
        return np.stack([self.rescaled(layer, place) for place, layer in enumerate(scores)])


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
