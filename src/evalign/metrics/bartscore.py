"""BARTScore: how likely a model finds one text after having read the other.

    rows -> passages (source, target, by direction) -> log-probabilities of the target's tokens -> their mean

Scores are mean log-probabilities, at most 0. The model is any encoder-decoder, or a causal language model by prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from evalign.encoders.likelihood.base import (
    LOWEST,
    POLICIES,
    TOKEN_BUDGET,
    Likelihood,
    LikelihoodChoice,
    LikelihoodModel,
    Passage,
    open_likelihood,
)
from evalign.errors import LengthMismatchError, ModelNotFoundError, SpecError
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.options import execution_option, option
from evalign.metrics.pair_likelihood import Likelihoods
from evalign.metrics.signature import Signature
from evalign.types import Row, Segment
from evalign.version import __version__

MODEL = "facebook/bart-large-cnn"
PRECISION, RECALL, FAITHFULNESS = "reference-to-candidate", "candidate-to-reference", "source-to-candidate"
DIRECTIONS = {"f": (PRECISION, RECALL), PRECISION: (PRECISION,), RECALL: (RECALL,), FAITHFULNESS: (FAITHFULNESS,)}
SIDES = ("source", "target")
CHECKPOINTS = (".pth", ".pt", ".ckpt", ".bin")  # weights without a configuration, such as BARTScore's own bart.pth
TEXT = "{text}"  # where a prompt wants the text, if not before (source) or after (target) it


@dataclass(frozen=True)
class BARTScore(Metric):
    """Mean log-probability of one text's tokens given another text."""

    name: ClassVar[str] = "bartscore"
    about: ClassVar[str] = "mean log-probability of one text given the other (Yuan et al. 2021)"
    bounds: ClassVar[tuple[float, float]] = (LOWEST, 0.0)
    worst: ClassVar[float] = LOWEST
    explainer: ClassVar[str] = "terms:explain_bartscore"
    former_options: ClassVar[Mapping[str, str]] = {"precision": "arithmetic"}

    model: str = option(MODEL, "a directory or a hub name: an encoder-decoder or a causal language model")
    direction: str = option("f", "what predicts what; f is the mean of both ways", tuple(DIRECTIONS))
    multiref: str = option("mean", "how several references become one score", ("mean", "max"))
    prompt: str = option("", "words between source and target, or with {text} around one")
    prompt_side: str = option(
        "source", "whether the prompt is read with the source or predicted with the target", SIDES
    )
    lang: str = option("", "language of candidates and references, for models with language tokens")
    source_lang: str = option("", "language of the sources; empty: that of the candidates")
    overlong: str = option("truncate", "what happens to a text longer than the model reads", POLICIES)
    max_length: int = option(0, "a lower limit than the model's, special tokens included; 0: the model's")
    arithmetic: str = option("fp32", "arithmetic of the model", ("fp32", "bf16", "fp16"))
    device: str = execution_option("cpu", "cpu, cuda, mps")
    threads: int = execution_option(0, "threads of the model; 0: one per core")
    token_budget: int = execution_option(TOKEN_BUDGET, "source and target tokens per batch")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prompt.count(TEXT) > 1:
            raise SpecError(f"prompt={self.prompt!r}: expected {TEXT} at most once; leave one and delete the others")
        needs = ("sources",) if self.direction == FAITHFULNESS else ("references",)
        object.__setattr__(self, "needs", needs)  # on the value: what it needs depends on its direction

    def choice(self) -> LikelihoodChoice:
        """The model this metric asks for."""
        if self.model.lower().endswith(CHECKPOINTS):
            raise SpecError(
                f"model={self.model} is a PyTorch checkpoint, and models are directories: load it into the model it "
                "was trained from, as in model.load_state_dict(torch.load(FILE)), write that with "
                "model.save_pretrained(DIR) and tokenizer.save_pretrained(DIR), and take bartscore(model=DIR)"
            )
        if self.max_length < 0 or not 0 <= self.threads <= 1024 or self.token_budget < 1:
            raise SpecError("expected max_length from 0, threads from 0 to 1024, and token_budget from 1")
        return LikelihoodChoice(
            self.model, self.arithmetic, self.device, self.overlong, self.max_length, self.threads, self.token_budget
        )

    def scorer(self, rows: Iterable[Row] | None = None) -> BARTScorer:
        """Loads the model."""
        try:
            return BARTScorer(self, open_likelihood(self.choice()))
        except ModelNotFoundError as error:
            raise ModelNotFoundError(
                f"{error}; any encoder-decoder or causal model with safetensors weights works, and where the hub can "
                f"be reached `hf download {self.model}` fetches this one"
            ) from error

    def tokens(self, candidate: str, reference: str | None = None, source: str | None = None) -> dict[str, Likelihood]:
        """Every token of the predicted texts with its log-probability, by direction."""
        return dict(self.likelihoods(candidate, reference, source).directions)

    def likelihoods(self, candidate: str, reference: str | None = None, source: str | None = None) -> Likelihoods:
        """The same with score and signature, as a value that shows itself: `to_html`, `to_dict`, in notebooks."""
        references = () if reference is None else (reference,)
        row = Row("1", candidate, references, source)
        self.check_needs([row])
        scorer = self.scorer()
        steps = DIRECTIONS[self.direction]
        likelihoods = scorer.model([self.passage(step, row, reference or "") for step in steps])
        segment = scorer.segment(row, [likelihoods])
        directions = dict(zip(steps, likelihoods, strict=True))
        return Likelihoods(str(self), str(scorer.signature), segment.scores, directions, segment.counts)

    def passage(self, step: str, row: Row, reference: str) -> Passage:
        """What the model is asked in one direction, prompt included."""
        texts = {"candidate": row.candidate, "reference": reference, "source": row.source or ""}
        read, predicted = step.split("-to-")
        source, target, prompt_length = texts[read], texts[predicted], 0
        if self.prompt and source.strip() and target.strip():  # a prompt must not fill up an empty text
            if self.prompt_side == "source":
                source, prompt_length = _with_prompt(source.strip(), self.prompt, before=False)
            else:
                target, _ = _with_prompt(target.strip(), self.prompt, before=True)
        spoken = self.source_lang or self.lang if read == "source" else self.lang
        return Passage(source, target, spoken, self.lang, prompt_length)

    def signature(self, model: LikelihoodModel) -> Signature:
        """What decides the numbers; `labels` says which special tokens are predicted and counted too."""
        optional = {
            "prompt": self.prompt,
            "side": self.prompt_side if self.prompt else "",
            "lang": self.lang,
            "srclang": self.source_lang,
            "max": str(self.max_length or ""),
        }
        settings = {
            "model": model.name,
            "kind": model.kind,
            "dir": self.direction,
            "labels": model.labels,
            "multiref": self.multiref,
            **{key: value for key, value in optional.items() if value},
            "overlong": self.overlong,
            "prec": self.arithmetic,
            "v": __version__,
        }
        return Signature(self.name, settings)

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """Rebuilds the metric; its model must be found here, and must be the same weights."""
        said = dict(signature.settings)
        label = said.get("model", "").partition("@")[0]
        names = {"dir": "direction", "side": "prompt_side", "srclang": "source_lang", "max": "max_length"}
        names |= {name: name for name in ("multiref", "prompt", "lang", "overlong")} | {"prec": "arithmetic"}
        options = {key: said[short] for short, key in names.items() if short in said}
        metric = cls.from_options({"model": MODEL if label == MODEL.partition("/")[2] else label, **options})
        present = metric.scorer().model.name
        if present != said.get("model"):
            raise SpecError(f"the signature pins {said.get('model')}, but what is found here is {present}")
        return metric


class BARTScorer(Scorer):
    """A BARTScore with its model loaded."""

    def __init__(self, metric: BARTScore, model: LikelihoodModel) -> None:
        self.metric = metric
        self.model = model
        self.signature = metric.signature(model)

    def score(self, rows: list[Row]) -> list[Segment]:
        """All passages of all rows at once, so that the model sees full batches."""
        steps = DIRECTIONS[self.metric.direction]
        asked = [
            [self.metric.passage(step, row, reference) for step in steps]
            for row in rows
            for reference in self._references(row)
        ]
        likelihoods = iter(self.model([passage for passages in asked for passage in passages]))
        segments = []
        for row in rows:
            by_reference = [[next(likelihoods) for _ in steps] for _ in self._references(row)]
            segments.append(self.segment(row, by_reference))
        return segments

    def segment(self, row: Row, by_reference: list[list[Likelihood]]) -> Segment:
        """An empty reference beside others is flagged, and says nothing; only if all are empty the row is worst."""
        full = [steps for steps in by_reference if not any(likelihood.empty for likelihood in steps)]
        values = [sum(likelihood.score for likelihood in steps) / len(steps) for steps in full]
        combined = (max(values) if self.metric.multiref == "max" else sum(values) / len(values)) if values else LOWEST
        return Segment(row.id, {"score": min(0.0, max(LOWEST, combined))}, _counts(by_reference))

    def _references(self, row: Row) -> tuple[str, ...]:
        if self.metric.direction == FAITHFULNESS:
            if row.source is None:
                raise LengthMismatchError(f"row {row.id}: direction={FAITHFULNESS} needs a source")
            return ("",)
        return row.references


def _counts(by_reference: list[list[Likelihood]]) -> dict[str, int]:
    """What was flagged on any side; a text that stands on several is counted once."""
    total: Counter[str] = Counter()
    seen: set[tuple[str, int]] = set()
    for likelihood in (likelihood for steps in by_reference for likelihood in steps):
        for tokens in (likelihood.source, likelihood.target):
            if (tokens.text, len(tokens)) not in seen:
                seen.add((tokens.text, len(tokens)))
                total.update(tokens.counts)
        total.update({name: count for name, count in likelihood.counts.items() if name == "impossible-token"})
    return dict(total)


def _with_prompt(text: str, prompt: str, before: bool) -> tuple[str, int]:
    """The text with its prompt, and how many characters of the prompt close it."""
    if TEXT in prompt:
        opening, _, closing = prompt.partition(TEXT)
        return opening + text + closing, len(closing)
    first, second = (prompt, text) if before else (text, prompt)
    gap = "" if first[-1:].isspace() or second[:1].isspace() else " "
    return first + gap + second, 0 if before else len(prompt)
