"""`evalign metrics`: list the metrics, or the options of one."""

from __future__ import annotations

import click
from rich.text import Text

from evalign.cli.options import complete_metric, format_option, print_result
from evalign.core.metric import Metric
from evalign.core.options import default_text, option_choices, option_fields
from evalign.core.registry import metric, metric_names
from evalign.errors import SpecError
from evalign.render.console import stdout_console
from evalign.render.tables import TABLE_FORMATS, TextTable


@click.command()
@click.argument("name", required=False, shell_complete=complete_metric)
@format_option(TABLE_FORMATS)
def metrics(name: str | None, output_format: str) -> None:
    """List the metrics, or the options of one.

    \b
    evalign metrics
    evalign metrics bertscore
    evalign metrics --format markdown
    """
    console = stdout_console()
    if name is None:
        print_result(TABLE_FORMATS, output_format, _overview())
        if output_format == "table":
            console.print(Text("\noptions of one: evalign metrics NAME", style="dim"))
    else:
        chosen = metric(name)
        if output_format == "table":
            console.print(Text.assemble((chosen.name, "bold"), f": {chosen.about}\n"))
        print_result(TABLE_FORMATS, output_format, _options(chosen))


def _overview() -> TextTable:
    columns = ("metric", "fields", "range", "better", "needs", "empty text", "several references", "description")
    lines = tuple(map(_overview_line, metric_names()))
    return TextTable("metrics", columns, lines, len(columns))


def _overview_line(name: str) -> tuple[str, ...]:
    try:
        listed = metric(name)
    except SpecError as error:  # the package that adds it is broken
        return (name, *["-"] * 6, str(error))
    low, high = listed.bounds
    several = next((item.default for item in option_fields(listed) if item.name == "multiref"), "-")
    better = "higher" if listed.higher_is_better else "lower"
    needs = " ".join(listed.needs) or "-"
    scores = (" ".join(listed.fields), f"{low:g} to {high:g}", better)
    return (name, *scores, needs, f"{listed.worst:g}", str(several), listed.about)


def _options(chosen: Metric) -> TextTable:
    lines = tuple(
        (item.name, default_text(item), " ".join(option_choices(item)), item.metadata["about"])
        for item in option_fields(chosen)
    )
    return TextTable(chosen.name, ("option", "default", "values", "description"), lines, 4)
