"""Rated pairs to train on: with a header, quoted or not, or four columns without one."""

import pytest

from evalign.errors import FileFormatError
from evalign.io.rows import Columns
from evalign.training.rated_pairs import training_rows


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.tsv", "candidate\treference\thuman\na b\ta c\t3\n"),
        ("quoted.tsv", '"candidate"\t"reference"\t"human"\n"a b"\t"a c"\t3\n'),
        ("quoted.csv", '"candidate","reference","human"\n"a b","a c",3\n'),
        ("opusparcus.tsv", "7\ta b\ta c\t3\n"),
    ],
    ids=["plain", "quoted", "quoted, commas", "no header"],
)
def test_a_table_with_and_without_a_header(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    (row,) = training_rows(str(tmp_path / name), Columns())
    assert (row.candidate, row.references, float(row.human)) == ("a b", ("a c",), 3.0)


def test_a_table_of_something_else_is_refused(tmp_path):
    file = tmp_path / "other.tsv"
    file.write_text("a\tb\nc\td\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="four columns without a header"):
        training_rows(str(file), Columns())
