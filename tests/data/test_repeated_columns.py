"""A header that names a field twice: an error if the field is read, else nothing."""

import pytest

from evalign.errors import FileFormatError
from evalign.io.rows import Columns, TableFile


@pytest.mark.parametrize(
    ("header", "columns", "repeated"),
    [
        ("candidate,reference,human,human", Columns(), "human"),
        ("candidate,reference,candidate,x", Columns(), "candidate"),
        ("candidate,reference,reference,x", Columns(), "reference"),
        ("candidate,first,first,x", Columns(references=("first",)), "first"),
        ("candidate,reference,lp,lp", Columns(extra=("lp",)), "lp"),
    ],
)
@pytest.mark.parametrize(("kind", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_a_field_that_is_read_stands_once(tmp_path, header, columns, repeated, kind, delimiter):
    path = tmp_path / f"rows.{kind}"
    path.write_text(f"{header}\na,b,c,d\n".replace(",", delimiter), encoding="utf-8")
    with pytest.raises(FileFormatError, match=rf"rows\.{kind}: the header has 2 fields '{repeated}'"):
        list(TableFile(str(path), columns))


def test_other_fields_may_stand_twice(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("candidate,reference,,\na,b,c,d\n", encoding="utf-8")
    (row,) = TableFile(str(path), Columns())
    assert (row.candidate, row.references) == ("a", ("b",))
    (row,) = TableFile(str(path), Columns(references=("reference",), human="other"))
    assert row.human is None


def test_the_first_repeated_field_is_counted(tmp_path):
    (tmp_path / "data.csv").write_text("source,candidate,source,reference,candidate,source\na,b,c,d,e,f\n")
    with pytest.raises(FileFormatError, match="the header has 2 fields 'candidate'"):
        list(TableFile(str(tmp_path / "data.csv"), Columns()))
