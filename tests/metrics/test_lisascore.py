"""LiSAScore's own options."""

import pytest

import evalign
from evalign.cli.main import main
from evalign.errors import SpecError
from evalign.matching.registry import parse


@pytest.mark.parametrize("denominator", ["own", "min", "max"])
def test_every_denominator_keeps_scores_below_one_with_idf(denominator):
    references = ["strange philosophy thought", *["the of and", "a the of"] * 4]
    candidates = ["unusual philosophical contemplation", *references[1:]]
    metric = evalign.LiSAScore(model="fake", idf="references", denominator=denominator)
    assert all((field <= 1 + 1e-9).all() for field in metric.score(candidates, references))


@pytest.mark.parametrize(
    ("words", "method"),
    [
        ("stock", "exact"),
        ("row-masking", "row-mask"),
        ("Row masking", "row-mask"),
        ("recursive_top-k", "recursive-topk"),
        ("aggressive auction top-k", "auction-topk"),
    ],
)
def test_the_papers_words_for_methods(words, method):
    assert evalign.LiSAScore(model="fake", method=words) == evalign.LiSAScore(model="fake", method=method)
    assert f"method={method}" in str(evalign.LiSAScore(method=words, strict=True)) or method == "exact"
    assert evalign.BERTScore(matching=words).matching == method


def test_the_papers_name_for_the_end_token_leads_to_it():
    with pytest.raises(SpecError, match="did you mean endtoken"):
        evalign.metric("clipscore")


CANDIDATES, REFERENCES = ["b a a c d", "the cat sat on the mat"], ["a b a d e", "a cat was sitting there"]


@pytest.mark.parametrize(("method", "factor", "rounds"), [("recursive-argmax", 3, 7), ("auction-topk", 1, 8)])
def test_rounds_and_factor_override_the_presets(method, factor, rounds):
    def scores(**options):
        return evalign.LiSAScore(model="fake", method=method, **options).score(CANDIDATES, REFERENCES)["f1"].tolist()

    assert scores(rounds=rounds, factor=factor) == scores()
    assert scores(rounds=rounds) == scores(factor=str(factor)) == scores()
    assert scores(preset="authors", factor=factor, rounds=0) == scores(preset="authors", rounds=0)
    one_sided = evalign.LiSAScore(model="fake", method=method, rounds=0)
    similarity = one_sided.align(CANDIDATES[0], REFERENCES[0]).similarity
    assert one_sided.pipeline().matching.solve(similarity).cells.sum() == min(similarity.shape)


def test_rounds_and_factor_are_printed_in_spec_and_signature():
    metric = evalign.metric("lisascore(model=fake, method=recursive-topk, rounds=0, factor=2.5, strict=true)")
    assert str(metric) == "lisascore(model=fake, method=recursive-topk, rounds=0, factor=2.5, strict=true)"
    assert metric != evalign.metric("lisascore(model=fake, method=recursive-topk, strict=true)")
    assert metric.pipeline().matching.name == "recursive-topk,paper,rounds=0,factor=2.5,strict"
    assert parse(metric.pipeline().matching.name) == metric.pipeline().matching
    assert evalign.metric(metric.score(CANDIDATES, REFERENCES).signature) == metric


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("method=recursive-argmax, rounds=-1", "rounds=-1: expected a whole number from 0 to 1,000"),
        ("method=recursive-argmax, rounds=1001", "expected a whole number from 0 to 1,000"),
        ("method=recursive-argmax, rounds=many", "rounds=many: expected a whole number"),
        ("method=recursive-argmax, factor=0", "factor=0: expected a number from 0.001 to 1,000"),
        ("method=recursive-argmax, factor=nan", "factor=nan: expected a number"),
        ("method=exact, rounds=3", "rounds=3 does not apply to method=exact"),
        ("method=auction, factor=2", "factor=2.0 does not apply to method=auction"),
        ("method=recursive-argmax, preset=authors-as-published, rounds=3", "has no rounds"),
        ("method=recursive-top", "did you mean recursive-topk"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(options, told, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explain", "a b", "b a", "-m", f"lisascore(model=fake, {options})"])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
