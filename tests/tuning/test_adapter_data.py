"""What adapters are trained on: rated files of several scales, ordered pairs, and copies damaged by rule."""

import json

import numpy as np
import pytest

from evalign.errors import InputError, SpecError
from evalign.io.rows import Columns
from evalign.training.damage import FUNCTION_WORDS, RULES, damaged, opposite
from evalign.training.rated_pairs import read_files

RATED = [{"candidate": f"c{n}", "references": [f"r{n}", f"s{n}"], "human": value} for n, value in enumerate([1, 2, 6])]


def file(tmp_path, rows, name="rated.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def read(*paths, weights=(), aspect=None):
    return read_files(paths, weights, Columns(), None, aspect)


def test_every_file_is_standardised_by_itself(tmp_path):
    tenfold = [{**row, "human": 100 - 10 * row["human"]} for row in RATED]
    data = read(file(tmp_path, RATED), file(tmp_path, tenfold, "other.jsonl"), weights=(1, 0.5))
    ratings = np.array([pair.similarity for pair in data.pairs]).reshape(2, 3)
    assert ratings.mean(axis=1) == pytest.approx([0, 0])
    assert ratings.std(axis=1) == pytest.approx([1, 1])
    assert ratings[0] == pytest.approx(-ratings[1])
    assert [pair.weight for pair in data.pairs] == [1, 1, 1, 0.5, 0.5, 0.5]
    assert data.pairs[0].references == ("r0", "s0")
    assert "3 pairs, mean 3, deviation 2.16" in data.mapping


def test_far_ratings_are_held_within_three_deviations(tmp_path):
    rows = [{"candidate": f"c{n}", "reference": "r", "human": float(n == 0)} for n in range(50)]
    assert max(pair.similarity for pair in read(file(tmp_path, rows)).pairs) == 3


def test_better_and_worse(tmp_path):
    ordered = [{"better": "b", "worse": "w", "references": ["r"]}, {"better": "b", "worse": " ", "references": ["r"]}]
    data = read(file(tmp_path, ordered), file(tmp_path, RATED, "rated2.jsonl"))
    assert (data.pairs[0].first, data.pairs[0].worse, data.pairs[0].references) == ("b", "w", ("r",))
    assert (len(data.pairs), data.left_out) == (4, {"empty text": 1})


def test_named_ratings_are_chosen_in_the_files_that_have_them(tmp_path):
    named = [{**row, "human": {"tone": row["human"], "facts": 1}} for row in RATED]
    data = read(file(tmp_path, named), file(tmp_path, RATED, "plain.jsonl"), aspect="tone")
    assert data.pairs[1].similarity == data.pairs[4].similarity
    with pytest.raises(InputError, match="choose one of them with `aspect`"):
        read(file(tmp_path, named))


def test_missing_ratings_are_left_out_and_counted(tmp_path):
    rows = [*RATED, {**RATED[0], "human": None}, {**RATED[0], "human": float("nan")}, {**RATED[0], "candidate": " "}]
    data = read(file(tmp_path, rows))
    assert (len(data.pairs), data.left_out) == (3, {"no human score": 2, "empty text": 1})


@pytest.mark.parametrize(
    ("rows", "weights", "said"),
    [
        ([{**row, "human": 4} for row in RATED], (), "rated.jsonl: all ratings are 4: nothing can be learned"),
        ([{**row, "human": None} for row in RATED], (), "rated.jsonl: there are no ratings"),
        ([{**row, "references": []} for row in RATED], (), "has no reference"),
        (RATED, (1, 2), "expected 1 positive numbers, one per file, got 2"),
        (RATED, (-1,), "expected 1 positive numbers"),
        ([{"better": "b", "worse": "w", "references": ["r"]}], (), "at least two rated pairs of texts, found 1"),
    ],
)
def test_what_cannot_be_learned_from_is_said_in_one_sentence(tmp_path, rows, weights, said):
    with pytest.raises((InputError, SpecError), match=said):
        read(file(tmp_path, rows), weights=weights)


TEXT = "The mayor of Oslo said on Monday that 250 new buses were bought for the city and will run in May."
OTHER = "Later the company from Lisbon told Reuters that no worker had been hurt by the flood."


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_changes_what_it_says(rule):
    make, _ = RULES[rule]
    words = TEXT.split()
    changed = make(words, OTHER.split(), np.random.default_rng(0))
    differs = [one != two for one, two in zip(words, changed, strict=False)]
    expected = {
        "drop": len(changed) == len(words) - len(words) // 3,
        "shuffle": sorted(changed) == sorted(words) and changed != words,
        "clause": changed[: len(words)] == words and changed[len(words) :] == OTHER.split()[8:],
        "number": sum(differs) == 1 and changed[8].isdigit() and len(changed[8]) == 3,
        "name": sum(differs) == 1 and {"Lisbon", "Reuters"} & set(changed) != set(),
        "padding": changed[: len(words)] == words and set(changed[len(words) :]) <= set(OTHER.split()),
        "stuffing": changed[: len(words)] == words and set(changed[len(words) :]) <= set(FUNCTION_WORDS),
        "repetition": changed == words * 2,
    }
    assert expected[rule]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Er kam nicht mehr", "Er kam mehr"),
        ("He cannot come.", "He can come."),
        ("It isn't so, it wasn’t.", "It is so, it wasn’t."),
        ("I can't, and you won't.", "I can, and you won't."),
        ("They won't; ever", "They will; ever"),
        ("Does she know?", "Does not she know?"),
        ("Yes", "No"),
        ("No, she is late.", "Yes, she is not late."),
        ("Yes, they do.", "No, they do not."),
        ("The shares were bought.", "The shares were not bought."),
        ("The firm announced a plan.", "The firm did not announce a plan."),
        ("He carried it, stopped, and went on.", "He did not carry it, stopped, and went on."),
        ("She passed.", "She did not pass."),
        ("It seems right.", "It does not seem right."),
        ("The firm tries it.", "The firm does not try it."),
        ("They kept it.", "They did not keep it."),
        ("Nobody is there.", None),
        ("nein.", "ja."),
        ("No worker came.", "worker came."),
        ("Der Cannotier kam", None),
        ("", None),
    ],
)
def test_an_opposite_has_one_negation_more_or_less_and_yes_becomes_no(text, other):
    assert opposite(text) == other


def test_damage_is_seeded_and_every_rule_has_its_turn():
    copies = [damaged(TEXT, OTHER, np.random.default_rng(seed)) for seed in range(60)]
    assert copies == [damaged(TEXT, OTHER, np.random.default_rng(seed)) for seed in range(60)]
    assert {copy.rule for copy in copies} == set(RULES)
    assert all(copy.text != TEXT and copy.drop > 0 for copy in copies)
    assert damaged("", "b", np.random.default_rng(0)) is None
