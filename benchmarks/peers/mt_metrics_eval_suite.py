"""The tests of mt-metrics-eval's statistics, whose values are in tests/stats/test_mt_metrics_eval.py.

The project is on no package index (the name on PyPI belongs to another one), so the values are typed there from its
repository, one test for each asserted value. Here they are run, and what they leave out is named.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from peers.suites import LEFT_OUT, Case, Suite
from peers.test_files import Known, run_test_files

VALUES = Path(__file__).parents[2] / "tests" / "stats" / "test_mt_metrics_eval.py"
INTERNAL = "the layout of its own classes"
OTHERS = [
    (INTERNAL, ("CorrelationTest.testConstruction", "CorrelationFunctionsTest.testReshape",
                "CorrelationFunctionsTest.testReshapeAndFilter", "PairwiseDiffsTest.testPairWiseDiffs")),
    ("samples of pairs; evalign's search is exact without", (
        "TauOptimizationTest.test_invalid_sample_rate", "TauOptimizationTest.test_sample_rate_samples_pairs",
        "SampleTest.testUniformSample", "SampleTest.testStratifiedSample")),
    ("a permutation test that stops early; here it never does",
     ("PermutationSigDiffTest.testPearsonNoAvgWithEarlyStop",)),
    ("a tau-b whose metric is tied within a threshold is not offered",
     ("PairwisePermutationSigDiffTest.testKendallVariantsB",)),
]  # fmt: skip


def run(folder: Path) -> Suite:
    """Runs the typed values from a copy in the folder."""
    copied = folder / "tests_of_mt_metrics_eval"
    copied.mkdir()
    cases = run_test_files([Path(shutil.copy(VALUES, copied))], Known())
    others = [Case(name, LEFT_OUT, reason) for reason, names in OTHERS for name in names]
    return Suite("mt-metrics-eval", "commit 38882cc", "its repository, typed", (*cases, *others))
