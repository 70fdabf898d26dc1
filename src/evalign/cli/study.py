"""`evalign study NAME`: a paper's experiment, repeated on any models and data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from evalign.cli.inputs import column_options, human_option
from evalign.cli.options import A_FILE, stdout_console, threads_option
from evalign.data.rows import Columns
from evalign.encoders.locating import local_directory
from evalign.encoders.pinned_models import KNOWN
from evalign.errors import FileFormatError, SpecError
from evalign.render.figures import styled
from evalign.render.progress import progress
from evalign.render.study.page import PAGE, StudyPage, StudyTable, save_study
from evalign.render.tables import terminal_table
from evalign.stats.bootstrap import Resampling
from evalign.studies.german.data import REFERENCES, SOURCES, RowChoice, read_judged, training_pairs
from evalign.studies.german.page import german_page
from evalign.studies.german.published import ROWS
from evalign.studies.german.study import GermanPlan, named_models, run_german, work
from evalign.studies.german.systems import LAST, Options
from evalign.studies.german.tuning import PAPER
from evalign.studies.inputs import choose, read_rows
from evalign.studies.lisa.model_scores import LisaPlan
from evalign.studies.lisa.study import PRESETS, lisa_page, run_lisa
from evalign.studies.step_cache import Steps


@click.group()
def study() -> None:
    """Repeat a paper's experiment: figures, numbers, and one page that says what is seen."""


@study.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("study-lisa"), show_default=True,
              help="Folder for the page, the figures and their numbers.")  # fmt: skip
@click.option("--models", multiple=True, metavar="MODEL", help="A known model, a directory or a hub name, or `paper`: "
              "the paper's six; repeat for several. [default: minilm, and mpnet if it is here]")  # fmt: skip
@click.option("--pairs", type=click.IntRange(1), default=200, show_default=True, help="At most so many pairs.")
@click.option("--data", metavar="FILE", type=A_FILE,
              help="JSONL, CSV, TSV or Parquet with candidate, reference and source. "
              "[default: a small English-German example]")  # fmt: skip
@click.option("--layer", default="last", show_default=True, help="Layer of the models; the paper used the last.")
@click.option("--seed", type=click.IntRange(0), default=12345, show_default=True)
@click.option("--no-cache", is_flag=True, help="Measure everything anew, and keep nothing.")
@column_options
@threads_option
@click.pass_context
def lisa(ctx: click.Context, out: Path, models: tuple[str, ...], pairs: int, data: str | None, layer: str, seed: int,
         no_cache: bool, columns: Columns, input_format: str | None, threads: int) -> None:  # fmt: skip
    """Repeat the LiSAScore study: greedy matching, assignment and padding.

    \b
    evalign study lisa
    evalign study lisa --data translations.jsonl --models minilm --models mpnet --out lisa
    evalign study lisa --models paper --pairs 500
    evalign study lisa --models ./my-model --models bert-base-uncased

    A run that was stopped goes on where it was; the same run again takes seconds. Exit code 3 if something could not be
    made, such as a model that is not found; everything else is.
    """
    check_folder(out)
    chosen = choose(*read_rows(data, columns, input_format), pairs, seed)
    named = named_models(models, PRESETS) or known_here()
    plan = LisaPlan(layer=layer, seed=seed, threads=threads)
    with progress("measuring pairs", len(chosen.rows) * len(named)) as advance:
        measured = run_lisa(named, chosen, plan, Steps.of("lisa", keep=not no_cache), advance)
    finish(lambda: lisa_page(measured), out, ctx)


@study.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("study-german"),
              show_default=True, help="Folder for the page, the figures and their numbers.")  # fmt: skip
@click.option("--models", multiple=True, metavar="MODEL", help="A known model, a directory or a hub name, or `german`: "
              "the paper's five; repeat for several. [default: minilm, and mpnet if it is here]")  # fmt: skip
@click.option("--pairs", "rows", type=click.IntRange(1), default=ROWS, show_default=True,
              help="At most so many rows; as many as the task had.")  # fmt: skip
@click.option("--data", metavar="FILE", type=A_FILE,
              help="JSONL, CSV, TSV or Parquet with source, references, candidate and human. "
              "[default: a small German example]")  # fmt: skip
@click.option("--human-max", "high", type=float, help="Upper end of the ratings' scale. [default: the highest rating]")
@click.option("--human-min", "low", type=float, help="Lower end. [default: 0, or the lowest rating if one is negative]")
@click.option("--aspect", metavar="NAME", help="Which rating, if the human field holds several.")
@click.option("--idf", type=click.Choice((SOURCES, REFERENCES)), default=SOURCES, show_default=True,
              help="Which texts IDF is counted over.")  # fmt: skip
@click.option("--train", metavar="FILE", type=A_FILE,
              help="Rated paraphrases to fine-tune on: candidate, reference, human, or "
              "Opusparcus's four columns without a header.")  # fmt: skip
@click.option("--mapping", default="opusparcus", show_default=True, metavar="MAPPING",
              help="Their ratings to similarities, as in `evalign train`.")  # fmt: skip
@click.option("--finetune", multiple=True, metavar="MODEL", help="Which of the models to fine-tune. [default: all]")
@click.option("--tune-first", is_flag=True, help="Fine-tune the first model only, which takes less time.")
@click.option("--epochs", type=click.IntRange(1), default=PAPER.epochs, show_default=True, help="Of the fine-tuning.")
@click.option("--language", default="de", show_default=True, help="Of METEOR.")
@click.option("--layer", default=LAST, show_default=True, help="Layer whose tokens are matched: last as in the paper; "
              "tuned: evalign's default for the model; a number; all: the last, and a table of all.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=12345, show_default=True)
@click.option("--no-cache", is_flag=True, help="Measure everything anew, and keep nothing.")
@human_option
@column_options
@threads_option
@click.pass_context
def german(ctx: click.Context, /, out: Path, models: tuple[str, ...], data: str | None, train: str | None, seed: int,
           columns: Columns, input_format: str | None, threads: int, no_cache: bool, **given: Any) -> None:  # fmt: skip
    """Repeat the German summaries study (after GermEval-2020 task 3): metrics against people's ratings.

    \b
    evalign study german
    evalign study german --data summaries.jsonl --human-max 5 --models german --train opusparcus_de.tsv
    evalign study german --data rated.jsonl --models minilm --models ./my-model --train pairs.jsonl --mapping linear

    A run that was stopped goes on where it was, the fine-tuning too; the same run again takes seconds. Exit code 3 if
    something could not be made, such as a model that is not found or IDF without sources; everything else is.
    """
    options = Options(given["language"], given["layer"], threads)
    if given["tune_first"] and given["finetune"]:
        raise SpecError("--tune-first and --finetune both say which models to fine-tune: give one of them")
    check_folder(out)
    choice = RowChoice(given["rows"], seed, given["aspect"], given["low"], given["high"], given["idf"])
    judged = read_judged(data, columns, input_format, choice)
    asked = "--finetune" if given["finetune"] else "--tune-first" if given["tune_first"] else ""
    if asked and data is not None and train is None:
        raise SpecError(f"{asked} needs rated paraphrases to learn from: give --train FILE")
    pairs = training_pairs(train, given["mapping"], judged) if train or data is None else None
    plan = GermanPlan(
        options,
        pairs,
        replace(PAPER, epochs=given["epochs"], seed=seed, threads=threads),
        tuple(named_models(given["finetune"])) or None,
        given["tune_first"],
        Resampling(seed=seed),
    )
    named = named_models(models) or known_here()
    with progress("scoring and training", work(named, judged, plan)) as advance:
        measured = run_german(named, judged, plan, Steps.of("german", keep=not no_cache), advance)
    finish(lambda: german_page(measured), out, ctx)


def known_here() -> list[str]:
    """MiniLM, which may be fetched, and other known models that are on this machine."""
    first, *others = KNOWN
    return [first, *(name for name in others if local_directory(KNOWN[name]) is not None)]


def check_folder(out: Path) -> None:
    """An error before the work if nothing could be written into the folder after it."""
    with styled():
        pass
    if not out.resolve().parent.is_dir():
        raise FileFormatError(f"{out}: no folder can be made there, {out.resolve().parent} does not exist")
    made = False
    try:
        try:
            out.mkdir()
            made = True
        except FileExistsError:
            pass
        with TemporaryDirectory(prefix=".evalign-", dir=out):
            pass
    except OSError as error:
        raise FileFormatError(f"{out}: nothing can be written there ({error.strerror or error})") from error
    finally:
        if made:
            out.rmdir()


def finish(make: Callable[[], StudyPage], out: Path, ctx: click.Context) -> None:
    """Writes the study, prints its key numbers, and exits with 3 if something is missing."""
    with progress("drawing"):
        page = make()
        save_study(page, out)
    console = stdout_console()
    console.print(*(Text(sentence) for sentence in page.about[1:]), sep="\n")
    for table in (*(page.claims.tables if page.claims is not None else ()), page.summary):
        console.print(_terminal_table(table))
    console.print(Text(f"{out / PAGE}: what is seen; beside it the figures (PNG, SVG) and their numbers (CSV)"))
    for sentence in page.lacking:
        click.echo(f"missing: {sentence}", err=True)
    ctx.exit(3 if page.lacking else 0)


def _terminal_table(study_table: StudyTable) -> Table:
    kinds = "f" * study_table.names + "n" * (len(study_table.columns) - study_table.names)
    return terminal_table(
        study_table.columns, kinds, study_table.lines, title=study_table.caption, title_justify="left"
    )
