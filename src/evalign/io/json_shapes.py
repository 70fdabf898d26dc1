"""Shapes of JSON documents that evalign wrote and reads again: a value of another shape is refused before it is used.

A shape is a type, a list with the shape of its items, an object with the shape of each key, an object `{str: shape}`
for any keys, or a tuple of alternatives. `OptionalKey` marks a key that may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OptionalKey:
    """The shape of a key that may be missing."""

    shape: Any


def has_shape(value: Any, shape: Any) -> bool:
    """Return whether a JSON value has a shape; a truth value is no number."""
    if isinstance(shape, tuple):
        return any(has_shape(value, alternative) for alternative in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(has_shape(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and _has_keys(value, shape)
    return type(value) is shape


def _has_keys(value: dict[str, Any], shape: dict[Any, Any]) -> bool:
    if str in shape:
        return all(has_shape(item, shape[str]) for item in value.values())
    required = {key for key, inner in shape.items() if not isinstance(inner, OptionalKey)}
    return required <= set(value) <= set(shape) and all(
        has_shape(item, inner.shape if isinstance(inner := shape[key], OptionalKey) else inner)
        for key, item in value.items()
    )
