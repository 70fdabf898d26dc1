"""The top-k with gradients, against plain bisection and the hard top-k, and the two forms of LiSAScore that use it."""

import math
import random

import pytest
import torch
from assignments import Assigner

from evalign.errors import InputError, SpecError
from evalign.matching.soft import SoftOptions, auction_topk, recursive_topk, soft_topk


def by_bisection(values, k, temperature):
    """Sigmoids above a threshold that makes them sum to k, of one list."""
    low, high = min(values) - 50 * temperature, max(values) + 50 * temperature
    for _ in range(200):
        middle = (low + high) / 2
        weights = [1 / (1 + math.exp(min((middle - value) / temperature, 700))) for value in values]
        low, high = (middle, high) if sum(weights) > k else (low, middle)
    return weights


def drawn(seed, width=9):
    """Values with a mask of at least two, a k between 1 and all but one of those, and a temperature."""
    rng = random.Random(seed)
    values = [rng.uniform(-3, 3) for _ in range(width)]
    mask = [True, True, *(rng.random() < 0.7 for _ in range(width - 2))]
    rng.shuffle(mask)
    return values, mask, rng.randint(1, sum(mask) - 1), 10 ** rng.uniform(-2, 1)


@pytest.mark.parametrize("temperature", [0.02, 0.3, 5.0])
def test_weights_are_those_of_plain_bisection(temperature):
    values, masks, ks, _ = zip(*(drawn(seed) for seed in range(200)), strict=True)
    noise = torch.where(torch.tensor(masks), torch.tensor(values, dtype=torch.float64), math.nan)
    weights = soft_topk(noise, torch.tensor(ks), torch.tensor(masks), temperature)
    for own, mask, k, found in zip(values, masks, ks, weights.tolist(), strict=True):
        counted = [value for value, real in zip(own, mask, strict=True) if real]
        assert [w for w, real in zip(found, mask, strict=True) if real] == pytest.approx(
            by_bisection(counted, k, temperature), abs=1e-9
        )
        assert all(w == 0 for w, real in zip(found, mask, strict=True) if not real)


def test_cold_it_is_the_hard_topk():
    for seed in range(200):
        values, mask, k, _ = drawn(seed)
        ranked = sorted((place for place in range(len(values)) if mask[place]), key=lambda place: -values[place])
        expected = [float(place in ranked[:k]) for place in range(len(values))]
        found = soft_topk(torch.tensor(values, dtype=torch.float64), k, torch.tensor(mask), 1e-9)
        assert found.tolist() == pytest.approx(expected, abs=1e-9)


def test_hot_it_is_the_same_share_for_all():
    assert soft_topk(torch.tensor([1.0, 2.0, 9.0, -4.0]), 1, temperature=1e9).tolist() == pytest.approx([0.25] * 4)


@pytest.mark.parametrize("temperature", [1e-300, 1e-6, 0.1])
def test_equal_values_share_equally_however_cold(temperature):
    values = torch.tensor([[7.0, 7.0, 7.0, -2.0], [7.0, -2.0, -2.0, -2.0]], dtype=torch.float64)
    shares = [[2 / 3, 2 / 3, 2 / 3, 0], [1, 1 / 3, 1 / 3, 1 / 3]]
    assert soft_topk(values, 2, temperature=temperature).tolist() == [pytest.approx(row, abs=1e-12) for row in shares]


def test_gradients_are_those_of_finite_differences():
    for seed in range(10):
        values, mask, k, temperature = drawn(seed, width=6)
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        warm, real = max(temperature, 0.1), torch.tensor(mask)
        assert torch.autograd.gradcheck(lambda v, k=k, real=real, warm=warm: soft_topk(v, k, real, warm), x)
        (slope,) = torch.autograd.grad(soft_topk(x, k, real, warm)[real][0], x)
        assert (slope[~real] == 0).all()
        assert slope.sum().item() == pytest.approx(0, abs=1e-9)  # a shift of all values changes nothing


@pytest.mark.parametrize(("k", "weight"), [(0, 0.0), (3, 1.0)])
def test_none_or_all(k, weight):
    values = torch.tensor([1.0, -1.0, 0.5], requires_grad=True)
    weights = soft_topk(values, k)
    assert weights.tolist() == [weight] * 3
    weights.sum().backward()
    assert values.grad.tolist() == [0, 0, 0]


def test_one_k_per_vector_and_the_type_of_the_values():
    weights = soft_topk(torch.rand(2, 3, 5, generator=torch.Generator().manual_seed(0)).half(),
                        torch.tensor([[0, 1, 2], [3, 4, 5]]))  # fmt: skip
    assert weights.dtype == torch.float16
    assert weights.sum(-1).tolist() == [pytest.approx([0, 1, 2], abs=0.01), pytest.approx([3, 4, 5], abs=0.01)]


BAD = {
    "k above all": lambda: soft_topk(torch.zeros(3), 4),
    "k above what counts": lambda: soft_topk(torch.zeros(2), 2, torch.tensor([True, False])),
    "k negative": lambda: soft_topk(torch.zeros(3), -1),
    "k a fraction": lambda: soft_topk(torch.zeros(3), 1.5),
    "k of another shape": lambda: soft_topk(torch.zeros(2, 3), torch.ones(3, dtype=torch.long)),
    "nan": lambda: soft_topk(torch.tensor([math.nan, 1.0]), 1),
    "inf": lambda: soft_topk(torch.tensor([math.inf, 1.0]), 1),
    "no values": lambda: soft_topk(torch.zeros(2, 0), 0),
    "a number": lambda: soft_topk(torch.tensor(1.0), 1),
    "whole numbers": lambda: soft_topk(torch.tensor([1, 2]), 1),
    "a mask of another shape": lambda: soft_topk(torch.zeros(3), 1, torch.tensor([True])),
    "a mask of numbers": lambda: soft_topk(torch.zeros(3), 1, torch.ones(3)),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    with pytest.raises(InputError):
        BAD[case]()


@pytest.mark.parametrize("temperature", [0, -1, math.nan, math.inf])
def test_impossible_temperatures(temperature):
    with pytest.raises(SpecError, match="positive"):
        soft_topk(torch.zeros(3), 1, temperature=temperature)


def batch(seed):
    """Forty padded matrices of 1 to 7 tokens a side."""
    generator = torch.Generator().manual_seed(seed)
    similarity = torch.rand(40, 7, 7, dtype=torch.float64, generator=generator) * 2 - 1
    lengths = torch.randint(1, 8, (2, 40), generator=generator)
    return similarity, tuple(torch.arange(7) < side[:, None] for side in lengths)


@pytest.mark.parametrize(("form", "method"), [(recursive_topk, "recursive-topk"), (auction_topk, "auction-topk")])
@pytest.mark.parametrize("changes", [{}, {"rounds": 0}, {"rounds": 3}], ids=["paper", "no rounds", "three rounds"])
def test_cold_forms_take_the_cells_of_their_method(form, method, changes):
    for seed in range(5):
        similarity, masks = batch(seed)
        cells = Assigner(method, **changes)(similarity, masks).cells
        weights = form(similarity, masks, SoftOptions(temperature=1e-8, **changes)).weights
        assert torch.allclose(weights, cells.double(), atol=1e-6)


def test_recursive_topk_has_the_mass_of_the_short_side_in_all_and_auction_topk_per_token():
    similarity, masks = batch(9)
    counts = [mask.sum(1) for mask in masks]
    topk, auction = (form(similarity, masks, SoftOptions(temperature=0.2)).weights
                     for form in (recursive_topk, auction_topk))  # fmt: skip
    assert torch.allclose(topk.sum((1, 2)), torch.minimum(*counts).double())
    by_rows = counts[0] <= counts[1]
    assert torch.allclose(auction.sum(2)[by_rows], masks[0][by_rows].double())
    assert torch.allclose(auction.sum(1)[~by_rows], masks[1][~by_rows].double())
