"""Which rows belong together: ids, fields, texts; and one order of them, however the files are ordered."""

import random

import pytest

from evalign.core import Row
from evalign.errors import InputError
from evalign.io.rows import InMemory, pair_rows


def row(system, name, reference="r", candidate="c", **extra):
    return Row(name, candidate, (reference,), None, system, extra=extra)


def kept(*rows):
    return [InMemory(rows)]


def met(rows, by=None):
    """Place -> the (system, id) that stand there."""
    pairing = pair_rows(kept(*rows), by)
    seen = dict.fromkeys(pairing.systems, 0)
    places = {}
    for one in rows:
        places.setdefault(int(pairing.positions[one.system][seen[one.system]]), set()).add((one.system, one.id))
        seen[one.system] += 1
    return pairing.by, sorted(map(sorted, places.values()))


def test_by_id_where_all_systems_have_the_same_ids():
    rows = [row("A", "1", "x"), row("A", "2", "y"), row("B", "2", "y"), row("B", "1", "x")]
    assert met(rows) == ("id", [[("A", "1"), ("B", "1")], [("A", "2"), ("B", "2")]])


def test_by_text_where_ids_carry_the_system():
    rows = [row("A", "1.A", "x"), row("A", "2.A", "y"), row("B", "2.B", "y"), row("B", "1.B", "x")]
    assert met(rows) == ("text", [[("A", "1.A"), ("B", "1.B")], [("A", "2.A"), ("B", "2.B")]])


def test_by_text_where_equal_ids_mean_other_inputs():
    rows = [row("A", "1", "x"), row("A", "2", "y"), row("B", "1", "y"), row("B", "2", "x")]
    assert met(rows) == ("text", [[("A", "1"), ("B", "2")], [("A", "2"), ("B", "1")]])


def test_equal_texts_are_paired_in_order():
    rows = [row("A", "a"), row("A", "b"), row("B", "c"), row("B", "d")]
    assert met(rows) == ("text", [[("A", "a"), ("B", "c")], [("A", "b"), ("B", "d")]])


def test_the_source_is_a_part_of_the_input():
    rows = [Row(f"{i}.{system}", "c", ("r",), source, system) for system, sources in (("A", "xy"), ("B", "yx"))
            for i, source in enumerate(sources)]  # fmt: skip
    assert met(rows) == ("text", [[("A", "0.A"), ("B", "1.B")], [("A", "1.A"), ("B", "0.B")]])


@pytest.mark.parametrize("reference", "abcdefgh")
def test_any_reference_tells_which_rows_belong_together(reference):
    assert met([row("A", "1", reference), row("B", "2", reference)]) == ("text", [[("A", "1"), ("B", "2")]])


def test_by_field():
    rows = [row("A", "1", "x", doc=7), row("A", "2", "y", doc=8), row("B", "3", "p", doc=8), row("B", "4", "q", doc=7)]
    assert met(rows, "doc") == ("doc", [[("A", "1"), ("B", "4")], [("A", "2"), ("B", "3")]])


@pytest.mark.parametrize(
    ("rows", "by", "said"),
    [
        ([], None, "the input is empty"),
        ([row("A", "1"), row("A", "2")], None, "only one system ('A')"),
        ([row("", "1")], None, "the system without a name"),
        ([row("A", "1"), row("A", "1"), row("B", "1"), row("B", "2")], None, "'A' has 2 rows with id '1'"),
        ([row("A", "1"), row("A", "2"), row("B", "1"), row("B", "1")], "id", "'B' has 2 rows with id '1'"),
        ([row("A", "1", "x"), row("B", "1", "y")], None, "`pair_by` id"),
        ([row("A", "1", "x"), row("A", "2", "y"), row("B", "1", "x")], None, "(rows: 1 in 'B', 2 in 'A')"),
        ([row("A", "1", "x"), row("B", "2", "x")], "id", "id '2' of 'B' is not in 'A'"),
        ([row("A", "1", "x"), row("B", "1", "y")], "text", "the input of row number 1 of 'B' is not in 'A'"),
        ([row("A", "1", "x"), row("B", "1", "x"), row("B", "2", "y")], None, "neither ids nor references"),
        ([row("A", "1", "x"), row("B", "1", "x"), row("B", "2", "y")], None, "(rows: 1 in 'A', 2 in 'B')"),
        ([row("A", "1", "x"), row("A", "2", "z"), row("B", "1", "x"), row("B", "2", "y")], "text", "number 2 of 'B'"),
        ([row("A", "1", doc=None), row("B", "1", doc=3)], "doc", "row 1 of 'A' has no value in the field 'doc'"),
        ([Row("1", "c", (), None, "A"), Row("2", "c", (), None, "B")], None, "neither ids nor references"),
    ],
)
def test_what_cannot_be_paired_is_said(rows, by, said):
    with pytest.raises(InputError) as error:
        pair_rows(kept(*rows), by)
    assert said in str(error.value)


@pytest.mark.parametrize("by", [None, "id"])
def test_order_of_rows_and_systems_does_not_matter(by):
    """References repeat, so that the candidates decide too."""
    rows = [
        Row(str(i), f"{system} says {i * i % 5}", (f"reference {i % 7}",), None, system)
        for system in "ABC"
        for i in range(40)
    ]

    def contents(mixed):
        pairing = pair_rows(kept(*mixed), by)
        seen = dict.fromkeys(pairing.systems, 0)
        table = {}
        for one in mixed:
            table[one.system, int(pairing.positions[one.system][seen[one.system]])] = one.candidate, one.references
            seen[one.system] += 1
        return table

    expected = contents(rows)
    for seed in range(5):
        mixed = random.Random(seed).sample(rows, len(rows))
        assert contents(mixed) == expected
