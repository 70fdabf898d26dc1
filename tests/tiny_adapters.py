"""Random adapters for the tiny models: every linear layer is changed, and every token has its own importance."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from evalign.encoders.adapter import Adapter, LowRank, OutputLayer, read_adapter
from evalign.encoders.families import architecture, linear_layers
from evalign.encoders.safetensors_headers import tensor_locations
from evalign.encoders.weights import locate

OUTPUT = OutputLayer((0.5, 0.5, 0.5), (0.1, 0.2, 0.1), (0.3, 0.0, 0.6), 0.1)


def random_adapter(model: Path, layers: tuple[int, ...] = (1, 3), rank: int = 2, seed: int = 0) -> Adapter:
    """An adapter of a tiny model, large enough to move every vector."""
    located, places = locate(str(model)), tensor_locations(model)
    source = np.random.default_rng(seed)

    def numbers(*shape: int) -> np.ndarray:
        return (0.3 * source.standard_normal(shape)).astype(np.float32)

    changes = {}
    for name, base in linear_layers(architecture(located.config(), places)).items():
        outputs, inputs = places[f"{base}.weight"].shape
        changes[name] = LowRank(numbers(rank, inputs), numbers(outputs, rank))
    width = places[f"{base}.weight"].shape[0]
    return Adapter(
        located.label, located.sha256, layers, rank, changes, 10 * numbers(len(layers), width), OUTPUT, {"epochs": []}
    )


def saved(model: Path, folder: Path, **changes: object) -> Path:
    """The folder of a random adapter; `changes` replace its parts."""
    folder.mkdir()
    replace(random_adapter(model), **changes).save(folder)
    return folder


def merged(model: Path, folder: Path) -> dict[str, np.ndarray]:
    """The weights that an adapter's changes make, by the names of the linear layers."""
    linears = linear_layers(architecture(locate(str(model)).config(), tensor_locations(model)))
    places = tensor_locations(model)
    return {
        linears[name]: places[f"{linears[name]}.weight"].read() + change.up @ change.down
        for name, change in read_adapter(str(folder)).changes.items()
    }
