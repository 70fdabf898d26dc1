"""`evalign train encoder` and `evalign train adapter`, and the options and the run that commands with epochs share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial, wraps
from importlib import import_module
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from evalign.cli.inputs import column_options, human_option
from evalign.cli.options import (
    INPUT_FILE,
    Function,
    aspect_option,
    model_option,
    output_option,
    seed_option,
    threads_option,
)
from evalign.errors import SpecError
from evalign.io.rows import Columns, InMemory
from evalign.render.progress import progress
from evalign.training.plan import (
    ADAPTER_PLAN,
    CHECKPOINT_SECONDS,
    DEFAULT_MAPPING,
    LOSS_NAMES,
    MATCHINGS,
    MAX_LENGTH,
    AdapterSettings,
    TrainingPlan,
)

if TYPE_CHECKING:
    from evalign.training.rated_pairs import RatedPair, RatedPairs
    from evalign.training.trainee import Epoch, Trainee
MakeTrainee = Callable[["Sequence[RatedPair]"], "Trainee"]
PLAN = TrainingPlan()
LOG_SECONDS = 30.0  # between lines of progress where there is no terminal
LOSS_STEPS = 50  # whose mean loss is shown


@dataclass(frozen=True)
class TrainingRequest:
    """Arguments of every training command: files of pairs, output folder and plan."""

    data: tuple[str, ...]
    columns: Columns
    input_format: str | None
    aspect: str | None
    output: Path
    plan: TrainingPlan
    checkpoint_seconds: float

    def pairs(self, mapping: str) -> RatedPairs:
        """Read the pairs of all files, with ratings mapped to similarities."""
        from evalign.training.rated_pairs import read_pairs, training_rows

        rows = chain.from_iterable(training_rows(path, self.columns, self.input_format) for path in self.data)
        return read_pairs(InMemory(list(rows)), mapping, self.aspect)


def training_options(plan: TrainingPlan) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add PAIRS..., -o and the options of the training loop, with the defaults of a plan."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def gathered(*, data: tuple[str, ...], columns: Columns, input_format: str | None, aspect: str | None,
                     output: Path, checkpoint_seconds: float, **options: Any) -> Any:  # fmt: skip
            chosen = {item.name: options.pop(item.name) for item in fields(plan) if item.name in options}
            request = TrainingRequest(
                data, columns, input_format, aspect, output, replace(plan, **chosen), checkpoint_seconds
            )
            return function(request=request, **options)

        for option in reversed(_loop_options(plan)):
            gathered = option(gathered)
        return gathered

    return decorate


def _loop_options(plan: TrainingPlan) -> list[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    return [
        click.argument("data", metavar="PAIRS...", nargs=-1, required=True, type=INPUT_FILE),
        output_option("DIR", "folder of the trained files.", type=click.Path(path_type=Path, readable=False)),
        click.option("--epochs", type=click.IntRange(1), default=plan.epochs, show_default=True,
                     help="Passes over the training pairs."),
        click.option("--batch", type=click.IntRange(2), default=plan.batch, show_default=True, help="Pairs per step."),
        click.option("--lr", "rate", type=float, default=plan.rate, show_default=True, help="Highest learning rate."),
        click.option("--warmup", type=click.FloatRange(0, 1), default=plan.warmup, show_default=True,
                     help="Part of all steps in which the learning rate rises."),
        click.option("--weight-decay", type=click.FloatRange(0), default=plan.weight_decay, show_default=True,
                     help="Weight decay of the optimizer."),
        click.option("--dev", type=click.FloatRange(0, 1, max_open=True), default=plan.dev, show_default=True,
                     help="Part of the pairs that selects the best epoch; 0: use the last."),
        click.option("--stop-after", type=click.IntRange(1), default=plan.stop_after, show_default=True,
                     metavar="EPOCHS", help="Stop after this number of epochs without a better dev score."),
        click.option("--checkpoint", "checkpoint_seconds", type=click.FloatRange(0), default=CHECKPOINT_SECONDS,
                     show_default=True, metavar="SECONDS", help="Time between checkpoints."),
        seed_option(plan.seed),
        aspect_option,
        human_option,
        column_options,
        threads_option,
    ]  # fmt: skip


mapping_option = click.option(
    "--mapping", default=DEFAULT_MAPPING, show_default=True, metavar="MAPPING",
    help="Ratings to similarities: linear (lowest to highest), linear(1,5), opusparcus, 1=0.1,2=0.5,3=0.9, or a file "
         "with such a table.",
)  # fmt: skip


def pooling_option(names: Iterable[str]) -> Callable[[Function], Function]:
    """`--pooling`, as `pooling`; the first name is the default."""
    choices = list(names)
    return click.option("--pooling", type=click.Choice(choices), default=choices[0], show_default=True,
                        help="How the vectors of tokens become one vector.")  # fmt: skip


device_option = click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, mps.")


def loss_option(plan: TrainingPlan) -> Callable[[Function], Function]:
    """`--loss`, as `loss`, a part of the plan."""
    return click.option("--loss", type=click.Choice(LOSS_NAMES), default=plan.loss, show_default=True,
                        help="Squared error of the cosines, or their order.")  # fmt: skip


def max_length_option(default: int) -> Callable[[Function], Function]:
    """`--max-length`, as `max_length`."""
    return click.option("--max-length", type=click.IntRange(3), default=default, show_default=True,
                        help="Maximum tokens of a text in training.")  # fmt: skip


def check_extra() -> None:
    """Raise an error with the command to type if torch is not installed."""
    import_module("evalign.training.trainee")


def run_training(request: TrainingRequest, data: RatedPairs, make: MakeTrainee, spec: str) -> None:
    """Train and print the spec of the result.

    Args:
        request: Arguments of the command.
        data: Rated pairs.
        make: Returns the trainee for the training pairs.
        spec: Spec of the metric that uses the result.
    """
    check_extra()
    from evalign.training.checkpoint import check_target
    from evalign.training.rated_pairs import split
    from evalign.training.trainee import Watch
    from evalign.training.training_loop import train_to

    output, plan = request.output, request.plan
    check_target(output)
    train, _ = split(data.pairs, plan.dev, plan.seed)
    trainee = make(train)
    for why, count in data.left_out.items():
        click.echo(f"left out: {count} rows, {why}", err=True)
    losses: deque[float] = deque(maxlen=LOSS_STEPS)
    with progress("training", plan.epochs * plan.steps_per_epoch(len(train)), log_seconds=LOG_SECONDS) as advance:

        def stepped(loss: float) -> None:
            losses.append(loss)
            advance(note=f"loss {fmean(losses):.4f}")

        resumed = partial(advance, earlier=True)
        watch = Watch(stepped, resumed, _print_epoch, lambda sentence: click.echo(sentence, err=True))
        done = train_to(output, trainee, data, plan, watch, request.checkpoint_seconds)
    if done.found_finished:
        click.echo(f"{output}: finished before, by the same command")
    click.echo(f"{output}: {done.train_pairs} pairs, epoch {done.best.number}{_agreement(done.epochs[0], done.best)}")
    if done.best.number == 0:
        click.echo(
            "No epoch was better than the start, which was saved: try another learning rate (--lr), or more pairs."
        )
    click.echo(f"Use it as: {spec}")


def _print_epoch(epoch: Epoch) -> None:
    loss = "before training" if epoch.loss is None else f"loss {epoch.loss:.4f}"
    score = "" if epoch.dev_spearman is None else f", dev Spearman {epoch.dev_spearman:.4f}"
    click.echo(f"epoch {epoch.number}: {loss}{score}", err=True)


def _agreement(start: Epoch, best: Epoch) -> str:
    if start.dev_spearman is None or best.dev_spearman is None:
        return ""
    return f", dev Spearman {start.dev_spearman:.4f} -> {best.dev_spearman:.4f}"


@click.command()
@training_options(PLAN)
@loss_option(PLAN)
@model_option("minilm", "training starts from it.")
@mapping_option
@pooling_option(("mean", "cls", "max"))
@max_length_option(MAX_LENGTH)
@device_option
def encoder(request: TrainingRequest, model: str, mapping: str, pooling: str, max_length: int, device: str) -> None:
    """Fine-tune a transformer so that cosines of sentence vectors follow the ratings.

    \b
    evalign train encoder pairs.jsonl -o tuned
    evalign train encoder opusparcus.tsv -o tuned --mapping opusparcus --model ./german-bert
    evalign score data.jsonl -m "sbert(model=tuned)"

    PAIRS is JSONL, CSV, TSV or Parquet with candidate, reference and human; a CSV or TSV file without a header has the
    four columns of Opusparcus: id, text, text, rating. The same command resumes a run that was stopped, and ends at the
    same weights. Needs the extra `train` (pip install 'evalign[train]').
    """
    from evalign.core.spec import format_spec

    pairs = request.pairs(mapping)
    check_extra()
    from evalign.training.encoder_trainee import EncoderTrainee

    options = {"model": str(request.output)} | ({} if pooling == "mean" else {"pooling": pooling})
    run_training(
        request, pairs, lambda _: EncoderTrainee(model, pooling, max_length, device), format_spec("sbert", options)
    )


@click.command()
@training_options(ADAPTER_PLAN)
@model_option("minilm", "its weights stay as they are.")
@click.option("--rank", type=click.IntRange(1, 1024), default=AdapterSettings.rank, show_default=True,
              help="Rank of the changes of each linear layer.")  # fmt: skip
@click.option("--layer", metavar="LAYER", default="",
              help="Layer whose tokens are matched; or several, as in 4+6. [default: the model's]")  # fmt: skip
@click.option("--matching", type=click.Choice(MATCHINGS), default="greedy", show_default=True,
              help="Matching that aligns the tokens; other than greedy is for lisascore.")  # fmt: skip
@click.option("--weights", metavar="NUMBERS", help="Weight of each file, as in 1,0.5. [default: 1]")
@click.option("--negatives", type=click.FloatRange(0), default=0.0, show_default=True,
              help="Weight of the loss that lowers the scores of references of other pairs.")  # fmt: skip
@click.option("--damage", type=click.FloatRange(0), default=0.0, show_default=True,
              help="Weight of the loss that lowers the scores of damaged copies of candidates.")  # fmt: skip
@click.option("--opposites", type=click.FloatRange(0), default=0.0, show_default=True,
              help="Weight of the loss that lowers the scores of opposites of a text.")  # fmt: skip
@click.option("--kept", type=click.FloatRange(0, 1, max_open=True), default=AdapterSettings.kept, show_default=True,
              help="Part of the score that an opposite may keep.")  # fmt: skip
@click.option("--symmetric/--free-weights", default=True, show_default=True,
              help="Give precision and recall the same weight, or learn their weights.")  # fmt: skip
@click.option("--anchors", metavar="FILE", type=INPUT_FILE,
              help="Texts whose token vectors must not move, such as other languages; one per line.")  # fmt: skip
@max_length_option(MAX_LENGTH)
@device_option
def adapter(request: TrainingRequest, model: str, weights: str | None, anchors: str | None, device: str, rank: int,
            layer: str, matching: str, negatives: float, damage: float, opposites: float, kept: float,
            symmetric: bool, max_length: int) -> None:  # fmt: skip
    """Train low-rank changes of an encoder through the matching of its tokens.

    \b
    evalign train adapter wmt.jsonl stsb.jsonl -o adapter --rank 8
    evalign score data.jsonl -m "bertscore(adapter=adapter)"

    PAIRS is JSONL, CSV, TSV or Parquet with candidate, reference and human, or with better, worse and reference. The
    same command resumes a run that was stopped, and ends at the same weights. Needs the extra `train` (pip install
    'evalign[train]').
    """
    from evalign.core.spec import format_spec
    from evalign.training.rated_pairs import read_anchors, read_files

    settings = AdapterSettings(rank, layer, matching, negatives, damage, opposites, kept, symmetric, max_length)
    pairs = read_files(request.data, _numbers(weights), request.columns, request.input_format, request.aspect)
    check_extra()
    from evalign.training.adapter_trainee import AdapterTrainee

    name = "bertscore" if matching == "greedy" else "lisascore"
    options = ({} if model == "minilm" else {"model": model}) | {"adapter": str(request.output)}
    texts = read_anchors(anchors)
    run_training(
        request,
        pairs,
        lambda _: AdapterTrainee(model, settings, request.plan.seed, device, len(request.data), texts),
        format_spec(name, options),
    )


def _numbers(text: str | None) -> list[float]:
    try:
        return [float(part) for part in (text or "").split(",") if text]
    except ValueError:
        raise SpecError(f"`weights={text}`: expected numbers with commas between them, as in 1,0.5") from None
