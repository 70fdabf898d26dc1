"""Systems of known quality for tests of comparisons: references with a share of their words changed at random."""

import random

WORDS = (
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "under",
    "mat",
    "tree",
    "and",
    "then",
    "slept",
    "barked",
    "today",
)


def references(count: int) -> list[str]:
    return [" ".join(random.Random(i).choices(WORDS, k=8)) for i in range(count)]


def damaged(texts: list[str], share: float, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choice(WORDS) if draw.random() < share else word for word in text.split()) for text in texts]
