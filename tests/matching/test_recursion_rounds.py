"""The recursive assignments round by round: each round as if the method had been asked for that many."""

from dataclasses import replace

import numpy as np
import pytest

from evalign.matching.registry import parse


@pytest.mark.parametrize("name", ["recursive-argmax", "recursive-topk,authors", "auction-topk"])
@pytest.mark.parametrize("shape", [(5, 7), (6, 6), (1, 4), (9, 3)])
def test_every_round_is_what_that_many_rounds_give(name, shape):
    matching = parse(name)
    similarity = np.random.default_rng(1).uniform(-1, 1, shape)
    by_rounds = list(matching.by_rounds(similarity, 6))
    assert len(by_rounds) == 7
    for rounds, matched in enumerate(by_rounds):
        alone = replace(matching, rounds=rounds).solve(similarity)
        assert (matched.cells == alone.cells).all()
        assert matched.notes["violations"] == alone.notes["violations"]
        assert matched.candidate_values.tolist() == alone.candidate_values.tolist()
