"""Memories of words and texts that can be emptied all at once.

They are bounded by their number of entries, which is enough for people's texts; a server that takes texts of any length
from anybody also bounds their characters, by calling `forget` now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")
_memories: WeakSet[_lru_cache_wrapper[Any]] = WeakSet()


def remembered(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """As functools.lru_cache, and known to `forget`."""

    def remembering(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        memory = lru_cache(most)(function)
        forgettable(memory)
        return memory

    return remembering


def forgettable(memory: _lru_cache_wrapper[Any]) -> None:
    """Makes a memory known that was made elsewhere."""
    _memories.add(memory)


def forget() -> None:
    """Empties every memory; what was in them is computed again when it is asked for."""
    for memory in list(_memories):
        memory.cache_clear()
