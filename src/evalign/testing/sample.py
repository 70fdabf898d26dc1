"""What the laws are tried on: rows of unlike lengths, and texts that break careless code.

Candidates and references are short and long in unrelated order: with two rows, or with both sides
ordered alike, results that were put back in the wrong order go unseen (as in torchmetrics' own tests).
"""

from __future__ import annotations

import random

from evalign.types import Row

SENTENCES = """\
The ferry crossed the bay at dawn, and gulls followed it for an hour.
She repaired the old clock with a needle, a magnet and a great deal of patience.
Economists disagree about the cause.
Rain is expected over the northern provinces until Thursday evening.
Why did nobody read the manual?
The committee postponed its decision because two members were ill.
Small boats are cheaper to keep than large ones, but they are slower in bad weather.
He never answered.
Photosynthesis turns light, water and carbon dioxide into sugar and oxygen.
Three of the five suspects were released without charge on Monday.
A quiet street, a green door, no name on the bell.
The new bridge carries forty thousand vehicles a day, twice as many as the engineers had assumed.
Bread was baked here until 1987.
Investigators found that the pump had failed hours before the alarm was raised.
Children under twelve travel free of charge!
The translation is faithful, although the rhythm of the original is lost.""".splitlines()

WORDS = ("harbour", "economics", "violin", "granite", "Thursday", "photosynthesis", "bread", "lightning")

# Words per text. A tuple is a row with several references.
CANDIDATE_LENGTHS = (3, 150, 25, 70, 1, 110, 12, 45, 2)
REFERENCE_LENGTHS = ((90,), (2,), (130,), (9, 100), (60,), (3,), (50, 1, 30), (20,), (5,))

STRANGE = {
    "empty": "",
    "spaces": " \t\n\u00a0\u2003 ",
    "zero width": "\u200b\u200d\ufeff",
    "punctuation": "?!... --- ,;:",
    "lone surrogate": "a \ud800 lone\udfff surrogate \ud83d",
    "NUL": "zero\x00byte\x00",
    "control": "\x01\x1b[31m\x7f\x85\u2028",
    "joined emoji": "👩‍👩‍👧‍👦 family 🏳️‍🌈 flag 👍🏽",
    "right to left": "\u202eשלום עולם\u202c مرحبا بالعالم",
    "combining": "Z\u0335\u0321\u0322a\u0300\u0301\u0302l\u0334g\u0489o" + "\u0301" * 50,
    "no spaces": "これは分かち書きのない文です。这也是一句话。",
    "private use": "\ue000\U0010ffff\ufffe",
    "spelt special tokens": "[CLS] </s> <s> [SEP] [PAD] <unk> [MASK]",
    "format": "%s {0} ${HOME} \\n | key:value",
}


def make_text(words: int, seed: int = 0) -> str:
    """English sentences in an order that `seed` decides, cut after so many words."""
    order = random.Random(seed)
    chosen: list[str] = []
    while len(chosen) < words:
        chosen.extend(order.choice(SENTENCES).split())
    return " ".join(chosen[:words])


def make_rows() -> list[Row]:
    """Nine rows; one text is both a candidate and another row's reference, and one pair is equal."""
    rows = []
    for place, (own, others) in enumerate(zip(CANDIDATE_LENGTHS, REFERENCE_LENGTHS, strict=True)):
        references = tuple(make_text(words, 100 * place + each) for each, words in enumerate(others, start=1))
        rows.append(Row(str(place), make_text(own, 100 * place), references, make_text(own // 2 + 8, 100 * place + 50)))
    twice = rows[2].references[0]
    shared = Row("shared", twice, (make_text(35, 7),), make_text(30, 8))
    equal = Row("equal", rows[7].candidate, (rows[7].candidate,), make_text(30, 9))
    return [*rows, shared, equal]
