"""Weighting: from an encoded text to the vectors and weights that a token metric compares.

    Embedded --Weigher--> WeightedText

`Weighting` is the value (which tokens weigh, by IDF or learned importance, n-grams or one pooled vector); `Weigher` is
that value with its encoder and tables loaded.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from evalign.core import Bools, Embedded, Floats, Row, Tokens
from evalign.core.metric import blocks
from evalign.encoders.adapter import Adapter, read_adapter
from evalign.encoders.base import Encoder
from evalign.errors import LengthMismatchError, SpecError
from evalign.matching.similarity import ngrams
from evalign.text.idf import IDFTable, TokenWeights
from evalign.text.words import continues, word_set

CORPUS_IDF = ("references", "sources")  # which texts of the scored rows an IDF table is counted over
SIDES = "sides"  # moverscore's preset: one table of the candidates, one of the references
CONTENT, EVERY_TOKEN, BERT_SCORE = "content", "all", "bert_score"


@dataclass(frozen=True, eq=False)
class WeightedText:
    """A text ready to be matched: the vectors and weights of the tokens that take part."""

    embedded: Embedded
    weights: Floats
    empty: bool
    counts: dict[str, int]

    @property
    def tokens(self) -> Tokens:
        """Tokens that take part."""
        return self.embedded.tokens


def total_counts(*texts: WeightedText) -> dict[str, int]:
    """Sum the flags of several texts; a text that occurs twice is counted once."""
    return add_counts(*(text.counts for text in {text.tokens.text: text for text in texts}.values()))


def add_counts(*counts: Mapping[str, int]) -> dict[str, int]:
    """Sum flag counts by name."""
    names = dict.fromkeys(name for part in counts for name in part)
    return {name: sum(part.get(name, 0) for part in counts) for name in names}


@dataclass(frozen=True)
class TokenFilter:
    """Tokens that weigh nothing: stop words, continuations of a word, punctuation; each option is keep or drop."""

    stopwords: str = "keep"  # or the words themselves, as in the+a+of
    subwords: str = "keep"
    punctuation: str = "keep"

    @cached_property
    def words(self) -> frozenset[str]:
        """Stop words in lower case."""
        named = {"keep": frozenset[str](), "drop": word_set("function words")}
        return named[self.stopwords] if self.stopwords in named else frozenset(self.stopwords.split("+"))

    def reasons(self, tokens: Tokens) -> list[str]:
        """Return for each token the option that drops it, "" for tokens that are kept."""
        if self == TokenFilter():
            return [""] * len(tokens)
        return [self._reason(tokens, index) for index in range(len(tokens))]

    def _reason(self, tokens: Tokens, index: int) -> str:
        word = tokens.pieces[index].lower().lstrip("▁Ġ")
        if word in self.words:
            return f"stopwords={self.stopwords}"
        if self.subwords == "drop" and continues(tokens, index):
            return "subwords=drop"
        if self.punctuation == "drop" and word and all(char in string.punctuation for char in word):
            return "punctuation=drop"
        return ""


class Pooling(Protocol):
    """A rule that makes one vector of a text."""

    def vector(self, text: WeightedText, weighted: bool) -> Floats:
        """Return (layers, width); `weighted` if the text has IDF weights."""


@dataclass(frozen=True)
class Weighting:
    """Rules that turn an encoded text into weighted vectors.

    `idf` is no, references, sources, sides or a file; `weighted_tokens` says which tokens may weigh anything;
    `adapter` is the folder whose token importance multiplies the weights.
    """

    idf: str = "no"
    specials: str = "keep"
    weighted_tokens: str = CONTENT
    adapter: str = ""
    filter: TokenFilter = field(default_factory=TokenFilter)
    ngram: int = 1
    pooling: Pooling | None = None

    def load(self, encoder: Encoder, rows: Iterable[Row] | None, table: TokenWeights | None = None) -> Weigher:
        """Load or count the IDF tables and the token importance.

        Args:
            encoder: The encoder whose texts are weighed.
            rows: Rows to be scored, over which `idf=references` or `sources` is counted.
            table: Weights that replace `idf`.
        """
        adapter = read_adapter(self.adapter).for_layers(encoder.layers) if self.adapter else None
        if self.idf == SIDES:
            if table is not None:
                raise SpecError("idf=sides counts a table for each side over all rows at once; no other table fits")
            return Weigher(self, encoder, None, adapter, _side_tables(encoder, rows))
        return Weigher(self, encoder, table or self._table(encoder, rows), adapter)

    def _table(self, encoder: Encoder, rows: Iterable[Row] | None) -> TokenWeights | None:
        if self.idf == "no":
            return None
        if self.idf not in CORPUS_IDF:
            table = IDFTable.load(self.idf)
            table.check(encoder.tokenizer_fingerprint)
            return table
        return count_idf(encoder, corpus_texts(_all_rows(rows, self.idf), self.idf))


@dataclass(frozen=True, eq=False)
class Weigher:
    """A `Weighting` with its encoder and tables; `side_tables` are those of candidates and references (idf=sides)."""

    weighting: Weighting
    encoder: Encoder
    table: TokenWeights | None = None
    adapter: Adapter | None = None
    side_tables: tuple[IDFTable, IDFTable] | None = None

    @property
    def idf_name(self) -> str:
        """Entry `idf` of a signature: where the table comes from and a hash of its content."""
        if self.side_tables is not None:
            digest = hashlib.sha256("".join(table.digest for table in self.side_tables).encode()).hexdigest()[:8]
            return f"{SIDES}@{digest}"
        if self.table is None:
            return "no"
        return f"{self.weighting.idf if self.weighting.idf in CORPUS_IDF else 'table'}@{self.table.digest}"

    def weigh_sides(self, embedded: Mapping[str, Embedded]) -> tuple[dict[str, WeightedText], dict[str, WeightedText]]:
        """Weigh texts as candidates and as references; both are the same unless each side has its own IDF table."""
        if self.side_tables is None:
            texts = {text: self.weigh(vectors) for text, vectors in embedded.items()}
            return texts, texts
        candidates, references = (
            {text: self.weigh(vectors, table) for text, vectors in embedded.items()} for table in self.side_tables
        )
        return candidates, references

    def weigh(self, embedded: Embedded, side_table: IDFTable | None = None) -> WeightedText:
        """Return the text as it is matched: its tokens, its n-grams or its pooled vector, with weights."""
        text = self.weigh_tokens(embedded)
        if text.empty:
            return text
        text = self._as_ngrams(text)
        if side_table is not None:
            text = _reweighted(text, side_table)
        pooling = self.weighting.pooling
        return text if pooling is None else _pooled(text, pooling.vector(text, self.table is not None))

    def weigh_tokens(self, embedded: Embedded) -> WeightedText:
        """Return all tokens of the text with their weights, before filters, n-grams and pooling."""
        tokens = embedded.tokens
        counts = tokens.counts
        if self.table is not None and (missing := self.table.missing(tokens.ids[~tokens.special])):
            counts["idf-missing"] = missing
        weighted = self.may_weigh(tokens)
        weights = weighted * (1.0 if self.table is None else self.table.weights(tokens.ids))
        if not weights.any() and not tokens.empty:
            weights = (~tokens.special).astype(np.float64)
            counts["idf-zero"] = 1
        if self.adapter is not None:
            weights = weights * self.adapter.token_weights(embedded, self.encoder.layers)
        if self.weighting.specials == "drop":
            embedded, weights = embedded.keep(~tokens.special), weights[~tokens.special]
        return WeightedText(embedded, weights, tokens.empty, counts)

    def may_weigh(self, tokens: Tokens) -> Bools:
        """Return which tokens may weigh anything, usually all but special ones, also where a text spells one out."""
        rule, special_ids = self.weighting.weighted_tokens, self.encoder.special_ids
        if rule == EVERY_TOKEN or (rule == BERT_SCORE and self.table is not None):
            return np.ones(len(tokens), dtype=bool)
        content = np.ones(len(tokens), dtype=bool) if rule == BERT_SCORE else ~tokens.special
        for special_id in special_ids:  # two or three; np.isin is slower
            content &= tokens.ids != special_id
        return content

    def _as_ngrams(self, text: WeightedText) -> WeightedText:
        """Drop filtered tokens, unless none would be left, and join neighbours to n-grams."""
        weighting, weights = self.weighting, text.weights
        if weighting.filter != TokenFilter():
            filtered = weights * np.array([not reason for reason in weighting.filter.reasons(text.tokens)])
            weights = filtered if filtered.any() else weights
        if weighting.ngram == 1:
            return replace(text, weights=weights)
        heavy = text.embedded.keep(weights > 0)
        vectors, masses = ngrams(heavy.vectors, weights[weights > 0], weighting.ngram)
        return replace(text, embedded=Embedded(_ngram_tokens(heavy.tokens, weighting.ngram), vectors), weights=masses)


def count_idf(encoder: Encoder, texts: Iterable[str]) -> IDFTable:
    """Count an IDF table over texts as the encoder's tokenizer splits them, a block at a time."""
    ids = (tokens.ids for block in blocks(texts) for tokens in encoder.tokenize(block))
    return IDFTable.count(encoder.tokenizer_fingerprint, ids)


def corpus_texts(rows: Iterable[Row], source: str) -> Iterator[str]:
    """Yield the references or the sources of all rows; a row without a source is an error."""
    check_one_table(source)
    for row in rows:
        if source == "references":
            yield from row.references
        elif row.source is None:
            raise LengthMismatchError(f"row {row.id}: idf=sources needs a source in every row")
        else:
            yield row.source


def check_one_table(source: str) -> None:
    """Raise SpecError for `idf=sides`, which counts two tables over all rows at once."""
    if source == SIDES:
        raise SpecError(
            "preset=moverscore_v2 (idf=sides) needs two tables, counted where all rows are scored at once: evalign "
            "score, compare or agree; preset=moverscore_v2-plain needs none"
        )


def _side_tables(encoder: Encoder, rows: Iterable[Row] | None) -> tuple[IDFTable, IDFTable]:
    seen = _all_rows(rows, SIDES)
    return count_idf(encoder, (row.candidate for row in seen)), count_idf(encoder, corpus_texts(seen, "references"))


def _all_rows(rows: Iterable[Row] | None, idf: str) -> Iterable[Row]:
    if rows is None or not getattr(rows, "rereadable", True):
        raise SpecError(
            f"idf={idf} needs all rows at once before the first is scored, and a stream can be read only once; "
            "fit a table first (evalign fit idf) and pass idf=FILE"
        )
    return rows


def _reweighted(text: WeightedText, table: IDFTable) -> WeightedText:
    """Multiply the weights by IDF; a text that would weigh nothing keeps its weights and is flagged."""
    weights = text.weights * table.weights(text.tokens.ids)
    if not weights.any():
        return replace(text, counts=text.counts | {"idf-zero": 1})
    return replace(text, weights=weights)


def _pooled(text: WeightedText, vector: Floats) -> WeightedText:
    """Replace the tokens by the first, which carries the pooled vector (layers, width)."""
    first = text.tokens.keep(np.arange(len(text.tokens)) == 0)
    return replace(text, embedded=Embedded(first, vector[:, None, :]), weights=np.ones(1))


def _ngram_tokens(tokens: Tokens, n: int) -> Tokens:
    """Return n-grams as tokens: joined pieces, from the start of the first to the end of the last."""
    size = min(n, len(tokens))
    if size == 1:
        return tokens
    count = len(tokens) - size + 1
    offsets = [(tokens.offsets[i][0], tokens.offsets[i + size - 1][1]) for i in range(count)]
    return replace(
        tokens,
        pieces=tuple(" ".join(tokens.pieces[i : i + size]) for i in range(count)),
        ids=tokens.ids[:count],
        offsets=np.array(offsets, dtype=np.int32),
        special=np.zeros(count, dtype=bool),
        unknown=tuple(index for index in tokens.unknown if index < count),
        window_starts=tuple(index for index in tokens.window_starts if index < count),
    )
