"""What a study uses: which rows, drawn from those that can be used, with notes about the others, and which models.

Source and reference make a pair across languages, as in the LiSAScore paper; candidate and reference one within. A
model is known by the contents of its files, and shown by a name that no other model here has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TypeVar

import numpy as np

from evalign.data.rows import Columns, TableFile
from evalign.encoders.digest import file_digest
from evalign.encoders.loading import FAKE
from evalign.encoders.locating import locate
from evalign.errors import InputError
from evalign.studies.step_cache import digest_of
from evalign.types import Row

T = TypeVar("T")
CROSS, WITHIN = "source/reference", "candidate/reference"
EXAMPLE = "lisa/example_en_de.jsonl"
NO_SOURCE = f"{CROSS} pairs: no row of the data has a source; give rows with a source, or its name as --source-field"
NO_CANDIDATE = (
    f"{WITHIN} pairs: no row of the data has a candidate; give rows with one, or its name as --candidate-field"
)
SETTING_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True)
class StudyPairs:
    """The rows that a study uses, the name of their data, and notes about how they were chosen."""

    name: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of pairs these rows make, the main one first."""
        having = {CROSS: self.rows[0].source, WITHIN: self.rows[0].candidate.strip()}
        return tuple(kind for kind, text in having.items() if text)

    @property
    def digest(self) -> str:
        """Of all texts in order."""
        return digest_of([[row.source, row.references[0], row.candidate] for row in self.rows])


def sides(rows: Iterable[Row], kind: str) -> tuple[list[str], list[str]]:
    """First and second texts of one kind of pair."""
    rows = list(rows)
    first = [(row.source or "") if kind == CROSS else row.candidate for row in rows]
    return first, [row.references[0] for row in rows]


def read_rows(
    data: str | None, columns: Columns, input_format: str | None = None, example: str = EXAMPLE
) -> tuple[str, list[Row]]:
    """The rows of a file and what it is called; without a file, of an example that comes with evalign."""
    if data is not None:
        return Path(data).name, list(TableFile(data, columns, input_format))
    with resources.as_file(resources.files("evalign.studies").joinpath(example)) as file:
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
    places = np.sort(np.random.default_rng(seed).permutation(len(items))[:count])
    return [items[place] for place in places]


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
    """A digest of weights, configuration and tokenizer, for the keys of steps."""
    if model == FAKE:
        return FAKE
    located = locate(model)
    files = (located.directory / name for name in SETTING_FILES)
    return digest_of([located.sha256, *(file_digest(file) for file in files if file.is_file())])


def model_pin(model: str) -> str:
    """As signatures show the model: its name and a digest of its weights."""
    return "fake@00000000" if model == FAKE else locate(model).pinned


def shown_names(pins: Mapping[str, str]) -> dict[str, str]:
    """By model, a unique name: its own; its pin where two models share a name; as it was given if they share both."""
    labels = Counter(pin.partition("@")[0] for pin in pins.values())
    shared = Counter(pins.values())
    return {
        model: label if labels[label := pin.partition("@")[0]] == 1 else pin if shared[pin] == 1 else model
        for model, pin in pins.items()
    }
