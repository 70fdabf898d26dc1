"""A long file costs no more memory than a short one, and a killed run leaves nothing half-written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from streaming import made_rows

pytestmark = pytest.mark.slow

SCORE = ("score", "-m", "bertscore(model=fake)", "--segments")
# The most that was resident at any time, told by the process itself: nobody has to look at the right moment.
WITH_PEAK = r"""
import atexit, re, sys
from pathlib import Path
from evalign.cli.main import main
status = Path("/proc/self/status")
atexit.register(lambda: print(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1], file=sys.stderr))
main(sys.argv[1:])
"""


def peak(folder, count):
    """MB of a run over so many rows."""
    data, out = folder / f"{count}.jsonl", folder / f"{count}-out.jsonl"
    with data.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in made_rows(count))
    command = [sys.executable, "-c", WITH_PEAK, *SCORE, str(out), str(data)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    with out.open("rb") as stream:
        assert sum(1 for _ in stream) == count
    return int(done.stderr.split()[-1]) / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_flat_over_200_000_rows(tmp_path):
    growth = (peak(tmp_path, 200_000) - peak(tmp_path, 20_000)) / 18
    assert growth < 1.0, "MB per 10,000 rows"


def test_a_killed_run_leaves_no_output(tmp_path):
    """Its input does not end, so that it is in the middle whenever it is killed."""
    out = tmp_path / "out.jsonl"
    rows = b'{"candidate": "a b c", "references": ["a c"]}\n' * 1000
    command = [sys.executable, "-m", "evalign", *SCORE, str(out), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0) as process:
        for _ in range(200):
            process.stdin.write(rows)
            if any(part.stat().st_size for part in tmp_path.glob(".*.part")):
                break
        else:
            pytest.fail("200,000 rows were read, and none was written")
        assert process.poll() is None
        process.kill()
    assert not out.exists()
