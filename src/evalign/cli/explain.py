"""`evalign explain`: the arithmetic behind a score, step by step."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from evalign.cli.options import (
    format_option,
    html_option,
    metric_option,
    parse_metric,
    threads_option,
)
from evalign.core.metric import Metric
from evalign.core.registry import metric_names
from evalign.core.spec import parse_spec
from evalign.errors import SpecError
from evalign.io.files import whole_file
from evalign.metrics.bartscore import BARTScore
from evalign.render.console import stdout_console
from evalign.render.explain import explain as explain_pair
from evalign.render.explain.parts import Explanation, plugged_explanation
from evalign.render.progress import progress


@click.command()
@click.argument("candidate")
@click.argument("reference", required=False)
@metric_option
@click.option("--all", "all_variants", is_flag=True,
              help="With -m rouge: every ROUGE variant on this pair, one after the other.")  # fmt: skip
@click.option("--source-text", metavar="TEXT", help="Source text, which sari compares with and idf=sources counts.")
@format_option(("table", "json"))
@html_option("for bartscore, lstm, and rouge with --all.")
@threads_option
def explain(candidate: str, reference: str | None, spec: str, all_variants: bool, source_text: str | None,
            output_format: str, html: Path | None, threads: int) -> None:  # fmt: skip
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
    evalign explain "the cat sat on the mat" -m lstm
    evalign explain "the cat sat on the mat" -m "lstm(file=lstm.safetensors)" --html gates.html

    With -m lstm, one text is traced word by word; without a file, through the small cell that is included.
    """
    console = stdout_console()
    if all_variants:
        if source_text is not None:
            raise SpecError("rouge does not read sources: leave out `source_text`")
        if output_format != "table":
            raise SpecError("--all has no JSON: leave out --format, or write a page with --html FILE")
        _explain_all_rouge(console, spec, (candidate, reference), html)
        return
    if spec.partition("(")[0].strip() == "rouge":
        raise SpecError("rouge stands for several metrics: name one, as rougeL, or see every variant with --all")
    metric = parse_metric(spec, threads)
    plugged = plugged_explanation(metric)
    if plugged is not None and plugged.document is not None and reference is None:
        _trace(console, metric, plugged, candidate, output_format, html)
        return
    if output_format != "table":
        raise SpecError(
            f"--format {output_format} is for the trace of one text, as of -m lstm; for an alignment use "
            "evalign align --format json"
        )
    likelihood_metric = _likelihood_metric(metric) if html is not None else None
    texts = _texts(metric, candidate, reference, source_text)
    if likelihood_metric is not None:
        with progress("predicting"):
            likelihood_metric.likelihoods(**texts).to_html(html)
        click.echo(f"{html}: written", err=True)
        return
    with progress("explaining"):
        explained = explain_pair(metric, **texts)
    console.print(explained)


def _trace(
    console: Console, metric: Metric, plugged: Explanation, text: str, output_format: str, html: Path | None
) -> None:
    """Show one text as a metric reads it: on the terminal, as JSON or as a page."""
    if html is not None and plugged.document is not None:
        from evalign.render.export import write_html

        write_html(plugged.document(metric, text), html)
        click.echo(f"{html}: written", err=True)
    elif output_format == "json" and plugged.json is not None:
        click.echo(json.dumps(plugged.json(metric, text), indent=2))
    else:
        console.print(plugged.show(metric, text))


def _explain_all_rouge(console: Console, spec: str, texts: tuple[str, str | None], page: Path | None) -> None:
    """Show every ROUGE variant on a pair, on the terminal or as a page."""
    from evalign.render.explain.rouge_lessons import lessons_html, lessons_text, teach

    name, options = parse_spec(spec)
    if name != "rouge":
        alone = f"; for {name} alone leave out --all" if name in metric_names() and name.startswith("rouge") else ""
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


def _likelihood_metric(metric: Metric) -> BARTScore:
    """Return the metric if it has log-probabilities; raise SpecError otherwise."""
    if not isinstance(metric, BARTScore):
        raise SpecError(
            f"--html shows the log-probabilities of bartscore, and {metric.name} has none; "
            "which tokens bertscore, lisascore or moverscore match is shown by evalign align --html FILE"
        )
    return metric


def _texts(metric: Metric, candidate: str, reference: str | None, source: str | None) -> dict[str, str]:
    """Return the texts that the metric reads; raise SpecError for one that is missing or not read."""
    texts = {"candidate": candidate}
    inputs = (("references", "reference", reference, "a second text"), ("sources", "source", source, "`source_text`"))
    read = (*metric.needs, getattr(metric, "idf", ""))  # idf=sources counts sources
    for need, name, text, how in inputs:
        if need in read:
            if text is None:
                reason = f"{metric.name} compares with" if need in metric.needs else f"idf={need} counts"
                raise SpecError(f"{reason} {need}: give {how}")
            texts[name] = text
        elif text is not None:
            raise SpecError(f"{metric.name} does not read {need}: leave out {how}")
    return texts
