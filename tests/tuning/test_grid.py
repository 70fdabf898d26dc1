"""One encoding pass gives the numbers that each metric gives by itself."""

from dataclasses import replace

import numpy as np
import pytest

import evalign
from evalign.core.rows import make_rows
from evalign.errors import LayerError, SpecError
from evalign.training.layers import Setting, depth, grid_scores, layer_choices

CANDIDATES = [
    "the cat sat on the mat",
    "a dog barked",
    "it rained all day long in the old town",
    "",
    "yes",
    "the end .",
]
REFERENCES = [
    ["a cat was sitting on a mat", "the cat sat down"],
    ["dogs bark"],
    ["the whole day it rained", "rain fell all day", "sun"],
    ["not empty"],
    ["yes"],
    [""],
]
SPECS = [
    "bertscore",
    "bertscore(specials=drop, idf=references)",
    "bertscore(matching=exact)",
    "lisascore(method=recursive-argmax, specials=drop)",
    "moverscore(idf=references)",
    "sbert",
    "sbert(pooling=max)",
    "bertscore(multiref=mean)",
]


@pytest.mark.parametrize("model", ["fake", "minilm"])
def test_every_setting_equals_its_metric(model, minilm):
    rows = make_rows(CANDIDATES, REFERENCES)
    metrics = [replace(evalign.metric(spec), model=model) for spec in SPECS]
    last = depth(metrics[0])
    choices = ("0", str(last), f"0+{last}")
    found = grid_scores([Setting(metric, choices) for metric in metrics], rows)
    for metric, scores in zip(metrics, found, strict=True):
        for choice, values in zip(choices, scores, strict=True):
            report = replace(metric, layer=choice).score(CANDIDATES, REFERENCES)
            np.testing.assert_allclose(
                values,
                np.stack([report[name] for name in report.fields], axis=1),
                atol=2e-6,
                err_msg=f"{metric} {choice}",
            )


def test_rows_beyond_one_block_keep_their_order():
    texts = [" ".join(["word"] * (1 + place % 7) + [str(place)]) for place in range(100)]
    metric = evalign.BERTScore(model="fake")
    done = []
    (scores,) = grid_scores([Setting(metric, ("1",))], make_rows(texts, texts[::-1]), done.append)
    np.testing.assert_allclose(scores[0, :, 2], replace(metric, layer="1").score(texts, texts[::-1])["f1"], atol=1e-6)
    assert sum(done) == 100


def test_choices_of_layers():
    assert layer_choices(2, "runs") == ("0", "0+1", "0+1+2", "1", "1+2", "2")
    assert layer_choices(2, "single") == ("0", "1", "2")
    assert layer_choices(2, "sets") == ("0", "1", "2", "0+1", "0+2", "1+2", "0+1+2")
    with pytest.raises(SpecError, match="8191 sets"):
        layer_choices(12, "sets")


def test_layers_the_model_does_not_have():
    with pytest.raises(LayerError, match="layer=99"):
        grid_scores([Setting(evalign.BERTScore(model="fake"), ("99",))], make_rows(["a"], ["b"]))


def test_two_models_are_two_passes():
    settings = [Setting(evalign.BERTScore(model="fake"), ("1",)), Setting(evalign.BERTScore(), ("1",))]
    with pytest.raises(SpecError, match="the same model"):
        grid_scores(settings, make_rows(["a"], ["b"]))
