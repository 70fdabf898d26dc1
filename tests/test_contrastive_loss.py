"""ContrastiveAlignmentLoss: plain loops give the same numbers, gradients hold, and training tells pairs apart."""

import math

import numpy as np
import pytest
import torch

from evalign.errors import InputError, SpecError
from evalign.matching.soft import SOFT_METHODS, SoftOptions
from evalign.training.losses import AlignmentLoss, ContrastiveAlignmentLoss

CALM = SoftOptions(temperature=0.2, noise=0.0, tolerance=1e-12)
SMOOTH = ("greedy", "sinkhorn", "recursive-topk", "auction-topk")


def batch(seed, pairs=4, width=5):
    """Padded token vectors with masks and token weights; padding holds NaN."""
    drawn = np.random.default_rng(seed)
    sides, masks, weights = [], [], []
    for longest in (4, 5):
        mask = np.arange(longest) < drawn.integers(1, longest + 1, pairs)[:, None]
        vectors = np.where(mask[..., None], drawn.normal(0.4, 1, (pairs, longest, width)), np.nan)
        sides.append(torch.from_numpy(vectors))
        masks.append(torch.from_numpy(mask))
        weights.append(torch.from_numpy(drawn.choice([0.0, 0.5, 1.0, 2.0], (pairs, longest))))
    return sides, tuple(masks), tuple(weights)


def mean_of_best(ours, theirs, weights):
    """Weighted mean over our tokens of the best cosine with one of theirs."""
    cosines = [[float(a @ b) / math.sqrt(float(a @ a) * float(b @ b)) for b in theirs] for a in ours]
    weights = weights if sum(weights) > 0 else [1.0] * len(ours)
    return sum(w * max(row) for w, row in zip(weights, cosines, strict=True)) / sum(weights)


def plain_scores(sides, masks, weights, score):
    """Greedy matching of every candidate with every reference, token by token."""
    texts = [[(vectors[mask].numpy(), of_tokens[mask].tolist()) for vectors, mask, of_tokens in zip(*one, strict=True)]
             for one in zip(sides, masks, weights, strict=True)]  # fmt: skip
    matrix = []
    for candidate, of_candidate in texts[0]:
        row = []
        for reference, of_reference in texts[1]:
            precision = mean_of_best(candidate, reference, of_candidate)
            recall = mean_of_best(reference, candidate, of_reference)
            f1 = 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0
            row.append({"precision": precision, "recall": recall, "f1": f1}[score])
        matrix.append(row)
    return matrix


def info_nce(matrix, temperature, groups):
    """-log of the share of each row's own cell."""
    losses = []
    for i, row in enumerate(matrix):
        held = [j for j in range(len(row)) if j == i or groups[i] != groups[j]]
        losses.append(math.log(sum(math.exp((row[j] - row[i]) / temperature) for j in held)))
    return losses


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("score", ["f1", "precision", "recall"])
def test_plain_loops_give_the_same_losses(score, symmetric):
    for seed in range(40):
        sides, masks, weights = batch(seed)
        groups = [0, seed % 2, 2, 3]  # in half of the batches the first two pairs are of different groups
        loss = ContrastiveAlignmentLoss("greedy", reduction="none", temperature=0.2, score=score, symmetric=symmetric)
        found = loss(*sides, masks, weights, torch.tensor(groups)).tolist()
        matrix = plain_scores(sides, masks, weights, score)
        expected = info_nce(matrix, 0.2, groups)
        if symmetric:
            turned = info_nce([list(column) for column in zip(*matrix, strict=True)], 0.2, groups)
            expected = [(one + other) / 2 for one, other in zip(expected, turned, strict=True)]
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("matching", ["greedy", *SOFT_METHODS])
def test_every_cell_is_the_score_of_its_pair_alone(matching):
    sides, masks, weights = batch(1)
    together = ContrastiveAlignmentLoss(matching, CALM).scores(*sides, masks, weights)
    alone = AlignmentLoss(matching, CALM)
    for i in range(4):
        for j in range(4):
            pair = [(both[0][i : i + 1], both[1][j : j + 1]) for both in (sides, masks, weights)]
            expected = alone.scores(*pair[0], *pair[1:])
            for field in ("precision", "recall", "f1"):
                assert getattr(together, field)[i, j].item() == pytest.approx(getattr(expected, field).item(), abs=1e-9)


@pytest.mark.parametrize("matching", SMOOTH)
def test_gradients_are_those_of_finite_differences(matching):
    sides, masks, weights = batch(2, pairs=2, width=2)
    sides = [torch.where(mask[..., None], side, 0.0)[:, :3].requires_grad_()
             for side, mask in zip(sides, masks, strict=True)]  # fmt: skip
    masks, weights = (tuple(one[:, :3] for one in both) for both in (masks, weights))
    loss = ContrastiveAlignmentLoss(matching, CALM, reduction="none", score="precision")
    assert torch.autograd.gradcheck(lambda c, r: loss(c, r, masks, weights), sides)


@pytest.mark.parametrize("matching", SMOOTH)
def test_padding_has_no_gradient(matching):
    sides, masks, weights = batch(3)
    sides = [side.requires_grad_() for side in sides]
    ContrastiveAlignmentLoss(matching, CALM)(*sides, masks, weights).backward()
    for side, mask in zip(sides, masks, strict=True):
        assert (side.grad[~mask] == 0).all()
        assert torch.isfinite(side.grad).all()
        assert side.grad[mask].abs().max() > 1e-6


def test_texts_that_cannot_be_told_apart_cost_the_logarithm_of_the_batch():
    vectors = torch.ones(8, 3, 4, requires_grad=True)
    loss = ContrastiveAlignmentLoss(temperature=1e-6)(vectors, vectors)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(8), abs=1e-5)
    assert torch.isfinite(vectors.grad).all()


def separation(loss, model, pairs):
    """Mean score of the pairs minus mean score of candidates with other references; share whose own is the best."""
    with torch.no_grad():
        scores = loss.scores(model(pairs[0]), pairs[1]).f1
    own = scores.diagonal()
    others = scores[~torch.eye(len(scores), dtype=torch.bool)]
    return (own.mean() - others.mean()).item(), (scores.argmax(1) == torch.arange(len(scores))).double().mean().item()


@pytest.mark.parametrize("matching", ["greedy", "auction-topk"])
def test_a_few_steps_tell_pairs_from_negatives_also_unseen_ones(matching):
    """Candidates are their references in another order through a random map, which a linear layer must undo."""
    drawn = torch.Generator().manual_seed(4)
    mixing = torch.eye(8) + 0.7 * torch.randn(8, 8, generator=drawn)
    references = torch.randn(2, 16, 4, 8, generator=drawn) + 0.5
    candidates = references[:, :, torch.randperm(4, generator=drawn)] @ mixing
    seen, unseen = zip(candidates, references, strict=True)
    model = torch.nn.Linear(8, 8)
    torch.nn.init.eye_(model.weight)
    torch.nn.init.zeros_(model.bias)
    loss = ContrastiveAlignmentLoss(matching, temperature=0.1)
    before = separation(loss, model, seen), separation(loss, model, unseen)
    steps = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(25):
        steps.zero_grad()
        loss(model(seen[0]), seen[1]).backward()
        steps.step()
    after = separation(loss, model, seen), separation(loss, model, unseen)
    for (gap, best), (gap_before, best_before) in zip(after, before, strict=True):
        assert gap > 1.5 * gap_before
        assert best > best_before


TOKENS = torch.ones(2, 3, 4)
BAD = {
    "one pair": ({"candidates": TOKENS[:1], "references": TOKENS[:1]}, "at least 2 pairs"),
    "one group": ({"groups": torch.tensor([5, 5])}, "no negatives"),
    "groups of another shape": ({"groups": torch.tensor([1, 2, 3])}, "2 groups"),
    "groups that are no whole numbers": ({"groups": torch.tensor([1.0, 2.0])}, "whole number"),
    "weights of another shape": ({"weights": (torch.ones(4, 3), torch.ones(2, 3))}, r"\(4, 3\): expected \(2, 3\)"),
    "negative weights": ({"weights": (-torch.ones(2, 3), torch.ones(2, 3))}, "not negative"),
    "another width": ({"references": torch.ones(2, 3, 5)}, "expected candidates"),
    "nan": ({"candidates": torch.full((2, 3, 4), math.nan)}, "NaN"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    changes, said = BAD[case]
    with pytest.raises(InputError, match=said):
        ContrastiveAlignmentLoss()(**{"candidates": TOKENS, "references": TOKENS, **changes})


@pytest.mark.parametrize(
    "settings",
    [{"temperature": 0}, {"temperature": 1e-9}, {"temperature": math.nan}, {"score": "f2"}, {"matching": "gredy"},
     {"reduction": "sum"}],
    ids=str,
)  # fmt: skip
def test_impossible_settings(settings):
    with pytest.raises(SpecError):
        ContrastiveAlignmentLoss(**settings)
