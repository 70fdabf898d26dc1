"""The adapters that ship with the package: a known model in, the folder of its adapter out."""

from __future__ import annotations

from importlib import resources

from evalign.errors import SpecError

SHIPPED = "evalign"  # as adapter= names them
MODELS = ("minilm", "mpnet")  # that have one


def shipped(model: str) -> str:
    """The folder of the model's adapter; raises if none ships for it."""
    if model not in MODELS:
        raise SpecError(
            f"model={model[:100]}: adapters ship for {' and '.join(MODELS)}; train one for this model (evalign train "
            "--adapter 8) and give adapter=DIR"
        )
    return str(resources.files("evalign.encoders").joinpath("adapters", model))
