"""Golden numbers as parameters of a test: the project's own sets always, those of ../shared where they are present."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shared_files import NO_GOLDEN, SHARED

OWN = Path(__file__).parent / "data"
GOLDEN = SHARED / "golden"
ABSENT = pytest.mark.skip(reason=NO_GOLDEN)


def read(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text(encoding="utf-8")))


def golden_files(own: str, shared: str) -> list[Any]:
    """Two parameters: the project's own file, and the file at this place of ../shared/golden."""
    return [pytest.param(OWN / own, id="own"), shared_parameter(GOLDEN / shared, GOLDEN / shared, "shared")]


def shared_parameter(value: Any, file: Path, name: str) -> Any:
    """A parameter that needs a file of ../shared/golden: a slow test, skipped with the reason where the file is not."""
    return pytest.param(value, id=name, marks=[pytest.mark.slow, *([] if file.is_file() else [ABSENT])])


@dataclass(frozen=True)
class RougeSet:
    """Texts and scores of ROUGE-1.5.5, in two files."""

    folder: Path
    name: str

    def evals(self) -> list[dict[str, Any]]:
        return list(read(self.folder / f"inputs_{self.name}.json")["evals"])

    def runs(self) -> list[dict[str, Any]]:
        return list(read(self.folder / f"scores_{self.name}.json")["runs"])


def own_rouge_set(name: str) -> Any:
    return pytest.param(RougeSet(OWN, name), id=name)


def shared_rouge_set(name: str) -> Any:
    folder = GOLDEN / "rouge155"
    return shared_parameter(RougeSet(folder, name), folder / f"scores_{name}.json", name)


@dataclass(frozen=True)
class MeteorRun:
    """Options of the jar, the pairs that it was given, and what it printed."""

    options: list[str]
    references: int
    pairs: list[tuple[str, list[str]]]
    segments: list[float]
    final: float | None


def meteor_runs() -> list[Any]:
    """A parameter for every run of the own file and of the shared one; a single one, skipped, where that is absent."""
    own, shared = OWN / "meteor15.json", GOLDEN / "meteor15" / "meteor15.json"
    if not shared.is_file():
        return [*_meteor_runs(own, "own"), shared_parameter(None, shared, "shared")]
    return [*_meteor_runs(own, "own"), *_meteor_runs(shared, "shared", pytest.mark.slow)]


def _meteor_runs(file: Path, name: str, *marks: Any) -> list[Any]:
    document = read(file)
    return [
        pytest.param(
            MeteorRun(run["options"], run["n_refs"], document["inputs"][run["lang_set"]], run["segments"],
                      run.get("Final score")),
            id=f"{name}: {' '.join(run['options'])} {run['n_refs']}",
            marks=marks,
        )
        for run in document["runs"]
    ]  # fmt: skip
