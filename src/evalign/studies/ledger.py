"""The ledger of a paper's claims: measured numbers in; which claims hold, as the plate that opens a study's page.

A claim rests on numbers with intervals, each with the side on which its interval must lie. It holds if all of them lie
there, does not hold if one lies wholly elsewhere, and cannot be tested if there is no number, no interval, or one that
lies on both sides. Both the numbers and the bounds are in `ledger.csv`, so every verdict can be recomputed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalign.render.study.page import Numbers, Plate, StudyTable

HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested here"
NAME, TITLE = "ledger", "What the paper claims, and what was measured"
COLUMNS = ("claim", "words", "what", "measured", "low", "high", "above", "below", "verdict", "why")
NOTHING = 1e-9  # what rounding leaves of 0
MOST_SHOWN = 4  # numbers in a cell of the table
RULE = (
    "A claim holds if the interval of every number it rests on lies on the claimed side; it does not hold if one lies "
    "wholly elsewhere; it cannot be tested here without a number, or with intervals that lie on both sides: these data "
    "do not decide. Numbers and bounds: ledger.csv."
)


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: its number in our list, and what it says in a few words of ours."""

    id: str
    words: str


@dataclass(frozen=True)
class Measured:
    """A number that a claim rests on, its interval, and the bounds between which the interval must lie.

    A number that was counted, not sampled, is its own interval.
    """

    what: str
    value: float
    low: float | None
    high: float | None
    above: float | None = None
    below: float | None = None

    @property
    def tested(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None and self.high is not None

    @property
    def holds(self) -> bool:
        """Whether the whole interval lies where the claim says."""
        over = self.above is None or (self.low is not None and self.low > self.above)
        return over and (self.below is None or (self.high is not None and self.high < self.below))

    @property
    def refutes(self) -> bool:
        """Whether the whole interval lies elsewhere."""
        under = self.above is not None and self.high is not None and self.high <= self.above
        return under or (self.below is not None and self.low is not None and self.low >= self.below)

    def __str__(self) -> str:
        if self.low is None or self.high is None or self.low == self.high:
            return f"{self.what} {_short(self.value)}"
        return f"{self.what} {_short(self.value)} [{_short(self.low)}, {_short(self.high)}]"


@dataclass(frozen=True)
class Finding:
    """What became of a claim: the numbers, the verdict that follows from them, and why."""

    claim: Claim
    measured: tuple[Measured, ...]
    verdict: str
    why: str


def counted(what: str, value: float, above: float | None = None, below: float | None = None) -> Measured:
    """A number without sampling error."""
    return Measured(what, value, value, value, above, below)


def judge(claim: Claim, measured: Sequence[Measured], lacking: str = "", note: str = "") -> Finding:
    """The verdict on a claim; `lacking` says what is missing if nothing was measured, `note` what else is to be known.

    Measured(...) numbers all have to lie on their side.
    """
    if not measured:
        return Finding(claim, (), UNTESTED, _sentences(lacking or "nothing was measured", note))
    without = [number.what for number in measured if not number.tested]
    if without:
        return Finding(claim, tuple(measured), UNTESTED, _sentences(f"no interval for {', '.join(without)}", note))
    refuting = [number for number in measured if number.refutes]
    undecided = [number for number in measured if not number.holds]
    if refuting:
        return Finding(claim, tuple(measured), FAILS, _sentences(_missed(refuting, "is not"), note))
    if undecided:
        return Finding(claim, tuple(measured), UNTESTED, _sentences(_missed(undecided, "is not sure to be"), note))
    return Finding(claim, tuple(measured), HOLDS, note)


def ledger(findings: Sequence[Finding]) -> Plate:
    """The plate that opens a study: one line a claim; its CSV has one line for each number a claim rests on."""
    lines = tuple(
        (found.claim.id, found.claim.words, found.verdict, _shown(found.measured), found.why or "–")
        for found in findings
    )
    table = StudyTable(TITLE, ("", "claim", "verdict", "measured", "why"), lines, names=5)
    return Plate(
        NAME, TITLE, said=(_counted(findings), RULE), tables=(table,), numbers=Numbers(COLUMNS, _csv(findings))
    )


def _shown(measured: Sequence[Measured]) -> str:
    """All numbers if they are few, otherwise how many lie on the claimed side."""
    if len(measured) <= MOST_SHOWN:
        return "; ".join(map(str, measured)) or "–"
    kept = sum(number.holds for number in measured)
    return f"{kept} of {len(measured)} numbers lie on the claimed side (ledger.csv), such as {measured[0]}"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= NOTHING else "0"


def _csv(findings: Sequence[Finding]) -> tuple[tuple[object, ...], ...]:
    lines: list[tuple[object, ...]] = []
    for found in findings:
        claim = found.claim.id, found.claim.words
        end = found.verdict, found.why
        lines += [
            (*claim, number.what, number.value, number.low, number.high, number.above, number.below, *end)
            for number in found.measured
        ] or [(*claim, *[None] * 6, *end)]
    return tuple(lines)


def _counted(findings: Sequence[Finding]) -> str:
    verdicts = [found.verdict for found in findings]
    return (
        f"Of {len(findings)} claims here: {verdicts.count(HOLDS)} hold, {verdicts.count(FAILS)} do not, "
        f"{verdicts.count(UNTESTED)} cannot be tested."
    )


def _missed(numbers: Sequence[Measured], verb: str) -> str:
    """Which numbers do not lie where they should."""
    missed = []
    for number in numbers[:MOST_SHOWN]:
        sides = (("above", number.above), ("below", number.below))
        wanted = " and ".join(f"{side} {bound:.3g}" for side, bound in sides if bound is not None)
        missed.append(f"{number.what} {verb} {wanted}")
    return "; ".join(missed) + (f" and {len(numbers) - MOST_SHOWN} more" if len(numbers) > MOST_SHOWN else "")


def _sentences(*parts: str) -> str:
    return ". ".join(part for part in parts if part)
