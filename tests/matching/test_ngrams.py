"""N-gram vectors: by hand, against the formula written as a loop, and the laws of an average."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evalign.errors import InputError, SpecError
from evalign.matching.similarity import cosines, ngrams

VECTORS = np.array([[1.0, 0], [0, 1], [4, 4]])
TEXTS = st.tuples(st.integers(1, 3), st.integers(1, 8)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float32, (*shape, 3), elements=st.floats(-100, 100, width=32)),
        arrays(np.float64, shape[1], elements=st.floats(0, 50)),
    )
)


def by_loop(vectors, weights, n):
    """Zhao et al. 2019, section 3.1."""
    n = min(n, len(weights))
    found, masses = [], []
    for start in range(len(weights) - n + 1):
        window = range(start, start + n)
        mass = sum(weights[k] for k in window)
        parts = [weights[k] / mass * vectors[k].astype(float) if mass else vectors[k] / n for k in window]
        found.append(sum(parts))
        masses.append(mass)
    return np.array(found), np.array(masses)


@pytest.mark.parametrize(
    ("weights", "n", "vectors", "masses"),
    [
        ([1, 2, 3], 1, VECTORS, [1, 2, 3]),
        ([1, 1, 1], 2, [[0.5, 0.5], [2, 2.5]], [2, 2]),
        ([3, 1, 0], 2, [[0.75, 0.25], [0, 1]], [4, 1]),
        ([1, 1, 2], 3, [[9 / 4, 9 / 4]], [4]),
        ([1, 1, 2], 9, [[9 / 4, 9 / 4]], [4]),  # shorter than n
        ([0, 0, 2], 2, [[0.5, 0.5], [4, 4]], [0, 2]),  # nothing weighs: the plain mean
        ([0, 0, 0], 3, [[5 / 3, 5 / 3]], [0]),
    ],
)
def test_by_hand(weights, n, vectors, masses):
    found, mass = ngrams(VECTORS, np.array(weights), n)
    np.testing.assert_allclose(found, vectors, atol=1e-12)
    assert mass.tolist() == masses


@given(TEXTS, st.integers(1, 5))
def test_every_layer_follows_the_formula(text, n):
    vectors, weights = text
    found, masses = ngrams(vectors, weights, n)
    assert found.dtype == masses.dtype == np.float64
    for layer, expected in zip(found, vectors, strict=True):
        np.testing.assert_allclose(layer, by_loop(expected, weights, n)[0], atol=1e-9)
        np.testing.assert_array_equal(layer, ngrams(expected, weights, n)[0])
    np.testing.assert_allclose(masses, by_loop(vectors[0], weights, n)[1], rtol=1e-12)


@given(TEXTS, st.integers(1, 5))
def test_an_average_lies_among_its_parts(text, n):
    vectors = text[0].astype(np.float64)
    found, _ = ngrams(vectors, text[1], n)
    assert (found.max(axis=1) <= vectors.max(axis=1) + 1e-9).all()
    assert (found.min(axis=1) >= vectors.min(axis=1) - 1e-9).all()


@given(TEXTS)
def test_one_token_is_itself(text):
    found, masses = ngrams(*text, 1)
    np.testing.assert_array_equal(found, text[0])
    np.testing.assert_array_equal(masses, text[1])


def test_cosines_are_the_mean_over_layers():
    one = np.array([[[3.0, 0], [0, 2]], [[1, 0], [1, 1]]])
    other = np.array([[[1.0, 1]], [[-1, 0]]])
    root = np.sqrt(0.5)
    np.testing.assert_allclose(cosines(one, other), [[(root - 1) / 2], [0]], atol=1e-12)
    np.testing.assert_allclose(cosines(one[0], other[0]), [[root], [root]], atol=1e-12)


def test_a_zero_vector_is_like_nothing():
    assert cosines(np.zeros((2, 3)), np.ones((4, 3))).tolist() == [[0.0] * 4] * 2


def test_cosines_are_exact_enough_for_a_square_root():
    vectors = np.random.default_rng(0).normal(size=(50, 384)).astype(np.float32)
    np.testing.assert_allclose(np.diag(cosines(vectors, vectors)), 1, atol=1e-14)


@pytest.mark.parametrize(
    ("vectors", "weights", "message"),
    [
        (np.ones(3), np.ones(3), "expected vectors"),
        (np.ones((1, 1, 3, 2)), np.ones(3), "expected vectors"),
        (VECTORS, np.ones(2), r"got shapes \(3, 2\) and \(2,\)"),
        (VECTORS, np.ones((3, 1)), "one weight per token"),
        (np.ones((0, 2)), np.ones(0), "a text without tokens"),
        (VECTORS * np.nan, np.ones(3), "NaN or infinite"),
        (VECTORS, np.array([1, np.inf, 1]), "NaN or infinite"),
        (VECTORS, np.array([1, -2, 1]), "weights: expected no negative ones, got -2"),
    ],
)
def test_bad_texts(vectors, weights, message):
    with pytest.raises(InputError, match=message):
        ngrams(vectors, weights, 2)


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", None])
def test_bad_sizes(n):
    with pytest.raises(SpecError, match=r"n=.*: expected the number of tokens in an n-gram"):
        ngrams(VECTORS, np.ones(3), n)


def test_vectors_of_different_models_have_no_cosine():
    with pytest.raises(InputError, match=r"shapes \(3, 2\) and \(3, 5\)"):
        cosines(VECTORS, np.ones((3, 5)))
