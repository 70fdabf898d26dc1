"""Training's parts by hand: mappings of ratings, pairs from rows, the split, the losses, the learning rate."""

import gzip
import json

import numpy as np
import pytest
import torch

from evalign.core import Row
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.io.rows import Columns, InMemory, TableFile
from evalign.training.plan import LOSS_NAMES, TrainingPlan
from evalign.training.rated_pairs import Linear, RatedPair, Table, digest, parse_mapping, read_pairs, split, text_groups
from evalign.training.trainee import LOSSES, cosent, cosine_mse


def row(number, human, candidate="a cat", references=("a dog",)):
    return Row(f"r{number}", candidate, references, human=human)


OPUSPARCUS = {4: 0.85, 3.5: 0.70, 3: 0.50, 2.5: 0.30, 2: 0.20, 1.5: 0.10, 1: 0.05}  # as the study states it


@pytest.mark.parametrize(("rating", "similarity"), OPUSPARCUS.items())
def test_opusparcus(rating, similarity):
    assert parse_mapping("opusparcus", [])(rating) == similarity


@pytest.mark.parametrize(
    ("text", "rating", "similarity"),
    [
        ("linear(0,5)", 2.5, 0.5),
        ("linear( -1 , 1 )", 0.5, 0.75),
        ("linear(6,1)", 1, 1.0),
        ("linear", 3, 0.5),  # between the lowest and the highest of 1, 3, 5
        ("1=0.1,2=0.4, 3=.9", 2, 0.4),
        ("1 = -1\n2 = 1\n", 1, -1.0),
    ],
)
def test_mappings(text, rating, similarity):
    mapping = parse_mapping(text, [1, 3, 5])
    assert mapping(rating) == pytest.approx(similarity)
    assert parse_mapping(str(mapping), []) == mapping


def test_a_table_from_a_file(tmp_path):
    (tmp_path / "table.txt").write_text("1=0.1\n2=0.6\n")
    assert parse_mapping(str(tmp_path / "table.txt"), []) == Table(((1, 0.1), (2, 0.6)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("opusparcs", "expected opusparcus, linear"),
        ("1=0.1", "at least two ratings"),
        ("1=0.1,1=0.2", "each named once"),
        ("1=0.1,2=7", "between -1 and 1"),
        ("linear(3,3)", "two different numbers"),
        ("1=0.1,2", "expected opusparcus, linear"),
        ("x" * 300, "expected opusparcus, linear"),  # too long for a file's name
        ("x\0", "expected opusparcus, linear"),
    ],
)
def test_mappings_that_are_none(text, said):
    with pytest.raises(SpecError, match=said):
        parse_mapping(text, [])


@pytest.mark.parametrize(
    ("mapping", "rating", "said"),
    [
        ("opusparcus", 5.0, r"row r1: rating 5 is not in the mapping, which has 1, 1\.5, 2"),
        ("linear(0,5)", 5.5, r"row r1: rating 5\.5 lies outside linear\(0,5\)"),
        ("linear(5,0)", -1, r"row r1: rating -1 lies outside linear\(5,0\)"),
        ("opusparcus", 1.2, r"row r1: rating 1\.2 is not in the mapping"),
    ],
)
def test_a_rating_outside_the_mapping_names_its_row(mapping, rating, said):
    with pytest.raises(InputError, match=said):
        read_pairs(InMemory([row(0, 1), row(1, rating), row(2, 2)]), mapping)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(0, 1)], "at least two rated pairs of texts, found 1"),
        ([row(0, 2), row(1, 2), row(2, 2)], "all ratings are 2: nothing can be learned from constant ratings"),
        ([], "no ratings"),
        ([row(0, None), row(1, ""), row(2, float("nan")), row(3, {})], "no ratings"),
        ([row(0, 1), row(1, "good")], "row r1: the human score is 'good', expected a number"),
        ([row(0, 1), row(1, float("inf"))], "row r1: the human score is inf, expected a finite"),
        ([row(0, 1), row(1, 2, references=())], "row r1 has no reference"),
        ([row(0, {"fluency": 1, "sense": 2})], "row r0 has ratings named fluency, sense: choose one of them"),
        ([row(0, 1), row(1, 2, candidate="  ")], "at least two rated pairs of texts, found 1"),
    ],
)
def test_rows_that_cannot_be_learned_from(rows, said):
    with pytest.raises(InputError, match=said):
        read_pairs(InMemory(rows))


def test_one_row_is_said_with_a_mapping_too():
    with pytest.raises(InputError, match="at least two rated pairs of texts, found 1"):
        read_pairs(InMemory([row(0, 1)]), "opusparcus")
    with pytest.raises(InputError, match="constant ratings"):
        read_pairs(InMemory([row(0, 1), row(1, 1)]), "opusparcus")


def test_pairs_keep_the_rows_order_and_count_what_was_left_out():
    rows = [row(0, 5), row(1, None), row(2, 1, candidate=" "), row(3, 0, references=("x", "y"))]
    data = read_pairs(InMemory(rows))
    assert [(pair.row, pair.second, pair.similarity) for pair in data.pairs] == [
        ("r0", "a dog", 1.0),
        ("r3", "x", 0.0),
        ("r3", "y", 0.0),
    ]
    assert data.left_out == {"no human score": 1, "empty text": 1}
    assert data.mapping == "linear(0,5)"


def test_a_named_rating():
    rows = [row(0, {"sense": 1, "style": 9}), row(1, {"sense": 3, "style": 9})]
    assert [pair.similarity for pair in read_pairs(InMemory(rows), aspect="sense").pairs] == [0, 1]
    unrated = [row(2, None), row(3, {"style": 2}), row(4, {"sense": None}), row(5, {"sense": float("nan")}), row(6, "")]
    found = read_pairs(InMemory([*unrated, *rows]), aspect="sense")
    assert ([pair.row for pair in found.pairs], found.left_out) == (["r0", "r1"], {"no human score": 5})
    with pytest.raises(InputError, match="there are no ratings named tone, only sense, style"):
        read_pairs(InMemory(rows), aspect="tone")
    with pytest.raises(InputError, match="`aspect=sense`: row r0 has one rating without a name"):
        read_pairs(InMemory([row(0, 1)]), aspect="sense")


FORMATS = ("jsonl", "jsonl.gz", "csv", "tsv", "parquet")


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_pairs(tmp_path, kind):
    rows = [{"candidate": f"text {i}", "reference": f"other, {i}", "human": i} for i in range(6)]
    file = tmp_path / f"pairs.{kind}"
    if kind == "parquet":
        import pandas

        pandas.DataFrame(rows).to_parquet(file)
    elif kind in ("csv", "tsv"):
        import pandas

        pandas.DataFrame(rows).to_csv(file, index=False, sep="," if kind == "csv" else "\t")
    else:
        opened = gzip.open if kind.endswith("gz") else open
        with opened(file, "wt", encoding="utf-8") as stream:
            stream.writelines(json.dumps(one) + "\n" for one in rows)
    data = read_pairs(TableFile(str(file), Columns()), "linear(0,10)")
    assert [(pair.first, pair.second, pair.similarity) for pair in data.pairs] == [
        (f"text {i}", f"other, {i}", i / 10) for i in range(6)
    ]


def test_a_missing_field_is_said(tmp_path):
    (tmp_path / "pairs.jsonl").write_text('{"text": "a", "reference": "b", "human": 1}\n')
    with pytest.raises(FileFormatError, match="no field 'candidate'"):
        read_pairs(TableFile(str(tmp_path / "pairs.jsonl"), Columns()))


def chained(count):
    """Pairs 3k, 3k+1, 3k+2 are joined by texts they share."""
    return [RatedPair(f"{i // 3} a{i % 3}", f"{i // 3} a{(i + 1) % 3}", i / count, str(i)) for i in range(count)]


def test_pairs_that_share_a_text_stay_together():
    pairs = chained(60)
    assert text_groups(pairs).tolist() == [i // 3 for i in range(60)]
    for seed in range(5):
        train, dev = split(pairs, 0.2, seed)
        assert sorted(map(id, train + dev)) == sorted(map(id, pairs))
        assert len(dev) == 12
        seen = {text for pair in train for text in (pair.first, pair.second)}
        assert all(pair.first not in seen and pair.second not in seen for pair in dev)
    assert split(pairs, 0.2, 1) == split(pairs, 0.2, 1) != split(pairs, 0.2, 2)
    assert split(pairs, 0, 1) == (pairs, [])


def test_what_cannot_be_split_is_said():
    with pytest.raises(InputError, match=r"9 rated pairs cannot be split: 9 to train on, 0 for dev.*`dev=0`"):
        split([RatedPair("same", str(i), i / 9, "") for i in range(9)], 0.1, 0)


def test_the_digest_sees_what_training_sees():
    pairs = chained(3)
    assert digest(pairs) == digest(chained(3))
    assert len({digest(pairs), digest(pairs[::-1]), digest(pairs[:2])}) == 3


COSINES = torch.tensor([0.9, 0.1, 0.5, 0.4, -0.2])
WANTED = torch.tensor([1.0, 0.3, 0.3, 0.8, 0.0])


def test_losses_by_hand():
    cosines, wanted = COSINES.tolist(), WANTED.tolist()
    squares = [(c - w) ** 2 for c, w in zip(cosines, wanted, strict=True)]
    assert cosine_mse(COSINES, WANTED).item() == pytest.approx(sum(squares) / 5, abs=1e-6)
    wrong = sum(np.exp(20 * (cosines[i] - cosines[j])) for i in range(5) for j in range(5) if wanted[i] < wanted[j])
    assert cosent(COSINES, WANTED).item() == pytest.approx(np.log(1 + wrong), rel=1e-6)
    assert cosent(COSINES, torch.full((5,), 0.5)).item() == 0


@pytest.mark.parametrize(("ours", "theirs"), [(cosent, "CoSENTLoss"), (cosine_mse, "CosineSimilarityLoss")])
def test_losses_are_those_of_sentence_transformers(ours, theirs):
    import sentence_transformers.losses as peers

    generator = torch.Generator().manual_seed(3)
    first, second = (torch.randn(17, 8, generator=generator, requires_grad=True) for _ in range(2))
    wanted = torch.randint(0, 6, (17,), generator=generator) / 5  # with ties
    loss = getattr(peers, theirs)(torch.nn.Identity())
    expected = loss([{"sentence_embedding": first}, {"sentence_embedding": second}], wanted)
    found = ours(torch.cosine_similarity(first, second), wanted)
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    for one, other in zip(
        torch.autograd.grad(found, [first, second]), torch.autograd.grad(expected, [first, second]), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_every_loss_has_its_name():
    assert tuple(LOSSES) == LOSS_NAMES


def test_the_learning_rate_rises_and_falls():
    plan = TrainingPlan(rate=1.0, warmup=0.2)
    assert [plan.rate_at(step, 10) for step in range(10)] == pytest.approx([0.5, 1, *np.arange(8, 0, -1) / 8])
    assert TrainingPlan(rate=1.0, warmup=0).rate_at(0, 4) == 1


@pytest.mark.parametrize(
    "changes",
    [{"loss": "hinge"}, {"epochs": 0}, {"batch": 1}, {"rate": 0.0}, {"rate": float("nan")}, {"dev": 1.0},
     {"warmup": 2.0}, {"stop_after": 0}, {"weight_decay": -1.0}, {"seed": -1}],
)  # fmt: skip
def test_plans_that_are_none(changes):
    with pytest.raises(SpecError, match=next(iter(changes)).replace("_", "[_ ]")):
        TrainingPlan(**changes)


def test_linear_ends_must_differ():
    with pytest.raises(SpecError):
        Linear(1, float("inf"))
