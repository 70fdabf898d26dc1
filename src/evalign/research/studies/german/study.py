"""The German summaries study (UPB at GermEval-2020 task 3): its Tables 3 and 4, for any models and rated data.

In: names of models, the judged rows, a plan. Out: a `GermanStudy`, and from that a `StudyPage`. A model that cannot be
used, or a training that fails, is named; everything else is made.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalign.encoders.weights import KNOWN
from evalign.errors import EvalignError, FileFormatError, LayerError, SpecError, nearest
from evalign.research.studies.german import systems
from evalign.research.studies.german.agreement import (
    LayerScores,
    Verdict,
    judge_systems,
    rescaled,
    score_layers,
    unrelated_f1,
)
from evalign.research.studies.german.data import JudgedRows
from evalign.research.studies.german.systems import ALL, BERTSCORE, GERMAN, MetricOptions, Scored, System, matched_layer
from evalign.research.studies.inputs import Steps, digest_of, model_identity, model_pin, shown_names
from evalign.stats.bootstrap import Resampling
from evalign.training.checkpoint import Trained, read_record
from evalign.training.plan import MAX_LENGTH, TrainingPlan
from evalign.training.rated_pairs import RatedPairs, digest
from evalign.training.trainee import Watch
from evalign.version import __version__

if TYPE_CHECKING:
    from evalign.training.trainee import Trainee


PAPER = TrainingPlan(loss="cosine-mse", epochs=5, dev=0.0)
LSTM_PLAN = TrainingPlan(loss="cosine-mse", epochs=8, batch=32, rate=2e-3, dev=0.0)  # small, starts from words alone


@contextmanager
def tuning_folder(steps: Steps) -> Iterator[Path]:
    """The folder of trained models; without a cache, one that is deleted afterwards."""
    if steps.folder is None:
        with tempfile.TemporaryDirectory(prefix="evalign-tuned-") as temporary:
            yield Path(temporary)
        return
    folder = steps.folder / "tuned"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"{folder}: no folder can be made there ({error.strerror or error})") from error
    yield folder


def fine_tune(model: str, pairs: RatedPairs, plan: TrainingPlan, folder: Path, watch: Watch) -> Trained:
    """The model after training on the pairs, from the folder if it was trained so before."""

    def trainee() -> Trainee:
        from evalign.training.encoder_trainee import EncoderTrainee

        return EncoderTrainee(model, "mean", MAX_LENGTH)

    return _trained(trainee, {"model": model_identity(model)}, pairs, plan, folder, watch)


def train_lstm(start: str, pairs: RatedPairs, folder: Path, watch: Watch) -> Trained:
    """An LSTM over the words of the pairs, whose vectors start as those of the model `start`."""

    def trainee() -> Trainee:
        from evalign.research.lstm.trainee import LSTMSettings, LSTMTrainee

        texts = [text for pair in pairs.pairs for text in (pair.first, pair.second)]
        return LSTMTrainee(texts, LSTMSettings(start=start, seed=LSTM_PLAN.seed))

    return _trained(trainee, {"lstm": model_identity(start)}, pairs, LSTM_PLAN, folder, watch)


def training_steps(pairs: RatedPairs, plan: TrainingPlan) -> int:
    """Batches of the whole training."""
    return plan.epochs * plan.steps_per_epoch(len(pairs.pairs))


def _trained(
    trainee: Callable[[], Trainee],
    identity: Mapping[str, str],
    pairs: RatedPairs,
    plan: TrainingPlan,
    folder: Path,
    watch: Watch,
) -> Trained:
    run = {"evalign": __version__, **identity, "pairs": digest(pairs.pairs), **asdict(plan)}
    target = folder / digest_of(run)[:40]
    trained = read_record(target)
    if trained is not None and trained.unchanged:
        watch.resumed(training_steps(pairs, plan))
        return trained
    import_module("evalign.training.trainee")  # first: it says what to install where torch is missing
    from evalign.training.training_loop import train_to

    if target.exists():
        shutil.rmtree(target, ignore_errors=True)  # damaged, and nothing is trained into a folder that exists
    return train_to(target, trainee(), pairs, plan, watch)


PRESETS = {"german": GERMAN}
STEPS_PER_MODEL = 8  # systems of a model as it came, for the progress bar
TUNED_SYSTEMS = 3


@dataclass(frozen=True)
class GermanPlan:
    """Options of the study; `finetune=None` means all models, or the first with `tune_first`."""

    options: MetricOptions = field(default_factory=MetricOptions)
    pairs: RatedPairs | None = None
    training: TrainingPlan = PAPER
    finetune: tuple[str, ...] | None = None
    tune_first: bool = False
    resampling: Resampling = field(default_factory=Resampling)


@dataclass(frozen=True, eq=False)
class GermanStudy:
    """All systems' numbers about the same rows, and what became of the models."""

    rows: JudgedRows
    verdict: Verdict
    plan: GermanPlan
    models: dict[str, str]  # shown name -> pin
    tuned: dict[str, Trained]  # by shown name
    seen: dict[str, float]  # by shown name: references' tokens that occur in what IDF was counted over
    layers: dict[str, LayerScores]  # by shown name, if all layers were asked for
    cased: dict[str, bool]  # by shown name: whether the model tells capital letters
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def stand_ins(self) -> list[str]:
        """English models among those used."""
        labels = {model.label for model in KNOWN.values()}
        return [name for name, pin in self.models.items() if pin.partition("@")[0] in labels]


def named_models(arguments: Iterable[str], presets: Mapping[str, Sequence[str]] = PRESETS) -> list[str]:
    """Names separated by commas, a preset standing for its models; each once."""
    names = [name.strip() for argument in arguments for name in argument.split(",") if name.strip()]
    return list(dict.fromkeys(model for name in names for model in presets.get(name, (name,))))


def work(models: Sequence[str], rows: JudgedRows, plan: GermanPlan) -> int:
    """Scored rows and training steps together."""
    tunings, steps = 0, 0
    if plan.pairs is not None:
        tunings = 1 if plan.tune_first else len(models if plan.finetune is None else plan.finetune)
        steps = tunings * training_steps(plan.pairs, plan.training) + training_steps(plan.pairs, LSTM_PLAN)
    scored = len(systems.LEXICAL) + STEPS_PER_MODEL * len(models) + TUNED_SYSTEMS * tunings
    return (scored + (plan.pairs is not None)) * len(rows.rows) + steps


def run_german(
    models: Sequence[str],
    rows: JudgedRows,
    plan: GermanPlan,
    steps: Steps,
    advance: Callable[[int], Any] = lambda _: None,
) -> GermanStudy:
    """Scores every system that can be made, and judges them together."""
    for name in plan.finetune or ():
        if name not in models:
            raise SpecError(f"`finetune={name}` is none of the models; {nearest(name, models)}")
    run = _Run(rows, plan, steps, advance)
    run.score(systems.lexical_systems(plan.options))
    names = run.name(models)
    with ExitStack() as stack:
        tuning = None if plan.pairs is None else (plan.pairs, stack.enter_context(tuning_folder(steps)))
        for model, name in names.items():
            run.measure(model, name)
            wanted = model in plan.finetune if plan.finetune is not None else not (plan.tune_first and run.tried)
            if tuning is not None and wanted:
                run.tune(model, name, *tuning)
        if tuning is not None and names:
            run.lstm(next(iter(names)), *tuning)
    verdict = judge_systems(run.scored, rows, plan.resampling, steps)
    pins = {name: model_pin(model) for model, name in names.items()}
    missing = (*rows.missing, *run.missing)
    return GermanStudy(rows, verdict, plan, pins, run.tuned, run.seen, run.layers, run.cased, missing, tuple(run.notes))


class _Run:
    """A study while it runs: the systems scored so far, and what could not be measured."""

    def __init__(self, rows: JudgedRows, plan: GermanPlan, steps: Steps, advance: Callable[[int], Any]) -> None:
        self.rows, self.plan, self.steps, self.advance = rows, plan, steps, advance
        self.scored: list[Scored] = []
        self.tuned: dict[str, Trained] = {}
        self.seen: dict[str, float] = {}
        self.layers: dict[str, LayerScores] = {}
        self.cased: dict[str, bool] = {}
        self.missing: list[str] = []
        self.notes: list[str] = []
        self.tried = False

    def name(self, models: Sequence[str]) -> dict[str, str]:
        """The models that are found, with the names they are shown by."""
        first: dict[str, str] = {}  # the same weights and tokenizer twice are one model
        pins: dict[str, str] = {}
        errors: list[EvalignError] = []
        for model in models:
            try:
                pin, identity = model_pin(model), model_identity(model)
                matched_layer(model, self.plan.options)
            except EvalignError as error:
                self.missing.append(f"model {model}: {error}")
                errors.append(error)
                continue
            if first.setdefault(identity, model) != model:
                self.notes.append(f"{model} is the same model as {first[identity]}")
            else:
                pins[model] = pin
        if not pins and errors and all(isinstance(error, LayerError) for error in errors):
            raise errors[0]  # a layer that no model has is a slip, not something that is missing
        return shown_names(pins)

    def measure(self, model: str, name: str) -> None:
        """Measure a model without fine-tuning."""
        options = self.plan.options
        self.score(systems.model_systems(model, name, self.rows, options))
        for plain in [scored for scored in self.scored if scored.label == f"{BERTSCORE} ({name})"]:
            with self.naming(f"rescaled BERTScore of {name}"):
                self.scored.append(rescaled(plain, unrelated_f1(model, self.rows, options, self.steps)))
        if options.layer == ALL:
            with self.naming(f"layers of {name}"):
                self.layers[name] = score_layers(model, self.rows, options, self.steps)
        identity = {"study": "german", "model": model_identity(model)}
        with self.naming(f"tokens of {name}"):
            self.cased[name] = self.steps.values(identity | {"step": "cased"}, lambda: systems.cased(model, options))
            if self.rows.counted:
                key = identity | {"step": "seen", "idf": digest_of(self.rows.counted_texts), "rated": self.rows.digest}
                self.seen[name] = self.steps.values(key, lambda: systems.seen_share(self.rows, model, options))

    @contextmanager
    def naming(self, what: str) -> Iterator[None]:
        """Something that may fail: its name and the reason are added to what is missing."""
        try:
            yield
        except EvalignError as error:
            self.missing.append(f"{what}: {error}")

    def tune(self, model: str, name: str, pairs: RatedPairs, folder: Path) -> None:
        """The same model after fine-tuning; the layer that is matched stays the same."""
        self.tried = True
        options = replace(self.plan.options, layer=matched_layer(model, self.plan.options))
        with self.naming(f"fine-tuning of {name}"):
            self.tuned[name] = fine_tune(model, pairs, self.plan.training, folder, self._watch())
            self.score(systems.tuned_systems(str(self.tuned[name].directory), name, self.rows, options))

    def lstm(self, start: str, pairs: RatedPairs, folder: Path) -> None:
        """The baseline from before transformers, trained on the same pairs."""
        with self.naming("LSTM"):
            trained = train_lstm(start, pairs, folder, self._watch())
            self.score([systems.lstm_system(str(trained.directory))])

    def _watch(self) -> Watch:
        return Watch(stepped=lambda _: self.advance(1), resumed=self.advance)

    def score(self, unscored: Iterable[System]) -> None:
        """Adds what can be scored."""
        scored, missing = systems.score_systems(unscored, self.rows, self.steps, self.advance)
        self.scored += scored
        self.missing += missing
