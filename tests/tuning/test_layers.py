"""Layer tuning finds the layer that was planted, and is honest about rows it has not seen."""

import numpy as np
import pytest

import evalign
from evalign.core import Row
from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.training.layers import RatedRows, Search, choose, tune_layers

SEARCH = Search(resampling=Resampling(samples=200, seed=7))


def rated(count: int, human: np.ndarray, documents: int = 20) -> RatedRows:
    rows = [Row(str(place), f"text {place}", (f"reference {place}",)) for place in range(count)]
    groups = ["ab" if place % 2 else "cd" for place in range(count)]
    return RatedRows(rows, human, groups, [f"doc {place % documents}" for place in range(count)])


def test_the_planted_layer_wins_in_every_fold():
    random = np.random.default_rng(1)
    human = random.normal(size=200)
    scores = {"0": random.normal(size=200), "1": human + 0.3 * random.normal(size=200), "2": random.normal(size=200)}
    tuned = choose(rated(200, human), scores, SEARCH)
    assert tuned.best == "1"
    assert tuned.chosen == ("1",) * 5
    assert next(iter(tuned.choices)) == "1"
    assert tuned.held_out.value == pytest.approx(tuned.choices["1"].value, abs=0.03)
    assert tuned.choices["1"].low < tuned.choices["1"].value < tuned.choices["1"].high


@pytest.mark.slow
def test_choosing_among_noise_is_worth_nothing_on_new_rows():
    """The best of 200 random columns looks good on the rows it was chosen on, and is not."""
    random = np.random.default_rng(2)
    human = random.normal(size=60)
    scores = {str(place): random.normal(size=60) for place in range(200)}
    tuned = choose(rated(60, human), scores, SEARCH)
    assert tuned.choices[tuned.best].value > 0.25
    assert tuned.held_out.value < 0.15


def test_one_pass_over_a_model():
    texts = [f"{'long ' * (place % 5)}text number {place}" for place in range(40)]
    rows = [Row(str(place), text, (texts[-1 - place],)) for place, text in enumerate(texts)]
    metric = evalign.BERTScore(model="fake")
    human = evalign.BERTScore(model="fake", layer="0").score(texts, texts[::-1])["f1"]
    data = RatedRows(rows, human, [""] * 40, [str(place) for place in range(40)])
    tuned = tune_layers(metric, data, ("0", "1", "1+2", "2"), SEARCH)
    assert tuned.best == "0"
    assert tuned.choices["0"].value == pytest.approx(1)


def test_bad_input():
    human = np.arange(10.0)
    with pytest.raises(InputError, match="at least 3 rated rows, found 2"):
        tune_layers(evalign.BERTScore(model="fake"), rated(2, human[:2]), ("0",))
    with pytest.raises(SpecError, match="folds=1"):
        tune_layers(evalign.BERTScore(model="fake"), rated(10, human), ("0",), Search(folds=1))
    with pytest.raises(UndefinedStatisticError, match="two documents"):
        choose(rated(10, human, documents=1), {"0": human}, SEARCH)


def test_no_layer_is_best_where_none_has_a_value():
    with pytest.raises(UndefinedStatisticError, match="no choice of layers"):
        choose(rated(6, np.ones(6), documents=6), {"0": np.arange(6.0)}, Search(resampling=Resampling(samples=50)))
