"""`evalign layers tune`: which layers of a model agree best with people."""

from __future__ import annotations

from dataclasses import replace

import click
from rich.table import Table

from evalign.analysis.rated_tables import rate
from evalign.cli.inputs import column_options, human_option
from evalign.cli.options import A_FILE, embeddings_option, metric_option, parse_metric, stdout_console, threads_option
from evalign.data.rows import Columns, InMemory, TableFile
from evalign.errors import SpecError
from evalign.metrics.token_metric import TokenMetric
from evalign.render.progress import progress
from evalign.render.tables import terminal_table
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import CORRELATIONS
from evalign.tuning.grid import CHOICES, depth, layer_choices
from evalign.tuning.layers import DEFAULT_FOLDS, RatedRows, Search, TunedLayers, tune_layers


@click.group()
def layers() -> None:
    """Find the layers that agree best with people."""


@layers.command()
@click.argument("data", nargs=-1, required=True, type=A_FILE)
@metric_option
@click.option("--try", "kind", type=click.Choice(CHOICES), default="runs", show_default=True,
              help="Single layers, runs of neighbours, or all sets (small models).")  # fmt: skip
@click.option("--by", metavar="FIELD", help="Correlate within groups, such as lp, and average.")
@click.option("--document", metavar="FIELD", help="Rows of one document stay in one fold. [default: equal references]")
@click.option("--aspect", metavar="NAME", help="Which rating, if the human field holds several.")
@click.option("--statistic", type=click.Choice(tuple(CORRELATIONS)), default="pearson", show_default=True)
@click.option("--folds", type=click.IntRange(2), default=DEFAULT_FOLDS, show_default=True)
@click.option("--samples", type=click.IntRange(1), default=1000, show_default=True, help="Bootstrap resamples.")
@click.option("--seed", type=click.IntRange(0), default=12345, show_default=True)
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many choices to show.")
@human_option
@column_options
@embeddings_option
@threads_option
def tune(data: tuple[str, ...], spec: str, kind: str, by: str | None, document: str | None, aspect: str | None,
         statistic: str, folds: int, samples: int, seed: int, top: int, columns: Columns, input_format: str | None,
         threads: int) -> None:  # fmt: skip
    """Compare the layers of a metric's model on rated rows, in one encoding pass.

    \b
    evalign layers tune wmt.jsonl --by lp
    evalign layers tune wmt.jsonl -m "bertscore(model=./my-model)" --try single
    """
    metric = parse_metric(spec, threads)
    if not isinstance(metric, TokenMetric):
        raise SpecError(f"{metric.name} has no layers to choose from; try bertscore")
    extra = tuple(name for name in dict.fromkeys((by, document)) if name is not None)
    rows = [row for path in data for row in TableFile(path, replace(columns, extra=extra), input_format)]
    metric.check_needs(rows)
    table = rate(InMemory(rows), [])
    aspect = aspect or next(iter(table.human))
    if aspect not in table.human:
        raise SpecError(f"--aspect {aspect}: people rated {', '.join(table.human)}")
    rated = RatedRows(
        table.rows,
        table.human[aspect],
        [""] * len(table.rows) if by is None else table.labels(by),
        ["\n".join(row.references) for row in table.rows] if document is None else table.labels(document),
    )
    choices = layer_choices(depth(metric), kind)
    search = Search(statistic, folds, Resampling(samples, seed))
    with progress("scoring every layer", len(table.rows)) as advance:
        tuned = tune_layers(metric, rated, choices, search, advance)
    stdout_console().print(_table(tuned, top))
    click.echo(f"\nBest: {replace(metric, layer=tuned.best)}")
    click.echo(
        f"Chosen without the fold it was judged on, {tuned.statistic} is {tuned.held_out.text()}; "
        f"the folds chose {', '.join(tuned.chosen)}."
    )
    for why, count in table.left_out.items():
        click.echo(f"left out: {count} rows, {why}")


def _table(tuned: TunedLayers, top: int) -> Table:
    single = [choice for choice in tuned.choices if "+" not in choice]
    shown = dict.fromkeys([*list(tuned.choices)[:top], *single])
    lines = [(choice, tuned.choices[choice].text()) for choice in shown]
    return terminal_table(("layers", tuned.statistic), "wn", lines)
