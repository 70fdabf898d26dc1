"""What an assignment can do in torch, found by running it: a matching in, whether it stays on the device and whether
its selection has a gradient out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from evalign.matching.base import Matching
from evalign.matching.soft.base import DEFAULTS
from evalign.matching.soft.forms import FORMS

SHAPE = (2, 6, 9)
SMALLEST = 1e-12  # of a gradient


@dataclass(frozen=True)
class Capability:
    """`on_device`: no array was taken out of torch. `gradient`: the share of similarities that move the selection."""

    on_device: bool
    gradient: float


def capability(matching: Matching) -> Capability:
    """Runs the matching on tensors; its selection is the soft form of the same name where there is one."""
    similarity = torch.rand(SHAPE, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with _Watch() as watch:
        cells = matching.solve(similarity).cells
    similarity.requires_grad_()
    form = FORMS.get(matching.kind)
    selected = cells.double() if form is None else form(similarity, None, DEFAULTS).weights
    return Capability(not watch.left, _gradient_share(selected, similarity))


def _gradient_share(selected: Tensor, similarity: Tensor) -> float:
    """Of all cells, those whose similarity changes some part of the selection."""
    if not selected.requires_grad:
        return 0.0
    prices = torch.rand(SHAPE, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    (gradient,) = torch.autograd.grad((selected * prices).sum(), similarity)
    return float((gradient.abs() > SMALLEST).double().mean())


class _Watch(TorchFunctionMode):
    """Notes whether an array leaves torch or its device."""

    def __init__(self) -> None:
        super().__init__()
        self.left = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self.left |= func in (Tensor.numpy, Tensor.cpu, Tensor.__array__)
        return func(*args, **(kwargs or {}))
