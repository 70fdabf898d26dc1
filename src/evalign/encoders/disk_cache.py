"""An encoder around another: what a folder holds is read, the rest is encoded and kept there.

In: texts. Out: `Embedded`, the same as the encoder's own, bit for bit. Tokens are not kept: a known text's are made
again by the same tokenizer, in 3 % of the time that MiniLM takes to encode it, and no word of it is on the disk.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from evalign.encoders.base import Encoder
from evalign.encoders.pack_folder import PackFolder
from evalign.types import Embedded, Tokens


class CachedEncoder:
    """An encoder that reads from a folder what is there, and keeps there what it had to compute."""

    def __init__(self, encoder: Encoder, folder: PackFolder) -> None:
        self.encoder = encoder
        self.folder = folder
        self.name, self.precision, self.layers = encoder.name, encoder.precision, encoder.layers
        weakref.finalize(self, folder.flush)  # when it is forgotten, or at the end of the process

    @property
    def tokenizer_fingerprint(self) -> str:
        """Which vocabulary an IDF table must have been counted with."""
        return self.encoder.tokenizer_fingerprint

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the tokens put around every text."""
        return self.encoder.special_ids

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text."""
        return self.encoder.tokenize(texts)

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Vectors of each text, those known as they were written; with `pad_to` nothing is read or kept."""
        if pad_to is not None:
            return self.encoder.encode(texts, pad_to)
        distinct = list(dict.fromkeys(texts))
        places = self.folder.places(distinct)
        found = self.folder.read(places, self.encoder.tokenize(list(places)))
        missing = [text for text in distinct if text not in found]
        if missing:
            made = self.encoder.encode(missing)
            self.folder.add(made)
            found.update(zip(missing, made, strict=True))
        return [found[text] for text in texts]

    def settle(self) -> None:
        """Takes the memory that a long job will need."""
        self.encoder.settle()
