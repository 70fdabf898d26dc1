"""`evalign compare`: differences between systems on the same rows, with tests and the rows that differ most."""

from __future__ import annotations

from pathlib import Path

import click

from evalign.analysis.comparison import compare_sources
from evalign.analysis.comparison_results import (
    TESTS,
    ComparisonPlan,
    Regression,
    RegressionLimits,
    SystemComparison,
    regressions,
)
from evalign.cli.corpus_page import PageRows, corpus_page_option, rereadable
from evalign.cli.inputs import InputOptions, field_options, file_options
from evalign.cli.messages import echo_message
from evalign.cli.options import (
    alpha_option,
    embeddings_option,
    format_option,
    metrics_option,
    print_result,
    resamples_option,
    seed_option,
    threads_option,
)
from evalign.errors import SpecError
from evalign.io.rows import ID, TEXT
from evalign.render.comparison_tables import FORMATS
from evalign.render.progress import progress
from evalign.stats.bootstrap import Resampling
from evalign.stats.significance import CORRECTIONS

BOTH = "both"
EXIT_ROWS_FAILED, EXIT_WORSE = 3, 4


@click.command()
@file_options
@metrics_option()
@click.option("--baseline", metavar="NAME", help="The system that others are compared with; the first if not given.")
@click.option("--pair-by", metavar="FIELD", help="Field of DATA that rows of the same input share; 'text': references "
              "and source. If not given: the id if all systems have the same, else text.")  # fmt: skip
@click.option("--test", type=click.Choice([*TESTS, BOTH]), default=BOTH, show_default=True, help="Significance test.")
@resamples_option()
@seed_option()
@alpha_option
@click.option("--correction", type=click.Choice(CORRECTIONS), default="holm", show_default=True,
              help="Multiple-testing correction of the p-values that decide the ranks.")  # fmt: skip
@click.option(
    "--examples",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Number of rows to show, those that differ most.",
)
@click.option("--fail-if-worse", multiple=True, metavar="LIMIT", help="Exit code 4 if a system is worse than "
              "the baseline by more than this, significantly. A number, or METRIC=NUMBER; repeatable.")  # fmt: skip
@format_option(FORMATS)
@corpus_page_option
@field_options
@embeddings_option
@threads_option
def compare(inputs: InputOptions, specs: tuple[str, ...], baseline: str | None, pair_by: str | None, test: str,
            resamples: int,
            seed: int, alpha: float, correction: str, examples: int, fail_if_worse: tuple[str, ...], output_format: str,
            html: Path | None, threads: int) -> int:  # fmt: skip
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
    metrics = inputs.metrics(specs, threads)
    allowed = RegressionLimits.parse(fail_if_worse, metrics)
    tests = TESTS if test == BOTH else (test,)
    inputs, pair_by = _with_pairing_field(inputs, pair_by)
    plan = ComparisonPlan(baseline, pair_by, tests, Resampling(resamples, seed), alpha, correction, examples)
    sources = rereadable(inputs.rows(metrics))
    page_rows = PageRows(metrics) if html is not None else None
    comparison = compare_sources(sources, metrics, plan, progress, page_rows)
    if html is not None and page_rows is not None:
        page_rows.write(html, sources, comparison)
    worse = regressions(comparison, allowed) if fail_if_worse else None
    print_result(FORMATS, output_format, comparison, worse)
    return _exit_code(comparison, worse or [])


def _with_pairing_field(inputs: InputOptions, pair_by: str | None) -> tuple[InputOptions, str | None]:
    """Return the inputs with the field to pair by among their fields, and that field; ids are required if named."""
    repeated = [path for path in inputs.candidates if inputs.candidates.count(path) > 1]
    if repeated:
        raise SpecError(f"{repeated[0]} is given twice; each -c file is one system")
    if pair_by is None or pair_by == TEXT:
        return inputs, pair_by
    if inputs.data is None:
        if pair_by != ID:
            raise SpecError(f"--pair-by {pair_by}: text files have no fields; their lines are paired by number")
        return inputs, ID
    field = inputs.columns.id if pair_by == ID else pair_by
    return inputs.with_fields(field), field


def _exit_code(comparison: SystemComparison, worse: list[Regression]) -> int:
    """Return the exit code, and print the reason on standard error."""
    failed = [metric for metric in comparison.metrics if metric.failed]
    for metric in failed:
        echo_message(
            f"{metric.failed} of {comparison.rows} rows failed under {metric.metric} and were left out for "
            f"all systems; the first: {metric.first_error}"
        )
    for regression in worse:
        echo_message(str(regression))
    if any(regression.significant for regression in worse):
        return EXIT_WORSE
    return EXIT_ROWS_FAILED if failed else 0
