"""Caches of functions of words and texts that can be cleared all at once.

They are bounded by their number of entries, which is enough for ordinary texts; a server that takes texts of any length
also bounds their characters, by calling `forget` from time to time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")
_caches: WeakSet[_lru_cache_wrapper[Any]] = WeakSet()


def remembered(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """As functools.lru_cache with `most` entries, and cleared by `forget`."""

    def decorate(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        cache = lru_cache(most)(function)
        forgettable(cache)
        return cache

    return decorate


def forgettable(cache: _lru_cache_wrapper[Any]) -> None:
    """Registers a cache that was made elsewhere, so that `forget` clears it."""
    _caches.add(cache)


def forget() -> None:
    """Clears every cache."""
    for cache in list(_caches):
        cache.cache_clear()
