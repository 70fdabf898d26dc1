"""The last step of a score written out: raw fields and a baseline in, the formula with its numbers out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import RenderableType

from evalign.metrics.baseline import Baseline, Rescaling
from evalign.render.explain.parts import heading, line
from evalign.render.terminal import visible


def explain_rescaling(rescaling: Rescaling, names: Sequence[str], raw: Sequence[float]) -> list[RenderableType]:
    """Each field by the linear formula, or between the two neighbours in the distribution of unrelated pairs."""
    assert rescaling.baseline is not None
    baseline, (layer, *_) = rescaling.baseline, rescaling.layers
    return [*SCALES[rescaling.scale](baseline, layer, names, raw), *_origin(baseline, layer)]


def _linear(baseline: Baseline, layer: str, names: Sequence[str], raw: Sequence[float]) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("Rescaled: (raw - b) / (1 - b), b = what unrelated text scores on average")]
    for name, value, base in zip(names, raw, baseline.row(layer).tolist(), strict=True):
        scaled = (value - base) / (1 - base)
        parts.append(line(f"{name} = ({value:.4f} - {_signed(base)}) / (1 - {_signed(base)}) = {scaled:.4f}"))
    parts.append(line("So unrelated text scores around 0, also below it, and equal text 1.", "dim"))
    return parts


def _percentile(baseline: Baseline, layer: str, names: Sequence[str], raw: Sequence[float]) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("Rescaled: the share of unrelated pairs that score less")]
    for name, value, quantiles in zip(names, raw, baseline.quantiles[layer], strict=True):
        parts.append(line(f"{name} = {_share(value, np.array(quantiles))}"))
    return parts


def _share(value: float, points: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """The share at a value: 0 below all points, 1 from the last on, otherwise on the line between its neighbours."""
    above = int(np.searchsorted(points, value, side="right"))
    if above == 0:
        return f"0.0000: {value:.4f} is below all of them (the lowest scores {points[0]:.4f})"
    if above == len(points):
        return f"1.0000: {value:.4f} is above all of them (the highest scores {points[-1]:.4f})"
    low, high = (place / (len(points) - 1) for place in (above - 1, above))
    left, right = float(points[above - 1]), float(points[above])
    share = low + (high - low) * (value - left) / (right - left)
    part = f"({value:.4f} - {_signed(left)}) / ({right:.4f} - {_signed(left)})"
    return f"{low:.4f} + {high - low:.4f} · {part} = {share:.4f}"


SCALES = {"linear": _linear, "percentile": _percentile}


def _origin(baseline: Baseline, layer: str) -> list[RenderableType]:
    """Which baseline it is, and what it was fitted on where it says so."""
    about = baseline.provenance.get("about")
    pairs = baseline.provenance.get("pairs")
    fitted = f", from {pairs:,} random pairs" if isinstance(pairs, int) else ""
    texts = f" of: {visible(str(about))}" if about else ""
    return [line(f"Baseline {baseline.digest}, layer {layer}{fitted}{texts}", "dim")]


def _signed(number: float) -> str:
    """With brackets around a negative number, which follows a minus."""
    return f"{number:.4f}" if number >= 0 else f"({number:.4f})"
