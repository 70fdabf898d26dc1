"""Work that nobody waits for ends: comparisons between two steps, lexical requests also while they wait for a turn."""

from dataclasses import replace

import pytest
from server_answers import PATIENCE, serving, until

from evalign import metric
from evalign.core.rows import make_rows
from evalign.core.scoring import Stopped, stop_when
from evalign.metrics.lexical.sacrebleu_metrics import BLEU
from evalign.server import comparison_requests, corpus_requests
from evalign.server.schemas import CompareRequest
from evalign.server.settings import Settings
from evalign.stats.bootstrap import BLOCK_WEIGHTS, Resampling
from evalign.stats.system_tests import approximate_randomisation, paired_bootstrap

SYSTEMS = {name: [0.1 * place, 0.5] for place, name in enumerate("abcd")}
ROWS = [
    {"candidate": f"{name} cat sat", "references": "a cat sat", "system": name} for name in SYSTEMS for _ in range(2)
]


def questions(work):
    """How often it asks whether it is still wanted."""
    asked = []
    with stop_when(lambda: bool(asked.append(1))):
        work()
    return len(asked)


def stops_at(work, question):
    left = iter(range(question))
    with stop_when(lambda: next(left, None) is None), pytest.raises(Stopped):
        work()


@pytest.mark.parametrize(
    "asked",
    [{"scores": [{"metric": "bertscore(model=fake)", "values": SYSTEMS}]}, {"rows": ROWS, "metrics": ["chrf"]}],
    ids=["scores", "rows"],
)
def test_a_comparison_ends_between_pairs_of_systems(monkeypatch, asked):
    request = CompareRequest.model_validate(asked | {"samples": 3})
    compare = lambda: comparison_requests.compare(request, Settings(("fake",)))  # noqa: E731
    told = []
    check = comparison_requests.check_stopped
    monkeypatch.setattr(comparison_requests, "check_stopped", lambda: (told.append(1), check()))
    every = questions(compare)
    assert len(told) >= 6  # pairs of four systems
    stops_at(compare, every - 1)
    stops_at(compare, every // 2)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomisation])
def test_a_test_of_two_systems_ends_between_blocks(test):
    rows = [0.5] * (BLOCK_WEIGHTS // 2)
    few, many = (questions(lambda n=n: test(rows, rows, resampling=Resampling(n))) for n in (2, 6))
    assert many - few == 2


def test_meteor_ends_between_words():
    rows = make_rows(["a b " * 30], ["b a " * 30])
    scorer = metric("meteor(modules=exact)").scorer()
    assert questions(lambda: scorer.score(rows)) >= 60
    stops_at(lambda: scorer.score(rows), 30)


def test_who_waits_for_a_turn_sees_the_deadline():
    with serving(workers=1) as client:
        client.service.settings = replace(client.service.settings, deadline=0.5)
        body = {"rows": [{"candidate": "a b", "references": "a c"}], "metrics": ["bleu"]}
        with corpus_requests.alone(BLEU.__module__):
            until(lambda: client.post("/api/score", json=body).status_code == 504)  # 503 if no thread came to it
            until(lambda: not client.service.pool.unfinished)
        client.service.settings = replace(client.service.settings, deadline=PATIENCE)
        assert client.post("/api/score", json=body).status_code == 200
