"""`evalign fit baseline` (scores of unrelated text) and `evalign fit layers` (layers that agree best with people)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalign.cli.inputs import column_options, human_option
from evalign.cli.options import FORMATS as FORMAT_NAMES
from evalign.cli.options import (
    INPUT_FILE,
    WRITTEN,
    aspect_option,
    document_option,
    embeddings_option,
    format_option,
    metric_option,
    note_file,
    output_option,
    parse_metric,
    print_result,
    resamples_option,
    seed_option,
    statistic_option,
    threads_option,
    within_option,
)
from evalign.errors import SpecError
from evalign.io.rows import Columns, InMemory, TableFile, read_texts
from evalign.training.plan import DEFAULT_FOLDS, DEFAULT_PAIRS, LAYER_CHOICES

if TYPE_CHECKING:
    from evalign.render.tables import TextTable
    from evalign.training.layers import TunedLayers
STATISTICS = ("pearson", "spearman", "kendall", "kendall-c")  # the keys of CORRELATIONS, which need scipy


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=INPUT_FILE)
@output_option("FILE", "table (.tsv), with notes next to it (.json).")
@metric_option
@click.option("--random-pairs", type=click.IntRange(1), default=DEFAULT_PAIRS, show_default=True, metavar="N",
              help="Number of unrelated pairs to score.")  # fmt: skip
@seed_option(0)
@click.option("--layer-set", multiple=True, metavar="4+6", help="A set of layers besides every single one; repeatable.")
@click.option("--about", default="", metavar="TEXT", help="Description of the texts, stored in the notes.")
@threads_option
def baseline(files: tuple[str, ...], output: Path, spec: str, random_pairs: int, seed: int, layer_set: tuple[str, ...],
             about: str, threads: int) -> None:  # fmt: skip
    """Score random unrelated pairs of the texts of FILE..., all layers in one pass, for use with rescale=FILE.

    \b
    evalign fit baseline news.txt -m "bertscore(model=mpnet)" -o mpnet-news.tsv
    evalign score data.jsonl -m "bertscore(model=mpnet, rescale=mpnet-news.tsv)"

    The texts are the lines of a file, or the references of a table (JSONL, CSV, TSV, Parquet). The result has
    bert_score's format. With scale=percentile a score becomes the share of unrelated pairs below it.
    """
    from evalign.metrics.baseline import Baseline, check_table_path
    from evalign.metrics.token_metric import is_token_metric
    from evalign.render.console import stdout_console
    from evalign.render.progress import progress
    from evalign.render.score_tables import baseline_table
    from evalign.training.baselines import fit_baseline

    metric = parse_metric(spec, threads)
    if not (metric.rescales and is_token_metric(metric)):
        raise SpecError(f"{metric.name} has no baseline; bertscore and lisascore have")
    check_table_path(output)
    note_file(str(output.with_suffix(".json")), WRITTEN, click.get_current_context())  # its notes
    texts = (text for path in files for text in read_texts(path))
    with progress("scoring unrelated pairs", random_pairs) as advance:
        fitted = fit_baseline(metric, texts, random_pairs, seed, layer_set, advance)
    fitted = replace(fitted, provenance={**fitted.provenance, "about": about})
    fitted.save(output)
    notes = fitted.provenance
    stdout_console().print(baseline_table(fitted))
    click.echo(f"{output}: {notes['pairs']} pairs of {notes['texts']} texts, digest {Baseline.load(output).digest}")


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=INPUT_FILE)
@metric_option
@click.option("--try", "choice_type", type=click.Choice(LAYER_CHOICES), default="runs", show_default=True,
              help="Choices to compare: single layers, runs of neighbours, or all sets (small models).")  # fmt: skip
@within_option
@document_option
@aspect_option
@statistic_option(STATISTICS, default="pearson", show_default=True, help="Measure of agreement; ranks the choices.")
@click.option("--folds", type=click.IntRange(2), default=DEFAULT_FOLDS, show_default=True,
              help="Folds of the cross-validation.")  # fmt: skip
@resamples_option()
@seed_option()
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Number of choices to show.")
@format_option(FORMAT_NAMES)
@human_option
@column_options
@embeddings_option
@threads_option
def layers(data: tuple[str, ...], spec: str, choice_type: str, within: str | None, document: str | None,
           aspect: str | None, statistic: str, folds: int, resamples: int, seed: int, top: int, output_format: str,
           columns: Columns, input_format: str | None, threads: int) -> None:  # fmt: skip
    """Compare the layers of a metric's model on rated rows, in one encoding pass.

    \b
    evalign fit layers wmt.jsonl --within lp
    evalign fit layers wmt.jsonl -m "bertscore(model=./my-model)" --try single
    """
    from evalign.analysis.rated_tables import rate
    from evalign.metrics.token_metric import is_token_metric
    from evalign.render.progress import progress
    from evalign.render.tables import TABLE_FORMATS
    from evalign.stats.bootstrap import Resampling
    from evalign.training.layers import RatedRows, Search, depth, layer_choices, tune_layers

    metric = parse_metric(spec, threads)
    if not is_token_metric(metric):
        raise SpecError(f"{metric.name} has no layers to choose from; try bertscore")
    extra = tuple(name for name in dict.fromkeys((within, document)) if name is not None)
    rows = [row for path in data for row in TableFile(path, replace(columns, extra=extra), input_format)]
    metric.check_needs(rows)
    table = rate(InMemory(rows), [])
    aspect = aspect or next(iter(table.human))
    if aspect not in table.human:
        raise SpecError(f"`aspect={aspect}`: people rated {', '.join(table.human)}")
    rated = RatedRows(
        table.rows,
        table.human[aspect],
        [""] * len(table.rows) if within is None else table.labels(within),
        ["\n".join(row.references) for row in table.rows] if document is None else table.labels(document),
    )
    choices = layer_choices(depth(metric), choice_type)
    search = Search(statistic, folds, Resampling(resamples, seed))
    with progress("scoring every layer", len(table.rows)) as advance:
        tuned = tune_layers(metric, rated, choices, search, advance)
    print_result(TABLE_FORMATS, output_format, _table(tuned, top))
    notes = [
        f"\nBest: {replace(metric, layer=tuned.best)}",
        f"Chosen without the fold it was measured on, {tuned.statistic} is {tuned.held_out.text()}; "
        f"the folds chose {', '.join(tuned.chosen)}.",
        *(f"left out: {count} rows, {why}" for why, count in table.left_out.items()),
    ]
    for note in notes:
        click.echo(note, err=output_format != "table")


def _table(tuned: TunedLayers, top: int) -> TextTable:
    from evalign.render.tables import TextTable

    single = [choice for choice in tuned.choices if "+" not in choice]
    listed = dict.fromkeys([*list(tuned.choices)[:top], *single])
    lines = tuple((choice, tuned.choices[choice].text()) for choice in listed)
    return TextTable("layers", ("layers", tuned.statistic), lines)
