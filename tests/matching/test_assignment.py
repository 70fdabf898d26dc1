"""What every method of assignment owes its caller: equal cells alone, padded and in torch; bounds; typed errors."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from assignments import Assigner
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from evalign.errors import InputError, SpecError
from evalign.matching.base import cell_values
from evalign.matching.greedy import Greedy
from evalign.matching.registry import METHODS, PRESETS

FITTING = [
    ("exact", "paper"),
    ("row-mask", "paper"),
    ("recursive-argmax", "paper"),
    ("recursive-argmax", "mean"),
    ("recursive-argmax", "authors"),
    ("recursive-argmax", "authors-as-published"),
    ("recursive-topk", "paper"),
    ("recursive-topk", "mean"),
    ("recursive-topk", "authors"),
    ("auction-topk", "paper"),
    ("auction-topk", "authors"),
    ("auction", "paper"),
]
ASSIGNERS = [Assigner(*case, strict=strict) for case in FITTING for strict in (False, True)]


def each_of(assigners: list[Assigner]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("assigner", assigners, ids=lambda a: f"{a.method}-{a.preset}{'-strict' * a.strict}")


every_assigner = each_of(ASSIGNERS)
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=8)
MATRICES = st.one_of(
    arrays(np.float64, SHAPES, elements=st.floats(-1, 1)),
    arrays(np.float64, SHAPES, elements=st.integers(-3, 3).map(lambda tenths: tenths / 10)),
)
NO_TORCH = "pip install 'evalign[torch]'"
GARBAGE = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 7.0, 0.0])


@pytest.fixture(autouse=True, scope="module")
def one_torch_thread():
    """Matrices this small only make torch's threads wait for each other."""
    try:
        import torch
    except ImportError:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@functools.cache
def ragged(count=100, side=12, holes=False):
    """Matrices of random shapes, every third one full of ties, and the same as a padded batch with garbage around.

    With holes, the real tokens are not the first ones but anywhere, in their order.
    """
    random = np.random.default_rng(count + holes)
    shapes = random.integers(1, side + 1, size=(count, 2))
    shapes[:4] = (1, 1), (1, side), (side, 1), (side, side)
    values = random.choice(GARBAGE, size=(count, side + 2, side + 1))
    masks = np.zeros(values.shape[:2], dtype=bool), np.zeros((count, values.shape[2]), dtype=bool)
    matrices = []
    for item, (n, m) in enumerate(shapes):
        matrix = random.uniform(-1, 1, size=(n, m))
        matrix = np.round(matrix * 3) / 3 if item % 3 == 0 else matrix
        matrices.append(matrix)
        rows = np.sort(random.permutation(values.shape[1])[:n]) if holes else np.arange(n)
        columns = np.sort(random.permutation(values.shape[2])[:m]) if holes else np.arange(m)
        masks[0][item, rows] = masks[1][item, columns] = True
        values[item][np.ix_(rows, columns)] = matrix
    return matrices, values, masks


def recount(cells):
    """Uses of a row or of a column after its first, counted cell by cell."""
    rows, columns, again = set(), set(), 0
    for row, column in zip(*np.nonzero(cells), strict=True):
        again += (row in rows) + (column in columns)
        rows.add(row)
        columns.add(column)
    return again


class TestSameCellsEverywhere:
    @every_assigner
    @pytest.mark.parametrize("holes", [pytest.param(False, marks=pytest.mark.slow), True], ids=["padded", "holes"])
    def test_batched_equals_per_pair(self, assigner, holes):
        matrices, values, masks = ragged(holes=holes)
        batch = assigner(values, masks)
        assert batch.cells.shape == values.shape
        assert not batch.cells[~(masks[0][:, :, None] & masks[1][:, None, :])].any()
        for item, matrix in enumerate(matrices):
            alone = assigner(matrix)
            inner = batch.cells[item][np.ix_(masks[0][item], masks[1][item])]
            assert inner.tolist() == alone.cells.tolist(), matrix.tolist()
            assert batch.violations[item] == alone.violations
            assert batch.unfinished[item] == alone.unfinished

    @every_assigner
    @pytest.mark.parametrize("width", [32, pytest.param(64, marks=pytest.mark.slow)])
    def test_torch_equals_numpy(self, assigner, width):
        torch = pytest.importorskip("torch", reason=NO_TORCH)
        matrices, values, masks = ragged()
        with np.errstate(over="ignore"):
            values = values.astype(f"float{width}")
        ours = assigner(values, masks)
        theirs = assigner(torch.from_numpy(values), tuple(map(torch.from_numpy, masks)))
        assert theirs.cells.dtype == torch.bool
        assert (theirs.cells.numpy() == ours.cells).all()
        assert theirs.violations.tolist() == ours.violations.tolist()
        assert theirs.unfinished.tolist() == ours.unfinished.tolist()
        for matrix in matrices[:10]:
            matrix = matrix.astype(f"float{width}")
            assert assigner(torch.from_numpy(matrix)).cells.tolist() == assigner(matrix).cells.tolist()

    def test_an_auction_that_runs_out_is_the_same_in_a_batch_and_in_torch(self):
        torch = pytest.importorskip("torch", reason=NO_TORCH)
        matrices, values, masks = ragged()
        assigner = Assigner("auction", max_rounds=2)
        ours = assigner(values, masks)
        theirs = assigner(torch.from_numpy(values), tuple(map(torch.from_numpy, masks)))
        assert (theirs.cells.numpy() == ours.cells).all()
        assert theirs.unfinished.tolist() == ours.unfinished.tolist()
        assert ours.unfinished.tolist() == [bool(assigner(matrix).unfinished) for matrix in matrices]
        assert 0 < ours.unfinished.sum() < len(matrices)

    @every_assigner
    def test_a_batch_without_masks_is_full(self, assigner):
        values = np.random.default_rng(1).uniform(-1, 1, size=(5, 4, 6))
        cells = assigner(values).cells
        assert [item.tolist() for item in cells] == [assigner(matrix).cells.tolist() for matrix in values]

    @every_assigner
    def test_what_is_passed_in_stays_as_it_was(self, assigner):
        _, values, masks = ragged()
        values, masks = values[:20].copy(), (masks[0][:20].copy(), masks[1][:20].copy())
        before = values.tobytes(), masks[0].tobytes(), masks[1].tobytes()
        assigner(values, masks)
        assert before == (values.tobytes(), masks[0].tobytes(), masks[1].tobytes())

    @every_assigner
    def test_gradients_reach_the_chosen_cells_and_no_others(self, assigner):
        torch = pytest.importorskip("torch", reason=NO_TORCH)
        matrix = torch.tensor([[0.9, 0.8], [0.7, 0.1], [0.4, 0.3]], requires_grad=True)
        found = assigner(matrix)
        assert not found.cells.requires_grad
        sum(values.sum() for values in cell_values(matrix, found.cells)).backward()
        assert (matrix.grad > 0).tolist() == found.cells.tolist()

    @every_assigner
    def test_a_batch_of_nothing(self, assigner):
        assert assigner(np.zeros((0, 3, 4))).cells.shape == (0, 3, 4)


class TestBounds:
    @settings(deadline=None, max_examples=50)
    @given(MATRICES)
    def test_reported_violations_equal_a_recount(self, matrix):
        for assigner in ASSIGNERS:
            found = assigner(matrix)
            assert found.violations == recount(found.cells), assigner

    def test_violations_of_a_batch_equal_a_recount(self):
        _, values, masks = ragged()
        for assigner in ASSIGNERS:
            found = assigner(values, masks)
            assert found.violations.tolist() == [recount(cells) for cells in found.cells]
            may_break = not assigner.strict and assigner.method.startswith(("recursive", "auction-topk"))
            assert bool(found.violations.any()) == may_break, assigner

    @settings(deadline=None, max_examples=50)
    @given(MATRICES)
    def test_precision_at_most_k_over_n_and_recall_at_most_k_over_m(self, matrix):
        """Except as published: the authors' columns choose even when there are more of them than rows."""
        (n, m), k = matrix.shape, min(matrix.shape)
        for assigner in ASSIGNERS:
            if assigner.preset == "authors-as-published" and not assigner.strict and n < m:
                continue
            rows, columns = cell_values(matrix, assigner(matrix).cells)
            assert rows.mean() <= k / n + 1e-12, assigner
            assert columns.mean() <= k / m + 1e-12, assigner

    @each_of([assigner for assigner in ASSIGNERS if assigner.preset != "authors-as-published"])
    def test_repetition_cannot_pay(self, assigner):
        """A reference three times over: every token matches perfectly, precision is a third.

        (`authors-as-published` is defined on square input only.)
        """
        vectors = np.random.default_rng(3).normal(size=(5, 8))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        matrix = np.tile(vectors, (3, 1)) @ vectors.T
        rows, columns = cell_values(matrix, assigner(matrix).cells)
        assert Greedy().solve(matrix).candidate_values.mean() == pytest.approx(1)
        assert rows.mean() <= 1 / 3 + 1e-12
        if assigner.method in ("exact", "row-mask", "auction"):
            assert rows.mean() == pytest.approx(1 / 3)
            assert columns.mean() == pytest.approx(1)

    @settings(deadline=None, max_examples=50)
    @given(MATRICES)
    def test_strict_is_compliant_with_exactly_k_cells_and_not_above_exact(self, matrix):
        grid = np.round(matrix * 2**20)  # what an assignment reads: smaller differences are ties
        optimum = grid[Assigner()(matrix).cells].sum()
        for assigner in ASSIGNERS:
            if assigner.strict or assigner.method in ("exact", "row-mask", "auction"):
                found = assigner(matrix)
                assert found.violations == 0, assigner
                assert found.cells.sum() == min(matrix.shape), assigner
                assert found.cells.sum(axis=0).max() == found.cells.sum(axis=1).max() == 1, assigner
                assert grid[found.cells].sum() <= optimum, assigner

    @settings(deadline=None, max_examples=50)
    @given(MATRICES)
    def test_strict_changes_nothing_that_keeps_the_rules(self, matrix):
        for case in FITTING:
            found = Assigner(*case)(matrix)
            if found.violations == 0 and found.cells.sum() == min(matrix.shape):
                assert Assigner(*case, strict=True)(matrix).cells.tolist() == found.cells.tolist(), case

    def test_precision_can_exceed_greedy_when_everything_is_negative(self):
        """A row without a partner is worth 0, which beats the best of its negative cells."""
        matrix = np.array([[-0.1, -0.5], [-0.4, -0.2], [-0.9, -0.8]])
        rows, columns = cell_values(matrix, Assigner()(matrix).cells)
        assert rows.tolist() == [-0.1, -0.2, 0.0]
        assert columns.tolist() == [-0.1, -0.2]
        assert rows.mean() == pytest.approx(-0.1)
        assert Greedy().solve(matrix).candidate_values.mean() == pytest.approx(-1.1 / 3)


class TestCellValues:
    # Row 0 and column 1 are used twice and more, column 2 and row 3 never; negative rows stay negative.
    SIMILARITY = np.array([[0.9, 0.5, 0.1], [0.3, 0.8, 0.2], [-0.4, -0.6, -0.7], [0.6, 0.6, 0.6]])
    CELLS = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]], dtype=bool)
    ROWS, COLUMNS = [0.9, 0.8, -0.4, 0.0], [0.9, 0.8, 0.0]

    def test_maximum_of_the_selected_cells_never_the_sum(self):
        rows, columns = cell_values(self.SIMILARITY, self.CELLS)
        assert rows.tolist() == self.ROWS
        assert columns.tolist() == self.COLUMNS

    def test_batched_with_garbage_in_the_padding(self):
        similarity, cells = np.full((2, 5, 4), np.nan), np.zeros((2, 5, 4), dtype=bool)
        similarity[0, :4, :3], cells[0, :4, :3] = self.SIMILARITY, self.CELLS
        similarity[1, :3, :4], cells[1, :3, :4] = self.SIMILARITY.T, self.CELLS.T
        rows, columns = cell_values(similarity, cells)
        assert rows.tolist() == [[*self.ROWS, 0.0], [*self.COLUMNS, 0.0, 0.0]]
        assert columns.tolist() == [[*self.COLUMNS, 0.0], self.ROWS]

    def test_torch(self):
        torch = pytest.importorskip("torch", reason=NO_TORCH)
        rows, columns = cell_values(torch.from_numpy(self.SIMILARITY), torch.from_numpy(self.CELLS))
        assert rows.tolist() == self.ROWS
        assert columns.tolist() == self.COLUMNS

    def test_only_the_original_similarity_counts(self):
        """After seven rounds of the recursion nothing of the changed values is left in the result."""
        matrix = np.array([[0.9, 0.8], [0.7, 0.1]])
        rows, columns = cell_values(matrix, Assigner("recursive-argmax")(matrix).cells)
        assert (rows.tolist(), columns.tolist()) == ([0.8, 0.7], [0.7, 0.8])

    @settings(deadline=None, max_examples=50)
    @given(MATRICES, st.randoms(use_true_random=False))
    def test_any_selection_at_all(self, matrix, random):
        cells = np.array([[random.random() < 0.4 for _ in row] for row in matrix])
        rows, columns = cell_values(matrix, cells)
        for found, lines, chosen in ((rows, matrix, cells), (columns, matrix.T, cells.T)):
            expected = [
                max((v for v, c in zip(line, used, strict=True) if c), default=0.0)
                for line, used in zip(lines, chosen, strict=True)
            ]
            assert found.tolist() == expected


class TestErrors:
    @pytest.mark.parametrize(
        ("settings", "names"),
        [
            ({"method": "hungarian"}, "hungarian"),
            ({"method": "recursive-argmin"}, "recursive-argmax"),  # the hint
            ({"method": ""}, "method"),
            ({"method": "recursive-argmax", "preset": "autors"}, "authors"),
            ({"preset": "papers"}, "papers"),
            ({"method": "auction", "eps": 0.0}, "eps"),
            ({"method": "auction", "eps": -1e-2}, "eps"),
            ({"method": "auction", "eps": float("nan")}, "eps"),
            ({"method": "auction", "eps": float("inf")}, "eps"),
            ({"method": "auction", "max_rounds": 0}, "max_rounds"),
            ({"method": "recursive-argmax", "rounds": -1}, "rounds"),
        ],
        ids=str,
    )
    def test_settings(self, settings, names):
        with pytest.raises(SpecError, match=names):
            Assigner(**settings)

    @pytest.mark.parametrize(
        ("method", "preset"), [(m, p) for m in METHODS for p in PRESETS if (m, p) not in FITTING], ids=str
    )
    def test_a_preset_that_does_not_fit_the_method(self, method, preset):
        with pytest.raises(SpecError, match=preset) as error:
            Assigner(method, preset=preset)
        assert method in str(error.value)

    @every_assigner
    def test_values_that_are_not_finite(self, assigner):
        for bad in (np.nan, np.inf, -np.inf):
            matrix = np.zeros((3, 4))
            matrix[1, 2] = bad
            for values in (matrix, np.stack([np.zeros((3, 4)), matrix])):
                with pytest.raises(InputError, match="NaN or infinite"):
                    assigner(values)

    def test_values_that_are_not_finite_in_torch(self):
        torch = pytest.importorskip("torch", reason=NO_TORCH)
        with pytest.raises(InputError, match="NaN or infinite"):
            Assigner()(torch.tensor([[0.1, float("nan")]]))

    @every_assigner
    def test_a_side_without_tokens(self, assigner):
        for shape in ((0, 3), (3, 0), (0, 0), (2, 0, 3), (2, 3, 0)):
            with pytest.raises(InputError, match="no tokens"):
                assigner(np.zeros(shape))

    @pytest.mark.parametrize("side", [0, 1])
    def test_a_side_that_is_all_padding(self, side):
        masks = np.ones((2, 3), dtype=bool), np.ones((2, 4), dtype=bool)
        masks[side][1] = False
        with pytest.raises(InputError, match="no tokens"):
            Assigner("row-mask")(np.zeros((2, 3, 4)), masks)

    @pytest.mark.parametrize(
        ("rows", "columns"),
        [
            ((2, 4), (2, 3)),  # swapped
            ((2, 3), (2, 3)),
            ((1, 3), (1, 4)),  # would broadcast
            ((3,), (4,)),
            ((2, 3, 1), (2, 4)),
            ((2, 3), (3, 4)),
        ],
        ids=str,
    )
    def test_masks_of_the_wrong_shape(self, rows, columns):
        with pytest.raises(InputError, match="masks"):
            Assigner()(np.zeros((2, 3, 4)), (np.ones(rows, dtype=bool), np.ones(columns, dtype=bool)))

    @pytest.mark.parametrize("shape", [(), (3,), (1, 2, 3, 4)], ids=str)
    def test_neither_a_matrix_nor_a_batch(self, shape):
        with pytest.raises(InputError, match="expected a matrix"):
            Assigner()(np.zeros(shape))

    @pytest.mark.parametrize("library", ["numpy", "torch"])
    @pytest.mark.parametrize("count", [1, 3])
    def test_masks_of_ones_and_zeros_are_refused_or_understood(self, library, count):
        """Tokenizers give attention masks as integers; used as an index they would check the wrong values for NaN."""
        wrap = pytest.importorskip("torch", reason=NO_TORCH).from_numpy if library == "torch" else np.asarray
        values = np.random.default_rng(0).uniform(-1, 1, size=(count, 2, 3))
        masks = np.ones((count, 2), dtype=np.int64), np.ones((count, 3), dtype=np.int64)
        masks[1][0, 2] = 0
        try:
            found = Assigner("row-mask")(wrap(values), tuple(map(wrap, masks))).cells
        except InputError:
            return
        assert found.tolist() == Assigner("row-mask")(values, (masks[0] > 0, masks[1] > 0)).cells.tolist()
        values[-1, 0, 0] = np.nan
        with pytest.raises(InputError):
            Assigner("row-mask")(wrap(values), tuple(map(wrap, masks)))
