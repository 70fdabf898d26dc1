"""LiSAScore's own options."""

import pytest

import evalign


@pytest.mark.parametrize("denominator", ["own", "min", "max"])
def test_every_denominator_keeps_scores_below_one_with_idf(denominator):
    references = ["strange philosophy thought", *["the of and", "a the of"] * 4]
    candidates = ["unusual philosophical contemplation", *references[1:]]
    metric = evalign.LiSAScore(model="fake", idf="references", denominator=denominator)
    assert all((field <= 1 + 1e-9).all() for field in metric.score(candidates, references))
