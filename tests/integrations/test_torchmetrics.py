"""The torchmetrics metric: its numbers are evalign's own, over updates, resets, pickles and processes."""

import os
import pickle
import subprocess
import sys

import pytest
from integration_rows import BAD_NAMES, BAD_ROWS, CANDIDATES, REFERENCES, SEVERAL, SOURCES, documented

import evalign

pytestmark = pytest.mark.slow  # torchmetrics takes seconds to load

MIXED = [SEVERAL[0], *REFERENCES[1:]]
SPECS = ["bertscore(model=fake)", "bertscore(model=fake, idf=references)", "bleu", "ter", "rougeL"]


@pytest.fixture(scope="module", autouse=True)
def installed():
    """Not at the top of the file: the quick tests, which have none of these, would load it as well."""
    pytest.importorskip("torchmetrics")


def metric(spec, **options):
    from evalign.integrations.torchmetrics import EvalignTorchMetric

    return EvalignTorchMetric(spec, **options)


@pytest.mark.parametrize("spec", SPECS)
def test_the_numbers_are_evaligns_own_in_the_order_of_rows(spec):
    report = evalign.metric(spec).score(CANDIDATES, MIXED)
    whole, rows = metric(spec), metric(spec, segments=True)
    for one in (whole, rows):
        one.update(CANDIDATES[:2], MIXED[:2])
        one.update(CANDIDATES[2:], MIXED[2:])
    for field in report.fields:
        assert whole.compute()[field].item() == pytest.approx(report.corpus(field), abs=1e-12)
        assert rows.compute()[field].tolist() == pytest.approx(report[field].tolist(), abs=1e-12)


def test_reset_and_pickle():
    one = metric("rouge1")
    one.update(["wrong"], ["nothing"])
    one.reset()
    one.update(CANDIDATES, MIXED)
    again = pickle.loads(pickle.dumps(one))
    assert again.compute() == one.compute()
    assert one.compute()["f1"].item() == pytest.approx(evalign.metric("rouge1").score(CANDIDATES, MIXED).corpus("f1"))


def test_metrics_that_read_sources_or_no_references():
    sari, readability = metric("sari", segments=True), metric("fkgl", segments=True)
    sari.update(CANDIDATES[:1], REFERENCES[:1], SOURCES[:1])
    sari.update(CANDIDATES[1:], REFERENCES[1:], SOURCES[1:])
    readability.update(CANDIDATES)
    report = evalign.metric("sari").score(CANDIDATES, REFERENCES, SOURCES)
    assert sari.compute()["score"].tolist() == report["score"].tolist()
    assert readability.compute()["score"].tolist() == evalign.metric("fkgl").score(CANDIDATES)["score"].tolist()
    with pytest.raises(ValueError, match="sari needs a source"):
        sari.update(["a"], ["b"])


@pytest.mark.parametrize(("candidates", "references", "said"), BAD_ROWS, ids=BAD_NAMES)
def test_bad_input_is_a_value_error_with_our_sentence(candidates, references, said):
    with pytest.raises(ValueError, match=said):
        metric("rouge1").update(candidates, references)


@pytest.mark.filterwarnings("ignore:The ``compute`` method")  # torchmetrics, too, says that nothing was added
def test_nothing_to_judge_and_metrics_that_do_not_exist():
    empty = metric("rouge1")
    for _ in range(2):
        with pytest.raises(ValueError, match="no rows were scored"):
            empty.compute()
        empty.update([], [])
    with pytest.raises(ValueError, match="did you mean"):
        metric("bertscor")


WORKER = """
import sys, torch.distributed as dist
from evalign.integrations.torchmetrics import EvalignTorchMetric
rank, store, batches = int(sys.argv[1]), sys.argv[2], eval(sys.argv[3])
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
metric = EvalignTorchMetric("bleu", segments=False)
rows = EvalignTorchMetric("rouge1", segments=True)
for one in (metric, rows):
    for batch in batches[rank]:
        one.update(*batch)
print(repr((metric.compute()["score"].item(), rows.compute()["f1"].tolist())))
dist.destroy_process_group()
"""


ROWS = [(CANDIDATES[:2], MIXED[:2]), (CANDIDATES[2:3], MIXED[2:3]), (CANDIDATES[3:], MIXED[3:])]


@pytest.mark.parametrize("split", [1, 2, 3, 0])  # batches of rank 0; with 3 and 0 a process has nothing
def test_two_processes_compute_what_one_computes(tmp_path, split):
    parts = [ROWS[:split], ROWS[split:]]
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(tmp_path / "store"), repr(parts)],
            stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        for rank in (0, 1)
    ]  # fmt: skip
    said = [worker.communicate(timeout=300)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    whole = evalign.metric("bleu").score(CANDIDATES, MIXED).corpus("score")
    rows = evalign.metric("rouge1").score(CANDIDATES, MIXED)["f1"].tolist()
    for out in said:
        corpus, segments = eval(out.strip().splitlines()[-1])
        assert corpus == pytest.approx(whole, abs=1e-9)
        assert segments == pytest.approx(rows, abs=1e-9)


def test_the_documented_example_runs(minilm):
    exec(documented("torchmetrics"), {})
