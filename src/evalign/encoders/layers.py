"""Layer choices: `4`, or `4+6` for several whose similarities are averaged. State 0 is the embeddings."""

from __future__ import annotations

import re

from evalign.errors import LayerError

LAST = 1_000_000  # stands for the last layer until the depth is known; no layer can be written so


def parse_layers(choice: int | str) -> tuple[int, ...]:
    """`4` -> (4,), `"4+6"` -> (4, 6), `"last"`; whether the model has them is checked when it is known."""
    text = str(choice)
    if text == "last":
        return (LAST,)
    if not re.fullmatch(r"\d{1,4}(\+\d{1,4})*", text):
        raise LayerError(f"layer={text[:40]}: expected a layer number from 0 up, or several as in 4+6")
    layers = tuple(int(part) for part in text.split("+"))
    if len(set(layers)) != len(layers):
        raise LayerError(f"layer={text}: each layer may be named once")
    return layers


def check_layers(layers: tuple[int, ...] | None, depth: int) -> tuple[int, ...]:
    """The layers as given, or all of them for None; raises for one the model does not have."""
    if layers is None:
        return tuple(range(depth + 1))
    layers = tuple(depth if layer == LAST else layer for layer in layers)
    for layer in layers:
        if not 0 <= layer <= depth:
            raise LayerError(f"layer={layer}: this model has layers 0 (the embeddings) to {depth}")
    return layers
