"""A long file costs no more memory than a short one, and a killed run leaves nothing half-written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from streaming import growth, made_rows, memory_by_rows

pytestmark = pytest.mark.slow


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_flat_over_200_000_rows(tmp_path):
    samples = memory_by_rows(made_rows(200_000), "bertscore(model=fake)", tmp_path)
    assert samples[-1][0] > 190_000, "the run was watched to its end"
    assert growth(samples, 20_000, 200_000) < 1.0, "MB per 10,000 rows"


def test_a_killed_run_leaves_no_output(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"candidate": "a b c", "references": ["a c"]}\n' * 200_000)
    out = tmp_path / "out.jsonl"
    command = [
        sys.executable,
        "-m",
        "evalign",
        "score",
        str(rows),
        "-m",
        "bertscore(model=fake)",
        "--segments",
        str(out),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None and not any(part.stat().st_size for part in tmp_path.glob(".*.part")):
        time.sleep(0.05)
    assert process.poll() is None, "killed in the middle, not after the end"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not out.exists()
