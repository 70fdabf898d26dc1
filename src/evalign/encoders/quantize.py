"""int8 weights, one scale per output channel; graph.py scales the activations per token row.

Both scales belong to one row or column, so a score never depends on what else is in its batch
(ONNX Runtime's own dynamic quantisation has one scale per batch).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# Processors without VNNI add two u8 * s8 products in 16 bits: 2 * 255 * 64 still fits, 2 * 255 * 127
# does not, and the same model would give other numbers there. The seventh bit costs .0001 correlation.
WEIGHT_STEPS = 64
ACTIVATION_STEPS = 127
ACTIVATION_ZERO = 128


@dataclass(frozen=True, slots=True)
class QuantizedWeight:
    """`values * scales` is the weight, laid out (inputs, outputs) as integer matmul wants it."""

    values: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]


def quantize_weight(weight: np.ndarray[Any, Any]) -> QuantizedWeight:
    """A float weight (outputs, inputs) as torch lays it out, rounded to WEIGHT_STEPS each side."""
    peaks = np.abs(weight).max(axis=1)
    scales = (np.where(peaks > 0, peaks, 1) / WEIGHT_STEPS).astype(np.float32)
    values = np.rint(weight / scales[:, None]).astype(np.int8)
    return QuantizedWeight(np.ascontiguousarray(values.T), scales)
