"""Cheap tricks must not pay, and which matching stops which is pinned here (numbers for MiniLM: docs/attacks.md)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from attacked_texts import CANDIDATES, REFERENCES
from attacks import ATTACKS, METRICS, table

ASSIGNMENTS = [name for name in METRICS if name not in ("greedy", "transport", "sbert")]


@pytest.fixture(scope="module", params=["fake", "minilm"])
def means(request):
    request.getfixturevalue("minilm")
    return table(CANDIDATES, REFERENCES, f"model={request.param}")


@pytest.mark.parametrize("method", ASSIGNMENTS)
@pytest.mark.parametrize("attack", ["repetition", "padding", "stuffing"])
def test_an_assignment_never_pays_for_more_words(means, attack, method):
    assert means[attack][method] < means["none"][method]


@pytest.mark.parametrize("method", ASSIGNMENTS)
def test_repetition_costs_an_assignment_far_more_than_greedy(means, method):
    lost, greedy = (means["none"][name] - means["repetition"][name] for name in (method, "greedy"))
    assert lost > greedy + 0.1


def test_no_attack_pays_under_any_metric(means):
    paid = {
        (attack, name): round(means[attack][name] - means["none"][name], 4)
        for attack in ATTACKS
        for name in METRICS
        if means[attack][name] > means["none"][name] + 0.02
    }
    assert not paid
