"""Each of these exists once: the loop that scores rows, the reader of input files, ways to write files and output."""

import ast
from pathlib import Path

import pytest

import evalign

ROOT = Path(evalign.__file__).parent
TREES = {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text("utf-8")) for file in sorted(ROOT.rglob("*.py"))}


def calls(name):
    """Paths of the modules that call a function or method of this dotted ending."""
    return {
        path
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and f".{ast.unparse(node.func)}".endswith(f".{name}")
    }


def users_of(*modules):
    """Paths of the modules that import one of these modules."""
    return {
        path
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and {alias.name for alias in node.names} & set(modules))
        or (isinstance(node, ast.ImportFrom) and node.module in modules)
    }


def test_every_loop_over_rows_is_score_stream():
    looping = {"core/metric.py", "analysis/scoring.py", "analysis/audit_measurements.py", "batch/shards.py"}
    assert calls("score_stream") == looping
    beside = {path for path in calls("scorer.score") if path.split("/")[0] in ("analysis", "batch", "server")}
    assert beside == {"analysis/audit_measurements.py"}, "which measures the processor time of a call"


def test_files_become_whole_and_durable_in_one_module():
    for name in ("os.replace", "os.fsync", "fcntl.flock", "os.rename"):
        assert calls(name) <= {"io/files.py"}, name
    assert calls("os.replace") == calls("os.fsync") == calls("fcntl.flock") == {"io/files.py"}
    assert calls("write_text") == {"core/report.py"}, "which calls that of render/documents.py"


def test_consoles_and_standard_streams_are_made_in_one_module():
    """A console of rich's own would send what texts contain to the terminal."""
    assert calls("Console") == set()
    assert calls("EscapingConsole") == {"render/console.py", "render/terminal.py"}
    assert calls("stdout.write") == set()
    assert calls("stdout.buffer.write") == {"encoders/tokenizer_probe.py"}, "a child process, which writes to a pipe"


@pytest.mark.parametrize(
    ("modules", "users"),
    [
        (["zstandard"], {"io/streams.py"}),
        (["gzip"], {"io/streams.py", "metrics/lexical/meteor/paraphrases.py", "render/export.py"}),
        (["csv"], {"io/records.py", "metrics/baseline.py", "render/figures.py"}),
        (["pyarrow.parquet"], {"io/records.py", "batch/shards.py"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_input_formats_are_parsed_in_one_module(modules, users):
    """The other modules read their data files or write output."""
    assert users_of(*modules) == users
