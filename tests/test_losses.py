"""AlignmentLoss: the metric's own F1 in the hard forms, gradients that stay finite, and a map that learns."""

import numpy as np
import pytest
import torch

from evalign.errors import InputError, SpecError
from evalign.matching.base import cell_values, f1, weighted_mean
from evalign.matching.greedy import Greedy
from evalign.matching.registry import matching_class
from evalign.matching.soft import SOFT_METHODS, SoftOptions
from evalign.training.losses import GREEDY, AlignmentLoss

MATCHINGS = (GREEDY, *SOFT_METHODS)
HARD = {"envelope": "exact", "straight-through": "exact", "recursive-gumbel": "recursive-argmax"}
LENGTHS = [(3, 5), (5, 2), (4, 4), (1, 5), (2, 1)]
LOW_NOISE = SoftOptions(temperature=0.1, noise=0.0)


def batch(lengths=LENGTHS, width=6, seed=0):
    """Random token vectors that lean to one side (so that most cosines are positive), padding that shouts."""
    drawn = torch.Generator().manual_seed(seed)
    sides, masks = [], []
    for counts in zip(*lengths, strict=True):
        vectors = torch.randn(len(counts), max(counts), width, dtype=torch.float64, generator=drawn) + 0.5
        masks.append(torch.arange(max(counts)) < torch.tensor(counts)[:, None])
        sides.append(torch.where(masks[-1][:, :, None], vectors, 100.0))
    return *sides, tuple(masks)


def metric_scores(candidate, reference, matching, weights):
    """Precision, recall and F1 as the numpy side of evalign computes them, of one pair without padding."""
    one, other = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (candidate, reference))
    similarity = one @ other.T
    if matching == GREEDY:
        matched = Greedy().solve(similarity)
        rows, columns = matched.candidate_values, matched.reference_values
    else:
        rows, columns = cell_values(similarity, matching_class(HARD[matching])().solve(similarity).cells)
    precision, recall = weighted_mean(rows, weights[0]), weighted_mean(columns, weights[1])
    return precision, recall, f1(precision, recall)


@pytest.mark.parametrize("lean", [0.0, 1.0], ids=["also negative", "mostly positive"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("matching", [GREEDY, *HARD])
def test_hard_forms_give_the_scores_of_the_metric(matching, weighted, lean):
    candidates, references, masks = batch()
    candidates = candidates + lean - 0.5
    torch.manual_seed(1)
    weights = tuple(torch.rand(mask.shape, dtype=torch.float64) for mask in masks) if weighted else None
    if weighted:
        weights[0][2] = 0  # all zero: equal weights
    scores = AlignmentLoss(matching, LOW_NOISE).scores(candidates, references, masks, weights)
    for item, (n, m) in enumerate(LENGTHS):
        own = [np.ones(n), np.ones(m)]
        if weights is not None:
            own = [weights[0][item, :n].numpy(), weights[1][item, :m].numpy()]
        expected = metric_scores(candidates[item, :n].numpy(), references[item, :m].numpy(), matching, own)
        found = [float(field[item]) for field in (scores.precision, scores.recall, scores.f1)]
        assert found == pytest.approx([float(value) for value in expected], abs=1e-12)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_token_picked_twice_is_worth_its_best_cell(swapped):
    """Both short-side tokens pick the first of three: cosines 1 and 0.8, so (1 + 0.8)/2 and max(1, 0.8)/3."""
    short, long = torch.tensor([[[1.0, 0.0], [0.8, -0.6]]]), torch.tensor([[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]])
    loss = AlignmentLoss("recursive-gumbel", SoftOptions(noise=0.0, rounds=0))
    scores = loss.scores(long, short) if swapped else loss.scores(short, long)
    found = [scores.precision.item(), scores.recall.item()]
    assert (found[::-1] if swapped else found) == pytest.approx([0.9, 1 / 3])


@pytest.mark.parametrize("matching", MATCHINGS)
def test_identical_texts_have_no_loss(matching):
    vectors = torch.eye(8)[None].repeat(3, 1, 1)
    assert AlignmentLoss(matching, SoftOptions(noise=0.01))(vectors, 3 * vectors).item() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("matching", MATCHINGS)
def test_padding_has_no_influence_and_no_gradient(matching):
    results = []
    for value in (0.0, 100.0, float("nan")):
        candidates, references, masks = batch()
        sides = [torch.where(mask[:, :, None], side, value).requires_grad_()
                 for side, mask in zip((candidates, references), masks, strict=True)]  # fmt: skip
        loss = AlignmentLoss(matching, LOW_NOISE)(*sides, masks)
        loss.backward()
        assert all((side.grad[~mask] == 0).all() for side, mask in zip(sides, masks, strict=True))
        results.append([loss.detach(), *(side.grad for side in sides)])
    for other in results[1:]:
        assert all(torch.equal(one, two) for one, two in zip(results[0], other, strict=True))


@pytest.mark.parametrize("matching", MATCHINGS)
def test_a_batch_gives_what_its_pairs_give(matching):
    candidates, references, masks = batch()
    loss = AlignmentLoss(matching, SoftOptions(noise=0.0, tolerance=1e-12), reduction="none")
    together = loss(candidates, references, masks)
    alone = [loss(candidates[i : i + 1, :n], references[i : i + 1, :m]) for i, (n, m) in enumerate(LENGTHS)]
    assert torch.allclose(together, torch.cat(alone), atol=1e-9)
    mean = AlignmentLoss(matching, SoftOptions(noise=0.0, tolerance=1e-12))(candidates, references, masks)
    assert mean.item() == pytest.approx(together.mean().item())


@pytest.mark.parametrize("matching", [m for m in MATCHINGS if m not in ("straight-through", "recursive-gumbel")])
def test_gradients_are_those_of_finite_differences(matching):
    candidates, references, masks = batch([(2, 4), (3, 2), (1, 1)], width=3)
    options = SoftOptions(temperature=0.2, noise=0.0, tolerance=1e-12)
    loss = AlignmentLoss(matching, options, reduction="none")
    sides = [torch.where(m[:, :, None], side, 0.0).requires_grad_()
             for side, m in zip((candidates, references), masks, strict=True)]  # fmt: skip
    assert torch.autograd.gradcheck(lambda c, r: loss(c, r, masks), sides, fast_mode=True)


def test_ratings_make_it_a_squared_error():
    candidates, references, masks = batch()
    ratings = torch.linspace(0, 1, len(LENGTHS), dtype=torch.float64)
    loss = AlignmentLoss("sinkhorn")
    scores = loss.scores(candidates, references, masks).f1
    assert loss(candidates, references, masks, ratings=ratings).item() == pytest.approx(
        ((scores - ratings) ** 2).mean().item()
    )


EDGES = {
    "384 tokens": lambda: (torch.randn(2, 384, 16) + 0.3, torch.randn(2, 300, 16) + 0.3),
    "one token": lambda: (torch.randn(4, 1, 16), torch.randn(4, 1, 16)),
    "one against many": lambda: (torch.randn(4, 1, 16), torch.randn(4, 9, 16)),
    "all equal": lambda: (torch.ones(2, 384, 16), torch.ones(2, 384, 16)),
    "zero vectors": lambda: (torch.zeros(2, 6, 16), torch.randn(2, 8, 16)),
    "only zero vectors": lambda: (torch.zeros(2, 6, 16), torch.zeros(2, 6, 16)),
    "one zero vector": lambda: (torch.ones(1, 6, 16) * (torch.arange(6) > 0)[None, :, None], torch.ones(1, 8, 16)),
    "huge and tiny": lambda: (1e30 * torch.randn(2, 6, 16), 1e-30 * torch.randn(2, 6, 16)),
    "opposite": lambda: (torch.ones(2, 6, 16), -torch.ones(2, 6, 16)),
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("matching", MATCHINGS)
def test_losses_and_gradients_stay_finite(matching, edge):
    torch.manual_seed(0)
    candidates, references = (side.requires_grad_() for side in EDGES[edge]())
    for ratings in (None, torch.full((len(candidates),), 0.3)):
        loss = AlignmentLoss(matching)(candidates, references, ratings=ratings)
        assert torch.isfinite(loss)
        for gradient in torch.autograd.grad(loss, (candidates, references)):
            assert torch.isfinite(gradient).all()


def test_size_of_vectors_does_not_matter():
    candidates, references, masks = batch()
    loss = AlignmentLoss("sinkhorn")
    expected = loss(candidates, references, masks)
    for scale in (1e-200, 1e200):
        assert loss(candidates * scale, references, masks).item() == pytest.approx(expected.item(), abs=1e-12)


@pytest.mark.parametrize("matching", MATCHINGS)
def test_training_lowers_the_loss(matching):
    """Candidates are references in another order, seen through a mixing matrix that a linear map must undo."""
    torch.manual_seed(3)
    references = torch.randn(32, 6, 8) + 0.4
    candidates = references[:, torch.randperm(6)] @ (torch.eye(8) + 0.35 * torch.randn(8, 8))
    learned = torch.nn.Linear(8, 8)
    torch.nn.init.eye_(learned.weight)
    loss = AlignmentLoss(matching, SoftOptions(temperature=0.1, noise=0.02, generator=torch.Generator().manual_seed(1)))
    steps = torch.optim.Adam(learned.parameters(), lr=0.02)
    course = []
    for _ in range(60):
        steps.zero_grad()
        now = loss(learned(candidates), references)
        now.backward()
        steps.step()
        course.append(now.item())
    assert course[-1] < 0.6 * course[0]


def test_half_precision_vectors():
    candidates, references, masks = batch()
    full = AlignmentLoss("straight-through")(candidates.half().float(), references.half().float(), masks)
    half = AlignmentLoss("straight-through")(candidates.half(), references.half(), masks)
    assert half.item() == pytest.approx(full.item(), abs=1e-6)


def test_says_when_sinkhorn_did_not_converge():
    options = SoftOptions(temperature=0.01, max_iterations=2)
    with pytest.warns(UserWarning, match="max_iterations=2 in 2 pairs"):
        AlignmentLoss("sinkhorn", options)(torch.rand(2, 9, 4), torch.rand(2, 9, 4))


@pytest.mark.parametrize("settings", [{"matching": "sinkhron"}, {"reduction": "sum"}])
def test_impossible_settings(settings):
    with pytest.raises(SpecError, match=r"sinkhorn|mean"):
        AlignmentLoss(**settings)


TOKENS = torch.ones(2, 3, 4)
NONE_REAL = torch.zeros(2, 3, dtype=torch.bool)
BAD = {
    "no tokens": {"masks": (NONE_REAL, ~NONE_REAL)},
    "masks of another shape": {"masks": (~NONE_REAL[:, :2], ~NONE_REAL)},
    "masks of numbers": {"masks": (torch.ones(2, 3), torch.ones(2, 3))},
    "another width": {"references": torch.ones(2, 3, 5)},
    "another batch": {"references": torch.ones(3, 3, 4)},
    "no batch": {"candidates": torch.ones(3, 4)},
    "an empty batch": {"candidates": torch.ones(0, 3, 4), "references": torch.ones(0, 3, 4)},
    "no width": {"candidates": torch.ones(2, 3, 0), "references": torch.ones(2, 3, 0)},
    "nan": {"candidates": torch.full((2, 3, 4), float("nan"))},
    "inf": {"references": torch.full((2, 3, 4), float("inf"))},
    "negative weights": {"weights": (-torch.ones(2, 3), torch.ones(2, 3))},
    "weights that are nan": {"weights": (torch.full((2, 3), float("nan")), torch.ones(2, 3))},
    "weights of another shape": {"weights": (torch.ones(2, 2), torch.ones(2, 3))},
    "ratings of another shape": {"ratings": torch.ones(3)},
    "ratings that are nan": {"ratings": torch.tensor([0.5, float("nan")])},
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("matching", [GREEDY, "straight-through"])
def test_bad_input(matching, case):
    with pytest.raises(InputError):
        AlignmentLoss(matching)(**{"candidates": TOKENS, "references": TOKENS, **BAD[case]})
