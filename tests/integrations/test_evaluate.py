"""Hugging Face `evaluate`: every metric loads from the file and gives evalign's own numbers."""

import pytest

import evalign
from evalign.metrics.registry import METRICS

pytest.importorskip("evaluate")
pytestmark = pytest.mark.slow  # evaluate and datasets take seconds to load

CANDIDATES = ["a cat", "the dogs bark at night, all of them", "x", "w", "Grüße aus Köln and more words"]
REFERENCES = ["the cat", "dogs bark", "y z", "nothing", "Grüße aus Köln"]
SEVERAL = [[text, "one more"] for text in REFERENCES]


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    import os

    os.environ["HF_MODULES_CACHE"] = str(tmp_path_factory.mktemp("modules"))
    import evaluate

    from evalign.integrations import evaluate_module

    cache = str(tmp_path_factory.mktemp("evaluate"))
    return lambda name, **more: evaluate.load(evaluate_module.PATH, name, cache_dir=cache, **more)


@pytest.mark.parametrize("references", [REFERENCES, SEVERAL], ids=["one", "several"])
@pytest.mark.parametrize(
    ("name", "options"), [("bertscore", {"model": "fake"}), ("bleu", {}), ("rougeL", {"stem": True})]
)
def test_numbers_are_evaligns_own(load, name, options, references):
    found = load(name).compute(predictions=CANDIDATES, references=references, **options)
    kind = type(evalign.metric(name))
    report = kind.from_options(options, name).score(CANDIDATES, references)
    assert found.pop("hashcode") == report.signature
    assert found.pop("corpus", {}) == dict(report.pooled)
    assert found == {field: report[field].tolist() for field in report.fields}


def test_rows_may_come_one_by_one(load):
    module = load("chrf")
    for candidate, reference in zip(CANDIDATES, REFERENCES, strict=True):
        module.add(prediction=candidate, reference=reference)
    assert module.compute()["score"] == evalign.metric("chrf").score(CANDIDATES, REFERENCES)["score"].tolist()


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_loads_and_says_what_it_is(load, name):
    module = load(name)
    assert module.description.startswith(f"{name}: ")
    assert "predictions" in str(module.features)


@pytest.mark.parametrize(
    ("predictions", "references", "said"),
    [(["a", "b"], ["a"], "1"), ([None], ["a"], "expected format"), (["a"], [[]], "at least one reference")],
)
def test_bad_input_is_a_value_error(load, predictions, references, said):
    with pytest.raises(ValueError, match=said):
        load("rouge1").compute(predictions=predictions, references=references)


def test_an_option_that_does_not_exist_is_said(load):
    with pytest.raises(ValueError, match="layers"):
        load("bertscore").compute(predictions=CANDIDATES, references=REFERENCES, layers=3)
