"""The vectors that words have before an LSTM is trained: the training texts in, `WordRows` and their table out.

`random` draws them. Otherwise they are the rows of a model's embedding table, reduced to their principal components:
that start gives a much better result with a thousand pairs (docs/lstm.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from evalign.encoders.locating import locate
from evalign.encoders.lstm.words import WordRows, split_words
from evalign.encoders.safetensors_headers import TensorPlace, tensor_places
from evalign.encoders.tokenizer import Tokenizer
from evalign.errors import SpecError, UnsupportedModelError
from evalign.types import Floats

RANDOM = "random"
EMBEDDINGS = "word_embeddings.weight"
SEEN_TWICE = 2  # a word seen once is read as an unknown one, which is how letter groups learn


def random_start(texts: Iterable[str], width: int, buckets: int, seed: int) -> tuple[WordRows, Floats]:
    """Words that come at least twice in the texts, and normally distributed vectors."""
    counts = Counter(word for text in texts for word in split_words(text))
    words = WordRows(tuple(sorted(word for word, count in counts.items() if count >= SEEN_TWICE)), buckets)
    table = np.random.default_rng([seed, 1]).standard_normal((words.count, width), dtype=np.float32)
    return words, table


def model_start(texts: Iterable[str], width: int, buckets: int, model: str) -> tuple[WordRows, Floats]:
    """The words of the texts and all whole words of the model's vocabulary.

    A word's vector is the mean of its pieces' rows in the model's embedding table, in the `width` directions in which
    whole words differ most; that of a letter group the mean of the whole words that have it.
    """
    directory = locate(model).directory
    rows, tokenizer = _embeddings_place(directory, model).read(), Tokenizer.from_directory(directory)
    if width > rows.shape[1]:
        raise SpecError(
            f"width={width}: the word vectors of {model} have {rows.shape[1]} numbers, take at most so many"
        )
    whole = _whole_words(tokenizer)
    seen = {word for text in texts for word in split_words(text)}
    words = WordRows(tuple(sorted(seen | set(whole))), buckets)
    vectors = _piece_means(words.vocabulary, tokenizer, rows)
    place = {word: row for row, word in enumerate(words.vocabulary)}
    vectors = vectors @ _principal(vectors[[place[word] for word in whole]], width)
    table = np.concatenate([vectors, _group_means(whole, vectors[[place[word] for word in whole]], words)])
    return words, (table / np.sqrt((vectors**2).mean())).astype(np.float32)


def word_width(model: str) -> int:
    """How many numbers the model's word vectors have."""
    return _embeddings_place(locate(model).directory, model).shape[1]


def _embeddings_place(directory: Path, model: str) -> TensorPlace:
    places = tensor_places(directory)
    names = [name for name in places if name.endswith(EMBEDDINGS)]
    if len(names) != 1:
        raise UnsupportedModelError(
            f"start={model}: expected one tensor *.{EMBEDDINGS} in it, found {len(names)}; take minilm or random"
        )
    return places[names[0]]


def _whole_words(tokenizer: Tokenizer) -> list[str]:
    """Pieces that are a word by themselves, in alphabetical order."""
    pieces = {tokenizer.piece(index).lstrip("Ġ▁") for index in range(tokenizer.size)}
    return sorted(piece for piece in pieces if split_words(piece) == [piece])


def _piece_means(words: Sequence[str], tokenizer: Tokenizer, rows: Floats) -> Floats:
    means = np.zeros((len(words), rows.shape[1]))
    for place, tokens in enumerate(tokenizer(words)):
        if (own := tokens.ids[~tokens.special]).size:
            means[place] = rows[own].mean(axis=0)
    return means


def _principal(vectors: Floats, width: int) -> Floats:
    """(all, width): the directions of largest variance; the vectors themselves are not centred (it scored lower)."""
    _, directions = np.linalg.eigh(np.cov(vectors, rowvar=False))
    return np.asarray(directions[:, ::-1][:, :width])


def _group_means(whole: Sequence[str], vectors: Floats, words: WordRows) -> Floats:
    groups = [words.group_rows(word) for word in whole]
    buckets = np.concatenate(groups) - len(words.vocabulary)
    owners = np.repeat(np.arange(len(whole)), [len(rows) for rows in groups])
    has = sparse.csr_matrix((np.ones(len(owners)), (buckets, owners)), shape=(words.buckets, len(whole)))
    return np.asarray(has @ vectors / np.maximum(has.sum(axis=1), 1))
