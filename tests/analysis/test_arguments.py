"""Arguments of the wrong type in Python: one sentence that names the argument and what was found."""

import pytest

import evalign
from evalign.analysis.agreement import agree
from evalign.analysis.audit import audit
from evalign.analysis.comparison import compare
from evalign.core import Row
from evalign.core.report import Report
from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.testing import check_metric

TEXTS = {"old": ["a cat"], "new": ["the cat"]}
ROWS = [Row(str(number), "a cat", ("the cat",), human=number) for number in range(12)]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: evalign.score(["a"], ["b"], metric=5), "found int 5"),
        (lambda: evalign.score(["a"], ["b"], metric=None), "found NoneType None"),
        (lambda: evalign.score(["a"], ["b"], metric=evalign.BERTScore), "found the class BERTScore"),
        (lambda: evalign.score(["a"], ["b"], metric=["chrf"]), r"found list \['chrf'\]"),
        (lambda: compare(TEXTS, ["a cat"], "chrf"), "metrics: expected a list of .*, found str 'chrf'"),
        (lambda: compare(TEXTS, ["a cat"], evalign.metric("chrf")), "metrics: expected a list of .*, found ChrF"),
        (lambda: compare(TEXTS, ["a cat"], None), "found NoneType None"),
        (lambda: compare(TEXTS, ["a cat"], []), "no metrics: name at least one to compare the systems by"),
        (lambda: agree(ROWS, "chrf"), "metrics: expected a list"),
        (lambda: agree(ROWS, [1]), "metric: expected a spec such as .*, found int 1"),
        (lambda: audit(ROWS, "chrf"), "metrics: expected a list"),
        (lambda: audit(ROWS, []), "no metrics: name at least one to audit"),
        (lambda: check_metric(5), "found int 5"),
        (lambda: check_metric("bertscor"), "did you mean bertscore"),
    ],
)
def test_metrics(call, sentence):
    with pytest.raises(SpecError, match=sentence):
        call()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: compare([["a"], ["b"]], ["a"], ["chrf"]), "candidates: expected a mapping such as .*, found list"),
        (lambda: agree("rows.jsonl", ["chrf"]), r"rows\[0\]: expected an evalign.Row, found str 'rows.jsonl'"),
        (lambda: agree([*ROWS, {"id": 1}], ["chrf"]), r"rows\[12\]: expected an evalign.Row, found dict"),
        (lambda: audit(None, ["chrf"]), r"rows\[0\]: expected an evalign.Row, found NoneType"),
    ],
)
def test_rows(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_lists_of_metrics_take_specs_and_metrics_each_once():
    compared = compare(TEXTS, ["a cat"], ("chrf", evalign.metric("chrf"), "rouge1"))
    assert [metric.metric for metric in compared.metrics] == ["chrf", "rouge1"]


def test_laws_are_checked_by_spec():
    check_metric("rouge1", long_text=1000)


def test_a_report_without_scores_prints_and_has_no_mean():
    empty = evalign.score([], [], "rouge1")
    assert "n=0  no rows" in str(empty)
    with pytest.raises(UndefinedStatisticError, match="rouge1: no rows were scored, so f1 has no mean"):
        _ = empty.score
    failed = Report("rouge1", "rouge1|v:1", ("f1",), [evalign.Segment("1", {}, error="too long")])
    assert "n=1  no scores" in str(failed)
    with pytest.raises(UndefinedStatisticError):
        failed.mean("f1")
