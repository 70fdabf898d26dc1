"""`evalign explain -m evalign`: from the matrix to the score from 0 to 100, and what each token gives to it."""

import re

import pytest

import evalign

PAIR = ("The storm closed two schools.", "Two schools were shut because of the storm.")


@pytest.fixture(scope="module")
def metric(minilm):
    return evalign.metric("evalign")


def numbers(text):
    return [float(found) for found in re.findall(r"-?\d+\.\d{4}", text)]


@pytest.mark.parametrize(
    ("pair", "start"),
    [
        (PAIR, "x = 100 · (m - "),
        ((PAIR[0], PAIR[0]), "x = 100 · (m - "),
        ((PAIR[0], "Ninety violins."), "below 10"),
        (("the the the the cat", "a cat"), "words repeated"),
    ],
    ids=["plain", "the text itself", "unrelated", "repeated"],
)
def test_it_is_written_out_from_its_matrix_to_its_score(run, metric, pair, start):
    shown = run("explain", *pair, "-m", "evalign").stdout.splitlines()
    (end,) = [line for line in shown if line.strip().startswith(start)]
    assert numbers(end)[-1] == pytest.approx(metric.score([pair[0]], [pair[1]])["score"][0], abs=6e-5)


def test_the_shares_of_the_tokens_sum_to_the_score(run, metric):
    shown = run("explain", *PAIR, "-m", "evalign").stdout.splitlines()
    sums = [float(line.split()[-1]) for line in shown if line.strip().startswith("sum ")]
    score = metric.score([PAIR[0]], [PAIR[1]])["score"][0]
    assert 0 < score < 100
    assert len(sums) == 2
    assert sum(sums) == pytest.approx(score, abs=0.02)
