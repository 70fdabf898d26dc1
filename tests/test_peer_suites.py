"""benchmarks/peer_suites.py: imports are led to a stand-in, every difference has a reason, bert_score's tests pass."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from peers import suites, test_files

    return suites, test_files


def test_imports_lead_to_the_stand_in(peers, tmp_path):
    _, test_files = peers
    file = tmp_path / "test_it.py"
    file.write_text("import peer\nimport peers\nfrom peer.metrics import BLEU\n    from peer import x\npeer.score()\n")
    (tmp_path / "copies").mkdir()
    (copy,) = test_files.with_stand_in([file], tmp_path / "copies", "peer", "ours")
    assert copy.read_text().splitlines() == [
        "import ours as peer",
        "import peers",
        "from ours.metrics import BLEU",
        "    from ours import x",
        "peer.score()",
    ]


@pytest.mark.parametrize(
    ("result", "reasons", "expected", "unexplained"),
    [
        ("equal", {}, "equal", False),
        ("differs", {"a.py::test_b[[]1]": "why"}, "differs", True),
        ("differs", {"*::test_b[1]": "why"}, "differs", False),
        ("equal", {"*::test_b*": "why"}, "equal", True),
    ],
)
def test_differences_need_a_reason_and_reasons_a_difference(peers, result, reasons, expected, unexplained):
    suites, test_files = peers
    given = f"{suites.UNEXPLAINED}: 1 is not 2" if result == "differs" else ""
    case = test_files.judged(suites.Case("a.py::test_b[1]", result, given), reasons)
    suite = suites.Suite("peer", "1.0", "its wheel", (case,))
    assert case.result == expected
    assert bool(suite.unexplained) is unexplained
    assert f"| peer | 1.0 | its wheel | 1 | {int(expected == 'equal')} |" in suites.markdown([suite])


@pytest.mark.slow
def test_bert_scores_own_tests_pass():
    pytest.importorskip("bert_score", reason="bert-score is not installed: pip install 'evalign[dev]'")
    command = [sys.executable, "-W", "ignore", BENCHMARKS / "peer_suites.py", "--only", "bert_score"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| 13 | 13 | 0 | 1 |" in done.stdout
