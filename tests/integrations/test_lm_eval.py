"""`harness_metric` in tasks of lm-evaluation-harness: evalign's own corpus scores in the table of results."""

import json

import pytest
from integration_rows import BAD_NAMES, BAD_ROWS, CANDIDATES, REFERENCES, SEVERAL, documented

import evalign
from evalign.integrations.lm_eval import harness_metric

SPECS = {"bertscore": "bertscore(model=fake, idf=references)", "bleu": "bleu", "ter": "ter", "rougeL": "rougeL"}
TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{reference}}}}"
metric_list:
"""
METRIC = """
  - metric: !function utils.{name}
    aggregation: !function utils.{name}_corpus
    higher_is_better: true
"""


@pytest.mark.parametrize("spec", SPECS.values())
def test_the_aggregation_is_evaligns_corpus_score(spec):
    keep, corpus = harness_metric(spec)
    judge = evalign.metric(spec)
    for references in (REFERENCES, SEVERAL):
        items = [keep(references=[gold], predictions=[said]) for gold, said in zip(references, CANDIDATES, strict=True)]
        assert corpus(items) == judge.score(CANDIDATES, references).corpus(judge.main)
    assert (keep.__name__, corpus.__name__) == (judge.name, f"{judge.name}_corpus")


@pytest.mark.parametrize(("candidates", "references", "said"), BAD_ROWS[:-1], ids=BAD_NAMES[:-1])
def test_bad_input_is_a_value_error_with_our_sentence(candidates, references, said):
    keep, corpus = harness_metric("rouge1")
    with pytest.raises(ValueError, match=said):
        corpus([keep([gold], [text]) for gold, text in zip(references, candidates, strict=True)])


def test_no_rows_and_what_does_not_exist():
    with pytest.raises(ValueError, match="no rows to score"):
        harness_metric("rouge1")[1]([])
    with pytest.raises(ValueError, match="did you mean"):
        harness_metric("bertscor")
    with pytest.raises(ValueError, match="has precision, recall, f1, not 'score'"):
        harness_metric("rouge1", field="score")


def evaluated(folder, utils, task):
    """The results of the task for a model that says CANDIDATES."""
    lm_eval = pytest.importorskip("lm_eval", reason="lm-eval is tested in an environment of its own")
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    class Parrot(LM):
        def generate_until(self, requests, **_):
            return [CANDIDATES[int(request.args[0])] for request in requests]

        def loglikelihood(self, requests, **_):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    rows = [{"prompt": str(place), "reference": gold, "several": SEVERAL[place]}
            for place, gold in enumerate(REFERENCES)]  # fmt: skip
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "utils.py").write_text("from evalign.integrations.lm_eval import harness_metric\n" + utils)
    (folder / "task.yaml").write_text(task.format(name="told", rows=folder / "rows.jsonl"))
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    return lm_eval.simple_evaluate(Parrot(), tasks=["told"], task_manager=manager, bootstrap_iters=0)["results"]["told"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_task_of_the_harness(tmp_path):
    utils = "\n".join(f"{name}, {name}_corpus = harness_metric({spec!r})" for name, spec in SPECS.items())
    found = evaluated(tmp_path, utils, TASK + "".join(METRIC.format(name=name) for name in SPECS))
    for name, spec in SPECS.items():
        judge = evalign.metric(spec)
        assert found[f"{name},none"] == pytest.approx(judge.score(CANDIDATES, REFERENCES).corpus(judge.main), abs=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_several_targets_go_through_process_results(tmp_path):
    utils = (
        "chrf, chrf_corpus = harness_metric('chrf')\n"
        "def results(doc, said):\n    return {'chrf': (doc['several'], said[0])}\n"
    )
    told = METRIC.format(name="chrf").replace("!function utils.chrf\n", "chrf\n")
    found = evaluated(tmp_path, utils, "process_results: !function utils.results\n" + TASK + told)
    assert found["chrf,none"] == pytest.approx(evalign.metric("chrf").score(CANDIDATES, SEVERAL).corpus("score"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_several_targets_without_it_are_said(tmp_path):
    utils = "chrf, chrf_corpus = harness_metric('chrf')\n"
    task = TASK.replace('"{{{{reference}}}}"', "several") + METRIC.format(name="chrf")
    with pytest.raises(ValueError, match="process_results"):
        evaluated(tmp_path, utils, task)


def test_the_documented_example_runs(minilm):
    exec(documented("lm-evaluation-harness"), {})
