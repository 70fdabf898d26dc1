"""`evalign compare`: two or more systems on the same rows; the difference, whether it is real, and where it is."""

from __future__ import annotations

from pathlib import Path

import click

from evalign.analysis.comparison.run import compare_sources
from evalign.analysis.comparison.values import TESTS, ComparisonPlan, Limits, Regression, SystemComparison, regressions
from evalign.cli.corpus_page import PageRows, corpus_page_option, read_twice
from evalign.cli.inputs import Given, field_options, file_options
from evalign.cli.options import embeddings_option, format_option, metrics_option, print_result, threads_option
from evalign.data.row_pairing import ID, TEXT
from evalign.errors import SpecError
from evalign.render.comparison_tables import FORMATS
from evalign.render.progress import progress
from evalign.stats.bootstrap import Resampling
from evalign.stats.clusters import CORRECTIONS

BOTH = "both"
SOME_FAILED, WORSE = 3, 4


@click.command()
@file_options
@metrics_option
@click.option("--baseline", metavar="NAME", help="The system that others are compared with; the first if not given.")
@click.option("--pair-by", metavar="FIELD", help="Field of DATA that rows of the same input share; 'text': references "
              "and source. If not given: the id if all systems have the same, else text.")  # fmt: skip
@click.option("--test", type=click.Choice([*TESTS, BOTH]), default=BOTH, show_default=True, help="Which p-values.")
@click.option("--samples", type=click.IntRange(1, 10_000_000), default=1000, show_default=True,
              help="Resamples of the bootstrap, and trials of the randomisation.")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=12345, show_default=True, help="The same seed, the same result."
)
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
              help="A difference is significant if p is below this.")  # fmt: skip
@click.option("--correction", type=click.Choice(CORRECTIONS), default="holm", show_default=True,
              help="How p-values behind the ranks of three or more systems are corrected for number.")  # fmt: skip
@click.option("--examples", type=click.IntRange(0), default=3, show_default=True, help="Most different rows to show.")
@click.option("--fail-if-worse", "limits", multiple=True, metavar="LIMIT", help="Exit code 4 if a system is worse than "
              "the baseline by more than this, significantly. A number, or METRIC=NUMBER; repeatable.")  # fmt: skip
@format_option(FORMATS)
@corpus_page_option
@field_options
@embeddings_option
@threads_option
def compare(given: Given, specs: tuple[str, ...], baseline: str | None, pair_by: str | None, test: str, samples: int,
            seed: int, alpha: float, correction: str, examples: int, limits: tuple[str, ...], form: str,
            page: Path | None, threads: int) -> int:  # fmt: skip
    """Compare systems on the same rows.

    \b
    evalign compare -c old.txt -c new.txt -r reference.txt -m bleu -m chrf
    evalign compare data.jsonl --baseline old -m rouge --examples 5
    evalign compare -c main.txt -c branch.txt -r reference.txt -m bleu --fail-if-worse 0.5
    evalign compare -c old.txt -c new.txt -r reference.txt -m bertscore --html compared.html
    evalign compare scores/ --baseline old

    Each system gets its score with a bootstrap interval, its difference from the baseline, two-sided p-values by
    paired bootstrap resampling and approximate randomisation, rows won, lost and tied, and the rows that differ most.
    DATA may be the folder of a finished batch job, whose scores are read.

    Exit code 0: compared; 2: bad input; 3: some rows failed, and were left out for all systems; 4: with
    --fail-if-worse, a system is worse than the baseline by more than the limit, and p < alpha in every test that was
    run. Limits are in the metric's own units (0.5 BLEU points, 0.01 of F1). 4 goes before 3.
    """
    metrics = given.metrics(specs, threads)
    allowed = Limits.parse(limits, metrics)
    tests = TESTS if test == BOTH else (test,)
    given, pair_by = _paired(given, pair_by)
    plan = ComparisonPlan(baseline, pair_by, tests, Resampling(samples, seed), alpha, correction, examples)
    inputs = read_twice(given.rows(metrics))
    page_rows = PageRows(metrics) if page is not None else None
    comparison = compare_sources(inputs, metrics, plan, progress, page_rows)
    if page is not None and page_rows is not None:
        page_rows.write(page, inputs, comparison)
    worse = regressions(comparison, allowed) if limits else None
    print_result(FORMATS, form, comparison, worse)
    return _exit_code(comparison, worse or [])


def _paired(given: Given, pair_by: str | None) -> tuple[Given, str | None]:
    """The field to pair by is read along; ids too, so that a row without one is an error when ids were asked for."""
    repeated = [path for path in given.candidates if given.candidates.count(path) > 1]
    if repeated:
        raise SpecError(f"{repeated[0]} is given twice; each -c file is one system")
    if pair_by is None or pair_by == TEXT:
        return given, pair_by
    if given.data is None:
        if pair_by != ID:
            raise SpecError(f"--pair-by {pair_by}: text files have no fields; their lines are paired by number")
        return given, ID
    field = given.columns.id if pair_by == ID else pair_by
    return given.carrying(field), field


def _exit_code(comparison: SystemComparison, worse: list[Regression]) -> int:
    """The exit code; what it means is said on standard error."""
    failed = [metric for metric in comparison.metrics if metric.failed]
    for metric in failed:
        click.echo(
            f"evalign: {metric.failed} of {comparison.rows} rows failed under {metric.metric} and were left out for "
            f"all systems; the first: {metric.first_error}",
            err=True,
        )
    for regression in worse:
        click.echo(f"evalign: {regression}", err=True)
    if any(regression.significant for regression in worse):
        return WORSE
    return SOME_FAILED if failed else 0
