"""`evalign train lstm` and `evalign train combine`: train the metrics `lstm(file=DIR)` and `learned(file=...)`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalign.cli.inputs import column_options, human_option
from evalign.cli.options import (
    INPUT_FILE,
    aspect_option,
    document_option,
    metrics_option,
    model_option,
    output_option,
    seed_option,
    threads_option,
)
from evalign.errors import FileFormatError, SpecError, TableError
from evalign.io.files import check_writable
from evalign.io.rows import Columns, InMemory, TableFile
from evalign.training.plan import DEFAULT_FOLDS, TrainingPlan
from evalign.training.train_commands import (
    TrainingRequest,
    check_extra,
    loss_option,
    mapping_option,
    pooling_option,
    run_training,
    training_options,
)

if TYPE_CHECKING:
    from evalign.research.learned.combine import Combination, Combined, PredictionQuality
    from evalign.research.learned.features import Feature
    from evalign.training.layers import RatedRows
    from evalign.training.rated_pairs import RatedPair
    from evalign.training.trainee import Trainee
PLAN = TrainingPlan(epochs=8, batch=32, rate=2e-3)  # it starts from word vectors alone and is small
SHOWN = 12  # terms in the table


@click.command()
@training_options(PLAN)
@loss_option(PLAN)
@model_option("minilm", "its word vectors are the start.")
@mapping_option
@pooling_option(("mean", "max"))
def lstm(request: TrainingRequest, model: str, mapping: str, pooling: str) -> None:
    """Train a bidirectional LSTM so that cosines of sentence vectors follow the ratings.

    \b
    evalign train lstm pairs.jsonl -o lstm
    evalign score data.jsonl -m "lstm(file=lstm)"

    PAIRS is JSONL, CSV, TSV or Parquet with candidate, reference and human. The same command resumes a run that was
    stopped, and ends at the same weights. Needs the extra `train` (pip install 'evalign[train]').
    """
    from evalign.core.spec import format_spec

    pairs = request.pairs(mapping)
    check_extra()
    from evalign.research.lstm.trainee import LSTMSettings, LSTMTrainee

    settings = LSTMSettings(pooling=pooling, start=model, seed=request.plan.seed)

    def make(train: Sequence[RatedPair]) -> Trainee:
        return LSTMTrainee([text for pair in train for text in (pair.first, pair.second)], settings)

    run_training(request, pairs, make, format_spec("lstm", {"file": str(request.output)}))


@click.command()
@click.argument("data", metavar="PAIRS...", nargs=-1, required=True, type=INPUT_FILE)
@output_option("FILE", "weights (JSON).")
@metrics_option(())
@document_option
@click.option("--scale", type=(float, float), metavar="LOW HIGH", help="Ends of the human scale.")
@click.option("--folds", type=click.IntRange(3), default=DEFAULT_FOLDS, show_default=True,
              help="Folds of the cross-validation.")  # fmt: skip
@click.option("--nonnegative", is_flag=True, help="Allow no negative weights.")
@seed_option()
@aspect_option
@human_option
@column_options
@threads_option
def combine(data: tuple[str, ...], output: Path, specs: tuple[str, ...], document: str | None,
            scale: tuple[float, float] | None, folds: int, nonnegative: bool, seed: int, aspect: str | None,
            columns: Columns, input_format: str | None, threads: int) -> None:  # fmt: skip
    """Learn weights of metrics whose sum agrees with people, by regression on rated rows.

    \b
    evalign train combine wmt.jsonl -o learned.json -m bertscore -m chrf
    evalign train combine wmt.jsonl -o learned.json -m bertscore.f1 -m "layers(bertscore)" --document doc
    evalign score data.jsonl -m "learned(file=learned.json)"

    PAIRS is JSONL, CSV, TSV or Parquet with candidate, reference and human. -m names a metric, one of its fields
    (bertscore.f1), or all layers (layers(bertscore)).
    """
    from evalign.analysis.rated_tables import rate
    from evalign.core.spec import format_spec
    from evalign.render.progress import progress
    from evalign.research.learned.combine import Combination, expand_features, sharing_text
    from evalign.research.learned.combine import combine as fit_weights
    from evalign.research.learned.metric import with_threads
    from evalign.training.layers import RatedRows

    check_writable(output)
    features = expand_features(specs)
    extra = (document,) if document else ()
    rows = [row for path in data for row in TableFile(path, replace(columns, extra=extra), input_format)]
    table = rate(InMemory(rows), [])
    aspect = _aspect(aspect, list(table.human))
    documents = sharing_text(table.rows) if document is None else table.labels(document)
    rated = RatedRows(table.rows, table.human[aspect], [""] * len(table.rows), documents)
    plan = Combination(folds, seed, nonnegative, scale, human=aspect)
    run = _run(rated, features, plan)
    _check_unused(output, run)
    with progress("computing features", len(table.rows)) as advance:
        result = fit_weights(rated, [with_threads(feature, threads) for feature in features], plan, advance)
    file = replace(result.file, trained={**result.file.trained, "run": run})
    file.save(output)
    _show(result, {**table.left_out, **result.left_out})
    click.echo(f"\n{output}: {format_spec('learned', {'file': str(output)})}, sha256 {file.digest[:8]}")


def _aspect(aspect: str | None, rated: Sequence[str]) -> str:
    if aspect is None and len(rated) > 1:
        raise SpecError(f"people rated {', '.join(rated)}: choose one of them with `aspect`")
    if aspect is not None and aspect not in rated:
        raise SpecError(f"`aspect={aspect}`: people rated {', '.join(rated)}")
    return aspect or rated[0]


def _run(rated: RatedRows, features: Sequence[Feature], plan: Combination) -> str:
    """Return the sha256 of everything that training reads."""
    rows = [(row.candidate, row.references, row.source) for row in rated.rows]
    inputs = [rows, rated.human.tolist(), list(rated.documents), list(map(str, features)), astuple(plan)]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _check_unused(output: Path, run: str) -> None:
    """Raise an error if another file would be lost; a result of the same command is written again."""
    from evalign.research.learned.metric import LearnedFile

    if not output.is_file():
        return
    try:
        same = LearnedFile.load(output).trained.get("run") == run
    except TableError:
        same = False
    if not same:
        raise FileFormatError(
            f"{output}: exists, and not from this command on these rows; choose another `output`, or delete it"
        )


def _show(result: Combined, left_out: dict[str, int]) -> None:
    from evalign.render.console import stdout_console
    from evalign.render.tables import terminal_table

    trained = result.file.trained
    heaviest = sorted(result.file.terms, key=lambda term: -abs(term.weight))
    lines = [(term.feature, f"{term.weight:+.4f}") for term in heaviest[:SHOWN]]
    stdout_console().print(terminal_table(("feature", "weight per standard deviation"), "wn", lines))
    if len(heaviest) > SHOWN:
        click.echo(f"and {len(heaviest) - SHOWN} more")
    click.echo(
        f"\nOn held-out rows ({trained['rows']} rows in {trained['documents']} groups, {trained['folds']} folds), "
        f"scale {result.file.low:g} to {result.file.high:g}:\n  learned      {_line(result.held_out)}\n"
        f"  best single  {_line(result.single)}  {result.single_feature}"
    )
    for why, count in left_out.items():
        click.echo(f"left out: {count} rows, {why}")


def _line(reached: PredictionQuality) -> str:
    return (
        f"error {reached.rmse:.4g} (mean {reached.mae:.4g})  "
        f"Pearson {reached.pearson:.3f}  Spearman {reached.spearman:.3f}"
    )
