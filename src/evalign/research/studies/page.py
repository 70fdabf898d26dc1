"""Page of a study: plates with a figure, its numbers, sentences and tables, and the ledger of claims.

In: a `StudyPage`. Out: a folder with every figure as PNG and SVG, its numbers as CSV, and the page as one HTML file and
as Markdown. A plate without its figure gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from evalign.io.files import whole_file
from evalign.render.figures import Drawing, make_folder, save_numbers
from evalign.render.html import figure, items, page, paragraphs, section, table, text
from evalign.render.tables import TextTable, markdown_escaped, markdown_table

PAGE, MARKDOWN = "index.html", "report.md"
MAX_NAME_COLUMNS = 7
STYLE = """main p,main ul{max-width:70rem;overflow-wrap:anywhere}
.missing{border-left:4px solid var(--q0-edge);padding:.2rem .8rem;background:var(--soft)}
main thead th{white-space:normal;max-width:10rem}main tbody th[scope=row]{min-width:8rem}
""" + "".join(
    f"table:has(.names{count}) :is(td,th):nth-child(-n+{count}){{text-align:left;white-space:normal}}"
    for count in range(1, MAX_NAME_COLUMNS + 1)
)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers of a plate without a figure, written as CSV."""

    columns: tuple[str, ...]
    lines: Sequence[Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Plate:
    """Section of a study: a figure or the reason why it is missing, sentences and tables.

    `name` is a file name without suffix. A figure has its numbers; a plate without a figure may have `numbers`.
    """

    name: str
    title: str
    drawing: Drawing | None = None
    sentences: tuple[str, ...] = ()
    tables: tuple[TextTable, ...] = ()
    missing: str = ""
    numbers: Numbers | None = None


@dataclass(frozen=True, eq=False)
class StudyPage:
    """A study; `claims` is its first plate, and the terminal shows its tables and `summary`."""

    title: str
    about: tuple[str, ...]
    summary: TextTable
    plates: tuple[Plate, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    claims: Plate | None = None

    @property
    def sections(self) -> tuple[Plate, ...]:
        """Return all plates, the paper's claims first."""
        return self.plates if self.claims is None else (self.claims, *self.plates)

    @property
    def lacking(self) -> tuple[str, ...]:
        """Return everything that is missing, with the reasons."""
        return (*self.missing, *(f"{plate.title}: {plate.missing}" for plate in self.plates if plate.missing))


def save_study(study: StudyPage, folder: Path) -> list[Path]:
    """Write all files; the folder is created if its parent exists, and unrelated files in it are kept."""
    make_folder(folder)
    written: list[Path] = []
    for plate in study.sections:
        if plate.drawing is not None:
            written += plate.drawing.save(folder, plate.name)
            continue
        for ending in (".png", ".svg", ".csv"):  # of an earlier run
            (folder / f"{plate.name}{ending}").unlink(missing_ok=True)
        if plate.numbers is not None:
            written.append(folder / f"{plate.name}.csv")
            save_numbers(written[-1], plate.numbers.columns, plate.numbers.lines)
    for name, content in ((PAGE, study_html(study)), (MARKDOWN, study_markdown(study))):
        written.append(folder / name)
        with whole_file(folder / name) as stream:
            stream.write(content)
    return written


def study_html(study: StudyPage) -> str:
    """Return the HTML page; the same study gives the same bytes."""
    opening = () if study.claims is None else (study.claims,)
    content = [
        paragraphs(study.about),
        _lacking(study),
        *(section(plate.name, plate.title, _plate_html(plate)) for plate in opening),
        _table_html(study.summary),
        *(section(plate.name, plate.title, _plate_html(plate)) for plate in study.plates),
        section("made", "How this was made", f"<ul>{items(study.notes)}</ul>"),
    ]
    return page(study.title, STYLE, [(plate.name, plate.title) for plate in study.sections], "".join(content))


def _lacking(study: StudyPage) -> str:
    if not study.lacking:
        return ""
    sentences = f"<p>Missing here:</p>\n<ul>{items(study.lacking)}</ul>"
    return f'<section class="missing" aria-label="Missing">{sentences}</section>\n'


def _plate_html(plate: Plate) -> str:
    parts = [f'<p class="missing">Not made: {text(plate.missing)}</p>\n'] if plate.missing else []
    if plate.drawing is not None:
        numbers = f" Numbers: <code>{plate.name}.csv</code>"
        parts.append(figure(plate.name, plate.title, plate.drawing.svg, plate.drawing.caption, numbers))
    return "".join([*parts, paragraphs(plate.sentences), *map(_table_html, plate.tables)])


def _table_html(content: TextTable) -> str:
    return table(content.caption, content.columns, [(f"names{content.names}", line) for line in content.lines])


def study_markdown(study: StudyPage) -> str:
    """Return the page as Markdown, with links to the pictures."""
    return "\n".join(_markdown_lines(study)).rstrip("\n") + "\n"


def _markdown_lines(study: StudyPage) -> Iterator[str]:
    yield f"# {markdown_escaped(study.title)}\n"
    for sentence in study.about:
        yield f"{markdown_escaped(sentence)}\n"
    if study.lacking:
        yield "Missing here:\n"
        yield from (f"- {markdown_escaped(sentence)}" for sentence in study.lacking)
        yield ""
    if study.claims is not None:
        yield from _plate_markdown(study.claims)
        yield "## In short\n"
    yield from _table_markdown(study.summary)
    for plate in study.plates:
        yield from _plate_markdown(plate)
    yield "## How this was made\n"
    yield from (f"- {markdown_escaped(note)}" for note in study.notes)


def _plate_markdown(plate: Plate) -> Iterator[str]:
    yield f"## {markdown_escaped(plate.title)}\n"
    if plate.missing:
        yield f"Not made: {markdown_escaped(plate.missing)}\n"
    if plate.drawing is not None:
        yield f"![{markdown_escaped(plate.title)}]({plate.name}.png)\n"
        yield f"*{markdown_escaped(plate.drawing.caption)}*\n"
    for sentence in plate.sentences:
        yield f"{markdown_escaped(sentence)}\n"
    for content in plate.tables:
        yield from _table_markdown(content)


def _table_markdown(content: TextTable) -> Iterator[str]:
    yield f"**{markdown_escaped(content.caption)}**\n"
    yield markdown_table(content)
    yield ""


NO_CHANGE = 5e-4  # not visible with three decimals


def number(value: float | None, digits: int = 3) -> str:
    """Format a value for tables; a dash for None."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(share: float) -> str:
    """Format a share in percent, with a decimal close to 0 and 100."""
    near_end = 0 < share < 0.005 or 0.995 < share < 1
    return f"{100 * share:.{1 if near_end else 0}f} %"


def moved(before: float, after: float) -> str:
    """Return a phrase such as `rises from 0.100 to 0.200`."""
    if abs(after - before) < NO_CHANGE or number(before) == number(after):
        return f"stays at {number(after)}"
    return f"{'rises' if after > before else 'falls'} from {number(before)} to {number(after)}"


def listed(names: Sequence[str]) -> str:
    """Return `a, b and c`; names with a comma are quoted."""
    quoted = [f"“{name}”" if "," in name else name for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}" if quoted else "none"


HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested here"
NAME, TITLE = "ledger", "What the paper claims, and what was measured"
Study = TypeVar("Study")
COLUMNS = ("claim", "words", "what", "measured", "low", "high", "above", "below", "verdict", "why")
ROUNDING = 1e-9  # smaller values are 0
MAX_NUMBERS = 4  # numbers in a cell of the table
RULE = (
    "A claim holds if the intervals of all its numbers are on the claimed side; it does not hold if an interval is "
    "entirely on the other side; it cannot be tested without numbers, or if intervals are on both sides, so that the "
    "data do not decide. Numbers and bounds: ledger.csv."
)


@dataclass(frozen=True)
class Measured:
    """A number that tests a claim, its interval, and the bounds of the interval.

    The interval of a number without sampling error is the number.
    """

    what: str
    value: float
    low: float | None
    high: float | None
    above: float | None = None
    below: float | None = None

    @property
    def tested(self) -> bool:
        """Return whether the number has an interval."""
        return self.low is not None and self.high is not None

    @property
    def holds(self) -> bool:
        """Return whether the interval is entirely on the claimed side."""
        over = self.above is None or (self.low is not None and self.low > self.above)
        return over and (self.below is None or (self.high is not None and self.high < self.below))

    @property
    def refutes(self) -> bool:
        """Return whether the interval is entirely on the other side."""
        under = self.above is not None and self.high is not None and self.high <= self.above
        return under or (self.below is not None and self.low is not None and self.low >= self.below)

    def __str__(self) -> str:
        if self.low is None or self.high is None or self.low == self.high:
            return f"{self.what} {_short(self.value)}"
        return f"{self.what} {_short(self.value)} [{_short(self.low)}, {_short(self.high)}]"


@dataclass(frozen=True)
class Claim(Generic[Study]):
    """A claim of a paper: id, wording, and the function that returns the numbers that test it.

    `lacking` is the reason if there are no numbers; `note` is added to the finding.
    """

    id: str
    words: str
    measure: Callable[[Study], Iterable[Measured]]
    lacking: str = "nothing was measured"
    note: str | Callable[[Study], str] = ""


class Untestable(Exception):  # noqa: N818
    """Raised by a measurement with the reason why the claim cannot be tested on this study."""


@dataclass(frozen=True)
class Finding:
    """Result for a claim: its numbers, the verdict and the reason."""

    claim: Claim[Any]
    measured: tuple[Measured, ...]
    verdict: str
    why: str


def counted(what: str, value: float, above: float | None = None, below: float | None = None) -> Measured:
    """Return a number without sampling error."""
    return Measured(what, value, value, value, above, below)


def judge(claim: Claim[Study], study: Study) -> Finding:
    """Return the finding for a claim, by the intervals of its numbers."""
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
    """Return the first plate of a study: a line per claim; its CSV has a line per number."""
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
    table = TextTable(TITLE, ("", "claim", "verdict", "measured", "why"), tuple(lines), names=5)
    return Plate(NAME, TITLE, sentences=(count, RULE), tables=(table,), numbers=Numbers(COLUMNS, numbers))


def _shown(measured: Sequence[Measured]) -> str:
    """Return all numbers, or the count on the claimed side if there are more than `MAX_NUMBERS`."""
    if len(measured) <= MAX_NUMBERS:
        return "; ".join(map(str, measured)) or "–"
    holding = sum(number.holds for number in measured)
    return f"{holding} of {len(measured)} numbers lie on the claimed side (ledger.csv), such as {measured[0]}"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= ROUNDING else "0"


def _missed(numbers: Sequence[Measured], verb: str) -> str:
    """Return the numbers that are not on the claimed side."""
    missed = []
    for number in numbers[:MAX_NUMBERS]:
        sides = (("above", number.above), ("below", number.below))
        wanted = " and ".join(f"{side} {bound:.3g}" for side, bound in sides if bound is not None)
        missed.append(f"{number.what} {verb} {wanted}")
    return "; ".join(missed) + (f" and {len(numbers) - MAX_NUMBERS} more" if len(numbers) > MAX_NUMBERS else "")
