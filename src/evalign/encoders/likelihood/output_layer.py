"""The output layer of a model that predicts tokens, often half of the work: run only where a token is predicted.

In: a call that runs the model, a mask of the places that predict, and the token each of them should predict. Out: a
log-probability per place. The vocabulary is gone through in tiles, so that logits stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evalign.errors import MissingExtraError, UnsupportedModelError

try:
    import torch
    from torch.nn.functional import linear
except ImportError as error:
    raise MissingExtraError("bartscore", "torch") from error

TILE = 4096  # rows of the vocabulary: 256 places cost 159 ms on one core, all at once 198
ROUNDING = 3e-5


class OutputHead:
    """What turns a model's last hidden states into log-probabilities."""

    def __init__(self, model: Any) -> None:
        self._layer = model.get_output_embeddings()
        if self._layer is None:
            raise UnsupportedModelError(f"{model.name_or_path}: this model has no output layer that predicts tokens")
        biases = getattr(self._layer, "bias", None), getattr(model, "final_logits_bias", None)
        flat = [bias.reshape(-1) for bias in biases if bias is not None]
        self._bias = sum(flat[1:], flat[0]) if flat else None
        # Whether logits are this layer's product and nothing else: some models scale or cap them. Asked once, below.
        linear_layer = isinstance(self._layer, torch.nn.Linear) and self._layer.weight.dtype == torch.float32
        self._plain: bool | None = None if linear_layer else False

    def log_probs(self, run: Callable[[], Any], places: Any, labels: Any) -> Any:
        """One value per place; `labels` in the order of the mask's true cells."""
        if self._plain is None:
            whole, ours = self._by_model(run, places, labels), self._by_tiles(run, places, labels)
            self._plain = bool((whole - ours).abs().max() < ROUNDING)
            return ours if self._plain else whole
        return (self._by_tiles if self._plain else self._by_model)(run, places, labels)

    def _by_model(self, run: Callable[[], Any], places: Any, labels: Any) -> Any:
        with self._reading(lambda states: states[places].unsqueeze(0)):
            logits = run().logits[0].float()
        return logits.gather(1, labels[:, None])[:, 0] - torch.logsumexp(logits, dim=1)

    def _by_tiles(self, run: Callable[[], Any], places: Any, labels: Any) -> Any:
        """The same with a running sum of exponentials, relative to the largest logit so far."""
        taken: list[Any] = []

        def take(states: Any) -> Any:
            taken.append(states[places])
            return states[:1, :1]  # the model itself goes on with one place

        with self._reading(take):
            run()
        (states,), weight = taken, self._layer.weight
        largest = states.new_full((len(states),), -torch.inf)
        total = torch.zeros_like(largest)
        for start in range(0, len(weight), TILE):
            tile = slice(start, start + TILE)
            logits = linear(states, weight[tile], None if self._bias is None else self._bias[tile])
            higher = torch.maximum(largest, logits.amax(dim=1))
            total = total * (largest - higher).exp() + logits.sub_(higher[:, None]).exp_().sum(dim=1)
            largest = higher
        own = torch.linalg.vecdot(states, weight[labels])
        return (own if self._bias is None else own + self._bias[labels]) - largest - total.log()

    @contextmanager
    def _reading(self, change: Callable[[Any], Any]) -> Iterator[None]:
        """Inside this block the output layer reads `change` of the hidden states."""
        hook = self._layer.register_forward_pre_hook(lambda _, inputs: (change(inputs[0]), *inputs[1:]))
        try:
            yield
        finally:
            hook.remove()
