"""Greedy matching and its means, on matrices small enough to check by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from evalign.core import Embedded, Tokens
from evalign.matching.base import f1, weighted_mean
from evalign.matching.greedy import Greedy
from evalign.matching.similarity import bands, similarity
from evalign.matching.ties import partners

MATRIX = np.array([[0.9, 0.1, 0.3], [0.2, 0.4, 0.8]])
MATRICES = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.floats(-1, 1))


def values(matrix):
    matched = Greedy().solve(matrix)
    return matched.candidate_values, matched.reference_values


def cells(matrix):
    return np.argwhere(Greedy().solve(matrix).cells)


def embedded(vectors):
    """Tokens without text around (layers, tokens, width) vectors."""
    count = vectors.shape[1]
    tokens = Tokens("", ("x",) * count, np.arange(count), np.zeros((count, 2), int), np.zeros(count, bool))
    return Embedded(tokens, vectors.astype(np.float32))


def test_values_and_cells_by_hand():
    rows, columns = values(MATRIX)
    assert rows.tolist() == [0.9, 0.8]
    assert columns.tolist() == [0.9, 0.4, 0.8]
    assert cells(MATRIX).tolist() == [[0, 0], [1, 1], [1, 2]]


def test_negative_similarities_stay_negative():
    rows, columns = values(np.array([[-0.5, -0.2], [-0.9, -0.4]]))
    assert rows.tolist() == [-0.2, -0.4]
    assert columns.tolist() == [-0.5, -0.2]


@given(MATRICES)
def test_cells_hold_the_maximum_of_every_row_and_column_to_one_step_of_the_grid(matrix):
    chosen = cells(matrix).tolist()
    rows, columns = values(matrix)
    for row in range(matrix.shape[0]):
        assert max(matrix[r, c] for r, c in chosen if r == row) == pytest.approx(rows[row], abs=2**-20)
    for column in range(matrix.shape[1]):
        assert max(matrix[r, c] for r, c in chosen if c == column) == pytest.approx(columns[column], abs=2**-20)
    assert len(chosen) <= sum(matrix.shape)


def test_a_text_meets_itself_along_the_diagonal_where_words_repeat():
    words = np.array([0, 1, 0, 2, 0, 1])
    matrix = np.where(words[:, None] == words[None, :], 1.0, 0.1)
    matrix[0, 4] += 1e-8  # noise of a processor
    assert cells(matrix).tolist() == [[place, place] for place in range(6)]


def test_equal_partners_go_to_the_nearest_relative_position_then_to_the_lowest_index():
    # Rows of 2 against 4 columns: row 1 is at 1/2, which is column 2; row 0 at 0; columns 1 and 3 lie between rows.
    assert cells(np.full((2, 4), 0.5)).tolist() == [[0, 0], [0, 1], [1, 2], [1, 3]]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_a_side_without_tokens_has_no_cells(shape):
    assert cells(np.zeros(shape)).shape == (0, 2)


@pytest.mark.parametrize(
    ("numbers", "weights", "mean"),
    [([0.2, 0.8], [1, 1], 0.5), ([0.2, 0.8], [3, 1], 0.35), ([0.2, 0.8], [0, 2], 0.8), ([0.2, 0.8], [0, 0], 0.5)],
)
def test_weighted_mean(numbers, weights, mean):
    assert weighted_mean(np.array(numbers), np.array(weights, float)) == pytest.approx(mean)


@pytest.mark.parametrize(
    ("precision", "recall", "expected"),
    [(0.5, 0.5, 0.5), (1.0, 0.5, 2 / 3), (0, 0, 0), (0, 1, 0), (-0.5, 0.5, 0), (-0.3, -0.2, 0), (-0.5, 0.4999, 0)],
)
def test_f1(precision, recall, expected):
    assert f1(np.array(precision), np.array(recall)) == pytest.approx(expected)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_f1_lies_between_its_parts(precision, recall):
    value = float(f1(np.array(precision), np.array(recall)))
    assert np.isfinite(value)
    if min(precision, recall) > 0:
        assert min(precision, recall) * (1 - 1e-12) - 1e-100 <= value <= max(precision, recall) * (1 + 1e-12)
    else:
        assert value == 0


def test_similarity_is_the_cosine_averaged_over_layers():
    one = embedded(np.array([[[3.0, 0], [0, 2]], [[1, 0], [1, 1]]]))
    other = embedded(np.array([[[1.0, 1]], [[-1, 0]]]))
    root = np.sqrt(0.5)
    expected = [[[root], [root]], [[-1], [-root]]]
    np.testing.assert_allclose(similarity(one, other, per_layer=True), expected, atol=1e-6)
    np.testing.assert_allclose(similarity(one, other), np.mean(expected, axis=0), atol=1e-6)


def test_a_zero_vector_is_like_nothing():
    zero = embedded(np.zeros((1, 2, 3)))
    assert similarity(zero, embedded(np.ones((1, 4, 3)))).tolist() == [[0.0] * 4] * 2


@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 3), st.integers(1, 40))
def test_bands_are_the_matrix_in_pieces(rows, columns, layers, cells):
    import evalign.matching.similarity as module

    random = np.random.default_rng(rows * 100 + columns)
    one, other = (embedded(random.normal(size=(layers, count, 4))) for count in (rows, columns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BAND_CELLS", cells)
        pieces = list(bands(one, other))
    assert all(piece.shape[0] == 1 or piece.size <= cells for piece in pieces)
    np.testing.assert_allclose(np.concatenate(pieces), similarity(one, other), atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "expected"), [((3, 3), [0, 1, 2]), ((2, 4), [0, 2]), ((4, 2), [0, 0, 1, 1]), ((2, 0), [-1, -1])]
)
def test_of_equal_selected_cells_the_nearest_position_is_the_partner(shape, expected):
    """Position i of n is nearest to position i m / n of m; of two as near, the first."""
    assert partners(np.ones(shape), np.ones(shape, dtype=bool)).tolist() == expected
    if shape[1]:
        assert partners(np.eye(*shape), np.zeros(shape, dtype=bool)).tolist() == [-1] * shape[0]
