"""The peers' own test suites with evalign in the peer's place: a table of tests run, equal, different and left out.

    python benchmarks/peer_suites.py                        all suites: some two minutes, needs PyPI for the test files
    python benchmarks/peer_suites.py --only rouge-score     one of them; repeat for several
    python benchmarks/peer_suites.py --write                and put the table into docs/peer_suites.md

A difference without a known reason, or a known reason for what is equal, ends with exit code 1.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from peers.suites import Suite, markdown

SUITES = {
    "bert_score": "bert_score_suite",
    "mt-metrics-eval": "mt_metrics_eval_suite",
    "sacrebleu": "sacrebleu_suite",
    "rouge-score": "rouge_score_suite",
    "textstat": "textstat_suite",
}
PAGE = Path(__file__).parents[1] / "docs" / "peer_suites.md"
BEGIN, END = "<!-- made by benchmarks/peer_suites.py -->", "<!-- end -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(SUITES), help="a suite; repeat for several")
    parser.add_argument("--write", action="store_true", help=f"write the table into docs/{PAGE.name}")
    arguments = parser.parse_args()
    if arguments.write and arguments.only:
        parser.error("--write needs all suites; leave out --only")
    suites = [run_suite(name) for name in arguments.only or SUITES]
    table = markdown(suites)
    print(table)
    if arguments.write:
        write(table)
    unexplained = [f"{suite.name} {case.name}: {case.reason}" for suite in suites for case in suite.unexplained]
    if unexplained:
        sys.exit("\n".join(unexplained))


def run_suite(name: str) -> Suite:
    """Runs one suite in a temporary folder."""
    run: Callable[[Path], Suite] = import_module(f"peers.{SUITES[name]}").run
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder))


def write(table: str) -> None:
    """Puts the table between the marks of the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    today = datetime.date.today()
    made = f"{today.day} {today:%B %Y}, `python benchmarks/peer_suites.py --write`:"
    PAGE.write_text(f"{before}{BEGIN}\n{made}\n\n{table}{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
