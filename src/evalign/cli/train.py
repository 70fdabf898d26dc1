"""`evalign train`: learn from rated pairs. A transformer (the default), an adapter, the LSTM baseline, or weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from evalign.cli.inputs import column_options, human_option
from evalign.cli.options import A_FILE, threads_option
from evalign.data.opusparcus import training_rows
from evalign.data.rows import Columns, InMemory
from evalign.errors import SpecError
from evalign.metrics.spec import format_spec
from evalign.render.progress import progress
from evalign.tuning.adapters.rated_files import read_anchors, read_files
from evalign.tuning.adapters.settings import ADAPTER_PLAN, MATCHINGS, AdapterSettings
from evalign.tuning.rated_pairs import DEFAULT_MAPPING, RatedPair, RatedPairs, read_pairs, split
from evalign.tuning.training_folder import check_target
from evalign.tuning.training_plan import CHECKPOINT_SECONDS, LOSS_NAMES, MAX_LENGTH, Epoch, TrainingPlan, Watch

if TYPE_CHECKING:
    from evalign.tuning.trainee import Trainee

PLAN = TrainingPlan()
LSTM_PLAN = TrainingPlan(epochs=8, batch=32, rate=2e-3)  # it starts from nothing and is small
# What is not listed for a mode would be ignored there, so it is refused.
TEXT_ONLY = ("loss", "mapping", "pooling")
ENCODER_ONLY = ("max_length", "device")
LOOP_ONLY = ("epochs", "batch", "rate", "warmup", "weight_decay", "dev", "patience", "model", "checkpoint_seconds")
COMBINE_ONLY = ("specs", "document", "scale", "folds", "nonnegative")
ADAPTER_ONLY = ("layer", "matching", "weights", "negatives", "damage", "opposites", "kept", "symmetric", "anchors")
UNUSED = {
    "encoder": COMBINE_ONLY + ADAPTER_ONLY,
    "adapter": COMBINE_ONLY + TEXT_ONLY,
    "lstm": COMBINE_ONLY + ADAPTER_ONLY + ENCODER_ONLY,
    "combine": LOOP_ONLY + TEXT_ONLY + ENCODER_ONLY + ADAPTER_ONLY,
}
OWNERS = {
    "--combine": COMBINE_ONLY,
    "--adapter": ADAPTER_ONLY,
    "the training of a transformer or an adapter": ENCODER_ONLY,
    "the training of a transformer or an LSTM": TEXT_ONLY,
    "the training of a transformer, an adapter or an LSTM": LOOP_ONLY,
}


def _by_mode(about: str, name: str) -> str:
    adapter, lstm = getattr(ADAPTER_PLAN, name), getattr(LSTM_PLAN, name)
    return f"{about}  [default: {getattr(PLAN, name):g}; with --adapter {adapter:g}, --lstm {lstm:g}]"


@click.command()
@click.argument("data", metavar="PAIRS...", nargs=-1, required=True, type=A_FILE)
@click.option(
    "-o", "--output", required=True, metavar="DIR", type=A_FILE, help="Where the result goes; a file with --combine."
)
@click.option("--model", default="minilm", show_default=True,
              help="What to start from: a name, directory or hub name; with --lstm: whose word vectors.")  # fmt: skip
@click.option("--adapter", "rank", type=click.IntRange(1, 1024), metavar="RANK",
              help="Train low-rank changes through the matching instead, such as 8; see the end.")  # fmt: skip
@click.option("--lstm", is_flag=True, help="Train the LSTM baseline instead of a transformer.")
@click.option("--combine", is_flag=True, help="Weigh metrics (-m) together instead; see the last options.")
@click.option("--mapping", default=DEFAULT_MAPPING, show_default=True, metavar="MAPPING",
              help="Ratings to similarities: linear (lowest to highest), linear(1,5), opusparcus, 1=0.1,2=0.5,3=0.9, "
                   "or a file with such a table.")  # fmt: skip
@click.option("--loss", type=click.Choice(LOSS_NAMES), default=PLAN.loss, show_default=True,
              help="Squared error of the cosines, or their order.")  # fmt: skip
@click.option("--pooling", type=click.Choice(("mean", "cls", "max")), default="mean", show_default=True,
              help="How token vectors become one.")  # fmt: skip
@click.option("--epochs", type=click.IntRange(1), help=_by_mode("Passes over the pairs.", "epochs"))
@click.option("--batch", type=click.IntRange(2), help=_by_mode("Pairs per step.", "batch"))
@click.option("--lr", "rate", type=float, help=_by_mode("Highest learning rate.", "rate"))
@click.option("--warmup", type=click.FloatRange(0, 1), default=PLAN.warmup, show_default=True,
              help="Part of all steps in which the rate rises.")  # fmt: skip
@click.option("--weight-decay", type=click.FloatRange(0), default=PLAN.weight_decay, show_default=True)
@click.option("--dev", type=click.FloatRange(0, 1, max_open=True), default=PLAN.dev, show_default=True,
              help="Part of the pairs that decides which epoch is best; 0: keep the last.")  # fmt: skip
@click.option("--patience", type=click.IntRange(1), default=PLAN.patience, show_default=True,
              help="Epochs without a better dev score before it stops.")  # fmt: skip
@click.option("--max-length", type=click.IntRange(3), default=MAX_LENGTH, show_default=True,
              help="Tokens of a text that are read in training.")  # fmt: skip
@click.option("--checkpoint", "checkpoint_seconds", type=click.FloatRange(0), default=CHECKPOINT_SECONDS,
              show_default=True, help="Seconds between checkpoints: what a kill may cost.")  # fmt: skip
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, mps.")
@click.option("--seed", type=click.IntRange(0), default=PLAN.seed, show_default=True)
@click.option("--aspect", metavar="NAME", help="Which rating, if the human field holds several.")
@click.option("-m", "--metric", "specs", multiple=True, metavar="FEATURE",
              help="With --combine: bertscore.f1, chrf, layers(bertscore), ...; repeat.")  # fmt: skip
@click.option("--document", metavar="FIELD", help="With --combine: rows of one document stay in one fold.")
@click.option("--scale", type=(float, float), metavar="LOW HIGH", help="With --combine: the ends of the human scale.")
@click.option("--folds", type=click.IntRange(3), default=5, show_default=True, help="With --combine.")
@click.option("--nonnegative", is_flag=True, help="With --combine: no metric may count against a text.")
@click.option("--layer", metavar="LAYER", default="",
              help="With --adapter: which layers are matched, as in 4+6.  [default: the model's]")  # fmt: skip
@click.option("--matching", type=click.Choice(MATCHINGS), default="greedy", show_default=True,
              help="With --adapter: what is trained through; other than greedy is for lisascore.")  # fmt: skip
@click.option("--weights", metavar="NUMBERS", help="With --adapter: what each file counts, as in 1,0.5.  [default: 1]")
@click.option("--negatives", type=click.FloatRange(0), default=0.0, show_default=True,
              help="With --adapter: weight of the loss that holds down references of other pairs.")  # fmt: skip
@click.option("--damage", type=click.FloatRange(0), default=0.0, show_default=True,
              help="With --adapter: weight of the loss that holds down damaged copies of candidates.")  # fmt: skip
@click.option("--opposites", type=click.FloatRange(0), default=0.0, show_default=True,
              help="With --adapter: weight of the loss that holds down opposites of a text.")  # fmt: skip
@click.option("--kept", type=click.FloatRange(0, 1, max_open=True), default=AdapterSettings.kept, show_default=True,
              help="With --adapter: what an opposite may keep of the score.")  # fmt: skip
@click.option("--symmetric/--free-weights", default=True, show_default=True,
              help="With --adapter: precision and recall weigh the same, or as the ratings teach it.")  # fmt: skip
@click.option("--anchors", metavar="FILE", type=A_FILE,
              help="With --adapter: texts whose tokens must stay where they are, such as other languages; one per "
                   "line.")  # fmt: skip
@human_option
@column_options
@threads_option
@click.pass_context
def train(context: click.Context, /, data: tuple[str, ...], output: str, columns: Columns, input_format: str | None,
          aspect: str | None, seed: int, threads: int, **given: Any) -> None:  # fmt: skip
    """Learn from rated pairs of texts (JSONL, CSV, TSV, Parquet: candidate, reference, human).

    A CSV or TSV file without a header has the four columns of Opusparcus: id, text, text, rating.

    \b
    evalign train pairs.jsonl -o tuned                          # then: evalign score ... -m "sbert(model=tuned)"
    evalign train opusparcus.tsv -o tuned --mapping opusparcus --loss cosine-mse --model ./german-bert
    evalign train wmt.jsonl stsb.jsonl -o ours --adapter 8      # then: -m "bertscore(adapter=ours)"
    evalign train pairs.jsonl -o baseline --lstm                # then: -m "lstm(file=baseline)"
    evalign train wmt.jsonl -o ours.json --combine -m bertscore -m chrf     # then: -m "learned(file=ours.json)"

    A run that was stopped goes on when the same command is given again, and ends at the same weights. Needs the extra
    `train` (pip install 'evalign[train]'), except for --combine.
    """
    modes = [name for name, wanted in (("adapter", "rank"), ("lstm", "lstm"), ("combine", "combine")) if given[wanted]]
    if len(modes) > 1:
        named = " and ".join(f"--{name}" for name in modes)
        raise SpecError(f"{named} are {len(modes)} different things to train: give one of them")
    mode = modes[0] if modes else "encoder"
    _refuse_unused(context, UNUSED[mode])
    if mode == "combine":
        from evalign.cli.combine import combine_command
        from evalign.tuning.combine import Combination

        plan = Combination(given["folds"], seed, given["nonnegative"], given["scale"])
        combine_command(data, given["specs"], output, plan, columns, input_format, threads, aspect, given["document"])
        return
    if mode == "adapter":
        pairs = read_files(data, _numbers(given["weights"]), columns, input_format, aspect)
        given |= {"loss": None, "files": len(data)}  # its plan has the only loss
    else:
        rows = chain.from_iterable(training_rows(path, columns, input_format) for path in data)
        pairs = read_pairs(InMemory(list(rows)), given["mapping"], aspect)
    start, make = TRAINED[mode]
    chosen = {item.name: given[item.name] for item in fields(PLAN) if given.get(item.name) is not None}
    _fit(Path(output), pairs, replace(start, seed=seed, threads=threads, **chosen), make, given)


def _fit(output: Path, data: RatedPairs, plan: TrainingPlan, make: Make, given: Mapping[str, Any]) -> None:
    """Trains what `make` makes, and says how to use it."""
    import_module("evalign.tuning.trainee")  # first: it says what to install where torch is missing
    from evalign.tuning.training_run import train_to

    check_target(output)
    train, _ = split(data.pairs, plan.dev, plan.seed)
    trainee, spec = make(output, train, plan, given)
    for why, count in data.left_out.items():
        click.echo(f"left out: {count} rows, {why}", err=True)
    with progress("training", plan.epochs * plan.steps_per_epoch(len(train))) as advance:
        watch = Watch(advance, _show, lambda sentence: click.echo(sentence, err=True))
        done = train_to(output, trainee, data, plan, watch, given["checkpoint_seconds"])
    if done.found_finished:
        click.echo(f"{output}: finished before, by the same command")
    click.echo(f"{output}: {done.train_pairs} pairs, epoch {done.best.number}{_agreement(done.epochs[0], done.best)}")
    if done.best.number == 0:
        click.echo("No epoch was better than the start, which was kept: try another --lr, or more pairs.")
    click.echo(f"Use it as: {spec}")


def _encoder(output: Path, _: Sequence[RatedPair], plan: TrainingPlan, given: Mapping[str, Any]) -> tuple[Trainee, str]:
    from evalign.tuning.encoder_trainee import EncoderTrainee

    trainee = EncoderTrainee(given["model"], given["pooling"], given["max_length"], given["device"])
    pooling = {} if given["pooling"] == "mean" else {"pooling": given["pooling"]}
    return trainee, format_spec("sbert", {"model": str(output), **pooling})


def _adapter(output: Path, _: Sequence[RatedPair], plan: TrainingPlan, given: Mapping[str, Any]) -> tuple[Trainee, str]:
    from evalign.tuning.adapters.trainee import AdapterTrainee

    settings = AdapterSettings(**{item.name: given[item.name] for item in fields(AdapterSettings)})
    anchors = read_anchors(given["anchors"])
    trainee = AdapterTrainee(given["model"], settings, plan.seed, given["device"], given["files"], anchors)
    model = {} if given["model"] == "minilm" else {"model": given["model"]}
    name = "bertscore" if settings.matching == "greedy" else "lisascore"
    return trainee, format_spec(name, {**model, "adapter": str(output)})


def _lstm(
    output: Path, train: Sequence[RatedPair], plan: TrainingPlan, given: Mapping[str, Any]
) -> tuple[Trainee, str]:
    from evalign.tuning.lstm_trainee import LSTMSettings, LSTMTrainee

    texts = [text for pair in train for text in (pair.first, pair.second)]
    settings = LSTMSettings(pooling=given["pooling"], start=given["model"], seed=plan.seed)
    return LSTMTrainee(texts, settings), format_spec("lstm", {"file": str(output)})


Make = Callable[[Path, Sequence[RatedPair], TrainingPlan, Mapping[str, Any]], "tuple[Trainee, str]"]
TRAINED: dict[str, tuple[TrainingPlan, Make]] = {
    "encoder": (PLAN, _encoder),
    "adapter": (ADAPTER_PLAN, _adapter),
    "lstm": (LSTM_PLAN, _lstm),
}


def _numbers(text: str | None) -> list[float]:
    try:
        return [float(part) for part in (text or "").split(",") if text]
    except ValueError:
        raise SpecError(f"--weights {text}: expected numbers with commas between them, as in 1,0.5") from None


def _refuse_unused(context: click.Context, unused: tuple[str, ...]) -> None:
    for option in context.command.params:
        if option.name in unused and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            owner = next(owner for owner, names in OWNERS.items() if option.name in names)
            raise SpecError(f"{option.opts[-1]} does nothing here: it belongs to {owner}")


def _show(epoch: Epoch) -> None:
    loss = "before training" if epoch.loss is None else f"loss {epoch.loss:.4f}"
    score = "" if epoch.dev_spearman is None else f", dev Spearman {epoch.dev_spearman:.4f}"
    click.echo(f"epoch {epoch.number}: {loss}{score}", err=True)


def _agreement(start: Epoch, best: Epoch) -> str:
    if start.dev_spearman is None or best.dev_spearman is None:
        return ""
    return f", dev Spearman {start.dev_spearman:.4f} -> {best.dev_spearman:.4f}"
