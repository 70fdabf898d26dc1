"""What an independent review of scoring, meta and compare found, held here so that it stays mended."""

import json

import numpy as np
import pytest

import evalign
from evalign.analysis.agreement import Plan, judge
from evalign.analysis.rated_tables import RatedTable, rate
from evalign.analysis.scoring import score_source
from evalign.data.rows import Columns, InMemory, TableFile
from evalign.data.score_files import read_scores
from evalign.errors import FileFormatError, SpecError, TableError, TextTooLongError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import Rated, agreement_by
from evalign.tuning.baselines import fit_baseline
from evalign.tuning.layers import RatedRows, choose
from evalign.types import Row

ROWS = [Row(str(place), f"a cat {place}", (f"the cat {place}",), human=place) for place in range(6)]
FEW = Resampling(samples=50)


def test_one_row_without_references_fails_alone():
    rows = [*ROWS[:3], Row("bare", "a cat"), *ROWS[3:]]
    segments = []
    (result,) = score_source(InMemory(rows), [evalign.metric("rouge1")], lambda _, segment: segments.append(segment))
    assert (result.n, result.failed) == (6, 1)
    assert [segment.id for segment in segments] == [row.id for row in rows]
    assert "needs references" in segments[3].error


def test_columns_of_the_same_name_are_refused():
    with pytest.raises(SpecError, match="two columns are called rouge1"):
        rate(InMemory(ROWS), [evalign.metric("rouge1")], {"rouge1": dict.fromkeys(range(6), 1.0)})


def test_a_human_score_too_large_for_a_number():
    with pytest.raises(FileFormatError, match="expected a number"):
        rate(InMemory([Row("a", "x", ("y",), human=10**400)]), [evalign.metric("rouge1")])


def test_system_zero_has_a_name(tmp_path):
    (tmp_path / "data.jsonl").write_text(json.dumps({"candidate": "a", "references": ["a"], "system": 0}))
    assert [row.system for row in TableFile(str(tmp_path / "data.jsonl"), Columns())] == ["0"]


@pytest.mark.parametrize("options", [{"by": "lp"}, {"level": "system"}])
def test_accuracy_over_items_knows_no_groups(options):
    with pytest.raises(SpecError, match="leave out --by and --level"):
        Plan(statistics=("acc-eq",), test="none", **options)


def test_metrics_without_a_common_group_are_not_told_apart():
    rows = [Row(str(place), "c", ("r",), extra={"g": "ab"[place > 2]}) for place in range(6)]
    scores = {"m1": np.array([1.0, 2, 4, 1, 1, 1]), "m2": np.array([1.0, 1, 1, 2, 1, 4])}
    table = RatedTable(rows, {"human": np.array([1.0, 3, 2, 1, 2, 3])}, scores, {}, {})
    found = judge(table, Plan(by="g", resampling=FEW))
    assert [one.rank for one in found.judgements] == [1, 1]


def test_small_groups_leave_the_mean_its_interval():
    random = np.random.default_rng(3)
    human = random.normal(size=60)
    found = agreement_by(Rated(human + random.normal(size=60), human), np.arange(60) // 3, resampling=FEW).mean
    assert found.low is not None
    assert found.low < found.value < found.high


def test_no_layer_is_best_where_none_has_a_value():
    rated = RatedRows(ROWS, np.ones(6), [""] * 6, [row.id for row in ROWS])
    with pytest.raises(UndefinedStatisticError, match="no choice of layers"):
        choose(rated, {"0": np.arange(6.0)}, resampling=FEW)


def test_score_files_say_what_they_do_not_fit(tmp_path):
    file = tmp_path / "scores"
    file.write_text("0\t1\n1\t2\nzzz\t3\n")
    with pytest.raises(FileFormatError, match="1 lines name rows that the data does not have, the first 'zzz'"):
        read_scores(str(file), ROWS)
    file.write_text("1\n\n3\n4\n5\n\n")
    assert read_scores(str(file), ROWS) == {0: 1, 2: 3, 3: 4, 4: 5}
    file.write_text('{"id": "0", "scores": {}, "error": "too long"}\n{"id": "1", "scores": {"f1": 0.5}}\n')
    assert read_scores(str(file), ROWS) == {1: 0.5}


def test_a_baseline_is_for_the_matching_it_was_fitted_with(tmp_path):
    texts = [f"{word} {place}" for word in ("red", "green", "blue") for place in range(6)]
    fit_baseline(evalign.BERTScore(model="fake"), texts, pairs=30, more_choices=["2+1"]).save(tmp_path / "b.tsv")
    used = {"model": "fake", "rescale": str(tmp_path / "b.tsv")}
    assert evalign.BERTScore(layer="1+2", **used).score(["red 1"], ["red 1"])["f1"] == pytest.approx(1)
    with pytest.raises(TableError, match="fitted with match greedy, not exact"):
        evalign.LiSAScore(**used).scorer()
    with pytest.raises(TableError, match="fitted with specials keep, not drop"):
        evalign.BERTScore(specials="drop", **used).scorer()


@pytest.mark.parametrize("signature", ["meteor|x:1", "rouge1|x:1", "rouge1|mode:paper|v:0.1.0"])
def test_signatures_that_are_not_whole(signature):
    with pytest.raises(SpecError, match="missing"):
        evalign.metric(signature)


def test_a_signature_of_other_meteor_data_is_refused():
    own = evalign.metric("meteor").scorer().signature
    assert evalign.metric(str(own)) == evalign.metric("meteor")
    with pytest.raises(SpecError, match="pins METEOR's data"):
        evalign.metric(str(own).replace(own.settings["data"], "deadbeef+00000000"))


def test_weighted_runs_of_very_many_sentences_are_refused():
    text = "\n".join(["one two three"] * 300)
    with pytest.raises(TextTooLongError, match="pairs of sentences"):
        evalign.metric("rougeW(mode=rouge155)").score([text], [text])
