"""`evalign metrics`: what there is to choose from."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from evalign.cli.options import metric_names, stdout_console
from evalign.metrics.base import Metric
from evalign.metrics.options import default_text, option_fields
from evalign.metrics.registry import METRICS, metric


@click.command()
@click.argument("name", required=False, shell_complete=metric_names)
def metrics(name: str | None) -> None:
    """List the metrics, or the options of one.

    \b
    evalign metrics
    evalign metrics bertscore
    """
    console = stdout_console()
    if name is None:
        console.print(_overview())
        console.print(Text("\noptions of one: evalign metrics NAME", style="dim"))
    else:
        chosen = metric(name)
        console.print(Text.assemble((chosen.name, "bold"), f": {chosen.about}\n"))
        console.print(_options(chosen))


def _overview() -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("metric", "fields", "range", "better", "needs", "empty text", "several references", "what it is"):
        table.add_column(column, overflow="fold")
    for one in map(metric, METRICS):
        low, high = one.bounds
        several = next((item.default for item in option_fields(one) if item.name == "multiref"), "-")
        table.add_row(
            one.name, " ".join(one.fields), f"{low:g} to {high:g}", "higher" if one.higher_is_better else "lower",
            " ".join(one.needs) or "-", f"{one.worst:g}", str(several), Text(one.about),
        )  # fmt: skip
    return table


def _options(chosen: Metric) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("option", "default", "values", "what it is"):
        table.add_column(column, overflow="fold")
    for item in option_fields(chosen):
        table.add_row(item.name, default_text(item), " ".join(item.metadata["choices"]), Text(item.metadata["about"]))
    return table
