"""`evalign baseline fit` and `get`: what unrelated text scores, so that a score can say how far from chance it is."""

from __future__ import annotations

from dataclasses import replace

import click

from evalign.cli.options import A_FILE, metric_option, parse_metric, stdout_console, threads_option
from evalign.data.text_lines import read_lines
from evalign.errors import SpecError
from evalign.metrics.baseline import Baseline, check_table_path
from evalign.metrics.matching_metric import PRFMetric
from evalign.metrics.published_baselines import get_baselines
from evalign.render.progress import progress
from evalign.render.score_tables import baseline_table
from evalign.tuning.baselines import DEFAULT_PAIRS, fit_baseline


@click.group()
def baseline() -> None:
    """Fit or get baselines for use with rescale=FILE."""


@baseline.command()
def get() -> None:
    """Get the baselines that bert_score ships: from the installed package, or its wheel on PyPI without the rest.

    Then rescale_with_baseline=True works in evalign.score and evalign.BERTScorer, and rescale=FILE in a spec.
    """
    with progress("fetching"):
        tables = get_baselines()
    for (language, model), path in sorted(tables.items()):
        click.echo(f"{language}\t{model}\t{path}")


@baseline.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=A_FILE)
@click.option("-o", "--output", required=True, metavar="FILE", type=A_FILE, help="The table (.tsv); notes go beside it "
              "as .json.")  # fmt: skip
@metric_option
@click.option("--pairs", type=click.IntRange(1), default=DEFAULT_PAIRS, show_default=True, help="Unrelated pairs.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the pairing.")
@click.option("--layers", "more", multiple=True, metavar="4+6", help="A set of layers besides every single one.")
@click.option("--about", default="", metavar="TEXT", help="Kept in the notes: what the texts are.")
@threads_option
def fit(files: tuple[str, ...], output: str, spec: str, pairs: int, seed: int, more: tuple[str, ...], about: str,
        threads: int) -> None:  # fmt: skip
    """Score random unrelated pairs of the lines of FILE..., every layer in one pass.

    \b
    evalign baseline fit news.txt -m "bertscore(model=mpnet)" -o mpnet-news.tsv
    evalign score data.jsonl -m "bertscore(model=mpnet, rescale=mpnet-news.tsv)"

    The table has bert_score's format. With scale=percentile a score becomes the share of unrelated pairs below it.
    """
    metric = parse_metric(spec, threads)
    if not isinstance(metric, PRFMetric):
        raise SpecError(f"{metric.name} has no baseline; bertscore and lisascore have")
    check_table_path(output)
    with progress("scoring unrelated pairs", pairs) as advance:
        fitted = fit_baseline(metric, (line for path in files for line in read_lines(path)), pairs, seed, more, advance)
    fitted = replace(fitted, provenance={**fitted.provenance, "about": about})
    fitted.save(output)
    said = fitted.provenance
    stdout_console().print(baseline_table(fitted))
    click.echo(f"{output}: {said['pairs']} pairs of {said['texts']} texts, digest {Baseline.load(output).digest}")
