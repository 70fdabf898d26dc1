"""Hugging Face `evaluate`: every metric loads from the file and gives evalign's own numbers."""

import doctest
import importlib
import inspect

import pytest
from integration_rows import BAD_NAMES, BAD_ROWS, CANDIDATES, NOT_A_NUMBER, REFERENCES, SEVERAL, SOURCES, documented

import evalign
from evalign.core import Report
from evalign.core.registry import metric_names
from evalign.research.lstm.encoder import demonstration_file

pytestmark = pytest.mark.slow  # evaluate and datasets take seconds to load


@pytest.fixture(scope="module", autouse=True)
def installed():
    """Not at the top of the file: the quick tests, which have none of these, would load it as well."""
    pytest.importorskip("evaluate")


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    import os

    os.environ["HF_MODULES_CACHE"] = str(tmp_path_factory.mktemp("modules"))
    import evaluate

    from evalign.integrations import evaluate_module

    cache = str(tmp_path_factory.mktemp("evaluate"))
    return lambda name, **more: evaluate.load(evaluate_module.PATH, name, cache_dir=cache, **more)


FAKE = {"model": "fake"}
OPTIONS = {
    **dict.fromkeys(["bertscore", "lisascore", "moverscore", "sbert", "endtoken"], FAKE),
    "rougeL": {"stem": True},
    "lstm": {"file": str(demonstration_file())},
    "evalign": None,  # the options of these need files or models
    "learned": None,
    "bartscore": None,
}


def expected(report: Report) -> dict:
    pooled = {"corpus": dict(report.pooled)} if report.pooled else {}
    return {field: report[field].tolist() for field in report.fields} | pooled | {"hashcode": report.signature}


def test_evaluates_own_conditions_for_a_module_hold(load):
    """Those of its test_metric_common.py: no **kwargs in `_compute`, and more than one example that runs."""
    import evaluate

    from evalign.integrations import evaluate_module

    module = importlib.import_module(evaluate.loading.evaluation_module_factory(evaluate_module.PATH).module_path)
    kind = evaluate.loading.import_main_class(module.__name__)
    parameters = inspect.signature(kind._compute).parameters.values()
    assert all(parameter.kind != parameter.VAR_KEYWORD for parameter in parameters)
    ran = doctest.testmod(module, raise_on_error=True)
    assert ran.failed == 0
    assert ran.attempted > 1


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_loads_says_what_it_is_and_gives_evaligns_own_numbers(load, name):
    module = load(name)
    assert module.description.startswith(f"{name}: ")
    options = OPTIONS.get(name, {})
    if options is None:
        return
    judge = type(evalign.metric(name)).from_options(options, name)
    inputs = {"predictions": CANDIDATES}
    inputs |= {"references": REFERENCES} if "references" in judge.needs else {}
    inputs |= {"sources": SOURCES} if "sources" in judge.needs else {}
    found = module.compute(**inputs, **options)
    assert found == expected(judge.score(CANDIDATES, inputs.get("references"), inputs.get("sources")))


@pytest.mark.parametrize(("name", "options"), [("bertscore", {"model": "fake", "idf": "references"}), ("bleu", {})])
def test_several_references(load, name, options):
    judge = type(evalign.metric(name)).from_options(options, name)
    found = load(name).compute(predictions=CANDIDATES, references=SEVERAL, **options)
    assert found == expected(judge.score(CANDIDATES, SEVERAL))
    mixed = [*REFERENCES[:2], *SEVERAL[2:]]
    found = load(name).compute(predictions=CANDIDATES, references=mixed, **options)
    assert found == expected(judge.score(CANDIDATES, mixed))


def test_evalign_and_sources_for_idf(load, minilm):
    found = load("evalign").compute(predictions=CANDIDATES, references=REFERENCES)
    assert found == expected(evalign.metric("evalign").score(CANDIDATES, REFERENCES))
    options = {"model": "fake", "idf": "sources"}
    found = load("bertscore").compute(predictions=CANDIDATES, references=REFERENCES, sources=SOURCES, **options)
    assert found == expected(
        evalign.metric("bertscore(model=fake, idf=sources)").score(CANDIDATES, REFERENCES, SOURCES)
    )


def test_rows_may_come_one_by_one(load):
    module = load("chrf")
    for candidate, reference in zip(CANDIDATES, REFERENCES, strict=True):
        module.add(prediction=candidate, reference=reference)
    assert module.compute()["score"] == evalign.metric("chrf").score(CANDIDATES, REFERENCES)["score"].tolist()


@pytest.mark.parametrize(("predictions", "references", "said"), [*BAD_ROWS, ([], [], "no rows to score")],
                         ids=[*BAD_NAMES, "nothing"])  # fmt: skip
def test_bad_input_is_a_value_error_with_our_sentence(load, predictions, references, said):
    module = load("rouge1")
    with pytest.raises(ValueError, match=said):
        module.compute(predictions=predictions, references=references)
    if predictions:
        with pytest.raises(ValueError, match=said):
            module.add_batch(predictions=predictions, references=references)


@pytest.mark.parametrize("text", [None, NOT_A_NUMBER, 7])
def test_a_bad_row_is_refused_when_it_is_added(load, text):
    with pytest.raises(ValueError, match="expected a string"):
        load("rouge1").add(prediction=text, reference="a")


def test_a_metric_that_does_not_exist_is_said(load):
    with pytest.raises(ValueError, match="did you mean bertscore"):
        load("bertscor")


def test_an_option_that_does_not_exist_is_said(load):
    with pytest.raises(ValueError, match="layers"):
        load("bertscore").compute(predictions=CANDIDATES, references=REFERENCES, layers=3)


def test_the_documented_example_runs(minilm):
    exec(documented("Hugging Face evaluate"), {})
