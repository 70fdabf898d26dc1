"""Remembers the vectors of references, so that the next system's candidates are all that is run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from threading import Lock

from evalign.encoders.base import Encoder
from evalign.types import Embedded

MAX_BYTES = 256 * 2**20
MAX_TEXTS = 16_384  # small vectors cost mostly their Python objects, which no byte count sees
MAX_SEEN = 8_192


class EmbeddingMemory:
    """An encoder with a bounded memory; the texts used longest ago are forgotten first. Threads may share it."""

    def __init__(self, encoder: Encoder, max_bytes: int = MAX_BYTES) -> None:
        self.encoder = encoder
        self.max_bytes = max_bytes
        self._lock = Lock()
        self._kept: OrderedDict[str, Embedded] = OrderedDict()
        self._seen: OrderedDict[int, None] = OrderedDict()  # hashes of texts that came once
        self._bytes = 0

    def encode(self, texts: Iterable[str], keep: Collection[str] = (), at_once: bool = True) -> dict[str, Embedded]:
        """Every text's vectors; those in `keep` are remembered, `at_once` or only when they come a second time.

        A long stream sets `at_once=False`: most of its texts never return, and its memory should not grow.
        """
        wanted = list(dict.fromkeys(texts))
        with self._lock:
            found = {text: self._kept[text] for text in wanted if text in self._kept}
        missing = [text for text in wanted if text not in found]
        found.update(zip(missing, self.encoder.encode(missing), strict=True))
        with self._lock:
            for text in keep:
                if at_once or text in self._kept or self._came_before(text):
                    self._remember(text, found[text])
        return found

    def _came_before(self, text: str) -> bool:
        key = hash(text)
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > MAX_SEEN:
            self._seen.popitem(last=False)
        return False

    def _remember(self, text: str, embedded: Embedded) -> None:
        if text not in self._kept:
            self._bytes += embedded.vectors.nbytes
        self._kept[text] = embedded
        self._kept.move_to_end(text)
        while self._kept and (self._bytes > self.max_bytes or len(self._kept) > MAX_TEXTS):
            _, forgotten = self._kept.popitem(last=False)
            self._bytes -= forgotten.vectors.nbytes
