"""Output formats: one table per kind of result, which the command line offers; an unknown name is an error."""

import json

import pytest

from evalign import metric
from evalign.analysis import agreement as judging
from evalign.analysis.comparison.run import compare_sources
from evalign.analysis.comparison.values import ComparisonPlan, Regression
from evalign.analysis.rated_tables import rate
from evalign.analysis.scoring import score_source
from evalign.cli.compare import compare
from evalign.cli.meta import meta
from evalign.cli.score import score
from evalign.data.rows import InMemory
from evalign.errors import SpecError
from evalign.render import comparison_tables, score_tables
from evalign.render.agreement import tables as agreement_tables
from evalign.render.tables import latex_tabular, render, terminal_table, tsv
from evalign.stats.bootstrap import Resampling
from evalign.types import Row

ROWS = [
    Row(str(place), f"the cat sat on mat {place % 4}", (f"a cat sat on mat {place}",), system=system, human=place % 5)
    for system in ("a_b", "c&d")
    for place in range(6)
]
METRICS = [metric("bertscore(model=fake)"), metric("rouge1")]


def scores():
    return (score_source(InMemory(ROWS), METRICS),)


def segments():
    rows = []
    results = score_source(InMemory(ROWS), METRICS, lambda result, segment: rows.append((result, segment)))
    return results, rows


def comparison():
    plan = ComparisonPlan(resampling=Resampling(20))
    worse = [Regression("c&d", "a_b", "rouge1", 0.1, 0.0, 0.01, True)]
    return compare_sources([InMemory(ROWS)], METRICS, plan), worse


def agreement():
    return (judging.judge_table(rate(InMemory(ROWS), METRICS), judging.Plan(resampling=Resampling(20))),)


RESULTS = {
    "scores": (score_tables.FORMATS, scores),
    "segments": (score_tables.SEGMENT_FORMATS, segments),
    "comparison": (comparison_tables.FORMATS, comparison),
    "agreement": (agreement_tables.FORMATS, agreement),
}


def is_json(text):
    json.loads(text)


def is_tsv(text):
    header, *lines = [line.split("\t") for line in text.split("\n")]
    assert lines
    assert {len(line) for line in lines} == {len(header)}


def is_latex(text):
    assert text.startswith(r"\begin{tabular}")
    lines = [line.removesuffix(r" \\").replace(r"\&", "") for line in text.split("\n") if line.endswith(r" \\")]
    assert len({line.count(" & ") for line in lines}) == 1
    assert "c&d" not in text


def is_renderable(shown):
    assert not isinstance(shown, str)


CHECKS = {"table": is_renderable, "json": is_json, "tsv": is_tsv, "latex": is_latex}


@pytest.mark.parametrize("kind", RESULTS)
def test_every_format_is_what_its_name_says(kind):
    writers, make = RESULTS[kind]
    values = make()
    for form in writers:
        CHECKS[form](render(writers, form, *values))


@pytest.mark.parametrize("kind", RESULTS)
@pytest.mark.parametrize("form", ["xml", "", "TABLE", "jsonl"])
def test_an_unknown_format_is_an_error(kind, form):
    writers, make = RESULTS[kind]
    with pytest.raises(SpecError, match=f"format '{form}'"):
        render(writers, form, *make())


@pytest.mark.parametrize(
    ("module", "tables"),
    [
        (score_tables, [score_tables.FORMATS, score_tables.SEGMENT_FORMATS]),
        (comparison_tables, [comparison_tables.FORMATS]),
        (agreement_tables, [agreement_tables.FORMATS]),
    ],
)
def test_every_writer_is_in_a_table(module, tables):
    subjects = ("results", "segments", "comparison", "agreement")
    names = {f"{subject}_{form}" for subject in subjects for form in CHECKS}
    written = {writer.__name__ for table in tables for writer in table.values()}
    assert written == {name for name in vars(module) if name in names}


@pytest.mark.parametrize(("command", "kind"), [(score, "scores"), (compare, "comparison"), (meta, "agreement")])
def test_the_command_line_offers_the_names_of_the_table(command, kind):
    (option,) = [option for option in command.params if option.name == "form"]
    assert list(option.type.choices) == list(RESULTS[kind][0])
    assert option.default == "table"


def test_tables_refuse_columns_they_do_not_know():
    with pytest.raises(KeyError):
        terminal_table(["a"], "x", [])
    with pytest.raises(ValueError, match="zip"):
        terminal_table(["a", "b"], "l", [])


def test_cells_stay_in_their_cells():
    assert tsv(["a", "b", "c"], [(None, 0.5, "x\ty\nz")]) == "a\tb\tc\n\t0.500000\tx y z"
    lines = latex_tabular(["a", "b"], "lr", [[["x_1 & 50 %", "$1$"]]], ["note"]).split("\n")
    assert lines == [r"\begin{tabular}{lr}", r"\toprule", r"a & b \\", r"\midrule", r"x\_1 \& 50 \% & $1$ \\",
                     r"\bottomrule", r"\end{tabular}", "% note"]  # fmt: skip
