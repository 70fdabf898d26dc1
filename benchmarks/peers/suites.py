"""What a peer's test suite came to: one `Case` for each of its tests, a `Suite` of them, and the Markdown of many.

A test is `equal` (it passes with evalign in the peer's place), `differs` (with the reason), or was `left out` (with the
reason: it asks for the peer's own internals, or for data that it does not ship).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

EQUAL, DIFFERS, LEFT_OUT = "equal", "differs", "left out"
UNEXPLAINED = "no reason is known"


@dataclass(frozen=True)
class Case:
    """One test of a peer, and what became of it."""

    name: str
    result: str
    reason: str = ""


@dataclass(frozen=True)
class Suite:
    """The tests of one peer, its version, and where its tests come from."""

    name: str
    version: str
    source: str
    cases: tuple[Case, ...]

    def count(self, result: str) -> int:
        """How many tests came to that."""
        return sum(case.result == result for case in self.cases)

    @property
    def unexplained(self) -> list[Case]:
        """Tests that differ without a reason, or that had one and no longer need it."""
        return [case for case in self.cases if case.reason.startswith(UNEXPLAINED)]


def markdown(suites: Sequence[Suite]) -> str:
    """A table with one row for each suite, and the reasons below it."""
    lines = ["| suite | version | tests from | run | equal | differ | left out |", "|---|---|---|---|---|---|---|"]
    for suite in suites:
        equal, differ, left_out = (suite.count(result) for result in (EQUAL, DIFFERS, LEFT_OUT))
        row = (suite.name, suite.version, suite.source, equal + differ, equal, differ, left_out)
        lines.append(f"| {' | '.join(map(str, row))} |")
    lines.append("")
    for result, heading in ((DIFFERS, "Differences"), (LEFT_OUT, "Left out")):
        reasons = [f"- {suite.name}: {text}" for suite in suites for text in _reasons(suite, result)]
        lines += [f"{heading}:", "", *reasons, ""] if reasons else [f"{heading}: none.", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _reasons(suite: Suite, result: str) -> list[str]:
    """Each reason once, with the tests it holds for (parametrised ones together)."""
    by_reason: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for case in suite.cases:
        if case.result == result:
            by_reason[case.reason][case.name.partition("[")[0].rpartition("::")[2]] += 1
    return [
        f"{', '.join(f'`{name}`' + (f' ({count})' if count > 1 else '') for name, count in names.items())}: {reason}"
        for reason, names in by_reason.items()
    ]
