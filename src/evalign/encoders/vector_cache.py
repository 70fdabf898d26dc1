"""Caches the vectors of references in memory, so that only the next system's candidates are run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from threading import Lock
from weakref import WeakSet

from evalign.encoders.base import Encoder
from evalign.types import Embedded

MAX_BYTES = 256 * 2**20
MAX_TEXTS = 16_384  # small vectors cost mostly their Python objects, which no byte count sees
MAX_SEEN = 8_192
_memories: WeakSet[EmbeddingMemory] = WeakSet()


def forget_vectors() -> None:
    """Empties every cache, so that which texts are encoded together does not depend on what came before."""
    for memory in list(_memories):
        memory.forget()


class EmbeddingMemory:
    """An encoder with a bounded cache; the texts used longest ago are dropped first. Threads may share it."""

    def __init__(self, encoder: Encoder, max_bytes: int = MAX_BYTES) -> None:
        self.encoder = encoder
        self.max_bytes = max_bytes
        self._lock = Lock()
        self._cache: OrderedDict[str, Embedded] = OrderedDict()
        self._seen: OrderedDict[int, None] = OrderedDict()  # hashes of texts that came once
        self._bytes = 0
        _memories.add(self)

    def forget(self) -> None:
        """Empties the cache."""
        with self._lock:
            self._cache.clear()
            self._seen.clear()
            self._bytes = 0

    def encode(self, texts: Iterable[str], keep: Collection[str] = (), at_once: bool = True) -> dict[str, Embedded]:
        """Every text's vectors; those in `keep` are cached, `at_once` or only when they come a second time.

        A long stream sets `at_once=False`: most of its texts never return, and its memory should not grow.
        """
        distinct = list(dict.fromkeys(texts))
        with self._lock:
            embedded = {text: self._cache[text] for text in distinct if text in self._cache}
        missing = [text for text in distinct if text not in embedded]
        embedded.update(zip(missing, self.encoder.encode(missing), strict=True))
        with self._lock:
            for text in keep:
                if at_once or text in self._cache or self._came_before(text):
                    self._add(text, embedded[text])
        return embedded

    def _came_before(self, text: str) -> bool:
        key = hash(text)
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > MAX_SEEN:
            self._seen.popitem(last=False)
        return False

    def _add(self, text: str, embedded: Embedded) -> None:
        if text not in self._cache:
            self._bytes += embedded.vectors.nbytes
        self._cache[text] = embedded
        self._cache.move_to_end(text)
        while self._cache and (self._bytes > self.max_bytes or len(self._cache) > MAX_TEXTS):
            _, dropped = self._cache.popitem(last=False)
            self._bytes -= dropped.vectors.nbytes
