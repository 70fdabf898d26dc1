"""What each change of a candidate does to its score: rows and their scores in, one `Robustness` per change out.

The changes are a table of functions of the text, with what a good metric should do: punish, forgive or reward.
`benchmarks/attacks.py` and docs/attacks.md use the cheap tricks among them (`TRICKS`).
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalign.analysis.audit.data_quality import item_of
from evalign.analysis.audit.trial import Trial
from evalign.analysis.audit.values import Robustness
from evalign.text.word_sets import word_set
from evalign.types import Floats, Row

STUFFING = "the of and to in a is that for it"
UNRELATED = "violin granite Thursday photosynthesis harbour economics bread lantern"
FALL, STAY, RISE = "fall", "stay", "rise"
MISSPELT = 4  # every fourth word
WORD = re.compile(r"\S+")
SAME = 1e-5  # what the batch that a text was encoded in can move a score by


@dataclass(frozen=True)
class Change:
    """What is done to a text, and what the score of the changed text should do."""

    about: str
    expected: str
    apply: Callable[[str], str]


def shuffled(text: str) -> str:
    """Its words in random order, always the same one."""
    words = text.split()
    random.Random(len(text)).shuffle(words)
    return " ".join(words)


def first_half(text: str) -> str:
    """The first half of its words, at least one."""
    words = text.split()
    return " ".join(words[: max(1, len(words) // 2)])


def misspelt(text: str) -> str:
    """Two neighbouring letters change places inside every fourth word that has four or more characters."""
    long_words = [word for word in WORD.finditer(text) if len(word.group()) > 3]
    for word in reversed(long_words[::MISSPELT]):
        middle = word.start() + len(word.group()) // 2
        text = text[: middle - 1] + text[middle] + text[middle - 1] + text[middle + 1 :]
    return text


def without_punctuation(text: str) -> str:
    """No punctuation marks; the text itself if it has nothing else."""
    rest = "".join(char for char in text if not unicodedata.category(char).startswith("P"))
    return " ".join(rest.split()) or text


def without_stop_words(text: str) -> str:
    """No English function words; the text itself if it has nothing else."""
    return " ".join(word for word in text.split() if word.lower() not in word_set("function words")) or text


TRICKS = {
    "repetition": Change("the whole text three times", FALL, lambda text: " ".join([text] * 3)),
    "padding": Change("eight unrelated words behind it", FALL, lambda text: f"{text} {UNRELATED}"),
    "stuffing": Change("ten function words behind it", FALL, lambda text: f"{text} {STUFFING}"),
    "truncation": Change("only the first half", FALL, first_half),
    "shuffling": Change("its words in random order", FALL, shuffled),
}
CHANGES = TRICKS | {
    "function words": Change("without English function words", FALL, without_stop_words),
    "misspelling": Change("two letters swapped in every fourth longer word", FALL, misspelt),
    "lower case": Change("all letters small", STAY, str.lower),
    "punctuation": Change("without punctuation marks", STAY, without_punctuation),
    "spaces": Change("two spaces between words", STAY, lambda text: "  ".join(text.split())),
}
# Their texts come from the row, or from another one, and not from the candidate.
OTHER_TEXT = Change("another row's candidate", FALL, str)
REFERENCE = Change("the first reference itself", RISE, str)
CHANGE_COUNT = len(CHANGES) + 2


def robustness(trial: Trial, rows: Sequence[Row], untouched: Floats) -> tuple[Robustness, ...]:
    """Every change of `CHANGES`, another row's candidate, and the reference, against the untouched scores."""
    measured = []
    for name, change, changed in _changed(rows, "references" in trial.metric.needs):
        moved = trial.scores(changed) - untouched
        moved = moved[np.isfinite(moved)]
        if len(moved):
            measured.append(_robustness(name, change, moved, untouched))
    return tuple(measured)


def _changed(rows: Sequence[Row], compares: bool) -> Iterator[tuple[str, Change, list[Row]]]:
    for name, change in CHANGES.items():
        yield name, change, [replace(row, candidate=change.apply(row.candidate)) for row in rows]
    others = [_other(rows, place) for place in range(len(rows))]
    yield "other text", OTHER_TEXT, [replace(row, candidate=text) for row, text in zip(rows, others, strict=True)]
    if compares:
        yield "reference", REFERENCE, [replace(row, candidate=(*row.references, "")[0]) for row in rows]


def _other(rows: Sequence[Row], place: int) -> str:
    """The next candidate, going round, that was written for another item; the row's own if there is none."""
    own = item_of(rows[place])
    following = (rows[(place + step) % len(rows)] for step in range(1, len(rows)))
    return next((row.candidate for row in following if item_of(row) != own), rows[place].candidate)


def _robustness(name: str, change: Change, moved: Floats, untouched: Floats) -> Robustness:
    deviation = float(np.nanstd(untouched))
    return Robustness(
        name,
        change.about,
        change.expected,
        len(moved),
        float(moved.mean()),
        float(moved.mean()) / deviation if deviation > SAME else None,
        float((moved < -SAME).mean()),
        float((moved > SAME).mean()),
    )
