"""The likelihood document: it fits its schema whatever the texts are, and holds the library's own numbers."""

import json
import re

import jsonschema
import numpy as np
import pytest

from evalign.encoders.likelihood import MIN_LOG_PROB, close_likelihoods
from evalign.metrics.bartscore import BARTScore
from evalign.render.documents import schema
from tiny_torch_models import build

PAIR = "The old bridge was closed.", "a bridge, shut because of cracks"
TEXTS = [
    PAIR,
    ("", "a cat"),
    ("a cat", " \n"),
    ("</script><img src=x onerror=alert(1)>", "<!-- <script>"),
    ("\u202egnirts\u202c \x00 tail", "string \u2028 tail"),
    ("lone \ud800 half", "half \udfff lone"),
    ("السلام عليكم", "سلام"),
    ("孩子们昨天", "👩‍👩‍👧 family"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    built = {}

    def directory(family):
        if family not in built:
            built[family] = build(family, tmp_path_factory.mktemp("tiny") / family, generates=True)
        return str(built[family])

    yield directory
    close_likelihoods()


def bartscore(model, family="bart", **options):
    return BARTScore(model=model(family), threads=1, **options)


def fits(document):
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")  # no lone surrogate leaves
    jsonschema.validate(json.loads(text), schema("likelihood"), cls=jsonschema.Draft202012Validator)
    assert json.loads(text) == document
    for direction in document["directions"]:
        for side in (direction["read"], direction["predicted"]):
            assert len(side["pieces"]) == len(side["offsets"]) == len(side["special"])
        assert len(direction["log_probs"]) == len(direction["predicted"]["pieces"])
    return document


@pytest.mark.parametrize("texts", TEXTS, ids=range(len(TEXTS)))
def test_documents_fit_their_schema(model, texts):
    document = fits(bartscore(model).likelihoods(*texts).to_dict())
    written = [text.replace("\ud800", "\ufffd").replace("\udfff", "\ufffd") for text in texts]
    precision, recall = document["directions"]
    assert [precision["predicted"]["text"], precision["read"]["text"]] == written
    assert [recall["read"]["text"], recall["predicted"]["text"]] == written


@pytest.mark.parametrize("family", ["bart", "marian", "gpt2"])
def test_numbers_are_those_of_the_metric(model, family):
    metric = bartscore(model, family)
    value = metric.likelihoods(*PAIR)
    document = fits(value.to_dict())
    report = metric.score([PAIR[0]], [PAIR[1]])
    assert document["scores"]["score"] == pytest.approx(report["score"][0], abs=1e-9)
    assert (document["signature"], document["metric"]) == (report.signature, str(metric))
    tokens = metric.tokens(*PAIR)
    assert [one["name"] for one in document["directions"]] == list(tokens)
    for one in document["directions"]:
        likelihood = tokens[one["name"]]
        assert one["log_probs"] == pytest.approx(likelihood.log_probs, abs=1e-8)
        assert one["mean"] == pytest.approx(np.mean(one["log_probs"]), abs=1e-7)
        side = one["predicted"]
        assert f"{one['read']['of']}-to-{side['of']}" == one["name"]
        assert side["special"] == likelihood.target.special.tolist()
        covered = "".join(side["text"][start:stop].strip() for start, stop in side["offsets"])
        assert covered == side["text"].replace(" ", "")
        assert side["cut"] is None


def test_faithfulness_reads_the_source(model):
    document = fits(bartscore(model, direction="source-to-candidate").likelihoods("a cat", source="the cat").to_dict())
    (one,) = document["directions"]
    assert (one["read"]["of"], one["read"]["text"], one["predicted"]["text"]) == ("source", "the cat", "a cat")
    assert document["scores"]["score"] == one["mean"]


def test_empty_texts_have_the_lowest_score_and_the_flag(model):
    document = bartscore(model).likelihoods("", "a cat").to_dict()
    assert document["scores"]["score"] == pytest.approx(document["lowest"], abs=1e-8) == MIN_LOG_PROB
    assert document["flags"] == {"empty": 1}
    assert document["directions"][0]["flags"] == {"empty": 1}


def test_an_impossible_token_has_the_lowest_value(model, monkeypatch):
    metric = bartscore(model, direction="reference-to-candidate")
    usual = metric.scorer().model.forward

    def spoilt(batch):
        found = [np.array(values) for values in usual(batch)]
        found[0][3] = -np.inf
        return found

    monkeypatch.setattr(metric.scorer().model, "forward", spoilt)
    document = fits(metric.likelihoods(*PAIR).to_dict())
    (one,) = document["directions"]
    assert [place for place, value in enumerate(one["log_probs"]) if value <= document["lowest"]] == [3]
    assert one["flags"] == document["flags"] == {"impossible-token": 1}


@pytest.mark.parametrize("prompt", ["", "that is"])
def test_the_stretch_that_was_not_read_is_told(model, prompt):
    long = " ".join(PAIR) + " and so on, and so on, until nobody listens any more   "
    metric = bartscore(model, direction="reference-to-candidate", max_length=30, prompt=prompt)
    (one,) = fits(metric.likelihoods(long, long).to_dict())["directions"]
    assert one["flags"]["truncated"] == one["read"]["dropped"] + one["predicted"]["dropped"]
    for side, ending in ((one["read"], prompt), (one["predicted"], "")):
        start, stop = side["cut"]
        assert side["text"][stop:].strip() == ending
        own = [place for place, special in zip(side["offsets"], side["special"], strict=True) if not special]
        assert not [place for place in own if place[0] < stop and place[1] > start]
        assert side["text"][:start].strip()
        assert side["text"][start:stop].strip()


def test_data_cannot_end_its_element_and_a_notebook_without_scripts_shows_what_matters(model):
    hostile = '</script><script>alert(1)</script><img src=x onerror="alert(1)">'
    value = bartscore(model).likelihoods(hostile, "two dogs")
    data = re.search(r'id="evalign-document">(.*?)</script>', value.to_html(), re.DOTALL)[1]
    assert json.loads(data)["directions"][0]["predicted"]["text"] == hostile
    static = re.sub(r"<iframe.*?</iframe>|<script.*?</script>", "", value._repr_html_(), flags=re.DOTALL)
    assert "<script" not in static
    assert 'onerror="' not in static
    assert f"<b>{value.scores['score']:.3f}</b>" in static
    assert value.signature in static
    for one in value.directions.values():
        own = [number for number, special in zip(one.log_probs, one.target.special, strict=True) if not special]
        assert all(f"log-probability {number:.4f}" in static for number in own)
        least = re.findall(r"</bdi> (-\d+\.\d{4})", static.split(f"mean {one.score:.3f}")[1])[:5]
        assert least == [f"{number:.4f}" for number in np.sort(one.log_probs)[:5]]
