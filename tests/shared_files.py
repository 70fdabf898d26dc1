"""What only ../shared can give: files beside the project that tests read, but whose texts may not be copied into it.

Where they are absent the tests use texts of the project's own, or skip with one of the reasons below.
EVALIGN_SHARED names another folder; one that does not exist shows how the tests run where ../shared is missing.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("EVALIGN_SHARED") or Path(__file__).resolve().parents[2] / "shared")
NO_GOLDEN = (
    "no ../shared/golden: more numbers of the original programs than tests/lexical/data, whose texts are our own"
)
NO_DATA = "no ../shared/data: published agreement with people; benchmarks/rated.py says where to get the ratings"


def shared_rows(name: str) -> list[dict[str, Any]] | None:
    """The rows of a file of human judgements, where it is."""
    file = SHARED / "data" / f"{name}.jsonl.gz"
    if not file.is_file():
        return None
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]
