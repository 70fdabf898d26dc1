"""Metrics with an adapter: its layers, its token importance as weights, its name in the signature."""

import numpy as np
import pytest

import evalign
from evalign.cli.main import main
from evalign.core.registry import metric_class
from evalign.encoders.adapter import read_adapter
from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.errors import LayerError, ModelNotFoundError
from evalign.matching.base import f1
from evalign.server.allowed_specs import allowed_metrics
from evalign.server.errors import ApiError
from tiny_adapters import saved
from tiny_models import SENTENCES

CANDIDATES, REFERENCES = SENTENCES[:6], SENTENCES[6:]


@pytest.fixture
def adapted(tiny, tmp_path):
    model = tiny("bert")
    return {"model": str(model), "adapter": str(saved(model, tmp_path / "adapter")), "threads": 1}


def by_hand(options, candidate, reference):
    """BERTScore from vectors and importance alone."""
    choice = EncoderSpec(options["model"], "1+3", adapter=options["adapter"], threads=1)
    texts = open_encoder(choice).encoder.encode([candidate, reference])
    importance = read_adapter(options["adapter"]).importance.astype(np.float64)
    units = [one.vectors / np.linalg.norm(one.vectors, axis=2, keepdims=True) for one in texts]
    cosines = np.einsum("lid,ljd->ij", *units) / 2
    weights = [
        np.where(one.tokens.special, 0, np.exp(np.einsum("ld,ltd->t", importance, unit)))
        for one, unit in zip(texts, units, strict=True)
    ]
    precision = weights[0] @ cosines.max(axis=1) / weights[0].sum()
    recall = weights[1] @ cosines.max(axis=0) / weights[1].sum()
    return precision, recall, float(f1(precision, recall))


def test_importance_weighs_the_tokens_of_the_adapters_layers(adapted):
    report = evalign.BERTScore(**adapted).score(CANDIDATES, REFERENCES)
    for place, texts in enumerate(zip(CANDIDATES, REFERENCES, strict=True)):
        expected = by_hand(adapted, *texts)
        assert [report[name][place] for name in report.fields] == pytest.approx(expected, abs=1e-6)


def test_importance_and_idf_are_multiplied(adapted):
    metric = evalign.BERTScore(**adapted, idf="references")
    alone, counted = (
        evalign.BERTScore(**options).score(CANDIDATES, REFERENCES)["f1"]
        for options in (adapted, {**adapted, "adapter": "", "layer": "1+3", "idf": "references"})
    )
    both = metric.score(CANDIDATES, REFERENCES)["f1"]
    assert np.abs(both - alone).max() > 1e-4
    assert np.abs(both - counted).max() > 1e-4


@pytest.mark.parametrize("name", ["bertscore", "lisascore", "sbert"])
def test_specs_signatures_and_backends(adapted, name):
    kind = metric_class(name)
    metric = evalign.metric(f'{name}(model="{adapted["model"]}", adapter="{adapted["adapter"]}", threads=1)')
    assert metric == kind(**adapted)
    assert metric != kind(**{**adapted, "adapter": ""})
    assert evalign.metric(str(metric)) == metric
    report = metric.score(CANDIDATES, REFERENCES)
    digest = read_adapter(adapted["adapter"]).digest[:8]
    assert f"+adapter@{digest}|" in report.signature
    torch = kind(**adapted, backend="torch").score(CANDIDATES, REFERENCES)
    assert report[metric.main] == pytest.approx(torch[metric.main], abs=1e-5)
    with pytest.raises(ModelNotFoundError):
        evalign.metric(report.signature)


def test_one_pair_adds_up_as_it_is_explained(adapted):
    metric = evalign.BERTScore(**adapted)
    alignment = metric.align(CANDIDATES[0], REFERENCES[0])
    weights = alignment.candidate_weights
    shares = weights / weights.sum() * alignment.similarity.max(axis=1)
    assert len(set(weights.round(6))) > 3
    assert shares.sum() == pytest.approx(alignment.scores["precision"], abs=1e-9)
    whole = metric.pairwise(CANDIDATES, REFERENCES)["precision"]
    assert whole[0, 0] == pytest.approx(alignment.scores["precision"], abs=1e-6)


def test_the_explanation_shows_importance_and_its_products(adapted, capsys):
    spec = f'bertscore(model="{adapted["model"]}", adapter="{adapted["adapter"]}", threads=1)'
    with pytest.raises(SystemExit, match="0"):
        main(["explain", CANDIDATES[0], REFERENCES[0], "-m", spec])
    shown = capsys.readouterr().out
    assert "Importance of a token" in shown
    assert "counts as" not in shown, "the weights of the table are those of the score"


def test_layers_without_those_of_the_importance_are_refused(adapted):
    with pytest.raises(LayerError, match=r"layer=2: the token importance of adapter@\w{8} is read at layer 1\+3"):
        evalign.BERTScore(**adapted, layer=2).score(["a"], ["b"])
    layers = evalign.BERTScore(**adapted).score_layers(CANDIDATES, REFERENCES)
    assert len(layers.layers) == 4


def test_a_request_cannot_name_an_adapter(adapted):
    with pytest.raises(ApiError, match="not available on a server"):
        allowed_metrics([f'bertscore(adapter="{adapted["adapter"]}")'], ["minilm"], 5)
