"""What the peers get wrong (shared/peers.md, by its numbers), pinned here on evalign."""

import json
import shutil

import numpy as np
import pytest

import evalign
from evalign.errors import TableError
from tiny_models import SENTENCES, edit_json

# Five rows whose candidates and references have unrelated orders of length.
CANDIDATES = ["a", SENTENCES[0], "the river rose", " ".join(SENTENCES[2:4]), "no"]
REFERENCES = [SENTENCES[4], "the fields", " ".join(SENTENCES[5:8]), "two pears", "nobody expected it"]


def bertscore(model, **options):
    return evalign.BERTScore(model=str(model), **{"layer": "2", **options})


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


def framed(tiny, tmp_path, specials):
    """A bert whose tokenizer puts no special token, or only the first one, around a text."""
    directory = shutil.copytree(tiny("bert"), tmp_path / f"framed-{specials}")
    vocabulary = json.loads((directory / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    cls = {"id": "[CLS]", "ids": [vocabulary["[CLS]"]], "tokens": ["[CLS]"]}
    template = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    processor = {
        "type": "TemplateProcessing", "single": template, "special_tokens": {"[CLS]": cls},
        "pair": [*template, {"Sequence": {"id": "B", "type_id": 1}}],
    }  # fmt: skip
    edit_json(directory / "tokenizer.json", post_processor=processor if specials else None)
    return directory


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
def test_1_every_score_belongs_to_its_own_pair(tiny, family):
    metric = bertscore(tiny(family), token_budget=64)
    together = metric.score(CANDIDATES, REFERENCES)
    alone = [metric.score([c], [r]) for c, r in zip(CANDIDATES, REFERENCES, strict=True)]
    for field in metric.fields:
        np.testing.assert_allclose(together[field], [report[field][0] for report in alone], atol=1e-5)
    assert len(set(np.round(together["f1"], 4))) == 5


def test_2_padding_never_wins_over_a_negative_similarity(tiny, tmp_path):
    metric = bertscore(negative_model(tiny, tmp_path), layer="0", specials="drop")
    report = metric.score(["a a", "c", "a b"], ["the river rose", "the river rose", "b"])
    np.testing.assert_allclose(report["precision"], [-1, 1, 0], atol=1e-5)
    np.testing.assert_allclose(report["recall"], [-1, 1, 1], atol=1e-5)
    np.testing.assert_allclose(report["f1"], [0, 1, 0], atol=1e-5)


@pytest.mark.parametrize("specials", [0, 1])
def test_3_two_tokens_are_not_empty_if_they_are_the_texts_own(tiny, tmp_path, specials):
    metric = bertscore(framed(tiny, tmp_path, specials))
    text = "the river" if specials == 0 else "river"
    alignment = metric.align(text, text)
    assert not alignment.candidate.empty
    report = metric.score([text, text], [text, "nobody"])
    assert report["f1"][0] == pytest.approx(1, abs=1e-5)
    assert 0 < abs(report["f1"][1]) < 0.999
    assert report.flags == {}


@pytest.mark.parametrize("specials", [0, 1])
def test_3_an_empty_text_is_empty_without_special_tokens_too(tiny, tmp_path, specials):
    report = bertscore(framed(tiny, tmp_path, specials)).score(["", "river", ""], ["river", " ", ""])
    assert [list(values) for values in report] == [[0, 0, 0]] * 3
    assert report.flags == {"empty": 3}


@pytest.mark.parametrize("specials", ["keep", "drop"])
@pytest.mark.parametrize("family", ["bert", "roberta", "albert"])
def test_4_empty_strings_are_scored_as_worst_and_flagged(tiny, family, specials):
    report = bertscore(tiny(family), specials=specials).score(["", "a", " ", "a"], ["a", "\n", "", "a"])
    np.testing.assert_allclose(np.stack(list(report)), [[0, 0, 0, 1]] * 3, atol=1e-5)
    assert [segment.counts.get("empty") for segment in report.segments] == [1, 1, 2, None]


def test_4_a_limit_of_1e30_is_no_limit(tiny, tmp_path):
    directory = shutil.copytree(tiny("bert"), tmp_path / "endless")
    edit_json(directory / "tokenizer_config.json", model_max_length=1000000000000000019884624838656)
    scores = evalign.score(CANDIDATES, REFERENCES, model_type=str(directory), num_layers=2)
    expected = evalign.score(CANDIDATES, REFERENCES, model_type=str(tiny("bert")), num_layers=2)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("references", [["the river rose"], ["the river rose"] * 3])
def test_5_idf_of_identical_references_falls_back_to_equal_weights(tiny, references):
    """Every df equals the number of texts, so every weight of a reference is log 1 = 0."""
    candidates = ["the river", "the fields", "rose"][: len(references)]
    report = bertscore(tiny("bert"), idf="references").score(candidates, references)
    plain = bertscore(tiny("bert")).score(candidates, references)
    assert np.isfinite(np.stack(list(report))).all()
    np.testing.assert_allclose(report["recall"], plain["recall"], atol=1e-6)
    assert report.flags["idf-zero"] == len(references)


def test_6_the_signature_tells_idf_corpora_apart(tiny):
    metric = bertscore(tiny("bert"), idf="references")
    one, other = metric.score(CANDIDATES, REFERENCES), metric.score(CANDIDATES, REFERENCES[::-1])
    third = metric.score(CANDIDATES, [*REFERENCES[:4], "another text"])
    said = [report.signature.partition("|idf:references@")[2].partition("|")[0] for report in (one, other, third)]
    assert [len(digest) for digest in said] == [8, 8, 8]
    assert said[0] == said[1] != said[2]  # the same texts in another order are the same corpus
    again = metric.score(CANDIDATES, REFERENCES)
    np.testing.assert_array_equal(np.stack(list(one)), np.stack(list(again)))


def test_7_p_and_r_come_from_the_reference_with_the_best_f1(tiny):
    metric = bertscore(tiny("bert"))
    references = [SENTENCES[0], SENTENCES[4], SENTENCES[1]]
    each = np.stack(list(metric.score(["the river"] * 3, references)), axis=1)
    best = np.stack(list(metric.score(["the river"], [references])), axis=1)[0]
    np.testing.assert_allclose(best, each[each[:, 2].argmax()], atol=1e-6)
    assert best[2] == pytest.approx(2 * best[0] * best[1] / (best[0] + best[1]))


def test_8_nothing_is_called_rescaled_without_a_baseline(tiny):
    options = {"model_type": str(tiny("bert")), "num_layers": 2}
    with pytest.raises(TableError, match="no baseline"):
        evalign.score(["a"], ["a"], lang="en", rescale_with_baseline=True, **options)
    _, signature = evalign.score(["a"], ["a"], return_hash=True, **options)
    assert "|base:no|" in signature


@pytest.mark.parametrize("index", [[0, 1, 2, 3, 4], [7, 3, 9, 1, 5], list("vwxyz")])
def test_8_pandas_columns_are_read_by_position(tiny, index):
    pandas = pytest.importorskip("pandas")
    metric = bertscore(tiny("bert"))
    frame = pandas.DataFrame({"c": CANDIDATES, "r": REFERENCES, "many": [[r, "a"] for r in REFERENCES]}, index=index)
    expected = metric.score(CANDIDATES, REFERENCES)
    for given in (metric.score(frame.c, frame.r), metric.score(frame.c.to_numpy(), tuple(frame.r))):
        np.testing.assert_array_equal(np.stack(list(given)), np.stack(list(expected)))
    several = metric.score(frame.c, frame.many)
    assert len(several) == 5
    np.testing.assert_array_equal(evalign.score(frame.c, frame.r, str(tiny("bert")), 2)[2], expected["f1"])


def test_9_long_text_is_never_cut_silently(tiny):
    long = " ".join(SENTENCES) * 2
    for overlong, flag in (("window", "windowed"), ("truncate", "truncated")):
        report = bertscore(tiny("bert"), overlong=overlong).score([long, "a"], ["a", "a"])
        assert [segment.flags for segment in report.segments] == [(flag,), ()]
        assert report.flags == {flag: 1}
        assert f"|overlong:{overlong}|" in report.signature


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"specials": "drop"}), ({}, {"layer": "1"}), ({}, {"multiref": "mean"}), ({}, {"overlong": "truncate"}),
        ({}, {"max_length": 30}), ({}, {"precision": "int8"}), ({}, {"idf": "references"}), ({}, {"layer": "1+2"}),
    ],
    ids=str,
)  # fmt: skip
def test_10_whatever_changes_a_number_changes_the_signature(tiny, one, other):
    signatures = [bertscore(tiny("bert"), **options).score(["a"], ["b"]).signature for options in (one, other)]
    assert signatures[0] != signatures[1]


def test_10_other_weights_change_the_signature(tiny):
    signatures = {bertscore(tiny("bert", seed=seed)).score(["a"], ["b"]).signature for seed in (0, 1)}
    assert len(signatures) == 2


def test_14_one_row_is_an_array_of_one(tiny):
    for values in bertscore(tiny("bert")).score(["a cat"], ["the cat"]):
        assert values.shape == (1,)
    for values in evalign.score(["a cat"], ["the cat"], model_type=str(tiny("bert")), num_layers=2, all_layers=True):
        assert values.shape == (4, 1)
