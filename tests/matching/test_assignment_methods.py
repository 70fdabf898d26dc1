"""Each method of assignment against its definition: brute force, plain loops and exact fractions, and by hand.

The loops below are written from the definitions and share nothing with the source; cells are compared one by one.
They read matrices rounded to the grid of 2^-20 and prefer, among equal cells, the nearest relative position
|i/n - j/m|, then the lowest index; the presets `authors*` the lowest index alone.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from assignments import Assigner
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from evalign.matching import recursion
from evalign.matching.base import cell_values
from evalign.matching.exact import Exact
from evalign.matching.recursion import sharpened

# (method, preset) -> factor, rounds; None: as many rounds as the short side has tokens.
RECURSIONS = {
    ("recursive-argmax", "paper"): ("3", 7),
    ("recursive-argmax", "mean"): ("2", 7),
    ("recursive-argmax", "authors"): ("0.8", 10),
    ("recursive-topk", "paper"): ("3", 7),
    ("recursive-topk", "mean"): ("2", 7),
    ("recursive-topk", "authors"): ("10", 10),
    ("auction-topk", "paper"): ("1", 8),
    ("auction-topk", "authors"): ("1", None),
}
CASES = [("exact", "paper"), ("row-mask", "paper"), *RECURSIONS, ("auction", "paper")]
CASES.append(("recursive-argmax", "authors-as-published"))
PINNED = np.array([[0.1, 0.4, 0.9], [0.1, 0.1, 0.0], [0.3, 0.0, 0.6]])

SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=6)
TIED = arrays(np.float64, SHAPES, elements=st.integers(-3, 3).map(lambda tenths: tenths / 10))
MATRICES = st.one_of(arrays(np.float64, SHAPES, elements=st.floats(-1, 1, width=32)), TIED)
WHOLE = arrays(np.int64, SHAPES, elements=st.integers(-20, 20))


def random_matrices(seed, count, side, tied=False):
    """Cosine-like matrices of unrelated shapes; tied ones hold few distinct values."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        matrix = random.uniform(-1, 1, size=random.integers(1, side + 1, size=2))
        yield np.round(matrix * 3) / 3 if tied else matrix


def best_total(matrix):
    """The largest sum over every way to give each short-side item a partner of its own."""
    short = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    ways = np.array(list(itertools.permutations(range(short.shape[1]), short.shape[0])))
    return short[np.arange(short.shape[0]), ways].sum(axis=1).max()


def assert_compliant(cells):
    """Each row and column at most once, and as many cells as the short side has items."""
    assert cells.dtype == bool
    assert cells.sum(axis=0).max() == 1
    assert cells.sum(axis=1).max() == 1
    assert cells.sum() == min(cells.shape)


def total(matrix, cells):
    return matrix[cells].sum()


def as_cells(pairs, shape):
    cells = np.zeros(shape, dtype=bool)
    for row, column in pairs:
        cells[row, column] = True
    return cells


def rounded(matrix):
    """The matrix on the grid, as exact fractions in lists."""
    return [[Fraction(round(Fraction(value) * 2**20), 2**20) for value in row] for row in matrix.tolist()]


def nearness(matrix, lowest=False):
    """A function of a cell: its relative distance from the diagonal, or 0 where only the index decides."""
    height, width = len(matrix), len(matrix[0])
    return lambda i, j: 0 if lowest else abs(Fraction(i, height) - Fraction(j, width))


def loops_row_mask(matrix, rows=None, columns=None, lowest=False):
    """Cells chosen one after another by whoever of the short side loses most by waiting; columns if square."""
    far = nearness(matrix, lowest)
    rows = list(range(len(matrix))) if rows is None else list(rows)
    columns = list(range(len(matrix[0]))) if columns is None else list(columns)
    by_columns = len(columns) <= len(rows)
    takers, partners = (columns, rows) if by_columns else (rows, columns)
    chosen = []
    while takers:
        claims = []
        for taker in takers:
            cells = [(p, taker) if by_columns else (taker, p) for p in partners]
            offers = [matrix[i][j] for i, j in cells]
            gap = max(offers) - sorted(offers)[-2] if len(offers) > 1 else math.inf
            best = min(range(len(cells)), key=lambda place: (-offers[place], far(*cells[place]), place))
            claims.append((-gap, far(*cells[best]), taker, partners[best]))
        _, _, taker, partner = min(claims)
        chosen.append((partner, taker) if by_columns else (taker, partner))
        takers.remove(taker)
        partners.remove(partner)
    return chosen


def loops_sharpened(matrix, factor, rounds, rescale):
    """S <- S - (best other value of the row + best other value of the column) / factor, cell by cell."""
    height, width = len(matrix), len(matrix[0])
    if height == 1 or width == 1:
        return matrix
    for _ in range(rounds):
        after = []
        for i in range(height):
            row = []
            for j in range(width):
                in_row = max(matrix[i][other] for other in range(width) if other != j)
                in_column = max(matrix[other][j] for other in range(height) if other != i)
                row.append(matrix[i][j] - (in_row + in_column) / factor)
            after.append(row)
        peak = max(abs(value) for row in after for value in row)
        matrix = [[value / peak for value in row] for row in after] if rescale and peak else after
    return matrix


def loops_one_sided(matrix, by_rows, lowest=False):
    """Every row, or every column, takes its maximum."""
    far = nearness(matrix, lowest)
    rows, columns = range(len(matrix)), range(len(matrix[0]))
    if by_rows:
        return [(i, min(columns, key=lambda j, i=i: (-matrix[i][j], far(i, j), j))) for i in rows]
    return [(min(rows, key=lambda i, j=j: (-matrix[i][j], far(i, j), i)), j) for j in columns]


def loops_recursive(matrix, case, number=float, rescale=True, rounds=None):
    """The whole recursive method on lists of `number`s."""
    factor, preset_rounds = RECURSIONS[case]
    rounds = rounds or preset_rounds or min(matrix.shape)
    sharp = loops_sharpened([[number(v) for v in row] for row in rounded(matrix)], number(factor), rounds, rescale)
    lowest = case[1] == "authors"
    if case[0] != "recursive-topk":
        return loops_one_sided(sharp, matrix.shape[0] <= matrix.shape[1], lowest)
    return loops_largest(sharp, min(matrix.shape), lowest)


def loops_largest(matrix, count, lowest=False):
    """The largest cells; sorting is stable, so that reading order is the last word."""
    far = nearness(matrix, lowest)
    places = itertools.product(range(len(matrix)), range(len(matrix[0])))
    return sorted(places, key=lambda place: (-matrix[place[0]][place[1]], far(*place)))[:count]


def loops_repaired(matrix, pairs, lowest=False):
    """Each row keeps its best claim, then each column; the rest is assigned by row-mask."""
    far = nearness(matrix, lowest)
    for axis in (0, 1):
        groups = itertools.groupby(sorted(pairs, key=lambda pair: pair[axis]), key=lambda pair: pair[axis])
        pairs = [min(claims, key=lambda pair: (-matrix[pair[0]][pair[1]], far(*pair), pair)) for _, claims in groups]
    rows, columns = {row for row, _ in pairs}, {column for _, column in pairs}
    rest = [i for i in range(len(matrix)) if i not in rows], [j for j in range(len(matrix[0])) if j not in columns]
    return pairs + loops_row_mask(matrix, *rest, lowest)


class TestExact:
    @pytest.mark.parametrize("tied", [False, True])
    @pytest.mark.parametrize("rows", range(1, 7))
    def test_total_is_that_of_brute_force(self, rows, tied):
        for columns, seed in itertools.product(range(1, 7), range(8)):
            random = np.random.default_rng([rows, columns, seed])
            matrix = random.uniform(-1, 1, size=(rows, columns))
            matrix = np.round(matrix * 3) / 3 if tied else matrix
            cells = Assigner()(matrix).cells
            assert_compliant(cells)
            assert total(matrix, cells) == pytest.approx(best_total(matrix), abs=1e-12)

    @settings(deadline=None)
    @given(WHOLE)
    def test_total_of_whole_numbers_is_the_optimum_to_the_digit(self, matrix):
        assert total(matrix, Assigner()(matrix).cells) == best_total(matrix)

    @settings(deadline=None)
    @given(WHOLE, st.integers(1, 50), st.integers(-100, 100))
    def test_scale_and_shift_do_not_matter(self, matrix, scale, shift):
        moved = scale * matrix + shift
        expected = scale * best_total(matrix) + shift * min(matrix.shape)
        assert total(moved, Assigner()(moved).cells) == expected
        assert total(matrix, Assigner()(moved).cells) == best_total(matrix)

    @pytest.mark.parametrize(("scale", "shift"), [(1, 0.7), (1, -3), (2.5, 0), (0.01, 0), (1e6, 17), (0.3, -0.3)])
    def test_the_same_cells_after_scale_and_shift(self, scale, shift):
        for matrix in random_matrices(1, 60, 9):
            cells = Assigner()(matrix).cells
            assert (Assigner()(scale * matrix + shift).cells == cells).all()

    def test_the_same_cells_after_permutation(self):
        random = np.random.default_rng(2)
        for matrix in random_matrices(2, 100, 9):
            rows, columns = (random.permutation(count) for count in matrix.shape)
            moved = Assigner()(matrix[rows][:, columns]).cells
            assert (moved == Assigner()(matrix).cells[rows][:, columns]).all()

    def test_transposition_swaps_precision_and_recall(self):
        for matrix in random_matrices(3, 100, 9):
            straight, turned = Assigner()(matrix).cells, Assigner()(matrix.T).cells
            assert (turned == straight.T).all()
            precision, recall = (values.mean() for values in cell_values(matrix, straight))
            assert (recall, precision) == tuple(values.mean() for values in cell_values(matrix.T, turned))


class TestRowMask:
    def test_pinned_case(self):
        """Columns 1 and 2 have equal gaps, so column 1 takes row 0; column 2 is then ahead of column 0 for row 2."""
        assert total(PINNED, Assigner("row-mask")(PINNED).cells) == pytest.approx(1.1)
        assert total(PINNED, Assigner("exact")(PINNED).cells) == pytest.approx(1.3)

    def test_by_hand(self):
        # Gaps of the columns: .1 and .7; the second takes row 0, and the first is left with row 1.
        matrix = np.array([[0.9, 0.8], [0.8, 0.1]])
        assert Assigner("row-mask")(matrix).cells.tolist() == [[False, True], [True, False]]

    def test_columns_choose_in_a_square_matrix(self):
        """Had the rows chosen, the two totals would be the other way round."""
        assert total(PINNED.T, Assigner("row-mask")(PINNED.T).cells) == pytest.approx(1.3)

    @settings(deadline=None)
    @given(MATRICES)
    def test_compliant_and_never_above_the_optimum(self, matrix):
        cells = Assigner("row-mask")(matrix).cells
        assert_compliant(cells)
        assert total(matrix, cells) <= best_total(matrix) + 1e-12

    @pytest.mark.parametrize("tied", [False, True])
    def test_equals_the_loops(self, tied):
        for matrix in random_matrices(4, 200, 9, tied):
            expected = as_cells(loops_row_mask(rounded(matrix)), matrix.shape)
            assert (Assigner("row-mask")(matrix).cells == expected).all(), matrix.tolist()


class TestRecursion:
    @pytest.mark.parametrize(
        ("case", "cells", "violations"),
        [  # one round on [[.9, .8], [.7, .1]]
            (("auction-topk", "paper"), [[0, 1], [1, 0]], 0),  # factor 1: [[-.6, -.2], [-.3, -1.4]]
            (("recursive-argmax", "paper"), [[0, 1], [1, 0]], 0),  # factor 3: [[.4, .467], [.367, -.4]]
            (("recursive-topk", "paper"), [[1, 1], [0, 0]], 1),
            (("recursive-topk", "authors"), [[1, 1], [0, 0]], 1),  # factor 10: [[.75, .7], [.6, -.05]]
            (("recursive-argmax", "authors"), [[0, 1], [1, 0]], 0),  # factor .8: [[-.975, -.45], [-.55, -1.775]]
        ],
    )
    def test_one_round_by_hand(self, case, cells, violations):
        found = Assigner(*case, rounds=1)(np.array([[0.9, 0.8], [0.7, 0.1]]))
        assert found.cells.astype(int).tolist() == cells
        assert found.violations == violations

    @pytest.mark.parametrize("tied", [False, True])
    @pytest.mark.parametrize("case", RECURSIONS, ids=" ".join)
    def test_equals_the_loops(self, case, tied):
        for matrix in random_matrices(5, 60, 7, tied):
            expected = as_cells(loops_recursive(matrix, case), matrix.shape)
            assert (Assigner(*case)(matrix).cells == expected).all(), matrix.tolist()

    @pytest.mark.parametrize("case", RECURSIONS, ids=" ".join)
    def test_rescaling_selects_what_exact_fractions_select_without_it(self, case):
        for matrix in random_matrices(6, 80, 6):
            expected = as_cells(loops_recursive(matrix, case, Fraction, rescale=False), matrix.shape)
            assert (Assigner(*case)(matrix).cells == expected).all(), matrix.tolist()

    @pytest.mark.parametrize("case", [case for case in RECURSIONS if case[0] != "recursive-topk"], ids=" ".join)
    @pytest.mark.parametrize("tied", [False, True])
    def test_no_rounds_is_the_one_sided_argmax(self, case, tied):
        for matrix in random_matrices(7, 150, 8, tied):
            pairs = loops_one_sided(rounded(matrix), matrix.shape[0] <= matrix.shape[1], case[1] == "authors")
            assert (Assigner(*case, rounds=0)(matrix).cells == as_cells(pairs, matrix.shape)).all()

    @pytest.mark.parametrize("tied", [False, True])
    def test_no_rounds_of_topk_are_the_largest_cells(self, tied):
        for matrix in random_matrices(8, 150, 8, tied):
            places = loops_largest(rounded(matrix), min(matrix.shape))
            assert (Assigner("recursive-topk", rounds=0)(matrix).cells == as_cells(places, matrix.shape)).all()

    @pytest.mark.parametrize("case", RECURSIONS, ids=" ".join)
    def test_a_token_without_rivals_takes_its_best(self, case):
        line = np.array([[0.2, -0.4, 0.9, 0.9]])
        for matrix in (line, line.T, -line, np.array([[-0.3]])):
            assert Assigner(*case)(matrix).cells.ravel().tolist() == one_hot(matrix.argmax(), matrix.size)

    @pytest.mark.parametrize("size", [128, pytest.param(384, marks=pytest.mark.slow)])
    @pytest.mark.parametrize(
        "case", [("recursive-argmax", "authors"), ("recursive-topk", "authors"), ("auction-topk", "authors")]
    )
    def test_finite_after_384_rounds(self, monkeypatch, case, size):
        """Unscaled, the authors' recursion overflows 32 bits after some 90 rounds."""
        seen = []
        monkeypatch.setattr(recursion, "sharpened", lambda *args: seen.append(sharpened(*args)) or seen[-1])
        matrix = np.random.default_rng(size).uniform(-1, 1, size=(size, size))
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            found = Assigner(*case, rounds=384)(matrix)
        assert found.cells.sum() == size
        assert np.isfinite(seen[0]).all()
        assert np.abs(seen[0]).max() == 1

    @pytest.mark.parametrize("case", RECURSIONS, ids=" ".join)
    def test_finite_where_64_bits_would_overflow_unscaled(self, monkeypatch, case):
        """384 rounds reach 1e202 at most (factor .8, 128 x 128): too few to show in 64 bits that scaling is there."""
        seen = []
        monkeypatch.setattr(recursion, "sharpened", lambda *args: seen.append(sharpened(*args)) or seen[-1])
        rounds = 9000 if RECURSIONS[case][0] == "10" else 3000
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            found = Assigner(*case, rounds=rounds)(np.random.default_rng(0).uniform(-1, 1, size=(8, 9)))
        assert np.isfinite(seen[0]).all()
        assert found.cells.sum() == 8

    @pytest.mark.parametrize("tied", [False, True])
    def test_as_published_every_column_takes_its_argmax(self, tied):
        assigner = Assigner("recursive-argmax", preset="authors-as-published")
        for matrix in random_matrices(9, 200, 8, tied):
            square = matrix[: min(matrix.shape), : min(matrix.shape)]
            pairs = loops_one_sided(rounded(square), by_rows=False, lowest=True)
            assert (assigner(square).cells == as_cells(pairs, square.shape)).all()


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("case", RECURSIONS, ids=" ".join)
def test_strict_repairs_as_the_loops_do(case, tied):
    repaired = 0
    for matrix in random_matrices(10, 60, 7, tied):
        pairs = loops_recursive(matrix, case, rounds=1)  # more rounds leave less to repair
        expected = as_cells(loops_repaired(rounded(matrix), pairs, case[1] == "authors"), matrix.shape)
        cells = Assigner(*case, strict=True, rounds=1)(matrix).cells
        assert (cells == expected).all(), matrix.tolist()
        assert_compliant(cells)
        repaired += (cells != as_cells(pairs, matrix.shape)).any()
    assert repaired > 5


class TestAuction:
    @pytest.mark.parametrize("eps", [1e-1, 1e-2, pytest.param(1e-4, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (5, 5), (4, 6), (6, 4), (25, 25), (12, 30), (30, 12)])
    def test_within_k_eps_of_the_optimum(self, shape, eps):
        random = np.random.default_rng(shape)
        for round_ in range(6):
            matrix = random.uniform(-1, 1, size=shape)
            matrix = np.round(matrix * 3) / 3 if round_ % 2 else matrix
            found = Assigner("auction", eps=eps, max_rounds=1_000_000)(matrix)
            assert not found.unfinished
            assert found.violations == 0
            assert_compliant(found.cells)
            optimum = total(matrix, Assigner()(matrix).cells)
            assert optimum - min(shape) * eps - 1e-9 <= total(matrix, found.cells) <= optimum + 1e-9

    @settings(deadline=None, max_examples=60)
    @given(WHOLE)
    def test_whole_numbers_are_solved_exactly_once_k_eps_is_below_one(self, matrix):
        found = Assigner("auction", eps=1 / (min(matrix.shape) + 1))(matrix)
        assert not found.unfinished
        assert total(matrix, found.cells) == best_total(matrix)

    @pytest.mark.parametrize("shape", [(5, 5), (3, 6), (6, 3)])
    def test_rounds_that_run_out_are_reported_and_the_assignment_is_complete(self, shape):
        matrix = np.random.default_rng(0).uniform(-1, 0, size=shape)
        matrix[0, :] = matrix[:, 0] = 0.9  # everybody wants the same partner
        found = Assigner("auction", max_rounds=1)(matrix)
        assert found.unfinished
        assert_compliant(found.cells)
        assert found.violations == 0
        assert not Assigner("auction")(matrix).unfinished

    def test_a_matrix_that_ran_out_does_not_touch_its_neighbour(self):
        contested, peaceful = np.array([[0.9, 0.1], [0.9, 0.2]]), np.array([[0.1, 0.9], [0.3, 0.2]])
        found = Assigner("auction", max_rounds=1)(np.stack([contested, peaceful]))
        assert found.unfinished.tolist() == [True, False]
        assert found.cells.tolist() == [[[True, False], [False, True]], [[False, True], [True, False]]]

    def test_only_an_auction_can_be_unfinished(self):
        for case in CASES:
            if case[0] != "auction":
                assert not Assigner(*case, max_rounds=1)(PINNED).unfinished


@pytest.mark.parametrize("case", CASES, ids=" ".join)
@pytest.mark.parametrize("strict", [False, True])
def test_identical_text_of_distinct_vectors_is_worth_1_in_every_method(case, strict):
    """The diagonal is above every other cell, and one round of the recursion keeps it there, whatever the factor.

    D_i - O_jk grows by (D_j + D_k - 2 max O_i) / f > 0. All bid for different partners, so the auction ends at once.
    """
    random = np.random.default_rng(11)
    for _ in range(60):
        vectors = random.normal(random.choice([0, 1, 3]), 1, size=(random.integers(1, 20), random.integers(4, 12)))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        matrix = vectors @ vectors.T
        np.fill_diagonal(matrix, 1)
        assert (matrix - 2 * np.eye(len(matrix))).max(initial=-1) < 1 - 1e-6
        rows, columns = cell_values(matrix, Assigner(*case, strict=strict)(matrix).cells)
        assert (rows == 1).all()
        assert (columns == 1).all()


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_equal_vectors_collide_only_where_the_lowest_index_wins(case):
    """Two equal tokens and a third: by the nearest position each meets itself; the authors' programs leave one at 0."""
    matrix = np.array([[1, 1, 0.2], [1, 1, 0.2], [0.2, 0.2, 1]])
    rows, columns = cell_values(matrix, Assigner(*case)(matrix).cells)
    worth = rows.tolist() + columns.tolist()
    if case[1].startswith("authors"):
        assert worth.count(0) > 0
    else:
        assert worth == [1] * 6
    rows, columns = cell_values(matrix, Assigner(*case, strict=True)(matrix).cells)
    assert rows.tolist() + columns.tolist() == [1] * 6


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3), (1, 4), (4, 1)])
@pytest.mark.parametrize("value", [0.5, 0.0, -0.5])
def test_where_all_is_equal_the_nearest_position_decides(shape, value):
    matrix = np.full(shape, value)
    rows_choose = shape[0] <= shape[1]
    nearest = as_cells(loops_one_sided(matrix.tolist(), rows_choose), shape).tolist()
    first = as_cells(loops_one_sided(matrix.tolist(), rows_choose, lowest=True), shape).tolist()
    reading = (np.arange(matrix.size) < min(shape)).reshape(shape).tolist()
    for case in CASES:
        cells = Assigner(*case)(matrix).cells.tolist()
        if case[1] == "authors-as-published":
            assert cells == as_cells([(0, j) for j in range(shape[1])], shape).tolist()
        elif case[1] == "authors":
            assert cells == (reading if case[0] == "recursive-topk" else first), case
        elif case[0] == "recursive-topk":
            assert cells == as_cells(loops_largest(matrix.tolist(), min(shape)), shape).tolist(), case
        else:
            assert cells == nearest, case


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_noise_in_the_last_bits_changes_no_cell(case):
    """What another processor's matrix product does to equal similarities: repeated words, disturbed by 1e-7."""
    random = np.random.default_rng(12)
    for matrix in random_matrices(13, 50, 9, tied=True):
        rows, columns = (random.integers(0, count, size=2 * count) for count in matrix.shape)
        repeated = np.round(matrix[rows][:, columns] * 3) / 4
        noise = random.uniform(-1e-7, 1e-7, size=repeated.shape)
        assert (Assigner(*case)(repeated).cells == Assigner(*case)(repeated + noise).cells).all()


def brute_force_nearest(matrix):
    """The largest total on the grid, and the smallest sum of relative distances that reaches it."""
    far = nearness(matrix)
    wide = len(matrix) <= len(matrix[0])
    takers, partners = (len(matrix), len(matrix[0])) if wide else (len(matrix[0]), len(matrix))
    ways = (enumerate(way) for way in itertools.permutations(range(partners), takers))
    cells = ([(i, j) if wide else (j, i) for i, j in way] for way in ways)
    return min((-sum(matrix[i][j] for i, j in way), sum(far(i, j) for i, j in way)) for way in cells)


def test_exact_takes_the_nearest_of_all_best_assignments():
    ties = 0
    for matrix in random_matrices(14, 60, 5, tied=True):
        grid, far = rounded(matrix), nearness(matrix)
        chosen = np.argwhere(Assigner()(matrix).cells).tolist()
        distance = sum(far(i, j) for i, j in chosen)
        assert (-sum(grid[i][j] for i, j in chosen), distance) == brute_force_nearest(grid), matrix.tolist()
        ties += distance > 0
    assert ties > 10


def one_hot(place, count):
    return [index == place for index in range(count)]


@pytest.mark.parametrize(("size", "shift"), [(2, 1), (3, 1), (5, 2), (13, 6)])
def test_one_step_of_the_grid_outweighs_all_distances(size, shift):
    """Only the diagonal, and the cells `shift` beside it, can be assigned: the farther ones are better by one step."""
    matrix = np.full((size, size), -1.0)
    rows = np.arange(size)
    matrix[rows, rows] = matrix[rows, (rows + shift) % size] = 0.5
    assert Exact().solve(matrix).cells.argmax(1).tolist() == rows.tolist()
    matrix[0, shift] += 2.0**-20
    assert Exact().solve(matrix).cells.argmax(1).tolist() == ((rows + shift) % size).tolist()
