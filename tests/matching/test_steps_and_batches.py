"""Steps that explain a matching, groups of matrices solved together, limits of size, and registering a matching."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from evalign.errors import SpecError, TextTooLongError
from evalign.matching import base, registry
from evalign.matching.base import (
    Matching,
    MatchingStep,
    MatchResult,
    SharedMatrix,
    cell_values,
    groups,
    solve_all,
    solve_together,
)
from evalign.matching.registry import (
    METHODS,
    all_matchings,
    cell_matchings,
    current_name,
    matching_class,
    parse,
    register_matching,
)
from evalign.matching.transport import Transport, partial_plan, unbalanced_plan

WIDE = np.array([[0.9, 0.8, 0.1], [0.85, 0.2, 0.3]])


def steps(name, matrix, weights=None):
    return parse(name).steps(matrix, weights or tuple(map(np.ones, matrix.shape)))


def flipped(step):
    return MatchingStep(tuple(cell[::-1] for cell in step.cells), step.reasons, step.title)


BY_HAND = {
    # Row 1 loses .55 by waiting, row 0 only .1.
    "row-mask": [MatchingStep(((1, 0),), ("lead 0.550",)), MatchingStep(((0, 1),), ("lead 0.700",))],
    # Both bid for column 0: row 1 its lead .55 + .05. Then column 0 has only .3 left for row 0: .8 - .3 + .05.
    "auction,eps=0.05": [MatchingStep(((1, 0),), ("price 0.600",)), MatchingStep(((0, 1),), ("price 0.550",))],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_steps_by_hand(name):
    assert steps(name, WIDE) == BY_HAND[name]
    assert steps(name, WIDE.T) == [flipped(step) for step in BY_HAND[name]]


def test_in_a_square_matrix_columns_choose_by_row_mask_and_rows_bid():
    square = WIDE[:, :2]
    assert steps("row-mask", square) == [
        MatchingStep(((0, 1),), ("lead 0.600",)),
        MatchingStep(((1, 0),), ("lead inf",)),
    ]
    assert steps("auction,eps=0.05", square) == [
        MatchingStep(((1, 0),), ("price 0.700",)),
        MatchingStep(((0, 1),), ("price 0.650",)),
    ]


def test_winners_of_one_round_are_one_step():
    (step,) = steps("auction,eps=0.5", np.array([[1.0, 0.0, 0.5], [0.0, 0.75, 0.25]]))
    assert step == MatchingStep(((0, 0), (1, 1)), ("price 1.000", "price 1.000"))


def test_weights_decide_the_steps_of_a_weighted_matching():
    """Mean shares are .25, .3 and .7 by column, over the largest: row 0 leads by (.3 * .8 - .25 * .9) / .7."""
    weights = np.array([1.0, 1.0]), np.array([0.0, 1.0, 9.0])
    assert steps("row-mask", WIDE, weights) == BY_HAND["row-mask"]
    first, second = steps("row-mask,weighted", WIDE, weights)
    assert first == MatchingStep(((0, 1),), ("lead 0.021",))
    assert second.cells == ((1, 0),)


@pytest.mark.parametrize("name", ["recursive-argmax,paper,rounds=2", "recursive-topk,paper,rounds=2"])
def test_steps_of_a_recursion_are_the_cells_that_are_new_after_each_round(name):
    """At first both rows take column 0; one subtraction turns row 0 to column 1."""
    expected = [
        MatchingStep((), title="after 0 rounds: 1 used twice"),
        MatchingStep(((0, 1),), title="after 1 rounds: 0 used twice"),
        MatchingStep((), title="after 2 rounds: 0 used twice"),
    ]
    assert steps(name, WIDE) == expected
    assert steps(name, WIDE.T) == [flipped(step) for step in expected]


def test_a_recursion_takes_as_many_steps_as_it_has_rounds():
    assert len(steps("auction-topk,authors", WIDE)) == 1 + 2, "as many rounds as the short side has tokens"
    assert len(steps("recursive-argmax,paper", WIDE)) == 1 + 7
    assert steps("recursive-argmax,authors-as-published", WIDE) == []
    for name in ("greedy", "exact", "transport=exact"):
        assert steps(name, WIDE) == []


def shapes_of(found, shapes):
    return [[shapes[index] for index in group] for group in found]


def test_groups_hold_similar_shapes_within_the_limit(monkeypatch):
    monkeypatch.setattr(base, "BATCH_CELLS", 24)
    shapes = [(3, 4), (2, 3), (5, 5), (1, 9), (2, 2), (3, 4)]
    found = list(groups(shapes))
    assert sorted(index for group in found for index in group) == list(range(6))
    # (1, 9) and (2, 2) would be padded to 2 x 2 x 9 = 36 cells; (3, 4) twice are exactly 24; (5, 5) alone is above.
    assert shapes_of(found, shapes) == [[(1, 9)], [(2, 2), (2, 3)], [(3, 4), (3, 4)], [(5, 5)]]
    assert list(groups([])) == []
    assert list(groups([(5, 5)])) == [[0]]


def test_padding_of_earlier_matrices_counts(monkeypatch):
    monkeypatch.setattr(base, "BATCH_CELLS", 36)
    shapes = [(1, 9), (2, 2), (3, 2)]
    assert shapes_of(groups(shapes), shapes) == [[(1, 9), (2, 2)], [(3, 2)]]


@pytest.mark.parametrize("name", ["row-mask", "exact", "greedy"])
def test_all_matrices_are_solved_in_their_order(name, monkeypatch):
    monkeypatch.setattr(base, "BATCH_CELLS", 40)
    random = np.random.default_rng(0)
    matrices = [random.uniform(-1, 1, shape) for shape in ((3, 4), (5, 2), (1, 1), (4, 4), (2, 6))]
    matching = parse(name)
    for matrix, result in zip(matrices, solve_all(matching, matrices), strict=True):
        alone = matching.solve(matrix, tuple(map(np.ones, matrix.shape)))
        assert result.cells.tolist() == alone.cells.tolist()
        assert result.candidate_values.tolist() == alone.candidate_values.tolist()
        assert result.reference_values.tolist() == alone.reference_values.tolist()
    assert solve_all(matching, []) == []


def test_weights_of_a_group_belong_to_their_matrices():
    matrices = [WIDE, WIDE[:, :2], WIDE.T]
    weights = [tuple(np.arange(1.0, 1 + count) ** 3 for count in matrix.shape) for matrix in matrices]
    matching = parse("row-mask,weighted")
    for result, matrix, pair in zip(solve_together(matching, matrices, weights), matrices, weights, strict=True):
        assert result.cells.tolist() == matching.solve(matrix, pair).cells.tolist()
        assert result.similarity.tolist() == matrix.tolist()


@pytest.mark.parametrize("name", ["exact", "transport=exact"])
def test_a_matrix_may_have_sixteen_million_cells(name):
    matching = parse(name)
    matching.check_size(4000, 4000)
    matching.check_size(16_000_000, 1)
    with pytest.raises(TextTooLongError, match=rf"4000 x 4001 tokens are too many to {matching.verb}; use bertscore"):
        matching.check_size(4000, 4001)
    parse("greedy").check_size(10**9, 10**9)


def test_notes_that_are_zero_are_not_counted():
    result = MatchResult(WIDE, WIDE[:, 0], WIDE[0], lambda: WIDE > 0.5, notes={"a": np.int64(0), "b": np.int64(2)})
    assert result.counts == {"b": 2}


def test_partners_give_each_token_its_value():
    result = parse("greedy").solve(WIDE)
    assert result.candidate_partners.tolist() == [0, 0]
    assert result.reference_partners.tolist() == [0, 0, 1]
    exact = parse("exact").solve(WIDE)
    assert (exact.candidate_partners.tolist(), exact.reference_partners.tolist()) == ([1, 0], [1, 0, -1])
    assert [values.tolist() for values in cell_values(WIDE, exact.cells)] == [[0.8, 0.85], [0.85, 0.8, 0.0]]


def test_shared_tables_are_computed_once():
    calls = []

    def total(matrix):
        calls.append(1)
        return matrix.sum()

    shared = SharedMatrix(WIDE)
    assert [shared.table(total), shared.table(total), shared.table(np.max)] == [WIDE.sum(), WIDE.sum(), 0.9]
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["exact", "row-mask", "recursive-topk,mean", "row-mask,weighted", "greedy"])
def test_a_shared_matrix_gives_the_same_result(name):
    weights = np.array([9.0, 1.0]), np.array([1.0, 2.0, 3.0])
    shared, matching = SharedMatrix(WIDE), parse(name)
    for _ in range(2):
        found, expected = matching.solve_shared(shared, weights), matching.solve(WIDE, weights)
        assert found.cells.tolist() == expected.cells.tolist()
        assert found.candidate_values.tolist() == expected.candidate_values.tolist()
        assert found.counts == expected.counts


@pytest.fixture
def registered(monkeypatch):
    """An empty table of registered matchings, for one test."""
    monkeypatch.setattr(registry, "_registered", {})


def made(matching_key, name="Corner"):
    @dataclass(frozen=True)
    class Corner(Matching):
        key: ClassVar[str] = matching_key
        about: ClassVar[str] = "the first tokens"

        def solve(self, similarity, weights=None, masks=None):
            raise NotImplementedError

    Corner.__name__ = Corner.__qualname__ = "".join(name)  # a text of its own: equal, not the same
    return Corner


@pytest.mark.usefixtures("registered")
def test_a_registered_matching_is_found_by_its_key():
    corner = made("corner")
    assert register_matching(corner) is corner
    assert matching_class("corner") is corner
    assert parse("corner") == corner()
    assert "corner" in all_matchings()
    assert "corner" in cell_matchings()
    assert "corner" not in cell_matchings(third_party=False)
    assert all_matchings()[-1] == "transport"
    again = made("corner", ["Cor", "ner"])
    assert register_matching(again) is again, "the same class, read again"
    assert matching_class("corner") is again


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("key", ["greedy", "transport", "corner"])
def test_a_key_that_is_taken_is_refused(key):
    register_matching(made("corner"))
    with pytest.raises(SpecError, match=rf"there is a matching '{key}' already; give Other another key"):
        register_matching(made(key, "Other"))
    assert matching_class("corner").__name__ == "Corner"


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("value", [3, int, made("corner")()])
def test_only_classes_of_matchings_can_be_registered(value):
    with pytest.raises(SpecError, match="register_matching expects a subclass of Matching, got "):
        register_matching(value)


@pytest.mark.parametrize(
    ("words", "name"),
    [("stock", "exact"), (" Row masking", "row-mask"), ("aggressive_auction", "auction-topk"), ("gredy", "gredy")],
)
def test_the_words_of_the_paper_are_names(words, name):
    assert current_name(words) == name
    assert current_name(name) == name


def test_settings_of_a_name_are_read_in_any_order_and_printed_in_one():
    assert parse("recursive-argmax,strict,rounds=3,authors").name == "recursive-argmax,authors,rounds=3,strict"
    assert parse("recursive-topk,factor=2.5").name == "recursive-topk,paper,factor=2.5"
    assert parse("auction,weighted").name == "auction,eps=0.01,weighted"
    for name in ("recursive-argmax,rounds=x", "recursive-argmax,rounds=-1", "recursive-topk,factor=1001", "greedy,a"):
        with pytest.raises(SpecError):
            parse(name)
    assert set(METHODS) < set(cell_matchings(third_party=False))


LIMITS = [
    ("recursive-argmax,rounds=0", True),
    ("recursive-argmax,factor=0.001", True),
    ("recursive-argmax,factor=1000.0", True),
    ("recursive-argmax,factor=0.0009", False),
    ("recursive-argmax,factor=1000.1", False),
    ("recursive-argmax,authors-as-published,factor=2.0", False),
    ("recursive-argmax,authors-as-published,rounds=2", False),
    ("recursive-topk,authors-as-published", False),
    ("auction,eps=0", False),
    ("auction,eps=-0.5", False),
    ("auction,eps=inf", False),
    ("auction,eps=1e-300", True),
]


@pytest.mark.parametrize(("name", "valid"), LIMITS)
def test_limits_of_settings(name, valid):
    if valid:
        assert parse(name).solve(WIDE).cells.sum() == 2
    else:
        with pytest.raises(SpecError):
            parse(name)


def test_an_auction_needs_a_round():
    auction = matching_class("auction")
    assert auction(max_rounds=1).solve(WIDE).counts == {"auction-unfinished": 1}
    with pytest.raises(SpecError, match="max_rounds=0: expected at least 1"):
        auction(max_rounds=0)


MASSES = np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])


def test_the_solver_of_a_name_makes_its_plan():
    """Of costs far from ties, so that the small distances which break them decide nothing."""
    cost = np.sqrt(2 - 2 * WIDE)
    expected = {
        "transport=partial,fraction=0.4": partial_plan(cost, *MASSES, 0.4),
        "transport=unbalanced,penalty=0.3": unbalanced_plan(cost, *MASSES, 0.3),
    }
    for name, plan in expected.items():
        result = parse(name).solve(WIDE, MASSES)
        np.testing.assert_allclose(result.masses, plan.plan, atol=1e-12)
        assert result.cost == pytest.approx(plan.total)
        assert result.masses.sum() < 0.99
        assert result.counts == {}
    full = parse("transport=exact").solve(WIDE, MASSES)
    np.testing.assert_allclose(full.masses.sum(1), MASSES[0])
    smooth = parse("transport=sinkhorn,regularization=0.5").solve(WIDE, MASSES)
    np.testing.assert_allclose(smooth.masses.sum(0), MASSES[1])
    assert (smooth.masses > 0).all()
    assert not (full.masses > 0).all()
    assert smooth.cost > full.cost


def test_a_name_of_transport_prints_what_differs_from_the_default():
    assert Transport("unbalanced", penalty=0.25).name == "transport=unbalanced,penalty=0.25"
    assert Transport("sinkhorn", "cosine", 0.1).name == "transport=sinkhorn,cost=cosine,regularization=0.1"
    assert Transport().name == "transport=exact"
    with pytest.raises(SpecError, match="unknown solver 'simplex'"):
        Transport("simplex")
    with pytest.raises(SpecError, match="unknown cost 'manhattan'"):
        Transport("exact", "manhattan")


def test_padding_has_the_value_zero_on_both_sides():
    masks = np.array([[True, True], [True, False]]), np.array([[True, True, True], [True, False, False]])
    batch = np.stack([-WIDE, -WIDE])
    for name in ("greedy", "exact", "transport=exact"):
        result = parse(name).solve(batch, tuple(mask * 1.0 for mask in masks), masks)
        assert result.candidate_values[1].tolist() == [-0.9, 0]
        assert result.reference_values[1].tolist() == [-0.9, 0, 0]


def test_a_single_partner_is_bought_for_the_minimum_bid():
    """There is no second choice, so no lead over it."""
    assert steps("auction,eps=0.05", np.array([[0.5]])) == [MatchingStep(((0, 0),), ("price 0.050",))]


def test_without_weights_all_tokens_have_the_same_mass():
    for name in ("transport=exact", "transport=partial,fraction=0.5"):
        plain, equal = parse(name).solve(WIDE), parse(name).solve(WIDE, (np.full(2, 7.0), np.full(3, 7.0)))
        np.testing.assert_allclose(plain.masses, equal.masses, atol=1e-12)
        assert plain.cost == pytest.approx(equal.cost)
    np.testing.assert_allclose(parse("transport=exact").solve(WIDE).masses.sum(1), [0.5, 0.5])


@pytest.mark.parametrize("name", ["recursive-argmax,paper,rounds=2,weighted", "recursive-topk,mean,rounds=2,weighted"])
def test_rounds_of_a_weighted_recursion_end_with_its_cells(name):
    matching, weights = parse(name), (np.array([9.0, 1.0]), np.array([1.0, 1.0, 8.0]))
    *_, last = matching.by_rounds(WIDE, 2, weights)
    assert last.cells.tolist() == matching.solve(WIDE, weights).cells.tolist()
    assert last.counts == matching.solve(WIDE, weights).counts
