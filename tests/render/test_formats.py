"""Output formats: one table per kind of result, which the command line offers; an unknown name is an error."""

import csv
import json

import pytest

from evalign import metric
from evalign.analysis import agreement as judging
from evalign.analysis.comparison import compare_sources
from evalign.analysis.comparison_results import ComparisonPlan, Regression
from evalign.analysis.rated_tables import rate
from evalign.analysis.scoring import score_source
from evalign.cli.agree import agree
from evalign.cli.compare import compare
from evalign.cli.score import score
from evalign.core import Row
from evalign.errors import SpecError
from evalign.io.rows import InMemory
from evalign.render import comparison_tables, score_tables
from evalign.render.agreement import tables as agreement_tables
from evalign.render.figures import save_numbers
from evalign.render.tables import (
    TABLE_FORMATS,
    TextTable,
    interval_text,
    latex_tabular,
    metric_label,
    render,
    score_text,
    terminal_table,
    tsv,
)
from evalign.stats.bootstrap import Resampling

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
    return (judging.agree_table(rate(InMemory(ROWS), METRICS), judging.AgreementPlan(resampling=Resampling(20))),)


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


def is_markdown(text):
    tables = [block.split("\n") for block in text.split("\n\n") if block.startswith("| ")]
    assert tables
    for lines in tables:
        cells = {line.replace(r"\|", "").count("|") for line in lines}
        assert len(cells) == 1
        assert set(lines[1]) <= set("|-:")
    assert "c&d" not in text
    assert "a_b" not in text


def is_renderable(shown):
    assert not isinstance(shown, str)


CHECKS = {"table": is_renderable, "json": is_json, "tsv": is_tsv, "latex": is_latex, "markdown": is_markdown}


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


@pytest.mark.parametrize(("command", "kind"), [(score, "scores"), (compare, "comparison"), (agree, "agreement")])
def test_the_command_line_offers_the_names_of_the_table(command, kind):
    (option,) = [option for option in command.params if option.name == "output_format"]
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


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('=HYPERLINK("x")', '\'=HYPERLINK("x")'),
        ("+1+cmd", "'+1+cmd"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1+1", "' =1+1"),
        ("\r=1+1", "' =1+1"),
        ("＝1+1", "'＝1+1"),
        ("-0.5", "-0.5"),
        ("+1e-5", "+1e-5"),
        ("-", "-"),
        ("a=b", "a=b"),
        (-0.5, "-0.500000"),
        (-3, "-3"),
        ("a\x1b[31m\u202e", "a\\u001b[31m\\u202e"),
    ],
)
def test_cells_that_spreadsheets_would_compute_are_made_harmless(tmp_path, text, cell):
    assert tsv(["a"], [(text,)]) == f"a\n{cell}"
    if isinstance(text, str) and "\x1b" not in text:
        save_numbers(tmp_path / "numbers.csv", ["a"], [(text,)])
        assert list(csv.reader((tmp_path / "numbers.csv").read_text("utf-8").splitlines()))[1] == [cell]


def test_latex_and_markdown_have_no_control_characters():
    table = TextTable("", ("a",), (("x\x1b[31m\x9b\u202e",),))
    for form in ("latex", "markdown"):
        assert "x\ufffd" in render(TABLE_FORMATS, form, table)
        assert not {"\x1b", "\x9b", "\u202e"} & set(render(TABLE_FORMATS, form, table))
    assert latex_tabular(["a"], "l", [], ["note\nline"]).endswith("% note line")


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("bertscore", "bertscore[minilm]"),
        ("bertscore(layer=5, idf=references)", "bertscore[minilm](layer=5, idf=references)"),
        ("lisascore(model=mpnet)", "lisascore[mpnet]"),
        ("chrf", "chrf"),
        ("rouge1(stem=true)", "rouge1(stem=true)"),
        ("comet", "comet"),
        ("a system | name", "a system | name"),
    ],
)
def test_tables_for_papers_name_the_model(spec, label):
    assert metric_label(spec) == label


@pytest.mark.parametrize(
    ("name", "value", "printed"),
    [
        ("bertscore(layer=5)", 0.123456, "0.1235"),
        ("bertscore|model:fake|layer:2|v:0.2.0", -0.5, "-0.5000"),
        ("evalign", 56.165939, "56.17"),
        ("fkgl", 8.125001, "8.13"),
        ("bartscore", -2.71828, "-2.718"),
        ("of another program", 12.34567, "12.3457"),
    ],
)
def test_scores_are_printed_with_the_digits_of_every_processor(name, value, printed):
    assert score_text(value, name) == printed
    assert score_text(abs(value), name, sign="+") == f"+{printed.lstrip('-')}"
    assert interval_text((value, value), name) == f"[{printed}, {printed}]"


def test_tables_for_programs_have_two_digits_more():
    rows = []
    results = score_source(InMemory(ROWS), [metric("chrf")], lambda result, segment: rows.append((result, segment)))
    header, line = (line.split("\t") for line in score_tables.results_tsv(results).splitlines()[:2])
    assert line[header.index("score")] == f"{results[0].scores['score']:.4f}"
    header, line = (line.split("\t") for line in score_tables.segments_tsv(results, rows).splitlines()[:2])
    assert line[header.index("score")] == f"{rows[0][1].scores['score']:.4f}"
