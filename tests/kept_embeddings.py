"""Encoders whose vectors are kept on disk, for the tests of that; and what must be equal when they come back."""

from __future__ import annotations

import gc

import numpy as np

from evalign.encoders.embedding_store import CachedEncoder, PackFolder
from evalign.encoders.loading import close_encoders

WHO = {"weights": "test"}


def cached(encoder, root, max_bytes=2**30, **identity):
    return CachedEncoder(encoder, PackFolder(root, identity or WHO, len(encoder.layers), max_bytes))


def knowing(encoder, root, **identity):
    """The same encoder, as a later process would open it, that must not encode anything."""

    def refuse(texts, pad_to=None):
        raise AssertionError(f"encoded again: {texts}")

    again = cached(encoder, root, **identity)
    again.encoder = type("Refusing", (), {"encode": staticmethod(refuse), "tokenize": staticmethod(encoder.tokenize)})
    return again


def counting(encoder, seen):
    """Writes down which texts are really encoded."""
    real = encoder.encode

    def counted(texts, pad_to=None):
        seen.extend(texts)
        return real(texts, pad_to)

    encoder.encode = counted
    return encoder


def forget():
    """As the end of a process does: every loaded model goes, and what waits is written."""
    close_encoders()
    gc.collect()


def packs(root):
    return sorted(root.glob("embeddings-*/pack-*.safetensors"), key=lambda file: file.name)


def assert_same(ours, theirs):
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.vectors.dtype == other.vectors.dtype == np.float32
        assert one.vectors.shape == other.vectors.shape
        assert one.vectors.tobytes() == other.vectors.tobytes()
        for name in ("text", "pieces", "unknown", "dropped", "window_starts"):
            assert getattr(one.tokens, name) == getattr(other.tokens, name), name
        for name in ("ids", "offsets", "special"):
            mine, its = getattr(one.tokens, name), getattr(other.tokens, name)
            assert mine.dtype == its.dtype
            np.testing.assert_array_equal(mine, its, name)
        assert one.tokens.counts == other.tokens.counts
