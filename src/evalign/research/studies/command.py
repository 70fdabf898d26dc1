"""`evalign study NAME`: a paper's experiment, repeated on any models and data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from evalign.cli.groups import CommandGroup, with_flags
from evalign.cli.inputs import column_options, human_option
from evalign.cli.options import (
    INPUT_FILE,
    Function,
    aspect_option,
    folder_path,
    lang_option,
    models_option,
    output_option,
    sample_rows_option,
    seed_option,
    threads_option,
)
from evalign.errors import FileFormatError, SpecError
from evalign.io.rows import Columns
from evalign.render.console import stdout_console
from evalign.render.progress import progress

if TYPE_CHECKING:
    from rich.table import Table

    from evalign.render.tables import TextTable
    from evalign.research.studies.page import StudyPage

LISA_ROWS, GERMAN_ROWS = 200, 216  # as many rows as the German task had
INSTALLED = "[default: minilm, and mpnet if it is installed]"
no_cache_option = click.option("--no-cache", is_flag=True, help="Measure everything again, and store nothing.")


def study_output(folder: str) -> Callable[[Function], Function]:
    """`-o DIR`, a folder with a default."""
    return output_option("DIR", "folder of the page, the figures and their numbers.", type=folder_path,
                         required=False, default=Path(folder), show_default=True)  # fmt: skip


def data_option(fields: str, example: str) -> Callable[[Function], Function]:
    """`--data FILE`, as `data`."""
    return click.option("--data", metavar="FILE", type=INPUT_FILE,
                        help=f"Rows (JSONL, CSV, TSV, Parquet) with {fields}. [default: {example}]")  # fmt: skip


@click.group(cls=CommandGroup)
def study() -> None:
    """Repeat a paper's experiment: figures, numbers, and one page with the findings.

    \b
    evalign study lisa
    evalign study german --data summaries.jsonl --human-max 5 -o german
    """


@study.command()
@study_output("study-lisa")
@models_option(f"or `paper`: the paper's six; repeat for several. {INSTALLED}")
@sample_rows_option(LISA_ROWS)
@data_option("candidate, reference and source", "a small English-German example")
@click.option("--layer", default="last", show_default=True,
              help="Layer whose tokens are matched; the paper used the last.")  # fmt: skip
@seed_option()
@no_cache_option
@column_options
@threads_option
@click.pass_context
def lisa(ctx: click.Context, output: Path, models: tuple[str, ...], sample_rows: int, data: str | None, layer: str,
         seed: int, no_cache: bool, columns: Columns, input_format: str | None, threads: int) -> None:  # fmt: skip
    """Repeat the LiSAScore study: greedy matching, assignment and padding.

    \b
    evalign study lisa
    evalign study lisa --data translations.jsonl --model minilm --model mpnet -o lisa
    evalign study lisa --model paper --sample-rows 500
    evalign study lisa --model ./my-model --model bert-base-uncased

    The same command resumes a run that was stopped; a finished one takes seconds. Exit code 3 if something could not be
    made, such as a model that is not found; everything else is.
    """
    from evalign.research.studies.german.study import named_models
    from evalign.research.studies.inputs import Steps, choose, read_rows
    from evalign.research.studies.lisa.model_scores import LisaPlan
    from evalign.research.studies.lisa.study import PRESETS, lisa_page, run_lisa

    check_folder(output)
    chosen = choose(*read_rows(data, columns, input_format), sample_rows, seed)
    named = named_models(models, PRESETS) or known_here()
    plan = LisaPlan(layer=layer, seed=seed, threads=threads)
    with progress("measuring pairs", len(chosen.rows) * len(named)) as advance:
        measured = run_lisa(named, chosen, plan, Steps.of("lisa", keep=not no_cache), advance)
    finish(lambda: lisa_page(measured), output, ctx)


@study.command()
@study_output("study-german")
@models_option(f"or `german`: the paper's five; repeat for several. {INSTALLED}")
@sample_rows_option(GERMAN_ROWS)
@data_option("source, references, candidate and human", "a small German example")
@click.option("--human-max", type=float, help="Upper end of the ratings' scale. [default: the highest rating]")
@click.option("--human-min", type=float,
              help="Lower end of the ratings' scale. [default: 0, or the lowest rating if negative]")  # fmt: skip
@aspect_option
@click.option("--idf", type=click.Choice(("sources", "references")), default="sources", show_default=True,
              help="Texts over which IDF is counted.")  # fmt: skip
@click.option("--train", metavar="FILE", type=INPUT_FILE,
              help="Rated paraphrases to fine-tune on: candidate, reference, human, or Opusparcus's four columns "
                   "without a header.")  # fmt: skip
@click.option("--mapping", default="opusparcus", show_default=True, metavar="MAPPING",
              help="Ratings to similarities: as in `evalign train encoder`.")  # fmt: skip
@click.option("--finetune", multiple=True, metavar="NAME", help="Models to fine-tune; repeatable. [default: all]")
@click.option("--tune-first", is_flag=True, help="Fine-tune the first model only, which takes less time.")
@click.option("--epochs", type=click.IntRange(1), default=5, show_default=True, help="Passes over the training pairs.")
@lang_option("de", "of METEOR.")
@click.option("--layer", default="last", show_default=True,
              help="Layer whose tokens are matched; last as in the paper; tuned: evalign's default for the model; a "
                   "number; all: the last, and a table of all.")  # fmt: skip
@seed_option()
@no_cache_option
@human_option
@column_options
@threads_option
@click.pass_context
def german(ctx: click.Context, /, output: Path, models: tuple[str, ...], data: str | None, train: str | None, seed: int,
           columns: Columns, input_format: str | None, threads: int, no_cache: bool, **extra: Any) -> None:  # fmt: skip
    """Repeat the German summaries study (after GermEval-2020 task 3): metrics against people's ratings.

    \b
    evalign study german
    evalign study german --data summaries.jsonl --human-max 5 --model german --train opusparcus_de.tsv
    evalign study german --data rated.jsonl --model minilm --model ./my-model --train pairs.jsonl --mapping linear

    The same command resumes a run that was stopped, the fine-tuning too; a finished one takes seconds. Exit code 3 if
    something could not be made, such as a model that is not found or IDF without sources; everything else is.
    """
    from evalign.research.studies.german.data import RowChoice, read_judged, training_pairs
    from evalign.research.studies.german.page import german_page
    from evalign.research.studies.german.study import PAPER, GermanPlan, named_models, run_german, work
    from evalign.research.studies.german.systems import MetricOptions
    from evalign.research.studies.inputs import Steps
    from evalign.stats.bootstrap import Resampling

    options = MetricOptions(extra["lang"], extra["layer"], threads)
    if extra["tune_first"] and extra["finetune"]:
        raise SpecError("`tune_first` and `finetune` both name the models to fine-tune: give one of them")
    check_folder(output)
    scale = extra["human_min"], extra["human_max"]
    choice = RowChoice(extra["sample_rows"], seed, extra["aspect"], *scale, extra["idf"])
    judged = read_judged(data, columns, input_format, choice)
    asked = "`finetune`" if extra["finetune"] else "`tune_first`" if extra["tune_first"] else ""
    if asked and data is not None and train is None:
        raise SpecError(f"{asked} needs rated paraphrases to learn from: give `train=FILE`")
    pairs = training_pairs(train, extra["mapping"], judged) if train or data is None else None
    plan = GermanPlan(
        options,
        pairs,
        replace(PAPER, epochs=extra["epochs"], seed=seed, threads=threads),
        tuple(named_models(extra["finetune"])) or None,
        extra["tune_first"],
        Resampling(seed=seed),
    )
    named = named_models(models) or known_here()
    with progress("scoring and training", work(named, judged, plan)) as advance:
        measured = run_german(named, judged, plan, Steps.of("german", keep=not no_cache), advance)
    finish(lambda: german_page(measured), output, ctx)


def known_here() -> list[str]:
    """Return MiniLM, which may be fetched, and other known models that are on this machine."""
    from evalign.encoders.weights import KNOWN, local_directory

    first, *more = KNOWN
    return [first, *(name for name in more if local_directory(KNOWN[name]) is not None)]


def check_folder(out: Path) -> None:
    """Raise an error before the work if nothing could be written into the folder after it."""
    from evalign.render.figures import styled

    with styled():
        pass
    if not out.resolve().parent.is_dir():
        raise FileFormatError(f"{out}: no folder can be made there, {out.resolve().parent} does not exist")
    created = False
    try:
        try:
            out.mkdir()
            created = True
        except FileExistsError:
            pass
        with TemporaryDirectory(prefix=".evalign-", dir=out):
            pass
    except OSError as error:
        raise FileFormatError(f"{out}: cannot be written ({error.strerror or error})") from error
    finally:
        if created:
            out.rmdir()


def finish(make: Callable[[], StudyPage], out: Path, ctx: click.Context) -> None:
    """Write the study, prints its key numbers, and exits with 3 if something is missing."""
    from rich.text import Text

    from evalign.research.studies.page import PAGE, save_study

    with progress("drawing"):
        page = make()
        save_study(page, out)
    console = stdout_console()
    console.print(*(Text(sentence) for sentence in page.about[1:]), sep="\n")
    for table in (*(page.claims.tables if page.claims is not None else ()), page.summary):
        console.print(_terminal_table(table))
    console.print(Text(f"{out / PAGE}: findings; next to it the figures (PNG, SVG) and their numbers (CSV)"))
    for sentence in page.lacking:
        click.echo(f"missing: {with_flags(sentence, ctx.command)}", err=True)
    ctx.exit(3 if page.lacking else 0)


def _terminal_table(study_table: TextTable) -> Table:
    from evalign.render.tables import terminal_table

    kinds = "f" * study_table.names + "n" * (len(study_table.columns) - study_table.names)
    return terminal_table(
        study_table.columns, kinds, study_table.lines, title=study_table.caption, title_justify="left"
    )
