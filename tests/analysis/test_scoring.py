"""Rows of a source to segments: a row that cannot be scored fails alone."""

import evalign
from evalign.analysis.scoring import score_source
from evalign.data.rows import InMemory
from evalign.types import Row


def test_a_row_without_references_fails_alone():
    rows = [Row(str(place), f"a cat {place}", (f"the cat {place}",)) for place in range(6)]
    rows.insert(3, Row("bare", "a cat"))
    segments = []
    (result,) = score_source(InMemory(rows), [evalign.metric("rouge1")], lambda _, segment: segments.append(segment))
    assert (result.n, result.failed) == (6, 1)
    assert [segment.id for segment in segments] == [row.id for row in rows]
    assert "needs references" in segments[3].error
