"""`evalign explain`: the arithmetic behind a score, for people who learn or doubt."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from evalign.atomic_files import whole_file
from evalign.cli.options import metric_option, page_option, parse_metric, stdout_console, threads_option
from evalign.encoders.lstm.file import demonstration_file
from evalign.errors import SpecError
from evalign.metrics.bartscore import BARTScore
from evalign.metrics.base import Metric
from evalign.metrics.registry import METRICS
from evalign.metrics.spec import parse_spec
from evalign.render.progress import progress


@click.command()
@click.argument("candidate", required=False)
@click.argument("reference", required=False)
@metric_option
@click.option("--all", "every", is_flag=True,
              help="With -m rouge: every ROUGE variant on this pair, one after the other.")  # fmt: skip
@click.option("-s", "--source", help="The source text, which sari compares with and idf=sources counts.")
@click.option("--lstm", "cell", is_flag=False, flag_value="", metavar="[FILE]", help="Trace an LSTM's gates word "
              "by word: of a trained file, or of the small one that comes along.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The trace of --lstm as JSON.")
@page_option("Write bartscore's log-probabilities, the trace of --lstm, or the lessons of -m rouge --all as a page "
             "that opens offline.")  # fmt: skip
@threads_option
def explain(candidate: str | None, reference: str | None, spec: str, every: bool, source: str | None, cell: str | None,
            as_json: bool, page: Path | None, threads: int) -> None:  # fmt: skip
    """Show a metric's arithmetic, step by step.

    \b
    evalign explain "the cat sat" "a cat was sitting"
    evalign explain "the cat sat" "a cat was sitting" -m "lisascore(method=row-mask)"
    evalign explain "the cat sat" "a cat was sitting" -m "bertscore(idf=idf.json, rescale=true)"
    evalign explain "the cat sat" "a cat was sitting" -m moverscore
    evalign explain "police kill the gunman" "police killed the gunman" -m rougeL
    evalign explain "the dog ran. it barked." "it barked. the dog ran." -m rouge --all
    evalign explain "the cat sat on the mat" "on the mat sat the cat" -m meteor
    evalign explain "the cat sat" "a cat was sitting" -m "bartscore(model=DIR)" --html cats.html
    evalign explain --lstm "the cat sat on the mat"
    evalign explain --lstm lstm.safetensors "the cat sat on the mat" --html gates.html
    """
    console = stdout_console()
    if every and cell is not None:
        raise SpecError("--all shows every variant of -m rouge; leave it out with --lstm")
    if cell is not None:
        _trace_lstm(console, cell, [text for text in (candidate, reference) if text is not None], as_json, page)
        return
    if candidate is None:
        raise click.UsageError("Missing argument 'CANDIDATE'.")
    if as_json:
        raise SpecError("--json shows the trace of --lstm; for an alignment there is evalign align --json")
    if every:
        if source is not None:
            raise SpecError("rouge does not look at sources; leave out --source")
        _teach_rouge(console, spec, (candidate, reference), page)
        return
    if spec.partition("(")[0].strip() == "rouge":
        raise SpecError("rouge stands for several metrics: name one, as rougeL, or see every variant with --all")
    metric = parse_metric(spec, threads)
    predicting = _predicting(metric) if page is not None else None
    texts = _texts(metric, candidate, reference, source)
    if predicting is not None:
        with progress("predicting"):
            predicting.likelihoods(**texts).to_html(page)
        click.echo(f"{page}: written", err=True)
        return
    module, _, function = metric.explainer.partition(":")
    draw: Any = getattr(import_module(f"evalign.render.explain.{module}"), function)
    with progress("explaining"):
        explained = draw(metric, **texts)
    console.print(explained)


def _trace_lstm(console: Console, file: str, texts: list[str], as_json: bool, page: Path | None) -> None:
    """`--lstm TEXT` is meant as it reads: without another text, what follows the option is the text."""
    from evalign.metrics.lstm import LSTM
    from evalign.render.explain.lstm import explain_lstm, lstm_json
    from evalign.render.export import write_html
    from evalign.render.lstm_document import lstm_document

    if not texts and file and not os.path.exists(file):
        file, texts = "", [file]
    if len(texts) != 1:
        raise SpecError("--lstm traces one text: evalign explain --lstm FILE 'a short text'")
    metric = LSTM(file or str(demonstration_file()))
    if page is not None:
        write_html(lstm_document(metric, texts[0]), page)
        click.echo(f"{page}: written", err=True)
        return
    if as_json:
        click.echo(json.dumps(lstm_json(metric, texts[0]), indent=2))
        return
    console.print(explain_lstm(metric, texts[0]))
    if not file:
        console.print(Text("The small cell that comes with evalign; --lstm FILE traces a trained one.", style="dim"))


def _teach_rouge(console: Console, spec: str, texts: tuple[str, str | None], page: Path | None) -> None:
    """Every ROUGE variant on a pair, on the terminal or as a page."""
    from evalign.render.explain.rouge.lessons import teach
    from evalign.render.explain.rouge.screens import lessons_html, lessons_text

    name, options = parse_spec(spec)
    if name != "rouge":
        alone = f"; for {name} alone leave out --all" if name in METRICS and name.startswith("rouge") else ""
        raise SpecError(
            f"--all shows every variant of ROUGE: expected -m rouge or -m 'rouge(stem=true)', got -m {spec}{alone}"
        )
    candidate, reference = texts
    if reference is None:
        raise SpecError("rouge compares with references: give a second text")
    with progress("explaining"):
        lessons = teach(options, candidate, reference)
    if page is None:
        console.print(lessons_text(lessons))
        return
    with whole_file(page) as stream:
        stream.write(lessons_html(lessons))
    click.echo(f"{page}: written", err=True)


def _predicting(metric: Metric) -> BARTScore:
    """The metric, if it has log-probabilities to show."""
    if not isinstance(metric, BARTScore):
        raise SpecError(
            f"--html shows the log-probabilities of bartscore, and {metric.name} has none; "
            "which tokens bertscore, lisascore or moverscore match is shown by evalign align --html FILE"
        )
    return metric


def _texts(metric: Metric, candidate: str, reference: str | None, source: str | None) -> dict[str, str]:
    """The texts that the metric reads; an error for one that is missing or not read."""
    texts = {"candidate": candidate}
    given = (("references", "reference", reference, "a second text"), ("sources", "source", source, "--source"))
    read = (*metric.needs, getattr(metric, "idf", ""))  # idf=sources counts sources
    for need, name, text, how in given:
        if need in read:
            if text is None:
                who = f"{metric.name} compares with" if need in metric.needs else f"idf={need} counts"
                raise SpecError(f"{who} {need}: give {how}")
            texts[name] = text
        elif text is not None:
            raise SpecError(f"{metric.name} does not look at {need}; leave out {how}")
    return texts
