"""The ledger of a paper's claims: measured numbers in; which claims hold, as the plate that opens a study's page.

A claim rests on numbers with intervals, each with the side on which its interval must lie. It holds if all of them lie
there, does not hold if one lies wholly elsewhere, and cannot be tested if there is no number, no interval, or one that
lies on both sides. Both the numbers and the bounds are in `ledger.csv`, so every verdict can be recomputed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from evalign.render.study.page import Numbers, Plate, StudyTable

HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested here"
NAME, TITLE = "ledger", "What the paper claims, and what was measured"
Study = TypeVar("Study")
COLUMNS = ("claim", "words", "what", "measured", "low", "high", "above", "below", "verdict", "why")
NOTHING = 1e-9  # what rounding leaves of 0
MOST_SHOWN = 4  # numbers in a cell of the table
RULE = (
    "A claim holds if the interval of every number it rests on lies on the claimed side; it does not hold if one lies "
    "wholly elsewhere; it cannot be tested here without a number, or with intervals that lie on both sides: these data "
    "do not decide. Numbers and bounds: ledger.csv."
)


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
class Claim(Generic[Study]):
    """A claim of a paper: its number in our list, its words in ours, and what gives the numbers it rests on.

    `lacking` is the reason where there are none; `note` is what else a reader must know.
    """

    id: str
    words: str
    measure: Callable[[Study], Iterable[Measured]]
    lacking: str = "nothing was measured"
    note: str | Callable[[Study], str] = ""


class Untestable(Exception):  # noqa: N818
    """Raised by a measurement that knows why the claim cannot be tested on this study."""


@dataclass(frozen=True)
class Finding:
    """What became of a claim: the numbers, the verdict that follows from them, and why."""

    claim: Claim[Any]
    measured: tuple[Measured, ...]
    verdict: str
    why: str


def counted(what: str, value: float, above: float | None = None, below: float | None = None) -> Measured:
    """A number without sampling error."""
    return Measured(what, value, value, value, above, below)


def judge(claim: Claim[Study], study: Study) -> Finding:
    """The verdict on a claim: all its numbers have to lie on their side."""
    try:
        measured = tuple(claim.measure(study))
    except Untestable as reason:
        return Finding(claim, (), UNTESTED, str(reason))
    verdict, why = HOLDS, ""
    if not measured:
        verdict, why = UNTESTED, claim.lacking
    elif without := [number.what for number in measured if not number.tested]:
        verdict, why = UNTESTED, f"no interval for {', '.join(without)}"
    elif refuting := [number for number in measured if number.refutes]:
        verdict, why = FAILS, _missed(refuting, "is not")
    elif undecided := [number for number in measured if not number.holds]:
        verdict, why = UNTESTED, _missed(undecided, "is not sure to be")
    note = claim.note if isinstance(claim.note, str) else claim.note(study)
    return Finding(claim, measured, verdict, ". ".join(filter(None, (why, note))))


def ledger(findings: Sequence[Finding]) -> Plate:
    """The plate that opens a study: one line a claim; its CSV has one line for each number a claim rests on."""
    verdicts = [finding.verdict for finding in findings]
    count = (
        f"Of {len(findings)} claims here: {verdicts.count(HOLDS)} hold, {verdicts.count(FAILS)} do not, "
        f"{verdicts.count(UNTESTED)} cannot be tested."
    )
    lines: list[tuple[str, ...]] = []
    numbers: list[tuple[object, ...]] = []
    for finding in findings:
        claim, end = (finding.claim.id, finding.claim.words), (finding.verdict, finding.why)
        lines.append((*claim, finding.verdict, _shown(finding.measured), finding.why or "–"))
        numbers += [(*claim, *vars(number).values(), *end) for number in finding.measured] or [
            (*claim, *[None] * len(Measured.__dataclass_fields__), *end)
        ]
    table = StudyTable(TITLE, ("", "claim", "verdict", "measured", "why"), tuple(lines), names=5)
    return Plate(NAME, TITLE, said=(count, RULE), tables=(table,), numbers=Numbers(COLUMNS, numbers))


def _shown(measured: Sequence[Measured]) -> str:
    """All numbers if they are few, otherwise how many lie on the claimed side."""
    if len(measured) <= MOST_SHOWN:
        return "; ".join(map(str, measured)) or "–"
    holding = sum(number.holds for number in measured)
    return f"{holding} of {len(measured)} numbers lie on the claimed side (ledger.csv), such as {measured[0]}"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= NOTHING else "0"


def _missed(numbers: Sequence[Measured], verb: str) -> str:
    """Which numbers do not lie where they should."""
    missed = []
    for number in numbers[:MOST_SHOWN]:
        sides = (("above", number.above), ("below", number.below))
        wanted = " and ".join(f"{side} {bound:.3g}" for side, bound in sides if bound is not None)
        missed.append(f"{number.what} {verb} {wanted}")
    return "; ".join(missed) + (f" and {len(numbers) - MOST_SHOWN} more" if len(numbers) > MOST_SHOWN else "")
