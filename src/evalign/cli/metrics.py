"""`evalign metrics`: what there is to choose from."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from evalign.cli.options import metric_names, stdout_console
from evalign.metrics.base import Metric
from evalign.metrics.options import default_text, option_fields
from evalign.metrics.registry import METRICS, metric
from evalign.render.tables import terminal_table


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
    columns = ("metric", "fields", "range", "better", "needs", "empty text", "several references", "what it is")
    lines = []
    for listed in map(metric, METRICS):
        low, high = listed.bounds
        several = next((item.default for item in option_fields(listed) if item.name == "multiref"), "-")
        better = "higher" if listed.higher_is_better else "lower"
        lines.append((listed.name, " ".join(listed.fields), f"{low:g} to {high:g}", better,
                      " ".join(listed.needs) or "-", f"{listed.worst:g}", str(several), listed.about))  # fmt: skip
    return terminal_table(columns, "f" * len(columns), lines)


def _options(chosen: Metric) -> Table:
    lines = [
        (item.name, default_text(item), " ".join(item.metadata["choices"]), item.metadata["about"])
        for item in option_fields(chosen)
    ]
    return terminal_table(("option", "default", "values", "what it is"), "ffff", lines)
