"""Rubbish in: every reader of foreign input gives a value that makes sense or an EvalignError, and soon.

Each test first tries inputs that were written to do harm, then random ones.
"""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evalign
from evalign.encoders.safetensors_headers import ITEM_SIZE, tensor_places
from evalign.errors import EvalignError, SpecError, TableError, WeightsError
from evalign.metrics.baseline import Baseline
from evalign.metrics.signature import Signature
from evalign.metrics.spec import format_spec, parse_spec
from evalign.text.idf import IDFTable

pytestmark = pytest.mark.slow

fuzz = settings(
    max_examples=400, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
any_text = st.text(st.characters(exclude_categories=()), max_size=40)
decoded = st.one_of(
    st.tuples(st.binary(max_size=60), st.sampled_from(["latin-1", "cp437", "utf-16-le", "utf-8", "utf-32-le"])).map(
        lambda drawn: drawn[0].decode(drawn[1], "replace")
    ),
    st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.binary(max_size=60).map(lambda raw: raw[: len(raw) // 2 * 2].decode("utf-16-le", "surrogatepass")),
)
numbers = st.one_of(
    st.integers(-3, 9), st.integers(), st.floats(), st.sampled_from([2**31, 2**63, 2**64, 10**30, -1, 0.0, 1e308])
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, any_text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(any_text, inner, max_size=4)),
    max_leaves=8,
)
NESTED = "[" * 100_000


@contextmanager
def little_memory(limit: int = 64 * 2**20) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


# Texts ---------------------------------------------------------------------------------------------------------


@fuzz
@given(st.lists(st.one_of(any_text, decoded), min_size=1, max_size=6), st.data())
def test_texts(minilm: Path, texts: list[str], data: st.DataObject) -> None:
    others = data.draw(st.permutations(texts))
    for spec in ("bertscore(model=fake)", "bertscore", "bertscore(specials=drop, max_length=8)"):
        report = evalign.metric(spec).score(texts, others)
        for values in report:
            assert np.isfinite(values).all()
            assert (np.abs(values) <= 1 + 1e-9).all()


@fuzz
@given(st.one_of(any_text, decoded))
def test_offsets_point_into_the_text(minilm: Path, text: str) -> None:
    tokens = evalign.metric("bertscore").scorer().memory.encoder.tokenize([text])[0]
    for start, stop in tokens.offsets.tolist():
        assert 0 <= start <= stop <= len(text)


# Specs and signatures ------------------------------------------------------------------------------------------

SPECS = [
    "bertscore",
    "bertscore(layer=5, idf=references)",
    'bertscore(idf="a \\"b\\".json", specials=drop)',
    "bertscore|model:fake@00000000|layer:2|match:greedy|v:0.1.0",
]
marks = st.sampled_from([*'()=,"\\|:%@+ \n\t\x00', "true", "9" * 5000, "²", "٤", "-1", "\ud800", "layer=", "\u2028"])


@st.composite
def broken_specs(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(SPECS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        text = text[:start] + draw(marks) + text[start + draw(st.integers(0, 3)) :]
    return text


@fuzz
@given(st.one_of(broken_specs(), any_text))
def test_specs(spec: str) -> None:
    try:
        name, options = parse_spec(spec)
    except SpecError:
        return
    assert parse_spec(format_spec(name, options)) == (name, options)


@fuzz
@given(st.dictionaries(st.from_regex(r"[a-z_]\w{0,5}", fullmatch=True), any_text, max_size=4))
def test_any_option_value_survives(options: dict[str, str]) -> None:
    assert parse_spec(format_spec("bertscore", options)) == ("bertscore", options)


@fuzz
@given(broken_specs())
def test_metrics_from_specs(spec: str) -> None:
    try:
        metric = evalign.metric(spec)
    except EvalignError:
        return
    assert evalign.metric(str(metric)) == metric


@pytest.mark.parametrize("layer", ["9" * 5000, "2+2", "٤", "-1", "", "1e3"])
def test_layers(layer: str) -> None:
    with suppress(EvalignError):
        evalign.BERTScore(model="fake", layer=layer).score(["a"], ["b"])


@fuzz
@given(st.one_of(any_text, st.lists(any_text).map("|".join)))
def test_signatures(text: str) -> None:
    try:
        signature = Signature.parse(text)
    except SpecError:
        return
    assert Signature.parse(str(signature)) == signature


@fuzz
@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), any_text, max_size=4))
def test_any_setting_survives_in_a_signature(said: dict[str, str]) -> None:
    signature = Signature("bertscore", said)
    assert Signature.parse(str(signature)) == signature


# Weights -------------------------------------------------------------------------------------------------------


def write_weights(directory: Path, header: str | bytes, data: bytes = b"\x00" * 16, length: int | None = None) -> None:
    raw = header.encode("utf-8", "surrogatepass") if isinstance(header, str) else header
    (directory / "model.safetensors").write_bytes(
        struct.pack("<Q", len(raw) if length is None else length) + raw + data
    )


def places_or_typed_error(directory: Path) -> None:
    """Whatever the header says, what comes back lies inside the file and can be read."""
    with little_memory():
        try:
            places = tensor_places(directory)
        except WeightsError:
            return
        size = (directory / "model.safetensors").stat().st_size
        for place in places.values():
            assert type(place.offset) is int
            assert type(place.length) is int
            assert 0 <= place.offset <= place.offset + place.length <= size
            assert all(type(extent) is int and extent >= 0 for extent in place.shape)
            assert math.prod(place.shape) * ITEM_SIZE[place.dtype] == place.length
            with suppress(WeightsError):
                place.read()


def entry(shape: str = "[4]", offsets: str = "[0, 16]", dtype: str = '"F32"') -> str:
    return f'{{"w": {{"dtype": {dtype}, "shape": {shape}, "data_offsets": {offsets}}}}}'


HEADERS = {
    "good": entry(),
    "nested": NESTED,
    "nested in a tensor": f'{{"w": {NESTED}',
    "infinite extent": entry(shape="[1e999]"),
    "NaN extent": entry(shape="[NaN]"),
    "negative extents": entry(shape="[-2, -2]"),
    "fractional extent": entry(shape="[4.5]"),
    "extents in a string": entry(shape='"4"'),
    "huge extents": entry(shape="[4294967296, 4294967296]"),
    "huge and none": entry(shape="[0, 9223372036854775807, 9223372036854775807]", offsets="[0, 0]"),
    "number with 5000 digits": entry(shape=f"[{'9' * 5000}]"),
    "fractional offsets": entry(offsets="[0.0, 16.0]"),
    "offsets are truth values": entry(shape="[1]", offsets="[false, true]", dtype='"U8"'),
    "offsets past 2**64": entry(offsets=f"[{2**64}, {2**64 + 16}]"),
    "three offsets": entry(offsets="[0, 8, 16]"),
    "dtype is a list": entry(dtype="[1]"),
    "unknown dtype": entry(dtype='"F8_E5M2"'),
    "a list": "[]",
    "a number": "12",
    "not UTF-8": b"\xff\xfe\x00\x00",
    "lone surrogate": '{"\\ud800": 1}',
    "scalar": entry(shape="[]", offsets="[0, 4]"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_hostile_headers(tmp_path: Path, name: str) -> None:
    write_weights(tmp_path, HEADERS[name])
    places_or_typed_error(tmp_path)


@pytest.mark.parametrize("length", [0, 1, 2**20, 2**31, 2**63, 2**64 - 1])
def test_header_lengths(tmp_path: Path, length: int) -> None:
    write_weights(tmp_path, entry(), length=length)
    with little_memory(), pytest.raises(WeightsError):
        tensor_places(tmp_path)


def test_a_shape_cannot_keep_the_reader_busy(tmp_path: Path) -> None:
    write_weights(tmp_path, entry(shape=f"[{', '.join(['9' * 4000] * 3000)}]"))  # 12 MB
    code = (
        "import sys, pathlib; from evalign.encoders.safetensors_headers import tensor_places as places;"
        "places(pathlib.Path(sys.argv[1]))"
    )
    # One second; six minutes if the numbers are multiplied.
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=120, capture_output=True, text=True)
    assert "WeightsError" in done.stderr


@fuzz
@given(st.binary(max_size=200))
def test_random_files(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(raw)
    places_or_typed_error(tmp_path)


near_entries = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.one_of(st.sampled_from(sorted(ITEM_SIZE)), json_values),
        "shape": st.one_of(st.lists(numbers, max_size=4), json_values),
        "data_offsets": st.one_of(st.tuples(numbers, numbers), st.just([0, 16]), json_values),
    },
)


@fuzz
@given(st.one_of(json_values, st.dictionaries(any_text, near_entries, max_size=3)))
def test_random_headers(tmp_path: Path, header: Any) -> None:
    write_weights(tmp_path, json.dumps(header))
    places_or_typed_error(tmp_path)


INDEXES = {
    "a list": "[]",
    "null": "null",
    "map is a list": '{"weight_map": []}',
    "numbers": '{"weight_map": {"w": 1}}',
    "mixed": '{"weight_map": {"w": 1, "v": "a"}}',
    "lists": '{"weight_map": {"w": []}}',
    "NUL": '{"weight_map": {"w": "a\\u0000"}}',
    "lone surrogate": '{"weight_map": {"w": "\\ud800"}}',
    "the folder itself": '{"weight_map": {"w": "."}}',
    "long name": json.dumps({"weight_map": {"w": "x" * 300}}),
    "nested": NESTED,
}


@pytest.mark.parametrize("name", INDEXES)
def test_hostile_indexes(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(INDEXES[name], "utf-8")
    with pytest.raises(WeightsError):
        tensor_places(tmp_path)


# Tables --------------------------------------------------------------------------------------------------------

IDF = '{"format": "evalign-idf-1", "tokenizer": "fake", "documents": %s, "df": %s}'
IDF_TABLES = {
    "good": IDF % (2, '{"7": 1}'),
    "nested": NESTED,
    "infinite": IDF % ("1e999", "{}"),
    "infinite count": IDF % (2, '{"7": 1e999}'),
    "negative": IDF % (-1, "{}"),
    "NaN": IDF % ("NaN", "{}"),
    "list": "[]",
    "df is a list": IDF % (2, "[]"),
    "text": IDF % ('"many"', "{}"),
}


@pytest.mark.parametrize("name", IDF_TABLES)
def test_hostile_idf_tables(tmp_path: Path, name: str) -> None:
    file = tmp_path / "table.json"
    file.write_text(IDF_TABLES[name], "utf-8")
    try:
        report = evalign.BERTScore(model="fake", idf=str(file)).score(["a cat", "b"], ["the cat", "b"])
    except TableError:
        return
    assert all(np.isfinite(values).all() for values in report)


@fuzz
@given(json_values, json_values)
def test_random_idf_tables(tmp_path: Path, documents: Any, frequencies: Any) -> None:
    file = tmp_path / "table.json"
    file.write_text(IDF % (json.dumps(documents), json.dumps(frequencies)), "utf-8")
    try:
        table = IDFTable.load(file)
    except TableError:
        return
    assert np.isfinite(table.weights(np.arange(10))).all()


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
    try:
        report = evalign.BERTScore(model="fake", rescale=str(file)).score(["a cat", ""], ["the cat", "b"])
    except TableError:
        return
    assert all(np.isfinite(values).all() for values in report)


@fuzz
@given(st.one_of(st.binary(max_size=100), any_text.map(lambda t: ("LAYER,P,R,F\n" + t).encode("utf-8", "replace"))))
def test_random_baselines(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "base.csv"
    file.write_bytes(raw)
    with suppress(TableError):
        Baseline.load(file)


# Rows ----------------------------------------------------------------------------------------------------------

near_rows = st.fixed_dictionaries(
    {},
    optional={
        "id": json_values,
        "candidate": st.one_of(any_text, json_values),
        "references": st.one_of(st.lists(any_text, max_size=3), json_values),
        "source": st.one_of(any_text, json_values),
        "system": json_values,
        "human": json_values,
    },
)
FILES = {
    "jsonl": [
        b'{"candidate": "a", "references": ["b"]}\n',
        NESTED.encode(),
        b"\xff\n",
        b"\xef\xbb\xbf{}",
        b"[]\n",
        b"",
    ],
    "csv": [b"candidate,references\na,b\n", b"candidate\n\x00\n", b'candidate\n"open', b"candidate\n" + b"x" * 200_000],
    "tsv": [b"candidate\treferences\na\tb\n", b"candidate\ncandidate\textra\n", b"\t\t\n\t\n", b"\r\r\n"],
    "parquet": [b"", b"PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"PAR1" + b"\x00" * 64 + b"\x08\x00\x00\x00PAR1"],
}


def read_rows(file: Path, kind: str, raw: bytes) -> None:
    """Rows are texts throughout, whatever stood in the file."""
    jobs = pytest.importorskip("evalign.data.rows")
    file.write_bytes(raw)
    try:
        rows = list(jobs.TableFile(str(file), jobs.Columns(), kind))
    except EvalignError:
        return
    for row in rows:
        assert type(row.id) is str
        assert type(row.candidate) is str
        assert type(row.system) is str
        assert row.source is None or type(row.source) is str
        assert all(type(text) is str for text in row.references)


@pytest.mark.parametrize(("kind", "raw"), [(kind, raw) for kind, files in FILES.items() for raw in files])
def test_hostile_row_files(tmp_path: Path, kind: str, raw: bytes) -> None:
    read_rows(tmp_path / "rows", kind, raw)


@fuzz
@given(st.lists(st.one_of(json_values, near_rows), max_size=4), st.booleans())
def test_random_json_rows(tmp_path: Path, records: list[Any], ascii_only: bool) -> None:
    lines = "\n".join(json.dumps(record, ensure_ascii=ascii_only) for record in records)
    read_rows(tmp_path / "rows", "jsonl", lines.encode("utf-8", "surrogatepass"))


@fuzz
@given(
    st.sampled_from(sorted(FILES)),
    st.one_of(st.binary(max_size=80), any_text.map(lambda t: t.encode("utf-8", "replace"))),
)
def test_random_row_files(tmp_path: Path, kind: str, raw: bytes) -> None:
    read_rows(tmp_path / "rows", kind, raw)
    read_rows(tmp_path / "rows", kind, b"candidate,references\n" + raw)
