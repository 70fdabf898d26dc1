"""The same cells and the same scores on every processor: other kernels are simulated, each in a process of its own.

`benchmarks/simulated_processors.py` says how. Laws, goldens and parity run under each environment as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from simulated_processors import environments

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = environments()
FIRST, *OTHERS = ENVIRONMENTS
PROMISED = {"evalign": 1e-4}  # docs/benchmarks.md; of scores up to 100
PROMISED_OF_OTHERS = 1e-6  # of scores up to 1
SUITES = ("test_laws.py", "parity", "matching/test_assignment_methods.py")  # what a matrix product can change
REAL_LAWS = [f"test_laws.py::test_laws_with_a_real_model[{name}]" for name in ("bertscore", "evalign")]
LEXICAL = ("lexical", "stats")  # what only NumPy's other instructions can


def environment(name: str) -> dict[str, str]:
    return os.environ | ENVIRONMENTS[name] | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}


@cache
def computed(name: str, part: str) -> dict:
    """What tests/processor_worker.py prints under that environment."""
    command = [sys.executable, str(HERE / "processor_worker.py"), part]
    done = subprocess.run(command, env=environment(name), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.skipif("Prescott" not in ENVIRONMENTS, reason="this processor has other kernels than x86")
def test_the_environments_really_change_the_kernel():
    kernels = {computed(name, "matrices")["kernel"] for name in ENVIRONMENTS}
    assert len(kernels) > 2, kernels


@pytest.mark.parametrize("name", OTHERS)
def test_on_fixed_matrices_every_selection_is_the_same(name):
    expected, chosen = computed(FIRST, "matrices")["matrices"], computed(name, "matrices")["matrices"]
    assert len(expected) > 12
    for matching, digests in expected.items():
        different = [
            place for place, pair in enumerate(zip(digests, chosen[matching], strict=True)) if len({*pair}) > 1
        ]
        assert not different, f"{matching}: other cells in matrices {different}"


@pytest.mark.parametrize("name", OTHERS)
def test_scores_of_a_real_encoder_agree(minilm, name, capsys):
    expected, scored = computed(FIRST, "scores")["scores"], computed(name, "scores")["scores"]
    lines = []
    for spec, first in expected.items():
        apart = np.abs(np.array(first["fields"]) - np.array(scored[spec]["fields"])).max(axis=0)
        moved = sum(a != b for a, b in zip(first["cells"], scored[spec]["cells"], strict=True))
        lines.append(f"{spec}: largest difference {apart.max():.1e}; other cells in {moved} of {len(apart)} pairs")
        assert apart.max() <= PROMISED.get(spec, PROMISED_OF_OTHERS), lines[-1]
    with capsys.disabled():
        print(f"\n{name}\n  " + "\n  ".join(lines))


@pytest.mark.parametrize("name", OTHERS)
def test_laws_goldens_and_parity_hold(minilm, name):
    if "NumPy" not in name and computed(name, "scores")["scores"] == computed(FIRST, "scores")["scores"]:
        pytest.skip("the same bits as this processor gives anyway, under which all other tests run")
    suites = [*SUITES, *LEXICAL] if "NumPy" in name else SUITES
    for selection in ([*suites, "-m", "not slow"], REAL_LAWS):
        command = [sys.executable, "-m", "pytest", *selection, "-q", "-n", "2", "-p", "no:cacheprovider"]
        done = subprocess.run(command, env=environment(name), capture_output=True, text=True, cwd=HERE)
        assert done.returncode == 0, done.stdout[-5000:]
