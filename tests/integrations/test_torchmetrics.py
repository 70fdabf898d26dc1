"""`EvalignMetric`: inside torchmetrics the numbers are evalign's own, over updates, resets, pickles and processes."""

import os
import pickle
import subprocess
import sys

import pytest

import evalign

pytest.importorskip("torchmetrics")
pytestmark = pytest.mark.slow  # torchmetrics takes seconds to load

CANDIDATES = ["a cat", "the dogs bark at night, all of them", "x", "", "Grüße aus Köln 🐈 and more words"]
REFERENCES = [["the cat", "one cat sat"], ["dogs bark"], ["y z"], ["nothing"], ["Grüße aus Köln"]]
SPECS = ["bertscore(model=fake)", "bertscore(model=fake, idf=references)", "bleu", "ter", "rougeL"]


def metric(spec, **options):
    from evalign.integrations.torchmetrics import EvalignMetric

    return EvalignMetric(spec, **options)


@pytest.mark.parametrize("spec", SPECS)
def test_the_numbers_are_evaligns_own_in_the_order_of_rows(spec):
    report = evalign.metric(spec).score(CANDIDATES, REFERENCES)
    whole, rows = metric(spec), metric(spec, segments=True)
    for one in (whole, rows):
        one.update(CANDIDATES[:2], REFERENCES[:2])
        one.update(CANDIDATES[2:], REFERENCES[2:])
    for field in report.fields:
        assert whole.compute()[field].item() == pytest.approx(report.corpus(field), abs=1e-12)
        assert rows.compute()[field].tolist() == pytest.approx(report[field].tolist(), abs=1e-12)


def test_reset_and_pickle():
    one = metric("rouge1")
    one.update(["wrong"], ["nothing"])
    one.reset()
    one.update(CANDIDATES, REFERENCES)
    again = pickle.loads(pickle.dumps(one))
    assert again.compute() == one.compute()
    assert one.compute()["f1"].item() == pytest.approx(
        evalign.metric("rouge1").score(CANDIDATES, REFERENCES).corpus("f1")
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((["a"], [None]), "references"),
        (([None], ["a"]), "expected a string"),
        (([float("nan")], ["a"]), "expected a string"),
        ((["a", "b"], ["a"]), "2 candidates but 1 references"),
        ((["a"], [[]]), "at least one reference"),
    ],
)
def test_bad_input_is_a_value_error_with_our_sentence(given, said):
    with pytest.raises(ValueError, match=said):
        metric("rouge1").update(*given)


WORKER = """
import sys, torch.distributed as dist
from evalign.integrations.torchmetrics import EvalignMetric
rank, store, texts = int(sys.argv[1]), sys.argv[2], eval(sys.argv[3])
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
metric = EvalignMetric("bleu", segments=False)
rows = EvalignMetric("rouge1", segments=True)
for one in (metric, rows):
    one.update(*texts[rank])
print(repr((metric.compute()["score"].item(), rows.compute()["f1"].tolist())))
dist.destroy_process_group()
"""


def test_two_processes_compute_what_one_computes(tmp_path):
    parts = [(CANDIDATES[:2], REFERENCES[:2]), (CANDIDATES[2:], REFERENCES[2:])]
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(tmp_path / "store"), repr(parts)],
            stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        for rank in (0, 1)
    ]  # fmt: skip
    said = [worker.communicate(timeout=300)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    whole = evalign.metric("bleu").score(CANDIDATES, REFERENCES).corpus("score")
    rows = evalign.metric("rouge1").score(CANDIDATES, REFERENCES)["f1"].tolist()
    for out in said:
        corpus, segments = eval(out.strip().splitlines()[-1])
        assert corpus == pytest.approx(whole, abs=1e-9)
        assert segments == pytest.approx(rows, abs=1e-9)
