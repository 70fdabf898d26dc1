"""Many realistic texts without ../shared: the project's own sentences, and what systems of known quality make of them.

The sentences are those of tests/lexical/data (news, summaries, translations), of the bundled example and of the laws.
A weak system drops, doubles, moves and exchanges words. The same texts come out on every machine and in every run.
"""

from __future__ import annotations

import json
import random
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from evalign.testing.trial import SENTENCES

TESTS = Path(__file__).resolve().parent
DATA = TESTS / "lexical" / "data"
Pair = tuple[str, str]

# SummEval's names, as tests pick systems by them; the share of words that each gets wrong. M22 is clearly better than
# M11 and M0, which are nearly the same.
SYSTEMS = {"M0": 0.41, "M11": 0.4, "M22": 0.2} | {f"own{place}": 0.08 + 0.05 * place for place in range(13)}
DOCUMENTS, REFERENCES = 100, 11


@lru_cache(maxsize=1)
def own_pairs() -> list[Pair]:
    """900 different pairs of candidate and reference: those written as pairs and disturbed sentences, mixed."""
    written = [*_meteor_pairs(), *_translation_pairs(), *_summary_pairs(), *_example_pairs()]
    chance = random.Random(16)
    summaries = [reference for _, reference in _summary_pairs()]
    references = [*own_sentences(), *summaries, *summaries]  # as long as translated news on average
    made = [(disturbed(text, chance.choice([0.1, 0.25, 0.5]), chance), text)
            for text in chance.choices(references, k=900)]  # fmt: skip
    pairs = list(dict.fromkeys([*written, *made]))[:900]
    return chance.sample(pairs, k=len(pairs))


@lru_cache(maxsize=1)
def own_sentences() -> list[str]:
    """Different sentences of at least four words, English."""
    texts = chain(
        (text for pair in _meteor_pairs() for text in pair),
        (text for pair in _translation_pairs() for text in pair),
        (sentence for unit in _units() for model in unit["models"].values() for sentence in model),
        (sentence for unit in _units() for sentence in unit["peers"]["lead"]),
        SENTENCES,
    )
    return [text for text in dict.fromkeys(texts) if len(text.split()) >= 4]


@lru_cache(maxsize=1)
def own_summaries() -> list[dict[str, Any]]:
    """Rows as SummEval has them: 100 documents, 16 systems, 11 references each."""
    rows = []
    for document in range(DOCUMENTS):
        chance = random.Random(document)
        models = list(_units()[document % len(_units())]["models"].values())
        first = chance.choice(models)
        references = [_retold(model, 0.15, chance) for model in (first, *chance.choices(models, k=REFERENCES - 1))]
        rows += [{"doc": f"own-{document}", "system": name, "references": references,
                  "candidate": _retold(first, share, chance)}
                 for name, share in SYSTEMS.items()]  # fmt: skip
    return rows


def own_systems(shares: list[float], count: int) -> tuple[list[list[str]], list[str]]:
    """What systems that get such shares of the words wrong make of the same sentences; the sentences."""
    references = random.Random(7).sample(own_sentences(), k=count)
    systems = []
    for place, share in enumerate(shares):
        chance = random.Random(100 + place)
        systems.append([disturbed(text, share, chance) for text in references])
    return systems, references


def disturbed(text: str, share: float, chance: random.Random) -> str:
    """The text with about that share of its words dropped, doubled, moved or exchanged for others."""
    words: list[str] = []
    for word in text.split():
        if chance.random() >= share:
            words.append(word)
            continue
        change = chance.choice(["drop", "double", "move", "exchange", "exchange"])
        if change == "double":
            words += [word, word]
        elif change == "move":
            words.insert(max(0, len(words) - chance.randint(1, 3)), word)
        elif change == "exchange":
            words.append(chance.choice(_vocabulary()))
    return " ".join(words) or text


def _retold(sentences: list[str], share: float, chance: random.Random) -> str:
    """A summary told again: words disturbed, and sometimes the sentences in another order."""
    order = chance.sample(sentences, k=len(sentences)) if chance.random() < 0.3 else sentences
    return " ".join(disturbed(sentence, share, chance) for sentence in order)


@lru_cache(maxsize=1)
def _vocabulary() -> list[str]:
    """Words as often as they are used, so that a text does not look strange by rare ones."""
    return [word.strip('.,;:!?"“”()').lower() or word for text in own_sentences() for word in text.split()]


def _read(name: str) -> dict[str, Any]:
    return dict(json.loads((DATA / name).read_text("utf-8")))


@lru_cache(maxsize=1)
def _units() -> list[dict[str, Any]]:
    return list(_read("inputs_summaries.json")["evals"])


def _meteor_pairs() -> list[Pair]:
    pairs = _read("meteor15.json")["inputs"]["en"]
    return [(candidate, reference) for candidate, references in pairs if candidate for reference in references]


def _translation_pairs() -> list[Pair]:
    texts = _read("sacrebleu.json")["inputs"]["news"]
    return [pair for stream in texts["refs"] for pair in zip(texts["hyp"], stream, strict=True) if all(pair)]


def _summary_pairs() -> list[Pair]:
    return [(" ".join(peer), " ".join(model)) for unit in _units()
            for peer in unit["peers"].values() for model in unit["models"].values()]  # fmt: skip


def _example_pairs() -> list[Pair]:
    lines = (TESTS.parent / "examples" / "simplification.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["candidate"], reference) for row in rows for reference in row["references"]]
