"""BERTScore of unusual inputs: empty and over-long texts, one row, pandas columns, tokenizers with few special tokens.

bert_score calls a text of two tokens empty, fails on "" and on a `model_max_length` of 1e30, cuts long texts silently
and cannot read a pandas Series whose index is not 0, 1, 2; torchmetrics gives a single row as a number of no dimension.
"""

import json
import shutil

import numpy as np
import pytest

import evalign
from evalign.compat import bert_score as compat
from tiny_models import SENTENCES, edit_json

CANDIDATES, REFERENCES = SENTENCES[:5], SENTENCES[4:9]


def bertscore(model, **options):
    return evalign.BERTScore(model=str(model), **{"layer": "2", **options})


@pytest.fixture(params=[0, 1], ids="{} special tokens".format)
def few_specials(request, tiny, tmp_path):
    """The directory of a bert whose tokenizer puts no special token, or only [CLS], around a text; and how many."""
    directory = shutil.copytree(tiny("bert"), tmp_path / "few")
    vocabulary = json.loads((directory / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    cls = {"id": "[CLS]", "ids": [vocabulary["[CLS]"]], "tokens": ["[CLS]"]}
    template = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    processor = {
        "type": "TemplateProcessing", "single": template, "special_tokens": {"[CLS]": cls},
        "pair": [*template, {"Sequence": {"id": "B", "type_id": 1}}],
    }  # fmt: skip
    edit_json(directory / "tokenizer.json", post_processor=processor if request.param else None)
    return directory, request.param


def test_two_tokens_are_not_empty_if_they_are_the_texts_own(few_specials):
    directory, specials = few_specials
    metric = bertscore(directory)
    text = "the river" if specials == 0 else "river"
    assert not metric.align(text, text).candidate.empty
    report = metric.score([text, text], [text, "nobody"])
    assert report["f1"][0] == pytest.approx(1, abs=1e-5)
    assert 0 < abs(report["f1"][1]) < 0.999
    assert report.flags == {"polarity": 1}


def test_an_empty_text_is_empty_without_special_tokens_too(few_specials):
    report = bertscore(few_specials[0]).score(["", "river", ""], ["river", " ", ""])
    assert [list(values) for values in report] == [[0, 0, 0]] * 3
    assert report.flags == {"empty": 3}


@pytest.mark.parametrize("specials", ["keep", "drop"])
@pytest.mark.parametrize("family", ["bert", "roberta", "albert"])
def test_empty_strings_are_scored_as_worst_and_flagged(tiny, family, specials):
    report = bertscore(tiny(family), specials=specials).score(["", "a", " ", "a"], ["a", "\n", "", "a"])
    np.testing.assert_allclose(np.stack(list(report)), [[0, 0, 0, 1]] * 3, atol=1e-5)
    assert [segment.counts.get("empty") for segment in report.segments] == [1, 1, 2, None]


def test_a_limit_of_1e30_is_no_limit(tiny, tmp_path):
    directory = shutil.copytree(tiny("bert"), tmp_path / "endless")
    edit_json(directory / "tokenizer_config.json", model_max_length=1000000000000000019884624838656)
    scores = compat.score(CANDIDATES, REFERENCES, model_type=str(directory), num_layers=2)
    expected = compat.score(CANDIDATES, REFERENCES, model_type=str(tiny("bert")), num_layers=2)
    np.testing.assert_array_equal(scores, expected)


def test_long_text_is_never_cut_silently(tiny):
    long = " ".join(SENTENCES) * 2
    for overlong, flag in (("window", "windowed"), ("truncate", "truncated")):
        report = bertscore(tiny("bert"), overlong=overlong).score([long, "a"], ["a", "a"])
        assert [set(segment.flags) - {"polarity"} for segment in report.segments] == [{flag}, set()]
        assert report.flags[flag] == 1
        assert f"|overlong:{overlong}|" in report.signature


@pytest.mark.parametrize("index", [[0, 1, 2, 3, 4], [7, 3, 9, 1, 5], list("vwxyz")])
def test_pandas_columns_are_read_by_position(tiny, index):
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    metric = bertscore(tiny("bert"))
    columns = {"c": CANDIDATES, "r": REFERENCES, "several": [[text, "a"] for text in REFERENCES]}
    frame = pandas.DataFrame(columns, index=index)
    expected = metric.score(CANDIDATES, REFERENCES)
    for report in (metric.score(frame.c, frame.r), metric.score(frame.c.to_numpy(), tuple(frame.r))):
        np.testing.assert_array_equal(np.stack(list(report)), np.stack(list(expected)))
    assert len(metric.score(frame.c, frame.several)) == 5
    np.testing.assert_array_equal(compat.score(frame.c, frame.r, str(tiny("bert")), 2)[2], expected["f1"])


def test_one_row_is_an_array_of_one(tiny):
    for values in bertscore(tiny("bert")).score(["a cat"], ["the cat"]):
        assert values.shape == (1,)
    for values in compat.score(["a cat"], ["the cat"], model_type=str(tiny("bert")), num_layers=2, all_layers=True):
        assert values.shape == (4, 1)
