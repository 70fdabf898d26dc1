"""One pair is computed once: one encoding, one similarity matrix, each matching solved once, one tokenisation."""

from __future__ import annotations

from collections import Counter

import pytest

import evalign
from evalign.cli.main import main
from evalign.encoders.base import BatchingEncoder
from evalign.encoders.fake import FakeEncoder
from evalign.matching import similarity as similarity_module
from evalign.matching.registry import all_matchings, matching_class
from evalign.metrics import token_metric
from evalign.metrics.all_matchings import align_all

# The recursive methods share the code that would be counted.
SEPARATE = ("greedy", "exact", "row-mask", "recursive-topk", "auction", "transport")
CANDIDATE, REFERENCE = "The old bridge was closed.", "They shut the old stone bridge."


@pytest.fixture
def calls(monkeypatch):
    """Counts encodings of texts, matrices and solutions by name."""
    counted: Counter[str] = Counter()

    def watch(owner, name, label, size=lambda arguments: 1):
        original = getattr(owner, name)

        def counting(*arguments, **options):
            counted[label] += size(arguments)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    for encoder in (FakeEncoder, BatchingEncoder):
        watch(encoder, "encode", "encoded texts", lambda arguments: len(arguments[1]))
    watch(token_metric, "similarity", "matrices")
    monkeypatch.setattr(similarity_module, "similarity", token_metric.similarity)  # what bands are made of
    for name in all_matchings():
        kind = matching_class(name)
        watch(kind, "select" if "select" in vars(kind) else "choose" if "choose" in vars(kind) else "solve", name)
    return counted


@pytest.mark.parametrize("model", ["fake", "minilm"])
@pytest.mark.parametrize(
    "spec", ["bertscore(model={})", "lisascore(model={}, method=row-mask)", "moverscore(model={})"]
)
def test_every_matching_of_a_pair_comes_from_one_matrix(calls, spec, model, request):
    if model != "fake":
        request.getfixturevalue(model)
    every = align_all(evalign.metric(spec.format(model)), CANDIDATE, REFERENCE)
    assert set(every.alignments) == set(all_matchings())
    assert calls["encoded texts"] <= 2  # the pool may have them from before
    assert calls["matrices"] == 1
    assert {name: calls[name] for name in SEPARATE} == dict.fromkeys(SEPARATE, 1)


def test_the_page_of_a_pair_is_made_from_one_matrix(calls, tmp_path):
    page = tmp_path / "pair.html"
    with pytest.raises(SystemExit) as ended:
        main(["align", CANDIDATE, REFERENCE, "-m", "bertscore(model=fake)", "--html", str(page)])
    assert ended.value.code in (0, None)
    assert page.is_file()
    assert calls["encoded texts"] <= 2  # the pool may have them from before
    assert calls["matrices"] == 1
    once = dict.fromkeys(SEPARATE, 1)
    once["recursive-topk"] += 8  # the page also shows what is chosen after each of 0 to 7 rounds
    assert {name: calls[name] for name in SEPARATE} == once
