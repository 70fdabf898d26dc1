"""Sets of words by name, from `word_sets.txt`, which says what each is for."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def word_set(name: str) -> frozenset[str]:
    """The words listed below `[name]`."""
    text = resources.files("evalign.text").joinpath("word_sets.txt").read_text("utf-8")
    _, listed = text.split(f"[{name}]\n")
    lines = listed.partition("\n[")[0].splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
