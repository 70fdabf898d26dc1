"""Packs of token vectors on disk (vector_pack.py), found by text; written by many processes, never changed.

A root folder holds one folder per encoder, named by the sha256 of everything that decides a vector. All of it only
saves time: whatever is wrong with the disk is logged once, and scoring goes on without it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any

from evalign.encoders.vector_pack import Entry, Pack, read_pack, text_key, vectors_digest, write_pack
from evalign.errors import EvalignError
from evalign.types import Embedded, Tokens
from evalign.version import __version__

FORMAT = 1
PACK_BYTES = 16 * 2**20
LEAST_BYTES = 2**20  # less waits for more, or for the end: a pack per pair would be a million files
STALE_SECONDS = 3600  # a writer needs a second: what is older was left by one that was killed
FOLDERS, PACKS, PARTS = "embeddings-*", "pack-*.safetensors", ".pack-*.part"

log = logging.getLogger(__name__)
Place = tuple[Pack, int] | Entry  # a number in a pack, or not yet written


class PackFolder:
    """One encoder's packs. Threads and processes may share it: each process writes its own, and waits for no other."""

    def __init__(self, root: Path, identity: Mapping[str, Any], layers: int, max_bytes: int) -> None:
        told = json.dumps({"format": FORMAT, "evalign": __version__, **identity}, sort_keys=True)
        self._owner = hashlib.sha256(told.encode()).digest()
        self._root, self._folder = root, root / FOLDERS.replace("*", self._owner.hex()[:40])
        self._layers, self._max_bytes = layers, max_bytes
        self._lock = RLock()
        self._places: dict[bytes, tuple[Pack, int]] = {}
        self._packs: dict[str, Pack | None] = {}  # by name; None for one that cannot be read
        self._listed = -1  # the time of the folder's last change when it was listed
        self._waiting: dict[bytes, Entry] = {}
        self._waiting_bytes = 0
        self._writing = True
        self._told: set[str] = set()

    def places(self, texts: Iterable[str]) -> dict[str, Place]:
        """Where the vectors of those texts are that have been kept."""
        keys = {text: text_key(text) for text in texts}
        with self._lock:
            self._list()
            known = {text: self._waiting.get(key) or self._places.get(key) for text, key in keys.items()}
            return {text: place for text, place in known.items() if place is not None}

    def read(self, places: Mapping[str, Place], tokens: Iterable[Tokens]) -> dict[str, Embedded]:
        """The vectors in these places, given the texts' tokens; without those that are damaged."""
        found: dict[str, Embedded] = {}
        by_pack: dict[Pack, dict[int, Tokens]] = {}
        for one in tokens:
            place = places[one.text]
            if isinstance(place, Entry):
                found[one.text] = Embedded(one, place.vectors)
            else:
                pack, number = place
                by_pack.setdefault(pack, {})[number] = one
        for pack, wanted in by_pack.items():
            found.update(self._from_pack(pack, wanted))
        return found

    def add(self, made: Iterable[Embedded]) -> None:
        """Keeps vectors; small numbers of them are written later, see `flush`."""
        with self._lock:
            for one in made:
                if not self._writing or one.vectors.nbytes > self._max_bytes:
                    continue
                key = text_key(one.tokens.text)
                self._waiting[key] = Entry(key, vectors_digest(one.tokens.ids, one.vectors), one.vectors)
                self._waiting_bytes += one.vectors.nbytes
                if self._waiting_bytes >= PACK_BYTES:
                    self.flush()
            if self._waiting_bytes >= LEAST_BYTES:
                self.flush()

    def flush(self) -> None:
        """Writes what waits."""
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
            except (EvalignError, OSError) as error:
                self._writing = False
                self._tell("unwritable", f"{self._folder}: vectors are not kept, it cannot be written to ({error})")
                return
            self._index(file.name)
            with suppress(OSError):
                remove_oldest(self._root, self._max_bytes)

    def _list(self) -> None:
        """Reads the indices of new packs, another process's among them; of equal texts the newest. Forgets old ones."""
        try:
            changed = self._folder.stat().st_mtime_ns
            if changed == self._listed:
                return
            self._listed = changed
            names = {file.name for file in self._folder.glob(PACKS)}
        except OSError:
            return  # nothing was kept yet
        for name in self._packs.keys() - names:
            self._forget(self._packs.pop(name))
        for name in sorted(names - self._packs.keys()):
            self._index(name)

    def _forget(self, pack: Pack | None) -> None:
        for key in pack.keys if pack is not None else ():
            place = self._places.get(key)
            if place is not None and place[0] is pack:  # not in a newer one
                del self._places[key]

    def _index(self, name: str) -> None:
        self._packs[name] = None
        file = self._folder / name
        try:
            pack = read_pack(file, self._owner, self._layers)
        except FileNotFoundError:
            return  # removed as the oldest
        except OSError as error:
            self._tell("unreadable", f"{file}: cannot be read ({error}); its texts are encoded again")
        except EvalignError:
            self._tell("unreadable", f"{file}: damaged; it is removed, and its texts are encoded again")
            _remove(file)
        else:
            self._packs[name] = pack
            self._places.update((key, (pack, number)) for number, key in enumerate(pack.keys))

    def _from_pack(self, pack: Pack, wanted: Mapping[int, Tokens]) -> dict[str, Embedded]:
        found: dict[str, Embedded] = {}
        file = pack.vectors.file
        try:
            with file.open("rb") as stream:
                for number in sorted(wanted):
                    vectors = pack.read(stream, number, wanted[number].ids)
                    if vectors is not None:
                        found[wanted[number].text] = Embedded(wanted[number], vectors)
            if len(found) < len(wanted):
                self._tell("unreadable", f"{file}: damaged; what it has lost is encoded again")
        except FileNotFoundError:
            pass  # removed as the oldest, by this process or another
        except OSError as error:
            self._tell("unreadable", f"{file}: cannot be read ({error}); its texts are encoded again")
        return found

    def _tell(self, kind: str, message: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            log.warning("evalign: %s", message)


def remove_oldest(root: Path, max_bytes: int) -> None:
    """Removes packs of all encoders, oldest first, down to `max_bytes`; whoever reads one finishes reading it."""
    sizes = {}
    for file in root.glob(f"{FOLDERS}/{PACKS}"):
        with suppress(OSError):
            sizes[file] = file.stat().st_size
    total = sum(sizes.values())
    for file in sorted(sizes, key=lambda file: file.name):  # names begin with the time
        if total <= max_bytes:
            break
        _remove(file)
        total -= sizes[file]
    for file in root.glob(f"{FOLDERS}/{PARTS}"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > STALE_SECONDS:
                _remove(file)


def _remove(file: Path) -> None:
    with suppress(OSError):
        os.unlink(file)
