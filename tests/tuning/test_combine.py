"""Training a learned metric: ridge against its definition, folds that keep sources together, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import evalign
from evalign.core import Row
from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.research.learned.combine import (
    UNBOUNDED,
    Combination,
    Penalty,
    RatedFeatures,
    best_penalty,
    combine,
    compute_features,
    expand_features,
    fit,
    held_out,
    sharing_text,
    train,
)
from evalign.research.learned.features import FeatureScorer, parse_features
from evalign.research.learned.metric import LearnedFile
from evalign.training.layers import RatedRows, document_folds

WORDS = ["river", "stone", "bridge", "winter", "letter", "garden", "silver", "music", "shadow", "paper", "window"]


def sentence(seed: int, words: int = 8) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, words))


def rated(count: int = 120, human=None, sources: int = 30) -> RatedRows:
    """Candidates that keep more or fewer of their reference's words, rated by how many, with noise."""
    random = np.random.default_rng(5)
    rows, kept_words = [], []
    for place in range(count):
        reference = sentence(place % sources)
        kept = int(random.integers(0, 9))
        candidate = " ".join([*reference.split()[:kept], *sentence(1000 + place).split()[kept:]])
        rows.append(Row(str(place), candidate, (reference,), f"source {place % sources}"))
        kept_words.append(kept)
    noisy = np.array(kept_words) * 10 + random.normal(size=count) * 5
    ratings = np.clip(noisy, 0, 100) if human is None else human
    return RatedRows(rows, ratings, [""] * count, [str(row.source) for row in rows])


FEATURES = ["layers(bertscore(model=fake))", "chrf", "length-ratio"]


def test_ridge_is_the_minimum_of_its_definition():
    random = np.random.default_rng(0)
    features = random.normal(size=(50, 4)) * [1, 10, 0.1, 5] + [3, 0, -7, 2]
    ratings = features @ [1, -0.2, 4, 0] + random.normal(size=50)
    data = RatedFeatures(features, ratings, np.ones(4), np.zeros(50))
    line = fit(data, Penalty(0.3))
    standard = (features - features.mean(0)) / features.std(0)
    # scipy on the stacked system [Z; sqrt(n a) I] w = [y; 0] minimises the same function
    stacked = np.vstack([standard, np.sqrt(50 * 0.3) * np.eye(4)])
    wanted = np.concatenate([ratings - ratings.mean(), np.zeros(4)])
    np.testing.assert_allclose(line.weights, np.linalg.lstsq(stacked, wanted)[0], atol=1e-9)
    bounded = fit(data, Penalty(0.3, nonnegative=True))
    np.testing.assert_allclose(bounded.weights, lsq_linear(stacked, wanted, (0, np.inf), tol=1e-12).x, atol=1e-6)
    assert line.weights[1] < -1 < bounded.weights[1] == 0
    upside_down = fit(replace(data, signs=np.array([1, -1, 1, 1])), Penalty(0.3, nonnegative=True))
    assert upside_down.weights[1] < -1


def test_constant_features_weigh_nothing():
    features = np.column_stack([np.arange(20.0), np.full(20, 0.3)])
    for nonnegative in (False, True):
        data = RatedFeatures(features, np.arange(20.0), np.ones(2), np.zeros(20))
        line = fit(data, Penalty(1e-9, nonnegative))
        assert line.weights[1] == 0
        np.testing.assert_allclose(line(features), np.arange(20.0), atol=1e-5)


def test_held_out_rows_are_predicted_by_lines_that_did_not_see_them():
    """With as many random features as rows, only a line that saw a row can predict it."""
    random = np.random.default_rng(1)
    features, ratings = random.normal(size=(60, 58)), random.normal(size=60)
    data = RatedFeatures(features, ratings, np.ones(58), np.arange(60) % 5)
    seen = fit(data, Penalty(1e-9))(features)
    assert np.corrcoef(seen, ratings)[0, 1] > 0.9
    assert abs(np.corrcoef(held_out(data, Penalty(1e-9)), ratings)[0, 1]) < 0.4
    assert best_penalty(data, Penalty()).strength >= 1
    assert np.var(held_out(data, Penalty(), nested=True)) < 0.3


def test_predictions_stay_within_the_ratings_that_the_line_saw():
    """The highest rating lies in one fold: a line that did not see it cannot know that the scale goes so far."""
    features = np.arange(12.0)[:, None]
    ratings, folds = np.arange(12.0) * 10, np.arange(12) // 4
    data = RatedFeatures(features, ratings, np.ones(1), folds)
    for nested in (False, True):
        predicted = held_out(data, Penalty(1e-9), nested=nested)
        np.testing.assert_allclose(predicted[folds == 2], 70, atol=0.05)
        np.testing.assert_allclose(predicted[folds == 0], 40, atol=0.05)
        known = held_out(data, Penalty(1e-9), (0, 95), nested)
        np.testing.assert_allclose(known[8:], [80, 90, 95, 95], atol=0.1)
        free = held_out(data, Penalty(1e-9), UNBOUNDED, nested)
        np.testing.assert_allclose(free, ratings, atol=0.1)


def test_a_single_feature_is_as_good_as_itself():
    """Learned from one feature and the best single feature are the same line; both are held within the scale."""
    random = np.random.default_rng(0)
    rows = [Row(str(n), "a" * int(size), ("b" * 20,)) for n, size in enumerate(random.integers(1, 20, 60))]
    human = np.clip(np.array([len(row.candidate) for row in rows]) / 20 * 6 - 1 + random.normal(size=60), 1, 5)
    for scale in (None, (1.0, 5.0)):
        made = combine(
            RatedRows(rows, human, [""] * 60, [row.id for row in rows]),
            expand_features(["length-ratio"]),
            Combination(scale=scale),
        )
        assert made.held_out.rmse == pytest.approx(made.single.rmse, rel=0.01)


def test_rows_that_share_a_text_have_one_label():
    rows = [
        Row("1", "a red door", ("the door is red",)),
        Row("2", "the door is red", ("a red door",)),  # turned round
        Row("3", "it rains", ("rain falls", "the door is red")),  # one of several references
        Row("4", "it rains", ("showers",)),  # the same candidate
        Row("5", "one", ("two",), "zwei"),
        Row("6", "three", ("four",), "zwei"),  # the same source
        Row("7", "", ("five",)),
        Row("8", " ", ("six",)),  # that both have no candidate is nothing in common
    ]
    labels = sharing_text(rows)
    assert len(set(labels[:4])) == 1
    assert labels[4] == labels[5]
    assert len(set(labels)) == 4
    assert sharing_text([]) == []


def test_one_source_is_in_one_fold():
    documents = [f"source {place % 30}" for place in range(120)]
    folds = document_folds(documents, 5, 12345)
    assert len(set(folds.tolist())) == 5
    for document in set(documents):
        assert len({fold for fold, one in zip(folds.tolist(), documents, strict=True) if one == document}) == 1


def test_it_learns_what_was_planted_and_says_how_far_off_it_is(tmp_path):
    made = combine(rated(), expand_features(FEATURES), Combination(scale=(0, 100)))
    assert made.held_out.pearson > 0.85
    assert made.held_out.rmse < made.single.rmse
    assert made.file.trained["rmse"] == pytest.approx(made.held_out.rmse, abs=1e-5)
    assert (made.file.low, made.file.high) == (0, 100)
    assert made.left_out == {}
    made.file.save(tmp_path / "a.json")
    metric = evalign.Learned(file=str(tmp_path / "a.json"))
    assert metric.bounds == (0, 100)
    data = rated()
    again = metric.score([row.candidate for row in data.rows], [row.references for row in data.rows])["score"]
    values, _ = compute_features(FeatureScorer(expand_features(FEATURES)), data.rows)
    np.testing.assert_allclose(again, made.file.predict(values), atol=1e-5)
    assert np.corrcoef(again, data.human)[0, 1] > 0.85


def test_training_twice_gives_the_same_file(tmp_path):
    digests = {combine(rated(), expand_features(FEATURES)).file.digest for _ in range(2)}
    assert len(digests) == 1


def test_nonnegative_weights():
    made = combine(rated(), expand_features([*FEATURES, "ter"]), Combination(nonnegative=True))
    for term in made.file.terms:
        assert term.weight * (-1 if term.feature.startswith("ter") else 1) >= 0
    assert sum(abs(term.weight) for term in made.file.terms) > 0


def test_layers_shorthand():
    features = expand_features(["layers(bertscore(model=fake, specials=drop)).f1", "layers(sbert(model=fake))", "chrf"])
    assert [str(one) for one in features] == [
        *(f"bertscore(model=fake, layer={n}, specials=drop).f1" for n in range(5)),
        *(f"sbert(model=fake, layer={n}).score" for n in range(5)),
        "chrf.score",
    ]
    assert len(expand_features(["layers(bertscore(model=fake))"])) == 15
    assert len(expand_features(["bertscore(model=fake).*", "bertscore(model=fake).f1"])) == 3


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        (["berscore"], "bertscore"),
        (["chrf.f1"], "no field 'f1'"),
        (["layers(chrf)"], "no layers"),
        (["bertscore(model=fake, rescale=true)"], "leave out rescale"),
        (["learned"], "cannot be part"),
        ([""], "expected SPEC"),
        ([], "no features to combine"),
    ],
)
def test_features_that_are_none(specs, said):
    with pytest.raises(SpecError, match=said):
        expand_features(specs)


def test_a_file_says_nothing_about_the_machine_and_the_folder(tiny, tmp_path, monkeypatch):
    model = tiny("bert")
    monkeypatch.chdir(model.parent)
    spec = f"bertscore(model={model.name}, layer=1, backend=ort, threads=1, token_budget=999)"
    made = combine(rated(40, sources=10), parse_features(spec))
    (feature,) = parse_features(made.file.terms[0].feature)
    assert feature.metric == evalign.BERTScore(model=str(model), layer="1")
    made.file.save(tmp_path / "a.json")
    monkeypatch.chdir(tmp_path)
    assert 0 < evalign.Learned(file="a.json").score(["river stone"], ["river stone"])["score"][0] <= 100


def test_a_folder_with_the_name_of_a_word_is_not_meant(tmp_path, monkeypatch):
    for name in ("fake", "references"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    made = combine(rated(40, sources=10), parse_features("bertscore(model=fake, idf=references)"))
    assert made.file.terms[0].feature == "bertscore(model=fake, layer=2, idf=references).f1"


def test_layers_are_written_out():
    made = combine(rated(40, sources=10), parse_features("bertscore(model=fake)"))
    assert [term.feature for term in made.file.terms] == ["bertscore(model=fake, layer=2).f1"]


@pytest.mark.parametrize(
    ("data", "plan", "error", "said"),
    [
        (rated(human=np.full(120, 3.0)), Combination(), UndefinedStatisticError, "every row is rated 3"),
        (rated(12, sources=4), Combination(), InputError, "5 folds need at least as many groups .* found 4"),
        (rated(), Combination(folds=2), SpecError, "folds=2: expected at least 3"),
        (rated(), Combination(scale=(0, float("nan"))), SpecError, "scale 0 to nan: expected two finite numbers"),
        (rated(), Combination(scale=(0, float("inf"))), SpecError, "scale 0 to inf: expected two finite numbers"),
        (rated(), Combination(scale=(100, 0)), SpecError, "scale 100 to 0: expected .* the lower first"),
        (rated(), Combination(scale=(0, 5)), InputError, "scale 0 to 5: ratings run from"),
    ],
)
def test_ratings_that_teach_nothing(data, plan, error, said):
    features = parse_features("chrf")
    looked = []
    with pytest.raises(error, match=said):
        combine(data, features, plan, looked.append)
    assert looked == []
    with pytest.raises(error, match=said):
        train(data, np.zeros((len(data.rows), 1)), FeatureScorer(features), plan)


def test_rows_that_fail_are_left_out_and_counted(tiny):
    data = rated()
    rows = list(data.rows)
    rows[3] = Row("3", "no reference here", (), "source 3")
    rows[7] = Row("7", "far too long " * 50, rows[7].references, "source 7")
    spec = f'bertscore(model="{tiny("bert")}", layer=1, overlong=error)'
    made = combine(RatedRows(rows, data.human, data.groups, data.documents), parse_features(spec))
    assert made.file.trained["rows"] == 118
    assert made.left_out.pop("nothing to compare with") == 1
    ((why, count),) = made.left_out.items()
    assert count == 1
    assert "tokens" in why
    nothing = RatedRows([Row(row.id, row.candidate) for row in rows], data.human, data.groups, data.documents)
    with pytest.raises(InputError, match="no row could be scored: nothing to compare with"):
        combine(nothing, parse_features("chrf"))


def test_a_file_survives_the_round_trip(tmp_path):
    made = combine(rated(), expand_features(FEATURES)).file
    made.save(tmp_path / "a.json")
    assert LearnedFile.load(tmp_path / "a.json") == made
