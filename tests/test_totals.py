"""Totals of any split of the rows are equal to the last bit, and every output has the same numbers."""

import random
from dataclasses import replace
from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalign
from batch_jobs import run, write_rows
from evalign.analysis.scoring import score_source
from evalign.core import Row, Segment
from evalign.core.report import BadRow
from evalign.core.scoring import StreamOptions, score_stream
from evalign.core.totals import ExactSum, Totals
from evalign.errors import InputError
from evalign.io.rows import InMemory

scores = st.floats(-1e6, 1e6)
scored = st.builds(
    lambda f1, recall, statistics, flags: Segment("1", {"f1": f1, "recall": recall}, flags, None, statistics),
    scores,
    scores,
    st.tuples(scores, st.integers(0, 1000).map(float)),
    st.dictionaries(st.sampled_from(["empty", "windowed"]), st.integers(1, 3)),
)
segments = st.lists(st.one_of(scored, st.just(Segment("2", {}, error="broken"))), max_size=30)


@given(segments, st.lists(st.integers(0, 30), max_size=5), st.randoms(use_true_random=False))
def test_any_split_merged_in_any_order_has_equal_bits(rows, cuts, chance):
    shuffled = list(rows)
    chance.shuffle(shuffled)
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [Totals.of(shuffled[first:last]) for first, last in pairwise(ends)]
    chance.shuffle(parts)
    merged, whole = reduce(Totals.merge, parts), Totals.of(rows)
    assert merged == whole
    assert merged.means == whole.means
    assert merged.pooled_statistics == whole.pooled_statistics
    assert Totals.from_dict(merged.to_dict()) == whole


def test_the_order_of_floats_would_matter():
    """Totals that added floats would fail the law above: these sums differ in every order."""
    values = [1e6, 1e-9, -1e6, 0.1, 0.2, 0.3]
    assert sum(values) != sum(reversed(values))
    totals = [Totals.of(Segment("1", {"f1": value}) for value in ordered) for ordered in (values, values[::-1])]
    assert totals[0].means == totals[1].means


def test_merging_leaves_both_sides_as_they_were():
    left, right = (Totals.of([Segment("1", {"f1": value}, {"empty": 1})]) for value in (0.25, 0.5))
    before = replace(left, flags=left.flags.copy(), sums={"f1": ExactSum(left.sums["f1"].total, 1)})
    left.merge(right).add(Segment("2", {"f1": 1.0}))
    assert left == before
    assert right.means == {"f1": 0.5}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_has_no_sum_is_refused(value):
    with pytest.raises(InputError, match="must be finite numbers"):
        Totals.of([Segment("1", {"f1": value})])


def made_texts(count):
    chance = random.Random(7)
    words = ["a", "the", "cat", "dog", "sat", "ran", "on", "mat", "red", "blue"]
    return [[" ".join(chance.choices(words, k=chance.randint(1, 9))) for _ in range(count)] for _ in range(2)]


@pytest.mark.parametrize("spec", ["rouge1", "bleu", "bertscore(model=fake)", "rouge2(mode=rouge155)"])
def test_report_stream_and_batch_job_have_equal_numbers(tmp_path, spec):
    candidates, references = made_texts(1500)
    report = evalign.metric(spec).score(candidates, references)
    rows = [Row(str(n), *pair) for n, pair in enumerate(zip(candidates, [(r,) for r in references], strict=True), 1)]
    (result,) = score_source(InMemory(rows), [evalign.metric(spec)])
    plain = [{"id": row.id, "candidate": row.candidate, "references": row.references} for row in rows]
    (job,) = run(write_rows(tmp_path / "in.jsonl", plain), tmp_path / "out", [spec]).summary.results
    entry = {"system": ""} | {name: value for name, value in report.to_dict().items() if name != "segments"}
    assert result.to_dict() == entry
    assert job.to_dict() == entry | {"flags": dict(sorted(entry["flags"].items()))}


def test_a_stream_keeps_bad_rows_apart_and_counts_them_towards_blocks():
    metric = evalign.metric("rouge1")
    rows = [Row("1", "a", ("a",)), BadRow(2, "not JSON"), Row("3", "b", ("b",)), Row("4", "c", ("c",)), BadRow(5, "x")]
    blocks = list(score_stream([(metric, metric.scorer())], rows, StreamOptions(block_rows=2)))
    assert [[row.id for row in block.rows] for block in blocks] == [["1"], ["3", "4"], []]
    assert [[row.line for row in block.bad] for block in blocks] == [[2], [], [5]]
    assert [[part.id for part in block.segments[0]] for block in blocks] == [["1"], ["3", "4"], []]
