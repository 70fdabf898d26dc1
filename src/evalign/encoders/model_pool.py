"""Keeps what was expensive to make: the values used last, each made once however many threads ask for it at a time.

`functools.lru_cache` lets two threads that miss at once both load a model; here the second waits and takes the first's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """At most `most` values, by key; the one used longest ago is forgotten first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = Lock()  # around the table: what is there is given at once, also while something else is made
        self._making = Lock()  # one at a time: two models loading side by side need the memory of both

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made now if it is not there."""
        found = self._found(key)
        if found is not None:
            return found
        with self._making:
            found = self._found(key)  # somebody may have made it while this thread waited
            if found is None:
                found = make()
                with self._lock:
                    self._values[key] = found
                    self._forget()
            return found

    def resize(self, most: int) -> None:
        """Another number of values."""
        with self._lock:
            self._most = most
            self._forget()

    def clear(self) -> None:
        """Forgets all."""
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)

    def _found(self, key: Hashable) -> Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def _forget(self) -> None:
        while len(self._values) > self._most:
            self._values.popitem(last=False)
