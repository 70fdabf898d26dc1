"""The deepeval metric: evalign's own numbers, thresholds, and deepeval's errors with our sentences."""

import os

import pytest
from integration_rows import CANDIDATES, REFERENCES, SOURCES, documented

import evalign

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
deepeval = pytest.importorskip("deepeval", reason="deepeval is tested in an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def made(*given, **options):
    from evalign.integrations.deepeval import EvalignDeepEvalMetric

    return EvalignDeepEvalMetric(*given, **options)


def case(candidate, reference=None, source="asked"):
    from deepeval.test_case import LLMTestCase

    return LLMTestCase(input=source, actual_output=candidate, expected_output=reference)


@pytest.mark.parametrize("spec", ["bertscore(model=fake)", "bleu", "ter", "rougeL", "sari", "fkgl"])
def test_numbers_are_evaligns_own_inside_evaluate(spec, tmp_path, monkeypatch):
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig

    monkeypatch.chdir(tmp_path)  # deepeval writes a folder of its own
    judge = evalign.metric(spec)
    report = judge.score(CANDIDATES, REFERENCES, SOURCES)
    cases = [case(*row) for row in zip(CANDIDATES, REFERENCES, SOURCES, strict=True)]
    limit = float(sorted(report[judge.main])[2])
    found = deepeval.evaluate(
        cases, [made(spec, threshold=limit)], async_config=AsyncConfig(run_async=False),
        cache_config=CacheConfig(write_cache=False), display_config=DisplayConfig(print_results=False),
    )  # fmt: skip
    results = {result.input: result.metrics_data[0] for result in found.test_results}
    measured = [results[source] for source in SOURCES]
    assert [data.score for data in measured] == report[judge.main].tolist()
    reached = report[judge.main] >= limit if judge.higher_is_better else report[judge.main] <= limit
    assert [data.success for data in measured] == reached.tolist()
    assert {data.name for data in measured} == {spec}


def test_a_field_and_the_others_beside_it():
    metric = made("bertscore(model=fake)", field="recall")
    report = evalign.metric("bertscore(model=fake)").score(CANDIDATES[:1], REFERENCES[:1])
    assert metric.measure(case(CANDIDATES[0], REFERENCES[0])) == report["recall"][0]
    assert metric.score_breakdown == {field: report[field][0] for field in report.fields}
    assert metric.reason == f"recall of {report.signature}"


@pytest.mark.parametrize(("candidate", "reference", "said"), [
    (None, "a", "actual_output: expected a string, found None"),
    ("a", None, "expected_output: expected a string, found None"),
])  # fmt: skip
def test_a_missing_text_is_deepevals_error_with_our_sentence(candidate, reference, said):
    from deepeval.errors import MissingTestCaseParamsError

    metric = made("rouge1")
    with pytest.raises(MissingTestCaseParamsError, match=said):
        metric.measure(case(candidate, reference))
    assert said in metric.error
    assert not metric.is_successful()


@pytest.mark.parametrize("value", [float("nan"), 7, [], ["a"]])
def test_what_is_no_text_is_refused_by_deepevals_test_case_itself(value):
    from deepeval.errors import DeepEvalError
    from pydantic import ValidationError

    for texts in ((value, "a"), ("a", value)):
        with pytest.raises((ValidationError, TypeError), match="string"):
            case(*texts)
    changed = case("a", "b")
    changed.actual_output = value  # which deepeval does not look at
    with pytest.raises(DeepEvalError, match=r"candidates\[0\]: expected a string, found"):
        made("rouge1").measure(changed)


def test_other_errors_are_deepevals_too():
    from deepeval.errors import DeepEvalError

    with pytest.raises(DeepEvalError, match="counts IDF over the whole corpus, and a test case is only a part"):
        made("bertscore(model=fake, idf=references)")
    with pytest.raises(DeepEvalError, match="did you mean"):
        made("bertscor")
    with pytest.raises(DeepEvalError, match="has precision, recall, f1, not 'score'"):
        made("rouge1", field="score")
    metric = made("bertscore(model=nowhere)")
    with pytest.raises(DeepEvalError, match="nowhere"):
        metric.measure(case("a", "b"))


def test_the_documented_example_runs(minilm):
    exec(documented("deepeval"), {})
