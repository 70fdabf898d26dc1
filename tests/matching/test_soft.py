"""Soft assignment: forward values against the hard ones, gradients against finite differences, laws of batches."""

import pytest
import torch
from assignments import Assigner

from evalign.errors import InputError, SpecError
from evalign.matching.registry import matching_class
from evalign.matching.soft import (
    SOFT_METHODS,
    Capability,
    SoftOptions,
    capability,
    envelope,
    gumbel_sinkhorn,
    recursive_gumbel,
    recursive_softmax,
    sinkhorn,
    straight_through,
)

SMOOTH = ("sinkhorn", "gumbel-sinkhorn", "recursive-softmax", "recursive-topk", "auction-topk")
SHAPES = [(4, 4), (3, 6), (6, 3), (1, 4), (5, 1), (1, 1)]
LENGTHS = [(3, 5), (5, 2), (4, 4), (1, 5), (2, 1)]  # of a padded batch of five, in no order


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def options(seed=0, **changes):
    """Settings tight enough for finite differences; a new generator, so that noise repeats."""
    return SoftOptions(**{"temperature": 0.3, "tolerance": 1e-12, **changes}, generator=seeded(seed))


def matrices(*shape, seed=0):
    return torch.rand(*shape, dtype=torch.float64, generator=seeded(seed)) * 2 - 1


def padded():
    masks = [torch.arange(5) < torch.tensor(lengths)[:, None] for lengths in zip(*LENGTHS, strict=True)]
    return matrices(len(LENGTHS), 5, 5), (masks[0], masks[1])


def gradient(form, similarity, masks=None, **changes):
    """That of a fixed random functional of the weights."""
    similarity = similarity.clone().requires_grad_()
    weights = SOFT_METHODS[form](similarity, masks, options(**changes)).weights
    (weights * matrices(*weights.shape, seed=9)).sum().backward()
    return similarity.grad


@pytest.mark.parametrize("shape", [SHAPES[0], *(pytest.param(shape, marks=pytest.mark.slow) for shape in SHAPES[1:])])
@pytest.mark.parametrize("form", SMOOTH)
def test_gradients_are_those_of_finite_differences(form, shape):
    similarity = matrices(2, *shape).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: SOFT_METHODS[form](s, None, options()).weights, similarity)


@pytest.mark.parametrize("form", SMOOTH)
def test_gradients_of_padded_batches_are_those_of_finite_differences(form):
    similarity, masks = padded()
    similarity.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: SOFT_METHODS[form](s, masks, options()).weights, similarity, fast_mode=True
    )


def test_envelope_is_the_gradient_of_the_best_total():
    """Where the optimum is unique, the maximum of S·X over assignments has the gradient X."""

    def total(similarity):
        return (envelope(similarity).weights * similarity).sum()

    for shape in SHAPES:
        similarity = matrices(2, *shape).requires_grad_()
        assert torch.autograd.gradcheck(total, similarity)
        (slope,) = torch.autograd.grad(total(similarity), similarity)
        assert torch.equal(slope, envelope(similarity).weights)


@pytest.mark.parametrize(
    ("hard", "soft"), [("straight-through", "sinkhorn"), ("recursive-gumbel", "recursive-softmax")]
)
def test_hard_forms_have_the_gradient_of_their_soft_form(hard, soft):
    similarity, masks = padded()
    expected = gradient(soft, similarity, masks, noise=0)
    assert expected.abs().max() > 0.01
    assert torch.allclose(gradient(hard, similarity, masks, noise=0), expected, atol=1e-12)


def test_hard_gumbel_has_the_gradient_of_the_softmax_of_the_disturbed_matrix():
    """Without rounds the recursion is the identity, so that noise can be added outside."""
    similarity, masks = padded()
    draw = torch.empty_like(similarity).exponential_(generator=seeded(4))
    expected = gradient("recursive-softmax", similarity - 0.2 * draw.log(), masks, rounds=0)
    assert torch.allclose(gradient("recursive-gumbel", similarity, masks, rounds=0, seed=4, noise=0.2), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_straight_through_is_exactly_the_exact_assignment(shape, dtype):
    similarity = matrices(8, *shape).to(dtype)
    cells = Assigner("exact")(similarity).cells
    for form in (straight_through, envelope):
        weights = form(similarity).weights
        assert weights.dtype == dtype
        assert torch.equal(weights, cells.to(dtype))


@pytest.mark.parametrize("rounds", [0, 7])
def test_hard_recursion_without_noise_takes_the_cells_of_recursive_argmax(rounds):
    similarity, masks = padded()
    cells = Assigner("recursive-argmax", rounds=rounds)(similarity, masks).cells
    weights = recursive_gumbel(similarity, masks, options(noise=0, rounds=rounds)).weights
    assert torch.equal(weights, cells.double())
    cold = recursive_softmax(similarity, masks, options(temperature=1e-4, rounds=rounds)).weights
    assert torch.allclose(cold, cells.double(), atol=1e-6)


@pytest.mark.parametrize("shape", [(6, 6), (5, 9), (9, 5), (20, 20)])
def test_cold_sinkhorn_is_the_exact_assignment(shape):
    """The best total is made unique by a margin of 0.3 for its own cells."""
    similarity = matrices(8, *shape)
    cells = Assigner("exact")(similarity).cells.double()
    result = sinkhorn(similarity + 0.3 * cells, None, options(temperature=0.01, tolerance=1e-9))
    assert result.converged.all()
    assert torch.allclose(result.weights, cells, atol=1e-6)


def test_a_loose_tolerance_does_not_end_it_before_it_is_cold():
    """Two by two with equal diagonals is balanced at every temperature, also at those on the way down."""
    similarity = torch.tensor([[[0.6, 0.4], [0.4, 0.6]]], dtype=torch.float64)
    result = sinkhorn(similarity, None, options(temperature=0.01, tolerance=0.1))
    assert result.converged.all()
    assert torch.allclose(result.weights, torch.eye(2, dtype=torch.float64), atol=1e-6)


def test_sinkhorn_by_hand():
    """Two by two: P = [[p, 1-p], [1-p, p]] with p/(1-p) = exp(difference of the totals / 2 / temperature)."""
    similarity = torch.tensor([[[0.9, 0.1], [0.3, 0.5]]], dtype=torch.float64)
    p = torch.sigmoid(torch.tensor((0.9 + 0.5 - 0.1 - 0.3) / 2 / 0.25, dtype=torch.float64))
    weights = sinkhorn(similarity, None, options(temperature=0.25)).weights
    assert torch.allclose(weights, torch.stack([p, 1 - p, 1 - p, p]).reshape(1, 2, 2))


@pytest.mark.parametrize("temperature", [1.0, 0.05, 0.01])
@pytest.mark.parametrize("form", ["sinkhorn", "gumbel-sinkhorn"])
def test_every_short_side_token_has_mass_one_and_no_token_more(form, temperature):
    similarity, masks = padded()
    result = SOFT_METHODS[form](similarity, masks, options(temperature=temperature, tolerance=1e-6))
    assert result.converged.all()
    rows, columns = result.weights.sum(2), result.weights.sum(1)
    for item, (n, m) in enumerate(LENGTHS):
        for mass, count, short in ((rows[item], n, n <= m), (columns[item], m, m <= n)):
            assert (mass <= 1 + 2e-6).all()
            assert torch.allclose(mass.sum(), torch.tensor(float(min(n, m)), dtype=torch.float64), atol=1e-5)
            assert not short or torch.allclose(mass[:count], torch.ones(count, dtype=torch.float64), atol=2e-6)
    assert result.weights.min() >= 0


def test_softmax_of_the_recursion_gives_every_short_side_token_mass_one():
    similarity, masks = padded()
    weights = recursive_softmax(similarity, masks, options()).weights
    for item, (n, m) in enumerate(LENGTHS):
        mass = weights[item].sum(1)[:n] if n <= m else weights[item].sum(0)[:m]
        assert torch.allclose(mass, torch.ones(min(n, m), dtype=torch.float64))


@pytest.mark.parametrize("shift", [-3, 0, 3])
@pytest.mark.parametrize("form", SOFT_METHODS)
def test_a_batch_gives_what_its_pairs_give(form, shift):
    """With a loose tolerance, because a pair's steps must not depend on padding or on its neighbours either."""
    similarity, masks = padded()
    loose = options(noise=0, tolerance=1e-2)
    similarity = similarity + shift
    weights = SOFT_METHODS[form](similarity, masks, loose).weights
    for item, (n, m) in enumerate(LENGTHS):
        alone = SOFT_METHODS[form](similarity[item : item + 1, :n, :m], None, loose).weights
        assert torch.allclose(weights[item, :n, :m], alone[0], atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 5.0, float("nan"), float("inf")])
@pytest.mark.parametrize("form", SOFT_METHODS)
def test_padding_has_no_influence(form, value):
    similarity, masks = padded()
    valid = masks[0][:, :, None] & masks[1][:, None, :]
    changed = torch.where(valid, similarity, value)
    before, after = (SOFT_METHODS[form](s, masks, options()).weights for s in (similarity, changed))
    assert torch.equal(before, after)
    assert (before[~valid] == 0).all()
    if form != "envelope":
        slope = gradient(form, changed, masks)
        assert torch.equal(slope, gradient(form, similarity, masks))
        assert (slope[~valid] == 0).all()


@pytest.mark.parametrize("form", ["gumbel-sinkhorn", "recursive-gumbel"])
def test_noise_repeats_with_its_seed_and_only_then(form):
    similarity = matrices(3, 6, 6)
    first, again, other = (SOFT_METHODS[form](similarity, None, options(seed)).weights for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


def test_gumbel_sinkhorn_is_sinkhorn_of_the_disturbed_matrix():
    similarity = matrices(3, 4, 6)
    draw = torch.empty_like(similarity).exponential_(generator=seeded(5))
    expected = sinkhorn(similarity - 0.2 * draw.log(), None, options()).weights
    assert torch.equal(gumbel_sinkhorn(similarity, None, options(seed=5, noise=0.2)).weights, expected)


def test_drawn_cells_follow_the_softmax():
    """Gumbel-max: cells drawn with noise 1 have the probabilities of a softmax of temperature 1."""
    similarity = matrices(1, 1, 3) * 2
    drawn = recursive_gumbel(similarity.expand(20_000, 1, 3), None, options(noise=1.0)).weights.mean(0)
    assert torch.allclose(drawn, similarity[0].softmax(1), atol=0.015)


@pytest.mark.parametrize("temperature", [0.01, 1e-4])
def test_says_when_the_iterations_run_out(temperature):
    """The second pair needs none; the first is left with a plan that still gives no column more than its mass."""
    similarity = torch.cat([matrices(1, 12, 12), torch.zeros(1, 12, 12, dtype=torch.float64)])
    early = {"temperature": temperature, "max_iterations": 3}
    result = sinkhorn(similarity, None, options(**early))
    assert result.converged.tolist() == [False, True]
    assert straight_through(similarity, None, options(**early)).converged.tolist() == [False, True]
    assert torch.allclose(result.weights.sum(1), torch.ones(2, 12, dtype=torch.float64))
    assert torch.isfinite(gradient("sinkhorn", similarity, **early)).all()


EDGES = {
    "random": lambda: matrices(2, 384, 384).float(),
    "rectangular": lambda: matrices(2, 384, 200).float(),
    "equal": lambda: torch.ones(2, 384, 384),
    "zero": lambda: torch.zeros(2, 384, 300),
    "nearly equal": lambda: 1 + 1e-6 * matrices(2, 64, 64).float(),
    "repeated": lambda: torch.eye(8).repeat(2, 8, 8),
    "one": lambda: torch.ones(2, 1, 1),
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize(("temperature", "most"), [(0.05, 384), (0.005, 64)])
@pytest.mark.parametrize("form", [form for form in SOFT_METHODS if form != "envelope"])
def test_gradients_stay_finite(form, edge, temperature, most):
    similarity = EDGES[edge]()[:, :most, :most].clone().requires_grad_()
    result = SOFT_METHODS[form](similarity, None, options(temperature=temperature, tolerance=1e-4))
    assert result.converged.all()
    (result.weights * matrices(*similarity.shape, seed=9)).sum().backward()
    assert torch.isfinite(similarity.grad).all()


@pytest.mark.parametrize("form", ["recursive-softmax", "recursive-gumbel"])
def test_many_rounds_keep_finite_gradients(form):
    assert torch.isfinite(gradient(form, matrices(2, 40, 30), rounds=384)).all()


@pytest.mark.parametrize(
    "change",
    [{"temperature": 0}, {"temperature": -1}, {"temperature": float("nan")}, {"temperature": float("inf")},
     {"noise": -0.1}, {"noise": float("nan")}, {"tolerance": 0}, {"factor": 0}, {"max_iterations": 0}, {"rounds": -1}],
)  # fmt: skip
def test_impossible_settings(change):
    with pytest.raises(SpecError):
        SoftOptions(**change)


def mask(*rows):
    return torch.tensor(rows, dtype=torch.bool)


BAD = {
    "nan": (torch.full((1, 2, 2), float("nan")), None),
    "inf": (torch.full((1, 2, 2), float("inf")), None),
    "no rows": (torch.zeros(1, 0, 2), None),
    "no columns": (torch.zeros(1, 2, 0), None),
    "a masked side": (torch.zeros(2, 2, 2), (mask([1, 1], [0, 0]), mask([1, 1], [1, 1]))),
    "not a batch": (torch.zeros(2, 2), None),
    "masks of another shape": (torch.zeros(1, 2, 3), (mask([1, 1, 1]), mask([1, 1]))),
    "masks of numbers": (torch.zeros(1, 2, 2), (torch.ones(1, 2), torch.ones(1, 2))),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("form", SOFT_METHODS)
def test_bad_input(form, case):
    with pytest.raises(InputError):
        SOFT_METHODS[form](*BAD[case], SoftOptions())


@pytest.mark.parametrize("form", SOFT_METHODS)
def test_half_precision_and_an_empty_batch(form):
    half = SOFT_METHODS[form](matrices(2, 4, 5).half(), None, SoftOptions()).weights
    assert half.dtype == torch.float16
    assert half.sum((1, 2)).tolist() == pytest.approx([4, 4], abs=0.02)
    assert SOFT_METHODS[form](torch.zeros(0, 4, 5), None, SoftOptions()).weights.shape == (0, 4, 5)


CAPABILITIES = {  # whether no array leaves torch, and whether the selection has a gradient
    "greedy": (True, False),
    "exact": (False, False),
    "row-mask": (True, False),
    "recursive-argmax": (True, False),
    "recursive-topk": (True, True),
    "auction-topk": (True, True),
    "auction": (True, False),
}


@pytest.mark.parametrize("name", CAPABILITIES)
def test_what_a_matching_can_do_on_tensors(name):
    on_device, has_gradient = CAPABILITIES[name]
    found = capability(matching_class(name)())
    assert found == Capability(on_device, found.gradient)
    assert (0.9 < found.gradient <= 1) if has_gradient else found.gradient == 0
