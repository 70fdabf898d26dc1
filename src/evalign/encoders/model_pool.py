"""A pool of loaded models: a key and how to load it in, the model out, loaded once however many threads ask at a time.

`functools.lru_cache` lets two threads that miss at once both load a model; here the second waits and takes the first's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Model = TypeVar("Model")


class ModelPool(Generic[Model]):
    """At most `size` models by key; the one used longest ago is dropped first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._models: OrderedDict[Hashable, Model] = OrderedDict()
        self._lock = Lock()  # around the table: a loaded model is given at once, also while another is being loaded
        self._loading = Lock()  # one at a time: two models loading side by side need the memory of both

    def get(self, key: Hashable, load: Callable[[], Model]) -> Model:
        """The model of a key, loaded now if it is not there."""
        model = self._get(key)
        if model is not None:
            return model
        with self._loading:
            model = self._get(key)  # another thread may have loaded it while this one waited
            if model is None:
                model = load()
                with self._lock:
                    self._models[key] = model
                    self._drop_oldest()
            return model

    def resize(self, size: int) -> None:
        """Another number of models."""
        with self._lock:
            self._size = size
            self._drop_oldest()

    def clear(self) -> None:
        """Drops all."""
        with self._lock:
            self._models.clear()

    def __len__(self) -> int:
        return len(self._models)

    def _get(self, key: Hashable) -> Model | None:
        with self._lock:
            if key in self._models:
                self._models.move_to_end(key)
            return self._models.get(key)

    def _drop_oldest(self) -> None:
        while len(self._models) > self._size:
            self._models.popitem(last=False)
