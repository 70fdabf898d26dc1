"""IDF tables: counted, merged, saved, hashed."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalign.errors import TableError
from evalign.text.idf import FixedWeights, IDFTable

CORPORA = st.lists(st.lists(st.integers(0, 30), max_size=8).map(np.array), max_size=12)


def test_weights_by_hand():
    """Three texts: df(5) = 3, df(6) = 2 (once per text, however often it comes), df(7) = 1, df(8) = 0."""
    table = IDFTable.count("t", map(np.array, ([5, 6, 6, 6], [5, 6], [7, 5])))
    assert (table.documents, table.frequencies) == (3, {5: 3, 6: 2, 7: 1})
    expected = [math.log(4 / 4), math.log(4 / 3), math.log(4 / 2), math.log(4 / 1), math.log(4 / 3)]
    np.testing.assert_allclose(table.weights(np.array([5, 6, 7, 8, 6])), expected)


@given(one=CORPORA, other=CORPORA)
def test_merging_is_counting_everything(one, other):
    count = lambda texts: IDFTable.count("t", texts)  # noqa: E731
    merged = count(one).merge(count(other))
    assert merged == count([*one, *other]) == count(other).merge(count(one))
    assert merged.digest == count([*other, *one]).digest


@given(texts=CORPORA)
def test_saving_and_loading_changes_nothing(tmp_path_factory, texts):
    table = IDFTable.count("tokenizer ✓", texts)
    file = tmp_path_factory.getbasetemp() / "table.json"
    table.save(file)
    assert IDFTable.load(file) == table
    assert IDFTable.load(str(file)).digest == table.digest


@pytest.mark.parametrize(
    "other",
    [
        IDFTable("u", 2, {1: 1, 2: 2}),
        IDFTable("t", 3, {1: 1, 2: 2}),
        IDFTable("t", 2, {1: 2, 2: 2}),
        IDFTable("t", 2, {1: 1, 3: 2}),
        IDFTable("t", 2, {1: 1}),
    ],
    ids=str,
)
def test_the_digest_changes_with_any_content(other):
    table = IDFTable("t", 2, {1: 1, 2: 2})
    assert table.digest == IDFTable("t", 2, {2: 2, 1: 1}).digest
    assert table.digest != other.digest
    assert len(table.digest) == 8


def test_tables_of_two_tokenizers_do_not_mix():
    with pytest.raises(TableError, match="another tokenizer"):
        IDFTable("t").merge(IDFTable("u"))


GOOD = json.loads(IDFTable("t", 2, {1: 2}).to_json())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        json.dumps(GOOD | {"format": "evalign-idf-9"}),
        json.dumps(GOOD | {"df": {"1": 1}}),
        json.dumps({key: GOOD[key] for key in ("format", "tokenizer", "documents")}),
        json.dumps(GOOD | {"df": [1, 2]}),
        json.dumps(GOOD | {"df": {"one": 1}}),
        json.dumps(GOOD | {"df": {"1": 3}}),  # in more texts than there are
        json.dumps(GOOD | {"df": {"1": -1}}),
        json.dumps(GOOD | {"documents": None}),
        json.dumps(GOOD | {"documents": -1, "df": {}}),
        json.dumps(GOOD | {"documents": 10**400}),  # weights are floats
        '{"format": "evalign-idf-1", "tokenizer": "t", "documents": Infinity, "df": {}}',
    ],
)
def test_what_is_no_table(tmp_path, content):
    (tmp_path / "table.json").write_text(json.dumps(GOOD))
    assert IDFTable.load(tmp_path / "table.json").documents == 2
    (tmp_path / "table.json").write_text(content)
    with pytest.raises(TableError, match=r"table\.json"):
        IDFTable.load(tmp_path / "table.json")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps(GOOD | {"df": {"1": 2.0}}), "whole numbers"),
        (json.dumps(GOOD | {"df": {"1": 1.5}}), "whole numbers"),
        (json.dumps(GOOD | {"df": {"1": "2"}}), "whole numbers"),
        (json.dumps(GOOD | {"documents": 2.5}), "whole numbers"),
        (json.dumps(GOOD | {"documents": True, "df": {}}), "whole numbers"),
        (json.dumps(GOOD | {"tokenizer": 3}), "expected a tokenizer"),
        (json.dumps(GOOD).replace('"1": 2', '"1": 1, "1": 2'), "'1' occurs twice"),
        (json.dumps(GOOD).replace('"documents": 2', '"documents": 1, "documents": 2'), "'documents' occurs twice"),
        *(
            (json.dumps(GOOD | {"df": {key: 2}}), "is no token id")
            for key in (" 1", "01", "+1", "1_0", "-1", "١", "²", "")
        ),
    ],
)
def test_what_save_does_not_write_is_refused(tmp_path, content, said):
    """Also with the digest of the table that a lenient reader would make of it."""
    (tmp_path / "table.json").write_text(content, "utf-8")
    with pytest.raises(TableError, match=said):
        IDFTable.load(tmp_path / "table.json")


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "table.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TableError, match="not an IDF table"):
        IDFTable.load(tmp_path / "table.json")


def test_a_missing_file_lists_the_choices(tmp_path):
    with pytest.raises(TableError, match="idf is no, references, sources or a file"):
        IDFTable.load(tmp_path / "none.json")


def test_an_interrupted_save_leaves_the_old_table(tmp_path):
    file = tmp_path / "table.json"
    IDFTable("t", 2, {1: 1}).save(file)
    with pytest.raises(TypeError):
        IDFTable("t", 2, {1: object()}).save(file)
    assert IDFTable.load(file) == IDFTable("t", 2, {1: 1})
    assert [path.name for path in tmp_path.iterdir()] == ["table.json"]


def test_fixed_weights():
    weights = FixedWeights({4: 0.5, 9: 2.0}, default=1.5)
    assert weights.weights(np.array([9, 4, 7])).tolist() == [2.0, 0.5, 1.5]
    assert weights.digest != FixedWeights({4: 0.5, 9: 2.0}).digest != FixedWeights({4: 0.5}).digest
