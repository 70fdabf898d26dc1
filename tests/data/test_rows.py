"""Rows read from a table: which values of a field are a name, damaged Parquet, and a file of nothing but a mark."""

import json

import pytest

from evalign.core import Row
from evalign.errors import FileFormatError, LengthMismatchError
from evalign.io.records import read_lines, read_records
from evalign.io.rows import Columns, InMemory, TableFile, TextFiles


def test_system_zero_has_a_name(tmp_path):
    (tmp_path / "data.jsonl").write_text(json.dumps({"candidate": "a", "references": ["a"], "system": 0}))
    assert [row.system for row in TableFile(str(tmp_path / "data.jsonl"), Columns())] == ["0"]


@pytest.mark.parametrize("file_format", ["text", "jsonl", "csv"])
def test_a_byte_order_mark_alone_is_an_empty_file(tmp_path, file_format):
    (tmp_path / "empty").write_bytes(b"\xef\xbb\xbf")
    assert list(read_records(str(tmp_path / "empty"), file_format)) == []


def test_a_byte_order_mark_before_a_line_end_is_a_line(tmp_path):
    (tmp_path / "one").write_bytes(b"\xef\xbb\xbf\n")
    assert list(read_lines(str(tmp_path / "one"))) == [""]


def parquet_file(path, columns, names=None):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = names or list(columns)
    parquet.write_table(arrow.Table.from_arrays([arrow.array(*column) for column in columns.values()], names), path)
    return str(path)


def test_parquet_values_that_python_does_not_have_are_one_sentence(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    texts = arrow.array([b"a", b"\xff"]).view(arrow.string())  # not UTF-8
    late = arrow.array([10**15, 10**15]).cast(arrow.timestamp("s"))  # the year 31,690,000
    for name, column in (("text", texts), ("time", late)):
        file = parquet_file(tmp_path / f"{name}.parquet", {"candidate": (["a", "b"],), name: (column,)})
        with pytest.raises(FileFormatError, match=rf"{name}\.parquet: a value after row 0 cannot be read"):
            list(TableFile(file, Columns()))


def test_a_parquet_column_that_occurs_twice_is_refused(tmp_path):
    file = parquet_file(tmp_path / "x.parquet", {"a": (["a"],), "b": (["b"],)}, ["candidate", "candidate"])
    with pytest.raises(FileFormatError, match="the column 'candidate' occurs twice"):
        list(TableFile(file, Columns()))


def test_parquet_rows_that_a_damaged_column_hides_are_missed(tmp_path):
    """pyarrow ends the rows with the shortest column: a column that says it has none took all rows away in silence."""
    file = parquet_file(tmp_path / "x.parquet", {"candidate": (["a"] * 9,), "z": ([0.5] * 9,)})
    assert len(list(TableFile(file, Columns()))) == 9
    content = (tmp_path / "x.parquet").read_bytes()
    place = content.rindex(b"\x16\x12\x16") + 1  # of the number of values of the last column: 9, as Thrift writes it
    (tmp_path / "x.parquet").write_bytes(content[:place] + b"\x11" + content[place + 1 :])  # -9
    with pytest.raises(FileFormatError, match=r"x\.parquet: "):
        list(TableFile(file, Columns()))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["text", "a\nb"], r"no field 'candidate'; known: a\\nb, text$"),
        (["candidate\x1b[2J"], r"no field 'candidate'; did you mean candidate\\x1b\[2J\?$"),
        (["x" * 9999], r"no field 'candidate'; known: x{80}$"),
        ([f"field {number}" for number in range(1000)], r"no field 'candidate'; known: field 0.{,500}$"),
    ],
    ids=["line end", "control codes", "long", "many"],
)
def test_names_of_fields_are_cut_and_escaped_in_messages(tmp_path, names, said):
    (tmp_path / "rows.jsonl").write_text(json.dumps(dict.fromkeys(names, "a")))
    with pytest.raises(FileFormatError, match=said) as raised:
        list(TableFile(str(tmp_path / "rows.jsonl"), Columns()))
    assert "\n" not in str(raised.value)


def table(tmp_path, *rows, columns=None):
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return TableFile(str(tmp_path / "data.jsonl"), columns or Columns())


ALL = {"id": 7, "candidate": "c", "references": ["r", "s"], "source": "o", "system": "A", "human": 0.5, "pair": "de-en"}


def test_a_row_has_the_fields_of_its_record(tmp_path):
    (row,) = table(tmp_path, ALL, columns=Columns(extra=("pair",)))
    assert row == Row("7", "c", ("r", "s"), "o", "A", 0.5, {"pair": "de-en"}, 1)
    first, second = table(
        tmp_path, {"candidate": "", "reference": "r", "id": None, "system": None, "source": None}, ALL
    )
    assert first == Row("1", "", ("r",), None, "", None, {}, 1)
    assert (second.id, second.extra, second.line) == ("7", {}, 2)


def test_fields_can_have_other_names(tmp_path):
    columns = Columns("out", ("ref1", "ref2"), "in", "key", "who", "rating", ("source",))
    record = {"out": "c", "ref1": "r", "ref2": ["s", "t"], "in": "o", "key": "k", "who": "B", "rating": 1, "source": 2}
    (row,) = table(tmp_path, record, columns=columns)
    assert row == Row("k", "c", ("r", "s", "t"), "o", "B", 1, {"source": 2}, 1)
    assert columns.names == {"out", "ref1", "ref2", "in", "key", "who", "rating", "source"}
    assert {"references", "reference", "candidate"} < Columns().names


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"candidate": 1}, "candidate must be a text, found int"),
        ({"candidate": None}, "candidate must be a text, found NoneType"),
        ({"references": None}, "references must be a text or a list of texts, found NoneType"),
        ({"references": ["a", 1]}, "references must be a text, found int"),
        ({"source": 1}, "source must be a text, found int"),
    ],
)
def test_a_value_of_another_type_is_named_with_its_line(tmp_path, change, reason):
    with pytest.raises(FileFormatError, match=rf"data\.jsonl:2: {reason}"):
        list(table(tmp_path, ALL, ALL | change))


def test_a_field_that_is_missing_is_named_with_the_nearest(tmp_path):
    for columns, reason in (
        (Columns(candidate="candidates"), r"no field 'candidates'; .*candidate"),
        (Columns(references=("refs",)), "no field 'refs'"),
        (Columns(extra=("pairs",)), "no field 'pairs'; .*pair"),
    ):
        with pytest.raises(FileFormatError, match=rf"data\.jsonl:1: {reason}"):
            list(table(tmp_path, ALL, columns=columns))


def test_a_table_is_checked_before_it_is_read(tmp_path):
    with pytest.raises(FileFormatError, match="no such file"):
        TableFile(str(tmp_path / "none.jsonl"), Columns())
    (tmp_path / "data").write_text('{"candidate": "a", "reference": "b"}\n')
    with pytest.raises(FileFormatError, match="cannot tell its format"):
        TableFile(str(tmp_path / "data"), Columns())
    source = TableFile(str(tmp_path / "data"), Columns(), "jsonl")
    assert (source.rereadable, source.count(), source.file_format(), len(list(source))) == (True, 1, "jsonl", 1)
    assert not TableFile("-", Columns()).rereadable


def texts(tmp_path, *columns):
    paths = []
    for number, lines in enumerate(columns):
        (tmp_path / str(number)).write_text("".join(f"{line}\n" for line in lines))
        paths.append(str(tmp_path / str(number)))
    return paths


def test_lines_of_parallel_files_are_rows(tmp_path):
    candidates, *references, sources = texts(tmp_path, "ab", "cd", "ef", "gh")
    source = TextFiles(candidates, tuple(references), sources, "A")
    assert list(source) == [
        Row("1", "a", ("c", "e"), "g", "A", line=1),
        Row("2", "b", ("d", "f"), "h", "A", line=2),
    ]
    assert (source.rereadable, source.count()) == (True, 2)
    (first, _) = TextFiles(candidates, (references[0],), None, "")
    assert first == Row("1", "a", ("c",), None, "", line=1)


@pytest.mark.parametrize("lengths", [(1, 2, 3), (3, 1, 1), (2, 2, 0), (0, 1, 0), (5, 3, 4)])
def test_files_of_other_lengths_are_an_error_with_all_lengths(tmp_path, lengths):
    paths = texts(tmp_path, *(["x"] * length for length in lengths))
    source = TextFiles(paths[0], (paths[1],), paths[2], "")
    sizes = ", ".join(rf"{path} has {length} lines" for path, length in zip(paths, lengths, strict=True))
    with pytest.raises(LengthMismatchError, match=rf"do not run in parallel: {sizes}$"):
        list(source)


def test_parallel_files_are_checked_before_they_are_read(tmp_path):
    (path,) = texts(tmp_path, "a")
    for paths in ((f"{path}0", (path,), None), (path, (f"{path}0",), None), (path, (path,), f"{path}0")):
        with pytest.raises(FileFormatError, match="no such file"):
            TextFiles(*paths, "")
    with pytest.raises(FileFormatError, match="standard input can be only one of the files"):
        TextFiles("-", ("-",), None, "")
    assert not TextFiles("-", (path,), None, "").rereadable


def test_rows_in_memory_are_a_source():
    rows = [Row("1", "a", ("b",)), Row("2", "a", ("b",))]
    source = InMemory(rows)
    assert (list(source), source.count(), source.rereadable) == (rows, 2, True)
