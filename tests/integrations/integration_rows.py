"""Rows for every integration: lengths of candidates and references that are in no common order; and bad ones."""

import re
from pathlib import Path

CANDIDATES = ["a cat", "the dogs bark at night, all of them", "x", "w", "Grüße aus Köln 🐈 and more words"]
REFERENCES = ["the cat sat on a mat", "dogs bark", "y z", "nothing of the kind was ever said here", "Grüße aus Köln"]
SEVERAL = [[text, "one more"] for text in REFERENCES]
SOURCES = ["the big cat", "dogs are barking", "x y z", "no", "Viele Grüße"]
NOT_A_NUMBER = float("nan")

# candidates, references, a part of evalign's sentence
BAD_ROWS = [
    ([None], ["a"], r"candidates\[0\]: expected a string, found NoneType"),
    (["a"], [None], r"references\[0\]: expected strings, found NoneType"),
    ([NOT_A_NUMBER], ["a"], r"candidates\[0\]: expected a string, found float"),
    (["a", 7], ["a", "b"], r"candidates\[1\]: expected a string, found int"),
    (["a"], [3.5], r"references\[0\]: expected strings, found float"),
    (["a"], [[]], "every candidate needs at least one reference"),
    (["a", "b"], ["a"], "2 candidates but 1 references"),
]
BAD_NAMES = ["no-text", "no-reference", "nan", "number", "number-reference", "empty-list", "lengths"]


def documented(heading: str) -> str:
    """The Python of a section of docs/integrations.md."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "integrations.md").read_text("utf-8")
    section = page.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"^```python\n(.*?)^```", section, re.M | re.S))
