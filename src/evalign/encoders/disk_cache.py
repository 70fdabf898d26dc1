"""An encoder that caches vectors in a folder: what the folder has is read, the rest is encoded and written there.

In: texts. Out: `Embedded`, the same as the encoder's own, bit for bit. Tokens are not written: a text that is read back
is tokenised again, in 3 % of the time that MiniLM takes to encode it, and no word of it is on the disk.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from weakref import WeakSet

from evalign.encoders.base import Encoder
from evalign.encoders.pack_folder import PackFolder
from evalign.types import Embedded

_open: WeakSet[CachedEncoder] = WeakSet()


def flush_vectors() -> None:
    """Writes what waits for more, of every encoder: a process that is ended from outside has no last moment."""
    for encoder in list(_open):
        encoder.folder.flush()


class CachedEncoder:
    """An encoder with its folder; everything but cached vectors comes from the encoder inside."""

    def __init__(self, encoder: Encoder, folder: PackFolder) -> None:
        self.encoder = encoder
        self.folder = folder
        self.name, self.precision, self.layers = encoder.name, encoder.precision, encoder.layers
        self.tokenizer_fingerprint, self.special_ids = encoder.tokenizer_fingerprint, encoder.special_ids
        self.tokenize, self.settle = encoder.tokenize, encoder.settle
        _open.add(self)
        weakref.finalize(self, folder.flush)  # when the model pool drops it, or at the end of the process

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Vectors of each text, read or computed; with `pad_to` the folder is not used."""
        if pad_to is not None:
            return self.encoder.encode(texts, pad_to)
        distinct = list(dict.fromkeys(texts))
        embedded = self.folder.read(distinct, self.tokenize)
        if missing := [text for text in distinct if text not in embedded]:
            computed = self.encoder.encode(missing)
            self.folder.add(computed)
            embedded.update(zip(missing, computed, strict=True))
        return [embedded[text] for text in texts]
