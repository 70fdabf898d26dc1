"""The guide to metrics advises only where paired intervals part, costs part, and no rating took part in training."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from guide_advice import advise
from guide_agreement import Draws, agrees, minus
from guide_data import Sample, mark
from scipy import stats

from evalign.core import Row

TASK, SET = "German sentences", "stsb_de_dev"
COUNT = 300
TRUTH = np.random.default_rng(0).normal(size=COUNT)
ROWS = [Row(str(place), "a", (str(place),)) for place in range(COUNT)]
SAMPLE = Sample(SET, ROWS, {"human": TRUTH}, np.array(["x"] * COUNT), np.array([row.id for row in ROWS]))


def noisy(noise, seed):
    return TRUTH + noise * np.random.default_rng(seed).normal(size=COUNT)


def cost(low, high):
    return {"segment": [low, (low + high) / 2, high], "summary": [low, (low + high) / 2, high]}


SCORES = {
    "sbert": noisy(0.5, 1),  # the best
    "bertscore": noisy(0.52, 2),  # as good, but for chance
    "chrf": noisy(0.52, 3),  # as good, but for chance
    "rouge1": noisy(3, 4),  # clearly worse
    "lstm": TRUTH,  # perfect, but trained on these ratings
}
COSTS = {
    "sbert": cost(10, 11),
    "bertscore": cost(9.8, 10.4),  # cheaper by less than the margin
    "chrf": cost(0.1, 0.2),
    "rouge1": cost(0.01, 0.02),
    "lstm": cost(1, 2),
}


@pytest.fixture(scope="module")
def advice():
    columns = {spec: {SET: values} for spec, values in SCORES.items()}
    return advise(TASK, {SET: SAMPLE}, columns, COSTS)


def test_what_was_trained_on_the_ratings_is_not_advised(advice):
    assert advice.left_out == ("lstm",)
    assert "lstm" not in (advice.best, *advice.below)


def test_only_what_paired_intervals_part_is_called_worse(advice):
    assert advice.best == "sbert"
    assert set(advice.equal) == {"bertscore", "chrf"}
    assert advice.below["rouge1"].apart


def test_for_less_means_a_fifth_less_and_not_told_apart(advice):
    assert advice.cheaper == ("chrf",)
    assert advice.best_lexical == "chrf"


def test_agreement_is_pearson_and_differences_are_paired_on_common_rows():
    part = np.where(np.arange(COUNT) < 100, SCORES["rouge1"], np.nan)
    assert agrees(SAMPLE, part).value == pytest.approx(stats.pearsonr(SCORES["rouge1"][:100], TRUTH[:100])[0])
    gain = minus(SAMPLE, SCORES["sbert"], part)
    ours, theirs = (stats.pearsonr(SCORES[spec][:100], TRUTH[:100])[0] for spec in ("sbert", "rouge1"))
    assert gain.value == pytest.approx(ours - theirs)
    assert minus(SAMPLE, SCORES["sbert"], SCORES["sbert"]).ends == (0, 0)


def test_an_interval_around_zero_is_not_apart():
    assert not Draws(0.1, np.linspace(-1, 1, 100)).apart
    assert Draws(0.1, np.linspace(0.05, 0.2, 100)).apart


def test_marks():
    assert mark("bertscore(model=mpnet)", "wmt16_daseg") == "†"
    assert mark("evalign(model=mpnet)", "wmt15_daseg") == mark("lstm", "stsb_de_dev") == "‡"
    assert mark("chrf", "wmt16_daseg") == mark("evalign", "wmt21_da_toen") == ""
