"""A folder of packs of token vectors (vector_pack.py): texts in, the vectors of those that were written before out.

A root folder holds one folder per encoder, named by the sha256 of everything that decides a vector;
`embedding_store.py` looks after all of them. Packs are written by many processes and never changed; reading marks them
as used. Whatever is wrong with the disk is logged once, and scoring goes on without it.

`CachedEncoder` is an encoder with such a folder: what the folder has is read, the rest is encoded and written there.
Tokens are not written: a text that is read back is tokenised again, in 3 % of the time that MiniLM takes to encode it,
and no word of it is on the disk.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import WeakSet

from evalign.atomic_files import whole_file
from evalign.encoders.base import Encoder
from evalign.encoders.embedding_store import ENCODER, FOLDERS, PACKS, remove, remove_least_recently_used
from evalign.encoders.vector_pack import Entry, Pack, read_pack, text_key, vectors_digest, write_pack
from evalign.errors import EvalignError
from evalign.types import Embedded, Tokens
from evalign.version import __version__

FORMAT = 2
PACK_BYTES = 16 * 2**20
LEAST_BYTES = 2**20  # fewer wait for more, or for the end: a pack per pair would be a million files
MARK_SECONDS = 60  # a pack that is read again and again is marked as used so often

log = logging.getLogger(__name__)


class PackFolder:
    """One encoder's packs. Threads and processes may share it: each process writes its own, and waits for no other."""

    def __init__(self, root: Path, identity: Mapping[str, Any], layers: int, max_bytes: int) -> None:
        self._described = json.dumps({"format": FORMAT, "evalign": __version__, **identity}, sort_keys=True).encode()
        self._owner = hashlib.sha256(self._described).digest()
        self._root, self._folder = root, root / FOLDERS.replace("*", self._owner.hex()[:40])
        self._layers, self._max_bytes = layers, max_bytes
        self._lock = RLock()
        self._places: dict[bytes, tuple[Pack, int]] = {}  # text key -> the pack, and which of its texts
        self._packs: dict[str, Pack | None] = {}  # by name; None for one that cannot be read
        self._listed = -1  # the time of the folder's last change when it was listed
        self._waiting: dict[bytes, Entry] = {}  # to be written
        self._waiting_bytes = 0
        self._writing = True
        self._warned: set[str] = set()
        self._marked: dict[Path, float] = {}  # pack -> when it was last marked as used

    def read(self, texts: Iterable[str], tokenize: Callable[[Sequence[str]], list[Tokens]]) -> dict[str, Embedded]:
        """The vectors of those texts that have some here; only these texts are tokenised. Damaged ones are left out."""
        keys = {text: text_key(text) for text in texts}
        with self._lock:
            self._list()
            waiting = {text: self._waiting[key] for text, key in keys.items() if key in self._waiting}
            places = {text: self._places[key] for text, key in keys.items() if key in self._places}
        embedded: dict[str, Embedded] = {}
        by_pack: dict[Pack, dict[int, Tokens]] = {}
        for tokens in tokenize(list(places | waiting)):
            if tokens.text in waiting:
                embedded[tokens.text] = Embedded(tokens, waiting[tokens.text].vectors)
            else:
                pack, number = places[tokens.text]
                by_pack.setdefault(pack, {})[number] = tokens
        for pack, numbered in by_pack.items():
            embedded.update(self._read_pack(pack, numbered))
        return embedded

    def add(self, computed: Iterable[Embedded]) -> None:
        """Takes vectors to be written; few of them wait for more, see `flush`."""
        with self._lock:
            for embedded in computed:
                size = embedded.vectors.nbytes
                if not self._writing or size > self._max_bytes:
                    continue
                key = text_key(embedded.tokens.text)
                self._waiting[key] = Entry(key, vectors_digest(embedded.tokens.ids, embedded.vectors), embedded.vectors)
                self._waiting_bytes += size
                if self._waiting_bytes >= PACK_BYTES:
                    self.flush()
            if self._waiting_bytes >= LEAST_BYTES:
                self.flush()

    def flush(self) -> None:
        """Writes a pack of all that waits."""
        with self._lock:
            entries = list(self._waiting.values())
            self._waiting, self._waiting_bytes = {}, 0
            if not entries or not self._writing:
                return
            file = self._folder / PACKS.replace("*", f"{time.time_ns():020d}-{os.urandom(4).hex()}")
            try:
                self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._folder.mkdir(mode=0o700, exist_ok=True)
                write_pack(file, self._owner, entries)
                self._describe()
            except (EvalignError, OSError) as error:
                self._writing = False
                self._warn("unwritable", f"{self._folder}: vectors are not kept, it cannot be written to ({error})")
                return
            self._index(file.name)
            with suppress(OSError):
                remove_least_recently_used(self._root, self._max_bytes)

    def _describe(self) -> None:
        """Says whose vectors these are, for `embedding_store.py`."""
        file = self._folder / ENCODER
        if not file.exists() or file.read_bytes() != self._described:
            with whole_file(file, binary=True) as stream:
                stream.write(self._described)

    def _list(self) -> None:
        """Reads the indices of new packs, of all processes, and drops those of removed ones; the newest pack wins."""
        try:
            changed = self._folder.stat().st_mtime_ns
            if changed == self._listed:
                return
            self._listed = changed
            names = {file.name for file in self._folder.glob(PACKS)}
        except OSError:
            return  # nothing was written yet
        removed = [pack for name in self._packs.keys() - names if (pack := self._packs.pop(name)) is not None]
        for key in {key for pack in removed for key in pack.keys}:
            if key in self._places and self._places[key][0] in removed:  # not in a newer one
                del self._places[key]
        for name in sorted(names - self._packs.keys()):
            self._index(name)

    def _index(self, name: str) -> None:
        self._packs[name] = None
        file = self._folder / name
        try:
            pack = read_pack(file, self._owner, self._layers)
        except FileNotFoundError:
            return  # removed as the least recently used
        except OSError as error:
            self._warn("unreadable", f"{file}: cannot be read ({error}); its texts are encoded again")
        except EvalignError:
            self._warn("unreadable", f"{file}: damaged; it is removed, and its texts are encoded again")
            remove(file)
        else:
            self._packs[name] = pack
            self._places.update((key, (pack, number)) for number, key in enumerate(pack.keys))

    def _read_pack(self, pack: Pack, numbered: Mapping[int, Tokens]) -> dict[str, Embedded]:
        embedded: dict[str, Embedded] = {}
        file = pack.vectors.file
        try:
            with file.open("rb") as stream:
                for number, tokens in sorted(numbered.items()):
                    vectors = pack.read(stream, number, tokens.ids)
                    if vectors is not None:
                        embedded[tokens.text] = Embedded(tokens, vectors)
            self._mark_used(file)
            if len(embedded) < len(numbered):
                self._warn("unreadable", f"{file}: damaged; what it has lost is encoded again")
        except FileNotFoundError:
            pass  # removed as the least recently used, by this process or another
        except OSError as error:
            self._warn("unreadable", f"{file}: cannot be read ({error}); its texts are encoded again")
        return embedded

    def _warn(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning("evalign: %s", message)

    def _mark_used(self, file: Path) -> None:
        now = time.monotonic()
        if now - self._marked.get(file, -MARK_SECONDS) >= MARK_SECONDS:
            self._marked[file] = now
            with suppress(OSError):  # a folder that can only be read
                os.utime(file)


_cached_encoders: WeakSet[CachedEncoder] = WeakSet()


def flush_vectors() -> None:
    """Writes what waits for more, of every encoder: a process that is ended from outside has no last moment."""
    for encoder in list(_cached_encoders):
        encoder.folder.flush()


class CachedEncoder:
    """An encoder with its folder; everything but cached vectors comes from the encoder inside."""

    def __init__(self, encoder: Encoder, folder: PackFolder) -> None:
        self.encoder = encoder
        self.folder = folder
        self.name, self.precision, self.layers = encoder.name, encoder.precision, encoder.layers
        self.tokenizer_fingerprint, self.special_ids = encoder.tokenizer_fingerprint, encoder.special_ids
        self.tokenize, self.settle = encoder.tokenize, encoder.settle
        _cached_encoders.add(self)
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
