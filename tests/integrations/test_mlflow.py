"""`evalign_metric` inside `mlflow.models.evaluate`: evalign's own numbers, per row and over the corpus."""

import pandas
import pytest
from integration_rows import BAD_NAMES, BAD_ROWS, CANDIDATES, REFERENCES, SEVERAL, SOURCES, documented

import evalign

mlflow = pytest.importorskip("mlflow", reason="mlflow is tested in an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def _store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
    mlflow.create_experiment("evalign", artifact_location=(folder / "artifacts").as_uri())
    mlflow.set_experiment("evalign")


def evaluated(metric, references, **columns):
    frame = pandas.DataFrame({"output": CANDIDATES, "gold": references, **columns})
    return mlflow.models.evaluate(data=frame, predictions="output", targets="gold", extra_metrics=[metric])


def made(*given):
    from evalign.integrations.mlflow import evalign_metric

    return evalign_metric(*given)


@pytest.mark.parametrize("references", [REFERENCES, SEVERAL], ids=["one", "several"])
@pytest.mark.parametrize("spec", ["bertscore(model=fake, idf=references)", "bleu", "ter", "rougeL"])
def test_numbers_are_evaligns_own(spec, references):
    judge = evalign.metric(spec)
    report = judge.score(CANDIDATES, references)
    found = evaluated(made(spec), references)
    rows = found.tables["eval_results_table"][f"{judge.name}/score"]
    assert rows.tolist() == pytest.approx(report[judge.main].tolist(), abs=1e-9)  # ten digits in MLflow's table
    assert found.metrics[f"{judge.name}/mean"] == pytest.approx(report.mean(judge.main), abs=1e-12)
    for field in report.fields:
        assert found.metrics[f"{judge.name}/{field}"] == pytest.approx(report.corpus(field), abs=1e-12)
    assert made(spec).greater_is_better == judge.higher_is_better


def test_a_field_and_sources():
    report = evalign.metric("bertscore(model=fake, idf=sources)").score(CANDIDATES, REFERENCES, SOURCES)
    found = evaluated(made("bertscore(model=fake, idf=sources)", "recall"), REFERENCES, inputs=SOURCES)
    rows = found.tables["eval_results_table"]["bertscore/score"].tolist()
    assert rows == pytest.approx(report["recall"].tolist(), abs=1e-9)


@pytest.mark.parametrize(("candidates", "references", "said"), [*BAD_ROWS, ([], [], "no rows to score")],
                         ids=[*BAD_NAMES, "nothing"])  # fmt: skip
def test_bad_input_is_mlflows_error_with_our_sentence(candidates, references, said):
    with pytest.raises(mlflow.exceptions.MlflowException, match=said) as raised:
        made("rouge1")(predictions=pandas.Series(candidates), targets=pandas.Series(references))
    assert raised.value.error_code == "INVALID_PARAMETER_VALUE"


@pytest.mark.parametrize("given", [("nothing",), ("rouge1", "score"), ("bertscore(layers=3)",)])
def test_a_metric_or_field_that_does_not_exist_is_said(given):
    with pytest.raises(mlflow.exceptions.MlflowException, match=r"nothing|score|layers"):
        made(*given)


def test_a_bad_table_through_mlflow():
    with pytest.raises(mlflow.exceptions.MlflowException, match="expected a string, found float"):
        mlflow.models.evaluate(
            data=pandas.DataFrame({"output": ["a", float("nan")], "gold": ["a", "b"]}),
            predictions="output", targets="gold", extra_metrics=[made("rouge1")],
        )  # fmt: skip


def test_the_documented_example_runs(minilm):
    exec(documented("MLflow"), {})
