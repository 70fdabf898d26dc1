"""Inputs of a study: rows, sampled from the usable ones, with notes on the rest; models; cached steps.

Pairs across languages are source and reference, as in the LiSAScore paper; pairs within a language are candidate and
reference. A model is identified by the contents of its files, and displayed by a unique name.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from io import BytesIO
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from evalign.core import Floats, Row
from evalign.encoders.loading import FAKE
from evalign.encoders.weights import locate
from evalign.errors import FileFormatError, InputError
from evalign.io.files import cache_folder, write_file
from evalign.io.rows import Columns, TableFile
from evalign.version import __version__

T = TypeVar("T")
CROSS, WITHIN = "source/reference", "candidate/reference"
EXAMPLE = "lisa/example_en_de.jsonl"
NO_SOURCE = f"{CROSS} pairs: no row of the data has a source; give rows with a source, or its name as `source_field`"
NO_CANDIDATE = (
    f"{WITHIN} pairs: no row of the data has a candidate; give rows with one, or its name as `candidate_field`"
)


@dataclass(frozen=True)
class StudyPairs:
    """Rows of a study, the name of their data, and notes on the selection."""

    name: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def pair_types(self) -> tuple[str, ...]:
        """Return the types of pairs that the rows have, the main type first."""
        having = {CROSS: self.rows[0].source, WITHIN: self.rows[0].candidate.strip()}
        return tuple(pair_type for pair_type, text in having.items() if text)

    @property
    def digest(self) -> str:
        """Return the digest of all texts in order."""
        return digest_of([[row.source, row.references[0], row.candidate] for row in self.rows])


def sides(rows: Iterable[Row], pair_type: str) -> tuple[list[str], list[str]]:
    """Return the first and second texts of a type of pairs."""
    rows = list(rows)
    first = [(row.source or "") if pair_type == CROSS else row.candidate for row in rows]
    return first, [row.references[0] for row in rows]


def read_rows(
    data: str | None, columns: Columns, input_format: str | None = None, example: str = EXAMPLE
) -> tuple[str, list[Row]]:
    """Return the name and the rows of a file; without a file, of the included example."""
    if data is not None:
        return Path(data).name, list(TableFile(data, columns, input_format))
    with resources.as_file(resources.files("evalign.research.studies").joinpath(example)) as file:
        return "the example that comes with evalign", list(TableFile(str(file), Columns()))


def choose(name: str, rows: Iterable[Row], count: int, seed: int) -> StudyPairs:
    """At most `count` rows, drawn at random from those whose source and first reference occur for the first time."""
    rows = list(rows)
    sourced = any(row.source and row.source.strip() for row in rows)
    written = any(row.candidate.strip() for row in rows)
    dropped: Counter[str] = Counter()
    usable = list(_usable(rows, sourced, written, dropped)) if sourced or written else []
    if not usable:
        needed = ["a reference", *["a source"] * sourced, *["a candidate"] * (written or not sourced)]
        raise InputError(f"{name}: no row has {' and '.join(needed)}, so there are no pairs to study")
    notes = [f"{number} rows left out: {why}" for why, number in dropped.items()]
    if len(usable) < count:
        notes.append(f"{count} pairs were asked for, but there are {len(usable)}")
    missing = [sentence for sentence, there in ((NO_SOURCE, sourced), (NO_CANDIDATE, written)) if not there]
    return StudyPairs(name, tuple(draw(usable, count, seed)), tuple(notes), tuple(missing))


def draw(items: Sequence[T], count: int, seed: int) -> list[T]:
    """At most `count` of the items, drawn at random, in their order."""
    indices = np.sort(np.random.default_rng(seed).permutation(len(items))[:count])
    return [items[index] for index in indices]


def _usable(rows: Iterable[Row], sourced: bool, written: bool, dropped: Counter[str]) -> Iterator[Row]:
    """Rows with all texts, each source and reference once: a repeated text would make a true pair among negatives."""
    seen: set[str] = set()
    for row in rows:
        texts = [row.references[0] if row.references else "", *([row.source or ""] if sourced else [])]
        if (written and not row.candidate.strip()) or not all(text.strip() for text in texts):
            dropped["an empty or missing text"] += 1
        elif seen.intersection(texts):
            dropped["their source or reference came before"] += 1
        else:
            seen.update(texts)
            yield row


def model_identity(model: str) -> str:
    """Return the digest of the model's files, for the keys of steps."""
    return FAKE if model == FAKE else locate(model).digest


def model_pin(model: str) -> str:
    """As signatures show the model: its name and a digest of its weights."""
    return "fake@00000000" if model == FAKE else locate(model).pinned


def shown_names(pins: Mapping[str, str]) -> dict[str, str]:
    """Return a unique name for each model: its own, or its pin where two models share a name."""
    labels = Counter(pin.partition("@")[0] for pin in pins.values())
    return {model: label if labels[label := pin.partition("@")[0]] == 1 else pin for model, pin in pins.items()}


Arrays = Mapping[str, Floats]
KEY = "key"
DAMAGED = (OSError, ValueError, EOFError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zipfile.LargeZipFile,
           NotImplementedError)  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """A folder of finished steps; with `folder=None` every step is computed again and nothing is stored."""

    folder: Path | None

    @classmethod
    def of(cls, study: str, keep: bool = True) -> Steps:
        """The steps of one study in evalign's cache folder."""
        return cls(cache_folder() / "studies" / study if keep else None)

    def arrays(self, key: Mapping[str, Any], make: Callable[[], Arrays]) -> dict[str, Floats]:
        """The arrays of a step, from its file or made now."""

        def read(stream: IO[bytes]) -> dict[str, Any]:
            with np.load(stream, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}

        return self._step(key, ".npz", read, make, lambda stream, content: np.savez(stream, **content))

    def values(self, key: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        """The same for JSON values."""
        return self._step(
            key,
            ".json",
            json.load,
            lambda: json.loads(json.dumps({"value": make()})),  # the same types whether read or made
            lambda stream, content: stream.write(json.dumps(content).encode("utf-8")),
        )["value"]

    def _step(
        self,
        key: Mapping[str, Any],
        ending: str,
        read: Callable[[IO[bytes]], dict[str, Any]],
        make: Callable[[], Mapping[str, Any]],
        write: Callable[[IO[bytes], dict[str, Any]], Any],
    ) -> dict[str, Any]:
        if self.folder is None:
            return dict(make())
        identity = json.dumps({"evalign": __version__, **key}, sort_keys=True)
        file = self.folder / f"{hashlib.sha256(identity.encode('utf-8')).hexdigest()[:40]}{ending}"
        try:
            content = read(_checked(file.read_bytes()))
            if str(content.pop(KEY)) == identity:
                return content
        except DAMAGED:
            pass
        content, stored = dict(make()), BytesIO()
        write(stored, {KEY: identity, **content})
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_file(file, hashlib.sha256(stored.getvalue()).digest() + stored.getvalue())
        except (OSError, FileFormatError):
            pass  # the cache only saves time: a folder that cannot be written to must not stop a study
        return content


def _checked(raw: bytes) -> BytesIO:
    """Return the content of a step's file after its digest; raise ValueError if it does not fit."""
    size = hashlib.sha256().digest_size
    if hashlib.sha256(raw[size:]).digest() != raw[:size]:
        raise ValueError("the step does not fit its digest")
    return BytesIO(raw[size:])


def digest_of(texts: Any) -> str:
    """The sha256 of JSON values, such as the texts of a step."""
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode("utf-8")).hexdigest()
