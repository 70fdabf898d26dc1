"""Inputs that cannot be scored, and baseline files, each wrong one with a sentence that says why."""

import numpy as np
import pytest

import evalign
from evalign.compat import bert_score as compat
from evalign.core.rows import make_rows
from evalign.errors import InputError, LengthMismatchError, TableError, UndefinedStatisticError
from evalign.metrics.baseline import Baseline


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ((["a", "b"], ["c"]), LengthMismatchError, "2 candidates but 1 references"),
        ((["a"], ["c", "d"]), LengthMismatchError, "1 candidates but 2 references"),
        ((["a"], []), LengthMismatchError, "1 candidates but 0 references"),
        ((["a", "b", "c"], [["d", "e", "f"], ["g", "h", "i"]]), LengthMismatchError, "transposed"),
        (("abc", ["a", "b", "c"]), InputError, "candidates is one string"),
        ((["a"], "b"), InputError, "references is one string"),
        ((["a", None], ["b", "c"]), InputError, r"candidates\[1\]: expected a string, found NoneType"),
        ((["a", "b"], ["c", None]), InputError, r"references\[1\]: expected strings, found NoneType"),
        ((["a"], [["c", None]]), InputError, r"references\[0\]\[1\]: expected a string, found NoneType"),
        ((["a"], [[]]), InputError, r"references\[0\] is empty"),
        ((["a", "b"], [["c"], []]), InputError, r"references\[1\] is empty"),
        ((["a"], [[["c"]]]), InputError, r"references\[0\]\[0\]: expected a string, found list"),
        (([1.5], ["c"]), InputError, r"candidates\[0\]: expected a string, found float"),
        ((None, ["c"]), InputError, "candidates: expected strings, found NoneType"),
        ((3, ["c"]), InputError, "candidates: expected strings, found int"),
        ((["a"], ["b"], ["c", "d"]), LengthMismatchError, "1 candidates but 2 sources"),
        ((["a"], ["b"], "c"), InputError, "sources is one string"),
        ((["a", "b"], ["b", "c"], None, ["1"]), LengthMismatchError, "2 candidates but 1 ids"),
    ],
)
def test_wrong_rows(arguments, error, said):
    with pytest.raises(error, match=said):
        make_rows(*arguments)


def test_right_rows():
    rows = make_rows(iter(["a", "b"]), (["c"], ("d", "e")), sources=np.array(["s", "t"]), ids=[7, 8])
    assert rows == [evalign.Row("7", "a", ("c",), "s"), evalign.Row("8", "b", ("d", "e"), "t")]
    assert make_rows(["a"]) == [evalign.Row("1", "a")]
    assert make_rows([], []) == []


def test_a_square_of_references_is_taken_as_one_list_per_candidate():
    assert [row.references for row in make_rows(["a", "b"], [["c", "d"], ["e", "f"]])] == [("c", "d"), ("e", "f")]


def test_scoring_nothing_gives_nothing():
    report = evalign.BERTScore(model="fake").score([], [])
    assert (len(report), report["f1"].shape, report.flags) == (0, (0,), {})
    with pytest.raises(UndefinedStatisticError, match="no rows"):
        report.mean("f1")


def test_a_metric_with_references_needs_them():
    with pytest.raises(InputError, match="needs references"):
        evalign.BERTScore(model="fake").score(["a"])


GOOD = "LAYER,P,R,F\n0,0.1,0.2,0.3\n4,0.25,0.5,0.75\n"


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.replace(",", "\t"),
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        "# a note\n" + GOOD,
        GOOD + "\n\n",
        GOOD + "4+6,0.1,0.1,0.1\n",
    ],
    ids=repr,
)
def test_baseline_files(tmp_path, content):
    (tmp_path / "base").write_text(content, encoding="utf-8", newline="")
    baseline = Baseline.load(tmp_path / "base")
    assert baseline.row("4").tolist() == [0.25, 0.5, 0.75]
    assert len(baseline.digest) == 8


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "expected the columns LAYER,P,R,F"),
        (b"LAYER,P,R\n4,0.1,0.1\n", "expected the columns"),
        (b"4,0.1,0.1,0.1\n", "expected the columns"),
        (b"LAYER,P,R,F\n4,0.1,0.1\n", "not a layer and three numbers"),
        (b"LAYER,P,R,F\n4,0.1,0.1,high\n", "not a layer and three numbers"),
        (b"LAYER,P,R,F\n4,0.1,0.1,0.1,0.1\n", "not a layer and three numbers"),
        (b"LAYER,P,R,F\n4,0.1,0.1,0.1\n5,0,0,0\n4,0.2,0.1,0.1\n", "a layer occurs twice"),
        (b"LAYER,P,R,F\n4,0.1,0.1,1\n", "below 1"),
        (b"LAYER,P,R,F\n4,0.1,nan,0.1\n", "below 1"),
        (b"LAYER,P,R,F\n4,0.1,inf,0.1\n", "below 1"),
        (b"LAYER,P,R,F\n4,0.1,-inf,0.1\n", "below 1"),  # (x + inf) / inf is no number
        (b"LAYER,P,R,F\n4,0.1,\xff,0.1\n", "not UTF-8"),
    ],
)
def test_broken_baseline_files(tmp_path, content, said):
    (tmp_path / "base").write_bytes(content)
    with pytest.raises(TableError, match=said):
        Baseline.load(tmp_path / "base")


def test_a_layer_without_a_baseline_lists_those_that_have_one(tmp_path):
    (tmp_path / "base").write_text(GOOD)
    with pytest.raises(TableError, match="no row for layer 2; it has 0, 4"):
        evalign.BERTScore(model="fake", rescale=str(tmp_path / "base")).score(["a"], ["a"])


def test_rescaling_by_hand_and_in_the_signature(tmp_path):
    baseline = Baseline({"4": (0.5, 0.5, 0.2)}, "")
    assert baseline.scaled(np.array([0.25, 0.75, 1]), "4", "linear").tolist() == [-0.5, 0.5, 1.0]
    (tmp_path / "base").write_text(GOOD)
    texts = ["a cat", "a dog"], [["the cat", "a rat"], ["the dog"]]
    plain = evalign.BERTScore(model="fake", layer="4").score(*texts)
    scaled = evalign.BERTScore(model="fake", layer="4", rescale=str(tmp_path / "base")).score(*texts)
    for field, base in zip(plain.fields, (0.25, 0.5, 0.75), strict=True):
        np.testing.assert_allclose(scaled[field], (plain[field] - base) / (1 - base))
    assert f"|base:{Baseline.load(tmp_path / 'base').digest}|" in scaled.signature
    assert "|base:no|" in plain.signature


def test_nothing_is_called_rescaled_without_a_baseline(tiny):
    """bert_score prints "-rescaled" although it found no baseline file."""
    options = {"model_type": str(tiny("bert")), "num_layers": 2}
    with pytest.raises(TableError, match="no baseline"):
        compat.score(["a"], ["a"], lang="en", rescale_with_baseline=True, **options)
    _, made = compat.score(["a"], ["a"], return_hash=True, **options)
    assert "rescaled" not in made
    assert "|base:no|" in made.signature


def test_reports_say_what_they_hold():
    report = evalign.BERTScore(model="fake").score(["a cat", ""], ["a cat", "x"], ids=["one", "two"])
    assert report.to_dict()["segments"][1] == {
        "id": "two", "scores": {"precision": 0, "recall": 0, "f1": 0}, "flags": ["empty"], "counts": {"empty": 1}
    }  # fmt: skip
    frame = report.to_pandas()
    assert frame.columns.tolist() == ["id", "precision", "recall", "f1", "flags"]
    assert frame["flags"].tolist() == ["", "empty"]
    assert report.mean("f1") == pytest.approx(frame.f1.mean())
    with pytest.raises(KeyError, match="no field 'f2'"):
        report["f2"]
    for values, name in zip(report, report.fields, strict=True):
        np.testing.assert_array_equal(values, report[name])
