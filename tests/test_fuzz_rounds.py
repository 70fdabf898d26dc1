"""benchmarks/fuzz.py: counts of every target survive in the record, and a failure or a crash ends a run."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TARGETS = {
    "good": "pass",
    "failing": "assert number < 50",
    "dying": "os._exit(9)",
    "broken": "raise SystemExit(3)",
}


@pytest.fixture
def fuzz(tmp_path, monkeypatch):
    """The module, for files of targets of our own."""
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).parents[1] / "benchmarks" / "fuzz.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fuzz", module)
    spec.loader.exec_module(module)
    (tmp_path / "tests" / "fuzz").mkdir(parents=True)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "code_version", lambda: "abc")
    return module


def write(fuzz, *names):
    for name in names:
        (fuzz.ROOT / "tests" / "fuzz" / f"test_{name}.py").write_text(
            "import os\nfrom hypothesis import given, strategies as st\n\n"
            f"@given(st.integers(0, 99))\ndef test_{name}(number):\n    {TARGETS[name]}\n"
        )


def test_rounds_go_on_where_they_stopped(fuzz):
    write(fuzz, "good")
    file = fuzz.ROOT / "results" / "fuzz.json"
    for rounds in (1, 2):
        record = fuzz.Record(file)
        assert fuzz.fuzz(record, record.seconds + 1e-9, 1) == ""
        [entry] = json.loads(file.read_text())["test_good.py::test_good"]
        assert (entry["code"], entry["rounds"], entry["failures"]) == ("abc", rounds, 0)
        assert entry["examples"] == 100 * rounds
    fuzz.code_version = lambda: "def"
    fuzz.fuzz(record, record.seconds + 1e-9, 1)
    assert [entry["code"] for entry in fuzz.Record(file).targets["test_good.py::test_good"]] == ["abc", "def"]
    assert "| test_good.py::test_good | 3 |" in record.table()


@pytest.mark.parametrize("name", ["failing", "dying", "broken"])
def test_a_failure_ends_the_run(fuzz, name):
    write(fuzz, name)
    record = fuzz.Record(fuzz.ROOT / "fuzz.json")
    failure = fuzz.fuzz(record, 1e9, 1)
    assert f"test_{name}.py, seed " in failure
    assert record.targets[f"test_{name}.py::test_{name}"][0]["failures"] == 1
    assert "number = " in failure or name != "failing"
