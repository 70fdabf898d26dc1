"""BERTScore against arithmetic done by hand on the vectors of its encoder."""

import json
import shutil

import numpy as np
import pytest

import evalign
from evalign.errors import EvalignError, InputError, LayerError, SpecError, TableError
from evalign.metrics.reduction import MultiReference
from evalign.text.idf import FixedWeights, IDFTable
from tiny_models import SENTENCES, open_ort

CANDIDATES = [*SENTENCES[:4], "the river", "", "漢字 river", " ".join(SENTENCES) * 2]
REFERENCES = [*SENTENCES[4:8], "the fields", "a", "river", SENTENCES[8]]


def metric(tiny, family="bert", **options):
    return evalign.BERTScore(model=str(tiny(family)), **{"layer": "2", **options})


def by_hand(candidate, reference, specials="keep"):
    """P, R, F1 of two embedded texts: a cosine matrix per layer, their mean, maxima, plain means."""
    unit = [one.vectors / np.linalg.norm(one.vectors, axis=-1, keepdims=True) for one in (candidate, reference)]
    matrix = np.mean([a @ b.T for a, b in zip(*unit, strict=True)], axis=0)
    own = [~one.tokens.special for one in (candidate, reference)]
    if specials == "drop":
        matrix = matrix[np.ix_(*own)]
        own = [side[side] for side in own]
    precision, recall = matrix.max(axis=1)[own[0]].mean(), matrix.max(axis=0)[own[1]].mean()
    return precision, recall, 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("specials", ["keep", "drop"])
@pytest.mark.parametrize("layer", ["0", "2", "1+2", "3+1"])
@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
def test_scores_by_hand(tiny, family, layer, specials):
    encoder = open_ort(tiny(family), tuple(map(int, layer.split("+"))))
    report = metric(tiny, family, layer=layer, specials=specials).score(CANDIDATES[:5], REFERENCES[:5])
    pairs = zip(encoder.encode(CANDIDATES[:5]), encoder.encode(REFERENCES[:5]), strict=True)
    expected = [by_hand(one, other, specials) for one, other in pairs]
    np.testing.assert_allclose(np.stack(list(report), axis=1), expected, atol=1e-5)


@pytest.fixture
def negative_model(tiny, tmp_path):
    """A model whose layer 0 gives `a` the opposite vector of every other token: all its similarities are -1."""
    from safetensors.torch import load_file, save_file

    directory = shutil.copytree(tiny("bert"), tmp_path / "negative")
    tensors = load_file(directory / "model.safetensors")
    pattern = tensors["embeddings.LayerNorm.bias"].sign()
    vocabulary = json.loads((directory / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    for name in ("position_embeddings", "token_type_embeddings"):
        tensors[f"embeddings.{name}.weight"].zero_()
    tensors["embeddings.word_embeddings.weight"][:] = pattern
    tensors["embeddings.word_embeddings.weight"][vocabulary["a"]] = -pattern
    tensors["embeddings.LayerNorm.weight"][:] = 1
    tensors["embeddings.LayerNorm.bias"].zero_()
    save_file(tensors, directory / "model.safetensors", {"format": "pt"})
    return directory


def test_padding_never_wins_over_a_negative_similarity(negative_model):
    """bert_score multiplies by the padding mask: a padded column has 0, above every negative similarity."""
    metric = evalign.BERTScore(model=str(negative_model), layer="0", specials="drop")
    report = metric.score(["a a", "c", "a b"], ["the river rose", "the river rose", "b"])
    np.testing.assert_allclose(report["precision"], [-1, 1, 0], atol=1e-5)
    np.testing.assert_allclose(report["recall"], [-1, 1, 1], atol=1e-5)
    np.testing.assert_allclose(report["f1"], [0, 1, 0], atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
def test_every_score_belongs_to_its_own_pair(tiny, family):
    """torchmetrics sorts both sides by length and pairs what then lies beside each other."""
    candidates = ["a", SENTENCES[0], "the river rose", " ".join(SENTENCES[2:4]), "no"]
    references = [SENTENCES[4], "the fields", " ".join(SENTENCES[5:8]), "two pears", "nobody expected it"]
    sorted_by_budget = metric(tiny, family, token_budget=64)
    together = sorted_by_budget.score(candidates, references)
    alone = [sorted_by_budget.score([c], [r]) for c, r in zip(candidates, references, strict=True)]
    for field in together.fields:
        np.testing.assert_allclose(together[field], [report[field][0] for report in alone], atol=1e-5)
    assert len(set(np.round(together["f1"], 4))) == 5


def test_special_tokens_may_be_matched_but_weigh_nothing(tiny):
    keep, drop = (metric(tiny, specials=choice).align("river", "nobody expected it") for choice in ("keep", "drop"))
    assert [len(keep.candidate), len(keep.reference)] == [len(drop.candidate) + 2, len(drop.reference) + 2]
    assert keep.candidate_weights[[0, -1]].tolist() == [0, 0]
    np.testing.assert_allclose(keep.similarity[1:-1, 1:-1], drop.similarity, atol=1e-6)
    assert keep.scores["precision"] >= drop.scores["precision"] - 1e-6


@pytest.mark.parametrize("idf", ["no", "references"])
def test_every_layer_of_score_layers_is_score_at_that_layer(tiny, idf):
    references = [[reference, SENTENCES[9]] if place % 2 else [reference] for place, reference in enumerate(REFERENCES)]
    report = metric(tiny, idf=idf).score_layers(CANDIDATES, references)
    assert report.layers == (0, 1, 2, 3)
    for layer in report.layers:
        single = metric(tiny, idf=idf, layer=str(layer)).score(CANDIDATES, references)
        for field in single.fields:
            np.testing.assert_allclose(report[field][layer], single[field], atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"idf": "references"}, {"specials": "drop"}, {"layer": "1+3"}], ids=str)
def test_pairwise_is_score_pair_by_pair(tiny, options, monkeypatch):
    from evalign.matching import similarity

    monkeypatch.setattr(similarity, "GROUP_TOKENS", 60)  # several bands, one of them a single long text
    references = [*REFERENCES, CANDIDATES[-1], ""]
    whole = metric(tiny, **options).pairwise(CANDIDATES, references)
    scorer = metric(tiny, **options).scorer(rows(references) if "idf" in options else None)
    for i, candidate in enumerate(CANDIDATES):
        segments = scorer.score([evalign.Row(str(j), candidate, (text,)) for j, text in enumerate(references)])
        for field, values in whole.items():
            np.testing.assert_allclose(values[i], [segment.scores[field] for segment in segments], atol=1e-5)


def rows(references):
    return [evalign.Row(str(place), "", (text,)) for place, text in enumerate(references)]


def test_pairwise_of_nothing(tiny):
    assert metric(tiny).pairwise([], ["a"])["f1"].shape == (0, 1)
    assert metric(tiny).pairwise(["a"], [])["f1"].shape == (1, 0)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("best", [0.6, 0.5, 0.545]),
        ("mean", [0.6, 0.4, 0.4]),
        ("per-field-max", [0.9, 0.6, 0.545]),
    ],
)
def test_several_references_by_hand(mode, expected):
    references = MultiReference(mode)
    each = np.array([[0.9, 0.1, 0.18], [0.6, 0.5, 0.545], [0.3, 0.6, 0.475]])
    np.testing.assert_allclose(references.combine(each), expected)
    np.testing.assert_allclose(references.combine(each[:1]), each[0])


@pytest.mark.parametrize("mode", ["best", "mean", "per-field-max"])
def test_several_references_on_ragged_rows(tiny, mode):
    groups = [[SENTENCES[1]], [SENTENCES[2], SENTENCES[3], "a"], [SENTENCES[4], ""]]
    report = metric(tiny, multiref=mode).score(SENTENCES[5:8], groups)
    scores = np.stack(list(report), axis=1)
    for row, (candidate, group) in enumerate(zip(SENTENCES[5:8], groups, strict=True)):
        each = np.stack(list(metric(tiny).score([candidate] * len(group), group)), axis=1)
        expected = {"best": each[each[:, 2].argmax()], "mean": each.mean(axis=0), "per-field-max": each.max(axis=0)}
        np.testing.assert_allclose(scores[row], expected[mode], atol=1e-6)


def test_precision_and_recall_come_from_the_reference_with_the_best_f1(tiny):
    """bert_score takes the maximum of each field: P = 1, R = 1, F = 0.90."""
    references = [SENTENCES[0], SENTENCES[4], SENTENCES[1]]
    each = np.stack(list(metric(tiny).score(["the river"] * 3, references)), axis=1)
    best = np.stack(list(metric(tiny).score(["the river"], [references])), axis=1)[0]
    np.testing.assert_allclose(best, each[each[:, 2].argmax()], atol=1e-6)
    assert best[2] == pytest.approx(2 * best[0] * best[1] / (best[0] + best[1]))


@pytest.mark.parametrize("references", [["the river rose"], ["the river rose"] * 3])
def test_idf_of_identical_references_falls_back_to_equal_weights(tiny, references):
    """Every df equals the number of texts, so every weight of a reference is log 1 = 0; bert_score gives R = NaN."""
    candidates = ["the river", "the fields", "rose"][: len(references)]
    report = metric(tiny, idf="references").score(candidates, references)
    plain = metric(tiny).score(candidates, references)
    assert np.isfinite(np.stack(list(report))).all()
    np.testing.assert_allclose(report["recall"], plain["recall"], atol=1e-6)
    assert report.flags["idf-zero"] == len(references)


def test_an_idf_table_weighs_tokens_by_hand(tiny):
    encoder = open_ort(tiny("bert"), (2,))
    table = IDFTable.count(encoder.tokenizer_fingerprint, [t.ids for t in encoder.tokenize(REFERENCES)])
    alignment = metric(tiny, idf="references").scorer(rows(REFERENCES)).align(CANDIDATES[0], REFERENCES[0])
    for tokens, given in (
        (alignment.candidate, alignment.candidate_weights),
        (alignment.reference, alignment.reference_weights),
    ):
        np.testing.assert_allclose(given, np.where(tokens.special, 0, table.weights(tokens.ids)))
    best = alignment.similarity.max(axis=1)
    weights = alignment.candidate_weights
    assert alignment.scores["precision"] == pytest.approx((weights * best).sum() / weights.sum(), abs=1e-6)


def test_a_saved_idf_table_gives_the_scores_of_its_corpus(tiny, tmp_path):
    counted = metric(tiny, idf="references").score(CANDIDATES, REFERENCES)
    encoder = open_ort(tiny("bert"), (2,))
    table = IDFTable.count(encoder.tokenizer_fingerprint, [t.ids for t in encoder.tokenize(REFERENCES)])
    table.save(tmp_path / "table.json")
    loaded = metric(tiny, idf=str(tmp_path / "table.json")).score(CANDIDATES, REFERENCES)
    np.testing.assert_array_equal(np.stack(list(counted)), np.stack(list(loaded)))
    assert f"|idf:table@{table.digest}|" in loaded.signature
    with pytest.raises(TableError, match="another tokenizer"):
        metric(tiny, "roberta", idf=str(tmp_path / "table.json")).score(CANDIDATES, REFERENCES)


def test_sources_can_be_the_idf_corpus(tiny):
    by_sources = metric(tiny, idf="sources").score(CANDIDATES, REFERENCES, sources=REFERENCES)
    by_references = metric(tiny, idf="references").score(CANDIDATES, REFERENCES)
    np.testing.assert_array_equal(by_sources["f1"], by_references["f1"])
    with pytest.raises(InputError, match="needs a source"):
        metric(tiny, idf="sources").score(CANDIDATES, REFERENCES)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "weights", [{}, {5: 1.0, 6: -1.0}, {5: -2.0}, {5: 3.0, 6: -2.9}, {5: NAN, 6: 1.0}, {5: INF, 6: 1.0}], ids=str
)
def test_foreign_weights_are_refused_or_give_scores_within_bounds(tiny, weights):
    """Ids 5 and 6 are the first letters of the vocabulary; every other token weighs nothing."""
    first, second = (open_ort(tiny("bert")).tokenizer.piece(number) for number in (5, 6))
    text = f"{first} {second}"
    try:
        report = metric(tiny).score([text, first], [second, text], weights=FixedWeights(weights))
    except EvalignError:
        assert any(not 0 <= weight < INF for weight in weights.values())
        return
    assert np.isfinite(np.stack(list(report))).all()
    assert (np.abs(np.stack(list(report))) <= 1 + 1e-6).all()


def test_every_layer_apart_is_not_signed_as_all_layers_averaged():
    apart = evalign.BERTScore(model="fake").score_layers(["a b"], ["a"])
    averaged = evalign.BERTScore(model="fake", layer="0+1+2+3+4").score(["a b"], ["a"])
    assert apart.signature != averaged.signature


def test_the_order_of_rows_changes_nothing_but_the_order(tiny):
    order = [3, 0, 7, 5, 1, 6, 2, 4]
    forward = metric(tiny).score(CANDIDATES, REFERENCES, ids="abcdefgh")
    shuffled = metric(tiny).score([CANDIDATES[i] for i in order], [REFERENCES[i] for i in order])
    np.testing.assert_allclose(np.stack(list(shuffled)), np.stack(list(forward))[:, order], atol=1e-5)
    assert forward.ids == list("abcdefgh")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"layer": "9"}, LayerError),
        ({"layer": "x"}, LayerError),
        ({"max_length": -1}, SpecError),
        ({"token_budget": 0}, SpecError),
        ({"rescale": "true"}, TableError),
        ({"rescale": "no/such/file"}, TableError),
        ({"idf": "no/such/file"}, TableError),
        ({"model": "no/such/model"}, EvalignError),
    ],
    ids=str,
)
def test_options_that_cannot_be(tiny, options, error):
    options = {"model": str(tiny("bert")), "layer": "2"} | options
    with pytest.raises(error):
        evalign.BERTScore(**options).score(["a"], ["a"])
