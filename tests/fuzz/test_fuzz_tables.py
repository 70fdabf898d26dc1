"""IDF tables and baselines."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import NESTED, any_text, dumped, fuzz, json_values, mutated, value_or_sentence
from hypothesis import given
from hypothesis import strategies as st

import evalign
from evalign.errors import TableError
from evalign.metrics.baseline import Baseline
from evalign.text.idf import IDFTable

pytestmark = pytest.mark.slow


def idf_table(documents: str, counts: str) -> str:
    """An IDF table with the digest of its counts, if they are counts."""
    digest = ""
    with suppress(ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        frequencies = {int(token): int(count) for token, count in json.loads(counts).items()}
        digest = IDFTable("fake", int(json.loads(documents)), frequencies).digest
    fields = f'"format": "evalign-idf-1", "digest": "{digest}", "tokenizer": "fake"'
    return f'{{{fields}, "documents": {documents}, "df": {counts}}}'


IDF_TABLES = {
    "good": idf_table("2", '{"7": 1}'),
    "nested": NESTED,
    "infinite": idf_table("1e999", "{}"),
    "infinite count": idf_table("2", '{"7": 1e999}'),
    "negative": idf_table("-1", "{}"),
    "NaN": idf_table("NaN", "{}"),
    "list": "[]",
    "df is a list": idf_table("2", "[]"),
    "text": idf_table('"many"', "{}"),
}


@pytest.mark.parametrize("name", IDF_TABLES)
def test_hostile_idf_tables(tmp_path: Path, name: str) -> None:
    file = tmp_path / "table.json"
    file.write_text(IDF_TABLES[name], "utf-8")
    metric = evalign.BERTScore(model="fake", idf=str(file))
    if name != "good":
        with pytest.raises(TableError):
            metric.score(["a cat", "b"], ["the cat", "b"])
        return
    assert all(np.isfinite(values).all() for values in metric.score(["a cat", "b"], ["the cat", "b"]))


@fuzz
@given(json_values, json_values)
def test_random_idf_tables(tmp_path: Path, documents: Any, frequencies: Any) -> None:
    file = tmp_path / "table.json"
    file.write_text(idf_table(json.dumps(documents), json.dumps(frequencies)), "utf-8")
    try:
        table = IDFTable.load(file)
    except TableError:
        assert frequencies != {} or type(documents) is not int or not 0 <= documents <= 2**53
        return
    assert type(documents) is int
    assert all(type(count) is int for count in frequencies.values())
    assert np.isfinite(table.weights(np.arange(10))).all()


@fuzz
@given(st.integers(0, 2**40), st.data())
def test_good_idf_tables_are_read(tmp_path: Path, documents: int, data: st.DataObject) -> None:
    counts = data.draw(st.dictionaries(st.integers(0, 2**31), st.integers(0, documents), max_size=5))
    file = tmp_path / "table.json"
    written = {str(token): count for token, count in counts.items()}
    file.write_text(idf_table(str(documents), json.dumps(written)), "utf-8")
    assert IDFTable.load(file) == IDFTable("fake", documents, counts)
    worse = {**written, "7": documents + 1}
    file.write_text(idf_table(str(documents), json.dumps(worse)), "utf-8")
    with pytest.raises(TableError):
        IDFTable.load(file)


BASELINES = {
    "good": b"LAYER,P,R,F\n2,0.1,0.1,0.1\n",
    "minus infinity": b"LAYER,P,R,F\n2,-inf,0.1,0.1\n",
    "NaN": b"LAYER,P,R,F\n2,nan,0.1,0.1\n",
    "nearly one": b"LAYER,P,R,F\n2,0.9999999999999999,0.1,0.1\n",
    "minus huge": b"LAYER,P,R,F\n2,-1e308,0.1,0.1\n",
    "NUL": b"LAYER,P,R,F\n2,\x00,0.1,0.1\n",
    "large field": b"LAYER,P,R,F\n" + b"2" * 200_000 + b",0.1,0.1,0.1\n",
    "open quote": b'LAYER,P,R,F\n"2,0.1,0.1,0.1\n',
    "nothing": b"",
    "not UTF-8": b"\xff\xfe",
}


@pytest.mark.parametrize("name", BASELINES)
def test_hostile_baselines(tmp_path: Path, name: str) -> None:
    file = tmp_path / "base.csv"
    file.write_bytes(BASELINES[name])
    metric = evalign.BERTScore(model="fake", layer=2, rescale=str(file))
    if name not in ("good", "nearly one"):
        with pytest.raises(TableError):
            metric.score(["a cat", ""], ["the cat", "b"])
        return
    assert all(np.isfinite(values).all() for values in metric.score(["a cat", ""], ["the cat", "b"]))


@fuzz
@given(st.one_of(st.binary(max_size=100), any_text.map(lambda t: ("LAYER,P,R,F\n" + t).encode("utf-8", "replace"))))
def test_random_baselines(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "base.csv"
    file.write_bytes(raw)
    with suppress(TableError):
        Baseline.load(file)


@fuzz
@given(st.dictionaries(st.integers(0, 48), st.tuples(*[st.floats(-1, 1, exclude_max=True)] * 3), max_size=5))
def test_good_baselines_are_read(tmp_path: Path, rows: dict[int, tuple[float, float, float]]) -> None:
    file = tmp_path / "base.csv"
    lines = [",".join(map(repr, (layer, *values))) for layer, values in rows.items()]
    file.write_text("\n".join(["# a note", "LAYER,P,R,F", *lines]))
    assert Baseline.load(file).by_layer == {str(layer): values for layer, values in rows.items()}
    file.write_text("\n".join(["LAYER,P,R,F", *lines, "50,0.5,1,0.5"]))
    with pytest.raises(TableError):
        Baseline.load(file)


# Baselines with distributions ----------------------------------------------------------------------------------

rising = st.lists(st.floats(-1, 1), min_size=2, max_size=6).map(sorted)


def save_baseline(file: Path, quantiles: dict[str, Any]) -> dict[str, Any]:
    """Save a baseline, and return what stands in its notes."""
    layers = dict.fromkeys(quantiles, (0.1, 0.1, 0.1)) or {"2": (0.1, 0.1, 0.1)}
    Baseline(layers, "", quantiles, {"model": "fake", "match": "greedy", "specials": "keep"}).save(file)
    return dict(json.loads(file.with_suffix(".json").read_text("utf-8")))


@fuzz
@given(st.data())
def test_mutated_notes_of_baselines(tmp_path: Path, data: st.DataObject) -> None:
    file = tmp_path / "base.tsv"
    notes = save_baseline(file, {"2": [[0.0, 0.5, 1.0]] * 3})
    file.with_suffix(".json").write_text(dumped(data.draw(mutated(notes))), "utf-8")
    for scale in ("linear", "percentile"):
        metric = evalign.BERTScore(model="fake", layer=2, rescale=str(file), scale=scale)
        report = value_or_sentence(lambda metric=metric: metric.score(["a cat", ""], ["the cat", "b"]))
        assert report is None or all(np.isfinite(values).all() for values in report)


@fuzz
@given(st.dictionaries(st.integers(0, 24).map(str), st.lists(rising, min_size=3, max_size=3), max_size=3))
def test_good_notes_of_baselines_are_read(tmp_path: Path, quantiles: dict[str, list[list[float]]]) -> None:
    file = tmp_path / "base.tsv"
    notes = save_baseline(file, quantiles)
    read = Baseline.load(file)
    assert {layer: [list(points) for points in fields] for layer, fields in read.quantiles.items()} == quantiles
    file.with_suffix(".json").write_text(json.dumps(notes | {"table_sha256": "0" * 64}), "utf-8")
    with pytest.raises(TableError):
        Baseline.load(file)
