"""Rows read from a table: which values of a field are a name."""

import json

from evalign.data.rows import Columns, TableFile


def test_system_zero_has_a_name(tmp_path):
    (tmp_path / "data.jsonl").write_text(json.dumps({"candidate": "a", "references": ["a"], "system": 0}))
    assert [row.system for row in TableFile(str(tmp_path / "data.jsonl"), Columns())] == ["0"]
