"""IDF counted over the rows to be scored, as their tokenizer cuts them: texts in, an `IDFTable` out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evalign.encoders.base import Encoder
from evalign.errors import LengthMismatchError, SpecError
from evalign.metrics.base import blocks
from evalign.text.idf import IDFTable
from evalign.types import Row

CORPUS_IDF = ("references", "sources")  # which texts of the rows are counted
SIDES = "sides"  # moverscore's preset: candidates and references, each in a table of its own


def count_idf(encoder: Encoder, texts: Iterable[str]) -> IDFTable:
    """Counts texts as the encoder's tokenizer cuts them, a block at a time."""
    ids = (tokens.ids for block in blocks(texts) for tokens in encoder.tokenize(block))
    return IDFTable.count(encoder.tokenizer_fingerprint, ids)


def corpus_texts(rows: Iterable[Row], which: str) -> Iterator[str]:
    """The texts of that kind, row by row; a row without one is an error."""
    check_one_table(which)
    for row in rows:
        if which == "references":
            yield from row.references
        elif row.source is None:
            raise LengthMismatchError(f"row {row.id}: idf=sources needs a source in every row")
        else:
            yield row.source


def check_one_table(which: str) -> None:
    """Raises SpecError where one table of all rows is not enough."""
    if which == SIDES:
        raise SpecError(
            "preset=moverscore_v2 (idf=sides) needs two tables, counted where all rows are scored at once: evalign "
            "score, compare or meta; preset=moverscore_v2-plain needs none"
        )
